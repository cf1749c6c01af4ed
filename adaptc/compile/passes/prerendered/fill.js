// Gives a node its own content back (wake.js). Until it has half as much text as it showed, but for 5 s at most, a copy of
// it lies over it, and it is transparent. Shells of the nodes around it give the copy its style.
async (node) => {
  const { width, height } = node.getBoundingClientRect(), { minHeight, opacity } = node.style, shown = node.innerText.length
  const copy = node.cloneNode(true), words = node.querySelector(':scope > span[OWN]'), own = { target: node, place: placeOf(node) }
  const box = { boxSizing: 'border-box', margin: 0, width: width + 'px', height: height + 'px' }
  Object.assign(copy.style, box, { position: 'absolute', left: 0, top: 0, opacity: 0, pointerEvents: 'none' })
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
  words ? node.replaceChildren(...words.childNodes) : node.innerHTML = node.getAttribute('OWN-html')
  node.removeAttribute('OWN-html')
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
