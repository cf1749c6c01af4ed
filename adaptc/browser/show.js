// Returns what a page shows as one text: its words, its links, and the boxes of words, images and controls.
(_, { isVisible }) => {
  const shown = [document.title]
  const box = ({ left, top, width, height }) => [left + scrollX, top + scrollY, width, height].map(Math.round).join(' ')
  const walker = document.createTreeWalker(document.body ?? document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      if (!node.data.trim() || !node.parentElement || !isVisible(node.parentElement)) continue
      range.selectNodeContents(node)
      const rect = range.getBoundingClientRect()
      if (rect.width && rect.height) shown.push(node.data.replace(/\s+/g, ' '), box(rect))
    } else if (node.matches('a[href],area,img,svg,video,iframe,canvas,input,button,select,textarea')) {
      if (isVisible(node)) {
        shown.push(node.localName, node.getAttribute('href') ?? '', box(node.getBoundingClientRect()))
      }
    }
  }
  return shown.join('\n')
}
