// Deferred: looks the query up in the list of articles that the page carries.
"use strict";

const articles = JSON.parse(document.querySelector("#articles").textContent);
const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
const results = document.querySelector("#results");

document.querySelector("#q").value = words.join(" ");

const found = articles.filter(({ title, words: keys }) => words.every((word) => `${title} ${keys}`.toLowerCase().includes(word)));
const heading = document.querySelector("#results-title");
heading.textContent = words.length ? `${found.length} found for \u201c${words.join(" ")}\u201d` : "All articles";

for (const { title, href, date } of found) {
  const item = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href, textContent: title });
  const time = Object.assign(document.createElement("time"), { dateTime: date, textContent: date });
  item.append(time, link);
  results.append(item);
}
