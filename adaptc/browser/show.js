// Returns what a page shows as one text: its words, its links, and the boxes of words, images and controls. As in proofs,
// labels of controls may be others ("System" for "Light", a moon for a sun), and hints that name a key may be missing with
// the space that they take, in labels, too: the page can be read.
(_, { isVisible, LABELLED, HINT, withoutHints }) => withoutHints(() => {
  const shown = [document.title]
  const box = ({ left, top, width, height }) => [left + scrollX, top + scrollY, width, height].map(Math.round).join(' ')
  // Where a link leads, however it is written: routers make addresses absolute
  // What opens something by a script may lead to a page without it, as a category of a menu does
  const address = (node) =>
    node.matches('a[aria-expanded]') ? 'opens' : String(node.href?.baseVal ?? node.href ?? '').replace(location.origin, '')
  const walker = document.createTreeWalker(document.body ?? document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  // Texts next to each other are one, as in markup, whatever comments are between them
  const isPart = (node) => node?.nodeType === Node.TEXT_NODE || node?.nodeType === Node.COMMENT_NODE
  const run = (node) => isPart(node) ? [...(node.nodeType === Node.TEXT_NODE ? [node] : []), ...run(node.nextSibling)] : []
  const follows = (node) => isPart(node) && (node.nodeType === Node.TEXT_NODE || follows(node.previousSibling))
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = node.parentElement, texts = follows(node.previousSibling) ? [] : run(node), text = texts.map((each) => each.data).join('')
      if (!text.trim() || !parent || !isVisible(parent) || parent.closest(HINT)) continue
      range.setStart(node, 0)
      range.setEndAfter(texts.at(-1))
      const rect = range.getBoundingClientRect()
      if (!rect.width || !rect.height) continue
      if (parent.closest(LABELLED)) { if (shown.at(-1) !== 'label') shown.push('label') }
      else shown.push(text.replace(/\s+/g, ' '), box(rect))
    } else if (!(node.localName === 'svg' && node.closest(LABELLED)) && node.matches('a[href],area,img,svg,video,iframe,canvas,input,button,select,textarea')) {
      const rect = node.getBoundingClientRect()
      if (isVisible(node) && (rect.width > 1 || rect.height > 1)) shown.push(node.localName, address(node), box(rect))
    }
  }
  return shown.join('\n')
})
