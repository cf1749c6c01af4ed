"""The report: complete in itself, safe against hostile names, equal for equal figures, usable."""

from __future__ import annotations

import json
import random
import re
import subprocess
from dataclasses import replace

import jinja2
import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.samples.report_figures import PATHS, found, ledger_of, level, pages_of, render_report, site
from tests.waiting import PATIENCE

from adaptc.core.model import Action
from adaptc.report import page_table
from adaptc.report.charts import count_ticks, log_axis
from adaptc.report.figures import (
    BrowserFigures,
    FileFigures,
    PageFigures,
    ScriptFigures,
    TrafficFigures,
    TypeFigures,
    capacity_factor,
)
from adaptc.report.html_report import FIRST_ROWS, first_steps
from adaptc.report.page_table import tabulate_pages

HOSTILE = (
    "<script>alert(1)</script>.html",
    "</script><!--.html",
    "\"onclick='x'&amp;.html",
    "evil\u202egnp.html",
    "bad\udcff.html",
    "{{ 7 * 7 }}{% raw %}.html",
)


def parsed(text: str) -> LexborHTMLParser:
    return LexborHTMLParser(text)


def embedded(text: str, name: str):
    return json.loads(parsed(text).css_first(f"#{name}").text())


def test_names_each_level_with_its_figures():
    cards = [card.text(separator=" ") for card in parsed(render_report(site())).css(".cards > li")]
    assert len(cards) == 2
    assert "5.0 50.0 % less" in " ".join(cards[1].split())
    assert "2.0 ×" in cards[1]


def test_says_where_the_capacity_factor_comes_from():
    text = parsed(render_report(replace(site(), request_ms=0.5))).css_first("main").text()
    assert "U = aR + bW" in text
    assert "Abdelzaher" in text
    assert "a = 0.5 ms" in text


def test_tables_have_scopes_and_the_sorted_column_is_marked():
    tree = parsed(render_report(site()))
    assert all(head.attributes.get("scope") for head in tree.css("th"))
    assert [head.attributes["data-key"] for head in tree.css("th[aria-sort]")] == ["transfer"]


def test_the_first_rows_are_there_without_a_script_the_heaviest_first():
    rows = parsed(render_report(site())).css("tr.page")
    assert [row.css_first("th").text() for row in rows] == list(reversed(PATHS))
    many = site(pages_of([f"{number}.html" for number in range(60)], ("full", "lossless")))
    assert len(parsed(render_report(many)).css("tr.page")) == FIRST_ROWS


def test_every_page_is_in_the_sortable_rows():
    rows = embedded(render_report(site()), "page-rows")
    assert [row[0] for row in rows] == sorted(PATHS)
    first = next(row for row in rows if row[0] == PATHS[0])
    assert first[1][:5] == [10, 30_000, 10_000, 20_000, 5_000]
    assert first[2][:3] == [5, 15_000, 5_000]


def test_actions_are_interned_and_can_be_resolved():
    text = render_report(site())
    words, actions = embedded(text, "page-actions")
    lists = embedded(text, "page-lists")
    row = embedded(text, "page-rows")[0]
    ((number,),) = [lists[row[2][6]]]
    *named, times = actions[number]
    assert [words[word] for word in named] == ["inline-styles", "inlined", "css/site.css", "small"]
    assert times == 2
    assert len(actions) == 1


def test_dropped_passes_are_shown():
    row = next(row for row in parsed(render_report(site())).css("tr.page") if PATHS[3] in row.text())
    assert "markup" in row.text()


def test_diagnostics_are_grouped_with_samples_and_places():
    groups = parsed(render_report(site())).css("details.diagnostic")
    assert [group.attributes["data-id"] for group in groups] == ["pass-failed", "missing-target"]
    assert f"{PATHS[11]}:7:5" in groups[1].text()
    assert "and 6,959 more" in groups[1].text()


