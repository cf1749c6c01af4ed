// Gives a page its own markup back (wake.js) where it has what scripts will write: once they are there, or after 5 s, so
// that nothing is missing while they load. An element that they fill is, until it has half as much text as it showed, but
// for 5 s at most, transparent, and a copy of it lies over it. Shells of the nodes around it give the copy its style.
async () => {
  const give = (node, words = node.querySelector(':scope > span[OWN]')) => {
    words ? node.replaceChildren(...words.childNodes) : node.innerHTML = node.getAttribute('OWN-html')
    node.removeAttribute('OWN-html')
  }
  const empty = async (node) => {
    if (!node.getClientRects().length) return give(node) // at this width
    const { width, height } = node.getBoundingClientRect(), { minHeight, opacity } = node.style, shown = node.innerText.length
    const copy = node.cloneNode(true), own = { target: node, place: placeOf(node) }
    const box = { boxSizing: 'border-box', margin: 0, width: width + 'px', height: height + 'px' }
    Object.assign(copy.style, box, { position: 'absolute', left: 0, top: 0, opacity: 0, pointerEvents: 'none' })
    copy.querySelector(':scope > span[OWN]')?.remove() // what it had
    let top = copy, isThere
    for (let { parentElement: parent } = node; parent && parent !== document.body; parent = parent.parentElement) {
      const shell = parent.cloneNode()
      shell.style.setProperty('display', 'contents', 'important')
      shell.append(top)
      top = shell
    }
    // Custom elements would run twice
    if (![top, ...top.querySelectorAll('*')].some((each) => each.localName.includes('-'))) document.body.append(top)
    for (const animation of copy.getAnimations({ subtree: true })) if (isFinite(animation.effect.getComputedTiming().endTime)) animation.finish()
    await wait(100) // for its images
    // Margins of what is in it may be outside of its box
    const range = document.createRange(), [is, was] = [copy, node].map((each) => {
      range.selectNodeContents(each)
      return range.getBoundingClientRect()
    })
    const end = () => node.nextElementSibling?.getBoundingClientRect().top ?? node.parentElement.getBoundingClientRect().bottom
    const before = end()
    Object.assign(copy.style, { left: was.left - is.left + 'px', top: was.top - is.top + 'px', opacity })
    Object.assign(node.style, { minHeight: height + 'px', opacity: 0 })
    give(node)
    node.style.minHeight = height + before - end() + 'px'
    const look = () => {
      const text = find(own)?.textContent, wasThere = isThere
      isThere = text === undefined || text.length * 2 >= shown
      if (now() < latest && !(isThere && wasThere)) return setTimeout(look, isThere ? 100 : 20)
      top.remove()
      Object.assign(node.style, { minHeight, opacity })
    }
    const latest = now() + 5000
    look()
  }
  const isKnown = (relation) => document.createElement('link').relList.supports(relation)
  const loads = (link) => new Promise((resolve) => { link.onload = link.onerror = resolve })
  const load = async (script) => {
    const link = document.createElement('link'), rel = script.getAttribute('OWN-type') === 'module' ? 'modulepreload' : 'preload'
    if (script.noModule || !isKnown(rel)) return
    Object.assign(link, { rel, as: 'script', crossOrigin: script.crossOrigin, href: script.getAttribute('OWN') })
    document.head.append(link)
    await loads(link)
    link.remove()
  }
  const changed = all('[OWN-was]') // not what gives copies their style
  const hints = isKnown('modulepreload') ? all('link[rel=modulepreload][OWN],link[rel=preload][as=script][OWN]') : []
  await Promise.race([wait(5000), Promise.all([...hints.map(loads), ...all('script[type=TYPE][OWN]').map(load)])])
  await Promise.all(filled.map(empty))
  for (const node of changed) {
    for (const [name, value] of Object.entries(JSON.parse(node.getAttribute('OWN-was')))) value === null ? node.removeAttribute(name) : node.setAttribute(name, value)
    node.removeAttribute('OWN-was')
  }
}
