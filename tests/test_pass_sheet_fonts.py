"""sheet-fonts and font-preloads: fonts as WOFF2, in front of what the sheet has."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from built_site import BuiltSite
from fontTools.ttLib import TTFont
from icon_font import icon_font

from adaptc.formats.css.font_faces import offer_fonts, set_font_display
from adaptc.formats.font import woff2_font

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


@pytest.mark.parametrize("content", [b"", b"wOFF", TRUETYPE[:5000], icon_font("woff2"), b"\0" * 3_000_000])
def test_what_is_no_font_or_woff2_already_stays(content: bytes) -> None:
    assert woff2_font(content) is None


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
    written = offer_fonts(sheet % before, lambda _url: "new").replace("url(new)", 'url("new")')
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
    assert site.read(offered[1], "web") == woff2_font(TRUETYPE)
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
