// A finished site through the image plugin of Eleventy and Beasties: node images_and_rules.mjs DIRECTORY
//
// Run it where @11ty/eleventy-img and beasties are installed. As the plugin's transform does, each <img> of a page with
// a file of the site becomes a <picture> with AVIF, WebP and the format of the file, at the widths 400, 800 and that of
// the file, lazy; Beasties puts the rules that a page uses into it and loads the sheets after it. What they refuse stays.

import { createRequire } from "node:module";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const { resolve: where } = createRequire(join(process.cwd(), "/"));
const { default: image } = await import(where("@11ty/eleventy-img"));
const { default: Beasties } = await import(where("beasties"));

const site = resolve(process.argv[2]);
const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;

function attributesOf(tag) {
  const inside = tag.slice(4, -1);
  return Object.fromEntries([...inside.matchAll(ATTRIBUTE)].map(([, name, ...values]) => [name, values.find((each) => each !== undefined) ?? ""]));
}

async function picture(tag, page) {
  const attributes = attributesOf(tag);
  const source = decodeURI(attributes.src ?? "");
  const file = source.startsWith("/") ? join(site, source) : join(dirname(page), source);
  if (!/\.(png|jpe?g|gif)$/i.test(source) || source.includes(":") || attributes.srcset || !existsSync(file)) return tag;
  const made = await image(file, {
    formats: ["avif", "webp", "auto"],
    widths: [400, 800, "auto"],
    outputDir: join(site, "img-peer"),
    urlPath: `${relative(dirname(page), site) || "."}/img-peer/`,
    sharpOptions: { animated: true },
  });
  delete attributes.src;
  return image.generateHTML(made, { alt: "", loading: "lazy", decoding: "async", sizes: "100vw", ...attributes });
}

for (const name of readdirSync(site, { recursive: true }).filter((each) => /\.html?$/.test(each))) {
  const page = join(site, name);
  let text = readFileSync(page, "utf8");
  for (const [tag] of [...text.matchAll(/<img\b[^>]*>/gi)]) {
    try {
      const better = await picture(tag, page);
      text = text.replace(tag, () => better);
    } catch (error) {
      console.error(`${name}: ${error.message}`);
    }
  }
  try {
    text = await new Beasties({ path: dirname(page), publicPath: "", logLevel: "silent" }).process(text);
  } catch (error) {
    console.error(`${name}: ${error.message}`);
  }
  writeFileSync(page, text);
}
