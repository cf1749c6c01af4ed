// What the page painted so far, in ms since its start ("origin", ms since 1970), how its boxes shifted, and for how long
// tasks blocked it after the first paint: what each took beyond 50 ms (total blocking time, web.dev/tbt).
async () => {
  const entries = (type) => new Promise((resolve) => {
    const found = []
    const observer = new PerformanceObserver((list) => found.push(...list.getEntries()))
    observer.observe({ type, buffered: true })
    setTimeout(() => resolve([...found, ...observer.takeRecords()]), 100)
  })
  const types = ['paint', 'largest-contentful-paint', 'layout-shift', 'longtask']
  const [paints, largest, shifts, tasks] = await Promise.all(types.map(entries))
  // shifts that follow each other within a second are a window, of five seconds at most; the worst one counts
  let worst = 0, sum = 0, begin = -Infinity, last = -Infinity
  // also those with hadRecentInput: nobody touches the phone, and Chromium says so where a page wider than it zooms out
  for (const { startTime, value } of shifts) {
    if (startTime - last > 1000 || startTime - begin > 5000) [sum, begin] = [0, startTime]
    sum += value
    last = startTime
    worst = Math.max(worst, sum)
  }
  const first = paints.find(({ name }) => name === 'first-contentful-paint')?.startTime ?? -1
  const blocked = ({ startTime, duration }) => startTime + duration - Math.max(startTime, first) - 50
  return {
    origin: performance.timeOrigin,
    first,
    largest: largest.at(-1)?.startTime ?? -1,
    shift: worst,
    blocking: first < 0 ? -1 : tasks.map(blocked).reduce((sum, time) => sum + Math.max(0, time), 0),
  }
}
