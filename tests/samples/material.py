"""A page of Material for MkDocs, cut by hand to its structure, and a script that does what its bundle does."""

from __future__ import annotations

from tests.samples.prerendered import ARTICLE, FILES

BUNDLE_PATH = "assets/javascripts/bundle.a5f9d56c.min.js"
SHEET = """.md-main>*{display:flex;margin-top:30px}.md-main{display:flow-root}.end{height:900px}
.no-js .md-search{display:none} .md-sidebar{height:0;position:sticky;padding:1.2rem 0} .no-js .md-sidebar{height:auto}
.md-sidebar__scrollwrap{overflow-y:auto} .md-content table{display:inline-block} .md-typeset__table{padding:9px}
.md-typeset__table table{display:table} .md-code__nav{float:right} .md-option:checked+label:not([hidden]){display:block}
label{display:none} .tabbed-labels label{display:inline-block} .tabbed-labels--linked a{padding:5px}
.tabbed-labels:before{content:"";display:block;height:2px;width:var(--md-indicator-width)}
.md-nav__link{display:block} [data-md-color-scheme=slate]{background:#000;padding:5px} button{width:20px;height:9px}"""
LINKS = "".join(
    f"<p><a class='md-nav__link{' md-nav__link--active' * (number == 60)}' href={number}/>Page {number}</a>"
    for number in range(70)
)
CONFIG = '{"features": ["content.code.copy"], "translations": {"clipboard.copy": "Copy"}}'
PALETTE = """<form data-md-component=palette>
<input class=md-option type=radio checked data-md-color-media="(prefers-color-scheme)"><label hidden>0</label>
<input class=md-option type=radio data-md-color-media="(prefers-color-scheme: light)" data-md-color-scheme=slate
data-md-color-primary=teal data-md-color-accent=teal><label hidden>1</label></form>"""

TABS = """<div class=tabbed-set data-tabs=1:2><input checked id=t1 name=t type=radio><input id=t2 name=t type=radio>
<div class=tabbed-labels><label for=t1>C</label><label for=t2>Python</label></div></div>"""

# What the bundle does at once, and to a click on a button to copy code or on a tab
BUNDLE = """
const all = (selector) => [...document.querySelectorAll(selector)]
document.documentElement.className = 'js'
document.addEventListener('mousedown', () => {}, true)
document.body.setAttribute('data-md-color-scheme', 'slate')
document.querySelector('label').hidden = false
for (const table of all('.md-content table:not([class])')) {
  table.outerHTML = `<div class="md-typeset__scrollwrap"><div class="md-typeset__table">${table.outerHTML}</div></div>`
}
for (const code of all('pre > code')) {
  const button = '<button class="md-code__button" title="Copy"></button>'
  code.insertAdjacentHTML('beforebegin', `<nav class="md-code__nav">${button}</nav>`)
  code.previousSibling.firstChild.addEventListener('click', () => { globalThis.copied = code.textContent })
}
for (const set of all('.tabbed-set')) {
  set.style.setProperty('--md-indicator-x', '0px')
  for (const label of set.querySelectorAll('.tabbed-labels > label')) {
    const link = document.createElement('a')
    link.href = '#' + label.htmlFor
    link.tabIndex = -1
    link.append(...label.childNodes)
    label.replaceChildren(link)
    link.addEventListener('click', (event) => {
      event.preventDefault()
      history.replaceState({}, '', link.hash)
      label.click()
    })
    label.parentElement.classList.add('tabbed-labels--linked')
  }
  set.style.setProperty('--md-indicator-width', set.querySelector('label').offsetWidth + 'px')
}
for (const bar of all('.md-sidebar__scrollwrap')) {
  const header = document.querySelector('.md-header').offsetHeight, main = document.querySelector('.md-main')
  const setHeight = () => {
    const end = Math.min(innerHeight, main.offsetTop + main.offsetHeight - scrollY)
    const start = Math.max(main.offsetTop - scrollY, header), past = Math.max(0, scrollY - main.offsetTop + header)
    bar.style.height = end - start - 30 + Math.min(30, past) - 2 * bar.offsetTop + 'px'
  }
  setHeight()
  const link = bar.querySelector('.md-nav__link--active')
  bar.scrollTop = link.offsetTop - bar.offsetTop - bar.offsetHeight / 2
  addEventListener('scroll', setHeight)
}
""" + FILES["assets/js/main.75c38abc.js"].replace("run", "String")


def material_page(more: str = "") -> str:
    """Return the page, with ``more`` in its content."""
    return f"""<!doctype html><html lang=en class=no-js><head><meta charset=utf-8><title>T</title>
<meta name=generator content="mkdocs-1.6.1, mkdocs-material-9.8.2"><style>{SHEET}</style></head>
<body><header class=md-header>{PALETTE}<div class=md-search><input></div></header>
<div class=md-main><div>
<div class="md-sidebar md-sidebar--primary"><div class=md-sidebar__scrollwrap>{LINKS}</div></div>
<div class=md-content>{ARTICLE}<table><tr><td>Cell</table><pre><code>make</code></pre>
{more}<p class=end></p></div></div></div>
<script id=__config type=application/json>{CONFIG}</script><script src={BUNDLE_PATH}></script></body></html>"""
