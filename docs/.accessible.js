// What axe finds in the theme: landmarks without names, tables that only a mouse can scroll, and code without a pointer.
document$.subscribe(() => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((table) => { table.tabIndex = 0 })
  const mend = () => {
    document.querySelectorAll(".md-code__nav").forEach((each, number) => {
      each.setAttribute("aria-label", `Code ${number + 1}`)
    })
    // the theme takes it away again where nothing can hover
    document.querySelectorAll("pre > code:not([tabindex])").forEach((code) => {
      if (code.scrollWidth > code.clientWidth) code.tabIndex = 0
    })
  }
  mend()
  const observed = { childList: true, subtree: true, attributes: true, attributeFilter: ["tabindex"] }
  new MutationObserver(mend).observe(document.body, observed)
  new ResizeObserver(mend).observe(document.body)
})
