// What takes the place of the script and the service worker of an earlier "adaptc export --ladder": it removes both.
(() => {
  "use strict"
  const isPage = typeof document === "object"
  const own = isPage ? document.currentScript && document.currentScript.src : location.href
  if (!own || (isPage && !navigator.serviceWorker)) return
  const root = new URL(".", own).href
  const forget = async () => self.caches && caches.delete(`adaptc-ladder ${root}`)
  if (isPage) {
    navigator.serviceWorker.getRegistration(root).then(async (registration) => {
      if (registration?.active?.scriptURL === own) await registration.unregister()
      await forget()
    }).catch(() => {}) // without storage there is nothing to remove
  } else {
    addEventListener("install", () => self.skipWaiting())
    addEventListener("activate", (event) => {
      event.waitUntil(forget())
      self.registration.unregister() // not waited for: Chromium ends it after the activation
    })
  }
})()
