"""A minified sheet is only used if it is verified to be equivalent."""

import zlib

import pytest

from adaptc.formats.css.minify import is_same_cascade, minify_sheet
from adaptc.formats.css.outline import Outlines


def is_same(text: str, other: str) -> bool:
    return is_same_cascade(Outlines().of(text), Outlines().of(other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a { color : #ff0000 ; margin : 0px 0px }", "a{color:red;margin:0}"),
        ("a { display : -webkit-box ; display : flex }", "a{display:-webkit-box;display:flex}"),
        ("/* x */ /*! keep */ a { b : c }", "/*! keep */a{b:c}"),
        ("/* @license MIT */ a { b : c }", "/*! @license MIT */a{b:c}"),
        ("a { --x:  1px  2px ; c : var( --x ) }", None),
        (
            "@layer a , b;\n@layer { c { d : e } }\n@layer { f { g : h } }",
            "@layer a,b;@layer{c{d:e}}@layer{f{g:h}}",
        ),
        ("@property --x { syntax : '<color>' ; inherits : false }", None),
        ("a { & b { c : d } }", "a{& b{c:d}}"),
        ("a:has( > b ) { c : d }", "a:has(>b ){c:d}"),
        ("a{b:c}", None),
        ("", None),
        ("( " * 1000, None),
    ],
)
def test_minified_sheet(text, expected):
    result = minify_sheet(text)
    if expected is None:
        assert result is None or is_same(result, text)
    else:
        assert result == expected


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a{b:c}d{e:f}", "a{b:c}"),
        ("a{color:red}b{color:blue}", "b{color:blue}a{color:red}"),
        ("a{display:-webkit-box;display:flex}", "a{display:flex}"),
        ("a{color:red;color:blue}", "a{color:blue;color:red}"),
        ("a{margin:1px}b{margin-top:2px}", "b{margin-top:2px}a{margin:1px}"),
        ("a{border:0}b{border-left:1px}", "b{border-left:1px}a{border:0}"),
        ("a{b:c!important}", "a{b:c}"),
        ("a b{c:d}", "a>b{c:d}"),
        ("a b{c:d}", "ab{c:d}"),
        (".a .b{c:d}", ".a.b{c:d}"),
        ("a :hover{c:d}", "a:hover{c:d}"),
        (".A{b:c}", ".a{b:c}"),
        ("a{b:url(x)}", "a{b:url(X)}"),
        ("a{content:'x '}", "a{content:'x'}"),
        ("a{--x:a  b}", "a{--x:a b}"),
        ("a{--x:red}", "a{--x:#f00}"),
        ("a{opacity:0px}", "a{opacity:0}"),
        ("a{width:calc(0px + 1%)}", "a{width:calc(0 + 1%)}"),
        ("a{width:calc(1px + -2px)}", "a{width:calc(1px - 2px)}"),
        ("a{font-family:'serif'}", "a{font-family:serif}"),
        ("a{font-family:'Lucida Grande'}", "a{font-family:lucida grande}"),
        ("a{animation-name:red}", "a{animation-name:#f00}"),
        ("@media print{a{b:c}}", "@media screen{a{b:c}}"),
        ("@media print{a{b:c}}d{b:e}", "d{b:e}@media print{a{b:c}}"),
        ("@media (a) and (b){c{d:e}}", "@media (a) and(b){c{d:e}}"),
        ("@supports (a:b){c{d:e}}", "c{d:e}"),
        ("@layer a{}b{c:d}", "b{c:d}"),
        ("@layer{a{b:c}}@layer{d{b:f}}", "@layer{a{b:c}d{b:f}}"),
        ("@keyframes x{from{a:b}}", "@keyframes x{to{a:b}}"),
        ("@keyframes x{from{a:b}}@keyframes x{to{a:c}}", "@keyframes x{from{a:b}to{a:c}}"),
        ("@font-face{a:b}@font-face{a:c}", "@font-face{a:b;a:c}"),
        ("a{b:c}d:-moz-x{b:c}", "a,d:-moz-x{b:c}"),
        ("a{b:c;all:unset}", "a{all:unset;b:c}"),
    ],
)
def test_results_that_are_not_equivalent_are_refused(text, changed, monkeypatch):
    assert not is_same(text, changed)
    monkeypatch.setattr("turbohtml.clean.minify_css", lambda _: changed)
    result = minify_sheet(text + " " * 100)
    assert result is not None and is_same(result, text)


