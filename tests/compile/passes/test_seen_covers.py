"""What lies over the text of a page without scripts: a browser sees it, and levels without scripts uncover the text."""

from __future__ import annotations

import pytest

from tests.sites.shown import URL, site
from tests.sites.small import SmallSite

from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import CoverSeen, PageEvidence, WidthEvidence
from adaptc.browser.look import BarePage, look_without_scripts
from adaptc.compile.pipeline import BY_NAME, Step

TEXT = "<main><h1>News</h1>" + "<p>Words that everybody should read, and more than a few of them." * 9 + "</main>"
CSS = """<style>
  .veil{position:fixed;inset:0;background:#fff;z-index:9}
  .drawer{position:fixed;top:0;left:0;bottom:0;width:300px;background:#eee}
  @media(min-width:900px){.drawer{display:none}}
  header{position:fixed;top:0;height:9px;width:100%;background:#fff}
</style>"""
VEIL, DRAWER = "<div class=veil><img alt=''></div>", "<nav class=drawer><a href=a.html>Alpha</a></nav>"
HEAD = "<meta name=viewport content='width=device-width'>{css}<title>T</title>"
# it is large enough for the rules to make up for
SCRIPT = f"<script>start({list(range(500))})</script>"
PAGE = f"<!doctype html><html><head>{HEAD}</head><body>{{body}}{SCRIPT}</body></html>"


def bare_page(program: str, body: str, document: str = "<p>a", shown: str = "") -> BarePage:
    server = site({"index.html": PAGE.format(css=CSS, body=body)})

    async def look(browser: Chromium) -> BarePage:
        async with browser.tab(server, 1280, 800) as tab:
            return await look_without_scripts(tab, server, URL, document.encode(), shown)

    return in_chromium(program, look)


def covers(program: str, body: str, document: str = "<p>a") -> dict[int, tuple[CoverSeen, ...]]:
    return dict(bare_page(program, body, document).covers)


@pytest.mark.chromium
def test_what_covers_the_text_is_seen_with_what_is_under_it(chromium: str) -> None:
    seen = covers(chromium, VEIL + DRAWER + TEXT)
    places = {width: [(each.selector, each.classes) for each in found] for width, found in seen.items()}
    veil, drawer = ("body > div:nth-of-type(1)", "veil"), ("body > nav:nth-of-type(1)", "drawer")
    assert places == {412: [veil, drawer], 1280: [veil]}
    assert seen[1280][0].share == 1 and 0.2 < seen[412][1].share < 1


@pytest.mark.chromium
def test_a_header_and_what_is_below_the_text_are_no_covers(chromium: str) -> None:
    body = f"<header id=top>Head</header>{TEXT}<div style='position:fixed;z-index:-1;inset:0'>x</div>"
    assert covers(chromium, body) == {412: (), 1280: ()}


@pytest.mark.chromium
def test_no_script_runs_and_the_page_after_scripts_is_looked_at_too(chromium: str) -> None:
    document = PAGE.format(css=CSS, body=f"<div class=veil id='a.b'>Letter</div>\u00fc{TEXT}")
    seen = covers(chromium, TEXT + "<script>document.body.innerHTML='<div class=veil></div>'</script>", document)
    assert [(each.selector, each.classes) for each in seen[1280]] == [(r"#a\.b", "veil")]


@pytest.mark.chromium
def test_a_page_that_shows_the_same_needs_no_look_at_its_markup_after_scripts(chromium: str) -> None:
    document = PAGE.format(css=CSS, body=VEIL + TEXT)
    first = bare_page(chromium, TEXT, document)
    assert [each.classes for each in first.covers[412]] == ["veil"]
    same = bare_page(chromium, TEXT, document, first.shown)
    assert same.shown == first.shown
    assert dict(same.covers) == {412: (), 1280: ()}


# ---- levels without scripts


def uncovered(body: str, *seen: CoverSeen, width: int = 412) -> str:
    evidence = PageEvidence((WidthEvidence(width, covers=seen),))
    pages = SmallSite({"index.html": PAGE.format(css=CSS, body=body)}, evidence={"index.html": evidence})
    result = pages.rewrite(steps=(Step(BY_NAME["remove-scripts"], {}),), promise="article")
    assert result.content is not None and not result.demoted, result.diagnostics
    return result.content.decode()


def test_a_cover_is_hidden_and_the_page_scrolls() -> None:
    text = uncovered(VEIL + TEXT, CoverSeen("body > div:nth-of-type(1)", "veil", 0.9))
    assert "<div data-adaptc-shown=1 class=veil>" in text and "{display:none!important}" in text
    assert "{overflow:visible!important}" in text and "@media(max-width:767.98px)" in text


def test_a_drawer_with_links_of_its_own_moves_into_the_flow() -> None:
    text = uncovered(DRAWER + TEXT, CoverSeen("body > nav:nth-of-type(1)", "drawer", 0.5), width=1280)
    assert "position:relative!important" in text and "@media(min-width:768px)" in text
    text = uncovered(DRAWER + TEXT + "<a href=a.html>A</a>", CoverSeen("body > nav:nth-of-type(1)", "drawer", 0.5))
    assert "position:relative" not in text and "display:none!important" in text


@pytest.mark.parametrize(
    "seen",
    [
        CoverSeen("body > div:nth-of-type(1)", "veil", 0.2),
        CoverSeen("body > div:nth-of-type(1)", "veil open", 0.9),
        CoverSeen("body > div:nth-of-type(2)", "veil", 0.9),
        CoverSeen("body > main:nth-of-type(1)", "", 0.9),
    ],
)
def test_what_covers_little_or_is_not_there_or_is_the_content_stays(seen: CoverSeen) -> None:
    assert "!important" not in uncovered(VEIL.replace("<img alt=''>", "<b id=b>x</b>") + TEXT, seen)
