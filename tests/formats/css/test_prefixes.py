"""What has the prefix of an engine that is gone leaves a sheet, and no browser of today sees a difference."""

from __future__ import annotations

import json

import pytest

from tests.servers.browser import Browser

from adaptc.formats.css.prefixes import drop_dead_prefixes, is_dead_declaration

DEAD = [
    "-ms-flex:1", "-o-transition:all 1s", "-khtml-user-select:none", "-moz-border-radius:2px", "-ms-filter:'alpha'",
    "-moz-box-shadow:0 0 1px red", "display:-ms-flexbox", "display:-ms-inline-flexbox", "position:-o-sticky",
    "white-space:-o-pre-wrap", "cursor:-o-grab", "background:-o-linear-gradient(top,#fff,rgba(0,0,0,0))",
    "background-image:url(a.png),-ms-radial-gradient(circle,red,blue)", "display : -MS-FLEXBOX !important",
]  # fmt: skip
LIVING = [
    "-webkit-flex:1", "-moz-appearance:none", "-moz-user-select:none", "-ms-high-contrast-adjust:none",
    "--x:-ms-flex", "transition:-o-transform 1s", "will-change:-ms-transform", "animation-name:-o-turn",
    "background:var(--a,-o-linear-gradient(top,red,blue))", "content:'-ms-flexbox'", "display:-webkit-box",
    "background:-moz-linear-gradient(top,red,blue)", "_height:1px",
]  # fmt: skip


@pytest.mark.parametrize("declaration", DEAD)
def test_a_declaration_that_no_browser_knows(declaration: str) -> None:
    assert is_dead_declaration(declaration)
    assert drop_dead_prefixes(f"a{{{declaration};top:0}}b{{left:0;{declaration}}}") == "a{top:0}b{left:0;}"


@pytest.mark.parametrize("declaration", LIVING)
def test_a_declaration_that_some_browser_knows(declaration: str) -> None:
    assert not is_dead_declaration(declaration)
    text = f"a{{{declaration};-x:0}}"
    assert drop_dead_prefixes(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{-ms-flex:1}b{top:0}", "b{top:0}"),
        ("@media print{a{-o-x:1;}}b{top:0}", "b{top:0}"),
        ("@-ms-viewport{width:device-width}@-o-keyframes x{to{top:0}}b{top:0}", "b{top:0}"),
        ("/*! L */a{/* x */-ms-flex:1;top:0}", "/*! L */a{/* x */top:0}"),
        ("a{top:0;& b{-ms-flex:1;left:0}}", "a{top:0;& b{left:0}}"),
        ("@keyframes x{to{-ms-transform:none;top:0}}", "@keyframes x{to{top:0}}"),
        ("@supports (-ms-ime-align:auto){a{-ms-flex:1;top:0}}", "@supports (-ms-ime-align:auto){a{top:0}}"),
    ],
)
def test_rules_and_blocks(text: str, expected: str) -> None:
    assert drop_dead_prefixes(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a::-ms-clear,b{top:0}", "@media (-ms-high-contrast:none){a{top:0}}", "@-moz-document url-prefix(){a{top:0}}",
        "@layer a{b{-webkit-x:1}}", "a{--x:{-ms-flex:1}}", "a{\\--x:{-ms-flex:1}}", "@font-face{-ms-x:1;src:url(a)}",
        "x;a{-ms-flex:1}", "@media print{-ms-flex:1;a{top:0}}", "a{-ms-flex:1}@import 'b.css';",
        "<!-- a{-ms-flex:1} -->",
        "a{background:url(-ms-flex:1;)}", "a{-ms-flex/**/:1}", "@-moz-keyframes x{to{top:0}}",
    ],
)  # fmt: skip
def test_what_stays(text: str) -> None:
    assert drop_dead_prefixes(text) == text


