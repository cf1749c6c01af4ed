// Waits for fonts and images, then stops the page: animations, videos, the caret, the focus.
// "pace" is how many times as long things take on this machine as on an idle one.
async ({ pace }, { sleep, drawn, finish }) => {
  await Promise.race([document.fonts.ready, sleep(1500 * pace)])
  const pending = [...document.images].filter((i) => !i.complete && i.loading !== 'lazy' && i.getAttribute('src'))
  const ended = (image) => new Promise((resolve) => ['load', 'error'].forEach((name) => image.addEventListener(name, resolve)))
  await Promise.race([Promise.all(pending.map(ended)), sleep(1500 * pace)])
  finish()
  for (const media of document.querySelectorAll('video,audio')) {
    media.pause()
    media.currentTime = 0
  }
  if (document.activeElement && document.activeElement !== document.body) document.activeElement.blur()
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('*,::before,::after{caret-color:transparent!important;transition:none!important}')
  try { document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet] } catch { /* not a page of ours to change */ }
  scrollTo({ top: 0, left: 0, behavior: 'instant' })
  await drawn()
  finish()
  await drawn()
}
