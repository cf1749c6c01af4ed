// What several scripts of this package need; each of them gets it as its second argument. "pace" is how many times as
// long things take on this machine as on an idle one.
(pace) => {
  const PICTURES = new Set(['IMG', 'VIDEO', 'CANVAS', 'IFRAME', 'OBJECT', 'EMBED', 'svg'])
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  // An observer is told once of what it begins to observe, in the task in which all are told of the same frame: of that
  // frame each has heard before the next task. Without a frame nobody hears of it.
  const observed = (resolve) => {
    const observer = new IntersectionObserver(() => {
      observer.disconnect()
      setTimeout(resolve)
    })
    observer.observe(document.documentElement)
  }
  const shown = () => Promise.race([new Promise(observed), sleep(400 * pace)])
  const finish = () => {
    for (const animation of document.getAnimations()) {
      try {
        if (animation.effect?.getComputedTiming().endTime === Infinity) animation.cancel()
        else animation.finish()
      } catch { /* an animation whose playback rate is 0 cannot be finished */ }
    }
  }
  // elements with a label that may depend on a visitor, and those of them that may be missing until scripts know his
  // keyboard: hints outside the text
  const LABELLED = 'button,kbd,[role=button],[role=switch],[role=combobox]'
  const HINT = 'kbd:not(main *,article *,[role=main] *)'
  return {
    LABELLED,
    HINT,
    // elements whose text is not drawn as text of the page
    NO_TEXT: new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TEXTAREA', 'OPTION', 'TITLE']),
    // what measures returns of the page as it is while these hints take no space
    withoutHints: (measure) => {
      const hints = [...document.querySelectorAll(HINT)], styles = hints.map((hint) => hint.getAttribute('style'))
      for (const hint of hints) hint.style.setProperty('display', 'none', 'important')
      const measured = measure()
      hints.forEach((hint, number) => styles[number] === null ? hint.removeAttribute('style') : hint.setAttribute('style', styles[number]))
      return measured
    },
    sleep,
    // until two frames were drawn, and what observes them was told, or none is drawn
    drawn: async () => {
      await shown()
      await shown()
    },
    // until a frame was drawn, and what observes it was told
    shown,
    // ends all movement
    finish,
    // takes a step of the page's own time (freeze.js), and draws it; returns whether anything moved since the one before
    stepped: async () => {
      const isMoved = !document.dispatchEvent(new Event('adaptc:step', { cancelable: true }))
      if (!isMoved) return false
      finish()
      await shown()
      return true
    },
    isVisible: (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
    isOpaque: (element) => {
      const style = getComputedStyle(element)
      if (style.opacity < 0.5) return false
      if (PICTURES.has(element.tagName) || style.backgroundImage !== 'none') return true
      const alpha = /^rgba\(.*, ([\d.]+)\)$/.exec(style.backgroundColor)
      return alpha ? Number(alpha[1]) > 0.5 : style.backgroundColor !== 'transparent'
    },
  }
}
