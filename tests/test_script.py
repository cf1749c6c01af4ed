"""Scripts: what is minified and what is left alone, text for script elements, introspection, JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptc.formats.script import (
    escape_for_script_element,
    introspection_reason,
    is_javascript_type,
    is_module_type,
    minify_json,
    minify_script,
    touches_addresses,
    writes_document,
)
from adaptc.formats.script.addresses import changes_images, has_lazy_address, lazy_loads_images
from adaptc.formats.script.code_text import unescape
from adaptc.formats.script.minify import significant_tokens
from adaptc.formats.script.tokens import Kind, tokenize


def kinds(text, kind):
    return [token.text for token in tokenize(text) if token.kind is kind]


# The lexer


@pytest.mark.parametrize(
    ("text", "expressions"),
    [
        ("a = b / c / d", []),
        ("a = /c/ / d", ["/c/"]),
        ("if (a) /b/.test(c)", ["/b/"]),
        ("f(a) / b / c", []),
        ("a[0] / b / c", []),
        ("return /a'/", ["/a'/"]),
        ("a.return / b / c", []),
        ("x = {} / 1 / 2", []),
        ("{} /a/.test(b)", ["/a/"]),
        ("a++ / b / c", []),
        ("x = /[/*]/g", ["/[/*]/g"]),
        ("x => /y/u", ["/y/u"]),
        ("`${/a`b/}`", ["/a`b/"]),
        ("`${a}` / b / c", []),
        ("switch (a) { case /b/: { } /c/ }", ["/b/", "/c/"]),
        ("({ a: {} / b / c })", []),
        (r"/\/[\]/]/", [r"/\/[\]/]/"]),
        ("a </b/", ["/b/"]),
        ("1 / 2 / 3", []),
    ],
)
def test_slash_is_division_or_regular_expression(text, expressions):
    assert kinds(text, Kind.REGEX) == expressions


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("'// no' // yes", ["// yes"]),
        ("`/* no */ ${ /* yes */ a}`", ["/* yes */"]),
        ("<!-- old\na", ["<!-- old"]),
        ("a\n--> old", ["--> old"]),
        ("/* \n */ --> old", ["/* \n */", "--> old"]),
        ("a --> b", []),
        ("#!/usr/bin/node\na", ["#!/usr/bin/node"]),
        ("a // b\u2028c", ["// b"]),
    ],
)
def test_comments(text, comments):
    assert kinds(text, Kind.COMMENT) == comments


@pytest.mark.parametrize("text", ["'", '"a\nb"', "`", "`${", "/* ", "(", "}", "(]", "a = '\\"])
def test_what_does_not_lex(text):
    assert tokenize(text) is None


@given(st.text(alphabet="a1 '\"`${}()[]/*\\\n<!->;=.\u2028", max_size=40))
@settings(max_examples=400, deadline=None)
def test_tokens_cover_the_text(text):
    tokens = tokenize(text)
    if tokens is not None:
        gaps, at = [], 0
        for token in tokens:
            gaps.append(text[at : token.start])
            assert text[token.start : token.end] == token.text
            at = token.end
        assert "".join([*gaps, text[at:]]).strip() == ""


def test_escapes():
    assert (
        unescape(
            r"\x41\u0042\u{43}\n\/\
\101"
        )
        == "ABC\n/A"
    )


# Minifying


@pytest.mark.parametrize(
    ("text", "smaller"),
    [
        ("var a = 1 ; // one\nvar b = 2 ;", "var a=1;var b=2"),
        ("a = b\n++c", "a=b;++c"),
        ("a + +b", "a+ +b"),
        ("a - -b", "a- -b"),
        ("function f ( name ) { return name ; }", "function f(name){return name}"),
        ("f = function ( ) { return\na }", "f=function(){return;a}"),
        ("x = 'a  b' ;", "x='a  b'"),
        ("x = `a  ${ b }  c` ;", "x=`a  ${b}  c`"),
        ("/* a */ x = /  a/ ;", "x=/  a/"),
        ("a = 1\n//# sourceMappingURL=a.js.map\n", "a=1"),
    ],
)
def test_minify(text, smaller):
    assert minify_script(text) == smaller


@pytest.mark.parametrize(
    "text",
    [
        "import a from 'a' ;  a ( )",
        "export  default  1",
        "a = = 1",
        "'unfinished",
        "/*@cc_on alert ( 1 ) @*/",
        "text = function ( ) { /* here\nis text */ } . toString ( )",
        "a=1",
        "",
    ],
)
def test_left_alone(text):
    assert minify_script(text) is None


@pytest.mark.parametrize(
    "comment",
    ["/*! kept */", "/** @license MIT */", "/* Copyright 2020 A. U. Thor */", "/* Licensed under MIT */"],
)
def test_licence_comments_stay(comment):
    smaller = minify_script(f"{comment}\nvar  a  =  1 ;  /* not this */\n var  bbbbbb ; ")
    assert comment in smaller
    assert "not this" not in smaller


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return\na", "return a"),
        ("a\n++b", "a++;b"),
        ("a + b", "a - b"),
        ("f('a b')", "f('a  b')"),
        ("[, a]", "[a]"),
        ("x = 017", "x = 17"),
        ("`a ${b}`", "`a${b}`"),
    ],
)
def test_essence_tells_apart(one, other):
    assert significant_tokens(one, tokenize(one)) != significant_tokens(other, tokenize(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("if (a) { b() }", "if(a)b();"),
        ("x = { 'k': 1.0, }", "x={k:1}"),
        ("a['b'] = \"\\x41\"", "a.b='A'"),
        ("return;a", "return\na"),
        ("a\n++b", "a;++b"),
    ],
)
def test_essence_is_the_same(one, other):
    assert significant_tokens(one, tokenize(one)) == significant_tokens(other, tokenize(other))


def test_names_stay():
    assert "longParameterName" in minify_script("function f ( longParameterName ) { return longParameterName }")


def test_minifying_again_changes_nothing():
    once = minify_script("if ( a ) { b ( ) ; } else { for ( ; ; ) { c ( 1.50 ) } }  x = { 'k' : 1 , } ;")
    assert minify_script(once) is None


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("import 'a'", True),
        ("import{a}from'b'", True),
        ("import * as a from 'b'", True),
        ("x = import.meta.url", True),
        ("export const a = 1", True),
        ("export { a }", True),
        ("import('a')", False),
        ("a.import = b.export", False),
        ("a = { import: 1, export() {} }", False),
        ("// import a from 'b'", False),
        ("'export default'", False),
    ],
)
def test_modules_are_not_minified(text, module):
    assert (minify_script(text + "\n\n") is None) is module


# Inside a script element


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a = 1", "a = 1"),
        ("\ufeffa", "a"),
        ("a = '</script>'", r"a = '<\/script>'"),
        ('a = "</SCRIPT>"', r'a = "<\/SCRIPT>"'),
        ("a = '<!--'", r"a = '<\!--'"),
        ("a = '<script>'", "a = '<script>'"),
        ("a = `x</script>${b}<!--`", r"a = `x<\/script>${b}<\!--`"),
        ("a = /[</script]/", r"a = /[<\/script]/"),
        ("a = /<!--/u", r"a = /<!-\x2d/u"),
        ("a // </script>\nb", "a // <\\/script>\nb"),
        ("/* <!-- */ a", "/* <!- - */ a"),
        ("<!-- hide\na", "// hide\na"),
        ("<!-- </script>\na", "// <\\/script>\na"),
        ("a </script/.test", "a < /script/.test"),
        (r"a = '\</script>'", r"a = '\<\/script>'"),
    ],
)
def test_for_script_element(text, safe):
    assert escape_for_script_element(text) == safe


@pytest.mark.parametrize(
    "text",
    [
        "a = '\0'",
        "String.raw`</script>`",
        "a = tag(b)`${c}</script>`",
        "a = /<!--/; b(a.source)",
        "a = '</script>",
    ],
)
def test_not_exact_in_a_script_element(text):
    assert escape_for_script_element(text) is None


PIECES = [*"a '\"`/*\n<!->;${}", "</script", "<!--"]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
@settings(max_examples=400, deadline=None)
def test_result_never_ends_the_element(text):
    safe = escape_for_script_element(text)
    if safe is not None:
        assert "<!--" not in safe
        assert "</script" not in safe.lower()


# Introspection


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("document.currentScript.src", "currentScript"),
        ("document['currentScript']", "currentScript"),
        (r"document.c\u0075rrentScript", "currentScript"),
        ("new URL('a', import.meta.url)", "import.meta"),
        ("import('./a.js')", "imports modules"),
        ("importScripts('a.js')", "importScripts"),
        ("new Worker('a.js')", "worker"),
        ("document.getElementsByTagName('script')", "script elements"),
        ("document.getElementsByTagName ( /* all */ `script` )", "script elements"),
        ("document.getElementsByTagName('SCRIPT')", "script elements"),
        ("document.getElementsByTagName('*')", "script elements"),
        ("(function(d,s){d.getElementsByTagName(s)[0]})(document,'script')", "script elements"),
        ("document.querySelector('script[src*=jquery]')", "script elements"),
        ("$('body > script')", "script elements"),
        ("document.scripts[0]", "script elements"),
        ("document.styleSheets[0].cssRules", "style sheets"),
        ("document.querySelectorAll('link[rel=stylesheet]')", "style sheets"),
        ("$('head').find('[rel~=\"stylesheet\"]')", "style sheets"),
        ("__webpack_public_path__ = '/a/'", "public path"),
        ("webpackChunk; r.p = ''", "public path"),
        ("eval(a + '//# sourceURL=' + b)", "sourceURL"),
        ("(function(){}).toString()", "its own text"),
        ("new Error().stack.split('\\n')", "error's stack"),
        ("/@(.*?):/.exec(e.stack)", "error's stack"),
        ("'unfinished // currentScript", "currentScript"),
    ],
)
def test_introspects(text, reason):
    assert reason in introspection_reason(text)


@pytest.mark.parametrize("text", ["document . write ('x')", "document['writeln']('x')", "d?.write(x)"])
def test_writes_document(text):
    assert writes_document(text) and introspection_reason(text) is None


@pytest.mark.parametrize("text", ["/* document.write('x') */ f()", "rewrite(a); overwrite = 2", "frame.write()"])
def test_does_not_write_the_document(text):
    assert not writes_document(text)


@pytest.mark.parametrize(
    "text",
    [
        "// document.currentScript\nf()",
        "/* document.write('x') */ f()",
        "currentScripts = 1; rewrite(a); overwrite = 2",
        "document.createElement('script')",
        "$('.script, #script, script-editor-x')",
        "navigator.serviceWorker.register('sw.js')",
        "a.import(b)",
        "x.toString()",
        "fragment.getElementsByTagName('*').length",
        "frame.contentDocument.write(); frame.contentDocument.close()",
        "",
    ],
)
def test_does_not_introspect(text):
    assert introspection_reason(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "img.src = img.src.replace('small', 'large')",
        "a['src'] = b",
        "document.images[0].srcset = ''",
        "image.src = other.dataset.src",
        "image.src = image.dataset.src + '?2'",
        "image.setAttribute('src', image.getAttribute('alt'))",
        "new Image().src = a.src = b",
        "wrap(new Image()).src = b",
    ],
)
def test_changes_images(text):
    assert changes_images(text)


@pytest.mark.parametrize(
    "text",
    [
        "if (img.src === 'a.png') f()",
        "new Image().src = 'count.gif?n=' + n",
        "(new Image).src=u",
        "new Image(1, 1).src = u;",
        "i = new Image; i.src = '/ping'",
    ],
)
def test_does_not_change_images(text):
    assert not changes_images(text)
    assert not lazy_loads_images(text)


@pytest.mark.parametrize(
    "text",
    [
        "image.src = image.dataset.src",
        "image.setAttribute('src', image.getAttribute('data-src')); f()",
        "entries.forEach(one => { one.srcset = one.dataset.srcset; one.removeAttribute('data-srcset') })",
        "$(this).attr('src', $(this).data('original'))",
    ],
)
def test_loads_lazily(text):
    assert lazy_loads_images(text)
    assert not changes_images(text)


def test_an_image_awaits_an_address_in_its_data():
    assert has_lazy_address({"src": "a.gif", "data-src": "b.jpg"})
    assert not has_lazy_address({"src": "a.gif", "data-index": "3", "data-open": None})


@pytest.mark.parametrize(
    "text",
    [
        "img.src = img.src.replace('small', 'large')",
        "$('img').attr('src')",
        "a['src'] = b",
        "$(x).prop({ src: y })",
        "document.querySelector('img[src=\"a.png\"]')",
        "document.getElementById('theme').href = 'dark.css'",
        "$('#theme').attr('href', 'dark.css')",
        "document.styleSheets[0].disabled = true",
        "document.getElementsByTagName('link')",
        "getComputedStyle(a).backgroundImage",
        "img.dataset.src; img.setAttribute('srcset', b)",
        "function f(s) { s.src = 1 } var s = document.createElement('script')",
        "s = document.createElement('script'); s = byId('x'); s.src = 1",
        "image => image.src",
    ],
)
def test_touches_sources(text):
    assert touches_addresses(text)


@pytest.mark.parametrize(
    "text",
    [
        "// img.src = 1\nf()",
        "location.href = 'a.html'; window.location.href = b",
        "var s = document.createElement('script'); s.src = 'a.js'; head.appendChild(s)",
        "i = new Image; i.src = '/ping'",
        "link.getAttribute('href')",
        "x = '<a href=\"#\">top</a>'",
        "srcs = resource; a.srcIndex = 1",
        "element.setAttribute('style', 'color: red')",
    ],
)
def test_does_not_touch_sources(text):
    assert not touches_addresses(text)


# Types


@pytest.mark.parametrize(
    ("type_attr", "language_attr", "javascript"),
    [
        (None, None, True),
        ("", None, True),
        ("", "vbscript", True),
        (None, "", True),
        (None, "JavaScript", True),
        (None, "javascript1.2", True),
        (None, "vbscript", False),
        ("text/javascript", "vbscript", True),
        (" Text/JavaScript ", None, True),
        ("application/x-javascript", None, True),
        ("text/javascript; charset=utf-8", None, False),
        ("text/javascript1.6", None, False),
        ("module", None, False),
        ("importmap", None, False),
        ("application/ld+json", None, False),
        ("text/x-template", None, False),
        (" ", None, False),
    ],
)
def test_is_javascript_type(type_attr, language_attr, javascript):
    assert is_javascript_type(type_attr, language_attr) is javascript


def test_is_module_type():
    assert is_module_type(" Module ")
    assert not is_module_type(None)
    assert not is_module_type("text/javascript")


# JSON


@pytest.mark.parametrize(
    ("text", "smaller"),
    [
        ('{ "a" : [ 1.0 , 1e2, -0 ] }', '{"a":[1.0,1e2,-0]}'),
        ('{ "a": 1, "a": 2 }', '{"a":1,"a":2}'),
        ('{ "a b\\" c": " \\u00e9 " }', '{"a b\\" c":" \\u00e9 "}'),
        (" null ", "null"),
        ("[ 12345678901234567890123.450 ]", "[12345678901234567890123.450]"),
        ("{}", None),
        ("[ NaN ]", None),
        ("[ 1, ]", None),
        ("{ 'a': 1 }", None),
        ("// a\n{}", None),
        ("1 2", None),
        ("", None),
        ("[" * 100_000 + " ", None),
    ],
)
def test_minify_json(text, smaller):
    assert minify_json(text) == smaller


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@given(trees)
@settings(max_examples=100, deadline=None)
def test_json_says_the_same(tree):
    text = json.dumps(tree, indent=2)
    smaller = minify_json(text)
    assert json.loads(smaller or text) == tree
    assert (smaller or text) == json.dumps(tree, separators=(",", ":"))
