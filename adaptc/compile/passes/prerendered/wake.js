// Lets the scripts of an application wait until a visitor uses something that the page cannot serve without them, runs
// them in their order, and then repeats for them what the visitor did. Held scripts and hints have the type or relation
// TYPE and their own in OWN, which disabled buttons have that can be pressed meanwhile, and words that what scripts will
// write stands for. OWN-new is an element that they will add, OWN-was has the attributes that they will change as they
// were, and OWN-html the markup of an element that has what they will write, unless that is hidden in it; FILL is the
// function in fill.js, on pages that have what scripts will write. An event TYPE of the window, which proofs send, wakes them,
// too; it is sent once they ran.
{
  const button = 'button,[type=button],[type=submit],[type=reset],[type=image],[type=checkbox],[type=radio]'
  const field = 'input:not(' + button + '),select,textarea,[contenteditable]'
  const widget = '[role=button],[role=tab],[role=option],[role=switch],[role=slider],[role=radio],[role=checkbox],[role=combobox],[role=treeitem],[role^=menuitem]'
  const control = button + ',' + field + ',' + widget + ',a,area,label,summary,[tabindex="0"]'
  // Menus that open under the pointer, and code, to which applications add buttons
  const pointed = '[aria-haspopup],[aria-expanded],pre'
  const types = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'keydown', 'input', 'submit', 'focusin', 'pointerover']
  const typing = ['pointerdown', 'keydown', 'input'] // heard for as long as what was typed may be lost
  const all = (selector) => [...document.querySelectorAll(selector)]
  const now = () => performance.now()
  const isQuiet = () => now() - last > 80
  const prototype = EventTarget.prototype, listen = prototype.addEventListener
  const done = [], edited = new Map(), listening = new WeakSet()
  let isAwake, hasRun, isPressed, isLive, isReplacing, isTold, hearsKeys, hearsClicks, hasParts, entered, filled, typed = '', last = 0

  // Links and details work without scripts, but for those that scripts made controls
  const isServed = (target) => {
    const link = target.closest(control)
    return link && (link.matches('summary') || link.href && !link.matches('[role=button],[role=tab],[aria-expanded],[aria-haspopup],[aria-controls]') &&
      !/^\s*(?:#?\s*$|javascript:)/.test(link.getAttribute('href')))
  }
  // From the root down: which child, and -1 for a step into a shadow root
  const placeOf = (node) => {
    const parent = node.parentNode
    return node instanceof ShadowRoot ? [...placeOf(node.host), -1] : !parent || parent === document ? [] : [...placeOf(parent), [...parent.children].indexOf(node)]
  }
  // What hydration replaced is found where it was, or is like it: the page may have other elements before it then
  const find = ({ target, place }) => {
    if (target.isConnected) return target
    const there = place.reduce((node, index) => node && (index < 0 ? node.shadowRoot : node.children[index]), document.documentElement)
    return there?.isEqualNode(target) ? there : all(target.localName).find((node) => node.isEqualNode(target)) ?? there
  }
  const focusedIn = (root) => root.activeElement?.shadowRoot ? focusedIn(root.activeElement.shadowRoot) : root.activeElement
  const keep = (event, target, isStopped) => {
    const place = placeOf(target) // before it is taken away
    // Before the click a button must stay enabled, and one that is pressed may only begin to scroll
    if (/down$|up$/.test(event.type) && event.type !== 'keydown') {
      if (!isAwake && event.type === 'pointerdown') done.length = 0
    } else wake()
    done.push({ event, target, place })
    if (isStopped) event.preventDefault()
    if (event.type !== 'pointerover') event.stopImmediatePropagation()
  }

  const hear = (event) => {
    const { type, key } = event, [target] = event.composedPath()
    if (!event.isTrusted || !(target instanceof Element)) return
    const isField = target.matches(field)
    if (isTold && (type === 'pointerdown' || key === 'Enter' || key === 'Escape')) return edited.clear()
    if (type === 'keydown') isReplacing = target.selectionStart !== target.selectionEnd
    if (type === 'pointerover') {
      const menu = event.pointerType === 'mouse' && (event.screenX || event.screenY) && target.closest(pointed)
      if (menu) keep(event, menu)
    } else if (type === 'focusin') {
      if (isField) {
        entered = target
        wake()
      }
    } else if (type === 'input') {
      // React empties a field, too, as it hears of a key, unless it knows what was typed before
      if (isField && !isReplacing && target.value === event.data) setValue(target, (edited.get(target) ?? '') + event.data)
      if (isField) edited.set(target, target.value)
    } else if (type === 'keydown') {
      isLive = false
      if (isTold && !typed) return
      const isShortcut = key === 'k' ? event.ctrlKey || event.metaKey : key === '/' && !isField
      if (!isTold && (isShortcut || /^Arrow/.test(key) && !isField && target.closest(widget))) keep(event, target, true)
      // What is typed before the field of a search is there
      else if (isAwake && key.length === 1 && !isField && !(event.ctrlKey || event.metaKey || event.altKey)) typed += key
    } else if (type === 'submit') {
      if (!target.hasAttribute('action')) keep(event, target, true)
    } else {
      const used = target.closest(control)
      if (type === 'pointerdown') {
        isPressed = used && !isServed(target)
        // While something that nobody serves, or only later, is waited for, what is served already answers at once
        isLive = hasRun && isQuiet() && isReady(used || target)
      }
      const isOfPage = type === 'click' ? isServed(target) || !used && String(getSelection()) : !isPressed
      if (!isOfPage && !isLive) keep(event, used || target, type === 'click' && !target.closest(field))
      else if (hasRun && type === 'click') letScroll()
    }
  }

  const copy = (waiting) => new Promise((resolve) => {
    const script = document.createElement('script'), address = waiting.getAttribute('OWN')
    for (const { name, value } of waiting.attributes) if (name !== 'type' && !name.startsWith('OWN')) script.setAttribute(name, value)
    script.type = waiting.getAttribute('OWN-type') || ''
    script.nonce = waiting.nonce
    script.text = waiting.text
    script.async = waiting.hasAttribute('async')
    script.onload = script.onerror = resolve
    if (address !== null) script.src = address
    waiting.replaceWith(script)
    // These have no event; an inline module has none either
    if (address === null || script.noModule) resolve()
  })

  // Tells listeners for what is over already that it happened
  const listenWhileWaking = function (type, listener, options) {
    const target = this || window
    if (target === window) {
      hearsKeys ||= /^key/.test(type)
      hearsClicks ||= type === 'click'
    } else if (/^(?:click|mouse|pointer|key|input|change|submit)/.test(type)) {
      listening.add(target)
      hasParts = true
    }
    last = now()
    if (listener && (type === 'DOMContentLoaded' || /^(?:load|pageshow)$/.test(type) && target === window && document.readyState === 'complete')) {
      const event = new Event(type)
      setTimeout(() => listener.handleEvent ? listener.handleEvent(event) : listener.call(target, event))
    }
    return listen.call(target, type, listener, options)
  }
  const isHeard = (node) => node && (listening.has(node) || isHeard(node instanceof ShadowRoot ? node.host : node.parentNode))
  // Routers listen to the window before an application has its parts, and then who answers to tabs that are radio buttons
  const isReady = (node) => !node || !node.disabled && (isHeard(node) || hasParts && hearsClicks && node.matches('label,[type=radio],[type=checkbox]'))
  // Routers begin at the top of the page, where the visitor no longer is
  const scrolls = [...['scroll', 'scrollTo', 'scrollBy'].map((name) => [window, name]), [Element.prototype, 'scrollIntoView']]
    .map(([object, name]) => [object, name, object[name]])
  const stay = () => {}
  const letScroll = () => { for (const [object, name, native] of scrolls) if (object[name] === stay) object[name] = native }
  // Whoever listens to what is no control does soon, or nobody does: a later press must not be followed by this one
  const isReadyFor = (entry) => hearsKeys && entry.event.type === 'keydown' || isReady(find(entry)) && (find(entry) || !filled.length) ||
    now() > hasRun + 300 && !entry.target.closest(control)
  const wait = (time = 20) => new Promise((resolve) => setTimeout(resolve, time))

  const setValue = (node, value) => Object.getOwnPropertyDescriptor(Object.getPrototypeOf(node), 'value').set.call(node, value)
  // Hydration may empty a field that was filled in before
  const restore = (value, node) => { if (value && !node.value) setValue(node, value) }
  // React hears of a value only if it is another than the one that it knows
  const tell = (value, node) => {
    if ('value' in node) {
      value = node.value || value
      node.value = ''
      setValue(node, value)
    }
    for (const type of ['input', 'change']) node.dispatchEvent(new Event(type, { bubbles: true, composed: type === 'input' }))
  }
  const repeat = (entry) => {
    const { event } = entry, node = find(entry), send = (type, of = event) => node.dispatchEvent(new event.constructor(type, of))
    if (!node) return
    if (event.type === 'submit') return node.requestSubmit(event.submitter)
    if (event.type !== 'pointerover') return send(event.type)
    if (node.matches(':hover')) ['pointerover', 'mouseover', 'pointerenter', 'mouseenter'].map((type) => send(type))
  }

  const fill = FILL
  const run = async () => {
    const focused = focusedIn(document), focus = { target: focused, place: placeOf(focused) }
    for (const link of all('link[rel=TYPE]')) link.rel = link.getAttribute('OWN')
    filled = all('[OWN-html]')
    if (fill) await fill()
    for (const node of all('span[OWN]')) node.parentNode.replaceChildren(...node.childNodes)
    for (const node of all('[OWN-new]')) node.remove()
    for (const node of all('button[OWN]')) {
      node.disabled = true
      node.removeAttribute('OWN')
    }
    prototype.addEventListener = listenWhileWaking
    for (const [object, name] of scrolls) object[name] = stay
    const observer = new MutationObserver(() => { last = now() })
    observer.observe(document, { subtree: true, childList: true, attributes: true })
    const started = [], late = []
    for (const script of all('script[type=TYPE]')) {
      if (script.getAttribute('OWN-type') === 'module' || script.hasAttribute('OWN') && script.hasAttribute('defer')) late.push(script)
      else if (script.hasAttribute('async')) started.push(copy(script))
      else await copy(script)
    }
    await Promise.all([...started, ...late.map(copy)])
    dispatchEvent(new Event('TYPE'))
    hasRun = now()
    // Until somebody listens to what was used, and nothing more has changed for a while, but not for ever
    for (const end = now() + 5000; now() < end && !(isQuiet() && done.every(isReadyFor) && [...edited.keys()].every(isReady));) {
      await wait()
      edited.forEach(restore)
    }
    // React may hydrate a part, and run effects of routers, when its first event comes: one to which nobody answers
    for (const entry of done) find(entry)?.dispatchEvent(new Event('touchcancel', { bubbles: true, composed: true }))
    if (done.length) await wait()
    observer.disconnect()
    for (const sheet of all('style[OWN]')) sheet.remove() // scripts have added it themselves
    for (const type of types) if (!typing.includes(type)) removeEventListener(type, hear, true)
    if (prototype.addEventListener === listenWhileWaking) prototype.addEventListener = listen
    letScroll()
    // Who was disabled or replaced lost the focus
    if (document.activeElement === document.body && focused !== document.body) find(focus)?.focus({ preventScroll: true })
    // Who listens is told of a field that got it before
    else if (entered && entered === focusedIn(document)) {
      for (const bubbles of [false, true]) entered.dispatchEvent(new FocusEvent(bubbles ? 'focusin' : 'focus', { bubbles, composed: true }))
    }
    edited.forEach(tell)
    done.forEach(repeat)
    // React listens for all of a page, and hydrates parts of it later
    isTold = true
    for (const end = now() + 5000; (typed || edited.size) && now() < end; await wait()) {
      edited.forEach((value, node) => { if (value && !node.value) tell(value, node) })
      if (!typed || !focusedIn(document).matches(field)) continue
      document.execCommand('insertText', false, typed)
      typed = ''
    }
    for (const type of typing) removeEventListener(type, hear, true)
  }
  const wake = () => {
    if (isAwake) return
    isAwake = true
    document.readyState === 'loading' ? listen.call(document, 'DOMContentLoaded', run) : run()
  }
  for (const type of types) addEventListener(type, hear, true)
  addEventListener('TYPE', wake)
}
