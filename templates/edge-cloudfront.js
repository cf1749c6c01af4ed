// CloudFront Functions, runtime 2.0: one function for the viewer requests and the viewer responses of a behavior. The rules are
// the key "level" of the key-value store that is associated with it. This runtime has no fetch, no URL, and little of ES6.
import cf from "cloudfront"
const settings = SETTINGS
CHOICE
RULES
const valueOf = (headers, name) => (headers[name] ? headers[name].value : "")
// The file of a level for a request, and its fields; null for the site itself
const fileFor = (event, rules) => {
  const request = event.request
  const told = (name) => valueOf(request.headers, name)
  const chosen = levelOf(request.method, request.uri, rules, event.viewer.ip, told("cloudfront-viewer-country"), told)
  if (!chosen) return null
  const path = request.uri.slice(settings.root.length)
  const name = mayBePage(path) ? nameOfPage(path, false) : mayBeObject(path, chosen.level) && path
  if (!name || settings.absent[chosen.level].includes(name)) return null
  return { uri: `${settings.root}_adaptc/levels/${chosen.level}/${name}`, fields: fieldsOf(chosen, request.uri) }
}
async function handler(event) {
  const isAnswer = event.context.eventType === "viewer-response"
  try {
    let rules = ""
    try {
      rules = await cf.kvs().get("level")
    } catch (error) {} // there is no store, or no such key
    const file = fileFor(event, rules)
    if (isAnswer && file && (event.response.statusCode === 200 || event.response.statusCode === 304)) {
      Object.keys(file.fields).forEach((name) => {
        event.response.headers[name] = { value: file.fields[name] }
      })
    } else if (!isAnswer && file) {
      event.request.uri = file.uri
    } else if (!isAnswer && event.request.uri.indexOf(`${settings.root}_adaptc/levels/`) === 0) {
      return { statusCode: 404, statusDescription: "Not Found" } // a page of a level has one address
    }
  } catch (error) {
    console.log(`adaptc: ${error}`) // the site itself is always an answer
  }
  return isAnswer ? event.response : event.request
}
