"""loading and connections: what is shown first is fetched first, what is below is lazy, hosts found late are early."""

from __future__ import annotations

import re

import pytest

from tests.samples.drawn import photo_file
from tests.sites.small import SmallSite

from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.pipeline import BY_NAME, Step

HEAD = "<!doctype html><meta charset=utf-8><link rel=stylesheet href=s.css>"
FIRST = ImageSeen("a.jpg", 400, 300, is_first=True)
LOGO = ImageSeen("c.jpg", 60, 40, is_first=True)
BELOW = ImageSeen("b.jpg", 400, 300)
BACKGROUND = ImageSeen("a.jpg", 412, 300, is_first=True, is_background=True)
LAZY = '<img loading="lazy" decoding="async" '


def seen(*images: ImageSeen) -> PageEvidence:
    return PageEvidence((WidthEvidence(412, images), WidthEvidence(1280, images)))


def loading_site(body: str, evidence: PageEvidence | None, sheet: str = "") -> SmallSite:
    images = {name: photo_file() for name in ("a.jpg", "b.jpg", "c.jpg")}
    files = {"index.html": f"{HEAD}{body}", "s.css": sheet, **images}
    return SmallSite(files, evidence={} if evidence is None else {"index.html": evidence})


def run(pages: SmallSite, *steps: tuple[str, dict[str, object]]) -> str:
    """Return the page after passes, each allowed to grow it by what its markup takes."""
    chosen = tuple(Step(BY_NAME[name], options) for name, options in steps)
    saving = "<!--" + "".join(f"{number} " for number in range(400)) + "-->"
    pages.contents["index.html"] += saving.encode()
    markup = Step(BY_NAME["markup"], {"comments": "drop", "doctype": "keep"})
    pages = SmallSite(pages.contents, evidence=pages.evidence)
    content = pages.rewrite(steps=(*chosen, markup)).content
    return re.sub(r"_adaptc/[0-9a-f]{16}", "COPY", (content or b"").decode())


def loaded(body: str, *images: ImageSeen, sheet: str = "", is_seen: bool = True, **options: bool) -> str:
    evidence = seen(*images) if is_seen else None
    return run(loading_site(body, evidence, sheet), ("loading", {"priority": True, "lazy": True, **options}))


# ---- the first window


def test_the_largest_image_of_the_first_window_is_preferred() -> None:
    text = loaded("<img src=c.jpg><img src=a.jpg><img src=b.jpg>", FIRST, LOGO, BELOW)
    assert text.count("fetchpriority") == 1
    assert re.search(r"<img [^>]*fetchpriority=high[^>]*>", text)[0].count("a.jpg") == 1  # type: ignore[index]


@pytest.mark.parametrize("image", [LOGO, BELOW, ImageSeen("a.jpg", 400, 300, is_first=True, is_by_script=True)])
def test_without_a_large_image_there_nothing_is_preferred(image: ImageSeen) -> None:
    assert "fetchpriority" not in loaded("<img src=a.jpg><img src=b.jpg><img src=c.jpg>", image)
    assert "fetchpriority" not in loaded("<img src=a.jpg>", FIRST, is_seen=False)
    assert "fetchpriority" not in loaded("<img src=a.jpg>", FIRST, priority=False)
    assert "fetchpriority" not in loaded("<img src=a.jpg loading=lazy>", FIRST)


def test_a_background_is_preloaded_before_the_sheets() -> None:
    text = loaded("<p class=x>text", BACKGROUND, sheet=".x{background:url(a.jpg)}")
    assert text.index("<link rel=preload as=image href=a.jpg fetchpriority=high>") < text.index("s.css")


def test_a_background_with_formats_is_preloaded_in_the_one_that_browsers_choose() -> None:
    pages = loading_site("<p style='background:url(a.jpg)'>text", seen(BACKGROUND))
    offered = ("pictures", {"formats": ("avif", "webp"), "target": 0.95, "density": 2.0})
    text = run(pages, offered, ("loading", {"priority": True, "lazy": True}))
    assert "<link rel=preload as=image href=COPY.avif type=image/avif fetchpriority=high>" in text


def test_an_icon_in_a_large_box_is_no_content() -> None:
    icon = ImageSeen("i.svg", 412, 400, is_first=True, is_background=True)
    sheet = "div{background:url(a.jpg)}p{background:url(i.svg)}"
    pages = loading_site("<div></div><p>", seen(BACKGROUND, icon), sheet)
    pages = SmallSite(pages.contents | {"i.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"}, evidence=pages.evidence)
    text = run(pages, ("loading", {"priority": True, "lazy": True}))
    assert "<link rel=preload as=image href=a.jpg fetchpriority=high>" in text


