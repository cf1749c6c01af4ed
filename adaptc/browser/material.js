// Does what the bundle of Material for MkDocs does before a visitor uses anything, while that waits: the class of the
// root, colours, tables that scroll, buttons that copy code, the line below the tab that is open, the hint of the search,
// side bars as high as the window. The event TYPE of the window, once the bundle ran, undoes what is there twice. OWN marks
// what it adds. Returns true; in other pages nothing happens.
() => {
  const all = (selector) => [...document.querySelectorAll(selector)]
  const root = document.documentElement, header = document.querySelector('.md-header'), main = document.querySelector('.md-main')
  if (!header || !main || !root.matches('.no-js') || !document.querySelector('meta[name=generator][content*="mkdocs-material"]')) return
  const make = (tag, name) => {
    const element = document.createElement(tag)
    if (name) element.className = name
    element.setAttribute('OWN', '')
    return element
  }
  const { features, translations } = JSON.parse(document.querySelector('#__config').text)
  root.classList.replace('no-js', 'js')

  const inputs = all('[data-md-component=palette] input'), color = (input, name) => input.getAttribute('data-md-color-' + name)
  if (inputs[0]) {
    const known = typeof __md_get === 'undefined' ? null : __md_get('__palette')
    const place = known ? known.index : inputs.findIndex((input) => matchMedia(color(input, 'media')).matches)
    const input = inputs[Math.max(0, Math.min(place, inputs.length - 1))]
    const light = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
    const shown = color(input, 'media') === '(prefers-color-scheme)' && document.querySelector(`[data-md-color-media="(prefers-color-scheme: ${light})"]`) || input
    for (const name of ['scheme', 'primary', 'accent']) document.body.setAttribute('data-md-color-' + name, color(shown, name))
    for (const each of inputs) if (each.nextElementSibling) each.nextElementSibling.hidden = each !== input
  }

  for (const table of all('.md-content table:not([class])')) {
    const outer = make('div', 'md-typeset__scrollwrap'), inner = make('div', 'md-typeset__table')
    table.replaceWith(outer)
    outer.append(inner)
    inner.append(table)
  }
  for (const code of all('.md-content pre:not(.mermaid) > code')) {
    if (!code.closest('.copy') && (!features.includes('content.code.copy') || code.closest('.no-copy'))) continue
    // Without a mark: marked buttons are disabled as scripts start (``wake.js``)
    const nav = make('nav', 'md-code__nav'), button = document.createElement('button')
    button.className = 'md-code__button'
    button.title = translations['clipboard.copy']
    button.setAttribute('data-md-type', 'copy')
    nav.append(button)
    code.before(nav)
  }
  const hint = document.querySelector('.md-search-result__meta')
  if (hint) hint.textContent = translations['search.result.placeholder']
  const setLines = () => {
    for (const input of all('.md-content .tabbed-set > input:checked')) {
      const tabs = input.parentElement, label = tabs.querySelector(`.tabbed-labels > label[for="${input.id}"]`)
      if (!label) continue
      tabs.style.setProperty('--md-indicator-x', label.offsetLeft + 'px')
      tabs.style.setProperty('--md-indicator-width', label.offsetWidth + 'px')
    }
  }
  for (const label of all('.md-content .tabbed-labels > label')) {
    const link = make('a')
    link.href = '#' + label.htmlFor
    link.tabIndex = -1
    link.onclick = (event) => {
      if (event.metaKey || event.ctrlKey) return
      event.preventDefault() // a link in a label does not do what the label does
      history.replaceState({}, '', link.hash)
      label.click()
      setLines()
    }
    link.append(...label.childNodes)
    label.append(link)
    label.parentElement.classList.add('tabbed-labels--linked')
  }
  setLines()

  // As high as what is seen of the main part, below the header, its margin and the padding of the bar. Then the bundle
  // scrolls the bar to the link to the page
  const inner = main.firstElementChild, style = make('style')
  let height
  const setHeight = () => {
    const y = Math.max(0, scrollY), top = header.offsetHeight, start = main.offsetTop, margin = inner.offsetTop - start
    const end = Math.min(innerHeight, start + main.offsetHeight - y)
    const seen = end - Math.max(start - y, top) - Math.max(0, margin - Math.max(0, y - start + top))
    if (seen === height) return
    height = seen
    const bars = (width, name) => `@media screen and (min-width:${width}){.md-sidebar--${name}{height:auto!important;top:${top}px!important}` +
      `.md-sidebar--${name} .md-sidebar__scrollwrap{height:calc(${height}px - 2.4rem)}}`
    style.textContent = bars('60em', 'secondary') + bars('76.25em', 'primary')
  }
  document.head.append(style)
  setHeight()
  for (const link of all('.md-sidebar .md-nav__link--active[href]')) {
    const bar = link.closest('.md-sidebar__scrollwrap')
    if (link.clientHeight) bar.scrollTop = link.offsetTop - bar.offsetTop - bar.offsetHeight / 2
  }
  const events = ['scroll', 'resize']
  for (const event of events) addEventListener(event, setHeight, { passive: true })
  addEventListener('resize', setLines)

  addEventListener('TYPE', () => {
    for (const event of events) removeEventListener(event, setHeight)
    removeEventListener('resize', setLines)
    style.remove()
    for (const nav of all('nav[OWN]')) {
      const later = nav.nextElementSibling?.querySelector('button')
      if (!later || !nav.matches(':active')) {
        nav.remove()
        continue
      }
      // It is pressed: without it there would be no click, which is for the button of the bundle
      nav.addEventListener('click', () => later.click())
      addEventListener('pointerup', () => setTimeout(() => nav.remove()), { once: true })
    }
    for (const link of all('a[OWN]')) link.replaceWith(...link.childNodes)
    for (const wrapper of all('div.md-typeset__table[OWN]')) wrapper.parentNode.replaceWith(...wrapper.childNodes)
  }, { once: true })
  return true
}
