"""No page and no file costs more than at the level above: requests, and bytes for every kind of client."""

from __future__ import annotations

import base64
import itertools
import json
import random
from pathlib import Path

import pytest

from tests.samples.drawn import drawing, encoded
from tests.samples.icon_font import icon_font
from tests.sites.built import BuiltSite

from adaptc.compile.engine.unit.weights import PageWeight, client_sizes, total
from adaptc.workflow.api import BuildResult

SIZE = (300, 225)
DEGRADED = ["full", "lossless", "moderate", "extreme", "text"]
# as level full, but below moderate: nothing makes its files smaller
LOWER = "[levels.lower]\nextends = 'full'\nnumber = 1\npromise = 'article'\n"


def photo(step: int) -> bytes:
    """A picture that loses bytes where its quality may be lower."""
    return encoded(drawing(step).resize(SIZE), "JPEG", quality=95)


def page(body: str) -> str:
    return f"<!doctype html><meta charset=utf-8><title>T</title><link rel=stylesheet href=/a.css><h1>T</h1>{body}"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltSite:
    """A page whose script writes it, with a photograph and a sheet that names another."""
    monkeypatch.chdir(tmp_path)
    script = "<main id=root></main><img id=p src=p.jpg><script>root.append('Words', p.src)</script>"
    files = {"index.html": page(script), "plain.html": page("<p>Words<img src=p.jpg>"), "p.jpg": photo(3)}
    return BuiltSite(tmp_path).write({**files, "b.jpg": photo(9), "a.css": "h1{background:url(b.jpg)}"})


def costs(result: BuildResult, path: str) -> dict[str, tuple[int, int, int]]:
    rows = {row["path"]: row for row in json.loads(result.manifest.read_bytes())["resources"]}
    pages = {level: unit["page"] for level, unit in rows[path]["levels"].items()}
    return {level: (cost["requests"], cost["bytes"], cost["transfer"]) for level, cost in pages.items()}


@pytest.mark.parametrize("path", ["index.html", "plain.html"])
def test_a_page_with_its_files_costs_less_with_every_level(site: BuiltSite, path: str) -> None:
    by_level = costs(site.build(build__levels=DEGRADED), path)
    for above, below in itertools.pairwise(by_level[level] for level in DEGRADED[1:]):
        assert all(low <= high for low, high in zip(below, above, strict=True))


def test_a_file_is_never_larger_than_at_the_level_above(site: BuiltSite) -> None:
    Path("adaptc.toml").write_text(LOWER, encoding="utf-8")
    site.build(build__levels=["full", "moderate", "lower"])
    assert site.read("p.jpg", "lower") == site.read("p.jpg", "moderate")
    assert len(site.read("p.jpg", "lower")) < len(site.read("p.jpg", "full"))


def test_a_sheet_loads_no_larger_images_than_at_the_level_above(site: BuiltSite) -> None:
    Path("adaptc.toml").write_text(LOWER, encoding="utf-8")
    site.build(build__levels=["full", "moderate", "lower"])
    sheet = site.read("a.css", "lower")
    assert sheet == site.read("a.css", "moderate") and b"_adaptc/" in sheet
    copies = {
        level: {file.name for file in site.output.glob(f"{level}/id/_adaptc/*")} for level in ("moderate", "lower")
    }
    assert any(name.encode() in sheet for name in copies["lower"]) and copies["lower"] <= copies["moderate"]


@pytest.mark.parametrize(("words", "is_offered"), [("Words", False), ("Words \u0416", True)])
def test_a_font_that_no_page_shows_makes_a_sheet_no_larger(site: BuiltSite, words: str, is_offered: bool) -> None:
    face = "@font-face{font-family:I;src:url(i.ttf);unicode-range:U+400-4FF}"
    later = "<script src=later.js></script>"
    site.write(
        {
            "a.css": face + "h1{font-family:I}",
            "i.ttf": icon_font(None, first=0x400),
            "later.js": "onclick = () => '\u0416'",
        }
    )
    site.write({"index.html": page(f"<p>{words}{later}"), "plain.html": page("<p>Plain")})
    by_level = costs(site.build(build__levels=["full", "moderate"]), "index.html")
    assert (b"woff2" in site.read("a.css", "moderate")) is is_offered
    assert by_level["full"][0] == (4 if is_offered else 3)
    assert all(low <= high for low, high in zip(by_level["moderate"], by_level["full"], strict=True))


