// Runs in a world of its own before the page's scripts: notes the names that elements have at any time, the image that
// was the largest contentful paint, and how far the layout shifted.
(() => {
  const seen = globalThis.adaptc = { names: new Set(), largest: null, shift: 0 }
  const note = (element) => {
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
  new MutationObserver((records) => {
    for (const record of records) {
      if (record.type === 'attributes') note(record.target)
      for (const node of record.addedNodes) seen.noteAll(node)
    }
  }).observe(document, { subtree: true, childList: true, attributes: true })

  const observe = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true })
  observe('largest-contentful-paint', (entry) => { seen.largest = entry.url || null })
  observe('layout-shift', (entry) => { if (!entry.hadRecentInput) seen.shift += entry.value })
})()
