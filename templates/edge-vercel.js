// Vercel: the middleware of the directory that is deployed (vercel deploy in it, without a framework). The rules are the
// environment variable ADAPTC_LEVEL.
export default async function middleware(request) {
  try {
    const answer = await answerOf(request, {
      rules: process.env.ADAPTC_LEVEL,
      client: request.headers.get("x-real-ip"),
      country: request.headers.get("x-vercel-ip-country"),
      ask: (path) => fetch(requestFor(path, request)),
    })
    if (answer) return answer
  } catch (error) {
    console.error(`adaptc: ${error}`) // the site itself is always an answer
  }
  return new Response(null, { headers: { "x-middleware-next": "1" } })
}
export const config = { matcher: "/((?!_adaptc/).*)" }
