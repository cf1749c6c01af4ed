"""Levels without scripts are made of the page as its scripts left it, where a browser saw that it shows more."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.pipeline import KNOWN_PASSES, plan_level
from adaptc.compile.rewrite import PageResult
from adaptc.config.rulebook import load_levels
from adaptc.core import media
from adaptc.formats.html.document import read_page
from adaptc.formats.html.static_text import open_shadow_roots

LEVELS = load_levels(known_passes=KNOWN_PASSES)
PAGE = (
    "<!doctype html><html lang=en><head><meta charset={charset}><title>Recipes</title></head><body>{body}</body></html>"
)
SHELL = "<div id=root></div><script src=app.js></script>"
STEPS = " ".join(("Whisk", "three", "eggs", "with", "flour,", "season", "generously,", "bake", "until", "golden"))
WORDS = "Take sugar and butter, stir patiently, then wait an hour before anybody tastes something wonderful."
ARTICLE = f"<h1>All recipes</h1><p>{STEPS}</p><p>{WORDS}</p>"
LINKS = "".join(f"<li><a href={name}.html>{name}</a>" for name in ("soups", "cakes", "breads"))
FORM = "<form action=/find><input name=q value=typed><button>Find</button></form>"
TABLE = "<table>" + "".join(f"<tr><td>{STEPS.replace('e', str(row))}" for row in range(9)) + "</table>"
NOT_SAME = "<script src=app.js></script>"


def page_of(page: str, document: str | None, level: str = "extreme", **files: str) -> PageResult:
    """A page at a level; ``document`` is its markup after scripts, ``None`` where no browser saw it."""
    documents = {} if document is None else {"ab12": document}
    evidence = {} if document is None else {"index.html": PageEvidence((), "ab12")}
    steps = [step for step in plan_level(LEVELS[level]).steps_for(media.HTML) if step.name != "strip"]
    site = SmallSite({"index.html": page, **files}, evidence=evidence, documents=documents)
    return site.rewrite(steps=tuple(steps), promise="article")


def rewritten(body: str, after: str | None, level: str = "extreme", charset: str = "utf-8") -> PageResult:
    """The page ``body`` at a level; ``after`` is its body after scripts."""
    page, document = (None if each is None else PAGE.format(charset=charset, body=each) for each in (body, after))
    assert page is not None
    return page_of(page, document, level, **{"app.js": "render()"})


def text(result: PageResult) -> str:
    assert result.content is not None and result.refusal is None, result
    return read_page(result.content).text


@pytest.mark.parametrize("level", ["extreme", "text"])
def test_a_page_that_scripts_write_is_made_of_what_they_wrote(level: str) -> None:
    after = f"<div id=root><main>{ARTICLE}<ul>{LINKS}</ul>{FORM}</main></div>"
    written = text(rewritten(SHELL, after, level))
    assert "<script" not in written and WORDS in written and STEPS in written
    assert "cakes.html" in written and "name=q" in written
    assert not rewritten(SHELL, after, level).diagnostics


@pytest.mark.parametrize("level", ["extreme", "text"])
def test_without_a_browser_it_stays_as_at_the_level_above(level: str) -> None:
    assert rewritten(SHELL, None, level).refusal == ("page-needs-scripts", "it holds no content")


@pytest.mark.parametrize(
    "after", ["<div id=root></div>", "<div id=root>Loading...</div>", "<div id=root><p>Error: no network</p></div>"]
)
def test_so_does_one_of_which_scripts_made_nothing(after: str) -> None:
    assert rewritten(SHELL, after).refusal is not None


def test_the_reason_is_an_action() -> None:
    action = rewritten(SHELL, f"<div id=root>{ARTICLE}<ul>{LINKS}</ul></div>").actions[0]
    assert (action.pass_name, action.verb, action.subject) == ("compose", "read", "the page after its scripts")
    assert action.reason.endswith("characters and 3 links of it")


# ---- pages with content of their own


def test_links_that_scripts_add_to_an_article_are_there() -> None:
    body = f"<main>{ARTICLE}</main>{NOT_SAME}"
    written = text(rewritten(body, f"<nav><ul>{LINKS}</ul></nav><main>{ARTICLE}</main>"))
    assert "breads.html" in written and WORDS in written


def test_a_page_stays_its_markup_where_scripts_add_little() -> None:
    body = f"<main>{ARTICLE}</main>{NOT_SAME}"
    few = LINKS.split("<li>")[1]
    assert rewritten(body, f"<main>{ARTICLE}{few}</main>").content == rewritten(body, None).content


def test_a_page_stays_its_markup_where_scripts_take_more_than_they_add() -> None:
    body = f"<main>{ARTICLE}{TABLE}</main>{NOT_SAME}"
    controls = "<p>One page of nine; choose another number below, reload, filter, sort, download, print all</p>"
    added = f"<main>{ARTICLE}{controls}</main>"
    assert rewritten(body, added).content == rewritten(body, None).content


def test_panels_that_scripts_hide_do_not_count_as_added() -> None:
    body = f"<main>{ARTICLE}<div>{TABLE}</div></main>{NOT_SAME}"
    hidden = f"<main>{ARTICLE}<div style='display:none'>{TABLE}</div></main>"
    assert rewritten(body, hidden).content == rewritten(body, None).content


def test_an_index_of_a_whole_site_is_not_put_into_an_article() -> None:
    body = f"<main>{ARTICLE}</main>{NOT_SAME}"
    names = (f"{hash_ * 2654435761 % 2**32:x}" for hash_ in range(12_000))
    index = "".join(f"<li><a href={name}.html>{name}</a>" for name in names)
    assert rewritten(body, f"<ul>{index}</ul><main>{ARTICLE}</main>").content == rewritten(body, None).content


# ---- encodings and addresses


@pytest.mark.parametrize(("charset", "written"), [("utf-8", "\u2013 \u3042"), ("iso-8859-1", "\u2013 &#12354;")])
def test_it_is_in_the_encoding_of_the_page(charset: str, written: str) -> None:
    result = rewritten(SHELL, f"<div id=root>{ARTICLE}<p>Gr\u00fc\u00dfe \u2013 \u3042</div>", charset=charset)
    assert f"Gr\u00fc\u00dfe {written}" in text(result)


def test_a_page_without_a_declared_encoding_gets_references() -> None:
    page = "<!doctype html><title>T</title><div id=root></div><script>render()</script>"
    result = page_of(page, f"<!doctype html><title>T</title><div id=root>{ARTICLE}<p>Gr\u00fc\u00dfe</div>")
    assert "Gr&#252;&#223;e" in text(result)


def test_its_addresses_are_relative_to_its_base() -> None:
    page = PAGE.format(charset="utf-8", body=SHELL).replace("<title>", "<base href=docs/><title>")
    sheet = "<base href=docs/><link rel=stylesheet href=a.css><title>"
    document = PAGE.format(charset="utf-8", body=f"<div id=root>{ARTICLE}{LINKS}</div>").replace("<title>", sheet)
    library = "".join(f"f('{number * 2654435761 % 2**32:x}');" for number in range(200))  # which pays for the sheet
    files = {"docs/a.css": "a{color:teal}", "docs/app.js": library}
    assert "#008080" in text(page_of(page, document, **files))


@pytest.mark.parametrize("level", ["extreme", "text"])
def test_addresses_that_a_network_coded_are_readable(level: str) -> None:
    coded = "42" + "".join(f"{ord(letter) ^ 0x42:02x}" for letter in "me@example.org")
    mail = f"<p>Mail <a href=/cdn-cgi/l/email-protection class=__cf_email__ data-cfemail={coded}>[protected]</a></p>"
    result = rewritten(SHELL, f"<div id=root>{ARTICLE}{mail}</div>", level=level)
    assert not result.demoted, result.diagnostics
    assert "me@example.org" in text(result)


# ---- shadow roots


CARD = f"<my-card><template shadowrootmode=open><h2>Card</h2><p>{STEPS} {WORDS}</p><slot></slot></template></my-card>"


@pytest.mark.parametrize("level", ["extreme", "text"])
def test_shadow_roots_are_text(level: str) -> None:
    assert WORDS in text(rewritten(SHELL, f"<main>{CARD}</main>", level))


@pytest.mark.parametrize("level", ["extreme", "text"])
def test_the_sheet_of_a_shadow_root_says_how_its_words_are_read(level: str) -> None:
    sheet = "<style>.r{unicode-bidi:bidi-override;direction:rtl}.l{white-space:pre}</style>"
    card = CARD.replace("<slot>", f"{sheet}<b class=r>moc.b@a</b><div class=l>x = 1\n  y = 2</div><slot>")
    shown = rewritten(SHELL, f"<main>{card}</main>", level).content.decode()
    assert "a@b.com" in shown
    assert "x = 1\n  y = 2" in shown


def test_shadow_roots_are_opened_and_other_templates_are_not() -> None:
    nested = "<template shadowrootmode='open' title='a>b'>x<template>y</template></template><template>z</template>"
    assert open_shadow_roots(nested) == "<div>x<template>y</template></div><template>z</template>"
    assert open_shadow_roots("<template>z</template>") == "<template>z</template>"


# ---- the cache


def test_a_page_depends_on_its_document_by_its_evidence() -> None:
    site = SmallSite({"a.html": "<p>a"}, evidence={"a.html": PageEvidence((), "ab12")}, documents={"ab12": "<p>b"})
    view = site.view()
    assert view.page_document("a.html") == b"<p>b"
    assert view.page_document("b.html") is None
    assert list(view.dependencies) == ["/evidence/a.html", "/evidence/b.html"]


def test_a_small_application_is_written_with_the_look_of_browsers() -> None:
    """Its whole script is smaller than the sheet, and would be the level above."""
    words = "Founded in 1912, the society meets every second Thursday evening beside the old harbour library."
    script = f"document.getElementById('root').innerHTML = '<h1>About</h1><p>{words}</p>'"
    page = PAGE.format(charset="utf-8", body=SHELL)
    document = PAGE.format(charset="utf-8", body=f"<div id=root><h1>About</h1><p>{words}</p></div>")
    written = text(page_of(page, document, **{"app.js": script}))
    assert words in written and "<script" not in written and "--a:" not in written
