"""Backgrounds are in the cost of a page: those that a browser loads with it in a wide window."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.samples.drawn import drawing, encoded
from tests.sites.built import BuiltSite

from adaptc.compile.analyse.loaded_backgrounds import own_backgrounds, page_styling, sheet_backgrounds
from adaptc.core.digest import digest_bytes
from adaptc.formats.html.document import parse

# A sheet that stays a file, since it is too large to move into pages
REST = "".join(f"#{digest_bytes(b'%d' % step)}{{margin:0}}" for step in range(1500))
HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"


def loaded(sheet: str, body: str = "<div class=a id=top></div>") -> list[str]:
    """Return the images that a sheet loads with a page, in order."""
    styling = page_styling(body, parse(body))
    return list(styling.loaded("a.css", sheet_backgrounds(sheet)))


@pytest.mark.parametrize(
    ("sheet", "urls"),
    [
        ("div{background:url(1.png)}", ["1.png"]),
        (".a{background-image:url(1.png),url(2.png)}", ["1.png", "2.png"]),
        ("#top::before{content:url(1.png)}", ["1.png"]),
        ("body .a{mask:url(1.svg)} ul{list-style:url(2.png)}", ["1.svg"]),
        ("p,.a{cursor:url(1.cur),auto}", ["1.cur"]),
        (".b{background:url(1.png)} .a.b{background:url(2.png)}", []),
        (".a:hover{background:url(1.png)}", []),
        (".a:hover,.a{background:url(1.png)}", ["1.png"]),
        ("@media print{.a{background:url(1.png)}}", []),
        ("@media (max-width:600px){.a{background:url(1.png)}}", []),
        ("@media (min-width:900px){.a{background:url(1.png)}}", ["1.png"]),
        ("@media (-webkit-min-device-pixel-ratio:2){.a{background:url(1.png)}}", []),
        (".a{background:url(1.png);@media print{background:url(2.png)}}", ["1.png"]),
        (".a{background:url(1.png)} @media (min-width:900px){.a{background-image:url(2.png)}}", ["2.png"]),
        (".a{background:url(1.png)} .a:hover{background:url(2.png)}", ["1.png"]),
        (".a{background:url(1.png);background:image-set(url(2.avif) type('image/avif'),url(1.png))}", ["2.avif"]),
        (".a{background:image-set('2.png' 2x,'1.png' 1x)}", ["1.png"]),
        (".a{background:-webkit-image-set(url(2.png) 2x)}", ["2.png"]),
        (".a{--image:url(1.png)} .a{filter:url(2.svg)} @font-face{src:url(3.woff2)}", []),
        (".a{background:url(data:image/png;base64,AAAA) url(#b)}", []),
    ],
)
def test_a_browser_loads_the_images_of_rules_that_may_apply(sheet: str, urls: list[str]) -> None:
    assert loaded(sheet) == urls


def test_types_whose_tags_may_be_left_out_are_in_every_page() -> None:
    assert loaded("body{background:url(1.png)} table tbody td{background:url(2.png)}", "<table><td>T") == [
        "1.png",
        "2.png",
    ]


@pytest.mark.parametrize(
    ("markup", "urls"),
    [
        ("<p style='background:url(1.png)'>", ["1.png"]),
        ("<p style='background:url(1.png)'><p style='background:url(1.png)'>", ["1.png"]),
        ("<style>p{background:url(1.png)} ul{background:url(2.png)}</style><p>", ["1.png"]),
        ("<style media=print>p{background:url(1.png)}</style><p>", []),
        ("<template><p style='background:url(1.png)'></template>", []),
    ],
)
def test_a_page_loads_the_images_of_its_own_styles(markup: str, urls: list[str]) -> None:
    assert own_backgrounds(markup, parse(markup)) == urls


FACE = "@font-face{font-family:F;src:url(1.eot),url(1.woff2)%s}"
CYRILLIC = ";unicode-range:U+400-45F,U+2116"


@pytest.mark.parametrize(
    ("sheet", "text", "urls"),
    [
        (FACE % "", "Words", ["1.woff2"]),
        (FACE % "" + ".a{font:1em/2 'F'}.b{color:red}", "Words", ["1.woff2"]),
        (FACE % "" + ".a{--font:F,serif}", "Words", ["1.woff2"]),
        (FACE % "" + ".b{font-family:F}", "Words", []),
        (FACE % CYRILLIC, "Words", []),
        (FACE % CYRILLIC, "Words &#1078;", ["1.woff2"]),
        (FACE % "" + "@font-face{font-family:F;font-weight:700;src:url(2.woff2)}", "Words", ["1.woff2"]),
        (
            FACE % ";font-weight:900;unicode-range:U+0-2FF"
            + FACE.replace("1.", "2.") % f";font-weight:900{CYRILLIC}"
            + FACE.replace("1.", "3.") % "",
            "Words",
            ["1.woff2"],
        ),
        (
            FACE % ";font-weight:900;unicode-range:U+0-2FF"
            + FACE.replace("1.", "2.") % f";font-weight:900{CYRILLIC}"
            + FACE.replace("1.", "3.") % "",
            "Words &#1078;",
            ["1.woff2", "2.woff2"],
        ),
        ("@font-face{src:url(3.woff2)}", "Words", []),
    ],
)
def test_a_page_loads_the_fonts_of_its_characters(sheet: str, text: str, urls: list[str]) -> None:
    assert loaded(sheet, f"<div class=a>{text}</div>") == urls


# ---- built sites


def photo(step: int) -> bytes:
    return encoded(drawing(step).resize((300, 225)), "JPEG", quality=95)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltSite:
    """A page with a background by its sheet, and one with another by its markup; the sheet stays a file."""
    monkeypatch.chdir(tmp_path)
    links = "<link rel=stylesheet href=a.css><link rel=stylesheet media=print href=print.css>"
    return BuiltSite(tmp_path).write(
        {
            "index.html": f"{HEAD}{links}<div class=hero>Words</div>",
            "own.html": f"{HEAD}{links}<p style='background:url(own.jpg)'>Words",
            "a.css": ".hero{background:url(hero.jpg)}" + REST,
            "print.css": ".hero,p{background:url(print.jpg)}",
            "hero.jpg": photo(1),
            "own.jpg": photo(2),
            "print.jpg": photo(3),
        }
    )


def figures(site: BuiltSite, level: str = "full") -> dict[str, tuple[int, int]]:
    """Return requests and bytes of each page as the manifest has them."""
    rows = json.loads((site.output / "manifest.json").read_bytes())["resources"]
    pages = {row["path"]: row["levels"][level]["page"] for row in rows if row["path"].endswith(".html")}
    return {path: (page["requests"], page["bytes"]) for path, page in pages.items()}


def size(site: BuiltSite, *paths: str) -> int:
    return sum((site.docroot / path).stat().st_size for path in paths)


def test_the_cost_of_a_page_has_its_backgrounds(site: BuiltSite) -> None:
    site.build(build__levels=["full"])
    assert figures(site) == {
        "index.html": (4, size(site, "index.html", "a.css", "print.css", "hero.jpg")),
        "own.html": (4, size(site, "own.html", "a.css", "print.css", "own.jpg")),
    }


def test_a_background_that_changed_changes_the_figures_of_pages_that_load_it(site: BuiltSite) -> None:
    for step in range(20):  # of few files all figures are made anew
        site.write({f"other-{step}.html": f"{HEAD}Words"})
    site.build(build__levels=["full"])
    before = figures(site)
    site.write({"hero.jpg": photo(5)})
    site.build(build__levels=["full"])
    assert figures(site)["index.html"] == (4, size(site, "index.html", "a.css", "print.css", "hero.jpg"))
    assert figures(site)["own.html"] == before["own.html"]


def test_copies_of_backgrounds_count_with_the_page(site: BuiltSite) -> None:
    script = """<script>document.querySelector("link[href$='a.css']").title = 'T'</script>"""  # so that it stays a file
    site.write({"index.html": f"{HEAD}<link rel=stylesheet href=a.css><div class=hero>Words</div>{script}"})
    result = site.build(build__levels=["full", "lossless", "moderate"])
    assert not [each for each in result.diagnostics if each.id == "pass-failed"]
    page, sheet = site.read("index.html", "moderate"), site.read("a.css", "moderate")
    (copy,) = re.findall(rb"_adaptc/\w+\.webp", sheet)
    assert b"a.css" in page
    sizes = map(len, (page, sheet, site.read(copy.decode(), "moderate")))
    assert figures(site, "moderate")["index.html"] == (3, sum(sizes))


def test_a_change_of_a_shared_sheet_builds_no_page_again(site: BuiltSite) -> None:
    for step in range(20):
        site.write({f"page-{step}.html": f"{HEAD}<link rel=stylesheet href=a.css><div class=hero>Words</div>"})
    site.build(build__levels=["full", "lossless"])
    site.write({"a.css": ".hero{background:url(own.jpg)}" + REST})
    result = site.build(build__levels=["full", "lossless"])
    assert not [path for _, path in result.built if path.endswith(".html")]
    assert figures(site, "lossless")["page-1.html"][1] > size(site, "own.jpg")
