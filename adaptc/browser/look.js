// Returns what is to be seen of a page: its height, the boxes of its images, the names of its elements.
// "markup" is the page as it was sent, in base64, and null for a page without scripts: an address that is not in it was
// written by a script.
({ markup }) => {
  const URLS = /url\("((?:[^"\\]|\\.)*)"\)/g
  const STYLES = ['background-image', 'list-style-image', 'border-image-source', 'mask-image', 'content', 'shape-outside']
  const absolute = (url) => { try { return new URL(url, document.baseURI).href.split('#')[0] } catch { return '' } }

  // ---- the addresses of the markup

  const written = new Set()
  const listed = (text) => text.split(',').map((candidate) => candidate.trim().split(/\s+/)[0])
  const addresses = (element) => [
    ...['src', 'poster', 'href', 'xlink:href', 'data', 'background'].map((name) => element.getAttribute(name)),
    ...['srcset', 'imagesrcset'].flatMap((name) => listed(element.getAttribute(name) ?? '')),
  ].filter(Boolean)
  const text = () => new TextDecoder(document.characterSet).decode(Uint8Array.from(atob(markup), (c) => c.charCodeAt(0)))
  const sent = markup === null ? null : new DOMParser().parseFromString(text(), 'text/html')
  for (const element of sent?.querySelectorAll('*') ?? []) addresses(element).forEach((url) => written.add(absolute(url)))
  const styles = sent ? [...sent.querySelectorAll('[style]')].map((element) => element.getAttribute('style')).join('\n') : ''

  // ---- boxes

  const limit = { right: Math.max(document.documentElement.scrollWidth, innerWidth), bottom: Infinity }
  const clipped = (element, rect) => {
    let { left, top, right, bottom } = rect
    for (let e = element.parentElement; e && e !== document.body && e !== document.documentElement; e = e.parentElement) {
      const style = getComputedStyle(e)
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue
      const box = e.getBoundingClientRect()
      left = Math.max(left, box.left); right = Math.min(right, box.right)
      top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom)
    }
    left = Math.max(left, -scrollX); top = Math.max(top, -scrollY); right = Math.min(right, limit.right - scrollX)
    return right - left >= 1 && bottom - top >= 1 ? { left, top, right, bottom } : null
  }
  const images = new Map()
  const add = (url, element, { isBackground = false, isByScript = false, rect = element.getBoundingClientRect() } = {}) => {
    if (!/^https?:/.test(url)) return
    const image = images.get(url) ?? { url, width: 0, height: 0, isFirst: false, isBackground: false, isByScript: false }
    images.set(url, image)
    image.isBackground ||= isBackground
    image.isByScript ||= isByScript
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false })) return
    const box = clipped(element, rect)
    if (!box) return
    if (rect.width * rect.height > image.width * image.height) {
      image.width = Math.round(rect.width)
      image.height = Math.round(rect.height)
    }
    image.isFirst ||= box.top + scrollY < innerHeight && box.left < innerWidth
  }

  const look = (element) => {
    const isByScript = (url) => sent !== null && !written.has(url)
    const name = element.localName
    if (name === 'img' || (name === 'input' && element.type === 'image')) {
      const url = absolute(element.currentSrc || element.src)
      if (url) add(url, element, { isByScript: isByScript(url) })
    } else if (name === 'image' || name === 'use' || name === 'feImage') {
      const url = absolute(element.href?.baseVal ?? '')
      if (url && url !== absolute('')) add(url, element, { isByScript: isByScript(url) })
    } else if ((name === 'video' && element.poster) || name === 'embed' || name === 'object') {
      const url = absolute(element.poster ?? element.src ?? element.data)
      add(url, element, { isByScript: isByScript(url) })
    }
    for (const pseudo of [null, '::before', '::after']) {
      const style = getComputedStyle(element, pseudo)
      if (pseudo && (style.content === 'none' || style.display === 'none')) continue
      for (const property of STYLES) {
        const value = style.getPropertyValue(property)
        if (!value.includes('url(')) continue
        const own = pseudo ? '' : element.style.getPropertyValue(property)
        for (const [, url] of value.matchAll(URLS)) {
          const file = url.split('/').pop().split(/[?#]/)[0]
          add(absolute(url), element, { isBackground: true, isByScript: sent !== null && own.includes(file) && !styles.includes(file) })
        }
      }
    }
  }
  const walk = (root) => {
    for (const element of root.querySelectorAll('*')) {
      look(element)
      if (element.shadowRoot) walk(element.shadowRoot)
    }
  }
  walk(document)
  globalThis.adaptc.noteAll(document)
  const { names, largest, shift } = globalThis.adaptc
  const height = Math.max(document.documentElement.scrollHeight, document.body?.scrollHeight ?? 0)
  return { height, images: [...images.values()], names: [...names], largest, shift }
}
