// Returns the boxes that lie over text of others in the first window: their selectors, their classes, and the share of
// the window's text under each. A box is fixed, or positioned in the page itself; what is under one may be another.
(_, { NO_TEXT, isVisible, isOpaque }) => {
  const LEAST = 0.1, SAMPLES = 900, DEEPEST = 3
  const range = document.createRange()

  const samples = [] // of lines of text in the window: three points of each
  const walker = document.createTreeWalker(document.body ?? document, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && samples.length < SAMPLES; node = walker.nextNode()) {
    const element = node.parentElement
    if (!element || NO_TEXT.has(element.tagName) || !/\S/.test(node.data) || !isVisible(element)) continue
    range.selectNodeContents(node)
    for (const box of range.getClientRects()) {
      if (box.width <= 1 || box.height <= 1) continue
      for (const part of [1, 3, 5]) {
        const x = box.left + box.width * part / 6, y = (box.top + box.bottom) / 2
        if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) samples.push({ element, x, y, length: box.width })
      }
    }
  }

  const isOfPage = (element) => { // fixed, or positioned by nothing but the page
    const { position } = getComputedStyle(element)
    return position === 'fixed' || (position === 'absolute' && [null, document.body, document.documentElement].includes(element.offsetParent))
  }
  const coverOf = ({ element, x, y }) => {
    const hit = document.elementFromPoint(x, y)
    if (!hit || hit.contains(element) || element.contains(hit)) return null
    let cover = null, isSolid = false
    for (let over = hit; over && !over.contains(element); over = over.parentElement) {
      isSolid ||= isOpaque(over)
      if (isOfPage(over)) cover = over
    }
    return isSolid ? cover : null
  }

  const covers = [], styles = new Map()
  for (let depth = 0; depth < DEEPEST; depth++) {
    const lengths = new Map()
    const shown = samples.filter(({ element }) => isVisible(element))
    for (const sample of shown) {
      const cover = coverOf(sample)
      if (cover) lengths.set(cover, (lengths.get(cover) ?? 0) + sample.length)
    }
    for (const [cover, length] of lengths) {
      const all = shown.reduce((sum, sample) => sum + (cover.contains(sample.element) ? 0 : sample.length), 0)
      covers.push([cover, length / all])
      styles.set(cover, cover.getAttribute('style'))
      cover.style.setProperty('visibility', 'hidden', 'important')
    }
    if (!lengths.size) break
  }
  for (const [cover, style] of styles) style === null ? cover.removeAttribute('style') : cover.setAttribute('style', style)

  const place = (element) => {
    const id = element.id && document.querySelectorAll('#' + CSS.escape(element.id)).length === 1
    if (id || element === document.body) return id ? '#' + CSS.escape(element.id) : 'body'
    const alike = [...element.parentElement.children].filter((other) => other.localName === element.localName)
    return `${place(element.parentElement)} > ${element.localName}:nth-of-type(${alike.indexOf(element) + 1})`
  }
  return covers
    .map(([cover, share]) => ({ selector: place(cover), classes: cover.getAttribute('class') ?? '', share: Math.round(100 * share) / 100 }))
    .filter(({ share }) => share >= LEAST)
}
