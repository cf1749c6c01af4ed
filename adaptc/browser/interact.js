// Opens what can be opened, hovers and focuses, so that classes and images come up that a visitor may bring up. Nothing
// is submitted, and links to other pages are not followed. The numbers are bounded, the times are not measured: each
// run of it does the same. In a page without scripts, style sheets show what there is (hovering.js), and <details>.
async ({ hasScripts }) => {
  const OPENERS = 'button,summary,label[for],[role=button],[role=tab],[role=menuitem],[aria-expanded],[aria-haspopup],[onclick],' +
    '[data-toggle],[data-bs-toggle],[data-target],[data-bs-target],a:not([href]),a[href^="#"],a[href^="javascript:"]'
  const HOVERED = 'a,button,summary,li,img,label,tr,[role],[title],[onmouseover],[onmouseenter]'
  const FOCUSED = 'input,select,textarea,button,a[href],[tabindex]'
  const MOST = 40, ALIKE = 2
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
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
  document.dispatchEvent(new Event('adaptc:move'))
  const { collect } = globalThis.adaptc

  for (const element of document.querySelectorAll('details:not([open])')) element.open = true
  if (!hasScripts) return
  for (let round = 0; round < 2; round++) {
    for (const element of chosen('click', OPENERS, MOST / (1 + round))) {
      element.click()
      await frame()
      collect()
    }
  }
  const over = (type, bubbles) => new (type.startsWith('pointer') ? PointerEvent : MouseEvent)(type, { bubbles, cancelable: true, view: window })
  for (const element of chosen('hover', HOVERED, MOST)) {
    for (const [type, bubbles] of [['pointerover', true], ['pointerenter', false], ['mouseover', true], ['mouseenter', false], ['mousemove', true]]) {
      element.dispatchEvent(over(type, bubbles))
    }
  }
  await frame()
  collect()
  for (const element of chosen('focus', FOCUSED, MOST / 2)) {
    element.focus({ preventScroll: true })
    if (/^(text|search|email)$/.test(element.type) && !element.value) {
      element.value = 'a'
      for (const type of ['input', 'keyup', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }))
    }
  }
  await frame()
  const isBusy = () => !document.dispatchEvent(new Event('adaptc:busy', { cancelable: true }))
  for (let i = 0; i < 20 && isBusy(); i++) await new Promise((resolve) => setTimeout(resolve, 50))
  removeEventListener('submit', stop, true)
}
