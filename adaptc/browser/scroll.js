// Scrolls through the page in at most 24 steps and back, so that it loads and shows what it keeps for later;
// at each place 50 ms of the page's own time go by.
async ({ tallest }, { drawn, shown, stepped }) => {
  const height = () => Math.max(document.documentElement.scrollHeight, document.body?.scrollHeight ?? 0)
  const step = Math.max(innerHeight, Math.ceil(Math.min(height(), tallest) / 20))
  for (let y = 0, steps = 0; y < height() && y <= tallest && steps < 24; y += step, steps++) {
    scrollTo({ top: y, behavior: 'instant' })
    await shown()
    await stepped()
  }
  scrollTo({ top: 0, behavior: 'instant' })
  await drawn()
}
