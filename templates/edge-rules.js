// The level that the rules give to a client, and whether to everybody alike. A rule is a word: moderate, moderate:30%
// (of the addresses), IN=text (a country), /shop/=off (a path); the last that matches counts.
const levelByRules = (rules, path, client, country) => {
  const chosen = { level: "off", isForAll: true }
  ;(rules || "").split(/\s+/).forEach((word) => {
    const found = /^(?:([^=]*)=)?([^=:]+)(?::(\d+)%)?$/.exec(word)
    if (!found) return
    const scope = found[1]
    const isEverywhere = scope === undefined || scope.charAt(0) === "/"
    const isMeant = scope === undefined || (scope.charAt(0) === "/" ? path.indexOf(scope) === 0 : scope === country)
    if (isMeant && (!found[3] || hundredth(client || "") < Number(found[3]))) {
      chosen.level = found[2]
      chosen.isForAll = !found[3] && isEverywhere
    }
  })
  return chosen
}
// FNV-1a: a client keeps its level while its share does
const hundredth = (text) => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return ((hash ^ (hash >>> 15)) >>> 0) % 100
}
// What the client tells of its line; told(name) is a header field, or ""
const lineOf = (told) => {
  const hint = (name) => told(`sec-ch-${name}`) || told(name)
  return {
    saveData: /^\??(on|1)$/i.test(hint("save-data")),
    effectiveType: hint("ect").replace(/"/g, ""),
    downlink: parseFloat(hint("downlink")),
    rtt: parseFloat(hint("rtt")),
  }
}
// The level of a GET or HEAD request, and whether everybody gets it; null for the site itself
const levelOf = (method, pathname, rules, client, country, told) => {
  if ((method !== "GET" && method !== "HEAD") || told("range") || pathname.indexOf(settings.root) !== 0) return null
  if (pathname.indexOf(`${settings.root}_adaptc/`) === 0) return null
  const chosen = levelByRules(rules, pathname, client, country)
  const rank = (name) => settings.names.indexOf(name)
  if (isSlow(lineOf(told)) && rank(settings.levels.poor) > rank(chosen.level)) {
    chosen.level = settings.levels.poor
    chosen.isForAll = false
  }
  return rank(chosen.level) < 0 ? null : chosen
}
const fieldsOf = (chosen, pathname) => {
  const fields = Object.assign({ "cache-control": "private, no-cache" }, chosen.isForAll ? settings.shared : {})
  const page = settings.name + (new RegExp(`^${settings.pages.path}$`).test(pathname) ? pathname : settings.pages.other)
  Object.keys(chosen.isForAll ? settings.labels : {}).forEach((field) => {
    fields[field] = `${settings.name}-${chosen.level}${settings.labels[field]}${page}`
  })
  return Object.assign(fields, { "x-adapt": chosen.level })
}
