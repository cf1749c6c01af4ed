// The script at the edge of "adaptc export --ladder --edge" (docs/static-hosts.md): it picks a level for each request.
const settings = SETTINGS
CHOICE
RULES
// A request for another file, without the body that some clients announce (HEAD with Content-Length: 0)
const requestFor = (path, request) =>
  new Request(new URL(path, request.url), { method: request.method, headers: request.headers })
// Return the answer of a level, or null for the site itself; ask(path) asks the host for a file
const answerOf = async (request, { rules, client, country, ask }) => {
  const { pathname } = new URL(request.url)
  const chosen = levelOf(request.method, pathname, rules, client, country, (name) => request.headers.get(name) || "")
  if (!chosen) return null
  const path = pathname.slice(settings.root.length)
  const isPage = mayBePage(path)
  const name = isPage ? nameOfPage(path, true) : mayBeObject(path, chosen.level) && path
  const found = name && (await ask(`${settings.root}_adaptc/levels/${chosen.level}/${name}`))
  const type = (found && found.headers.get("content-type")) || ""
  const isAnswer = found && (found.status === 304 || (found.status === 200 && /^text\/plain\b/.test(type) === isPage))
  if (!isAnswer || (!isPage && /^text\/html\b/.test(type))) return null
  const headers = new Headers(found.headers)
  if (isPage && type) headers.set("content-type", type.replace("text/plain", "text/html"))
  for (const [field, value] of Object.entries(fieldsOf(chosen, pathname))) headers.set(field, value)
  return new Response(found.status === 304 ? null : found.body, { status: found.status, headers })
}
ADAPTER
