// Notes the images of the page as it is, with their boxes. Leaves adaptc.collect(), which notes those of elements once
// more, and adaptc.result(), which notes backgrounds, too, and returns all images with the names of elements.
// "markup" is the page as it was sent, in base64, and null for a page without scripts: an address that is not in it was
// written by a script. Returns the text of this markup, shown or not.
({ markup }, { isVisible }) => {
  const seen = globalThis.adaptc
  const URLS = /url\("((?:[^"\\]|\\.)*)"\)/g
  const STYLES = ['background-image', 'list-style-image', 'border-image-source', 'mask-image', 'content']
  const absolute = (url) => { try { return new URL(url, document.baseURI).href.split('#')[0] } catch { return '' } }

  // ---- the addresses of the markup

  const listed = (text) => text.split(',').map((candidate) => candidate.trim().split(/\s+/)[0])
  const addresses = (element) => [
    ...['src', 'poster', 'href', 'xlink:href', 'data', 'background'].map((name) => element.getAttribute(name)),
    ...['srcset', 'imagesrcset'].flatMap((name) => listed(element.getAttribute(name) ?? '')),
  ].filter(Boolean)
  const text = () => new TextDecoder(document.characterSet).decode(Uint8Array.from(atob(markup), (c) => c.charCodeAt(0)))
  const sent = markup === null ? null : new DOMParser().parseFromString(text(), 'text/html')
  const elements = sent ? [...sent.querySelectorAll('*')] : []
  const written = new Set(elements.flatMap(addresses).map(absolute))
  const styles = elements.map((element) => element.getAttribute('style') ?? '').join('\n')
  const isByScript = (url) => sent !== null && !written.has(url)
  const isStyledByScript = (url) => sent !== null && !styles.includes(url.split('/').pop().split(/[?#]/)[0])

  // ---- boxes

  const width = () => Math.max(document.documentElement.scrollWidth, innerWidth)
  const clipped = (element, rect) => { // to what its ancestors and the page show of it
    let { left, top, right, bottom } = rect
    for (let e = element.parentElement; e && e !== document.body && e !== document.documentElement; e = e.parentElement) {
      const style = getComputedStyle(e)
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue
      const box = e.getBoundingClientRect()
      left = Math.max(left, box.left); right = Math.min(right, box.right)
      top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom)
    }
    left = Math.max(left, -scrollX); top = Math.max(top, -scrollY); right = Math.min(right, width() - scrollX)
    return right - left >= 1 && bottom - top >= 1 ? { left, top } : null
  }
  const images = new Map()
  const add = (url, element, flags) => {
    if (!/^https?:/.test(url)) return
    const image = images.get(url) ?? { url, width: 0, height: 0, isFirst: false, isBackground: false, isByScript: false, isChanged: false, isHeld: false }
    images.set(url, image)
    image.isBackground ||= flags.isBackground ?? false
    image.isByScript ||= flags.isByScript
    const rect = element.getBoundingClientRect()
    const box = isVisible(element) ? clipped(element, rect) : null
    if (!box) return
    if (rect.width * rect.height > image.width * image.height) {
      image.width = Math.round(rect.width)
      image.height = Math.round(rect.height)
    }
    image.isFirst ||= !isOpened && box.top + scrollY < innerHeight && box.left < innerWidth
  }

  // ---- images

  const source = (element) => {
    switch (element.localName) {
      case 'img': return element.currentSrc || element.src
      case 'input': return element.type === 'image' ? element.src : ''
      case 'image': case 'use': return element.href?.baseVal?.startsWith('#') ? '' : element.href?.baseVal
      case 'video': return element.poster
      case 'embed': return element.src
      case 'object': return element.data
    }
    return ''
  }
  // ---- backgrounds: of elements with rules or attributes that name an image; asking all elements takes seconds

  const rulesOf = (root) => {
    const found = []
    const visit = (rules, parent) => {
      for (const rule of rules) {
        const selector = rule.selectorText?.replaceAll('&', `:is(${parent})`)
        if (selector) found.push({ selector, text: rule.style.cssText })
        if (rule.cssRules) visit(rule.cssRules, selector ?? parent)
      }
    }
    for (const sheet of [...root.styleSheets, ...root.adoptedStyleSheets]) {
      try { visit(sheet.cssRules, ':root') } catch { /* of another origin */ }
    }
    return found
  }
  const styled = (root) => {
    const rules = rulesOf(root)
    const names = [...rules, { text: styles }].flatMap(({ text }) => [...text.matchAll(/(--[\w-]+)\s*:[^;]*url\(/g)].map((match) => match[1]))
    const found = new Set(root.querySelectorAll('[style]'))
    for (const { selector, text } of rules) {
      if (!text.includes('url(') && !names.some((name) => text.includes(`var(${name}`))) continue
      const plain = selector.replace(/::?(before|after|first-line|first-letter|marker|hover|focus-within|focus-visible|focus|active)\b/g, '')
      for (const part of plain.split(/,(?![^(]*\))/)) {
        try { root.querySelectorAll(/[\s>+~]$|^$/.test(part.trim()) ? part + '*' : part).forEach((element) => found.add(element)) } catch { /* a selector of another browser */ }
      }
    }
    return found
  }
  const addBackgrounds = (element) => {
    for (const pseudo of [null, '::before', '::after']) {
      const style = getComputedStyle(element, pseudo)
      if (pseudo && (style.content === 'none' || style.display === 'none')) continue
      for (const property of STYLES) {
        const value = style.getPropertyValue(property)
        if (!value.includes('url(')) continue
        const isOwn = !pseudo && element.style?.getPropertyValue(property).includes('url(')
        for (const [, url] of value.matchAll(URLS)) {
          add(absolute(url), element, { isBackground: true, isByScript: isOwn && isStyledByScript(url) })
        }
      }
    }
  }
  let isOpened = false
  const IMAGES = 'img,input,image,use,video,embed,object'
  const collect = seen.collect = (root = document) => {
    for (const element of root.querySelectorAll(IMAGES)) {
      const url = source(element)
      if (url) add(absolute(url), element, { isByScript: isByScript(absolute(url)) })
    }
  }
  const collectAll = (root) => {
    collect(root)
    styled(root).forEach(addBackgrounds)
    for (const element of root.querySelectorAll('*')) if (element.shadowRoot) collectAll(element.shadowRoot)
  }

  // ---- boxes before images are loaded: an element that never was is put into the place of each, for a moment

  const unloaded = (image, number) => {
    const copy = document.createElement('img')
    copy.loading = 'lazy'
    for (const { name, value } of image.attributes) if (!/^(on.*|src|srcset|loading)$/.test(name)) copy.setAttribute(name, value)
    copy.style.aspectRatio = `auto ${image.naturalWidth}/${image.naturalHeight}`
    copy.src = new URL(`/unloaded-1700000000-${number}`, location.origin).href
    return copy
  }
  const held = () => {
    const isAlone = ({ naturalWidth, parentElement }) => naturalWidth && parentElement && parentElement.localName !== 'picture'
    const places = new Map([...document.images].filter(isAlone).map((image, number) => [image, unloaded(image, number)]))
    const around = new Set([document.documentElement, document.body, ...[...places.keys()].map((image) => image.parentElement)])
    const boxes = (there) => [...around, ...there].flatMap((element) => {
      const { left, top, width, height } = element.getBoundingClientRect()
      return [left, top, width, height]
    })
    const loaded = boxes(places.keys())
    const isSame = (images) => {
      const chosen = new Set(images)
      const swap = (from, to) => seen.unnoted(() => places.forEach((copy, image) => {
        if (chosen.has(image)) [image, copy][from].replaceWith([image, copy][to])
      }))
      swap(0, 1)
      const now = boxes([...places].map(([image, copy]) => chosen.has(image) ? copy : image))
      swap(1, 0)
      return now.every((side, index) => Math.abs(side - loaded[index]) < 0.5)
    }
    let patience = 100 // layouts
    const keeping = (images) => {
      if (!images.length || patience-- < 1) return []
      if (isSame(images)) return images
      const half = images.length >> 1
      return half ? [...keeping(images.slice(0, half)), ...keeping(images.slice(half))] : []
    }
    const found = keeping([...places.keys()])
    const all = new Set(isSame(found) ? found : [])
    const others = new Set([...document.images].filter((image) => !all.has(image)).map((image) => absolute(source(image))))
    return new Set([...all].map((image) => absolute(source(image))).filter((url) => !others.has(url)))
  }
  seen.result = () => {
    collectAll(document)
    seen.noteAll(document)
    const holding = held()
    for (const image of images.values()) {
      image.isChanged = seen.changed.has(image.url)
      image.isHeld = holding.has(image.url)
    }
    return { images: [...images.values()], names: [...seen.names] }
  }
  collectAll(document)
  isOpened = true
  sent?.querySelectorAll('script,style,template,noscript').forEach((element) => element.remove())
  return sent?.body.textContent ?? ''
}
