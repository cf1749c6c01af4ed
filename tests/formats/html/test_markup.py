"""Shorter markup for the same tree."""

from __future__ import annotations

import pytest

from tests.samples.html5lib import tree_cases

from adaptc.formats.html import minify
from adaptc.formats.html.document import has_same_dom, is_limited_quirks, is_quirks, parse, parse_bare
from adaptc.formats.html.minify import is_meaningful_comment, minify_markup


def _minified(text: str, *, keep_comments: bool, declared: bool = True) -> str | None:
    """Minify, and compare the tree of the result with that of its text."""
    minified = minify_markup(text, keep_comments=keep_comments, declared=declared)
    known = minify_markup(text, keep_comments=keep_comments, declared=declared, tree=parse(text))
    assert (minified and minified.text) == (known and known.text)
    assert minified is None or minified.tree.equals(parse(minified.text))
    return minified and minified.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<!DOCTYPE html><html><head><title>a</title></head><body><p class="b">c</p></body></html>',
         "<!DOCTYPE html><title>a</title><p class=b>c"),
        ("<!DOCTYPE html><ul><li>a</li><li>b</li></ul>", "<!DOCTYPE html><ul><li>a<li>b</ul>"),
        ("<!DOCTYPE html><p>a</p>  <p>b</p>", "<!DOCTYPE html><p>a</p>  <p>b"),
        ('<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 3.2//EN"><p id="a">b',
         '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 3.2//EN"><p id=a>b'),
        ('<!DOCTYPE html><a href="a/">b</a>', None),
        ('<!DOCTYPE html><svg viewBox="0 0 1 1"><path d="M0" id="a"></path></svg>',
         '<!DOCTYPE html><svg viewBox="0 0 1 1"><path d=M0 id=a /></svg>'),
        ("<!DOCTYPE html><p>a&nbsp;b</p>", "<!DOCTYPE html><p>a\xa0b"),
        ("<!DOCTYPE html><script>'&nbsp;'</script><p>a</p>", "<!DOCTYPE html><script>'&nbsp;'</script><p>a"),
        ("<!DOCTYPE html><head><noscript><img src='a'></noscript></head><p>b</p>",
         "<!DOCTYPE html><noscript><img src='a'></noscript><p>b"),
        ("<!DOCTYPE html><pre>\n\na</pre><p>b</p>", "<!DOCTYPE html><pre>\n\na</pre><p>b"),
        ("""<!DOCTYPE html><p title='{"a": "b &amp; <c>"}'>d</p>""",
         """<!DOCTYPE html><p title='{"a": "b & <c>"}'>d"""),
        ("""<!DOCTYPE html><p title='"it&#39;s&quot;'>d</p>""", """<!DOCTYPE html><p title='"it&#39;s"'>d"""),
        ("<!DOCTYPE html><p title='&amp;lt;'>&lt;a b=&quot;&lt;&quot;&gt;</p>",
         '<!DOCTYPE html><p title=&amp;lt;>&lt;a b="&lt;"&gt;'),
        ("""<!DOCTYPE html><p title='a"b' class="c" id="d" lang="e">f</p><script>'<i a="&quot;">'</script>""",
         """<!DOCTYPE html><p title="a&quot;b" class=c id=d lang=e>f</p><script>'<i a="&quot;">'</script>"""),
        ("<!DOCTYPE html><p>a", None),
    ],
)  # fmt: skip
def test_minify(before: str, after: str | None) -> None:
    assert _minified(before, keep_comments=True) == after
    assert after is None or has_same_dom(before, after)


def test_comments_are_removed_unless_meaningful() -> None:
    text = "<!DOCTYPE html><p>a<!-- b -->c<!--! licence --><!--[if IE]>d<![endif]--><p>e</p>"
    assert _minified(text, keep_comments=True) == text.removesuffix("</p>")
    shorter = _minified(text, keep_comments=False)
    assert shorter == "<!DOCTYPE html><p>ac<!--! licence --><!--[if IE]>d<![endif]--><p>e"