TWINS = [
    ("a{-webkit-transform:none;-ms-transform:none;transform:none}", "a{transform:none}"),
    ("a{-webkit-border-radius:1px 2px;-moz-appearance:none;border-radius:1px 2px}",
     "a{-moz-appearance:none;border-radius:1px 2px}"),
    ("a{-webkit-flex:1 1 0;flex:1 1 0;-webkit-order:1;order:1;}", "a{flex:1 1 0;order:1;}"),
    ("a{-webkit-filter:none !important;filter:none !important}", "a{filter:none !important}"),
    ("@-webkit-keyframes x{to{top:0}}@keyframes x{to{top:0}}", "@keyframes x{to{top:0}}"),
    ("@-webkit-keyframes x{to{-webkit-transform:none;transform:none}}", "@-webkit-keyframes x{to{transform:none}}"),
    ("/* --> */a{-webkit-box-shadow:none;box-shadow:none}", "/* --> */a{box-shadow:none}"),
    ("a{display:-webkit-box;display:-ms-flexbox;display:flex;color:red}", "a{display:flex;color:red}"),
    ("a{top:0;display:-webkit-inline-box!important;display: Inline-Flex !important}",
     "a{top:0;display: Inline-Flex !important}"),
    ("a{background:#fff;background:-webkit-gradient(linear,left top,right top,from(#fff),to(red));"
     "background: linear-gradient( 90deg, #fff,  red 50%, rgba(0, 0, 0, .5) )}",
     "a{background: linear-gradient( 90deg, #fff,  red 50%, rgba(0, 0, 0, .5) )}"),
    ("a{background-image:-o-linear-gradient(top,#fff 0,#ddd 99%);background-image:url(a.png);"
     "background-image:repeating-linear-gradient(to top left,#fff 0,#ddd 2em)}",
     "a{background-image:repeating-linear-gradient(to top left,#fff 0,#ddd 2em)}"),
    ("a{-webkit-transition:-webkit-transform 1s;-moz-transition:-moz-transform 1s;transition:transform 1s}",
     "a{transition:transform 1s}"),
    ("a{-webkit-box-sizing:border-box;-moz-box-sizing:border-box;box-sizing:border-box}", "a{box-sizing:border-box}"),
    ("@-moz-keyframes x{to{top:0}}@keyframes x{to{top:0}}", "@keyframes x{to{top:0}}"),
    ("a{-ms-x:0;background:#000;background:rgba(0, 0, 0, .5)}", "a{background:rgba(0, 0, 0, .5)}"),
    ("a{transition:opacity 1s,-webkit-transform 1s;transition:opacity 1s, transform .5s ease-in 2s}",
     "a{transition:opacity 1s, transform .5s ease-in 2s}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TWINS)
def test_what_follows_without_a_prefix_replaces_what_has_one(text: str, expected: str) -> None:
    assert drop_dead_prefixes(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a{-webkit-transform:none}", "a{-webkit-transform:none;transform:scale(2)}",
        "a{-webkit-transform:none;top:0;transform:none}", "a{transform:none;-webkit-transform:none}",
        "a{-webkit-transform:none!important;transform:none}", "a{-webkit-user-select:none;user-select:none}",
        "a{-webkit-mask:none;mask:none}", "a{-webkit-transform:none}a{transform:none}",
        "a{-webkit-transform:none/* why */;transform:none}", "a{/* why */-webkit-transform:none;transform:none}",
        "a{display:-webkit-box;display:flex!important}", "a{display:block;display:contents}",
        "a{display:-webkit-box/* why */;display:flex}", "a{display:-webkit-box;top:0;display:flex}",
        "a{background:-webkit-linear-gradient(left,red,blue);background:linear-gradient(left,red,blue)}",
        "a{background:#fff;background:linear-gradient(to top,red,rde)}",
        "a{background:#fff;background:linear-gradient(to top,red)}",
        "a{background-color:red;background:linear-gradient(to top,red,blue)}",
        "a{-webkit-transition:-webkit-transform 1s;transition:opacity 1s}", "a{-moz-hyphens:none;hyphens:none}",
        "a{-webkit-animation-name:-webkit-x;animation-name:x}",
        "a{-webkit-x:0;color:red;color:rde}", "a{-webkit-x:0;color:red;color:lab(0 0 0)}",
        "a{-webkit-x:0;transition:none;transition:inherit 1s}", "a{-webkit-x:0;transition:none;transition:top 1}",
        "a{-webkit-x:0;color:red;background:red}", "a{-webkit-x:0;color:red!important;color:blue}",
        "@keyframes x{to{top:0}}@-webkit-keyframes x{to{top:0}}",
        "@-webkit-keyframes x{to{top:0}}@keyframes y{to{top:0}}",
        "@-webkit-keyframes x{to{top:0}}@media print{@keyframes x{to{top:0}}}",
    ],
)  # fmt: skip
def test_what_no_other_word_replaces_stays(text: str) -> None:
    assert drop_dead_prefixes(text) == text


def test_a_browser_applies_the_same_without_prefixes(browser: Browser) -> None:
    """What a browser holds of a rule, which knows both words."""
    applied = """JSON.stringify(%s.map(text => {
        const sheet = new CSSStyleSheet()
        sheet.replaceSync(text)
        return [...sheet.cssRules].filter(rule => rule.selectorText).map(rule => rule.cssText)
    }))"""
    rules = [pair for pair in TWINS if "keyframes" not in pair[0]]
    before, after = (json.loads(browser.evaluate(applied % json.dumps(texts))) for texts in zip(*rules, strict=True))
    assert before == after


KNOWN = """(([dead, living]) => {
    const knows = text => CSS.supports(...text.replace(/ ?!important/, '').split(/ ?: ?(.*)/s).slice(0, 2))
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('@-ms-viewport{a:b}@-o-viewport{a:b}@-o-keyframes x{}@-ms-keyframes x{}@-khtml-keyframes x{}')
    const names = []
    for (const name in document.documentElement.style) names.push(name)
    return JSON.stringify([
        dead.filter(knows), living.filter(knows), sheet.cssRules.length,
        names.filter(name => /^-(o|ms|khtml|moz)-|^(o|ms|khtml|moz)[A-Z]|^(O|Ms|Khtml|Moz)[A-Z]/.test(name)),
    ])
})(%s)"""


def test_the_browser_knows_none_of_them(browser: Browser) -> None:
    valid = [each for each in LIVING if each.startswith(("transition", "will-change", "animation", "background:var"))]
    dead, living, at_rules, names = json.loads(browser.evaluate(KNOWN % json.dumps([DEAD, valid])))
    assert (dead, living, at_rules, names) == ([], valid, 0, [])
