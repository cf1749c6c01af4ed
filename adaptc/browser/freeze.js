// Runs in every frame before the page's own scripts, so that each load of a page goes the same way: the same clock and
// random numbers, and no timer of two seconds or more (a slide show stays at its first slide). The clock goes on with
// timers, by their delays, and with frames, not with the time that things take: names made of it are the same in each
// load. A loop that waits for a time reads the clock until it moves. The event
// "adaptc:still" stops all timers and frames, "adaptc:move" lets new ones run; "adaptc:busy" is cancelled while the page draws or changes something.
(() => {
  const QUIET = 250, LONG = 2000, NEVER = 1e8
  const now = performance.now.bind(performance)
  let isStill = false, lastChange = 0

  let seed = 0x9e3779b9
  Math.random = function random() { // mulberry32
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

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

  const unlessStill = (f) => typeof f === 'function' ? function (...values) { if (!isStill) return f.apply(this, values) } : f
  const timed = (name) => {
    const original = window[name]
    window[name] = { [name](f, delay, ...values) {
      const step = Math.max(Number(delay) || 0, 0)
      let due = clock + step
      const run = typeof f !== 'function' ? f : function (...given) {
        moveTo(due)
        due += step
        return f.apply(this, given)
      }
      return original.call(window, unlessStill(run), delay >= LONG ? NEVER : delay, ...values)
    } }[name]
  }
  timed('setTimeout')
  timed('setInterval')
  const frame = window.requestAnimationFrame
  window.requestAnimationFrame = function requestAnimationFrame(f) {
    return frame.call(window, typeof f !== 'function' ? f : (t) => { if (!isStill) { lastChange = now(); moveTo(clock + FRAME); f(t) } })
  }

  new MutationObserver(() => { lastChange = now() })
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  document.addEventListener('adaptc:still', (event) => { isStill = true; event.stopImmediatePropagation() })
  document.addEventListener('adaptc:move', (event) => { isStill = false; event.stopImmediatePropagation() })
  document.addEventListener('adaptc:busy', (event) => {
    if (now() - lastChange < QUIET) event.preventDefault()
    event.stopImmediatePropagation()
  })
})()
