"""JPEGs to which no file refers: at effort "fast" they keep their bytes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.sites.built import BuiltSite

PAGE = "<!doctype html><title>T</title><p>Text"
PATH = "img/a photo.JPG"


def photo() -> bytes:
    output = BytesIO()
    Image.effect_mandelbrot((120, 90), (-2, -1, 1, 1), 60).convert("RGB").save(output, "JPEG", quality=95)
    return output.getvalue()


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write({"index.html": PAGE, PATH: photo()})


def is_smaller(site: BuiltSite) -> bool:
    return len(site.read(PATH, "lossless")) < len(photo())


@pytest.mark.parametrize(
    "files",
    [
        {"index.html": f"{PAGE}<img src='img/a%20photo.JPG'>"},
        {"sub/a.html": f"{PAGE}<a href='../img/./a photo.JPG?large'>large</a>"},
        {"a.css": "p{background:url('img/a photo.JPG')}"},
        {"sub/a.html": f"{PAGE}<script>show(['../img/a%20photo.JPG'])</script>"},
        {"js/a.js": 'show("img/a%20photo.JPG?large")'},
        {"a.json": '{"image":"/img/a%20photo.JPG"}'},
        {"a.svg": "<svg xmlns='http://www.w3.org/2000/svg'><image href='img/a%20photo.JPG'/></svg>"},
    ],
    ids=["shown", "linked", "in a sheet", "a page's script", "a script", "data", "in an SVG"],
)
def test_a_photograph_is_processed_once_a_file_refers_to_it_and_as_long_as_one_does(
    site: BuiltSite, files: dict[str, str]
) -> None:
    site.build(build__effort="fast")
    assert site.read(PATH, "lossless") == photo()
    site.write(files).build(build__effort="fast")
    assert is_smaller(site)
    site.write(dict.fromkeys(files, PAGE)).build(build__effort="fast")
    assert site.read(PATH, "lossless") == photo()


def test_a_photograph_that_comes_after_the_script_that_names_it_is_processed(site: BuiltSite) -> None:
    site.remove(PATH)
    site.write({"a.js": "show('img/a%20photo.JPG')"}).build(build__effort="fast")
    site.write({PATH: photo()}).build(build__effort="fast")
    assert is_smaller(site)


def test_at_other_efforts_all_photographs_are_processed(site: BuiltSite) -> None:
    site.build(build__effort="default")
    assert is_smaller(site)
