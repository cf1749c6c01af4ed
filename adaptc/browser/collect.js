// Returns what a page shows: its text and where it stands, its images, links and forms, and what covers its content.
(_, { NO_TEXT, LABELLED, HINT, isVisible, isOpaque, withoutHints }) => {
  const TEXTS = 3000, SAMPLES = 40
  const APART = 'nav,aside,dialog,[role=navigation],[role=complementary],[role=banner],[role=contentinfo],[role=dialog],' +
    '[role=search],[aria-modal=true]'
  const root = document.documentElement, body = document.querySelector('body') ?? root
  const all = (selector) => [...document.querySelectorAll(selector)]
  const plain = (text) => (text ?? '').replace(/[\s\u00a0]+/g, ' ').trim()
  const rounded = (number) => Math.round(number * 10) / 10
  const boxOf = (element) => {
    const box = element.getBoundingClientRect()
    return [rounded(box.left + scrollX), rounded(box.top + scrollY), rounded(box.width), rounded(box.height)]
  }
  const isShown = (element) => isVisible(element) && element.getClientRects().length > 0

  // ---- text: nodes that are drawn, with the box of their first character

  const range = document.createRange()
  const firstBox = (node) => {
    const start = node.data.search(/\S/)
    range.setStart(node, start)
    range.setEnd(node, start + 1)
    return range.getClientRects()[0]
  }
  const shownTexts = () => {
    const found = []
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement
      if (element && !NO_TEXT.has(element.tagName) && /\S/.test(node.data) && isVisible(element) && firstBox(node)) found.push(node)
    }
    return found
  }
  const nodes = shownTexts()
  const placedTexts = () => {
    const parents = new Set(), texts = []
    for (const node of nodes) {
      if (parents.has(node.parentElement) || texts.length === TEXTS || node.parentElement.closest(HINT)) continue
      parents.add(node.parentElement)
      const box = firstBox(node), start = node.data.search(/\S/)
      if (box) texts.push([plain(node.data.slice(start, start + 24)), rounded(box.left + scrollX), rounded(box.top + scrollY)])
    }
    return texts
  }

  // ---- the content: the longest main part; without one, all but navigation, header and footer

  // what icon fonts draw is a picture, though it is written as a word ("favorite" of Material Icons, mostly of another host)
  const isIcon = (element) => /material-(icons|symbols)/.test(element.getAttribute('class')) ||
    /^[^,]*(icon|symbol|awesome|glyph)/i.test(getComputedStyle(element).fontFamily)
  const wordsOf = (list) => list.filter((node) => !isIcon(node.parentElement)).map((node) => plain(node.data)).join(' ')
  const mains = all('main,[role=main],article')
  const lengthOf = (element) => nodes.reduce((sum, node) => sum + (element.contains(node) ? node.data.length : 0), 0)
  const lengths = mains.map(lengthOf)
  const most = Math.max(0, ...lengths)
  const main = most >= 200 ? mains[lengths.indexOf(most)] : null
  const isContent = (element) => {
    if (main) return main.contains(element) && !element.closest('nav')
    return !element.closest(APART) && !element.closest('body > header, body > footer, body > * > header, body > * > footer')
  }
  const content = nodes.filter((node) => isContent(node.parentElement))

  // ---- links and controls

  const address = (url) => url.pathname.replace(/\/index\.html?$/, '/') + url.search
  const target = (link) => {
    try {
      const url = new URL(link.href.baseVal ?? link.href, document.baseURI)
      return url.origin === location.origin ? address(url) + url.hash : url.href
    } catch { return String(link.getAttribute('href')) }
  }
  // not within the page, however a script writes that: Material for MkDocs makes all links absolute
  const leads = (link) => {
    const href = plain(link.getAttribute('href'))
    return !href.startsWith('#') && href !== '' && !/^javascript:/i.test(href) && !target(link).startsWith(address(location) + '#')
  }
  const links = all('a[href],area[href]')
  const control = (element) => [element.tagName, element.type, element.name].join(' ').toLowerCase()
  const fields = all('input:not([type=hidden]),select,textarea,button')
  const isReached = (link) => leads(link) && (link.tagName === 'AREA' || isShown(link))
  const shownLinks = links.filter(isReached)

  // ---- what a reader sees: on a page without scripts also what opens at a touch

  const runs = [...document.scripts].some((script) => !script.type || /javascript|ecmascript|module/i.test(script.type))
  const closed = runs ? [] : all('details:not([open])')
  for (const each of closed) each.open = true
  const seenByReaders = {
    seen: wordsOf(shownTexts()),
    seenLinks: links.filter(isReached).map(target),
    seenFields: fields.filter(isShown).map(control),
    reading: plain(nodes.filter((node) => !node.parentElement.closest(LABELLED)).map((node) => node.data).join(' ')),
    labelled: all(LABELLED).filter((element) => !element.matches(HINT) && isShown(element) && plain(element.innerText)).length,
  }
  for (const each of closed) each.open = false

  // ---- what lies over the content

  const hasTextAt = (element, x, y) => [...element.childNodes].some((node) => {
    if (node.nodeType !== Node.TEXT_NODE || !/\S/.test(node.data)) return false
    range.selectNodeContents(node)
    return [...range.getClientRects()].some((box) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom)
  })
  const isCovered = (node) => {
    const element = node.parentElement
    scrollTo({ top: firstBox(node).top + scrollY - innerHeight / 2, behavior: 'instant' })
    const box = firstBox(node)
    const x = box.left + box.width / 2, y = box.top + box.height / 2
    const hit = document.elementFromPoint(x, y)
    if (!hit || hit.contains(element) || element.contains(hit)) return false
    for (let over = hit; over && !over.contains(element); over = over.parentElement) {
      if (isOpaque(over) || hasTextAt(over, x, y)) return true
    }
    return false
  }
  const step = Math.max(1, Math.ceil(content.length / SAMPLES))
  const samples = content.filter((_, index) => index % step === 0)
  const covered = samples.filter(isCovered).map((node) => plain(node.data).slice(0, 24))
  scrollTo({ top: 0, left: 0, behavior: 'instant' })

  // ---- the rest

  const isMissing = (image) => {
    const url = image.currentSrc || image.src
    return image.complete && !image.naturalWidth && url && !url.startsWith('data:') &&
      new URL(url, document.baseURI).origin === location.origin
  }
  const images = all('img')
  const isInPage = ([left, top, width, height]) => left + width > 0 && top + height > 0
  const placed = withoutHints(() => ({
    texts: placedTexts(), images: images.map(boxOf), seenImages: images.filter(isShown).map(boxOf).filter(isInPage),
  }))
  const height = Math.max(root.scrollHeight, body.scrollHeight, root.getBoundingClientRect().height)
  return {
    mode: document.compatMode,
    text: plain(body.innerText),
    width: Math.max(root.scrollWidth, body.scrollWidth),
    height: Math.round(height),
    ...placed,
    missing: images.filter(isMissing).map((image) => image.currentSrc || image.src),
    fonts: [...document.fonts].filter((font) => font.status === 'error').map((font) => font.family),
    replaced: root.outerHTML.split('\uFFFD').length - 1,
    names: [...all('[id]').map((element) => element.id), ...all('a[name]').map((element) => element.name)].filter(Boolean),
    links: links.map(target),
    icons: all('link[rel~=icon][href^="data:"]').reduce((sum, icon) => sum + icon.getAttribute('href').length, 0),
    forms: all('form').length,
    fields: all('input,select,textarea,button').map(control),
    ...seenByReaders,
    content: wordsOf(content),
    contentLinks: shownLinks.filter(isContent).map(target),
    contentFields: fields.filter((field) => isShown(field) && isContent(field) && field.form && field.name).map(control),
    samples: samples.length,
    covered,
  }
}
