"""markup and whole pages: what must come out as it went in."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite, lossless

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"


def whole(text, *, encoding="utf-8", **files):
    content = text if isinstance(text, bytes) else text.encode(encoding)
    return SmallSite({"index.html": content, **files}).page(encoding=encoding)


def test_optional_tags_and_quotes_go():
    head = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>T</title></head>'
    source = head + '<body><p class="x">a</p></body></html>'
    assert whole(source) == "<!DOCTYPE html><meta charset=utf-8><title>T</title><p class=x>a"


def test_white_space_in_the_text_stays():
    """The newline right behind ``<textarea>`` is no part of its text."""
    source = "<p>a  b\n c</p>\n<pre>\n\n x\n  y </pre><textarea>\n a\n </textarea><p style='white-space:pre'> a  b </p>"
    text = whole(HEAD + source)
    for kept in ("a  b\n c", "<pre>\n\n x\n  y </pre>", "<textarea> a\n </textarea>", " a  b "):
        assert kept in text


@pytest.mark.parametrize(
    "comment",
    ["<!--[if IE]><link href=ie.css><![endif]-->", "<!-- Copyright someone -->", "<!--! keep -->", "<!--# include -->",
     "<!-- @license MIT -->"],
)  # fmt: skip
def test_comments_that_someone_reads_stay(comment):
    assert comment in whole(HEAD + comment + '<p class="a">x</p><p class="b">y</p>')


def test_other_comments_go_on_pages_without_scripts_only():
    source = HEAD + '<!-- nobody reads this --><p class="a">x</p><p class="b">y</p>'
    assert "nobody" not in whole(source)
    for scripted in (
        "<script>x()</script>",
        "<b onclick=x()>y</b>",
        "<b onClick='x()'>y</b>",
        "<script src=//x></script>",
    ):
        assert "nobody" in whole(source + scripted)


@pytest.mark.parametrize(
    "kept",
    [
        '<svg viewBox="0 0 1 1"><linearGradient id=a gradientUnits=userSpaceOnUse></linearGradient>',
        '<template><p class="a">x<!-- in here --></template>',
        "<iframe srcdoc=\"<p class='a'>x</p>\"></iframe>",
        "<img srcset='a.png 1x, b.png 2x' src=a.png>",
        "<picture><source srcset=b.webp><img src=a.png></picture>",
        '<script type=importmap>{"imports":{"a":"./a.js"}}</script>',
    ],
)
def test_constructs_mean_the_same(kept):
    from adaptc.formats.html.document import has_same_dom

    source = HEAD + kept + '<p class="a">x</p>'
    assert has_same_dom(source, whole(source))


@pytest.mark.parametrize("mark", ["<?php echo 1 ?>", "<% x %>", "{% extends 'a' %}", "{% block b %}"])
def test_template_sources_stay(mark):
    source = HEAD + f'<p class="a">{mark}</p>'
    assert whole(source) == source


@pytest.mark.parametrize("attribute", ['class="{{ x }}"', 'class="{% if a %}b{% endif %}"', 'title="${x}"'])
def test_attributes_that_an_engine_fills_in_keep_their_quotes(attribute):
    assert attribute in whole(HEAD + f'<p {attribute}>a</p><p class="b">c</p>')


ENCODED = {
    "utf-8": "Grüße 日本語", "iso-8859-1": "Grüße", "windows-1252": "“Grüße”", "euc-kr": "안녕하세요",
    "shift_jis": "日本語ー能ソ", "koi8-r": "Привет", "big5": "中文", "gb2312": "中文",
    "euc-jp": "日本語", "iso-2022-jp": "日本語",
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODED)
def test_pages_in_other_encodings_survive(encoding):
    word = ENCODED[encoding]
    head = f'<!doctype html><html><head><meta charset="{encoding}"><title>{word}</title></head>'
    source = f'{head}<body><p class="x">{word}</p>'
    text = whole(source, encoding=encoding)
    assert len(text) < len(source)
    assert text.count(word) == 2 and f"charset={encoding}" in text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_pages_in_utf16_keep_their_mark(encoding):
    mark = "\ufeff".encode(encoding)
    source = '<!doctype html><html><head><title>日本</title></head><body><p class="x">語</p></body></html>'
    done = SmallSite({"index.html": mark + source.encode(encoding)}).rewrite()
    assert done.content.startswith(mark)
    assert done.content[2:].decode(encoding) == "<!DOCTYPE html><title>日本</title><p class=x>語"


def test_a_page_without_a_declaration_gains_no_bytes_beyond_ascii():
    source = '<!doctype html><html><head><title>T</title></head><body><p class="x">gr&uuml;n &nbsp;</p></body></html>'
    assert whole(source).isascii()


def test_a_fragment_stays_a_fragment():
    text = whole('<p class="x">a</p><p class="y">b</p>')
    assert text == "<p class=x>a<p class=y>b</p>"


@pytest.mark.parametrize(
    ("part", "end"),
    [
        ("<li class='a'>x</li><li>y</li>", "<li>y</li>"),
        ("<li class='a'>x</li><li>y<p>z</p></li>", "<li>y<p>z</li>"),
        ("<dt class='a'>x</dt><dd>y</dd>", "<dd>y</dd>"),
        ("<ul><li class='a'>x</li></ul>", "x</ul>"),
        ("<p class='a'>x</p>\n", "x</p>\n"),
        ("<p class='a'>x</p>y", "x</p>y"),
        ("<title>T</title><p class='a'>x</p>", "<p class=a>x"),  # a page
    ],
)
def test_a_part_that_a_script_may_put_in_front_of_more_keeps_its_last_end_tag(part: str, end: str):
    assert whole(part).endswith(end)


@pytest.mark.parametrize(
    "text",
    [
        '<tr class="new"><td>One</td></tr><tr class="new"><td>Two</td></tr>',
        "<!-- rows -->\n<tbody><tr><td><table><tr><td>In</td></tr></table></td></tr></tbody>",
        '<td id="c" ></td>',
        '<COL span="2">',
    ],
)
def test_rows_without_their_table_stay(text):
    assert whole(text) == text


def test_tables_with_their_rows_are_shortened():
    assert whole('<table><tr><td class="c">a</td></tr></table>') == "<table><tbody><tr><td class=c>a</table>"


@pytest.mark.parametrize(
    ("script", "stay"),
    [
        (r"t.match(/<body[^>]*>([\s\S.]*)<\/body>/i)[0]", True),
        (r"t.match(/<head\b[^>]*>/i)", True),
        ("t.split('<body')[1]", True),
        ('t.indexOf("</head>")', True),
        ("frame.write('<html><body class=\"x\"></body></html>')", False),
        ("t.querySelector('body')", False),
    ],
)
def test_scripts_that_find_parts_of_pages_in_their_text_find_them(script, stay):
    body = '</head><body><p class="x">a</p></body></html>'
    page = whole(
        f"<!doctype html><html><head><meta charset=utf-8><title>T</title><script src=a.js></script>{body}",
        **{"a.js": script},
    )
    assert page.replace('"', "").endswith("</head><body><p class=x>a</p></body></html>" if stay else "<p class=x>a")


def test_xhtml_that_is_served_as_xml_is_no_page():
    from adaptc.core import media

    site = SmallSite({"a.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body class="x"/></html>'})
    assert site.site.sources["a.xhtml"].media_type == media.XHTML
    assert lossless().steps_for(media.XHTML) == ()


def test_xhtml_in_html_keeps_its_mode():
    doctype = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
        '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">'
    )
    head = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head>'
    assert doctype in whole(f"{doctype}{head}<body><br /><p>x</p></body></html>")


def test_references_stay_where_browsers_may_not_find_the_encoding():
    """Chromium ignores a ``<meta>`` in the body after byte 1,024."""
    quoted = "".join(f"<p id='i{n}' title='{n * 7919}'>{n}</p>" for n in range(9))
    page = f"<!doctype html><title>T</title>{quoted}<p class='a'>PAD<meta charset=utf-8><p class='b'>caf&eacute;"
    text = whole(page.replace("PAD", "x" * 1100))
    assert text.endswith("<meta charset=utf-8><p class=b>caf&#233;")
    comment_goes = whole(page.replace("PAD", f"x<!--{'x' * 1100}-->"))
    assert comment_goes.endswith("<p class=a>x<meta charset=utf-8><p class=b>caf&#233;")
    assert whole(page.replace("PAD", "")).endswith("<p class=b>café")