def test_only_the_authors_own_preload_of_an_image_keeps_a_background_from_one() -> None:
    sheet = "div{background:url(a.jpg)}"
    assert "rel=preload" in loaded("<div class=preloader></div>", BACKGROUND, sheet=sheet)
    assert loaded("<link rel=preload as=image href=c.jpg><div></div>", BACKGROUND, sheet=sheet).count("preload") == 1


def test_a_background_of_one_width_alone_is_not_preloaded() -> None:
    evidence = PageEvidence((WidthEvidence(412, (BACKGROUND,)), WidthEvidence(1280, (FIRST,))))
    pages = loading_site("<p style='background:url(a.jpg)'>text", evidence)
    assert "preload" not in run(pages, ("loading", {"priority": True, "lazy": True}))


# ---- below it

SIZED = "<img src=b.jpg width=200 height=150>"


def test_an_image_below_whose_box_is_known_is_lazy() -> None:
    text = loaded(SIZED, BELOW)
    assert "loading=lazy" in text and "decoding=async" in text
    assert "loading=lazy" in loaded(SIZED, BELOW, sheet="img { max-width: 100%; height: auto }")
    assert "loading" not in loaded(SIZED, BELOW, lazy=False)


@pytest.mark.parametrize(
    ("body", "sheet"),
    [
        ("<img src=b.jpg>", ""),
        ("<img src=b.jpg width=200 height=300>", ""),
        ("<img src=b.jpg width=50% height=150>", ""),
        ("<img src=b.jpg width=200 height=150 style='width:auto'>", ""),
        ("<img src=b.jpg width=200 height=150 loading=eager>", ""),
        (SIZED, "img { width: auto }"),
        (SIZED, "img { max-width: 100%; object-fit: cover }"),
        (f"{SIZED}<script>x = document.images[0].naturalWidth</script>", ""),
        (f"{SIZED}<script>document.querySelector('img').src = 'a.jpg'</script>", ""),
    ],
)
def test_an_image_whose_box_may_change_is_not_lazy(body: str, sheet: str) -> None:
    assert "loading=lazy" not in loaded(body, BELOW, sheet=sheet)


@pytest.mark.parametrize("image", [ImageSeen("b.jpg", 200, 150, is_first=True), ImageSeen("a.jpg", 200, 150)])
def test_an_image_of_the_first_window_or_one_that_was_not_seen_is_not_lazy(image: ImageSeen) -> None:
    assert "loading" not in loaded(SIZED, image)


HELD = ImageSeen("b.jpg", 400, 300, is_held=True)


def test_an_image_that_has_its_shape_from_another_pass_is_lazy_as_one_without() -> None:
    image = "<img src=b.jpg style='aspect-ratio:400/300'>"
    assert "loading=lazy" in loaded(image, HELD)
    assert "loading=lazy" in loaded(image.replace("src", "width=200 height=150 src"), BELOW)
    assert "loading" not in loaded(image.replace("400/300", "1/1"), HELD)


@pytest.mark.parametrize("style", ["", "width:200px", "height:9em;color:red"])
def test_an_image_whose_box_needs_its_shape_alone_is_lazy_and_gets_it(style: str) -> None:
    text = loaded(f"<img src=b.jpg style='{style}'>" if style else "<img src=b.jpg>", HELD)
    assert f'style="aspect-ratio:auto 400/300{";" if style else ""}{style}"' in text
    assert "loading=lazy" in text
    assert "loading=lazy" in loaded("<img src=b.jpg>", HELD, sheet=".x[style*=left],p[style],:not(p[style]){color:red}")
    assert "aspect-ratio" not in loaded(SIZED, HELD)


@pytest.mark.parametrize(
    ("body", "sheet", "image"),
    [
        ("<img src=b.jpg>", "", BELOW),
        ("<img src=b.jpg>", "p img[style]{color:red}", HELD),
        ("<img src=b.jpg class=x>", ".y [ style*='auto' ].x:hover{color:red}", HELD),
        ("<img src=b.jpg>", "img:not([style]){color:red}", HELD),
        ("<img src=b.jpg style='aspect-ratio:1'>", "", HELD),
        ("<img src=b.jpg srcset='a.jpg 2x'>", "", HELD),
        ("<img src=b.jpg><script>f('[style]')</script>", "", HELD),
        ("<link rel=stylesheet href=https://x.example/x.css><img src=b.jpg>", "", HELD),
        ("<meta http-equiv=content-security-policy content=\"style-src 'self'\"><img src=b.jpg>", "", HELD),
        ("<img src=b.jpg>", "", ImageSeen("b.jpg", 400, 300, is_held=True, is_first=True)),
    ],
)
def test_an_image_whose_style_matters_or_whose_box_was_seen_to_change_is_not_lazy(
    body: str, sheet: str, image: ImageSeen
) -> None:
    assert "loading=lazy" not in loaded(body, image, sheet=sheet)


