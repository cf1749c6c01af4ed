"""Style sheets as text: decoding (CSS Syntax 3, section 3.2), embedding in a style element, balance."""

import pytest
import tinycss2

from adaptc.formats.css.sheet_text import Sheet, decode_sheet, drop_lost_rules, escape_for_style_element, is_balanced


@pytest.mark.parametrize(
    ("content", "environment", "expected"),
    [
        (b"\xef\xbb\xbfa{}", "windows-1252", Sheet("a{}", "utf-8")),
        (b"\xff\xfea\x00{\x00}\x00", "utf-8", Sheet("a{}", "utf-16le")),
        (b'@charset "koi8-r";\xc1', "utf-8", Sheet('@charset "koi8-r";\u0430', "koi8-r")),
        (b'@charset "utf-16le";\xc3\xa9', "koi8-r", Sheet('@charset "utf-16le";\u00e9', "utf-8")),
        (b"@charset 'koi8-r';\xc3\xa9", "utf-8", Sheet("@charset 'koi8-r';\u00e9", "utf-8")),
        (b'@charset "nonsense";\xc3\xa9', "utf-8", Sheet('@charset "nonsense";\u00e9', "utf-8")),
        (b"\x83A", "shift_jis", Sheet("\u30a2", "shift_jis")),
        (b"\xc3\xa9", "", Sheet("\u00e9", "utf-8")),
        (b"\xc3\xa9", "nonsense", Sheet("\u00e9", "utf-8")),
        (b"\xff", "utf-8", Sheet("\ufffd", "utf-8")),
    ],
)
def test_encoding(content, environment, expected):
    assert decode_sheet(content, environment) == expected


def test_newlines_and_nul_are_preprocessed():
    assert decode_sheet(b"a\r\nb\rc\fd\x00", "utf-8").text == "a\nb\nc\nd\ufffd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:c}<!-- -->", "a{b:c}<!-- -->"),
        ("a{b:'</STYLE>'}", "a{b:'<\\/STYLE>'}"),
        ("a{b:url(</style)}", "a{b:url(<\\/style)}"),
        ("/*! </style> */a{}", "/*! < /style> */a{}"),
        ("</style>", None),
        ("a{b:'</style\n'}", None),
        ("a{b:url(</style '</style')}", None),
    ],
)
def test_end_tag_cannot_appear(text, expected):
    assert escape_for_style_element(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:c}", True),
        ("a{b:url(x)'y'(z)[w]}/**/", True),
        ("a{b:')'}", True),
        ("a{", False),
        ("a}", False),
        ("a{b:(}", False),
        ("a{b:c(d}", False),
        ("a{b:'c", False),
        ("a{b:url(c", False),
        ("/* a", False),
        ("a{}\\", False),
        ("a{b:url(c'd}", False),
    ],
)
def test_balance(text, expected):
    assert is_balanced(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{} } @media screen{b{}} c{}", "a{}  c{}"),
        ("a{b:c}}d{e:f}g{}", "a{b:c}g{}"),
        ("a{}/* } */} ; b[c] > d{e{f:g}}h{}", "a{}/* } */h{}"),
        ("a{}}}b{}c{}}d{}e{}", "a{}c{}e{}"),
        ("a{}}", "a{}"),
        ("@media x } y{}", None),
        ("a{b:c)}d{}", None),
        ("a{}}b{c:(}", None),
        ("a{b:'}'", None),
        ("a{b:c}", None),
    ],
)
def test_a_closing_brace_too_many_takes_the_next_rule_along(text, expected):
    kept = drop_lost_rules(text)
    assert kept == (text if expected is None else expected)
    assert _valid_rules(kept) == _valid_rules(text)


def _valid_rules(text):
    rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
    return [rule.serialize() for rule in rules if rule.type != "error" and "}" not in tinycss2.serialize(rule.prelude)]
