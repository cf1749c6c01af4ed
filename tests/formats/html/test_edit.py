"""Verified edits: the text they give, and that they never give a wrong tree."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import Document, Element, Text

from tests.samples.html5lib import tree_cases

from adaptc.formats.html.document import has_same_dom, parse
from adaptc.formats.html.edit import Editor, EditRefused, EditResult
from adaptc.formats.html.minify import minify_markup

Act = Callable[[Editor, Callable[..., Element]], object]


def edit(text: str, act: Act) -> EditResult:
    editor = Editor(text)
    act(editor, lambda selector, position=0: editor.tree.select(selector)[position])
    return editor.apply()


SPLICED: list[tuple[str, Act, str]] = [
    # attributes
    ("<IMG SRC=a>", lambda e, q: e.set_attribute(q("img"), "src", "b"), "<IMG SRC=b>"),
    ("<img src='a'>", lambda e, q: e.set_attribute(q("img"), "src", "b c"), '<img src="b c">'),
    ("<img src=a>", lambda e, q: e.set_attribute(q("img"), "src", 'b "c"'), "<img src='b \"c\"'>"),
    ("<img src=a>", lambda e, q: e.set_attribute(q("img"), "src", "\"'"), "<img src=\"&#34;'\">"),
    ("<a href=a>", lambda e, q: e.set_attribute(q("a"), "href",
     "?a&copy=1&b=2"), '<a href="?a&amp;copy=1&amp;b=2">'),
    ("<a href=a>", lambda e, q: e.set_attribute(q("a"), "href", "?a&b"), "<a href=?a&b>"),
    ("<img src=a>", lambda e, q: e.set_attribute(q("img"), "alt", ""), "<img alt src=a>"),
    ("<p hidden>", lambda e, q: e.set_attribute(q("p"), "title", None), "<p title hidden>"),
    ('<br class="x"/>', lambda e, q: e.set_attribute(q("br"), "class", "y"), '<br class="y"/>'),
    ("<br/>", lambda e, q: e.set_attribute(q("br"), "id", "y"), '<br id="y"/>'),
    ("<br a=1 b=2>", lambda e, q: e.remove_attribute(q("br"), "a"), "<br b=2>"),
    ("<br a='1'b=2>", lambda e, q: e.remove_attribute(q("br"), "a"), "<br b=2>"),
    ("<svg viewbox=0></svg>", lambda e, q: e.set_attribute(q("svg"), "viewBox", "1"),
     "<svg viewbox=1></svg>"),
    # removal
    ("a <img src=b> c", lambda e, q: e.remove_element(q("img")), "a  c"),
    ("<p>a<div>b</div>c", lambda e, q: e.remove_element(q("div")), "<p>a</p>c"),
    ("<ul><li>a<li>b<li>c</ul>", lambda e, q: e.remove_element(q("li", 1)), "<ul><li>a<li>c</ul>"),
    ("<ul><li>a<li>b</ul>", lambda e, q: e.remove_element(q("li", 1)), "<ul><li>a</ul>"),
    ("<p>a<p>b", lambda e, q: e.remove_element(q("p")), "<p>b"),
    # content
    ("<style>a</style>", lambda e, q: e.set_raw_text(q("style"), "b>c&amp;"), "<style>b>c&amp;</style>"),
    ("<title>a</title>", lambda e, q: e.set_raw_text(q("title"), "b<c&amp;"),
     "<title>b&lt;c&amp;amp;</title>"),
    ("<textarea>a</textarea>", lambda e, q: e.set_raw_text(q("textarea"), "\nb"),
     "<textarea>\n\nb</textarea>"),
    ("<svg><style>a</style></svg>", lambda e, q: e.set_raw_text(q("style"), "b<c"),
     "<svg><style>b&lt;c</style></svg>"),
    # insertion
    ("<p>a<p>b", lambda e, q: e.insert_after(q("p"), "<b>c</b>"), "<p>a</p><b>c</b><p>b"),
    ("<p>a<p>b", lambda e, q: e.insert_before(q("p", 1), "<b>c</b>"), "<p>a</p><b>c</b><p>b"),
    ("<ul></ul>", lambda e, q: e.append(q("ul"), "<li>a"), "<ul><li>a</ul>"),
    ("<ul><li>a</ul>", lambda e, q: e.append(q("ul"), "b"), "<ul><li>a</li>b</ul>"),
    ("<title>a</title>\n<p>b", lambda e, q: e.append(q("head"), "<link>"), "<title>a</title>\n<link><p>b"),
    ("<template><p>a</template>", lambda e, q: e.append(q("template"), "b"),
     "<template><p>a</p>b</template>"),
    ("<svg><g></g></svg>", lambda e, q: e.append(q("g"), "<lineargradient/>"),
     "<svg><g><lineargradient/></g></svg>"),
    ("<svg><foreignobject></foreignobject></svg>", lambda e, q: e.append(q("foreignObject"), "<p>a</p>"),
     "<svg><foreignobject><p>a</p></foreignobject></svg>"),
    ("<img>", lambda e, q: e.replace_element(q("img"), "<b>c</b>"), "<b>c</b>"),
    # elements that no standard defines
    ("<my-app><link></my-app>", lambda e, q: e.replace_element(q("link"), "<style>a</style>"),
     "<my-app><style>a</style></my-app>"),
    ("<p>x<o:p><img></o:p></p>", lambda e, q: e.replace_element(q("img"), "<b>c</b>"), "<p>x<o:p><b>c</b></o:p></p>"),
    ('<tabel"x><img>', lambda e, q: e.insert_before(q("img"), "<td>c"), '<tabel"x><td>c<img>'),
    ("<my-app></my-app>", lambda e, q: e.append(q("my-app"), "<p>a"), "<my-app><p>a</my-app>"),
    ("<svg><x-y><a id=l>b</a></x-y></svg>", lambda e, q: e.insert_after(q("a"), "<g>c</g>"),
     "<svg><x-y><a id=l>b</a><g>c</g></x-y></svg>"),
    # with and without scripting
    ("<head><noscript><img src=a></noscript><p>", lambda e, q: e.set_attribute(q("img"), "src", "b"),
     "<head><noscript><img src=b></noscript><p>"),
    ("<body><noscript><p>a</p></noscript>", lambda e, q: e.remove_element(q("p")),
     "<body><noscript></noscript>"),
    ("<body><noscript>a</noscript>", lambda e, q: e.remove_element(q("noscript")), "<body>"),
    ("<p>a</p>", lambda e, q: e.append(q("p"), "<noscript><b>c</b></noscript>"),
     "<p>a<noscript><b>c</b></noscript></p>"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "act", "after"), SPLICED)
def test_splices(before: str, act: Act, after: str) -> None:
    assert edit(before, act) == EditResult(after, "spliced")


DOCTYPE = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">'
SERIALISED: list[tuple[str, Act, str]] = [
    (
        "<b><p>x</b>y</p>",
        lambda e, q: e.set_attribute(q("b", 1), "id", "z"),
        '<b></b><p><b id="z">x</b>y</p>',
    ),
    ("<table><div>a</div></table>", lambda e, q: e.remove_element(q("table")), "<div>a</div>"),
    ("<svg><g/></svg>", lambda e, q: e.append(q("g"), "<path/>"), "<svg><g><path></path></g></svg>"),
    ("<p a=1 a=2>b", lambda e, q: e.remove_attribute(q("p"), "a"), "<p>b</p>"),
]


@pytest.mark.parametrize(("before", "act", "after"), SERIALISED)
def test_serialises_what_splices_cannot_say_and_keeps_the_doctype(before: str, act: Act, after: str) -> None:
    edited = edit(DOCTYPE + before, act)
    assert edited == EditResult(f"{DOCTYPE}<html><head></head><body>{after}</body></html>", "serialised")


REFUSED: list[tuple[str, Act]] = [
    ("<style>a</style>", lambda e, q: e.set_raw_text(q("style"), "</style>")),
    ("<script>a</script>", lambda e, q: e.set_raw_text(q("script"), "<!--<script>")),
    ("<p>a</p>", lambda e, q: e.append(q("p"), "<plaintext>")),
    ("<p>a", lambda e, q: e.insert_before(q("html"), "<p>")),
    ("<a>b</a>", lambda e, q: e.append(q("a"), "<a>c</a>")),
]


@pytest.mark.parametrize(("before", "act"), REFUSED)
def test_refuses_what_no_markup_can_say(before: str, act: Act) -> None:
    with pytest.raises(EditRefused) as refused:
        edit(before + "<p>z", act)
    assert refused.value.reason


@pytest.mark.parametrize(
    "act",
    [
        lambda e, q: None,
        lambda e, q: e.set_attribute(q("p"), "a", "1"),
        lambda e, q: e.remove_attribute(q("p"), "b"),
        lambda e, q: (e.set_attribute(q("p"), "a", "2"), e.set_attribute(q("p"), "a", "1")),
        lambda e, q: e.set_raw_text(q("style"), "x"),
        lambda e, q: e.append(q("p"), ""),
    ],
)
def test_edits_that_change_nothing(act: Act) -> None:
    text = "<p a='1'>b</i></p><style>x</style>"
    assert edit(text, act) == EditResult(text, "unchanged")


def test_several_edits_at_one_place() -> None:
    def act(e: Editor, q: Callable[..., Element]) -> None:
        e.append(q("ul"), "<li>5")
        e.insert_after(q("li", 1), "<li>4</li>")
        e.append(q("li", 1), "3")
        e.insert_before(q("li", 1), "<li>1")
        e.insert_before(q("li", 1), "<li>2")
        e.set_attribute(q("li", 1), "id", "x")

    result = edit("<ul><li>0<li></ul>", act)
    assert result.method == "spliced"
    assert [each.text for each in parse(result.text).select("li")] == list("012345")


def test_edits_inside_of_a_removed_element_go_with_it() -> None:
    def act(e: Editor, q: Callable[..., Element]) -> None:
        e.set_attribute(q("img"), "src", "b")
        e.append(q("p"), "c")
        e.insert_after(q("div"), "d")
        e.remove_element(q("div"))

    assert edit("<div><p><img src=a></p></div>", act) == EditResult("d", "spliced")


def test_void_elements_hold_nothing() -> None:
    editor = Editor("<img>")
    with pytest.raises(ValueError, match="void"):
        editor.append(editor.tree.select("img")[0], "x")


def test_new_lines_are_normalised() -> None:
    assert edit("<p></p>", lambda e, q: e.append(q("p"), "a\r\nb")).text == "<p>a\nb</p>"


# Malformed pages: an edit is right or refused.

SNIPPETS = [case for case in tree_cases() if len(case) < 2000]
TAGS = [
    "p", "b", "a", "table", "tr", "td", "li", "ul", "div", "select", "option", "svg", "desc", "math", "mi",
    "form", "button", "noscript", "template", "style", "br", "img", "h1", "frameset", "body", "head", "html",
    "nobr", "pre", "dd",
]  # fmt: skip
TOKENS = [f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]
TOKENS += ["x", " ", "\n", "<!--c-->", "<svg/>", "<p a=1 b='2'>", "<i/c>", "<!doctype html>", "&amp", "<"]


def mutated(text: str, position: int, kind: str) -> Document | None:
    """Do the edit by the DOM alone, in a tree of its own."""
    tree = parse(text)
    element = tree.select("*")[position]
    if kind == "set":
        element.attrs["data-z"] = "1"
    elif kind == "remove":
        parent = element.parent
        element.decompose()
        for node in [each for each in parent.children if isinstance(each, Text)] if parent else []:
            following = node.next_sibling
            while isinstance(following, Text):
                node.data += following.data
                following.decompose()
                following = node.next_sibling
    return tree


def check(text: str, position: int, kind: str) -> str:
    editor = Editor(text)
    elements = editor.tree.select("*")
    if not elements:
        return "none"
    position %= len(elements)
    element = elements[position]
    if isinstance(element.parent, Document) or element.tag in ("head", "body", "frameset"):
        return "implied"  # the parser puts them back
    if kind == "set":
        editor.set_attribute(element, "data-z", "1")
    else:
        editor.remove_element(element)
    try:
        edited = editor.apply()
    except EditRefused:
        return "refused"
    tree = mutated(text, position, kind)
    assert tree is not None and parse(edited.text).equals(tree), (text, edited)
    assert edited.tree is None or edited.tree.equals(tree)
    return edited.method


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=14), st.integers(0, 50), st.sampled_from(["set", "remove"]))
def test_edits_of_tag_soup_are_right_or_refused(tokens: list[str], position: int, kind: str) -> None:
    check("".join(tokens), position, kind)


def test_edits_of_the_html5lib_cases_are_right_or_refused() -> None:
    tried = (
        check(text, position, kind) for text in SNIPPETS for position in range(0, 40, 7) for kind in ("set", "remove")
    )
    outcomes = [outcome for outcome in tried if outcome != "implied"]
    # Of 5,168 edits 84 % were spliced and 0.9 % refused; these figures guard against a silent loss.
    assert outcomes.count("refused") < 0.02 * len(outcomes)
    assert outcomes.count("spliced") > 0.8 * len(outcomes)


def test_the_html5lib_cases_are_unchanged_without_edits() -> None:
    for text in SNIPPETS:
        assert Editor(text).apply() == EditResult(text, "unchanged")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=14))
def test_minified_tag_soup_is_the_same_tree(tokens: list[str]) -> None:
    text = "".join(tokens)
    minified = minify_markup(text, keep_comments=True)
    assert minified is None or (len(minified.text) < len(text) and has_same_dom(text, minified.text))


@pytest.mark.parametrize(
    "meta", ["<meta charset=utf-8>", "<meta http-equiv=content-type content='text/html;charset=utf-8'>"]
)
def test_the_encoding_stays_declared_in_the_first_bytes(meta: str) -> None:
    style = f"<style>{'x' * 1100}</style>"
    result = edit(f"<head><title>a</title><link>\n{meta}<p>b", lambda e, q: e.replace_element(q("link"), style))
    assert result == EditResult(f"<head>{meta}<title>a</title>{style}\n<p>b", "spliced")
    first = edit(f"<link>{meta}<p>b", lambda e, q: e.replace_element(q("link"), style))
    assert first.text == f"{meta}{style}<p>b"
    short = edit(f"<link>{meta}<p>b", lambda e, q: e.replace_element(q("link"), "<style>a</style>"))
    assert short.text == f"<style>a</style>{meta}<p>b"
