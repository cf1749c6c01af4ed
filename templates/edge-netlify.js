// Netlify: an edge function in the directory that is deployed (netlify deploy --dir . in it). The rules are the variable
// ADAPTC_LEVEL of the site.
export default async (request, context) => {
  try {
    const answer = await answerOf(request, {
      rules: Netlify.env.get("ADAPTC_LEVEL"),
      client: context.ip,
      country: context.geo?.country?.code,
      ask: (path) => fetch(requestFor(path, request)),
    })
    if (answer) return answer
  } catch (error) {
    console.error(`adaptc: ${error}`) // the site itself is always an answer
  }
}
export const config = { path: "/*", excludedPath: "/_adaptc/*", onError: "bypass" }
