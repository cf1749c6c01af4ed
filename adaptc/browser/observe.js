// Runs in a world of its own before the page's scripts. It notes the tags, classes, ids and attribute names that elements
// have at any time.
(() => {
  const seen = globalThis.adaptc = { names: new Set() }
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
  new MutationObserver((records) => {
    for (const { type, target, addedNodes, attributeName, oldValue } of records) {
      if (type === 'attributes') {
        note(target)
        seen.names.add(attributeName)
        if (oldValue && attributeName === 'class') for (const token of oldValue.split(/\s+/)) if (token) seen.names.add(token)
        if (oldValue && attributeName === 'id') seen.names.add(oldValue)
      }
      for (const node of addedNodes) seen.noteAll(node)
    }
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeOldValue: true })
})()
