"""half-images with what a browser saw: images that scripts leave alone, and copies of the size that is shown."""

from __future__ import annotations

import re

import pytest

from tests.samples.drawn import photo_file
from tests.sites.half import HalfSite

from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.page.guarded_images import checksum

HEAD = "<!doctype html><meta charset=utf-8>"
# Any image of the page: the script finds them by their tag
SCRIPT = "<script>document.querySelectorAll('img').forEach(i => { if (i.width > 9000) i.src = 'x.png' })</script>"
OWN = {"scale": 0.5, "text_scale": 0.71}


def seen(*images: ImageSeen) -> PageEvidence:
    return PageEvidence((WidthEvidence(412, images), WidthEvidence(1280)))


LARGE = ImageSeen("a.jpg", 400, 300)


def half_site(body: str, *images: ImageSeen, is_seen: bool = True) -> HalfSite:
    files = {"index.html": f"{HEAD}{body}", "a.jpg": photo_file(), "b.jpg": photo_file(800, 600)}
    return HalfSite(files, evidence={"index.html": seen(*images)} if is_seen else {})


def halved(body: str, *images: ImageSeen, is_seen: bool = True) -> str:
    """Return the page after the pass, with HALF for each copy."""
    text = half_site(body, *images, is_seen=is_seen).page_text(**OWN)
    return re.sub(r"_adaptc/[0-9a-f]{16}\.webp", "HALF", text.removeprefix(HEAD))


def widths(body: str, *images: ImageSeen) -> list[int]:
    """Return the pixels of the widths of the copies on a page."""
    return [int(width) for width in re.findall(r"HALF (\d+)w", halved(body, *images))]


def test_an_image_of_a_page_with_scripts_is_halved_and_keeps_its_address() -> None:
    for is_seen in (True, False):
        text = halved(f"<img src=a.jpg>{SCRIPT}", LARGE, is_seen=is_seen)
        assert f'<img srcset="HALF 200w" sizes=400px data-half={checksum("a.jpg")} src=a.jpg>' in text
        assert text.count("<script>") == 2
        assert text.index("MutationObserver") < text.index("querySelectorAll('img')")


def test_an_image_that_a_script_replaced_at_some_width_stays() -> None:
    body = f"<img src=a.jpg>{SCRIPT}"
    assert halved(body, LARGE, ImageSeen("a.jpg", 0, 0, is_by_script=True)) == body


def test_pages_without_such_scripts_get_none() -> None:
    assert halved("<img src=a.jpg>", LARGE) == '<img srcset="HALF 200w" sizes=400px src=HALF>'


def test_a_copy_has_the_pixels_that_the_largest_box_shows() -> None:
    body = "<img src=b.jpg>"
    assert widths(body, ImageSeen("b.jpg", 800, 600)) == [400]
    assert widths(body, ImageSeen("b.jpg", 150, 112), ImageSeen("b.jpg", 190, 142)) == [200]
    assert widths(body, ImageSeen("b.jpg", 60, 45)) == [80]
    assert "sizes=800px" in halved(body, ImageSeen("b.jpg", 60, 45)).replace('"', "")


def test_the_higher_share_of_the_sides_counts() -> None:
    assert widths("<img src=b.jpg>", ImageSeen("b.jpg", 80, 220)) == [320]


@pytest.mark.parametrize(
    "image",
    [
        ImageSeen("b.jpg", 0, 0),
        ImageSeen("b.jpg", 60, 45, is_background=True),
        ImageSeen("b.jpg", 60, 45, is_by_script=True),
        ImageSeen("a.jpg", 60, 45),
    ],
)
def test_a_size_that_says_little_changes_no_copy(image: ImageSeen) -> None:
    assert widths("<img src=b.jpg>", image) == [400]