def test_no_address_of_another_file_is_in_it():
    text = render_report(site())
    assert not re.search(r"(?:https?:)?//[a-z]", re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    for node in parsed(text).css("[src], [href], link, iframe, object, embed, img"):
        assert node.attributes["href"].startswith("#")
    style = parsed(text).css_first("style").text()
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_only_the_reports_own_script():
    import base64
    import hashlib

    tree = parsed(render_report(site()))
    policy = tree.css_first("meta[http-equiv]").attributes["content"]
    (script,) = [node.text() for node in tree.css("script") if not node.attributes.get("type")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def hostile_report() -> str:
    pages = pages_of(HOSTILE, ("full", "lossless"))
    pages.append(PageFigures("x.html", "full", 1, 1, 1, 1, 1, (Action("p", "kept", HOSTILE[1], HOSTILE[0]),)))
    diagnostics = tuple(found("missing-target", 2, name, where=name, url=name) for name in HOSTILE)
    return render_report(site(pages, diagnostics, name=HOSTILE[0]))


def test_hostile_names_become_text():
    text = hostile_report()
    text.encode("utf-8")  # a lone surrogate would raise
    tree = parsed(text)
    assert len(tree.css("script")) == 5
    assert not tree.css("[onclick]")
    shown = {head.text() for head in tree.css("tr.page th")}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[5]} <= shown
    assert {"evil\\u202egnp.html", "bad\\xff.html"} <= shown
    assert {row[0] for row in embedded(text, "page-rows")} == shown


def test_no_invisible_control_gets_in():
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", hostile_report())


def test_equal_figures_give_an_equal_report_in_any_order_of_pages():
    pages = pages_of(PATHS, ("full", "lossless"))
    shuffled = random.Random(3).sample(pages, len(pages))
    plain = [page._replace(actions=(), demoted=()) for page in pages]
    assert render_report(site(pages)) == render_report(site(iter(list(pages))))
    mixed = [page._replace(actions=(), demoted=()) for page in shuffled]
    assert render_report(site(plain)) == render_report(site(mixed))


@pytest.mark.parametrize("levels", [(), ("full",)])
def test_sites_without_pages_or_further_levels_have_a_report(levels):
    chosen = tuple(level(name, 4, 1.0) for name in levels)
    text = render_report(replace(site([]), levels=chosen, diagnostics=()))
    assert "The site has no pages." in text
    assert "nothing was found wrong" in text


def test_a_page_that_a_level_lacks_is_kept():
    text = render_report(site(pages_of(["a.html"], ("full",))))
    assert embedded(text, "page-rows")[0][2] is None


def test_a_directory_of_templates_stands_in_for_the_shipped_ones(tmp_path):
    (tmp_path / "report.html.j2").write_text("<h1>{{ site.name }}</h1>", "utf-8")
    assert render_report(site(name="<b>"), tmp_path) == "<h1>&lt;b&gt;</h1>"


def test_a_template_runs_nothing(tmp_path):
    (tmp_path / "report.html.j2").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}", "utf-8")
    with pytest.raises(jinja2.exceptions.SecurityError):
        render_report(site(name="x"), tmp_path)


def test_an_unknown_level_is_a_bug():
    with pytest.raises(KeyError):
        render_report(site(pages_of(["a.html"], ("nowhere",))))


def test_actions_beyond_the_limits_are_counted(monkeypatch):
    monkeypatch.setattr(page_table, "ACTIONS_A_PAGE", 2)
    many = tuple(Action("images", "kept", f"{number}.png") for number in range(5))
    table = tabulate_pages(ledger_of([PageFigures("a.html", "full", 1, 1, 1, 1, 1, many)]))
    assert (table.rows, table.count) == ('["a.html",[1,1,1,1,1,0,0,3],0]', 1)


def test_no_more_actions_than_a_report_can_hold(monkeypatch):
    monkeypatch.setattr(page_table, "DISTINCT_ACTIONS", 1)
    pages = [PageFigures(f"{n}.html", "full", 1, 1, 1, 1, 1, (Action("p", "kept", f"{n}"),)) for n in range(3)]
    gathered = tabulate_pages(ledger_of(pages))
    assert len(gathered.actions) == 1
    assert [row[1][-1] for row in json.loads(f"[{gathered.rows}]")] == [0, 1, 1]


def test_the_heaviest_pages_of_equal_weight_go_by_path():
    ledger = ledger_of(PageFigures(name, "full", 1, 1, 1, 1, 1) for name in ("b", "a", "c"))
    assert ledger.heaviest_pages("full", 2) == [("a", 1), ("b", 1)]
    assert ledger.foremost_pages("full", 2) == [("a", 0), ("b", 0)]


def test_what_no_page_embeds_is_known():
    ledger, strange = ledger_of([]), 'a "quoted" \udcff.css'
    ledger.add_page(PageFigures("a.html", "full", 1, 1, 1, 1, 1), ["i.png", strange], is_built=True)
    assert ledger.may_embed(strange)
    assert not ledger.may_embed("a.html")


