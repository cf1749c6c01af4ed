"""Style sheets without what a page does not use, matched with real pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.browser import Browser, serving

from adaptc.formats.css.fonts import drop_fonts, icon_families
from adaptc.formats.css.prune import LivePruning, prune_sheets
from adaptc.formats.css.selectors import required_names, selector_names, static_selectors
from adaptc.formats.html.cascade import PageMatches, inline_declarations
from adaptc.formats.html.document import parse

PAGE = """<!DOCTYPE html><html lang=en><body class=page><nav id=top><a class="btn md:flex" href=x>a</a></nav>
<ul><li>1<li class=last>2</ul><details><summary>s</summary><p>t</p></details><input type=checkbox>
<svg viewBox="0 0 1 1"/>
</body></html>"""


def used(sheet: str, page: str = PAGE, **options: object) -> str:
    return prune_sheets((sheet,), PageMatches(parse(page)), **options)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rule",
    [
        "a{x:y}", ".btn{x:y}", "#top > a{x:y}", ".none, .btn{x:y}", "A.btn{x:y}", ".md\\:flex{x:y}",
        # states and pseudo-elements, known and unknown
        ".btn:hover{x:y}", ".btn::before{x:y}", ".btn:before{x:y}", ":focus-visible{x:y}", "::selection{x:y}",
        "input:checked ~ svg{x:y}", ":target{x:y}", "a:visited{x:y}",
        "li:-webkit-any-future{x:y}", "details[open]{x:y}",
        # alternatives
        ":is(.none, .btn):hover{x:y}", ":where(nav) a{x:y}", "a:not(.none){x:y}", "a:not(:hover){x:y}",
        "a:not(.btn:focus, :hover){x:y}", "nav:has(a:hover){x:y}", "nav:has(> a){x:y}",
        # structure
        "li:first-child{x:y}", "li:nth-child(2n + 1){x:y}", "li:nth-child(1 of .last:hover){x:y}", ":root{x:y}",
        # what the engine does not know, or is not trusted with
        "svg[viewBox]{x:y}", "nav||a{x:y}", "%{x:y}", "a:not({x:y}", "svg|a{x:y}", "@unknown x{a{x:y}}",
        "/* why */ .btn /* so */ , .none{x:y}",
        # at-rules that must stay
        '@charset "utf-8";', "@import url(a.css);", "@namespace svg url(x);", "@page{margin:0}", "@layer a, b;",
        "@layer a{.none{x:y}}", "@counter-style x{system:cyclic}", "@media print{a{x:y}}", "@supports (x:y){a{x:y}}",
        "@container (width > 1px){.btn{x:y}}", "@scope (.page){:scope > nav{x:y}}", "@starting-style{a{x:y}}",
    ],
)  # fmt: skip
def test_rules_that_can_match_are_not_changed(rule: str) -> None:
    expected = "@layer a{}" if rule == "@layer a{.none{x:y}}" else rule
    assert used(rule) == expected


@pytest.mark.parametrize(
    "rule",
    [
        ".none{x:y}", "#none a{x:y}", ".btn.none{x:y}", "table{x:y}", "a > .btn{x:y}",
        ".none:hover{x:y}", "a:not(.btn){x:y}",
        ":is(.none, .nil) a{x:y}", "nav:has(> .none){x:y}", "[data-x]{x:y}",
        "li:nth-child(3){x:y}", ".none::after{x:y}",
        "@media screen{.none{x:y}}", "@supports (x:y){@media print{.none{x:y}}}", "@layer{.none{x:y}}", "a{}",
        "@keyframes k{to{x:y}}", "@font-face{font-family:F;src:url(f)}", "@property --x{syntax:'*'}", ":root{--x:1}",
        "@media speech{a{x:y}}", "@media tv, handheld and (x){a{x:y}}",
    ],
)  # fmt: skip
def test_rules_that_cannot_match_are_dropped(rule: str) -> None:
    assert used(f"p{{x:y}}{rule}i{{x:y}}p{{x:z}}") == "p{x:y}p{x:z}"


def test_the_space_and_comments_before_a_rule_go_with_it_but_not_licences() -> None:
    assert used("p{x:y}\n/* none */\n.none{x:y}\n/* p */\np{x:z}\n") == "p{x:y}\n/* p */\np{x:z}\n"
    assert used("/*! MIT */\n.none{x:y}") == "/*! MIT */\n"


def test_custom_properties_stay_by_use() -> None:
    sheet = ":root{--a:var(--b);--b:1;--c:2;color:red}.none{--d:1;x:var(--c)}p{x:var(--a)}"
    assert used(sheet) == ":root{--a:var(--b);--b:1;color:red}p{x:var(--a)}"
    assert used("@property --a{syntax:'*'}:root{--a:1}", inline="color:var(--a)").count("--a") == 2
    assert used("@container style(--a: 1){p{x:y}}:root{--a:1}").endswith(":root{--a:1}")


def test_an_escaped_custom_property_keeps_them_all() -> None:
    sheet = ":root{--a\\62:1;--c:2}p{x:var(--ab)}"
    assert used(sheet) == sheet


def test_keyframes_and_fonts_stay_by_use() -> None:
    sheet = (
        "@keyframes k{to{x:var(--k)}}@keyframes l{to{x:y}}p{animation:1s k}:root{--k:1;--f:'My Font'}"
        '@font-face{font-family:"My  Font"}@font-face{font-family:Other}p{font:1em var(--f)}'
    )
    assert used(sheet) == (
        "@keyframes k{to{x:var(--k)}}p{animation:1s k}:root{--k:1;--f:'My Font'}"
        '@font-face{font-family:"My  Font"}p{font:1em var(--f)}'
    )
    assert used("@keyframes k{to{x:y}}:root{--m:k}p{animation:var(--m) 1s}").startswith("@keyframes k")


def test_sheets_of_one_page_use_each_others_definitions() -> None:
    sheets = (":root{--a:1;--b:2}@keyframes k{to{x:y}}", "p{x:var(--a);animation-name:k}.none{x:var(--b)}")
    matches = PageMatches(parse(PAGE))
    assert prune_sheets(sheets, matches) == (":root{--a:1;}@keyframes k{to{x:y}}", "p{x:var(--a);animation-name:k}")


def test_nested_rules_match_below_their_parents() -> None:
    assert used("nav{x:y;.btn{x:y}.none{x:y}&:hover{x:y}> a{x:y}> p{x:y}}") == "nav{x:y;.btn{x:y}&:hover{x:y}> a{x:y}}"
    assert used("ul{@media print{x:y;.btn{x:z}}}") == "ul{@media print{x:y;}}"
    assert used(".none{x:y;a{x:y}}") == ""
    assert used(".none{a:not(&){x:y}}") == ".none{a:not(&){x:y}}"
    assert used(".btn{.page &{x:y}.none &{x:z}}") == ".btn{.page &{x:y}}"


def test_other_media_types_are_dropped() -> None:
    sheet = "@media print{p{x:y}}@media screen and (x){p{x:y}}@media (x), print{p{x:y}}@media not print{p{x:y}}"
    assert used(sheet, media=frozenset({"screen"})) == sheet.removeprefix("@media print{p{x:y}}")


def live(
    *sheets: str, names: frozenset[str] = frozenset(), whole: tuple[int, ...] = (), inline: str = ""
) -> LivePruning:
    return LivePruning(sheets, PageMatches(parse(PAGE)).has, names, whole=whole, inline=inline, is_partial=False)


def test_where_scripts_run_selectors_are_judged_by_names_and_the_rest_waits() -> None:
    sheet = ".menu.open > a{x:y}.open .btn{x:y}[aria-expanded] li{x:y}.open .none{x:y}p:first-child{x:y}"
    pruning = live(sheet, names=frozenset({"open", "menu", "aria-expanded"}))
    assert pruning.texts == (sheet.replace(".open .none{x:y}", ""),)
    assert pruning.saved == len(".open .none{x:y}")
    assert list(pruning.lacking()) == [[".none"]]
    assert {".open", ".btn", "[aria-expanded", "p"} <= set(pruning.known)


def test_of_a_rule_that_waits_every_selector_is_waited_for() -> None:
    sheet = ".a .b,.c > li:hover{x:y}.btn,.d{x:y}@media print{#e{x:y}}li{.f &{x:y}}"
    lacking = [sorted(each) for each in live(sheet).lacking()]
    assert lacking == [[".a", ".b"], [".c"], ["#e"], [".f"]]


def test_sheets_without_a_file_stay_whole() -> None:
    pruning = live(".none{x:y}", ".none{x:z}", whole=(0,))
    assert pruning.texts == (".none{x:y}", "")


def test_definitions_wait_with_the_rules_that_use_them() -> None:
    sheet = (
        "@keyframes late{}@keyframes used{}@keyframes alone{}@keyframes named{}"
        "@font-face{font-family:Late}@font-face{font-family:Alone}:root{--any:1}"
        ".none{animation:late 1s;font:1em Late}.b{animation:named 1s}p{animation:used 1s}"
    )
    pruning = live(sheet, names=frozenset({"named"}))
    assert pruning.definitions == {"late"}
    assert pruning.texts[0] == (
        "@keyframes used{}@keyframes alone{}@keyframes named{}"
        "@font-face{font-family:Alone}:root{--any:1}p{animation:used 1s}"
    )
    assert live(sheet, ".x{animation:late 1s}", whole=(1,)).texts[0].startswith("@keyframes late{}@keyframes used")
    assert live(sheet, inline="animation:late 1s").texts[0].startswith("@keyframes late{}@keyframes used")


def test_quirks_mode_folds_the_case_of_names() -> None:
    page = "<body><p class=Red id=One>"
    assert used(".RED{x:y}#one{x:y}.blue{x:y}", page) == ".RED{x:y}#one{x:y}"
    assert used(".RED{x:y}", "<!DOCTYPE html>" + page) == ""


def test_noscript_and_templates_count() -> None:
    page = "<!DOCTYPE html><noscript><p class=a></p></noscript><template><p class=b></template>"
    matches = PageMatches(parse(page), parse(page, scripting=True))
    assert prune_sheets((".a{x:y}.b{x:y}.c{x:y}",), matches)[0] == ".a{x:y}.b{x:y}"


@pytest.mark.parametrize(
    "sheet", ["p{x:y", "p{x:(y}", ".none{x:y", "p{x:y}}.btn{x:y}", "a:is(b{x:y}", "@media x{", "<!-- p{} -->"]
)
def test_malformed_sheets_lose_nothing_that_applies(sheet: str) -> None:
    assert used("p{x:y}" + sheet).startswith("p{x:y}")
    assert used("p{x:y}}.btn{x:y}") == "p{x:y}}.btn{x:y}"
    assert used(".none{x:y") == ".none{x:y"


def test_inline_declarations() -> None:
    page = parse('<p style="a:var(--b)"><svg><text font-family=F fill="var(--c)"/></svg><font face=G>')
    declarations = inline_declarations(page)
    assert all(part in declarations for part in ("a:var(--b)", "font-family:F", "font-family:G", "used:var(--c)"))
    sheet = ":root{--b:1;--c:2;--d:3}@font-face{font-family:g}"
    assert used(sheet, inline=declarations) == ":root{--b:1;--c:2;}@font-face{font-family:g}"


def test_static_selectors() -> None:
    assert static_selectors("a:hover, .b::before > c") == ("a", ".b > c")
    assert static_selectors(":hover") == ("*",)
    assert static_selectors("a:not(:hover) b:is(:focus, .c)") == ("a b:is(*,.c)",)
    assert static_selectors("&.x", (".p", "q")) == (":is(.p,q).x",)
    assert static_selectors("a >") == ()
    assert required_names("ul.a#b [c]:is(.d) *|E") == {"ul", ".a", "#b", "[c", "e"}


@pytest.mark.parametrize(
    ("selector", "subject"),
    [
        ("ul.a#b", "#b"),
        (".a.b", ".b"),
        ("#a > .b P", "p"),
        ("#a [b].c:is(.d)", ".c"),
        (".a:first-child *", ""),
        (".a :is(.b)", ""),
        (".\\31 a", ".1a"),
    ],
)
def test_the_subject_of_a_selector_is_its_rarest_name(selector: str, subject: str) -> None:
    assert selector_names(selector).subject == subject


@given(
    st.lists(st.sampled_from([*"ab*.#:>~, \n[]()", "::b", ":HOVER", ":root", ":first-child", "|", "--"])).map("".join)
)
def test_plain_selectors_are_read_as_others(prelude: str) -> None:
    with_comment = prelude.replace(",", "/**/,")  # which is not plain
    assert static_selectors(prelude) == static_selectors(f"{with_comment}/**/")
    for selector in static_selectors(prelude):
        assert selector_names(selector) == selector_names(f"{selector}/**/")


def test_an_index_of_many_rules_finds_those_of_the_page() -> None:
    rules = [f".a{n} p,.b{n}{{x:y}}" for n in range(40)]
    sheet = "".join((*rules, "/*! kept */p{x:y}", "*{x:y}", "@media print{", *rules, "}"))
    page = "<div class='a3 b5'><p></p></div>"
    both = rules[3] + rules[5]
    assert used(sheet, page) == f"{both}/*! kept */p{{x:y}}*{{x:y}}@media print{{{both}}}"


ICONS = """@font-face{font-family:'Acme';src:url(acme.woff)}@font-face{font-family:Lato;src:url(lato.woff)}
@font-face{font-family:"Font Awesome 5 Free";src:url(fa.woff)}
@font-face{font-family:Signs;src:url(s.woff);unicode-range:U+E000-E0FF, U+F1??}
body{font-family:Lato,serif}.ac{font:normal 1em/1 Acme}.ac-home:before{content:"\\e001"}"""


def test_icon_fonts_are_recognised() -> None:
    assert icon_families((ICONS,)) == {"acme", "font awesome 5 free", "signs"}
    assert icon_families(("body{x:y}",)) == frozenset()
    assert icon_families(
        ("@font-face{font-family:I}[class^='z-']{font-family:'I'!important}", '.z-a::after{content:"\\f101"}')
    )


def test_text_fonts_are_dropped() -> None:
    without = "@font-face{font-family:Lato;src:url(lato.woff)}"
    assert drop_fonts(ICONS, lambda family: False) == ICONS.replace(without, "")
    assert drop_fonts(ICONS, lambda family: family == "lato") == ICONS
    assert drop_fonts("@media print{@font-face{font-family:X}p{x:y}}", lambda family: False) == "@media print{p{x:y}}"
    assert drop_fonts("@font-face{src:url(x)}", lambda family: False) == "@font-face{src:url(x)}"


NASTY = """@layer base, top;@layer top{p{color:red}}@layer base{p{color:blue;margin:3px}}
:root{--a:7px;--b:calc(var(--a) * 2);--z:9px}.box{padding:var(--b);&:first-child{border:var(--a) solid}> p{color:green}}
.box:not(:hover) p::before{content:"x";width:5px}@media (min-width:1px){.none{top:1px}.box{left:3px;position:relative}}
li:nth-child(odd of .k){color:teal}ul:has(> .k){outline:1px solid}:is(.none,ul)>li{letter-spacing:2px}
@scope (.box){p{text-indent:2px}}@container (width>1px){.box p{word-spacing:4px}}
@supports (color:red){ul{opacity:.5}}"""


@pytest.mark.chromium
def test_a_browser_computes_the_same_styles(browser: Browser, tmp_path: Path) -> None:
    body = "<div class=box><p>a</p></div><ul><li class=k>1<li>2<li class=k>3</ul>"
    page = "<!DOCTYPE html><title>t</title><style>{}</style>" + body
    smaller = prune_sheets((NASTY,), PageMatches(parse(page)))[0]
    (tmp_path / "a.html").write_text(page.replace("{}", NASTY))
    (tmp_path / "b.html").write_text(page.replace("{}", smaller))
    script = """[...document.querySelectorAll('body *')].flatMap(e => [null, '::before'].map(p => {
        const s = getComputedStyle(e, p)
        return [...s].filter(n => !n.startsWith('--')).map(n => n + s.getPropertyValue(n)).join() }))"""
    with serving(tmp_path) as base:
        computed = [(browser.view(base + name), browser.evaluate(script))[1] for name in ("a.html", "b.html")]
    assert computed[0] == computed[1] and len(computed[0]) == 12
    assert len(smaller) < len(NASTY) and "--z" not in smaller
