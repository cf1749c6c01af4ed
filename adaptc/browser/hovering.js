// Returns selectors of the elements that a style sheet shows or changes others for while they are hovered or have the
// focus: those of menus, mostly.
() => {
  const STATE = /:(hover|focus-within|focus-visible|focus)\b/
  const found = new Set()
  const visit = (rules) => {
    for (const rule of rules) {
      for (const selector of rule.selectorText?.split(',') ?? []) {
        const match = STATE.exec(selector)
        if (!match || !/[\s>+~]\S/.test(selector.slice(match.index))) continue
        const base = selector.slice(0, match.index).trim()
        try {
          if (base && document.querySelector(base)) found.add(base)
        } catch { /* a comma or a state within :is() or :not() */ }
      }
      if (rule.cssRules) visit(rule.cssRules)
    }
  }
  for (const sheet of document.styleSheets) {
    try { visit(sheet.cssRules) } catch { /* of another origin */ }
  }
  return [...found]
}
