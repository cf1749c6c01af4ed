// Takes steps of the page's own time (freeze.js), then waits until nothing changes any more, for two seconds at most.
async ({ steps }, { sleep, stepped }) => {
  for (let i = 0; i < steps; i++) await stepped()
  const isBusy = () => !document.dispatchEvent(new Event('adaptc:busy', { cancelable: true }))
  for (let i = 0; i < 40 && isBusy(); i++) await sleep(50)
}
