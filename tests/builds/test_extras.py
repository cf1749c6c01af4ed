"""Files of the trees that stand for none of the docroot: they come with what refers to them, and go with the last."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.sites.built import BuiltSite

LEVELS = ["full", "lossless", "halfres"]


@cache
def photo(shade: int) -> bytes:
    """A soft picture of 300 by 200; another shade, another picture."""
    ramp = Image.linear_gradient("L").resize((300, 200))
    disc = Image.radial_gradient("L").resize((300, 200))
    output = BytesIO()
    Image.merge("RGB", (ramp, disc, Image.new("L", (300, 200), shade))).save(output, "JPEG", quality=95)
    return output.getvalue()


def page(*images: str) -> str:
    return "<!doctype html><meta charset=utf-8><title>T</title><link rel=stylesheet href=/a.css>" + "".join(
        f"<p>text<img src={image} alt=x>" for image in images
    )


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    files = {"index.html": page("a.jpg"), "sub/b.html": page("../a.jpg", "../b.jpg"), "a.jpg": photo(10)}
    return BuiltSite(tmp_path).write({**files, "b.jpg": photo(90), "a.css": "p{background:url(b.jpg)}"})


def copies(site: BuiltSite) -> set[str]:
    return {path.name for path in site.output.glob("halfres/*/_adaptc/*")}


def referred(site: BuiltSite, path: str) -> set[str]:
    return set(re.findall(r"_adaptc/([\w.]+)", site.read(path, "halfres").decode()))


def test_copies_come_with_what_refers_to_them(site: BuiltSite) -> None:
    result = site.build(build__levels=LEVELS)
    second = referred(site, "sub/b.html")
    first, sheet = referred(site, "index.html"), referred(site, "a.css")
    assert len(first) == len(sheet) == 1 and len(second) == 2
    assert copies(site) == second == first | sheet
    assert not list(site.output.glob("lossless/*/_adaptc"))
    manifest = json.loads(result.manifest.read_bytes())
    assert {Path(row["path"]).name for row in manifest["extras"]} == second


def test_copies_go_with_the_last_that_refers_to_them(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS)
    before = copies(site)
    site.write({"sub/b.html": page("../b.jpg")}).build(build__levels=LEVELS)
    assert copies(site) == before
    site.write({"index.html": page("b.jpg")}).build(build__levels=LEVELS)
    assert copies(site) == referred(site, "a.css")
    site.remove("b.jpg")
    site.build(build__levels=LEVELS)
    assert copies(site) == set()


def test_another_image_is_another_copy(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS)
    before = copies(site)
    site.write({"a.jpg": photo(50)}).build(build__levels=LEVELS)
    assert len(copies(site)) == 2 and len(copies(site) & before) == 1


def test_a_lost_copy_is_made_again_and_a_stranger_goes(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS)
    before = site.trees()
    (stranger := site.output / "halfres/id/_adaptc/0123456789abcdef.webp").write_bytes(b"x")
    next(site.output.glob("halfres/id/_adaptc/[1-9a-f]*")).unlink()
    site.build(build__levels=LEVELS)
    assert site.trees() == before and not stranger.exists()


@pytest.mark.parametrize("seed", range(3))
def test_a_history_of_edits_ends_like_a_clean_build(site: BuiltSite, seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(8):
        images = chosen.sample(["/a.jpg", "/b.jpg", "/c.jpg"], chosen.randrange(3))
        name = chosen.choice(["index.html", "sub/b.html", "new.html"])
        image = {chosen.choice(["a.jpg", "b.jpg", "c.jpg"]): photo(chosen.randrange(4))}
        sheet = {"a.css": f"p{{background:url({chosen.choice('abc')}.jpg)}}"}
        site.write(chosen.choice([{name: page(*images)}, image, sheet]))
        if chosen.random() < 0.2 and (site.docroot / "new.html").exists():
            site.remove("new.html")
        site.build(build__levels=LEVELS)
        clean = site.clean()
        clean.build(build__levels=LEVELS)
        assert site.trees() == clean.trees()
        assert site.built(build__levels=LEVELS) == {}


def test_a_level_is_as_the_one_above_where_it_would_be_dearer(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pass that takes sheets in, a page of the lower level costs a request more."""
    monkeypatch.chdir(site.root)
    lower = "[levels.lower]\nextends = 'full'\nnumber = 2\npromise = 'words'\n"
    Path("adaptc.toml").write_text(lower, encoding="utf-8")
    result = site.build(build__levels=["lossless", "lower"])
    assert site.read("index.html", "lower") == site.read("index.html", "lossless")
    said = [one for one in result.diagnostics if one.id == "level-larger"]
    assert [one.location.path for one in said if one.location] == ["index.html", "sub/b.html"]
    assert "lower would make it larger to transfer (" in said[0].message


