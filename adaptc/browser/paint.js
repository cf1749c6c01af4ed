// What the page painted so far, in ms since its start ("origin", ms since 1970), and how its boxes shifted.
async () => {
  const entries = (type) => new Promise((resolve) => {
    const found = []
    const observer = new PerformanceObserver((list) => found.push(...list.getEntries()))
    observer.observe({ type, buffered: true })
    setTimeout(() => resolve([...found, ...observer.takeRecords()]), 100)
  })
  const [paints, largest, shifts] = await Promise.all(['paint', 'largest-contentful-paint', 'layout-shift'].map(entries))
  // shifts that follow each other within a second are a window, of five seconds at most; the worst one counts
  let worst = 0, sum = 0, begin = -Infinity, last = -Infinity
  for (const { startTime, value, hadRecentInput } of shifts) {
    if (hadRecentInput) continue
    if (startTime - last > 1000 || startTime - begin > 5000) [sum, begin] = [0, startTime]
    sum += value
    last = startTime
    worst = Math.max(worst, sum)
  }
  return {
    origin: performance.timeOrigin,
    first: paints.find(({ name }) => name === 'first-contentful-paint')?.startTime ?? -1,
    largest: largest.at(-1)?.startTime ?? -1,
    shift: worst,
  }
}
