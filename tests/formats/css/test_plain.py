"""Rules that regular expressions read are those of the scanner and of tinycss2."""

import tinycss2
from hypothesis import given
from hypothesis import strategies as st

from adaptc.formats.css.outline import AtRule, Content, StyleRule, read_nodes, read_rules
from adaptc.formats.css.plain import parse_plain, plain_comments, plain_rule_end, split_declarations
from adaptc.formats.css.scanner import DENSE, Kind, tokens
from adaptc.formats.css.sheet_text import comments, scanned_rule_end, split_rules

_PIECES = (
    *"{}()[];:,.#/\\\"'@! \n\0\fé",
    *("a", "b", "-x", "url(", "URL( x ", "#url(", "src(", "u\\72 l(", "\\75 rl(", "/*", "*/", "<!--", "\\9", "\\\n"),
    *("color", "red", "#FF0000", "0px", ".50", "+1.0e1", "rgba(0, 0, 0, .5)", "--x", "!important", "calc(", "::before"),
    *("[a]", "*[a='b/c']", "[a~=b]", ":not(.a)", "::X(b)", ":is(:hover[a])", ":nth-child(2n)"),
    *(
        "*:hover",
        " > ",
        "font-family",
        "margin",
        "serif",
        "@media print{",
        "@keyframes x{",
        '@charset "utf-8";',
        "from",
        "50%",
        "a{color:",
    ),
)
texts = st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)
rules = st.builds("{}{{{};{}:{}}}".format, texts, texts, st.sampled_from(("font", "opacity", "border-color")), texts)


@given(texts | rules)
def test_a_plain_rule_ends_where_the_scanner_sees_its_end(text: str) -> None:
    assert plain_rule_end(text, 0) in (-1, scanned_rule_end(text, 0))


@given(texts | rules)
def test_comments_are_those_of_the_scanner(text: str) -> None:
    scanned = [(token.start, token.end) for token in tokens(text, 0, DENSE) if token.kind is Kind.COMMENT]
    assert list(comments(text)) == scanned


@given(texts | rules)
def test_rules_are_those_of_tinycss2(text: str) -> None:
    for part in split_rules(text):
        assert list(map(_spell, read_rules(part))) == list(
            map(_spell, read_nodes(tinycss2.parse_stylesheet(part, True, True), False))
        )


def _spell(content: Content) -> object:
    """Return a content with lists of one kind in it."""
    if isinstance(content, StyleRule):
        return tuple(content.selectors), content.is_known, [_spell(each) for each in content.contents]
    if isinstance(content, AtRule):
        return (
            content.name,
            content.prelude,
            None if content.contents is None else [_spell(each) for each in content.contents],
        )
    return content


def test_nearly_everything_in_a_real_sheet_is_plain() -> None:
    rule = (
        '/* ; } */ @media (min-width: 1px) and print { a[b="}"] > .md\\:c:not(:hover), d { '
        'background: url(data:x;base64,AA==) , url("e;)"); f: calc((1px + 2px) * 3) } @font-face { src: url( g ) } }'
    )
    plain = parse_plain(rule)
    assert plain is not None and plain.body is None
    assert [each.prelude.strip() for each in plain.rules] == ['a[b="}"] > .md\\:c:not(:hover), d', "@font-face"]
    assert len(split_declarations(plain.rules[0].body or "")) == 2
    assert [rule[start:end] for start, end in plain_comments(rule)] == ["/* ; } */"]
