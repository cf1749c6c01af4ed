"""Template marks, srcset, refresh."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptc.formats.html.syntax import (
    ImageCandidate,
    Refresh,
    parse_refresh,
    parse_srcset,
    serialise_srcset,
)
from adaptc.formats.html.template_marks import has_template_attribute, template_mark


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("<?php echo 1 ?>", "<?php"),
        ("<p><?= $a ?>", "<?="),
        ("<% if a %>", "<%"),
        ("{% extends 'a' %}", "{% extends"),
        ("<p>{% block b %}", "{% block"),
        ("{% include 'a' %}", "{% include"),
        ("<?xml version='1.0'?><p>100 %</p><pre>{% if a %} {{ b }} ${c}</pre>", None),
        ("<title><%= a %></title>", "<%"),
        ("<a href='<%= a %>'>b</a>", "<%"),
        ("<pre>a</pre><p>{% block b %}", "{% block"),
        # PHP is a directive wherever a browser would not show it
        ("<script>a = '<?= $a ?>'</script>", "<?="),
        ("<style>a{color:<?php echo $a ?>}</style>", "<?php"),
        ("<script>a = <?=f('a') ?>, b = /<?=?/</script>", "<?="),
        ("<script>a = '<?=\n 'a' ?>'</script>", "<?="),
        ("", None),
    ],
)
def test_pages_that_are_sources_of_others(text: str, mark: str | None) -> None:
    assert template_mark(text) == mark


@pytest.mark.parametrize(
    "text",
    [
        "<script type=text/template><p><% if (a) { %></script>",
        "<script>_.template('<%= a %>')</script>",
        "<style>/* <%= a %> */</style>",
        "<!-- <% a %> -->",
        "<!-- <?php -->",
        "<textarea><% a %></textarea>",
        "<pre>{% block a %}</pre>",
        "<p>Write <code>{% include 'a' %}</code> for <code><% a %></code>.",
        "<p>&lt;% a %&gt; and &lt;?php ?&gt;",
        "<script>a = /<<?=?|>>?>?=?/; b = /a|<?=|>/; c = /(<?=)/</script>",
    ],
)
def test_marks_in_finished_pages(text: str) -> None:
    assert template_mark(text) is None


@pytest.mark.parametrize("value", ["'{{ a }}'", '"x {% if a %}"', "'<%= a %>'", '"/p/${id}"'])
def test_attributes_that_are_filled_in(value: str) -> None:
    assert has_template_attribute(f"<a href = {value}>b</a>")


@pytest.mark.parametrize(
    "text",
    ["<a href='b'>{{ c }}</a>", "<p title='100 %'>${d}", "<script>f({a: '%'})</script>",
     "<script>a.innerHTML = '<a href=\"${b}\">'</script>"],
)  # fmt: skip
def test_marks_elsewhere_are_text(text: str) -> None:
    assert not has_template_attribute(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("a", [ImageCandidate("a")]),
        (" a.png ,b.png 2x", [ImageCandidate("a.png"), ImageCandidate("b.png", ("2x",))]),
        ("a.png, b.png", [ImageCandidate("a.png"), ImageCandidate("b.png")]),
        ("a,b 1x", [ImageCandidate("a,b", ("1x",))]),
        ("data:a;base64,AA== 1x, b 2x", [ImageCandidate("data:a;base64,AA==", ("1x",)), ImageCandidate("b", ("2x",))]),
        ("a 100w, b 200w 50h", [ImageCandidate("a", ("100w",)), ImageCandidate("b", ("200w", "50h"))]),
        ("a 1.5e1x", [ImageCandidate("a", ("1.5e1x",))]),
        ("a 1x 2x, b -1x, c 0w, d 1q, e 50h, f 1w 1x, g 3x", [ImageCandidate("g", ("3x",))]),
        ("a foo(1, 2), b", [ImageCandidate("b")]),
        (",,a ,, b,,", [ImageCandidate("a"), ImageCandidate("b")]),
    ],
)  # fmt: skip
def test_srcset(value: str, expected: list[ImageCandidate]) -> None:
    assert parse_srcset(value) == expected


@given(
    st.lists(
        st.builds(
            ImageCandidate,
            st.text("ab,%/:; ()\t", min_size=1).filter(lambda url: url.strip(" \t")),
            st.sampled_from([(), ("2x",), ("100w",), ("100w", "50h")]),
        )
    )
)
def test_srcset_round_trip(candidates: list[ImageCandidate]) -> None:
    again = parse_srcset(serialise_srcset(candidates))
    assert [each.descriptors for each in again] == [each.descriptors for each in candidates]
    assert parse_srcset(serialise_srcset(again)) == again


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5", Refresh(5, None, 1, 1)),
        ("5; url=a.html", Refresh(5, "a.html", 7, 13)),
        ("0;URL='a b'c", Refresh(0, "a b", 7, 10)),
        ('0;url = "a', Refresh(0, "a", 9, 10)),
        ("1.5, a", Refresh(1, "a", 5, 6)),
        (".5 a", Refresh(0, "a", 3, 4)),
        ("3;", Refresh(3, None, 2, 2)),
        ("3; urn:x", Refresh(3, "urn:x", 3, 8)),
        ("x", None),
        ("", None),
        ("5x", None),
    ],
)
def test_refresh(content: str, expected: Refresh | None) -> None:
    assert parse_refresh(content) == expected
