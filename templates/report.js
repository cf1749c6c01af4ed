"use strict";
/* The table of pages: filter, sort, turn, open. All text goes into the document as text, never as markup. */
(() => {
  const read = id => JSON.parse(document.getElementById(id).textContent);
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const named = (element, attributes) => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  /* Numbers are written by the same rules as in the summary of the build. */
  const count = number => number.toLocaleString("en-US");
  const bytes = octets => {
    if (octets < 999.5) return `${octets} B`;
    let amount = octets / 1000;
    const units = ["kB", "MB", "GB", "TB"];
    while (amount >= 999.5 && units.length > 1) { amount /= 1000; units.shift(); }
    return `${amount.toFixed(amount < 9.95 ? 1 : 0)} ${units[0]}`;
  };
  const percent = share => `${(100 * share).toFixed(1)} %`.replace("-", "−");

  const {levels, shown, demotions, cost: [viewMs, requestMs, kilobyteMs], viewed} = read("page-heads");
  const rows = read("page-rows");
  if (!rows.length) return;
  rows.forEach((row, number) => { row.number = number; row.lower = row[0].toLowerCase(); });

  const REQUESTS = 0, IDENTITY = 1, TRANSFER = 2, PAGE_TRANSFER = 4, DEMOTED = 5, ACTIONS = 6, UNLISTED = 7;
  const cost = (row, level) => row[1 + level];
  const dropped = of => of ? demotions[of[DEMOTED]] : [];
  const saving = (row, level) => {
    const first = cost(row, 0), here = cost(row, level);
    return first && here && first[TRANSFER] ? 1 - here[TRANSFER] / first[TRANSFER] : null;
  };
  /* p + aR + bW: how many times as many views a server bears. */
  const load = of => viewMs + requestMs * of[REQUESTS] + kilobyteMs * of[TRANSFER] / 1000;
  const capacity = (row, level) => {
    const first = cost(row, 0), here = cost(row, level);
    if (!first || !here) return null;
    return load(first) > 0 && load(here) > 0 ? load(first) / load(here) : 1;
  };
  const factor = (row, level) => capacity(row, level) === null ? "–" : `${capacity(row, level).toFixed(1)} ×`;
  const views = row => row[1 + levels.length];
  const number = index => (row, level) => cost(row, level)?.[index] ?? -1;
  const keys = {
    path: row => row.number, views,
    requests: number(REQUESTS), identity: number(IDENTITY), transfer: number(TRANSFER),
    saving: (row, level) => saving(row, level) ?? -Infinity,
    capacity: (row, level) => capacity(row, level) ?? -Infinity,
    dropped: (row, level) => dropped(cost(row, level)).length,
  };

  const table = document.querySelector("table.pages"), body = table.tBodies[0];
  const status = document.getElementById("page-status");
  const controls = document.getElementById("page-controls"), turn = document.getElementById("page-turn");
  const [earlier, later] = turn.querySelectorAll("button");
  const view = {level: shown, key: viewed ? "views" : "transfer", down: true, filter: "", only: false, from: 0, size: 25, open: new Set()};
  let listed = [];

  const select = () => {
    const words = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
    listed = rows.filter(row => words.every(word => row.lower.includes(word))
      && (!view.only || dropped(cost(row, view.level)).length));
    const key = keys[view.key], sign = view.down ? -1 : 1;
    const sortable = listed.map(row => [key(row, view.level), row]);
    sortable.sort((a, b) => (a[0] === b[0] ? 0 : sign * (a[0] < b[0] ? -1 : 1)) || a[1].number - b[1].number);
    listed = sortable.map(pair => pair[1]);
    view.from = 0;
    draw();
  };

  /* A span over columns that a small screen hides would make new ones. */
  const columns = () => [...table.tHead.rows[0].cells].filter(head => head.offsetWidth).length;
  const cell = (text, className = "number") => make("td", {className, textContent: text});
  const pageCells = row => {
    const here = cost(row, view.level);
    const seen = viewed ? [cell(count(views(row)))] : [];
    const without = "not built at this level: the original is served";
    if (!here) return [...seen, named(cell(without, "text"), {colspan: columns() - 1 - seen.length})];
    const less = view.level && saving(row, view.level) !== null ? percent(saving(row, view.level)) : "–";
    return [
      ...seen, cell(count(here[REQUESTS])), cell(bytes(here[IDENTITY]), "number wide"), cell(bytes(here[TRANSFER])),
      cell(less), cell(factor(row, view.level), "number wide"), cell(dropped(here).join(", ") || "–", "text dropped wide"),
    ];
  };
  const pageRow = row => {
    const open = view.open.has(row.number);
    const button = named(make("button", {type: "button", textContent: row[0]}), {"aria-expanded": open});
    const line = make("tr", {className: "page"},
      named(make("th", {className: "path text"}, button), {scope: "row"}), ...pageCells(row));
    button.addEventListener("click", () => {
      const opening = !view.open.has(row.number);
      view.open[opening ? "add" : "delete"](row.number);
      button.setAttribute("aria-expanded", opening);
      if (opening) line.after(detailRow(row)); else line.nextElementSibling.remove();
    });
    return open ? [line, detailRow(row)] : [line];
  };

  const draw = () => {
    const until = Math.min(view.from + view.size, listed.length);
    body.replaceChildren(...listed.slice(view.from, until).flatMap(pageRow));
    const range = listed.length ? `${count(view.from + 1)}–${count(until)} of ` : "";
    const all = listed.length === rows.length ? "" : ` (${count(rows.length)} in all)`;
    status.textContent = `${range}${count(listed.length)} ${listed.length === 1 ? "page" : "pages"}${all}`;
    earlier.disabled = view.from === 0;
    later.disabled = until >= listed.length;
    for (const head of table.tHead.rows[0].cells) {
      if (head.dataset.key === view.key) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };

  /* What was done is read when a page is first opened: it is most of the file. */
  let done = null;
  const actionsOf = number => {
    if (!done) {
      const [words, actions] = read("page-actions");
      done = {words, actions, lists: read("page-lists")};
    }
    return done.lists[number].map(action => {
      const [pass, verb, subject, reason, times] = done.actions[action];
      return [done.words[pass], done.words[verb], done.words[subject], done.words[reason], times];
    });
  };
  let found = null;
  const diagnosticsOf = path => {
    if (!found) {
      found = new Map();
      for (const item of document.querySelectorAll(".samples li[data-path]")) {
        if (!found.has(item.dataset.path)) found.set(item.dataset.path, []);
        found.get(item.dataset.path).push(item);
      }
    }
    return found.get(path) ?? [];
  };

  const heads = (...names) => make("thead", {}, make("tr", {}, ...names.map(name =>
    named(make("th", {textContent: name}), {scope: "col"}))));
  const costTable = row => {
    const lines = levels.map((name, level) => {
      const of = cost(row, level), head = named(make("th", {textContent: name}), {scope: "row"});
      if (!of) return make("tr", {}, head, named(cell("not built", "text"), {colspan: 7}));
      const less = level && saving(row, level) !== null ? percent(saving(row, level)) : "–";
      return make("tr", {}, head, cell(count(of[REQUESTS])), cell(bytes(of[IDENTITY])), cell(bytes(of[TRANSFER])),
        cell(less), cell(factor(row, level)), cell(bytes(of[PAGE_TRANSFER]), "wide"), cell(dropped(of).join(", ") || "–", "text"));
    });
    const head = heads("Level", "Requests", "Stored", "Sent", "Saving", "Capacity", "Page alone, sent", "Passes dropped");
    head.rows[0].cells[6].className = "wide";
    head.rows[0].cells[7].className = "text";
    return make("div", {className: "scroll"}, make("table", {className: "costs"}, head, make("tbody", {}, ...lines)));
  };
  const actionTable = (row, level) => {
    const of = cost(row, level), actions = of ? actionsOf(of[ACTIONS]) : [];
    if (!actions.length && !of?.[UNLISTED]) return [];
    const lines = actions.map(([pass, verb, subject, reason, times]) => make("tr", {},
      named(make("th", {textContent: verb}), {scope: "row"}),
      make("td", {}, make("bdi", {textContent: subject}), times > 1 ? ` × ${count(times)}` : ""),
      make("td", {textContent: reason}), make("td", {className: "soft", textContent: pass})));
    const head = heads("Done", "To what", "Why", "Pass");
    head.rows[0].cells[1].className = "subject";
    head.rows[0].cells[2].className = "reason";
    const parts = [make("h4", {textContent: `What was done at level ${levels[level]}`})];
    if (lines.length) parts.push(make("table", {className: "actions"}, head, make("tbody", {}, ...lines)));
    if (of[UNLISTED]) parts.push(make("p", {className: "small soft",
      textContent: `${count(of[UNLISTED])} more are not in this report; “adaptc explain” lists them all.`}));
    return parts;
  };
  const diagnosticList = path => {
    const items = diagnosticsOf(path);
    if (!items.length) return [];
    const list = make("ul", {className: "samples"}, ...items.map(item => {
      const copy = item.cloneNode(true), kind = item.closest("details");
      copy.append(" ", make("span", {className: kind.dataset.severity, textContent: `[${kind.dataset.id}]`}));
      return copy;
    }));
    return [make("h4", {textContent: "Diagnostics"}), list];
  };
  const detailRow = row => {
    const actions = levels.flatMap((_, level) => actionTable(row, level));
    const none = actions.length ? [] : [make("p", {className: "small soft", textContent: "No pass changed this page."})];
    const content = make("td", {colSpan: columns()}, costTable(row), ...actions, ...none, ...diagnosticList(row[0]));
    return make("tr", {className: "detail"}, content);
  };

  for (const head of table.tHead.rows[0].cells) {
    const button = make("button", {type: "button"}, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      view.down = view.key === head.dataset.key ? !view.down : head.dataset.key !== "path";
      view.key = head.dataset.key;
      select();
    });
  }
  const bind = (name, change) => controls.querySelector(`[name=${name}]`).addEventListener("input", event => {
    change(event.target);
    select();
  });
  bind("level", field => { view.level = Number(field.value); });
  bind("filter", field => { view.filter = field.value; });
  bind("only", field => { view.only = field.checked; });
  bind("size", field => { view.size = Number(field.value); });
  const step = by => () => { view.from = Math.max(0, view.from + by * view.size); draw(); };
  earlier.addEventListener("click", step(-1));
  later.addEventListener("click", step(1));
  controls.querySelector("[name=level]").value = String(shown);
  document.getElementById("page-first").hidden = true;
  controls.hidden = turn.hidden = false;
  matchMedia("(max-width: 44rem)").addEventListener("change", draw);
  select();
})();