@pytest.mark.parametrize(
    "comment",
    ["[if lt IE 9]>x<![endif]", "!keep", " @license MIT", "@preserve", "#include virtual='a'", " ko if: a ",
     "/ko", "esi <esi:include src=a />", "googleoff: index", "googleon: all", "{{ a }}", " {% block a %}",
     " Copyright 2001 A", "<rdf:RDF xmlns=''>", "InstanceBegin template='a'"],
)  # fmt: skip
def test_meaningful_comments(comment: str) -> None:
    assert is_meaningful_comment(comment)


@pytest.mark.parametrize("comment", [" navigation ", "", "<p>old</p>", "end of header", "===="])
def test_other_comments(comment: str) -> None:
    assert not is_meaningful_comment(comment)


def test_comments_in_templates_and_noscript_stay() -> None:
    text = "<!DOCTYPE html><template><!--a--></template><noscript><!--b--></noscript><!--c--><p>d</p>"
    assert _minified(text, keep_comments=False) == text.replace("<!--c-->", "").removesuffix("</p>")


def test_an_undeclared_page_stays_ascii() -> None:
    text = "<!DOCTYPE html><p>&copy;&nbsp;&eacute;</p><p>b</p>"
    long = text + "<p class='a'>b</p>" * 5
    minified = _minified(long, keep_comments=True, declared=False)
    assert minified is not None and minified.isascii() and has_same_dom(long, minified)
    assert _minified("<p>é</p><p class='a'>b</p>", keep_comments=True, declared=False) is None


def test_a_doctype_that_forces_quirks_is_left_alone() -> None:
    assert _minified("<!DOCTYPE html foo><p id='a'>b</p>", keep_comments=True) is None


@pytest.mark.parametrize("tag", ["plaintext", "xmp", "listing"])
def test_text_like_constructs(tag: str) -> None:
    text = f"<!DOCTYPE html><p id='a'>b</p><p id='c'>d</p><p id='e'>f</p><{tag}>\n <b>c</b> &amp; <!-- d -->"
    minified = _minified(text, keep_comments=True)
    assert minified is not None and parse(minified).equals(parse(text))


def test_the_html5lib_cases_stay_the_same_tree() -> None:
    for text in tree_cases():
        minified = _minified(text, keep_comments=True)
        assert minified is None or (len(minified) < len(text) and has_same_dom(text, minified))


def test_a_large_page_gives_the_same_with_one_tree_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    page = '<!doctype html><noscript><p class="a">x</p></noscript><!-- c --><svg><path d="M0 0"></path></svg>'
    expected = minify_markup(page, keep_comments=False)
    monkeypatch.setattr(minify, "_LARGE", 0)
    tree = parse(page)
    large = minify_markup(page, keep_comments=False, tree=tree)
    assert expected is not None
    assert large is not None
    assert large.text == expected.text
    assert large.tree.equals(expected.tree)


STRICT = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN"\n "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
LIMITED = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/t.dtd">'
QUIRKS = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.0 Transitional//EN">'


@pytest.mark.parametrize(
    ("doctype", "expected"),
    [
        (STRICT, "<!doctype html>"),
        (LIMITED, '<!doctype html public "-//W3C//DTD XHTML 1.0 Transitional//">'),
        (QUIRKS, QUIRKS),
        ("", ""),
        ("<!DOCTYPE html>", "<!DOCTYPE html>"),
    ],
)
def test_a_doctype_may_be_the_shortest_of_the_same_mode(doctype: str, expected: str) -> None:
    page = f"{doctype}<html lang=en><head><title>T</title></head><body><p>One</p></body></html>"
    minified = minify_markup(page, keep_comments=False, keep_doctype=False)
    assert minified is not None
    start, _, _ = minified.text.partition("<html")
    assert start.lower() == expected.lower()
    assert parse_bare(minified.text).equals(minified.tree)
    kept = minify_markup(page, keep_comments=False)
    assert kept is not None
    assert kept.text.lower().startswith(" ".join(doctype.lower().split()))
    modes = [(is_quirks(each.tree), is_limited_quirks(each.tree)) for each in (kept, minified)]
    assert modes[0] == modes[1]