@pytest.mark.parametrize(
    ("text", "minified"),
    [
        ("a{font-family:'Lucida Grande', Arial;color:#ff0000}", "a{font-family:Lucida Grande,Arial;color:red}"),
        (
            "a{font:Bold 12px/1.5 Open  Sans}b{font-family:'Times'}",
            "a{font:700 12px/1.5 Open Sans}b{font-family:Times}",
        ),
        ("a{color:#ff0000}b{font:caption}", "a{color:red}b{font:caption}"),
    ],
)
def test_families_keep_their_case(text, minified):
    """Chromium knows by "Lucida Grande", as it is written, how wide a text field is (the glossary of Python)."""
    assert minify_sheet(text) == minified


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a{b:c}d{b:c}", "a,d{b:c}"),
        ("a{color:red}b{x:y}a{color:blue}", "a{color:red;color:blue}b{x:y}"),
        ("a::before{color:RGBA(255,0,0,1)}", "a:before{color:red}"),
        ("*:hover{b:url('x')}", ":hover{b:url(x)}"),
        ("a{margin-top:1px;margin-left:2px;margin-right:3px;margin-bottom:4px}", "a{margin:1px 3px 4px 2px}"),
        ("a{b:.50s;c:100ms;d:+1.0px}", "a{b:.5s;c:.1s;d:1px}"),
        ("a{font-family:'Open Sans',x,Serif}", "a{font-family:Open Sans,x,serif}"),
        ("a{font:Bold 1px 'Open Sans'}", "a{font:700 1px Open Sans}"),
        ("@media print{}a{}", ""),
        ("a [b='c'] > d{e:f}", "a [b=c]>d{e:f}"),
        ("@keyframes x{from{a:b}100%{a:c}}", "@keyframes x{0%{a:b}to{a:c}}"),
    ],
)
def test_equivalent_spellings_have_one_outline(text, same):
    assert is_same(text, same)


@pytest.mark.parametrize("rule", ["@font-face{font-family:f}", "@layer{a{b:c}}", "@media print{@font-face{x:y}}"])
def test_a_rule_that_counts_is_another_one_when_it_is_repeated(rule: str) -> None:
    outlines = Outlines()
    once, twice = outlines.of(rule), outlines.of(rule + "a{b:c}" + rule)
    assert twice[: len(once)] == once
    assert twice[-len(once) :] != once


def test_rules_read_before_are_in_the_outline_again() -> None:
    outlines = Outlines()
    first = outlines.of("a { b : c } d { e : f }")
    assert outlines.of("a { b : c }") + outlines.of(" d { e : f }") == first == Outlines().of("a{b:c}d{e:f}")


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("a{width:0.8571396097540855em}", "a{width:.8571396em}"),
        ("a{width:1.0000000298023224em;margin:-33.33333333333333%}", "a{width:1em;margin:-33.333332%}"),
        ("a{transform:rotate(1.0471975511965976rad)}", "a{transform:rotate(1.0471976rad)}"),
        ("a{width:calc(1.666666666667em + 1px)}", "a{width:calc(1.6666666em + 1px)}"),
    ],
)
def test_numbers_have_the_digits_that_browsers_hold(text: str, shorter: str) -> None:
    assert minify_sheet(text) == shorter
    assert is_same(text, shorter)
    assert not is_same(text, text.replace("1.", "1.00001").replace("33.", "33.0001").replace("0.8", "0.80001"))


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("a{color:rgba(0, 20, 80, .3)}", "a{color:#0014504d}"),
        ("a{color:rgb(255 255 255 / 80%)}", "a{color:#fffc}"),
        ("a{color:hsla(0,0%,100%,.4)}", "a{color:#fff6}"),
        ("a{color:rgba(0,0,0,1.0)}", "a{color:#000}"),
        ("a{border:1px solid rgba(0,0,0,.5)}", "a{border:1px solid #00000080}"),
        ("@media(color){a{color:rgba(0,0,0,.2)}}", "@media(color){a{color:#0003}}"),
    ],
)
def test_colours_with_an_opacity_have_digits(text: str, shorter: str) -> None:
    assert minify_sheet(text) == shorter


