// Opens what can be opened, hovers and focuses, so that classes and images come up that a visitor may bring up. Nothing
// is submitted, and links to other pages are not followed. The numbers are bounded, the times are not measured: each
// run of it does the same. In a page without scripts, style sheets show what there is (hovering.js), and <details>.
async ({ hasScripts, pace }, { sleep, stepped }) => {
  const OPENERS = 'button,summary,label[for],[role=button],[role=tab],[role=menuitem],[aria-expanded],[aria-haspopup],[onclick],' +
    '[data-toggle],[data-bs-toggle],[data-target],[data-bs-target],a:not([href]),a[href^="#"],a[href^="javascript:"]'
  const HOVERED = 'a,button,summary,li,img,label,tr,[role],[title],[onmouseover],[onmouseenter]'
  const FOCUSED = 'input,select,textarea,button,a[href],[tabindex]'
  const MOST = 40, ALIKE = 2, STEPS = 2, STEPS_AT_LAST = 20, PATIENCE = 1500
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
  const isSubmit = (element) => element.form && /^(submit|image|reset)$/.test(element.type)
  const kind = (element) => [element.localName, element.className, element.parentElement?.className, element.getAttribute('role')].join()

  const counts = new Map()
  const chosen = (purpose, selector, most) => {
    const found = []
    for (const element of document.querySelectorAll(selector)) {
      if (found.length >= most) break
      const key = purpose + kind(element), count = counts.get(key) ?? 0
      if (count >= ALIKE || !isSeen(element) || isSubmit(element)) continue
      counts.set(key, count + 1)
      found.push(element)
    }
    return found
  }
  const stop = (event) => event.preventDefault()
  addEventListener('submit', stop, true)
  // a window for each "javascript:" link with a target took a quarter of the CPU time; the page's own listeners come first
  const stay = (event) => { if (event.target.closest?.('a[target]:not([target=_self])')) stop(event) }
  addEventListener('click', stay)
  const { collect } = globalThis.adaptc

  // ---- what follows an action: by steps of the page's own time (freeze.js), until what it shows was drawn and loaded

  const state = () => location.hash + document.querySelectorAll(':is(:checked, :popover-open)').length
  const isAwaited = (image) => {
    if (image.complete || !image.getAttribute('src')) return false
    const { top, bottom, width } = image.getBoundingClientRect()
    return image.loading !== 'lazy' || (width > 0 && bottom > 0 && top < innerHeight)
  }
  const loaded = (image) => new Promise((resolve) => ['load', 'error'].forEach((name) => image.addEventListener(name, resolve)))
  const follow = async (most, before = state()) => {
    let steps = 0
    while (steps < most && await stepped()) steps++
    if (!steps && before === state()) return
    await Promise.race([Promise.all([...document.images].filter(isAwaited).map(loaded)), sleep(PATIENCE * pace)])
    collect()
  }

  for (const element of document.querySelectorAll('details:not([open])')) element.open = true
  if (!hasScripts) return
  for (let round = 0; round < 2; round++) {
    for (const element of chosen('click', OPENERS, MOST / (1 + round))) {
      const before = state()
      element.click()
      await follow(STEPS, before)
    }
  }
  const over = (type, bubbles) => new (type.startsWith('pointer') ? PointerEvent : MouseEvent)(type, { bubbles, cancelable: true, view: window })
  for (const element of chosen('hover', HOVERED, MOST)) {
    for (const [type, bubbles] of [['pointerover', true], ['pointerenter', false], ['mouseover', true], ['mouseenter', false], ['mousemove', true]]) {
      element.dispatchEvent(over(type, bubbles))
    }
  }
  await follow(STEPS)
  for (const element of chosen('focus', FOCUSED, MOST / 2)) {
    element.focus({ preventScroll: true })
    if (/^(text|search|email)$/.test(element.type) && !element.value) {
      element.value = 'a'
      for (const type of ['input', 'keyup', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }))
    }
  }
  await follow(STEPS_AT_LAST)
  removeEventListener('submit', stop, true)
  removeEventListener('click', stay)
}
