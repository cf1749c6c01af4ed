"""The contract of a page: its content, and the violations of each promise."""

from __future__ import annotations

import pytest

from adaptc.config.rulebook import PROMISES
from adaptc.formats.html.contract import (
    CONTRACT_CHECKS,
    FormContent,
    content_violations,
    extract_content,
)
from adaptc.formats.html.document import parse
from adaptc.formats.html.visible_text import fold_space

PAGE = """<!DOCTYPE html><html lang=en dir=ltr><head><title> A  page </title><style>p{}</style></head>
<body><p id=a>Text&nbsp;one <b>two</b>
 three<a name=b href=c>four</a><script>x()</script><template><p id=t>no</p></template>
<noscript>no<a href=no>no</a></noscript>
<form method=POST action=send><input name=q value=v><input type=checkbox name=w><button name=go>Go</button>
<select name=s><option value=1>One<option>Two</select><textarea name=t>long</textarea></form>
<input name=loose><map><area href=d></map></body></html>"""


def test_extract_content() -> None:
    content = extract_content(parse(PAGE))
    assert fold_space(content.text) == "Text\xa0one two threefour Go OneTwolong"
    assert (content.ids, content.anchors, content.links) == ({"a"}, {"b"}, ("c", "d"))
    controls = (
        ("q", "text", "v"),
        ("w", "checkbox", ""),
        ("go", "submit", ""),
        ("s", "select", "1|Two"),
        ("t", "textarea", "long"),
    )
    assert content.forms == (FormContent("post", "send", controls), FormContent("", "", (("loose", "text", ""),)))
    assert (content.title, content.lang, content.dir) == ("A page", "en", "ltr")
    assert not content.is_quirks and not content.is_limited_quirks


def test_a_control_belongs_to_the_form_it_names() -> None:
    content = extract_content(parse("<form id=f></form><input form=f name=a>"))
    assert content.forms == (FormContent("get", "", (("a", "text", ""),)),)


def test_additions_and_decoration_are_no_violations() -> None:
    after = PAGE.replace("<p id=a>", "<p id=a class=x><span id=new></span><img src=x>").replace("\n ", " ")
    assert content_violations(extract_content(parse(PAGE)), extract_content(parse(after))) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("id=a", "", "1 id is gone: a"),
        ("name=b", "", "1 anchor is gone: b"),
        ("href=c", "href=e", "1 link is gone: c"),
        ("action=send", "action=other", "1 form is gone: post send"),
        ("<input name=q value=v>", "", "1 control is gone: q text v"),
        ("A  page", "B", "title was 'A page' and is 'B'"),
        ("lang=en", "", "lang was 'en' and is ''"),
        ("dir=ltr", "dir=rtl", "dir was 'ltr' and is 'rtl'"),
        ("<!DOCTYPE html>", "", "the page changes from standards to quirks mode"),
        ("two", "2",
         "the visible text changes: 'Text\\xa0one two threefour Go OneT' "
         "becomes 'Text\\xa0one 2 threefour Go OneTwo'"),
    ],
)  # fmt: skip
def test_violations_are_sentences(old: str, new: str, sentence: str) -> None:
    assert content_violations(extract_content(parse(PAGE)), extract_content(parse(PAGE.replace(old, new)))) == [
        sentence
    ]


def test_many_losses_are_shortened() -> None:
    before = extract_content(parse("".join(f"<p id=i{n}>" for n in range(8))))
    assert content_violations(before, extract_content(parse("")))[0] == "8 ids are gone: i0, i1, i2, i3, i4, ..."


def test_a_link_that_occurs_twice_must_stay_twice() -> None:
    twice, once = extract_content(parse("<a href=a></a><a href=a></a>")), extract_content(parse("<a href=a></a>"))
    assert content_violations(twice, once) == ["1 link is gone: a"]


def lost(before: str, after: str) -> list[str]:
    return CONTRACT_CHECKS["words"](parse("<!doctype html>" + before))(parse("<!doctype html>" + after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<p>a <img src=i alt=x> b", "<p>a b"),  # an image that goes
        ("<p>a<img src=i alt=x>b", "<p>a<i>[x]</i>b"),  # its words in its place
        ("<p>a <noscript>n</noscript> b", "<p>a n b"),  # a noscript that is shown
        ("<p>a</p> <p>a", "<p>a</p> <p>a"),
        ("<script id=s></script><p>a", "<p>a"),  # no link leads to a script
        ("<p>a", "<p>a <a href=f>frame</a>"),
    ],
)
def test_the_words_promise_allows_lost_images_and_added_words(before: str, after: str) -> None:
    assert lost(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("<p>one<p>two", "<p>one", "text is gone or has moved: 'two'"),
        ("<p>one<p>two", "<p>two<p>one", "text is gone or has moved: 'two'"),
        ("<p>one <b>two</b>", "<p>one<b>two</b>", "text is gone or has moved: 'two'"),
        ("<p>a</p> <p>a</p>", "<p>a", "text is gone or has moved: 'a'"),
        ("<img id=i><p>a", "<p>a", "1 id is gone: i"),
        ("<a href=l>a</a><p>b", "a<p>b", "1 link is gone: l"),
        ("<form><input name=q></form>", "<form></form>", "1 control is gone: q text"),
        ("<title>T</title>", "", "title was 'T' and is ''"),
    ],
)
def test_violations_of_the_words_promise(before: str, after: str, sentence: str) -> None:
    assert lost(before, after) == [sentence]


def test_another_mode_violates_the_words_promise() -> None:
    after = parse("<p>a")
    assert CONTRACT_CHECKS["words"](parse("<!doctype html><p>a"))(after) == [
        "the page changes from standards to quirks mode"
    ]


def test_links_within_an_article_keep_their_targets() -> None:
    before = parse("<main><a href=#x>to x</a> <a href=#none>nowhere</a> <a name=x></a><p>text")
    after = parse("<main><a href=#x>to x</a> <a href=#none>nowhere</a> <p>text")
    assert CONTRACT_CHECKS["article"](before)(before) == []
    assert CONTRACT_CHECKS["article"](before)(after) == ["links within the page lead to what is gone: x"]


def test_there_is_a_check_for_every_promise() -> None:
    assert tuple(CONTRACT_CHECKS) == PROMISES


@pytest.mark.parametrize("name", PROMISES)
def test_a_check_compares_with_the_source_page(name: str) -> None:
    check = CONTRACT_CHECKS[name](parse("<main><h1>Head</h1><p>Text of the article</main>"))
    assert check(parse("<main><h1>Head</h1><!-- - --><p>Text of the article</main>")) == []
    assert len(check(parse("<main><h1>Head</h1></main>"))) == 1


def test_extracting_content_does_not_change_the_tree() -> None:
    text = (
        "<script>a</script><script>b</script><title>t</title><template><style>c</style></template><p>d<noscript>"
        "<iframe>e</iframe></noscript><script>f</script>g<svg><title><g>h</g></title><style>i</style></svg>"
        "<template><noscript>j</noscript><template>k</template></template>"
    )
    tree = parse(text)
    assert extract_content(tree).text == "dg"
    assert tree.equals(parse(text))
    assert extract_content(tree) == extract_content(parse(text))
