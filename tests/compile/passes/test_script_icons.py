"""script-icons: of the icons that a script holds, those that the site names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.formats.characters import ANY_ICON, drop_icons, icons_named, page_writing
from adaptc.formats.html.document import parse

LIBRARY = 'var n="___FONT_AWESOME___";'


def icon(name: str, *others: str | int) -> str:
    names = ",".join(str(each) if isinstance(each, int) else f'"{each}"' for each in others)
    return (
        f'"{name}":[512,512.5,[{names}],"f0{len(name):02x}","M1 {len(name)}c-4.4 0-8 3.6-8 8v32c0 4.4 3.6 8 8 8h488z"]'
    )


def script(*icons: str, start: str = LIBRARY) -> str:
    others = ",".join(icon(f"other-{number}") for number in range(60))
    return f"{start}define('fas',{{{','.join([*icons, others])}}});"


def names_in(text: str) -> list[str]:
    return [name for name in re.findall(r'["\']?([\w-]+)["\']?\s*:\s*\[', text) if not name.startswith("other")]


def page(body: str, head: str = "") -> str:
    return (
        f"<!DOCTYPE html><html><head><title>t</title><script defer src=i.js></script>{head}</head><body>{body}</body>"
    )


SET = script(icon("sun"), icon("mug", 9749, "coffee"), icon("x"), "7:[1,2,[],'37','M7']")


def test_an_icon_stays_by_any_of_its_names():
    shorter, count = drop_icons(SET, {"coffee", "7"}) or ("", 0)
    assert names_in(shorter) == ["mug", "7"] and count == 62
    assert shorter.startswith(LIBRARY) and shorter.endswith("});")
    assert drop_icons(shorter, {"coffee", "7"}) is None  # there are too few for a set


def test_an_icon_of_two_colours_and_white_space_are_read():
    spaced = SET.replace("],", "] ,\n  ").replace('"sun":[', "'sun' : [ ").replace('"M1 3c', '["M1 3c', 1)
    spaced = re.sub(r'(\["M1 3c[^"]*")', r'\1, "M2"]', spaced, count=1)
    shorter, _ = drop_icons(spaced, {"x"}) or ("", 0)
    assert names_in(shorter) == ["x"]


@pytest.mark.parametrize(
    "text",
    [
        SET.replace("___FONT_AWESOME___", "icons"),
        SET + "work();" * 3000,
        "\n".join(f'var fa{n}={{iconName:"i{n}",icon:[1,2,[],"f{n}","M{n}"]}};' for n in range(99)) + LIBRARY,
        SET + "'",
    ],
    ids=["of another library", "mostly something else", "icons one by one", "does not lex"],
)
def test_other_scripts_stay(text):
    assert drop_icons(text, {"sun"}) is None


def test_an_icon_in_a_string_is_no_icon():
    text = SET + "var s='" + icon("sun") + "';"
    shorter, _ = drop_icons(text, {"x"}) or (text, 0)
    assert "'" + icon("sun") + "'" in shorter


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('<i class="fas fa-sun fa-fw"></i>', ("fw", "sun")),
        ("el.className='fa fa-moon'", ("moon",)),
        ('{"icon":"fa-brands fa-github"}', ("brands", "github")),
        ('s.shims=[["close",null,"times"],["file-o","far","file"]]', ("file", "times")),
        (LIBRARY + 'a="fa-"+b;c="fa-sun"', ()),
        ('{"version":3,"sources":["a"],"x":"fa-sun"}', ()),
        ("fabulous far-off words", ()),
    ],
)
def test_names_are_those_that_a_text_writes(text, names):
    assert icons_named(text) == names


@pytest.mark.parametrize(
    "text",
    [
        'i.className = "fa-" + name',
        "i.className = `fa-${name}`",
        "FontAwesome.icon({prefix})",
        'draw({iconName:"sun", p:"fa-"})',
        "FontAwesomeConfig={searchPseudoElements:true}",
        "<script data-search-pseudo-elements src=fa-all.js>",
        'findIconDefinition({prefix: "fas", iconName})',
    ],
)
def test_who_asks_for_icons_otherwise_may_ask_for_all(text):
    assert ANY_ICON in icons_named(text)


@pytest.mark.parametrize(
    ("body", "is_any"),
    [
        ('<i class="fas">home</i>', True),
        ('<p><i title=x class="mr-1 fa-solid" style="color:red">&#xf015;</i></p>', True),
        ('<i class="fas fa-sun"></i> words <b class="fade">more</b>', False),
    ],
)
def test_a_glyph_as_text_may_be_any_icon(body, is_any):
    text = page(body)
    assert (ANY_ICON in page_writing(text, parse(text)).icons_named) is is_any


def moderate(site: BuiltSite) -> str:
    site.build(build__levels=("full", "lossless", "moderate"))
    return site.read("i.js", "moderate").decode()


def test_a_site_keeps_the_icons_that_its_files_name(tmp_path: Path):
    files = {
        "index.html": page('<p>words</p><i class="fa fa-sun"></i>'),
        "a.js": "x.innerHTML=\"<i class='fa fa-x'></i>\"",
        "d.json": '["fa-coffee"]',
        "a.css": ".fa-other-1:before{content:'x'}",
        "i.js": SET,
    }
    site = BuiltSite(tmp_path).write(files)
    assert names_in(moderate(site)) == ["sun", "mug", "x"]
    assert site.read("i.js", "lossless").decode().count("other-") == 60
    site.write({"more.html": page('<i class="fa-solid fa-7"></i>')})
    assert names_in(moderate(site)) == ["sun", "mug", "x", "7"]
    clean = BuiltSite(tmp_path / "clean").write({**files, "more.html": page('<i class="fa-solid fa-7"></i>')})
    assert moderate(clean) == moderate(site)
    site.write({"a.js": 'x.className="fa fa-"+y'})
    assert moderate(site).count("other-") == 60


def test_a_script_that_reads_sheets_only_where_that_is_turned_on_is_no_hindrance(tmp_path: Path):
    reading = "if(c.searchPseudoElementsFullScan)a();else for(const s of document.styleSheets)read(s.cssRules);"
    files = {"index.html": page("<p>words</p>", "<link rel=stylesheet href=a.css>"), "i.js": LIBRARY + reading}
    site = BuiltSite(tmp_path).write({**files, "a.css": "p{color:red}.never{color:blue}"})
    moderate(site)
    assert b"p{color:red}" in site.read("index.html", "moderate")
    on = page("<p>words</p>", "<link rel=stylesheet href=a.css>").replace("defer", "data-search-pseudo-elements defer")
    site.write({"index.html": on})
    moderate(site)
    assert b"p{color:red}" not in site.read("index.html", "moderate")
    site.write({"index.html": files["index.html"], "i.js": "x={searchPseudoElements:!0};" + reading})
    moderate(site)
    assert b"p{color:red}" not in site.read("index.html", "moderate")
