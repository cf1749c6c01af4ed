"""embedded: style and script elements, JSON in script elements; what is not for browsers stays."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"


def embedded(markup, *, head=HEAD, settings=None, encoding="utf-8"):
    site = SmallSite({"index.html": (head + markup + "<p>x").encode(encoding)}, settings=settings or Settings())
    return site.page("index.html", "embedded", encoding=encoding)[len(head) : -len("<p>x")]


def test_a_style_element_is_minified():
    assert embedded("<style media=print>\n a { color : red }\n</style>") == "<style media=print>a{color:red}</style>"


def test_what_no_browser_knows_leaves_a_style_element():
    style = "<style>a{display:-ms-flexbox;display:flex}</style>"
    site = SmallSite({"index.html": HEAD + style})
    done = site.rewrite(steps=(Step(BY_NAME["embedded"], {"minify": True, "prefixes": "drop"}),))
    assert done.content == (HEAD + "<style>a{display:flex}</style>").encode()
    assert embedded(style) == style


def test_a_script_element_is_minified():
    assert embedded("<script>\n var a = 1; // comment\n</script>") == "<script>var a=1</script>"


def test_local_names_of_script_elements_get_shorter_on_request():
    def named(markup):
        options = {"minify": True, "names": True, "prefixes": "keep"}
        content = SmallSite({"index.html": HEAD + markup}).rewrite(steps=(Step(BY_NAME["embedded"], options),)).content
        return markup if content is None else content.decode()[len(HEAD) :]

    markup = "<script>(function(first){g(first)})(1)</script>"
    assert embedded(markup) == markup
    assert named(markup) == "<script>(function(e){g(e)}(1))</script>"
    reading = "<script>(function(first){g(first.toString,document.currentScript)})(1)</script>"
    assert named(reading) == reading


@pytest.mark.parametrize("kind", ["application/json", "application/ld+json", "importmap", "speculationrules"])
def test_json_loses_its_white_space(kind):
    assert (
        embedded(f'<script type={kind}>\n{{ "a b" : [1, 2.0] }}</script>')
        == f'<script type={kind}>{{"a b":[1,2.0]}}</script>'
    )


@pytest.mark.parametrize(
    "markup",
    [
        "<style type=text/less>@a : red;  b { c : @a }</style>",
        "<script type=text/template>  <b>  {{ x }}  </b></script>",
        "<script type=text/x-handlebars>  a  =  1 ;</script>",
        "<script type=module>  import  a  from  'a' ;</script>",
        "<script type=application/json>  { broken : 1 }</script>",
        "<script src=a.js>  var  b  =  2 ;</script>",
        "<template><style>  a  { color : red }</style></template>",
        "<noscript><style>  a  { color : red }</style></noscript>",
        "<svg><style>  a  { color : red }</style></svg>",
        "<script><!--\n  var a = 1 ;\n//--></script>",
        "<script>  x = document.currentScript.text  ;  // looked at</script>",
        "<script>  a  =  = 1 ;</script>",
        "<textarea>  a  \n b </textarea><pre>\n  a  \n b </pre>",
        "<iframe srcdoc='<style>  a { color : red }</style>'></iframe>",
    ],
)
def test_what_is_something_else_stays(markup):
    assert embedded(markup) == markup


SPACED, SHORT = "<style>  a  { color : red }</style>", "<style>a{color:red}</style>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{SPACED}<script>self.__next_f=[]</script>", None),
        (f"{SPACED}<script>window.__reactRouterContext=1</script>", None),
        (f"<script src=a.js></script><div id=__next>{SPACED}</div>", None),
        (f"<script src=a.js></script>{SPACED}<div id=__next></div>", f"{SHORT}<div id=__next></div>"),
        (f"<div id=__next>{SPACED}</div>", f"<div id=__next>{SHORT}</div>"),
    ],
)
def test_scripts_that_hydrate_a_page_compare_the_text_of_style_elements(before, after):
    made = embedded(before)
    assert made == before if after is None else after in made


def test_a_policy_may_hold_their_hashes():
    markup = "<style>  a  { color : red }</style>"
    assert embedded(markup, settings=Settings(csp="style-src 'sha256-x'")) == markup


def test_a_licence_stays():
    assert "(c) someone" in embedded("<style>/*! (c) someone */\n a { color : red }</style>")
    assert "@license MIT" in embedded("<script>/* @license MIT */\n var a = 1 ;</script>")


def test_what_is_minified_already_is_not_proven_again():
    rules = "".join(f".c{n}{{width:{n}px}}" for n in range(999))
    markup = f"<style>{rules} </style>"
    assert embedded(markup) == markup


@pytest.mark.parametrize("encoding", ["iso-8859-1", "euc-kr", "shift_jis", "koi8-r"])
def test_text_in_the_pages_encoding_survives(encoding):
    word = {"iso-8859-1": "é", "euc-kr": "한글", "shift_jis": "日本ー", "koi8-r": "слово"}[encoding]
    head = f"<!doctype html><meta charset={encoding}><title>{word}</title>"
    markup = f"<style> a {{ content : '{word}' }}</style>"
    assert embedded(markup, head=head, encoding=encoding) == f"<style>a{{content:'{word}'}}</style>".replace(
        "'", '"'
    ) or (word in embedded(markup, head=head, encoding=encoding))


def test_a_page_that_declares_no_encoding_keeps_what_is_not_ascii():
    head = "<!doctype html><title>T</title>"
    markup = "<style> a { content : 'é' }</style>"
    assert embedded(markup, head=head, encoding="latin-1") == markup
