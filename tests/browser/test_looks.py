"""What a first glance finds wrong in a page without scripts: small pages with one fault each."""

from __future__ import annotations

import pytest

from tests.sites.shown import URL, side_by_side, site

from adaptc.browser.judge import PageView, view_page

WORDS = "<p>" + "The harbour master counts the ships that leave with the tide. " * 9
HEAD = "<!doctype html><meta name=viewport content=width=device-width><title>T</title><style>{}</style>"
DOT = "<img alt='' src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>\">"
# By the kind of the fault: rules and a body
FAULTS = {
    "": (
        "p::after{content:'\\203a & more;'}",
        f"<h1>Ships</h1>{'<p>43<p>New tickets' * 4}{WORDS}<p><a href=a.html>The tide of the morning</a>{WORDS}"
        "<p><a href=b.html>Tides</a> <a href=c.html>Java</a>script and <code><a href=d.html>map</a>Each</code>",
    ),
    "overlap": ("b{position:absolute;top:40px;left:20px}", f"<b>Words of a ticker</b>{WORDS}"),
    "faint": ("p{color:#ccc}", f"<h1>Ships</h1>{WORDS}"),
    "narrow": ("div{width:40px}", f"{WORDS}<div>a long row of small words in a strip</div>"),
    "joined": ("", f"<h1>Ships</h1>{WORDS}<p><a href=u.html>annalena</a>March 4"),
    "edge": ("body{margin:0 auto;max-width:44rem}", f"<h1>Ships</h1>{WORDS}"),
    "empty": ("h1{margin-bottom:600px}", f"<h1>Ships</h1>{WORDS}{WORDS}"),
    "wide": ("p{width:2000px}", WORDS),
    "tiny": ("", f"{WORDS}<div class=c>{DOT} A story of the sea</div>"),
    "repeated": ("", f"{WORDS}<p><a href=a.html>A story of the sea</a><p><a href=a.html>A story of the sea</a>"),
    "reference": ("p::before{content:'&#8250; '}", WORDS),
    "sign": ("", f"{WORDS}<p>&#xf015; Home"),
    "strewn": ("", f"{WORDS}{'<p>43<p>New tickets' * 5}{WORDS}"),
}
DARK = ":root{color-scheme:light dark}p{color:#111}"  # as dark as the page in dark colours


def views_of(program: str, pages: dict[str, str]) -> dict[str, PageView]:
    """Return what pages show on a phone."""
    looks = (lambda browser, name=name: view_page(browser, site({**pages}), URL + name, 412) for name in pages)
    return dict(zip(pages, side_by_side(program, looks), strict=True))


@pytest.mark.chromium
def test_each_fault_is_found_and_nothing_else(chromium: str) -> None:
    pages = {f"{kind or 'none'}.html": HEAD.format(css) + body for kind, (css, body) in FAULTS.items()}
    pages["dark.html"] = HEAD.format(DARK) + WORDS
    pages["script.html"] = pages["wide.html"] + "<script>run()</script>"
    views = views_of(chromium, pages)
    assert all(place.startswith("<p>") for _, place in views["faint.html"].faults)
    assert all(place.endswith("in dark colours") for _, place in views["dark.html"].faults)
    found = {name: {kind for kind, _ in view.faults} for name, view in views.items()}
    expected = {f"{kind or 'none'}.html": {kind} - {""} for kind in FAULTS}
    assert found == {**expected, "dark.html": {"faint"}, "script.html": set()}


@pytest.mark.chromium
def test_what_opens_at_a_touch_without_scripts_is_seen(chromium: str) -> None:
    inner = "<details><summary>More</summary><a href=deep.html>Tides</a></details>"
    menu = f"{HEAD.format('')}<details><summary>Menu</summary>{inner}</details>"
    pages = {"plain.html": menu, "script.html": f"{menu}<script>1</script>"}
    seen = [(view.seen, view.seen_links, view.content) for view in views_of(chromium, pages).values()]
    assert seen == [("Menu More Tides", ("/deep.html",), "Menu"), ("Menu", (), "Menu")]


@pytest.mark.chromium
def test_links_within_a_page_lead_nowhere_however_a_script_writes_them(chromium: str) -> None:
    links = f"{HEAD.format('')}<a href=#tides>Tides</a> <a href=deep.html#tides>More</a> <a href=script.html>Here</a>"
    absolute = "for (const each of document.links) each.href = String(each.href)"
    pages = {"plain.html": links, "script.html": f"{links}<script>{absolute}</script>"}
    seen = [view.seen_links for view in views_of(chromium, pages).values()]
    assert seen == [("/deep.html#tides", "/script.html")] * 2
