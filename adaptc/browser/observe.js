// Runs in a world of its own before the page's scripts. It notes the tags, classes, ids and attribute names that elements
// have at any time, and the addresses of images whose attributes change or that leave their places.
(() => {
  const seen = globalThis.adaptc = { names: new Set(), changed: new Set() }
  const noteChanged = (image) => {
    for (const url of [image.src, image.currentSrc]) seen.changed.add(url.split('#')[0])
  }
  const note = (element) => {
    seen.names.add(element.localName)
    for (const { name, value } of element.attributes) {
      seen.names.add(name)
      if (name === 'id' && value) seen.names.add(value)
      if (name === 'class') for (const token of element.classList) seen.names.add(token)
    }
  }
  seen.noteAll = (root) => {
    if (root.nodeType === Node.ELEMENT_NODE) note(root)
    for (const element of root.querySelectorAll?.('*') ?? []) note(element)
  }
  // a class that is set and taken away in one go is in the old values
  const observer = new MutationObserver((records) => {
    for (const { type, target, addedNodes, removedNodes, attributeName, oldValue } of records) {
      if (type === 'attributes') {
        note(target)
        if (target.localName === 'img') noteChanged(target)
        seen.names.add(attributeName)
        if (oldValue && attributeName === 'class') for (const token of oldValue.split(/\s+/)) if (token) seen.names.add(token)
        if (oldValue && attributeName === 'id') seen.names.add(oldValue)
      }
      for (const node of addedNodes) seen.noteAll(node)
      for (const node of removedNodes) {
        if (node.localName === 'img') noteChanged(node)
        node.querySelectorAll?.('img').forEach(noteChanged)
      }
    }
  })
  seen.unnoted = (change) => { change(); observer.takeRecords() }
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeOldValue: true })
})()
