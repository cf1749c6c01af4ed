// Cloudflare Pages: _worker.js in what is published. The rules are the key "level" of a KV namespace that is bound as ADAPTC,
// or the variable ADAPTC_LEVEL.
const rulesOf = async (env) => (env.ADAPTC ? env.ADAPTC.get("level", { cacheTtl: 60 }) : env.ADAPTC_LEVEL)
export default {
  async fetch(request, env) {
    try {
      const answer = await answerOf(request, {
        rules: await rulesOf(env),
        client: request.headers.get("cf-connecting-ip"),
        country: request.cf?.country,
        ask: (path) => env.ASSETS.fetch(requestFor(path, request)),
      })
      if (answer) return answer
    } catch (error) {
      console.error(`adaptc: ${error}`) // the site itself is always an answer
    }
    return env.ASSETS.fetch(request)
  },
}
