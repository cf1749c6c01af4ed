"use strict";
// Shows two panes. Each is an origin of its own (SIDE.LEVEL.CODING.localhost), so the pages in them cannot be looked
// into; what they ask for comes from the server, over /events.

const SIDES = ["left", "right"];
const panes = {};
const counts = {};
const opened = {};
let site = null;

const find = (selector, root = document) => root.querySelector(selector);

function written(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 999.5 && unit < units.length - 1) { bytes /= 1000; unit += 1; }
  return `${unit && bytes < 99.5 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

function origin(side) {
  const pane = panes[side];
  return `${location.protocol}//${side}.${pane.level.value}.${pane.coding.value}.localhost:${location.port || 80}`;
}

function show(side, path) {
  const address = origin(side) + path;
  panes[side].path = path;
  panes[side].frame.src = address;
  panes[side].alone.href = address;
  remember();
}

// The address bar holds what is shown, so that a view can be kept and passed on.
function remember() {
  const state = new URLSearchParams({ path: find("#path").value, width: find("#width").value });
  for (const side of SIDES) state.set(side, `${panes[side].level.value}.${panes[side].coding.value}`);
  history.replaceState(null, "", `#${state}`);
}

function choose(select, value) {
  if ([...select.options].some((option) => option.value === value)) select.value = value;
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  // the site's own bytes, compressed, next to what looks the same: what a visitor saves without seeing it
  const names = site.levels.map((level) => level.name);
  const first = (wanted, other) => (names.includes(wanted) ? wanted : other);
  const last = names.length ? names[names.length - 1] : "original";
  const usual = { left: `${first("full", "original")}.auto`, right: `${first("lossless", first("web", last))}.auto` };
  for (const side of SIDES) {
    const [level, coding] = (state.get(side) || usual[side]).split(".");
    choose(panes[side].level, level);
    choose(panes[side].coding, coding);
  }
  choose(find("#width"), state.get("width") || "0");
  const path = state.get("path") || site.prefix;
  find("#path").value = path.startsWith("/") ? path : `/${path}`;
}

function build(side) {
  const section = find("#pane").content.cloneNode(true).firstElementChild;
  find("main").append(section);
  const pane = { section, frame: find("iframe", section), alone: find(".alone", section), path: "" };
  pane.level = find(".level", section);
  pane.coding = find(".coding", section);
  section.dataset.side = side;
  pane.frame.title = `The ${side} pane`;
  pane.level.append(new Option("original", "original"));
  for (const level of site.levels) {
    const option = new Option(level.name, level.name);
    option.title = level.title;
    pane.level.append(option);
  }
  for (const select of [pane.level, pane.coding]) select.addEventListener("change", () => show(side, pane.path));
  find("details", section).addEventListener("toggle", () => list(side));
  panes[side] = pane;
}

function fit() {
  const wanted = Number(find("#width").value);
  for (const side of SIDES) {
    const frame = panes[side].frame;
    const stage = frame.parentElement;
    const scale = wanted ? Math.min(1, stage.clientWidth / wanted) : 1;
    stage.classList.toggle("narrow", wanted > 0 && scale === 1);
    frame.style.width = wanted ? `${wanted}px` : "100%";
    frame.style.height = `${100 / scale}%`;
    frame.style.transform = scale < 1 ? `scale(${scale})` : "none";
  }
}

function list(side) {
  const section = panes[side].section;
  if (!find("details", section).open || !counts[side]) return;
  const rows = counts[side].rows.map(([path, status, level, coding, sent, decoded]) => {
    const row = document.createElement("tr");
    const cells = status === 200
      ? [path, level, coding === "id" ? "none" : coding, written(sent), written(decoded)]
      : [path, "not found", "", "", ""];
    row.classList.toggle("gone", status !== 200);
    cells.forEach((text, index) => {
      const cell = row.insertCell();
      cell.textContent = text;
      cell.title = index ? "" : text;
      cell.className = index > 2 ? "number" : "";
    });
    return row;
  });
  find("tbody", section).replaceChildren(...rows);
}

function compare(side, other) {
  const section = panes[side].section;
  const [mine, theirs] = [counts[side].sent, counts[other] ? counts[other].sent : 0];
  const most = Math.max(mine, theirs, 1);
  find(".meter i", section).style.width = `${(100 * mine) / most}%`;
  section.classList.toggle("smaller", mine < theirs);
  const against = find(".against", section);
  // Shown on one side only: the same figure twice would be read twice.
  against.hidden = side !== "right" || !mine || !theirs;
  const change = Math.round(100 * (mine / theirs - 1));
  against.classList.toggle("more", change >= 0);
  find("dd", against).textContent = change < 0 ? `−${-change} %` : `+${change} %`;
  find("dt", against).textContent = "sent, against the left";
}

function count(side) {
  const { section } = panes[side];
  find(".requests", section).textContent = counts[side].requests.toLocaleString("en");
  find(".sent", section).textContent = written(counts[side].sent);
  find(".decoded", section).textContent = written(counts[side].decoded);
  const missing = find(".missing", section);
  missing.hidden = !counts[side].missing;
  find("dd", missing).textContent = counts[side].missing;
  list(side);
}

// A page that was opened on one side by a click: the other side, and the address, go along.
function follow(side) {
  const { opened: number, page } = counts[side];
  const isNew = opened[side] !== number;
  opened[side] = number;
  if (!isNew || page === panes[side].path) return;
  panes[side].path = page;
  find("#path").value = page;
  remember();
  const other = SIDES.find((name) => name !== side);
  if (find("#linked").checked && panes[other].path !== page) show(other, page);
}

function receive(event) {
  Object.assign(counts, JSON.parse(event.data));
  for (const side of SIDES.filter((name) => counts[name])) {
    follow(side);
    count(side);
  }
  if (counts.left && counts.right) {
    compare("left", "right");
    compare("right", "left");
  }
}

function watch() {
  const events = new EventSource("/events");
  events.addEventListener("message", receive);
  events.addEventListener("open", () => { find("#problem").hidden = true; });
  events.addEventListener("error", () => { find("#problem").hidden = false; });
}

async function start() {
  site = await (await fetch("/site.json")).json();
  find("#name").textContent = site.name;
  document.title = `${site.name}: preview`;
  find("#pages").append(...site.pages.slice(0, 2000).map((path) => new Option(path, path)));
  SIDES.forEach(build);
  recall();
  fit();
  watch();
  find("#go").addEventListener("submit", (event) => {
    event.preventDefault();
    SIDES.forEach((side) => show(side, find("#path").value));
  });
  find("#width").addEventListener("change", () => { fit(); remember(); });
  addEventListener("resize", fit);
  SIDES.forEach((side) => show(side, find("#path").value));
}

start();
