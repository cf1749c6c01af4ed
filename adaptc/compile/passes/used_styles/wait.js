// Waits until an element of the page has a name that rules in files need, then lets the links that wait load the whole
// sheets, each after the rules of its sheet that are in the page; so does the first pointer, key or focus.
// BITS is a filter (Bloom 1970) of SIZE bits with HASHES hashes for each name, or for what all but the KNOWN names begin
// with; it errs on the side of yes. WORDS are those by which style attributes name keyframes and fonts that wait. IDS says
// that the filter has ids, FOLDS that case does not count, and BOXES that the page has dialogs or popovers. What is in a
// closed one needs no rules yet: a selector matches only what is, follows or is in an element with a name that it requires.
{
  const bits = atob(BITS)
  const known = new Set(KNOWN.split(' '))
  const isIn = (key) => {
    if (!key) return
    let hash = 2166136261
    for (const character of `${key}`) hash = Math.imul(hash ^ character.codePointAt(), 16777619)
    for (let count = HASHES; count--;) {
      hash = Math.imul(hash ^ hash >>> 15, 739982445)
      const place = (hash >>> 0) % SIZE
      if (!(bits.charCodeAt(place >> 3) >> place % 8 & 1)) return
    }
    return key
  }
  const waitsFor = (name) => {
    if (FOLDS) name = name.toLowerCase()
    return !known.has(name) && ([name, /.[^-]*-/.exec(name), /.*-/.exec(name)].some(isIn) || !known.add(name))
  }
  const closed = new Set()
  const isInClosed = ({ parentElement }) => {
    const box = parentElement?.closest('dialog:not([open]),[popover]')
    return box && parentElement.checkVisibility?.() === false && closed.add(box)
  }
  // Attributes are read by methods: a form's properties may be its fields
  const isWaitedFor = (element) => ([
    element.localName.toLowerCase(),
    ...IDS ? ['#' + element.getAttribute('id')] : [],
    ...element.getAttributeNames().map((name) => '[' + name),
    ...[...element.classList].map((name) => '.' + name),
  ].some(waitsFor) || HAS_WORDS && (element.getAttribute('style') || '').toLowerCase().split(/[\s"',;:()]+/)
    .some((word) => WORDS.includes(word))) && !(BOXES && isInClosed(element)) || element.shadowRoot && enter(element.shadowRoot)
  let seen = new Set()
  const have = (nodes) => [...nodes].some((node) => node.localName && !seen.has(node) &&
    [node, ...node.querySelectorAll('*')].some((element) => !seen.has(element) && seen.add(element) && isWaitedFor(element)))
  const enter = (root) => {
    observer.observe(root, { subtree: true, childList: true, attributes: true })
    return have(root.childNodes)
  }
  const observer = new MutationObserver((records) => {
    seen = new Set()
    if (records.some((record) => record.attributeName ? isWaitedFor(record.target) : have(record.addedNodes)) ||
      BOXES && have([...closed].filter((box) => box.checkVisibility()))) add()
  })
  const add = () => {
    observer.disconnect()
    for (const link of document.querySelectorAll('link[data-used]:not([rel])')) link.rel = 'stylesheet'
  }
  // Browsers without a pointer say that one is at 0, 0 of the screen once a page is there
  const act = ({ isTrusted, screenX, screenY }) => isTrusted && screenX === 0 && screenY === 0 || add()
  for (const kind of ['pointerover', 'keydown', 'focusin', ...BOXES ? ['beforetoggle'] : []]) addEventListener(kind, act, true)
  if (enter(document)) add()
}