def test_a_small_page_grows_by_less_than_what_waits_for_visitors(tmp_path: Path) -> None:
    """Files of other sites are no part of a page's weight, but not loading them is worth a small script."""
    chat = """<script>document.head.append(Object.assign(document.createElement('script'),
      {src: 'https://widget.intercom.io/widget/a'}))</script>"""
    player = "<iframe src=https://www.youtube.com/embed/a title='A film' width=560 height=315></iframe>"
    words = "<p>A visitor reads these words.</p>"
    site = BuiltSite(tmp_path).write({"chat.html": f"<p>{words}{chat}", "film.html": words + player, "a.html": words})
    result = site.build(build__levels=["lossless", "moderate"])
    assert [one.id for one in result.diagnostics] == []
    assert "adaptc" not in site.read("a.html", "moderate").decode()
    assert "mousemove" in site.read("chat.html", "moderate").decode()
    assert "srcdoc" in site.read("film.html", "moderate").decode()


def pattern(seed: int) -> bytes:
    """A picture of 5 kB, of which a copy saves less than base64 adds."""
    image, chance, output = Image.new("RGB", (160, 120)), random.Random(seed), BytesIO()
    colours = ((0, 0, 0), (255, 255, 255), (200, 0, 0), (0, 0, 200))
    image.putdata([colours[chance.randrange(4)] for _ in range(160 * 120)])
    image.save(output, "PNG", compress_level=0)
    return output.getvalue()


def test_copies_stay_files_where_a_page_with_them_would_be_dearer_than_at_the_level_above(tmp_path: Path) -> None:
    images = "".join(f"<p>Pattern {n} is shown.<p><img src={n}.png alt='The pattern of {n} colours'>" for n in range(4))
    files = {"index.html": page() + images, "a.css": "p{}", **{f"{n}.png": pattern(n) for n in range(4)}}
    site = BuiltSite(tmp_path).write(files)
    result = site.build(build__levels=["lossless", "moderate"])
    assert "level-larger" not in {one.id for one in result.diagnostics}
    written = site.read("index.html", "moderate").decode()
    assert len(set(re.findall(r"_adaptc/[\w.]+", written))) == 4 and "data:" not in written


def screenshot() -> bytes:
    """Letters on a ground of one colour: a PNG of 1 kB, if a good encoder writes it."""
    image, chance, output = Image.new("RGB", (480, 320), (0, 0, 80)), random.Random(1), BytesIO()
    letters = [Image.frombytes("1", (8, 8), chance.randbytes(8)) for _ in range(3)]
    for number in range(400):
        image.paste((255, 255, 255), (8 * (number % 50) + 40, 16 * (number // 50) + 40), letters[number % 3])
    image.save(output, "PNG", compress_level=0)
    return output.getvalue()


def test_extreme_has_no_copy_that_takes_more_bytes_than_the_image_does(tmp_path: Path) -> None:
    story = f"<h1>The window</h1><p>{'Words about the window. ' * 20}<p><img src=a.png alt='The window of the program'>"
    script = f"<script>start({list(range(900))})</script>"  # what it costs pays for the sheet
    site = BuiltSite(tmp_path).write({"index.html": page() + story + script, "a.css": "p{}", "a.png": screenshot()})
    site.build(build__levels=["lossless", "extreme"])
    written = site.read("index.html", "extreme").decode()
    assert "data:image/png;base64," in written and "_adaptc" not in written and "webp" not in written
