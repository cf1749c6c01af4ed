// Holds back the scripts of other sites until a visitor does something, and then runs them in their order. HOSTS are the
// names of their hosts. Those of the markup have the type TYPE and their address in ADDRESS; what other scripts insert
// with such an address is held where it is inserted. What they missed is repeated for them alone: events of the document
// and the window, and the click that woke them.
{
  const hosts = HOSTS
  const isHeld = (script) => {
    const { hostname } = Object.assign(document.createElement('a'), { href: script.src })
    return hosts.some((host) => hostname === host || hostname.endsWith('.' + host))
  }
  const waits = (node) => !isAwake && node instanceof HTMLScriptElement && node.src && isHeld(node)
  const missed = new Map()
  const signs = ['pointerdown', 'mousemove', 'touchstart', 'wheel', 'scroll', 'keydown', 'focusin']
  const options = { capture: true, passive: true }
  const held = []
  let isAwake = false

  for (const name of ['appendChild', 'insertBefore']) {
    const insert = Node.prototype[name]
    Node.prototype[name] = function (node, before) {
      if (waits(node)) {
        held.push(() => insert.call(this, node, before && before.parentNode === this ? before : null))
        return node
      }
      return name === 'appendChild' ? insert.call(this, node) : insert.call(this, node, before)
    }
  }

  for (const name of ['append', 'prepend', 'before', 'after']) {
    const insert = Element.prototype[name]
    Element.prototype[name] = function (...nodes) {
      for (const node of nodes.filter(waits)) held.push(() => this.isConnected ? insert.call(this, node) : document.head.append(node))
      return insert.apply(this, nodes.filter((node) => !waits(node)))
    }
  }

  const repeatFor = (target) => {
    const listen = target.addEventListener
    target.addEventListener = function (type, listener, ...rest) {
      const event = missed.get(type), script = document.currentScript
      if (event && listener && script && script.src && isHeld(script)) {
        setTimeout(() => listener.handleEvent ? listener.handleEvent(event) : listener.call(target, event))
        if (type !== 'click') return
      }
      return listen.call(target, type, listener, ...rest)
    }
  }

  const run = () => {
    for (const type of ['readystatechange', 'DOMContentLoaded', 'load', 'pageshow']) missed.set(type, new Event(type))
    isAwake = true
    for (const waiting of document.querySelectorAll('script[type="TYPE"]')) {
      const script = document.createElement('script')
      for (const { name, value } of waiting.attributes) if (name !== 'type' && name !== 'ADDRESS') script.setAttribute(name, value)
      script.type = waiting.getAttribute('TYPE-type') || ''
      script.async = waiting.hasAttribute('async')
      script.src = waiting.getAttribute('ADDRESS')
      waiting.replaceWith(script)
    }
    for (const insert of held) insert()
  }
  const wake = ({ isTrusted, screenX, screenY }) => {
    // Browsers without a pointer say that one is at 0, 0 of the screen once a page is there
    if (isTrusted && screenX === 0 && screenY === 0) return
    for (const sign of signs) removeEventListener(sign, wake, options)
    repeatFor(document)
    repeatFor(window)
    document.readyState === 'complete' ? run() : addEventListener('load', () => setTimeout(run))
  }
  for (const sign of signs) addEventListener(sign, wake, options)
  addEventListener('click', (event) => missed.set('click', event), { capture: true, once: true })
}
