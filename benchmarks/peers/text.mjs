// A finished site whose style sheets Lightning CSS writes, and whose scripts esbuild: node text.mjs DIRECTORY
//
// Run it where lightningcss and esbuild are installed. Browsers are those of today; what they refuse stays.

import { createRequire } from "node:module";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const { resolve: where } = createRequire(join(process.cwd(), "/"));
const { transform } = await import(where("lightningcss"));
const { transform: transformScript } = await import(where("esbuild"));

const site = resolve(process.argv[2]);
const version = (major, minor = 0) => (major << 16) | (minor << 8);
const targets = { chrome: version(120), firefox: version(120), safari: version(17) };

const smaller = {
  css: (code, filename) => transform({ filename, code, minify: true, errorRecovery: true, targets }).code,
  js: async (code) => (await transformScript(code.toString(), { minify: true, logLevel: "silent" })).code,
};

for (const name of readdirSync(site, { recursive: true })) {
  const make = smaller[name.split(".").pop()];
  if (make === undefined) continue;
  try {
    const before = readFileSync(join(site, name));
    const after = await make(before, name);
    if (after.length < before.length) writeFileSync(join(site, name), after);
  } catch (error) {
    console.error(`${name}: ${error.message.split("\n")[0]}`);
  }
}
