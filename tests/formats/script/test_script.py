"""Scripts: the lexer, minification of scripts and JSON, script elements."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptc.core.quantities import sent_size
from adaptc.formats.script import (
    escape_for_script_element,
    is_javascript_type,
    is_module_type,
    minify,
    minify_json,
    minify_script,
)
from adaptc.formats.script.lexer import Kind, tokenize, unescape
from adaptc.formats.script.minify import significant_tokens
from adaptc.formats.script.script import Script


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


LEXEMES = (
    "a", "b1", "in", "of", "if", "return", "1", ".5", "0x1f", '"s"', "'t'", "`u`", "/r/g", "/[/]/", "/", "/=", "(", ")",
    "[", "]", "{", "}", "`${", "}`", "}${", ";", ":", ",", ".", "?.", "...", "=", "=>", "++", "--", "!", "<",
    "->", "#p", "é", "\\u0061",
)  # fmt: skip


def code(text):
    tokens = tokenize(text)
    return tokens and [(token.kind, token.text) for token in tokens if token.kind is not Kind.COMMENT]


@given(st.lists(st.sampled_from(LEXEMES), max_size=16).map("".join))
@settings(max_examples=400, deadline=None)
def test_line_ends_between_tokens_change_none(text):
    tokens = code(text)
    if tokens:  # without them most slashes are decided by the character before
        assert code("\n".join(text for _, text in tokens)) == tokens


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
    ("text", "dense"),
    [
        ("a = 1\nb = 2\n", "a=1\nb=2"),
        ("return\n x", "return\nx"),
        ("f ( 1 .x , a ++ + b , c - -- d )", "f(1 .x,a++ +b,c- --d)"),
        ("if (a <! --b) c", "if(a<! --b)c"),
        ("x = {\n a : 1 ,\n b : [ 2\n]\n}\ny", "x={a:1,b:[2]}\ny"),
        ("a = b\n/re/ .test ( c )", "a=b\n/re/.test(c)"),
        ("x = `a ${ b } c` // d\n/*! keep */ y", "/*! keep */\nx=`a ${b} c`\ny"),
    ],
)
def test_space_that_keeps_nothing_apart_goes(text, dense):
    assert minify._dense(Script(text)) == dense


def test_a_script_is_never_larger_to_send() -> None:
    longer = "var a = 1;\nvar b = 2;\n" * 40
    smaller = minify_script(longer)
    assert smaller is not None
    assert sent_size(smaller) < sent_size(longer)
    dense = "x=1\n" * 9
    assert minify_script(dense) is None or sent_size(minify_script(dense)) < sent_size(dense)


@pytest.mark.parametrize(
    "text",
    [
        "import a from 'a' ;  a ( ) // <!-- b",
        "import a from 'a' ;  await  /  b  /  1",
        "a = = 1",
        "'unfinished",
        "/*@cc_on alert ( 1 ) @*/",
        "text = function ( ) { /* here\nis text */ } . toString ( )",
        "a=1",
        "",
    ],
)
def test_scripts_that_are_not_minified(text):
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
    ("first", "second"),
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
def test_different_scripts_have_different_significant_tokens(first, second):
    assert significant_tokens(Script(first)) != significant_tokens(Script(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("if (a) { b() }", "if(a)b();"),
        ("x = { 'k': 1.0, }", "x={k:1}"),
        ("a['b'] = \"\\x41\"", "a.b='A'"),
        ("return;a", "return\na"),
        ("a\n++b", "a;++b"),
    ],
)
def test_equivalent_scripts_have_the_same_significant_tokens(first, second):
    assert significant_tokens(Script(first)) == significant_tokens(Script(second))


def test_names_stay():
    assert "longParameterName" in minify_script("function f ( longParameterName ) { return longParameterName }")


@pytest.mark.parametrize("word", ["else", "do"])
def test_an_operator_after_a_word_that_begins_a_statement_is_a_prefix(word):
    start, end = ("if ( a ) b ( ) ; ", "") if word == "else" else ("", " while ( c )")
    shorter = minify_script(f"{start}{word} {{ -- left; if ( ! left ) {{ d ( ) ; }} }}{end}")
    assert shorter is not None and "--left" in shorter


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
def test_modules_lose_only_space_and_comments(text, module):
    smaller = minify_script(text + "\n;bbbb  =  1.50  /* one */\nbbbb  =  1.50")
    assert smaller is not None and smaller.endswith("bbbb=1.50\nbbbb=1.50" if module else "bbbb=1.5;bbbb=1.5")


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
def test_escape_for_script_element(text, safe):
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
def test_texts_without_an_equivalent_in_a_script_element(text):
    assert escape_for_script_element(text) is None


PIECES = [*"a '\"`/*\n<!->;${}", "</script", "<!--"]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
@settings(max_examples=400, deadline=None)
def test_result_never_ends_the_element(text):
    safe = escape_for_script_element(text)
    if safe is not None:
        assert "<!--" not in safe
        assert "</script" not in safe.lower()


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
def test_minified_json_is_equivalent(tree):
    text = json.dumps(tree, indent=2)
    smaller = minify_json(text)
    assert json.loads(smaller or text) == tree
    assert (smaller or text) == json.dumps(tree, separators=(",", ":"))


def test_of_a_comment_the_licence_notice_stays_once() -> None:
    notice = "Copyright 2016 A. Author\n * Released under the MIT license."
    plugin = f"/**\n * A plugin, used as is the case with others.\n *\n * {notice}\n */\n(function () {{ a(); }})();\n"
    shorter = minify_script(2 * plugin)
    assert shorter is not None
    assert shorter.startswith("/* Copyright 2016 A. Author\nReleased under the MIT license. */\n(")
    assert shorter.count("Author") == 1


@pytest.mark.parametrize(
    "terms", ["Permission is hereby granted to nobody.", "It is provided 'as-is'.", 'It comes "AS IS".']
)
def test_a_licence_with_its_terms_stays_whole(terms: str) -> None:
    comment = f"/* A plugin.\n\n Copyright 2016 A. Author\n\n {terms} */"
    assert (minify_script(f"{comment}\n(function () {{ a ( ) ; }})();") or "").startswith(comment)
