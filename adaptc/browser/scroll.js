// Scrolls through the page in at most 24 steps and back, so that it loads and shows what it keeps for later.
async ({ tallest }, { drawn, shown }) => {
  const height = () => Math.max(document.documentElement.scrollHeight, document.body?.scrollHeight ?? 0)
  const step = Math.max(innerHeight, Math.ceil(Math.min(height(), tallest) / 20))
  for (let y = 0, steps = 0; y < height() && y <= tallest && steps < 24; y += step, steps++) {
    scrollTo({ top: y, behavior: 'instant' })
    await shown()
  }
  scrollTo({ top: 0, behavior: 'instant' })
  await drawn()
}
