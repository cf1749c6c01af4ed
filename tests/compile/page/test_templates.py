"""Templates: which pages are alike, which of them a browser looks at, and what is inferred for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.sites.small import SmallSite

from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.page.skeleton import ImagePlaces, Likeness, find_skeleton


def frame(body: str) -> str:
    return find_skeleton(f"<!DOCTYPE html><title>t</title><body class=b>{body}".encode()).frame


# ---- frames


@pytest.mark.parametrize(
    "body",
    [
        "<div class=row><p>One<p>two</div><div class=row></div>",
        "<div class=row></div><div class=row></div><div class=row></div>",
        "<ul><li><div class='row row'></div></ul>",
        "<p>Text <b>and</b> more<table><td>x</table><div class=row><i>x</i></div>",
    ],
)
def test_text_and_repetition_do_not_change_the_frame(body: str) -> None:
    assert frame(body) == frame("<div class=row></div>")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<div></div>",
        "<main class=row></main>",
        "<div class='row wide'></div>",
        "<p class=row></p>",
        "<div class=row><form></form></div>",
    ],
)
def test_boxes_and_their_classes_are_the_frame(body: str) -> None:
    assert frame(body) != frame("<div class=row></div>")


def test_what_is_deep_is_no_frame_however_deep_text_is() -> None:
    assert frame("<div><div><div></div></div></div>") == frame("<div><div><section></section></div></div>")
    assert frame("<div>" + "<b>" * 5000 + "</div>") == frame("<div></div>")


# ---- images by their places


def places(body: str, path: str = "a/page.html") -> ImagePlaces:
    dots = dict.fromkeys(("a/logo.png", "logo.png", "x.png", "a/x.png"), b"x")
    site = SmallSite({path: body, **dots}).site
    return ImagePlaces.of(find_skeleton(body.encode()), path, site)


def test_images_have_the_place_of_their_tags_classes_and_sizes() -> None:
    one = places("<div class=head><img src=../logo.png width=9></div>").files
    other = places("<p>x<div class=head><img width=9 src=/logo.png></div>").files
    assert one == other
    assert list(one) == ["logo.png"]
    for body in (
        "<div><img src=../logo.png width=9></div>",
        "<div class=head><img src=../logo.png width=8></div>",
        "<div class=head><p><img src=../logo.png width=9></div>",
        "<style>img{width:2px}</style><div class=head><img src=../logo.png width=9></div>",
    ):
        assert one["logo.png"].isdisjoint(places(body).files["logo.png"])


@pytest.mark.parametrize(
    "body",
    [
        "<img srcset=x.png src=x.png>",
        "<picture><img src=x.png></picture>",
        "<img data-src=x.png src=x.png>",
        "<p><noscript><img src=x.png></noscript>",
        "<img src=nothing.png>",
    ],
)
def test_images_with_a_choice_or_another_loader_have_no_place(body: str) -> None:
    assert places(body).files == {}


def test_files_that_are_shown_in_other_ways_are_apart() -> None:
    assert places("<img src=x.png><p style='background:url(x.png)'>").apart == {"a/x.png"}
    assert places("<base href=/><img src=x.png><video poster=logo.png>").apart == {"logo.png"}
    assert places("<img src=x.png><img src=x.png>").apart == frozenset()


# ---- what held on all pages


LOGO, PHOTO = "<header><img src=logo.png></header>", "<p class=photo><img src={}></p>"


def seen(*images: ImageSeen, names: str = "", is_same: bool = False) -> PageEvidence:
    laptop = WidthEvidence(1280, images, frozenset(names.split()))
    return PageEvidence((replace(laptop, width=412), laptop), "0123", is_same)


def infer(pages: Mapping[str, PageEvidence], body: str) -> PageEvidence:
    likeness = Likeness([(evidence, places(text, "p.html")) for text, evidence in pages.items()])
    return likeness.evidence_for(places(body, "p.html"))


def images(evidence: PageEvidence) -> list[tuple[str, int, int]]:
    phone, laptop = evidence.widths
    assert phone.images == laptop.images
    return [(image.path, image.width, image.height) for image in laptop.images]


def test_names_are_those_of_all_pages_and_documents_are_never_inferred() -> None:
    evidence = infer({"<p>": seen(names="a b", is_same=True), "<i>": seen(names="b c", is_same=True)}, "<b>")
    assert [width.names for width in evidence.widths] == [{"a", "b", "c"}] * 2
    assert [width.width for width in evidence.widths] == [412, 1280]
    assert evidence.document is None


@pytest.mark.parametrize(
    ("one", "other", "inferred"), [(True, True, True), (True, False, False), (False, False, False)]
)
def test_a_page_is_the_same_without_scripts_if_all_are(one: bool, other: bool, inferred: bool) -> None:
    assert infer({"<p>": seen(is_same=one), "<i>": seen(is_same=other)}, "").is_same_without_scripts is inferred


def test_a_page_loads_what_all_pages_load() -> None:
    one, other = (replace(seen(), loaded=tuple(names)) for names in ("abc", "bcd"))
    assert infer({"<p>": one, "<i>": other}, "").loaded == ("b", "c")


def test_the_size_of_a_file_that_all_pages_show_in_its_place_is_the_largest() -> None:
    pages = {LOGO: seen(ImageSeen("logo.png", 40, 20)), LOGO + "<p>": seen(ImageSeen("logo.png", 50, 25))}
    assert images(infer(pages, LOGO + "<i>")) == [("logo.png", 50, 25)]


def test_another_file_in_a_place_that_scripts_left_alone_has_no_known_size() -> None:
    pages = {
        PHOTO.format("x.png"): seen(ImageSeen("x.png", 40, 20)),
        PHOTO.format("logo.png"): seen(ImageSeen("logo.png", 40, 20)),
    }
    assert images(infer(pages, PHOTO.format("/a/x.png"))) == [("a/x.png", 0, 0)]
    assert images(infer(pages, PHOTO.format("x.png"))) == [("x.png", 0, 0)]


def test_a_place_whose_image_a_script_changed_on_one_page_is_changed_on_others() -> None:
    photo = PHOTO.format("x.png")
    pages = {photo: seen(ImageSeen("x.png", 40, 20)), photo + "<p>": seen(ImageSeen("x.png", 40, 20, is_changed=True))}
    for path in ("x.png", "logo.png"):
        changed = infer(pages, PHOTO.format(path))
        assert [image.is_changed for width in changed.widths for image in width.images] == [True, True]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_held", [True, False])
def test_an_image_is_below_or_held_where_it_is_on_all_pages(is_first: bool, is_held: bool) -> None:
    photo = PHOTO.format("x.png")
    other = ImageSeen("x.png", 40, 20, is_first=is_first, is_held=is_held)
    pages = {photo: seen(ImageSeen("x.png", 40, 20, is_held=True)), photo + "<p>": seen(other)}
    for path in ("x.png", "logo.png"):
        found = [image for width in infer(pages, PHOTO.format(path)).widths for image in width.images]
        assert [(image.is_first, image.is_held) for image in found] == [(is_first, is_held)] * 2


@pytest.mark.parametrize(
    "other",
    [
        seen(ImageSeen("x.png", 40, 20, is_by_script=True)),
        seen(ImageSeen("logo.png", 40, 20)),
        replace(seen(), widths=(WidthEvidence(412, (ImageSeen("x.png", 4, 4),)), WidthEvidence(1280))),
    ],
    ids=["written by a script", "not seen", "not seen at a width"],
)
def test_a_place_that_one_page_says_otherwise_of_says_nothing(other: PageEvidence) -> None:
    photo = PHOTO.format("x.png")
    pages = {photo: seen(ImageSeen("x.png", 40, 20)), photo + "<p>": other}
    assert images(infer(pages, photo + "<i>")) == []


def test_a_place_that_one_page_lacks_or_a_file_that_is_shown_otherwise_says_nothing() -> None:
    logo = ImageSeen("logo.png", 40, 20)
    assert images(infer({LOGO: seen(logo), "<p>": seen()}, LOGO + "<i>")) == []
    pages = {LOGO: seen(logo), LOGO + "<p>": seen(logo)}
    assert images(infer(pages, "<nav><img src=logo.png></nav>")) == []
    assert images(infer(pages, LOGO + "<nav><img src=logo.png></nav>")) == []
    assert images(infer(pages, LOGO + "<p style='background:url(logo.png)'>")) == []
