"""half-images with what a browser saw: images that scripts leave alone, and copies of the size that is shown."""

from __future__ import annotations

import re

import pytest

from tests.samples.drawn import photo_file
from tests.sites.half import HalfSite
from tests.sites.shown import URL, site

from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence

HEAD = "<!doctype html><meta charset=utf-8>"
# Any image of the page: the script finds them by their tag
SCRIPT = "<script>document.querySelectorAll('img').forEach(i => { if (i.width > 9000) i.src = 'x.png' })</script>"
OWN = {"scripts": "own", "scale": 0.5, "text_scale": 0.71}


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


def test_an_image_that_scripts_leave_alone_is_halved_and_keeps_its_address() -> None:
    text = halved(f"<img src=a.jpg>{SCRIPT}", LARGE)
    assert '<img srcset="HALF 200w" sizes=400px data-half src=a.jpg>' in text.replace('"400px"', "400px")
    assert text.count("<script>") == 2
    assert text.index("MutationObserver") < text.index("querySelectorAll")


def test_without_evidence_of_it_the_image_stays() -> None:
    body = f"<img src=a.jpg>{SCRIPT}"
    assert halved(body, is_seen=False) == body
    assert halved(body) == body
    assert halved(body, ImageSeen("b.jpg", 400, 300)) == body


def test_an_address_that_a_script_wrote_at_some_width_stays() -> None:
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


@pytest.mark.chromium
def test_what_a_script_writes_later_is_shown(chromium: str) -> None:
    late = "<script>onclick = () => { document.querySelector('img').src = 'b.jpg' }</script>"
    pages = half_site(f"<body><img src=a.jpg>{SCRIPT}{late}", LARGE)
    text = pages.page_text(**OWN)
    served = {**pages.contents, "index.html": text, **pages.made}
    server = site(served)

    size = "() => { const i = document.querySelector('img'); return [i.width, i.height, i.getAttribute('src')] }"
    loaded = "() => new Promise((done) => { document.querySelector('img').onload = done; document.body.click() })"

    async def look(browser: Chromium) -> tuple[object, object, list[str]]:
        async with browser.tab(server, 900, 600) as tab:
            await tab.open(URL)
            before = await tab.run(size)
            await tab.run(loaded)
            return before, await tab.run(size), [load.url.removeprefix(URL) for load in tab.seen.loads[1:]]

    [copy] = pages.made
    assert in_chromium(chromium, look) == ([400, 300, "a.jpg"], [800, 600, "b.jpg"], [copy, "b.jpg"])
