"""sheet-fonts and font-preloads: fonts as WOFF2, in front of what the sheet has."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import pytest
from fontTools.feaLib.builder import addOpenTypeFeaturesFromString
from fontTools.ttLib import TTFont

from tests.samples.icon_font import HOME, icon_font
from tests.sites.built import BuiltSite

from adaptc.formats.characters import FEATURES, page_writing, sheet_writing, shown_characters, text_writing, used_icons
from adaptc.formats.css.fonts import OfferedFont, offer_fonts, set_font_display, unicode_ranges
from adaptc.formats.font import woff2_font, woff2_subset
from adaptc.formats.html.document import parse

TRUETYPE = icon_font(None)
LONG = "".join(f".name-{n}{{color:#{n * 7919 % 4096:03x}}}" for n in range(2000))  # a sheet that stays a file
SHEET = '@font-face{font-family:I;src:local("I"),url(../fonts/i.ttf)}' + LONG
PAGE = (
    "<!DOCTYPE html><html lang=en><head><title>t</title><link rel=preload as=font type=font/ttf crossorigin "
    'href="fonts/i.ttf"><link rel=stylesheet href="css/a.css"></head><body><p>words</p></body></html>'
)
FILES = {"index.html": PAGE, "css/a.css": SHEET, "fonts/i.ttf": TRUETYPE}


# ---- the font


@pytest.mark.parametrize("flavor", [None, "woff"])
def test_a_font_keeps_its_glyphs_and_tables(flavor: str | None) -> None:
    source = icon_font(flavor)
    converted = woff2_font(source)
    assert converted is not None and len(converted) < len(source)
    before, after = TTFont(io.BytesIO(source)), TTFont(io.BytesIO(converted))
    assert after.flavor == "woff2" and after.getGlyphOrder() == before.getGlyphOrder()
    assert after.getBestCmap() == before.getBestCmap()
    assert all(after["glyf"][name] == before["glyf"][name] for name in before.getGlyphOrder())
    assert after.getTableData("GSUB") == before.getTableData("GSUB")


@pytest.mark.parametrize("content", [b"", b"wOFF", TRUETYPE[:5000], b"\0" * 3_000_000])
def test_what_is_no_font_stays(content: bytes) -> None:
    assert woff2_font(content) is None
    assert woff2_subset(content, frozenset({HOME})) is None


def test_what_is_woff2_already_stays() -> None:
    assert woff2_font(icon_font("woff2")) is None


# ---- the sheet


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("src:url(a.ttf)", 'src:url("new") format("woff2"),url(a.ttf)'),
        ("src:local(A), url(a.ttf)", 'src:local(A), url("new") format("woff2"),url(a.ttf)'),
        (
            "src:url(a.eot);src:url(a.eot?#iefix) format('embedded-opentype'),url(a.woff) format('woff')",
            "src:url(a.eot);src:url(a.eot?#iefix) format('embedded-opentype'),"
            'url("new") format("woff2"),url(a.woff) format(\'woff\')',
        ),
        ("src:url(a.svg) format('svg')", None),
        ("font-family:A", None),
    ],
)
def test_the_copy_stands_before_the_file_that_browsers_chose(before: str, after: str | None) -> None:
    sheet = "p{color:red}@font-face{font-family:A;%s}a{b:c}"
    written = offer_fonts(sheet % before, lambda _url, _within: OfferedFont("new")).replace("url(new)", 'url("new")')
    assert written == sheet % (after or before)


def test_font_display_is_set_where_the_sheet_does_not() -> None:
    own = "@font-face{font-family:B;src:url(b);font-display:block}"
    assert set_font_display("@font-face{font-family:A;src:url(a)}" + own, "swap") == (
        "@font-face{font-display:swap;font-family:A;src:url(a)}" + own
    )


# ---- the site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    made = BuiltSite(tmp_path_factory.mktemp("fonts")).write(FILES)
    made.build(build__levels=["full", "web"])
    return made


def test_sheet_and_preload_name_the_same_file(site: BuiltSite) -> None:
    offered = re.search(r'local\("I"\),url\("?\.\./(_adaptc/\w+\.woff2)"?\) format\("woff2"\),url\(\.\./fonts/i\.ttf\)',
                        site.read("css/a.css", "web").decode())  # fmt: skip
    assert offered is not None
    assert site.read(offered[1], "web").startswith(b"wOF2")
    page = site.read("index.html", "web").decode()
    assert re.search(r"<link[^>]*href=\"?(_adaptc/\w+\.woff2)", page)[1] == offered[1]  # type: ignore[index]
    assert "font/woff2" in page and "i.ttf" not in page


def test_a_second_build_does_nothing(site: BuiltSite) -> None:
    assert site.built(build__levels=["full", "web"]) == {}


def test_each_part_has_its_switch(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    (tmp_path / "adaptc.toml").write_text('[levels.web.sheet-fonts]\nwoff2 = false\ndisplay = "swap"\n')
    from adaptc import build
    from adaptc.workflow.configuration import load_config

    settings = {"docroot": site.docroot, "output": site.output, "build.levels": ["web"], "build.effort": "fast"}
    build(load_config(tmp_path / "adaptc.toml", settings), isolated=False)
    sheet = site.read("css/a.css", "web").decode()
    assert "woff2" not in sheet and sheet.startswith("@font-face{font-display:swap;")
    assert "i.ttf" in site.read("index.html", "web").decode()


# ---- subsets


@pytest.mark.parametrize("flavor", [None, "woff", "woff2"])
def test_a_subset_draws_its_characters_as_the_font(flavor: str | None) -> None:
    source = icon_font(flavor)
    subset = woff2_subset(source, frozenset({0x61, HOME, 0x20}))
    assert subset is not None and len(subset) < len(source) / 10
    before, after = TTFont(io.BytesIO(source)), TTFont(io.BytesIO(subset))
    assert set(after.getBestCmap()) == {0x61, HOME}
    for code in (0x61, HOME):
        glyphs = [(font, font.getBestCmap()[code]) for font in (before, after)]
        (one, other) = (font["glyf"][name].getCoordinates(font["glyf"])[0] for font, name in glyphs)
        assert one == other
    assert after["name"].getDebugName(0) == "Us"


def test_a_font_with_bounds_that_are_no_bounds_is_not_moved() -> None:
    """A browser moves an outline by the difference of its left bearing and its bound (OpenType, hmtx)."""
    font = TTFont(io.BytesIO(TRUETYPE), recalcBBoxes=False)
    font["glyf"]["icon0"].xMin -= 40
    output = io.BytesIO()
    font.save(output)
    for made in (woff2_subset(output.getvalue(), frozenset({HOME})), woff2_font(output.getvalue())):
        assert made is not None
        after = TTFont(io.BytesIO(made), recalcBBoxes=False)
        name = after.getBestCmap()[HOME]
        assert after["glyf"][name].xMin == font["glyf"]["icon0"].xMin


def test_a_protected_font_has_no_subset() -> None:
    assert woff2_subset(icon_font(None, fs_type=0x100), frozenset({HOME})) is None


def with_features() -> bytes:
    """A font in which "a" is another glyph in small capitals, and twice "a" a third one wherever it stands."""
    font = TTFont(io.BytesIO(TRUETYPE))
    letter = font.getBestCmap()[0x61]
    rules = f"feature smcp {{ sub {letter} by icon0; }} smcp; feature liga {{ sub {letter} {letter} by icon1; }} liga;"
    addOpenTypeFeaturesFromString(font, rules)
    output = io.BytesIO()
    font.save(output)
    return output.getvalue()


@pytest.mark.parametrize(("every", "features"), [(True, {"smcp", "liga"}), (False, {"liga"})])
def test_a_subset_has_the_features_that_browsers_use_by_themselves(every: bool, features: set[str]) -> None:
    subset = woff2_subset(with_features(), frozenset({0x61}), every_feature=every)
    assert subset is not None
    font = TTFont(io.BytesIO(subset))
    assert {each.FeatureTag for each in font["GSUB"].table.FeatureList.FeatureRecord} == features
    assert len(font.getGlyphOrder()) == 2 + len(features)


@pytest.mark.parametrize(
    "text",
    [
        "a{font-variant:small-caps}", "a{font:small-caps 1em serif}", "a{FONT-VARIANT-NUMERIC:tabular-nums}",
        'a{-webkit-font-feature-settings:"smcp"}', "a{font-feature-settings:'liga' 0}", "e.style.fontVariant = caps",
        "a{font-feature-settings:var(--x)}", "set('font-' + 'feature-settings')", '@import "https://a.example/a.css";',
        "a{font-variant:normal;font-variant-caps:all-small-caps}", "a{font-variant:none ordinal}",
    ],
)  # fmt: skip
def test_what_may_turn_on_features(text: str) -> None:
    writings = text_writing(text), sheet_writing(text), page_writing(text, parse(f"<style>{text}</style>"))
    assert all(FEATURES in writing.characters for writing in writings)


@pytest.mark.parametrize(
    "text",
    [
        "a{font-variant:normal;color:red}", "a{font-variant : inherit}", "a{font-feature-settings:'liga' 1}",
        '.i{-webkit-font-feature-settings:"liga";-moz-font-feature-settings:"liga"}', "a{font-kerning:none}",
        "@import 'b.css';", "a{background:url(//a.example/b.png)}",
    ],
)  # fmt: skip
def test_what_turns_on_none(text: str) -> None:
    assert FEATURES not in sheet_writing(text).characters


def test_sheets_and_scripts_of_other_sites_may_turn_on_features() -> None:
    for markup in ("<link rel=stylesheet href=//a.example/a.css>", "<script src=https://a.example/a.js></script>"):
        assert FEATURES in page_writing(markup, parse(markup)).characters
    own = "<link rel=stylesheet href=a.css><script src=/a.js></script><a href=https://a.example/>a</a>"
    assert FEATURES not in page_writing(own, parse(own)).characters


@pytest.mark.parametrize(("rule", "features"), [("", {"liga"}), ("b{font-variant:small-caps}", {"liga", "smcp"})])
def test_a_site_that_uses_a_feature_keeps_it(rule: str, features: set[str], tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({**FILES, "fonts/i.ttf": with_features(), "more.css": rule})
    site.built(build__levels=["full", "web"])
    offered = re.findall(r"_adaptc/\w+\.woff2", site.read("css/a.css", "web").decode())
    font = TTFont(io.BytesIO(site.read(offered[0], "web")))
    assert len(font.getGlyphOrder()) < 100
    assert {each.FeatureTag for each in font["GSUB"].table.FeatureList.FeatureRecord} == features


def test_preformatted_text_needs_no_other_part_of_a_font() -> None:
    assert {0x09, 0x0A, 0x0D, 0x20} <= shown_characters(())


def test_ranges_are_as_few_as_possible() -> None:
    assert unicode_ranges({0x20, 0x41, 0x43}, {0x42, 0x3B1, 0x3B2}) == ("U+0-41,U+43-3B0", "U+42,U+3B1-10FFFF")
    assert unicode_ranges({0x41}, set()) == ("U+0-10FFFF", "")
    within = ((0x20, 0x2F), (0x41, 0x42), (0x44, 0x44), (0x400, 0x4FF))
    assert unicode_ranges({0x41, 0x431}, {0x42, 0x430}, within) == ("U+20-2F,U+41,U+431-4FF", "U+42,U+44,U+400-430")


FACE = "@font-face{font-family:C;src:url(../fonts/c.ttf)}p{font-family:C}"
CYRILLIC = {
    "index.html": PAGE.replace("i.ttf", "c.ttf").replace("words", "words &#x431;"),
    "css/a.css": FACE + LONG,
    "fonts/c.ttf": icon_font(None, first=0x430),
}


def test_the_characters_of_the_site_come_first(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(CYRILLIC)
    site.built(build__levels=["full", "web"])
    sheet = site.read("css/a.css", "web").decode()
    faces = re.findall(r"@font-face\{unicode-range:([^;]+);font-family:C;src:url\(([^)]+)\)", sheet)
    assert [ranges for ranges, _ in faces] == ["U+0-42F,U+431,U+2010-10FFFF", "U+430,U+432-200F"]
    subset, whole = (site.read(f"css/{url}".replace("css/../", ""), "web") for _, url in faces)
    assert len(subset) < 0.6 * len(whole) and whole == woff2_font(CYRILLIC["fonts/c.ttf"])  # type: ignore[arg-type]
    assert set(TTFont(io.BytesIO(subset)).getBestCmap()) >= {0x61, 0x431}
    page = site.read("index.html", "web").decode()
    assert re.search(r"<link[^>]*href=\"?(_adaptc/\w+\.woff2)", page)[1] in faces[0][1]  # type: ignore[index]


def test_another_character_makes_another_subset(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(CYRILLIC)
    site.built(build__levels=["full", "web"])
    site.write({"data.json": '{"text": "\\u0432"}'})
    site.built(build__levels=["full", "web"])
    assert "U+0-42F,U+431-432,U+2010-10FFFF;" in site.read("css/a.css", "web").decode()
    site.write({"more.html": "<!DOCTYPE html><meta charset=utf-8><title>m</title><p>б"})
    assert "web/css/a.css" not in site.built(build__levels=["full", "web"])


def embedded(content: bytes, kind: str = "font/ttf") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize("flavor", [None, "woff", "woff2"])
def test_a_font_in_the_sheet_is_what_the_site_shows_of_it(flavor: str | None, tmp_path: Path) -> None:
    font = icon_font(flavor, first=0x430)
    face = f"@font-face{{font-family:C;src:url({embedded(font)}) format('woff')}}p{{font-family:C}}"
    site = BuiltSite(tmp_path).write({"index.html": CYRILLIC["index.html"], "css/a.css": face + LONG})
    site.built(build__levels=["full", "web"])
    sheet = site.read("css/a.css", "web").decode()
    faces = re.findall(r"@font-face\{unicode-range:([^;]+);font-family:C;src:url\(([^)]+)\)", sheet)
    assert [ranges for ranges, _ in faces] == ["U+0-42F,U+431,U+2010-10FFFF", "U+430,U+432-200F"]
    assert sheet.count("data:") == 1 and faces[0][1].startswith("data:font/woff2;base64,")
    subset = base64.b64decode(faces[0][1].partition(",")[2])
    whole = site.read(f"css/{faces[1][1]}".replace("css/../", ""), "web")
    assert whole == (font if flavor == "woff2" else woff2_font(font))
    assert set(TTFont(io.BytesIO(subset)).getBestCmap()) >= {0x61, 0x431}
    assert len(subset) < 0.6 * len(whole)


@pytest.mark.parametrize(
    ("source", "is_changed"),
    [
        (f"url({embedded(TRUETYPE)});unicode-range:U+0-FFFF", True),
        ("url('data:application/font-woff;base64,WOFF') format('woff');unicode-range:U+0-FFFF", True),
        ("url(data:font/ttf;base64,WOFF2);unicode-range:U+0-FFFF", True),
        ("url(data:font/ttf;base64,WOFF2);unicode-range:U+41-42", False),
        (f"url({embedded(TRUETYPE[:5000])})", False),
        (f"url({embedded(TRUETYPE)}),url(x.svg)", False),
        (f"local(A),url({embedded(TRUETYPE)})", False),
        (f"url(data:font/ttf,abc);src:url({embedded(TRUETYPE)})", False),
        ("url(data:font/ttf,abc)", False),
    ],
)
def test_a_font_in_the_sheet_is_woff2_where_it_is_the_only_choice(
    source: str, is_changed: bool, tmp_path: Path
) -> None:
    source = re.sub(r"(?<=,)WOFF2?", lambda kind: base64.b64encode(icon_font(kind[0].lower())).decode(), source)
    site = BuiltSite(tmp_path).write({**FILES, "css/a.css": f"@font-face{{font-family:I;src:{source}}}" + LONG})
    site.built(build__levels=["full", "web"])
    sheet = site.read("css/a.css", "web").decode()
    assert sheet.count("data:font/woff2;base64,") == is_changed
    if is_changed:
        assert sheet.count("data:") == 1 and 'format("woff2");unicode-range' in sheet


@pytest.mark.parametrize(
    ("ranges", "parts"),
    [
        ("U+0-FFFF", ["U+0-42F,U+431,U+2010-FFFF", "U+430,U+432-200F"]),
        ("u+04??, U+20", ["U+20,U+400-42F,U+431", "U+430,U+432-4FF"]),
        ("U+430-44F", ["U+431", "U+430,U+432-44F"]),
        ("U+432-44F", ["U+432-44F"]),  # browsers do not load it
        ("U+0-FFFFFF", ["U+0-FFFFFF"]),
        ("U+5-2,U+400-500", ["U+5-2,U+400-500"]),
        ("none", ["none"]),
    ],
)
def test_a_rule_for_some_characters_is_divided_within_them(ranges: str, parts: list[str], tmp_path: Path) -> None:
    face = f"@font-face{{font-family:C;unicode-range:{ranges};src:url(../fonts/c.ttf)}}"
    site = BuiltSite(tmp_path).write(CYRILLIC | {"css/a.css": face + LONG})
    site.built(build__levels=["full", "web"])
    sheet = site.read("css/a.css", "web").decode()
    found = re.findall(r"@font-face\{font-family:C;unicode-range:([^;]+);src:url\(../_adaptc/", sheet)
    assert [each.lower() for each in found] == [each.replace(", ", ",").lower() for each in parts]


def test_icons_count_where_pages_have_their_classes(tmp_path: Path) -> None:
    rules = "".join(f".i-{n:03}::before{{content:'\\{HOME + n:x}'}}" for n in range(200))
    page = PAGE.replace("words", "<i class='i i-007'></i>")
    site = BuiltSite(tmp_path).write({**FILES, "index.html": page, "css/a.css": SHEET + rules})
    site.built(build__levels=["full", "web", "moderate"])
    sheet = site.read("css/a.css", "web").decode()
    assert f",U+{HOME + 7:X};" in sheet
    assert sheet.count('src:local("I"),url(../_adaptc/') == 2
    assert "unicode-range" not in site.read("css/a.css", "moderate").decode()


@pytest.mark.parametrize(
    "script",
    [
        """menu.before('<button class="i i-008">')""", "a.className = 'i-008'", "a.classList.add(`i-008`)",
        '$(a).toggleClass("i-008")', 'el("i", {class: "i-008"})', r'a = "<i class=\"i-008\">"',
    ],
)  # fmt: skip
def test_icons_count_whose_classes_a_script_writes_out(script: str) -> None:
    rules = "".join(f".i-{n:03}::before{{content:'\\{HOME + n:x}'}}" for n in range(200))
    page = page_writing(script, parse(f"<script>{script}</script>"))
    for writing in (text_writing(script), page):
        assert used_icons(sheet_writing(rules).icons, writing.classes) == chr(HOME + 8)
    assert text_writing("classes = 'i-008'; a.title = 'i-008'").classes == ()


@pytest.mark.parametrize(
    "text", ["a <q>b</q>", "<Q lang=de>b</q>", "a::before{content:open-quote}", "e.innerHTML = '<q>'"]
)
def test_quotes_count_where_browsers_write_them(text: str) -> None:
    writings = text_writing(text), sheet_writing(text), page_writing(text, parse(text))
    assert all("\u201e" in writing.characters for writing in writings)
    others = text_writing("<qa>q{quotes:none}"), page_writing("<p>a</p>", parse("<p>a</p>"))
    assert not any(each.characters for each in others) and 0x201E not in shown_characters([])


# ---- style elements


OWN = "@font-face{font-family:C;src:url(fonts/c.ttf)}p{font-family:C}"
STYLED = CYRILLIC["index.html"].replace('<link rel=stylesheet href="css/a.css">', f"<style>{OWN}</style>")


def test_the_fonts_of_style_elements_are_offered_likewise(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(CYRILLIC | {"deep/index.html": STYLED.replace("fonts/", "../fonts/")})
    site.built(build__levels=["full", "web"])
    page = site.read("deep/index.html", "web").decode()
    urls = re.findall(r"unicode-range:U\+[^;]+;font-family:C;src:url\(\"?\.\./(_adaptc/\w+\.woff2)", page)
    sheet = site.read("css/a.css", "web").decode()
    assert len(urls) == 2 and all(url in sheet for url in urls)
    assert re.search(r"<link[^>]*href=\"?\.\./(_adaptc/\w+\.woff2)", page)[1] == urls[0]  # type: ignore[index]


@pytest.mark.parametrize(
    "page",
    [
        STYLED.replace("<head>", "<head><meta http-equiv=Content-Security-Policy content=\"style-src 'sha256-x'\">"),
        STYLED.replace("<head>", '<head><base href="https://other.example/">'),
        STYLED.replace("<style>", "<style type=text/less>"),
        STYLED.replace("<style>", "<noscript><style>").replace("</style>", "</style></noscript>"),
    ],
    ids=["policy", "foreign base", "another language", "noscript"],
)
def test_style_elements_stay_where_a_copy_may_be_wrong(page: str, tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": page, "fonts/c.ttf": CYRILLIC["fonts/c.ttf"]})
    site.built(build__levels=["full", "web"])
    assert "unicode-range" not in site.read("index.html", "web").decode()
