// For a robot that acts on a page: "look" returns what is shown and what can be acted on, in open shadow roots as well,
// "aim" scrolls a target to the middle of the window and returns where to point, "focus" gives it the focus. A target is
// known by its key (what it is and says) and its number among those that have the same: other markup may be around it.
// While scripts of the type "held" wait, labels may say something else: a button is then known by its place, too, which
// is its number among those of its kind.
async ({ operation, key, number, place, held }, { NO_TEXT, LABELLED, HINT, isVisible, finish, drawn, withoutHints }) => {
  const CONTROLS = 'a[href],button,summary,label,input:not([type=hidden]),select,textarea,area[href],[onclick],[tabindex]:not([role=region]),[aria-expanded],' +
    '[role=button],[role=tab],[role=menuitem],[role=option],[role=switch],[role=checkbox],[role=radio],[role=link],[contenteditable=""],[contenteditable=true]'
  const TYPED = /^(text|search|email|url|tel|password|number)$/, UNTOUCHED = /^(file|color|date|time|month|week|datetime-local)$/
  const MOST = 4000, TEXTS = 3000, FRAMES = 60, STILL = 4
  const plain = (text) => (text ?? '').replace(/[\s\u00a0]+/g, ' ').trim()
  const rounded = (value) => Math.round(value * 10) / 10
  const root = document.documentElement, bare = new CSSStyleSheet()
  bare.replaceSync('* { scroll-margin: 0 !important }')

  const elements = []
  const gather = (from) => {
    for (const element of from.querySelectorAll('*')) {
      if (elements.length >= MOST) return
      elements.push(element)
      if (element.shadowRoot) gather(element.shadowRoot)
    }
  }
  gather(document)

  const boxOf = (element) => {
    const box = element.getBoundingClientRect()
    return [rounded(box.left + scrollX), rounded(box.top + scrollY), rounded(box.width), rounded(box.height)]
  }
  const isShown = (element) => {
    const box = element.getBoundingClientRect()
    return box.width >= 3 && box.height >= 3 && box.right + scrollX > 0 && box.bottom + scrollY > 0 && isVisible(element)
  }
  const address = (link) => {
    try {
      const url = new URL(link.href?.baseVal ?? link.href, document.baseURI)
      return (url.origin === location.origin ? '' : url.origin) + url.pathname.replace(/\/index\.html?$/, '/') + url.search + url.hash
    } catch { return plain(link.getAttribute('href')) }
  }
  const isPointed = (element) => {
    const parent = element.parentElement
    return getComputedStyle(element).cursor === 'pointer' && (!parent || getComputedStyle(parent).cursor !== 'pointer')
  }
  const says = (element) => plain(element.getAttribute('aria-label') || element.innerText || element.getAttribute('placeholder') ||
    element.getAttribute('alt') || element.getAttribute('title') || element.getAttribute('name') || element.id).slice(0, 40)
  const keyOf = (element) => [element.localName, element.localName === 'input' ? element.type : element.getAttribute('role') ?? '', says(element),
    element.localName === 'a' || element.localName === 'area' ? address(element) : ''].join('|')

  const isWaiting = document.querySelector(`script[type=${held}]`) !== null
  const kindOf = (known) => known.split('|', 2).join('|')
  const isLabelled = (element) => element.matches(LABELLED)
  const counts = new Map()
  const counted = (name) => {
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    return count
  }
  const targets = []
  for (const element of elements) {
    if (!(element.matches(CONTROLS) || isPointed(element)) || !isShown(element)) continue
    const known = keyOf(element)
    targets.push({ element, key: known, number: counted(known), place: counted(kindOf(known)) })
  }

  if (operation !== 'look') {
    const isAtPlace = (target) => isLabelled(target.element) && kindOf(target.key) === kindOf(key) && target.place === place
    const element = (targets.find((target) => target.key === key && target.number === number) ??
      (isWaiting ? targets.find(isAtPlace) : null))?.element
    if (!element) return null
    if (operation === 'focus') return element.focus({ preventScroll: true }) ?? true
    // without the margins that a level may write into the page for what a script does as a link is followed
    document.adoptedStyleSheets.push(bare)
    element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' })
    document.adoptedStyleSheets.pop()
    await drawn()
    const box = [...element.getClientRects()].find(({ width, height }) => width && height) ?? element.getBoundingClientRect()
    const x = box.left + box.width / 2, y = box.top + box.height / 2
    let hit = document.elementFromPoint(x, y)
    while (hit?.shadowRoot?.elementFromPoint(x, y) && hit.shadowRoot.elementFromPoint(x, y) !== hit) hit = hit.shadowRoot.elementFromPoint(x, y)
    const isHit = !!hit && (element.contains(hit) || hit.contains(element) || hit.control === element || element.control === hit)
    return { x, y, isHit }
  }

  // what scrolls smoothly comes to rest, by its own time
  finish()
  let position = '', still = 0
  for (let i = 0; i < FRAMES && still < STILL; i++) {
    await drawn()
    const now = [scrollX, scrollY].join()
    still = now === position ? still + 1 : 0
    position = now
  }
  finish()
  const purpose = ({ element }) => {
    if (element.disabled || UNTOUCHED.test(element.type ?? '') || element.hasAttribute('download')) return ''
    if (element.localName === 'select') return 'choose'
    if (element.localName === 'textarea' || element.isContentEditable || (element.localName === 'input' && TYPED.test(element.type))) return 'type'
    const href = element.getAttribute('href')
    if (href && /^(mailto|tel|sms|data|blob):/i.test(href)) return ''
    return href && !href.startsWith('#') && !/^javascript:/i.test(href) ? 'follow' : 'click'
  }
  const texts = [], reading = []
  const range = document.createRange()
  const walk = (from) => {
    const walker = document.createTreeWalker(from, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.shadowRoot) walk(node.shadowRoot)
        continue
      }
      const parent = node.parentElement, start = node.data.search(/\S/)
      if (start < 0 || (parent && (NO_TEXT.has(parent.tagName) || !isVisible(parent)))) continue
      range.setStart(node, start)
      range.setEnd(node, start + 1)
      const box = range.getClientRects()[0]
      if (box && !parent?.closest(LABELLED)) reading.push(node.data)
      if (box && texts.length < TEXTS) texts.push([plain(node.data.slice(start, start + 24)), rounded(box.left + scrollX), rounded(box.top + scrollY)])
    }
  }
  const body = document.body ?? root, images = elements.filter((element) => element.localName === 'img')
  const placed = withoutHints(() => {
    walk(body)
    return { texts: [...texts, ...targets.map(({ element, key }) => [`<${key}>`, ...boxOf(element).slice(0, 2)])], images: images.filter(isShown).map(boxOf) }
  })
  const isMissing = (image) => {
    const url = image.currentSrc || image.src
    return image.complete && !image.naturalWidth && url && !url.startsWith('data:') && new URL(url, document.baseURI).origin === location.origin
  }
  return {
    view: {
      mode: document.compatMode,
      text: [body, ...elements.flatMap((element) => [...element.shadowRoot?.children ?? []])].map((each) => plain(each.innerText)).join(' '),
      width: Math.max(root.scrollWidth, body.scrollWidth),
      height: Math.round(Math.max(root.scrollHeight, body.scrollHeight, root.getBoundingClientRect().height)),
      ...placed,
      missing: images.filter(isMissing).map((image) => image.currentSrc || image.src),
      fields: targets.map(({ key }) => key),
      seenFields: targets.map(({ element, key }) => isLabelled(element) ? kindOf(key) : key),
      reading: plain(reading.join(' ')),
      labelled: elements.filter((element) => isLabelled(element) && !element.matches(HINT) && isShown(element) && plain(element.innerText)).length,
      isWaiting,
    },
    targets: targets.map((target) => ({
      key: target.key, number: target.number, place: target.place, purpose: purpose(target), type: target.element.type ?? '',
      group: [target.element.localName, target.element.className, target.element.parentElement?.className, target.element.type].join(),
    })).filter((target) => target.purpose),
  }
}
