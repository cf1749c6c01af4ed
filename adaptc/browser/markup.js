// Returns the markup of the document as it is now, for a page with scripts; null for others.
() => {
  const isCode = (script) => !script.type || /javascript|ecmascript|^module$|^importmap$/i.test(script.type)
  const scripts = [...document.scripts].some(isCode)
  const handlers = document.evaluate('//@*[starts-with(name(), "on")]', document, null, XPathResult.BOOLEAN_TYPE).booleanValue
  if (!scripts && !handlers) return null
  const doctype = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + '\n' : ''
  return doctype + document.documentElement.outerHTML
}
