// The script and the service worker of "adaptc export --ladder" (docs/static-hosts.md).
//
// In a page it measures the visitor's line by the delays from the page to its first and its last embedded object
// (Krishnamurthy, Zhang, Wills and Vishwanath 2003), and registers the worker for visitors on slow lines only. The
// worker answers with the site at the level of the visitor's class. What it is not sure of it leaves to the network.
(() => {
  "use strict"
  const settings = SETTINGS
  CHOICE
  const isPage = typeof document === "object"
  const own = isPage ? document.currentScript && document.currentScript.src : location.href
  if (!own || !self.caches || (isPage && !navigator.serviceWorker)) return
  const root = new URL(".", own).href
  const memory = `adaptc-ladder ${root}`
  const stateKey = `${root}adaptc-ladder?state`
  const clientKey = (id) => `${root}adaptc-ladder?client=${encodeURIComponent(id)}`

  const remembered = async (key) => {
    const found = await (await caches.open(memory)).match(key)
    return found ? found.json() : null
  }
  const remember = async (key, value) => (await caches.open(memory)).put(key, Response.json(value))

  // ---- which class a visitor is of

  const isFresh = (state) => state !== null && Date.now() - state.at < settings.expire * 1000
  const levelOf = (state) => {
    const believed = isFresh(state) ? state.believed : null
    return settings.levels[isSlow(navigator.connection) ? "poor" : believed] || ""
  }
  const classOf = (first, last) => {
    const { poor, rich } = settings
    if (first > poor[0] || last > poor[1]) return "poor"
    return first <= rich[0] && last <= rich[1] ? "rich" : "normal"
  }
  // E <- alpha E + (1 - alpha) x; a class counts after warmUp pages, and changes after as many as patience against it
  const step = (before, [first, last]) => {
    const mix = (old, now) => (before ? settings.alpha * old + (1 - settings.alpha) * now : now)
    const state = { first: mix(before?.first, first), last: mix(before?.last, last), pages: (before?.pages ?? 0) + 1 }
    const verdict = classOf(state.first, state.last)
    const believed = before?.believed ?? null
    if (believed === null) return { ...state, believed: state.pages >= settings.warmUp ? verdict : null }
    if (verdict === believed) return { ...state, believed }
    const times = before.against === verdict ? before.times + 1 : 1
    return times >= settings.patience ? { ...state, believed: verdict } : { ...state, believed, against: verdict, times }
  }

  // ---- in a page

  const EMBEDDED = ["css", "img", "image", "input", "link", "script", "video", "audio", "iframe", "frame", "body"]
  const isCached = (entry) =>
    entry.deliveryType === "cache" || (entry.transferSize === 0 && entry.decodedBodySize > 0)
  // Return the seconds from the request for the page to that for its first object, and to the end of its last one
  const measured = () => {
    const [page] = performance.getEntriesByType("navigation")
    if (!page || page.type === "back_forward" || page.activationStart > 0 || document.hidden) return null
    const objects = performance.getEntriesByType("resource").filter((entry) =>
      EMBEDDED.includes(entry.initiatorType) && entry.name.startsWith(root) && entry.name !== own &&
      entry.startTime <= page.loadEventStart && !isCached(entry))
    if (!objects.length) return null
    const since = (times) => Math.max(0, times - page.requestStart) / 1000
    return [
      since(Math.min(...objects.map((entry) => entry.startTime))),
      since(Math.max(...objects.map((entry) => entry.responseEnd))),
    ]
  }
  // Whether this page shows that the host sends about.html for /about
  const isCleanAddress = (path) => /[^/]$/.test(path) && !path.slice(path.lastIndexOf("/")).includes(".")
  const observe = async () => {
    const workers = navigator.serviceWorker
    const registration = await workers.getRegistration(root)
    const worker = registration && (registration.active || registration.waiting || registration.installing)
    if (worker && worker.scriptURL !== own) return // the site has a worker of its own
    const seen = measured()
    let state = await remembered(stateKey)
    const isClean = state?.isClean || isCleanAddress(new URL(location.href).pathname)
    if (seen) state = { ...step(isFresh(state) ? state : null, seen), at: Date.now() }
    if (seen || isClean) {
      state = { at: 0, ...state, isClean }
      await remember(stateKey, state)
    }
    if (levelOf(state)) await workers.register(own, { scope: root })
    else if (registration && isFresh(state) && state.believed) await registration.unregister()
  }

  // ---- in the worker

  const TYPES = { style: /^text\/css\b/, script: /^(text|application)\/(x-)?(java|ecma)script\b/, image: /^image\// }
  const PAGE = /^text\/plain\b/
  const NETWORK = "" // the level of pages that the worker leaves to the network
  const levels = new Map() // by client, of those that this run of the worker has seen

  // Return the answer for a file at a level; null where it is not there, or is another type
  const at = async (event, level, name, type) => {
    const found = await fetch(`${root}_adaptc/levels/${level}/${name}`, { redirect: "manual" }).catch(() => null)
    if (found && found.status === 200 && type.test(found.headers.get("content-type") || "")) return found
    if (found) event.waitUntil(leaveIfWithdrawn())
    return null
  }
  const answer = (found, headers) => {
    const all = new Headers(found.headers)
    for (const name of ["content-encoding", "content-length"]) all.delete(name)
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    return new Response(found.body, { headers: all }) // which has the address of the request
  }
  const answerPage = async (event, path, search) => {
    const state = await remembered(stateKey).catch(() => null)
    const level = levelOf(state)
    const name = nameOfPage(path, state?.isClean)
    const found = level && name && (await at(event, level, name + search, PAGE))
    const client = event.resultingClientId
    levels.set(client, found ? level : NETWORK)
    if (!found) return fetch(event.request)
    event.waitUntil(remember(clientKey(client), level).then(() => forgetOthers(client)))
    return answer(found, { "content-type": found.headers.get("content-type").replace("text/plain", "text/html") })
  }
  const answerObject = async (event, path, search) => {
    const client = event.clientId
    if (!levels.has(client)) levels.set(client, (await remembered(clientKey(client)).catch(() => null)) || NETWORK)
    const level = levels.get(client)
    const type = TYPES[event.request.destination]
    const isThere = level !== NETWORK && mayBeObject(path, level)
    const found = isThere && (await at(event, level, path + search, type))
    // without no-store Chromium shows the object on a page of another level, too, from its memory
    return found ? answer(found, { "cache-control": "no-store" }) : fetch(event.request)
  }
  const forgetOthers = async (client) => {
    const store = await caches.open(memory)
    for (const request of await store.keys()) {
      const id = new URL(request.url).searchParams.get("client")
      if (id && id !== client && !(await self.clients.get(id))) await store.delete(request)
    }
  }
  // A site that is published without the worker may not have said so: its address leads nowhere then
  let hasLooked = false
  const leaveIfWithdrawn = async () => {
    if (hasLooked) return
    hasLooked = true
    const found = await fetch(own, { method: "HEAD", cache: "no-store" })
    const isThere = found.ok && TYPES.script.test(found.headers.get("content-type") || "")
    if (found.status === 404 || (found.ok && !isThere)) await self.registration.unregister()
  }
  const respond = (event) => {
    const { request } = event
    if (request.method !== "GET" || !request.url.startsWith(root) || request.headers.has("range")) return
    const url = new URL(request.url)
    const path = url.pathname.slice(new URL(root).pathname.length)
    if (path.startsWith("_adaptc/")) return
    if (request.mode === "navigate") {
      const isReload = ["no-cache", "reload", "no-store"].includes(request.cache) // a reader may ask for the page itself
      const isAsked = request.destination === "document" && !isReload && mayBePage(path)
      if (isAsked) event.respondWith(answerPage(event, path, url.search))
      else levels.set(event.resultingClientId, NETWORK)
    } else if (request.destination in TYPES && event.clientId && levels.get(event.clientId) !== NETWORK) {
      event.respondWith(answerObject(event, path, url.search))
    }
  }

  if (isPage) {
    // after the load event, which ends what counts; without storage the site is as it was
    const begin = () => setTimeout(() => observe().catch(() => {}), 0)
    if (document.readyState === "complete") begin()
    else addEventListener("load", begin)
  } else {
    addEventListener("install", () => self.skipWaiting())
    addEventListener("fetch", respond)
  }
})()