@pytest.mark.parametrize("amounts", [[], [0], [5], [7, 7], [1, 10**9], [10**3, 10**12]])
def test_axes_hold_all_amounts_with_few_ticks(amounts):
    axis = log_axis(amounts, 48, 350, str)
    assert all(48 <= axis.at(amount) <= 350 for amount in amounts)
    assert 1 <= len(axis.ticks) <= 7


@pytest.mark.parametrize("most", [1, 6, 7, 32_000])
def test_counting_axes_start_at_nought(most):
    ticks = count_ticks(most, 184, 12)
    assert ticks[0].label == "0"
    assert 2 <= len(ticks) <= 8


PROBE = """
<script>
const seen = [];
addEventListener("error", event => seen.push(event.message));
addEventListener("securitypolicyviolation", event => seen.push(event.violatedDirective));
addEventListener("load", () => {
  const path = () => document.querySelector("tr.page th button").textContent;
  const sort = document.querySelector("th[data-key=path] button");
  const foremost = path();
  sort.click();
  const first = path();
  sort.click();
  const last = path();
  document.querySelector("tr.page th button").click();
  const detail = document.querySelector("tr.detail").textContent;
  const filter = document.querySelector("[name=filter]");
  filter.value = "page-3";
  filter.dispatchEvent(new Event("input"));
  const status = document.getElementById("page-status").textContent;
  document.title = JSON.stringify({foremost, first, last, detail, status, seen});
});
</script>
"""


def in_browser(chromium: str, folder, text: str) -> dict:
    """Open a report with the probe in front of its own script, which the policy then has to let in."""
    text = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", text)
    page = folder / "report.html"
    page.write_text(text.replace("</head>", PROBE + "</head>"), "utf-8")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
    )
    run = subprocess.run([chromium, *options, page.as_uri()], capture_output=True, timeout=PATIENCE, check=True)
    return json.loads(parsed(run.stdout.decode()).css_first("title").text())


@pytest.mark.chromium
def test_a_browser_sorts_filters_and_opens_without_an_error(chromium, tmp_path):
    seen = in_browser(chromium, tmp_path, render_report(site()))
    assert seen["seen"] == []
    assert seen["foremost"] == PATHS[11]
    assert (seen["first"], seen["last"]) == (min(PATHS), max(PATHS))
    assert "inline-styles" in seen["detail"]
    assert seen["status"] == "1–1 of 1 page (12 in all)"


@pytest.mark.chromium
def test_the_policy_lets_the_reports_script_run(chromium, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(render_report(site()), "utf-8")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'p'}",
        "--dump-dom",
    )
    logging = ("--enable-logging=stderr",)
    run = subprocess.run(
        [chromium, *options, *logging, page.as_uri()], capture_output=True, timeout=PATIENCE, check=True
    )
    assert b"CONSOLE" not in run.stderr
    assert b'aria-expanded="false"' in run.stdout


@pytest.mark.chromium
def test_a_browser_shows_hostile_names_as_text(chromium, tmp_path):
    seen = in_browser(chromium, tmp_path, hostile_report())
    assert seen["seen"] == []
    assert seen["first"] == min(HOSTILE)


def viewed_site():
    """The site of 12 pages with views: page 7 most, and the second level for three popular pages only."""
    views = {PATHS[7]: 60, PATHS[2]: 30, PATHS[5]: 10}
    pages = [page._replace(views=views.get(page.path, 0)) for page in pages_of(PATHS, ("full", "lossless"))]
    pages = [page for page in pages if page.level == "full" or page.views]
    levels = (level("full", 4, 1.0), replace(level("lossless", 3, 0.5), pages=3))
    return replace(site(pages), levels=levels, traffic=TrafficFigures(100, 3, 3, 0.7))


def test_with_access_logs_the_most_viewed_pages_come_first():
    page = parsed(render_report(viewed_site()))
    heads = [head.text(strip=True) for head in page.css("table.pages thead th")]
    assert heads == ["Page", "Views", "Requests", "Stored", "Sent", "Saving", "Capacity", "Passes dropped"]
    assert page.css_first("table.pages [aria-sort]").text() == "Views"
    rows = [[cell.text() for cell in row.css("th, td")][:2] for row in page.css("table.pages tbody tr")]
    assert rows[:4] == [[PATHS[7], "60"], [PATHS[2], "30"], [PATHS[5], "10"], [PATHS[0], "0"]]
    cells = [cell.text() for cell in page.css("table.pages tbody tr")[3].css("td")]
    assert cells == ["0", "not built at this level: the original is served"]