OTHER_SCRIPT = "<script src=https://x.example/x.js></script>"


def test_scripts_of_other_sites_have_a_lazy_image_loaded_when_they_ask_for_it() -> None:
    text = loaded(f"<head>{OTHER_SCRIPT}</head>{SIZED}", BELOW)
    assert "data-deferred=400x300" in text and "loading=lazy" in text
    assert text.index("HTMLImageElement.prototype") < text.index("x.example")
    assert "data-deferred" not in loaded(SIZED, BELOW)
    policy = "<meta http-equiv=content-security-policy content=\"script-src 'self' https:\">"
    assert "loading=lazy" not in loaded(f"<head>{policy}{OTHER_SCRIPT}</head>{SIZED}", BELOW)


def test_without_a_browser_images_are_lazy_after_others_and_much_text() -> None:
    text = "<p>" + "word " * 1300
    images = SIZED * 5
    assert loaded(f"{images}{text}{SIZED}", is_seen=False).count("loading=lazy") == 1
    assert "loading" not in loaded(f"{text}{SIZED}", is_seen=False)
    assert "loading" not in loaded(f"{images}<p>short{SIZED}", is_seen=False)
    assert "loading" not in loaded(f"{images}{text}{SIZED}<script>var a</script>", is_seen=False)


def alone(name: str, body: str, evidence: PageEvidence | None, **options: object) -> str:
    """Return a page after one pass, which nothing else makes smaller."""
    content = loading_site(body, evidence).rewrite(steps=(Step(BY_NAME[name], options),)).content
    return (content or b"").decode()


def test_what_is_for_time_stays_on_a_page_that_nothing_makes_smaller() -> None:
    chosen = {"priority": True, "lazy": True}
    assert "loading=" in alone("loading", SIZED, seen(BELOW), **chosen)
    assert "fetchpriority" in alone("loading", "<img src=a.jpg>", seen(FIRST), **chosen)
    asked = {"preconnect": True, "speculation": "prefetch", "transition": True}
    text = alone("connections", "<p>x", None, **asked)
    assert "speculationrules" in text and "view-transition" in text


# ---- connections


def connected(head: str, sheet: str = "", **options: object) -> str:
    return run(
        loading_site(f"{head}<p>x", None, sheet),
        ("connections", {"preconnect": True, "speculation": "none", "transition": False, **options}),
    )


FONTS = "<link rel=stylesheet href='https://fonts.googleapis.com/css?family=Lato'>"


def test_hosts_that_sheets_name_are_connected_to() -> None:
    assert connected(FONTS).count("<link rel=preconnect href=https://fonts.gstatic.com crossorigin>") == 1
    imported = connected("", "@import url(https://fonts.googleapis.com/css?family=Lato);")
    assert imported.index("href=https://fonts.googleapis.com>") < imported.index("s.css")
    assert "https://fonts.gstatic.com crossorigin" in imported


def test_a_host_that_is_known_or_not_asked_for_is_left() -> None:
    assert (
        connected(f"<link rel=preconnect href=https://fonts.gstatic.com crossorigin>{FONTS}").count("preconnect") == 1
    )
    assert "preconnect" not in connected("<link rel=stylesheet href=https://cdn.example/x.css>")
    assert "preconnect" not in connected(FONTS, preconnect=False)
    policy = "<meta http-equiv=content-security-policy content=\"default-src 'self'\">"
    assert "preconnect" not in connected(policy + FONTS, speculation="prefetch")


def test_speculation_rules_are_written_on_request() -> None:
    assert "speculationrules" not in connected(FONTS)
    text = connected("", speculation="prerender")
    rules = '{"prerender":[{"where":{"href_matches":"/*"},"eagerness":"moderate"}]}'
    assert f"<script type=speculationrules>{rules}</script>" in text


def test_a_view_transition_is_written_on_request() -> None:
    assert "view-transition" not in connected(FONTS)
    assert "{@view-transition{navigation:auto}}</style>" in connected("", transition=True)
