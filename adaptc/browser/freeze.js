// Runs in every frame before the page's own scripts, so that each load of a page goes the same way: the same clock and
// random numbers, and no timer of two seconds or more (a slide show stays at its first slide). The clock goes on with
// timers, by their delays, and with frames, not with the time that things take: names made of it are the same in each
// load. A loop that waits for a time reads the clock until it moves. The first event
// "adaptc:step" stops all timers and frames, and each runs those that are due within 50 ms of the clock, in frames of the
// page as well, so that what they do does not depend on the time that the machine takes; it is cancelled if something moved
// since the one before. Frames, and timers of a quarter of a second and more, wait for steps from the start: a page that was
// quiet for as long is loaded. "adaptc:busy" is cancelled while the page draws or changes something, or a worker owes it an answer.
(() => {
  const QUIET = 250, LONG = 2000, NEVER = 1e8, STEP = 50, MOST_TIMERS = 50
  const now = performance.now.bind(performance), report = window.reportError.bind(window)
  const evaluate = window.eval, dispatch = EventTarget.prototype.dispatchEvent, Signal = Event
  let isStill = false, isChanged = false, lastChange = 0

  let seed = 0x9e3779b9
  Math.random = function random() { // mulberry32
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  // the browser may have no network at all, of which pages learn nothing
  Object.defineProperty(Navigator.prototype, 'onLine', { get: { onLine() { return true } }.onLine, configurable: true, enumerable: true })

  const Clock = Date, FRAME = 16, PATIENT = 1000
  let clock = 1700000000000, reads = 0
  const moveTo = (moment) => { clock = Math.max(clock, moment); reads = 0 }
  const time = () => ++reads > PATIENT ? ++clock : clock
  const Frozen = new Proxy(Clock, {
    construct: (target, values, made) => Reflect.construct(target, values.length ? values : [time()], made === Frozen ? target : made),
    apply: () => new Clock(time()).toString(),
    get: (target, name) => (name === 'now' ? time : Reflect.get(target, name)),
  })
  Clock.prototype.constructor = Frozen
  window.Date = Frozen

  // ---- timers: by the machine until the page is still, then by steps; frames: by steps

  const timers = new Map(), frames = new Map()
  const ofPage = performance.now
  let stillAt = 0, stillClock = 0
  const elapsed = () => isStill ? stillAt + clock - stillClock : now()
  performance.now = function () { return this === performance ? elapsed() : ofPage.call(this) }
  // Vue 3.2 drops events that are older, by this clock, than their listeners
  const stamps = new WeakMap(), stamp = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp')
  Object.defineProperty(Event.prototype, 'timeStamp', { ...stamp, get: { timeStamp() {
    if (!stamps.has(this)) stamps.set(this, isStill ? elapsed() : stamp.get.call(this))
    return stamps.get(this)
  } }.timeStamp })

  const timed = (name, repeats) => {
    const original = window[name]
    window[name] = { [name](f, delay, ...values) {
      const step = Math.max(Number(delay) || 0, 0)
      const timer = { due: clock + step, run() {
        moveTo(timer.due)
        timer.due += step
        if (!repeats) timers.delete(id)
        if (typeof f === 'function') f.apply(window, values)
        else evaluate(String(f))
      } }
      const id = original.call(window, () => { if (!isStill) timer.run() }, isStill || step >= QUIET ? NEVER : delay)
      if (step < LONG) timers.set(id, timer)
      return id
    } }[name]
  }
  timed('setTimeout', false)
  timed('setInterval', true)
  const frame = window.requestAnimationFrame
  window.requestAnimationFrame = function requestAnimationFrame(f) {
    if (typeof f !== 'function') return frame.call(window, f)
    const run = (t) => { frames.delete(id); lastChange = now(); moveTo(clock + FRAME); f(t) }
    const id = frame.call(window, () => {}) // for its number; how many frames a machine draws is no matter of the page
    frames.set(id, run)
    return id
  }
  for (const [name, known] of [['clearTimeout', timers], ['clearInterval', timers], ['cancelAnimationFrame', frames]]) {
    const original = window[name]
    window[name] = { [name](id) { known.delete(id); original.call(window, id) } }[name]
  }
  const attempt = (f, ...values) => { try { f(...values) } catch (error) { report(error) } }
  const step = () => {
    const until = clock + STEP
    let isMoved = false
    for (let i = 0; i < MOST_TIMERS; i++) {
      const next = [...timers.values()].filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0]
      if (!next) break
      attempt(next.run)
      isMoved = true
    }
    moveTo(until - FRAME)
    const drawn = [...frames.values()]
    for (const run of drawn) attempt(run, elapsed() + FRAME)
    moveTo(until)
    return isMoved || drawn.length > 0
  }

  const noteChange = () => { lastChange = now(); isChanged = true }
  const observer = new MutationObserver(noteChange)
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  const isMovedIn = (frame) => {
    try {
      return !dispatch.call(frame.document, new Signal('adaptc:step', { cancelable: true }))
    } catch { // of another origin
      return false
    }
  }
  document.addEventListener('adaptc:step', (event) => {
    if (!isStill) [isStill, stillAt, stillClock] = [true, now(), clock]
    if (observer.takeRecords().length) noteChange()
    if (step()) noteChange()
    for (let i = 0; i < window.length; i++) if (isMovedIn(window[i])) noteChange()
    if (isChanged) event.preventDefault()
    isChanged = false
    event.stopImmediatePropagation()
  })
  const asked = new Set(), post = window.Worker?.prototype.postMessage, listen = EventTarget.prototype.addEventListener
  if (post) Worker.prototype.postMessage = function postMessage(...values) {
    if (!asked.has(this)) listen.call(this, 'message', () => { asked.delete(this); noteChange() }, { once: true })
    asked.add(this)
    return post.apply(this, values)
  }
  document.addEventListener('adaptc:busy', (event) => {
    if (asked.size || now() - lastChange < QUIET) event.preventDefault()
    event.stopImmediatePropagation()
  })
})()
