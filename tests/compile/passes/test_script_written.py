"""Pages that scripts write stay as they are at the level above; what a reader sees of other pages stays visible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.small import SmallSite

from adaptc.compile.pipeline import KNOWN_PASSES, plan_level
from adaptc.compile.rewrite import PageResult
from adaptc.config.rulebook import load_levels
from adaptc.core import media
from adaptc.formats.html.document import parse
from adaptc.formats.html.shown import ShownPage, hidden_from_reader
from adaptc.formats.html.visible_text import UNSEEN, content_length, content_lengths, is_hidden, unseen_elements

LEVELS = load_levels(known_passes=KNOWN_PASSES)
SCRIPT = "<script>mount(document.getElementById('root'))</script>"
ARTICLE = "<h1>Title</h1><p>" + "Words of an article that can be read without any script. " * 4
SHELL = (
    "<header><nav><a href=a.html>A</a> <a href=b.html>B</a></nav></header>{}<footer><p>" + "Imprint " * 20 + "</footer>"
)


def rewritten(body: str, level: str = "extreme", css: str = "") -> PageResult:
    page = f"<!doctype html><meta charset=utf-8><title>T</title><style>{css}</style><body>{body}"
    steps = [step for step in plan_level(LEVELS[level]).steps_for(media.HTML) if step.name != "strip"]
    return SmallSite({"index.html": page, "docs.html": "<p>d"}).rewrite(steps=tuple(steps), promise="article")


@pytest.mark.parametrize("level", ["extreme", "text"])
@pytest.mark.parametrize(
    "body",
    [
        "<main id=root></main>",
        "<div id=root>Please wait...</div>",
        "<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>",
        "<p>Please enable JavaScript to use this site.</p><div id=root></div>",
        "<div class=loader><p>Starting</div>",
        "<my-app></my-app>",
        SHELL.format("<main id=root></main>"),
        SHELL.format("<h1>Board</h1><div id=root></div>"),
        "<h1>{{ title }}</h1><ul><li>{{ item.name }}</li></ul><p>{{ item.text }}</p>" + ARTICLE,
    ],
)
def test_a_page_that_scripts_write_is_refused(body: str, level: str) -> None:
    assert rewritten(body + SCRIPT, level).refusal is not None


@pytest.mark.parametrize("level", ["extreme", "text"])
@pytest.mark.parametrize(
    "body",
    [
        ARTICLE + "<div id=root></div>",
        SHELL.format(f"<main>{ARTICLE}<div id=root></div></main>"),
        "<div id=main-nav></div><p>A few words.</p><script>menu('main-nav')</script>",
        "<h1>Not found</h1><p>There is no such page.</p>",
        "<p>A template holds <code>{{ a }}</code>, <code>{{ b }}</code> and <code>{{ c }}</code>.</p>" + ARTICLE,
    ],
)
def test_a_page_with_content_of_its_own_is_not(body: str, level: str) -> None:
    result = rewritten(body + SCRIPT, level)
    assert result.refusal is None


QUESTION = "{q: 'How do I write such a list?', a: 'It is written by <b>a script</b>, as soon as the page has come.'},"


@pytest.mark.parametrize(
    ("script", "is_written"),
    [
        (f"list = [{QUESTION * 6}]; document.getElementById('faq').innerHTML = list.map(show)", True),
        (f"list = [{QUESTION * 2}]; document.getElementById('faq').innerHTML = list.map(show)", False),
        (f"list = [{QUESTION * 6}]", False),
        (
            f"{QUESTION * 6}; fill('#faq')".replace("{q: ", "fail(").replace(", a: ", ");fail(").replace("},", ");"),
            False,
        ),
    ],
)
def test_a_page_whose_script_holds_prose_as_data_is_written_by_it(script: str, is_written: bool) -> None:
    result = rewritten(f"{ARTICLE}<div id=faq></div><script>{script}</script>")
    assert (result.refusal is not None) == is_written


SENTENCES = [f"The harbour master counts {number} ships that leave with the tide." for number in range(8)]


@pytest.mark.parametrize("slot", ["faq", "taboola-below", "comments"])
def test_a_script_that_holds_what_the_page_shows_does_not_write_it(slot: str) -> None:
    state = ", ".join(f'{{body: "{sentence}"}}' for sentence in SENTENCES)
    shown = SENTENCES if slot == "faq" else SENTENCES[:3]
    script = f"state = [{state}]; fill(document.getElementById('{slot}'), state)"
    page = f"<p>{'<p>'.join(shown)}<div id={slot}></div><script>{script}</script>"
    assert rewritten(page).refusal is None


def test_a_whole_article_with_a_list_by_a_script_is_no_application() -> None:
    article = "<p>".join(f"Ship {number} of the harbour master leaves with the tide." for number in range(80))
    page = f"<p>{article}<div id=faq></div><script>fill('faq', [{QUESTION * 20}])</script>"
    assert rewritten(page).refusal is None


def test_a_page_that_would_be_blank_is_refused() -> None:
    result = rewritten(f"<div class=state>{ARTICLE}</div><script>show(1)</script>", css=".state{display:none}")
    assert result.refusal == ("page-needs-scripts", "nothing would be left to see")


def test_a_refused_page_is_that_of_the_level_above(tmp_path: Path) -> None:
    page = f"<!doctype html><meta charset=utf-8><title>T</title><main id=root></main>{SCRIPT}"
    site = BuiltSite(tmp_path).write({"index.html": page})
    result = site.build(build__levels=["full", "moderate", "extreme", "text"])
    pages = {site.read("index.html", level) for level in ("moderate", "extreme", "text")}
    assert len(pages) == 1 and b"mount(" in pages.pop()
    assert [str(each) for each in result.diagnostics if each.id == "page-needs-scripts"] == [
        f"index.html: note: is the same at {level} as at {above}: its scripts write its content (it holds no content) "
        "[page-needs-scripts]"
        for level, above in (("extreme", "moderate"), ("text", "extreme"))
    ]


def test_a_button_in_a_link_stays_a_link() -> None:
    link = "<a href=docs.html><button type=button title=Docs><svg><path d=M0,0 /></svg></button></a>"
    css = "".join(f".c{number}{{top:{number}px}}" for number in range(500))
    text = (rewritten(ARTICLE + link + SCRIPT, css=css).content or b"").decode()
    assert re.search('<a href="?docs.html"?>Docs</a>', text)


# ---- what a reader sees


def shown(body: str, css: str = "") -> ShownPage:
    return ShownPage(parse(f"<!doctype html><title>T</title><body>{body}"), (css,))


LINK = "<a href=a.html><button title=A><svg></svg></button></a>"
TREE = "<ul>" + "".join(f"<li><a href=n{n}.html>Section {n}</a>" for n in range(300)) + "</ul>"
IMAGE = "<input type=image name=go src=go.png alt=Go>"
FORM = "<form action=/find><input name=q><button>Find</button></form>"


@pytest.mark.parametrize(
    ("before", "after", "css", "reason"),
    [
        (LINK, LINK.replace("<button", "<button style=display:none"), "", "links are hidden at 412 pixels: a.html"),
        (LINK, LINK.replace("<button", "<button disabled"), "", "links are hidden at 412 pixels: a.html"),
        (LINK, f"<nav>{LINK}</nav>", "nav{visibility:hidden}", "links are hidden at 412 pixels: a.html"),
        (
            LINK,
            f"<nav>{LINK}</nav>",
            "@media(max-width:500px){nav{display:none}}",
            "links are hidden at 412 pixels: a.html",
        ),
        (FORM, FORM.replace("name=q", "name=q disabled"), "", "controls are hidden or disabled at 412 pixels: q"),
        (FORM, f"<div hidden>{FORM}</div>", "", "controls are hidden or disabled at 412 pixels: q"),
        (
            ARTICLE * 3,
            f"{ARTICLE}<div hidden>{ARTICLE * 2}</div>",
            "",
            "189 of 567 characters are visible at 412 pixels",
        ),
    ],
)
def test_what_a_page_hides_now_is_named(before: str, after: str, css: str, reason: str) -> None:
    assert hidden_from_reader(shown(before), shown(after, css))[0] == reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LINK, f"<div hidden>{LINK}</div>{LINK}"),
        (f"<div hidden>{LINK}</div>", f"<div hidden>{LINK}</div>"),
        (f"<p>x{LINK}", "<p>x"),  # what is gone is for the checks of the tree
        (ARTICLE, ARTICLE + ARTICLE),
        # an image that sends its form; a button that only a script hears, and one that sends
        (f"<form action=a>{IMAGE}</form>", "<form action=a><button name=go.x value=0>Go</button></form>"),
        ("<form action=a><input type=button name=go><input name=q></form>", "<form action=a><input name=q></form>"),
        (f"<nav>{TREE}</nav><main>{ARTICLE}</main>", f"<nav><a href=n0.html>Section 0</a></nav><main>{ARTICLE}</main>"),
    ],
)
def test_what_stays_visible_is_no_violation(before: str, after: str) -> None:
    assert hidden_from_reader(shown(before), shown(after)) == []


@pytest.mark.parametrize(
    ("body", "is_blank"),
    [
        ("<p> </p><style>p{}</style>", True),
        ("<p hidden>x", True),
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", True),
        ("<svg><symbol id=a><path /></symbol></svg>", True),
        ("<img src=a.png>", False),
        ("<input>", False),
        ("x", False),
    ],
)
def test_a_page_without_anything_to_see_is_blank(body: str, is_blank: bool) -> None:
    assert shown(body).is_blank(412) is is_blank


def test_what_is_in_hidden_elements_and_templates_counts_once_or_not_at_all() -> None:
    """Hidden elements in hidden elements are a part of these; a shadow root of a template is not in the tree."""
    page = shown(
        "ab<div hidden>cd<p hidden>ef</p></div><template shadowrootmode=open>gh<a href=t>t</a></template>"
        "<p class=small>ij<i style=opacity:0>k</i></p><button disabled><a href=b>b</a></button>",
        "@media(max-width:500px){.small{display:none}}",
    )
    assert [page.text_length(width) for width in (412, 1280)] == [3, 5]
    assert page.links(412) == {"b"}


def test_the_text_of_a_part_is_counted_without_what_is_hidden_in_it() -> None:
    tree = parse("<body>ab<div hidden>cde<p hidden>fghi</p>j</div><main>k <svg><text>l</text></svg>m</main>")
    lengths, parts = content_lengths(tree), tree.select("body, div, p, main")
    assert [lengths.of(part) for part in parts] == [content_length(part) for part in parts] == [4, 4, 4, 2]


def test_what_is_unseen_is_found_by_queries_as_by_looking_at_each_element() -> None:
    attributes = (
        "hidden", "hidden=until-found", "aria-hidden=TRUE", "aria-hidden=false", "style='Display : NONE'",
        "style=visibility:hidden", "style=color:red", "class='a Skip-link' href=#x", "class=headerlink",
        "class=linenos", "class=material-icons", "class=x", "style=display:none class=linenos aria-hidden=true", "",
    )  # fmt: skip
    tags = ("a", "p", "dialog", "dialog open", "svg", "template", "img", "pre", "custom-tag")
    tree = parse(
        "".join(f"<div><{tag} {given}>1<b>x</b></{tag.split()[0]}></div>" for tag in tags for given in attributes)
    )
    for root in (tree, tree.select_one("body")):
        assert root is not None
        found = {each for each in root.iter_elements() if each.tag in UNSEEN or is_hidden(each)}
        assert unseen_elements(root) == found
        assert len(found) > len(tags)
