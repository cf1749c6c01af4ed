#!/usr/bin/env node
// adaptc for generators that run on Node.js: when one has written its site, the site is replaced by the same at one level.
//
//     astro.config.mjs        import { astro } from "adaptc"; export default defineConfig({ integrations: [astro()] });
//     vite.config.js          import { vite } from "adaptc"; export default { plugins: [vite()] };
//     eleventy.config.js      import { eleventy } from "adaptc"; export default (config) => config.addPlugin(eleventy);
//     docusaurus.config.js    plugins: ["adaptc"]
//     netlify.toml            [[plugins]]
//                             package = "adaptc"
//     others, as Next.js      "build": "next build && adaptc adapt out"
//
// The work is done by the program of the same name, which is written in Python: that of the environment variable ADAPTC, that on
// the PATH, or one that uv or pipx fetches. `npx adaptc COMMAND` calls it, too.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const { version } = JSON.parse(fs.readFileSync(new URL("./package.json", import.meta.url), "utf8"));
// Hosts keep what is below node_modules between builds
const KEPT = path.join("node_modules", ".cache", "adaptc");

// ---- the program

/** Return a program that is on the PATH, but for the folders of npm, where `adaptc` is this file. */
function found(name) {
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter((each) => !each.includes("node_modules"));
  return folders.map((each) => path.join(each, name)).find((file) => fs.existsSync(file));
}

/** Return the words that begin a command line of adaptc. Throws where neither it nor uv nor pipx is there. */
export function program() {
  if (process.env.ADAPTC) return process.env.ADAPTC.split(" ");
  const own = found("adaptc");
  if (own) return [own];
  if (found("uvx")) return ["uvx", `adaptc@${version}`];
  if (found("pipx")) return ["pipx", "run", "--spec", `adaptc==${version}`, "adaptc"];
  throw new Error("adaptc: install uv or pipx, which fetch it, or name the program in the environment variable ADAPTC");
}

function run(words, embedded) {
  const [command, ...first] = program();
  const env = { ...process.env, ...(embedded && { ADAPTC_EMBEDDED: "1" }) }; // no advice on what to do next
  return spawnSync(command, [...first, ...words], { stdio: "inherit", env }).status ?? 3;
}

// ---- a site in place

/**
 * Replace the files of `site`, a directory that a generator has written, by those of `level`. Of the generator's own files a copy
 * is kept in `cache`, with the output of the build: only what changed is built again, and nothing is adapted twice. What cannot
 * be done is told, and leaves the site as it is; with `strict` it throws.
 */
export function adapt(site, { level, cache = KEPT, baseUrl, browser, enabled = true, strict = false } = {}) {
  if (!enabled) return;
  const kept = path.resolve(cache, path.resolve(site).replace(/[^A-Za-z0-9]+/g, "-"));
  const [own, adapted, output] = ["site", "adapted", "opt"].map((name) => path.join(kept, name));
  const before = new Set(files(adapted));
  collect(site, own, adapted);
  const address = /^https?:\/\//i.test(baseUrl ?? "") ? ["--base-url", baseUrl] : [];
  const chosen = [...(level ? ["--level", level] : []), ...(browser === false ? ["--no-browser"] : [])];
  if (run(["web", own, adapted, "-o", output, ...chosen, ...address], true) > 1) {
    if (strict) throw new Error("adaptc web failed");
    console.warn("adaptc: web failed, the site stays as it is");
    return;
  }
  publish(site, own, adapted, before);
}

function* files(root, below = "") {
  if (!fs.existsSync(root)) return;
  for (const entry of fs.readdirSync(path.join(root, below), { withFileTypes: true })) {
    const name = path.join(below, entry.name);
    if (entry.isDirectory() && (!entry.name.startsWith(".") || entry.name === ".well-known")) yield* files(root, name);
    else if (entry.isFile()) yield name;
  }
}

function same(one, other) {
  const [first, second] = [one, other].map((file) => fs.statSync(file, { throwIfNoEntry: false }));
  if (!first?.isFile() || !second?.isFile() || first.size !== second.size) return false;
  return fs.readFileSync(one).equals(fs.readFileSync(other));
}

function copy(source, target) {
  const draft = path.join(path.dirname(target), `.adaptc-${process.pid}`);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.copyFileSync(source, draft);
  const { atime, mtime } = fs.statSync(source);
  fs.utimesSync(draft, atime, mtime);
  fs.renameSync(draft, target);
}

function collect(site, own, adapted) {
  const found = new Set(files(site));
  for (const name of found) {
    if (!same(path.join(site, name), path.join(adapted, name))) copy(path.join(site, name), path.join(own, name));
  }
  for (const name of files(own)) if (!found.has(name)) fs.rmSync(path.join(own, name));
}

function publish(site, own, adapted, before) {
  const now = new Set(files(adapted));
  for (const name of now) {
    if (!same(path.join(site, name), path.join(adapted, name))) copy(path.join(adapted, name), path.join(site, name));
  }
  // what only the export before had, and source maps that it leaves out
  const gone = [...before].filter((name) => !fs.existsSync(path.join(own, name)));
  for (const name of [...gone, ...[...files(own)].filter((each) => each.endsWith(".map"))]) {
    if (!now.has(name)) fs.rmSync(path.join(site, name), { force: true });
  }
}

function address(site, base = "/") {
  try {
    return new URL(base.replace(/\/?$/, "/"), site).href;
  } catch {
    return undefined;
  }
}

// ---- generators and hosts

export function astro(options) {
  let baseUrl;
  return {
    name: "adaptc",
    hooks: {
      "astro:config:done": ({ config }) => void (baseUrl = config.site && address(config.site, config.base)),
      "astro:build:done": ({ dir }) => adapt(fileURLToPath(dir), { baseUrl, ...options }),
    },
  };
}

export function vite(options) {
  let config;
  return {
    name: "adaptc",
    apply: "build",
    enforce: "post",
    configResolved: (resolved) => void (config = resolved),
    closeBundle: {
      order: "post",
      sequential: true,
      handler() {
        if (config.build.ssr) return;
        // a base without a host: one that names no site (RFC 2606)
        const baseUrl = address("http://site.invalid", config.base ?? "/");
        adapt(path.resolve(config.root, config.build.outDir), { ...(baseUrl !== "http://site.invalid/" && { baseUrl }), ...options });
      },
    },
  };
}

export function eleventy(config, options) {
  config.on("eleventy.after", ({ dir, directories, runMode }) => {
    if (runMode === "build") adapt(directories?.output ?? dir.output, options);
  });
}

export default function docusaurus(_context, options = {}) {
  return {
    name: "adaptc",
    async postBuild({ outDir, siteConfig }) {
      const { id: _id, ...own } = options;
      adapt(outDir, { baseUrl: address(siteConfig.url, siteConfig.baseUrl), ...own });
    },
  };
}

/** Netlify: after the build, before the site is deployed. */
export async function onPostBuild({ constants, inputs, utils }) {
  await utils.cache.restore(KEPT);
  adapt(constants.PUBLISH_DIR, { ...inputs, baseUrl: process.env.URL });
  await utils.cache.save(KEPT);
}

// ---- npx adaptc

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [command, ...words] = process.argv.slice(2);
  if (command === "adapt" && words.length) {
    const [site, level] = words;
    adapt(site, { level, strict: true });
  } else {
    process.exitCode = run(process.argv.slice(2));
  }
}
