// Returns the markup of the page as its scripts left it, null for a page without scripts. It parses back to the same
// tree, but for what needs scripts or is of no use any more: scripts, <noscript>, canvases, comments, "blob:" URLs, and
// modal dialogs, which are closed. It holds the state of forms, shadow roots (as declarative ones) and the rules that
// scripts added to style sheets.
() => {
  const HTML = 'http://www.w3.org/1999/xhtml'
  const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'param', 'source', 'track', 'wbr'])
  const RAW = new Set(['style', 'xmp', 'iframe', 'noembed', 'noframes', 'plaintext'])
  const LEADING = new Set(['pre', 'textarea', 'listing']) // a parser drops the newline that they begin with
  const LEFT_OUT = new Set(['noscript', 'canvas'])
  const TYPED = new Set(['file', 'password', 'checkbox', 'radio', 'hidden', 'submit', 'button', 'image', 'reset'])
  const REFERENCES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\u00a0': '&nbsp;' }
  const MOST = 3 // parses until the markup stays the same

  const escaped = (text) => text.replace(/[&<>\u00a0]/g, (character) => REFERENCES[character])
  const quoted = (text) => text.replace(/[&<>"\u00a0]/g, (character) => REFERENCES[character])
  const isCode = (script) => !script.type || /javascript|ecmascript|^module$/i.test(script.type)
  const isTypeset = (script) => /^MathJax/i.test(script.previousElementSibling?.className ?? '')
  const isLeftOut = (script) => !(script.type === 'application/ld+json' || (script.type?.startsWith('math/tex') && !isTypeset(script)))

  // ---- style sheets

  const rules = (sheet) => [...sheet.cssRules].map((rule) => rule.cssText).join('\n')
  const countRules = (text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet.cssRules.length
  }
  const isOwn = (sheet) => rules(sheet).includes('caret-color: transparent') // that of settle.js
  const style = (text, attributes = '') => `<style${attributes}>${text.replace(/<\/(?=style)/gi, '<\\/')}</style>`
  const adopted = (root) => (root.adoptedStyleSheets ?? []).filter((sheet) => !isOwn(sheet) && !sheet.disabled).map((sheet) => style(rules(sheet))).join('')
  const sheetText = (element) => {
    const text = element.textContent, sheet = element.sheet
    return sheet && !text.includes('@import') && countRules(text) !== sheet.cssRules.length ? rules(sheet) : text
  }

  // ---- elements

  const isSelectedByDefault = (select) =>
    ![...select.options].some((option) => option.selected !== option.defaultSelected && !(option.index === select.selectedIndex && option.index === 0))
  const attributesOf = (element) => {
    const values = new Map([...element.attributes].map(({ name, value }) => [name, value]))
    const set = (name, value) => { value === null ? values.delete(name) : values.set(name, value) }
    if (element instanceof HTMLInputElement) {
      if (['checkbox', 'radio'].includes(element.type)) set('checked', element.checked ? '' : null)
      else if (!TYPED.has(element.type) && element.value !== (element.getAttribute('value') ?? '')) set('value', element.value)
    } else if (element instanceof HTMLOptionElement) {
      const select = element.closest('select')
      if (select && !isSelectedByDefault(select)) set('selected', element.selected ? '' : null)
    } else if (element instanceof HTMLDialogElement && element.matches(':modal')) set('open', null)
    return [...values].filter(([, value]) => !/^\s*blob:/i.test(value)).map(([name, value]) => ` ${name}="${quoted(value)}"`).join('')
  }
  const shadow = (root) => root
    ? `<template shadowrootmode="${root.mode}"${root.delegatesFocus ? ' shadowrootdelegatesfocus=""' : ''}>${children(root)}${adopted(root)}</template>`
    : ''
  const children = (node) => [...node.childNodes].map(markup).join('')
  const headChildren = (head) => { // browsers look for the encoding in the first 1,024 bytes
    const encoding = head.querySelector(':scope > meta[charset], :scope > meta[http-equiv="content-type" i]')
    const nodes = [...head.childNodes].filter((node) => node !== encoding)
    return (encoding ? [encoding, ...nodes] : nodes).map(markup).join('') + (head.ownerDocument === document ? adopted(document) : '')
  }
  const content = (element) => {
    const name = element.localName
    const text = name === 'textarea' ? escaped(element.value)
      : name === 'template' ? children(element.content)
      : RAW.has(name) ? element.textContent
      : element === element.ownerDocument.head ? headChildren(element)
      : shadow(element.shadowRoot) + children(element)
    return LEADING.has(name) && text.startsWith('\n') ? '\n' + text : text
  }
  const markup = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return escaped(node.data)
    if (node.nodeType !== Node.ELEMENT_NODE) return ''
    const name = node.localName, tag = node.prefix ? `${node.prefix}:${name}` : name
    if (node.namespaceURI !== HTML) return name === 'script' ? '' : `<${tag}${attributesOf(node)}>${children(node)}</${tag}>`
    if (LEFT_OUT.has(name) || (name === 'script' && isLeftOut(node))) return ''
    if (name === 'script') return `<script${attributesOf(node)}>${node.textContent}</script>`
    if (name === 'style') return node.sheet?.disabled ? '' : style(sheetText(node), attributesOf(node))
    if (name === 'link' && /^blob:/.test(node.href) && node.sheet) return style(rules(node.sheet))
    return `<${tag}${attributesOf(node)}>` + (VOID.has(name) ? '' : `${content(node)}</${tag}>`)
  }

  const handlers = document.evaluate('//@*[starts-with(name(), "on")]', document, null, XPathResult.BOOLEAN_TYPE).booleanValue
  if (!handlers && ![...document.scripts].some(isCode)) return null
  const doctype = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + '\n' : ''
  // what scripts nested as no parser does (a block in a paragraph, a link in a link) stands as a parser puts it
  // (U+0000, which scripts can write and which is not shown, cannot be written in markup)
  let text = (doctype + markup(document.documentElement)).replaceAll('\0', '')
  for (let i = 0; i < MOST; i++) {
    const parsed = doctype + markup(new DOMParser().parseFromString(text, 'text/html').documentElement)
    if (parsed === text) return text
    text = parsed
  }
  return text
}
