// Deno: the program of the directory that is deployed (deno deploy in it, as the entrypoint of a dynamic app; or deno run
// --allow-net --allow-read=. --allow-env=ADAPTC_LEVEL). The rules are the environment variable ADAPTC_LEVEL.
import { serveDir } from "jsr:@std/http@1/file-server"
const isClosed = (request) => /^\/adaptc-deno\.js$/.test(new URL(request.url).pathname)
Deno.serve(async (request, info) => {
  const send = (asked) => serveDir(asked, { fsRoot: import.meta.dirname, quiet: true })
  if (isClosed(request)) return new Response("Not Found", { status: 404 })
  try {
    const answer = await answerOf(request, {
      rules: Deno.env.get("ADAPTC_LEVEL"),
      client: info.remoteAddr.hostname,
      ask: (path) => send(requestFor(path, request)),
    })
    if (answer) return answer
  } catch (error) {
    console.error(`adaptc: ${error}`) // the site itself is always an answer
  }
  return send(request)
})