@pytest.mark.parametrize(
    "text",
    [
        "a{--x:rgba(0,0,0,.5)}",
        "a{color:rgb(256,0,0,.5)}",
        "@supports(color:rgba(0,0,0,.5)){a{color:red}}",
        "a{content:'rgba(0,0,0,.5)'}",
        "a{color:hsl(0,0%,50%,.3)}",
        "a{color:color-mix(in srgb,rgb(0,0,0,.5),red)}",
        "a{color:rgb(var(--x),.5)}",
    ],
)
def test_colours_that_are_read_as_written_or_rounded_either_way_stay(text: str) -> None:
    assert minify_sheet(text) is None


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("a{flex-direction:row;flex-wrap:wrap}", "a{flex-flow:row wrap}"),
        ("a{justify-content:center;align-content:center}", "a{place-content:center}"),
        (
            "a{border-top-left-radius:0;border-bottom-left-radius:0;border-top-right-radius:3px;border-bottom-right-radius:3px}",
            "a{border-radius:0 3px 3px 0}",
        ),
    ],
)
def test_shorthands_of_what_does_not_override_each_other(text: str, shorter: str) -> None:
    assert minify_sheet(text) == shorter
    assert not is_same(text, shorter.replace("0", "1px").replace("row", "column").replace("center", "start"))


@pytest.mark.parametrize(
    "text",
    [
        "a{--x:1.2345678901234}",
        "@media(min-width:767.98333333333px){a{color:red}}",
        "@keyframes a{33.33333333333%{top:0}}",
        "a{background:url(x1.23456789012.png)}",
        'a{content:"1.23456789012"}',
        "a{order:2147483647;z-index:16777217}",
        "a{line-height:1.4285715}",
        ".a1\\.23456789012{top:0}",
    ],
)
def test_what_is_compared_or_read_keeps_its_digits(text: str) -> None:
    assert minify_sheet(text) is None
    assert not is_same("@media(width:1.000000001px){a{b:c}}", "@media(width:1px){a{b:c}}")


def test_an_ignored_import_stays_ignored():
    assert minify_sheet("a { }\n@import 'x' ;\nb { c : d }") == "a{}@import 'x';b{c : d}"


def test_licence_inside_a_rule_is_kept():
    assert "/*! keep */" in (minify_sheet("a {  b : c ; /*! keep */ d : e  }") or "")


def test_only_a_rule_that_cannot_be_verified_is_not_minified() -> None:
    # turbohtml drops the size, of which the outline does not know that "font" sets it
    text = "a { color : #ff0000 }  .odd { font-size : 90% ; font : inherit }  f { color : #ff0000 }"
    assert minify_sheet(text) == "a{color:red}.odd{font-size : 90%;font : inherit}f{color:red}"


def test_rules_around_one_that_cannot_be_verified_are_joined() -> None:
    odd = ".odd{font-size:90%;font:inherit}"
    alike = "".join(f".{name}{{color:#ff0000}}" for name in ("a", "b", "c"))
    shorter = minify_sheet(alike + odd + alike) or ""
    assert shorter.count("red") == 2
    assert odd in shorter


def test_a_sheet_is_never_longer_to_send() -> None:
    # in each rule alone the shorter form of one word breaks the repetition that compression lives on
    rules = "".join(f".b{number}{{background-position:center;margin:0 0 {number}px 0}}" for number in range(60))
    shorter = minify_sheet(rules) or rules
    assert len(zlib.compress(shorter.encode(), 6)) <= len(zlib.compress(rules.encode(), 6))


@pytest.mark.parametrize(
    "text", ['a::before { content: "\\f101"; }', 'a::before { content: "\\f101 b"; }', ".\\e9 t\\e9  { margin: 0px }"]
)
def test_a_sheet_in_ascii_stays_ascii_and_equivalent(text: str) -> None:
    shorter = minify_sheet(text)
    assert shorter is not None
    assert shorter.isascii()
    assert is_same(shorter, text)
