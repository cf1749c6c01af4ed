// What axe finds in the theme: landmarks without names, and tables that only a mouse can scroll.
document$.subscribe(() => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((table) => { table.tabIndex = 0 })
  const name = () => document.querySelectorAll(".md-code__nav").forEach((each, number) => {
    each.setAttribute("aria-label", `Code ${number + 1}`)
  })
  name()
  new MutationObserver(name).observe(document.body, { childList: true, subtree: true })
})