def test_alternates_are_never_larger_than_at_the_level_above(site: BuiltSite) -> None:
    exact = "[levels.lower]\nextends = 'lossless'\nnumber = 1\npromise = 'article'\n"
    formats = "".join(f"[levels.{name}.alternates]\nformats = ['webp']\n" for name in ("moderate", "lower"))
    Path("adaptc.toml").write_text(exact + formats, encoding="utf-8")
    site.build(build__levels=["full", "moderate", "lower"])
    webp = [site.read("p.jpg.webp", level, "webp") for level in ("moderate", "lower")]
    assert len(webp[1]) <= len(webp[0])


@pytest.mark.parametrize(
    "choice",
    [
        "<picture><source type=image/webp srcset=q.webp><img src=p.jpg></picture>",
        "<img src=p.jpg srcset='q.webp 300w'>",
    ],
)
def test_of_an_image_with_a_choice_the_same_file_counts_at_every_level(site: BuiltSite, choice: str) -> None:
    other = encoded(drawing(5).resize(SIZE), "WEBP")
    site.write({"choice.html": f"<!doctype html><meta charset=utf-8><title>T</title><p>Words{choice}", "q.webp": other})
    by_level = costs(site.build(build__levels=["full", "lossless"]), "choice.html")
    for level, (requests, size, _) in by_level.items():
        assert (requests, size) == (2, len(site.read("choice.html", level)) + len(other))


def test_every_kind_of_client_counts() -> None:
    page = client_sizes({"id": 900, "gz": 300}, 1000, ("gz", "br"))
    image = client_sizes({"avif": 40, "webp": 50}, 100, ("gz", "br"))
    assert page == (900, 300, 900, 900, 300, 900) and image == (100, 100, 100, 40, 40, 40)
    assert total([page, image]) == (1000, 400, 1000, 940, 340, 940)


def test_a_page_is_larger_if_one_kind_of_client_receives_more() -> None:
    above = PageWeight(2, (1000, 400))
    assert PageWeight(2, (900, 401)).excess(above) == "401 bytes instead of 400"
    assert PageWeight(2, (1000, 400)).excess(above) is None


def test_a_page_needs_no_request_more_whatever_that_saves() -> None:
    above = PageWeight(1, (90_000, 60_000))
    assert PageWeight(2, (100, 100)).excess(above) == "2 requests instead of 1"


def test_a_request_that_is_saved_counts_as_its_header_fields() -> None:
    above = PageWeight(4, (1000, 400))
    assert PageWeight(2, (1150, 600)).excess(above) is None
    assert PageWeight(2, (1150, 601)).excess(above) == "601 bytes instead of 400"


def test_a_page_is_composed_though_scripts_of_other_sites_wait_at_the_level_above(tmp_path: Path) -> None:
    tag = "<script defer src=https://plausible.io/js/script.js></script>"
    noise = "".join(f".c{number}{{color:#{number}}}" for number in range(100, 400))
    tag += f"<style>{noise}</style>"
    words = (
        "<p class=c123>Words of the harbour master, who counts the ships that leave with the tide in the morning.</p>"
        * 9
    )
    site = BuiltSite(tmp_path).write(
        {"index.html": f"<!doctype html><title>T</title>{tag}<main><h1>T</h1>{words}</main>"}
    )
    result = site.build(build__levels=["lossless", "moderate", "extreme"])
    assert "adaptc-held" in site.read("index.html", "moderate").decode()
    assert "level-larger" not in {each.id for each in result.diagnostics}
    assert "<script" not in site.read("index.html", "extreme").decode()


def test_a_page_whose_template_needs_a_request_more_is_as_at_the_level_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lower = "[levels.lower]\nextends = 'extreme'\nnumber = 1\ncompose.template = 'page.html'\n"
    Path("adaptc.toml").write_text(lower, encoding="utf-8")
    template = "{{page.start}}<head>{{page.head}}<link rel=stylesheet href=a.css></head>{{page.body}}{{page.main}}"
    Path("page.html").write_text(template, encoding="utf-8")
    noise = base64.b64encode(random.Random(1).randbytes(45_000)).decode()
    script = (
        f"<style>h1{{color:red}}</style><script>let noise = '{noise}'; addEventListener('load', () => noise)</script>"
    )
    html = f"<!doctype html><meta charset=utf-8><title>T</title><h1>T</h1><p>Words{script}"
    site = BuiltSite(tmp_path).write({"index.html": html, "a.css": "h1{color:red}"})
    result = site.build(build__levels=["lossless", "lower"])
    by_level = costs(result, "index.html")
    assert by_level["lower"] == by_level["lossless"]
    said = [each.message for each in result.diagnostics if each.id == "level-larger"]
    assert ["2 requests instead of 1" in each for each in said] == [True]