def test_the_report_says_what_the_means_are_over_and_which_levels_are_restricted():
    text = " ".join(parsed(render_report(viewed_site())).css_first("main").text().split())
    assert "Means over 100 page views in the access logs, of 3 pages. lossless has popular pages only: the 3" in text
    cards = parsed(render_report(viewed_site())).css(".cards li")
    assert [[place.text() for place in card.css("dt")].count("have this level") for card in cards] == [0, 1]
    assert "page views in the access logs" not in render_report(site())


def test_each_page_has_its_capacity_factor():
    page = parsed(render_report(site()))
    first = [cell.text() for cell in page.css("table.pages tbody tr")[0].css("td")]
    wanted = capacity_factor(5, 60_000, 10, 120_000)
    assert first[4] == f"{wanted:.1f} ×"


@pytest.mark.chromium
def test_a_browser_sorts_by_views_and_says_where_the_original_is_served(chromium, tmp_path):
    seen = in_browser(chromium, tmp_path, render_report(viewed_site()))
    assert seen["seen"] == []
    assert seen["foremost"] == PATHS[7]
    assert "not built" in seen["detail"]


# ---- what to do first


def test_the_report_begins_with_what_to_do():
    figures = site(
        diagnostics=(
            found("image-bomb", 3, "a.png", pixels=9, limit=8),
            found("css-malformed", 9, "a.css", problem="x"),
        )
    )
    steps = first_steps(figures, [("big.html", 2_000_000), ("small.html", 10)], 1)
    assert [step.finding for step in steps] == [
        "The heaviest pages at lossless: big.html (2.0 MB), small.html (10 B).",
        "image-bomb, 3 times.",
    ]
    assert "site.max_pixels" in steps[1].remedy
    text = render_report(site())
    assert text.index("What to do first") < text.index('<h2 id="levels">') < text.index('<h2 id="pages">')
    assert text.index('<h2 id="pages">') < text.index('<h2 id="trees">') < text.index("<details>")
    assert "missing-target, 6,961 times." in text
    assert "<code>site.exclude</code>" in text


def test_files_with_most_of_the_bytes_of_pages_are_named():
    figures = site(diagnostics=())
    files = (FileFigures("an app.js", 60_000, 0.9), FileFigures("rare.png", 60_000, 0.01))
    levels = tuple(replace(level, heaviest=files) for level in figures.levels)
    steps = first_steps(replace(figures, levels=levels), [("a.html", 1)], 1)
    assert (
        steps[1].finding == "Files with most of the bytes of pages at lossless: an app.js (60 kB, embedded by 90.0 %)."
    )
    assert "`adaptc explain 'an app.js'`" in steps[1].remedy
    assert not any("rare.png" in step.finding for step in steps)


@pytest.mark.parametrize(("browser", "option"), [(None, "--browser`"), (BrowserFigures(2, 0, 3), "--browser=all`")])
def test_pages_that_need_scripts_need_a_browser_that_looks_at_them(browser, option):
    figures = site(diagnostics=(found("page-needs-scripts", 2, "a.html", name="extreme", above="web", reason="x"),))
    steps = first_steps(replace(figures, browser=browser), [("a.html", 1)], 1)
    assert steps[-1].remedy.startswith(f"`adaptc build {option} makes such pages")


def test_scripts_of_which_little_ran_are_named():
    scripts = (
        ScriptFigures("lib.js", 60_000, 0.25, 3),
        ScriptFigures("used.js", 60_000, 0.75, 3),
        ScriptFigures("small.js", 900, 0.1, 3),
    )
    figures = replace(site(diagnostics=()), scripts=scripts)
    (said,) = [step.finding for step in first_steps(figures, [("a.html", 1)], 1) if "little ran" in step.finding]
    assert said.endswith("looked: lib.js (60 kB, 25.0 % of it at most, on 3 pages).")


def test_a_group_with_most_of_the_bytes_is_named():
    figures = site()
    kinds = (TypeFigures("images", 2, 900, 900, 900), TypeFigures("pages", 2, 100, 100, 100))
    levels = tuple(replace(level, bytes_by_type=kinds) for level in figures.levels)
    steps = first_steps(replace(figures, levels=levels, diagnostics=()), [("a.html", 1)], 1)
    assert steps[-1].finding == "Of all bytes at lossless, images are 90.0 %."
    assert first_steps(figures, [], -1) == []
