// Returns what a first glance finds wrong in a page that no script finishes, as [kind, what and where]: texts over each other,
// faint ones, columns of a few letters, an empty first screen, a page wider than the window, tiny pictures, links that
// repeat each other, words that run together, text at the edge of the window, references and signs of icon fonts in place
// of what they stand for, words strewn over the page.
// With "faint" as argument it looks at contrast alone, as for another colour scheme.
(only, { NO_TEXT, isVisible }) => {
  const MOST_LINES = 1500, SAMPLES = 3
  const FAINT = 3, NARROW = 8, FEWEST_LINES = 4, TINY = 48, REPEATED = 12, NEAR = 500, SHORT = 20, STREWN = 9
  const found = []
  const root = document.documentElement, body = document.body ?? root
  const plain = (text) => (text ?? '').replace(/[\s\u00a0]+/g, ' ').trim()
  const name = (element) => {
    const marks = [element.id && '#' + element.id, ...[...element.classList].slice(0, 2).map((each) => '.' + each)]
    return `<${element.localName}${marks.filter(Boolean).join('')}>`
  }
  const note = (kind, element, words = element.textContent) => {
    if (found.filter((each) => each[0] === kind).length < SAMPLES) found.push([kind, `${name(element)} “${plain(words).slice(0, 40)}”`])
  }
  // a page of its own look, and one that its scripts finish, are not judged by this
  if (document.querySelector('script:not([type="application/ld+json"]),link[rel~=stylesheet],frameset')) return null

  // ---- lines of text: their boxes, as far as boxes around them show them

  const clips = new Map()
  const clipOf = (element) => {
    if (!element || element === root || element === body) return null
    if (clips.has(element)) return clips.get(element)
    let clip = clipOf(element.parentElement)
    if (getComputedStyle(element).overflow !== 'visible') {
      const box = element.getBoundingClientRect()
      clip = clip
        ? { left: Math.max(clip.left, box.left), right: Math.min(clip.right, box.right), top: Math.max(clip.top, box.top), bottom: Math.min(clip.bottom, box.bottom) }
        : { left: box.left, right: box.right, top: box.top, bottom: box.bottom }
    }
    clips.set(element, clip)
    return clip
  }
  const range = document.createRange()
  const lines = [], texts = []
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && lines.length < MOST_LINES; node = walker.nextNode()) {
    const element = node.parentElement
    if (!element || NO_TEXT.has(element.tagName) || !/\S/.test(node.data) || !isVisible(element)) continue
    range.selectNodeContents(node)
    const clip = clipOf(element)
    const own = []
    for (const box of range.getClientRects()) {
      const line = { element, left: box.left, right: box.right, top: box.top, bottom: box.bottom }
      if (clip) {
        line.left = Math.max(line.left, clip.left)
        line.right = Math.min(line.right, clip.right)
        line.top = Math.max(line.top, clip.top)
        line.bottom = Math.min(line.bottom, clip.bottom)
      }
      if (line.right - line.left > 1 && line.bottom - line.top > 1) own.push(line)
    }
    if (own.length) texts.push({ element, node, lines: own })
    lines.push(...own)
  }

  // ---- contrast (WCAG 2.2): of a text against the nearest grounds around it, where no picture is one of them

  const channels = (colour) => (/^rgba?\(([^)]*)\)$/.exec(colour)?.[1] ?? '').split(/[ ,/]+/).filter(Boolean).map(Number)
  const over = (front, [red, green, blue]) => {
    const alpha = front[3] ?? 1
    return [red, green, blue].map((value, index) => front[index] * alpha + value * (1 - alpha))
  }
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const probe = document.createElement('i')
  probe.style.cssText = 'position:absolute;background-color:Canvas!important'
  root.append(probe)
  const canvas = channels(getComputedStyle(probe).backgroundColor).slice(0, 3)
  probe.remove()
  const groundOf = (element) => {
    const layers = []
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each)
      if (style.backgroundImage !== 'none') return null
      const colour = channels(style.backgroundColor)
      if (colour.length >= 3 && (colour[3] ?? 1) > 0) layers.push(colour)
      if (colour.length >= 3 && (colour[3] ?? 1) === 1) break
    }
    return layers.reduceRight((ground, layer) => over(layer, ground), canvas)
  }
  const seen = new Set()
  for (const { element, node } of texts) {
    if (seen.has(element) || element.closest('[disabled]')) continue
    seen.add(element)
    const ground = groundOf(element), colour = channels(getComputedStyle(element).color)
    if (!ground || colour.length < 3) continue
    const [light, dark] = [luminance(over(colour, ground)), luminance(ground)].sort((a, b) => b - a)
    if ((light + 0.05) / (dark + 0.05) < FAINT) note('faint', element, node.data)
  }
  if (only === 'faint') return found

  // ---- texts over each other

  const sorted = [...lines].sort((a, b) => a.top - b.top)
  for (const [index, line] of sorted.entries()) {
    for (let next = index + 1; next < sorted.length && sorted[next].top < line.bottom - 2; next++) {
      const other = sorted[next]
      if (other.element === line.element || other.element.contains(line.element) || line.element.contains(other.element)) continue
      const width = Math.min(line.right, other.right) - Math.max(line.left, other.left)
      const height = Math.min(line.bottom, other.bottom) - Math.max(line.top, other.top)
      const least = Math.min((line.right - line.left) * (line.bottom - line.top), (other.right - other.left) * (other.bottom - other.top))
      if (width > 2 && height > 4 && width * height > least / 4) note('overlap', other.element)
    }
  }

  // ---- columns of a few letters

  for (const { element, node, lines: own } of texts) {
    const length = plain(node.data).length
    const rows = new Set(own.map((line) => Math.round(line.top))).size
    if (rows >= FEWEST_LINES && length / rows < NARROW && !/[\u2e80-\uffef]/.test(node.data) && !element.closest('pre')) note('narrow', element, node.data)
  }

  // ---- a name, date or label whose end is one word with what follows, and text at the edge of the window

  for (const [index, { element, node, lines: [first] }] of texts.entries()) {
    const before = texts[index - 1], end = before?.element.closest('a,time,label'), last = before?.lines.at(-1)
    if (!end || end.contains(node) || element.closest('pre,code')) continue
    const isOneWord = /[\p{Ll}\d]{3}$/u.test(before.node.data) && /^\p{Lu}\p{Ll}{2}/u.test(node.data)
    if (isOneWord && Math.abs(first.top - last.top) < 3 && first.left - last.right < 1) note('joined', element, before.node.data + node.data)
  }
  const isAtEdge = ({ left, right }) => (getComputedStyle(body).direction === 'rtl' ? innerWidth - right : left) < 4
  if (lines.length > 4 && lines.filter(isAtEdge).length > lines.length / 2) note('edge', body, '')

  // ---- the first screen, and the width of the page

  const shown = [...lines, ...[...document.querySelectorAll('img,svg,input,select,textarea,button,iframe,video')]
    .filter(isVisible).map((each) => each.getBoundingClientRect()).filter((box) => box.height > 1)]
  const spans = shown.filter((box) => box.top < innerHeight && box.bottom > 0).sort((a, b) => a.top - b.top)
  let end = 0, gaps = 0
  for (const { top, bottom } of spans) {
    if (top - end > 40) gaps += top - end
    end = Math.max(end, bottom)
  }
  gaps += Math.max(0, innerHeight - end)
  const height = Math.max(root.scrollHeight, body.scrollHeight)
  if (height > innerHeight + 40 && gaps > innerHeight / 2) note('empty', body, '')
  if (Math.max(root.scrollWidth, body.scrollWidth) > innerWidth + 1) {
    const widest = [...body.querySelectorAll('*')].filter((each) => isVisible(each) && !clipOf(each.parentElement))
      .reduce((most, each) => (each.getBoundingClientRect().right > most.getBoundingClientRect().right ? each : most), body)
    note('wide', widest)
  }

  // ---- character references and signs of icon fonts that nothing draws, and words strewn over the page

  for (const element of body.querySelectorAll('*')) {
    for (const place of ['::before', '::after']) {
      const content = getComputedStyle(element, place).content
      if (/&#?\w+;/.test(content) && isVisible(element)) note('reference', element, content)
    }
  }
  for (const { element, node } of texts) if (/[\ue000-\uf8ff]/.test(node.data)) note('sign', element)
  let strewn = 0
  for (const paragraph of body.querySelectorAll('p,h1,h2,h3,h4,h5,h6,li,pre,table,details,form')) {
    const words = plain(paragraph.textContent)
    if (!isVisible(paragraph) || paragraph.parentElement.closest('table,form,details')) continue
    const isShort = paragraph.localName === 'p' && words.length <= SHORT && !paragraph.querySelector('a,img,input,button')
    strewn = isShort ? strewn + 1 : 0
    if (strewn === STREWN) note('strewn', paragraph)
  }

  // ---- pictures of cards, and links that repeat each other

  for (const image of document.querySelectorAll('.c img')) {
    const box = image.getBoundingClientRect()
    if (isVisible(image) && Math.min(box.width, box.height) < TINY) note('tiny', image, image.alt || image.closest('.c').textContent)
  }
  const places = new Map()
  for (const link of document.querySelectorAll('a[href]')) {
    const words = plain(link.textContent)
    if (words.length < REPEATED || !isVisible(link) || link.closest('nav,header,footer,pre,table')) continue
    // a link in running text is none that stands there by itself
    if (plain(link.closest('p,li,h1,h2,h3,h4,h5,h6,dd,dt,div,section,article,main,body').textContent).length > 1.2 * words.length) continue
    const key = `${link.href} ${words.toLowerCase()}`, top = link.getBoundingClientRect().top
    if (places.has(key) && top - places.get(key) < NEAR) note('repeated', link)
    places.set(key, top)
  }
  return found
}
