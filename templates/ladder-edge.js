// The script at the edge of "adaptc export --ladder --edge" (docs/static-hosts.md): it picks a level for each request.
const settings = SETTINGS
CHOICE
// The level that the rules give to a client, and whether to everybody alike. A rule is a word: moderate, moderate:30%
// (of the addresses), IN=text (a country), /shop/=off (a path); the last that matches counts.
const levelByRules = (rules, path, client, country) => {
  let chosen = ["off", true]
  for (const word of (rules || "").split(/\s+/).filter(Boolean)) {
    const [, scope, level, share] = /^(?:([^=]*)=)?([^=:]+)(?::(\d+)%)?$/.exec(word) || []
    const isMeant = scope === undefined || (scope.startsWith("/") ? path.startsWith(scope) : scope === country)
    if (level && isMeant && (!share || hundredth(client || "") < share)) {
      chosen = [level, !share && (scope === undefined || scope.startsWith("/"))]
    }
  }
  return chosen
}
// FNV-1a: a client keeps its level while its share does
const hundredth = (text) => {
  let hash = 0x811c9dc5
  for (const char of text) hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193)
  return ((hash ^ (hash >>> 15)) >>> 0) % 100
}
const lineOf = (headers) => {
  const told = (name) => headers.get(`sec-ch-${name}`) || headers.get(name) || ""
  return {
    saveData: /^\??(on|1)$/i.test(told("save-data")),
    effectiveType: told("ect").replaceAll('"', ""),
    downlink: parseFloat(told("downlink")),
    rtt: parseFloat(told("rtt")),
  }
}
// Return the answer of a level, or null for the site itself; ask(path) asks the host for a file
const answerOf = async (request, { rules, client, country, ask }) => {
  const { pathname } = new URL(request.url)
  if (!["GET", "HEAD"].includes(request.method) || request.headers.has("range") || !pathname.startsWith(settings.root)) return null
  const path = pathname.slice(settings.root.length)
  if (path.startsWith("_adaptc/")) return null
  let [level, isForAll] = levelByRules(rules, pathname, client, country)
  const rank = (name) => settings.names.indexOf(name)
  if (isSlow(lineOf(request.headers)) && rank(settings.levels.poor) > rank(level)) {
    level = settings.levels.poor
    isForAll = false
  }
  if (rank(level) < 0) return null
  const isPage = mayBePage(path)
  const name = isPage ? nameOfPage(path, true) : mayBeObject(path, level) && path
  const found = name && (await ask(`${settings.root}_adaptc/levels/${level}/${name}`))
  const type = (found && found.headers.get("content-type")) || ""
  const isAnswer = found && (found.status === 304 || (found.status === 200 && /^text\/plain\b/.test(type) === isPage))
  if (!isAnswer || (!isPage && /^text\/html\b/.test(type))) return null
  const headers = new Headers(found.headers)
  if (isPage && type) headers.set("content-type", type.replace("text/plain", "text/html"))
  const caching = isForAll ? settings.shared : {}
  for (const [field, value] of Object.entries({ "cache-control": "private, no-cache", ...caching, "x-adapt": level })) {
    headers.set(field, value)
  }
  return new Response(found.body, { status: found.status, headers })
}
ADAPTER
