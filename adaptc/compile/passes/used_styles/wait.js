// Waits until an element of the page has a missing name, then adds the links to whole sheets after the style elements
// that have a part of their rules. NAMES are separated by spaces; ATTRIBUTES are those of attributes among them; GROUPS
// have, for each style element with the attribute MARK, the addresses and media of sheets.
{
  const missing = new Set(NAMES.split(' '))
  const attributes = ATTRIBUTES
  const styles = document.querySelectorAll('style[' + MARK + ']')
  const isMissing = (element) =>
    missing.has(element.localName) || missing.has(element.id) || [...element.classList].some((name) => missing.has(name)) ||
    attributes.some((name) => element.hasAttribute(name))
  const hasMissing = (element, seen) => {
    if (seen.has(element)) return false
    seen.add(element)
    return isMissing(element) || [...element.children].some((child) => hasMissing(child, seen))
  }
  const brings = (record, seen) => record.type === 'attributes' ? isMissing(record.target)
    : [...record.addedNodes].some((node) => node.nodeType === 1 && hasMissing(node, seen))
  const add = () => {
    observer.disconnect()
    GROUPS.forEach((sheets, index) => sheets.reduce((before, [url, media]) => {
      const link = document.createElement('link')
      link.rel = 'stylesheet'
      link.href = url
      if (media) link.media = media
      before.after(link)
      return link
    }, styles[index]))
  }
  const observer = new MutationObserver((records) => {
    const seen = new Set()
    if (records.some((record) => brings(record, seen))) add()
  })
  const attributeFilter = ['class', 'id', ...attributes]
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter })
  if (hasMissing(document.documentElement, new Set())) add()
}
