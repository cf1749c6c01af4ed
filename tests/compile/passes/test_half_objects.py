"""half-objects: the bottom half of a page's embedded objects is removed."""

from __future__ import annotations

from tests.sites.stripped import STAND_IN, body, said

NAME = "half-objects"


def img(name: str) -> str:
    return f'<img src="i/{name}">'


def box(width: int, height: int) -> str:
    return f'<img src="{STAND_IN.format(width, height)}">'


def test_the_bottom_half_goes_and_leaves_boxes() -> None:
    html = img("note.png") + img("bg.png") + img("photo.png") + img("logo.png")
    assert body(html, name=NAME) == img("note.png") + img("bg.png") + box(400, 300) + box(120, 40)


def test_an_odd_number_is_halved_in_favour_of_the_page() -> None:
    html = img("note.png") + img("bg.png") + img("photo.png")
    assert body(html, name=NAME) == img("note.png") + img("bg.png") + box(400, 300)


def test_the_same_object_counts_once_and_goes_everywhere_or_nowhere() -> None:
    html = img("note.png") + img("bg.png") + img("note.png")
    assert body(html, name=NAME) == img("note.png") + box(64, 64) + img("note.png")


def test_style_sheets_and_scripts_count_and_stay() -> None:
    html = '<link rel="stylesheet" href="a.css"><script src="a.js"></script>' + img("note.png") + img("bg.png")
    assert body(html, name=NAME) == html.replace(img("note.png"), box(24, 24)).replace(img("bg.png"), box(64, 64))


def test_icons_are_not_embedded_and_frames_are() -> None:
    html = '<link rel="icon" href="i/logo.png">' + img("note.png") + '<iframe src="f.html" height="9"></iframe>'
    assert body(html, name=NAME) == html.replace('<iframe src="f.html" height="9">', '<iframe height="9">')


def test_what_cannot_be_removed_is_reported_and_the_next_is_removed() -> None:
    html = img("note.png") + '<img src="i/bg.png" usemap="#m">'
    result, actions = said(html, name=NAME)
    assert result == box(24, 24) + '<img src="i/bg.png" usemap="#m">'
    assert actions == [
        ("kept", "i/bg.png", "it is an image map"),
        ("stripped", "i/note.png", "in the bottom half of the embedded objects"),
    ]


def test_a_page_with_one_object_keeps_it() -> None:
    assert body(img("note.png"), name=NAME) == img("note.png")
