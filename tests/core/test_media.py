"""Media types by name and by content."""

from __future__ import annotations

import mimetypes

import pytest

from adaptc.core import media


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("a.html", media.HTML),
        ("a.HTM", media.HTML),
        ("index.html.de", media.HTML),
        ("manual.html.ja.utf8", media.HTML),
        ("a.html/b", None),
        ("jquery.min.js", media.JS),
        ("a.css.map", "application/json"),
        ("archive.tar.gz", "application/gzip"),
        ("README", None),
        (".html", media.HTML),
        ("a.unknown-extension", None),
        ("x.svg", media.SVG),
        ("x.jpeg", media.JPEG),
    ],
)
def test_by_name(path: str, media_type: str | None) -> None:
    assert media.by_name(path) == media_type


def test_the_systems_table_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mimetypes.types_map, ".css", "text/x-other")
    assert media.by_name("a.css") == media.CSS


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n....", media.PNG),
        (b"\xff\xd8\xff\xe0", media.JPEG),
        (b"GIF89a", media.GIF),
        (b"RIFF\0\0\0\0WEBPVP8 ", media.WEBP),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"\0\0\0\x20ftypavif", media.AVIF),
        (b"\xef\xbb\xbf <!DOCTYPE HTML>", media.HTML),
        (b"\n<HTML>", media.HTML),
        (b'<?xml version="1.0"?><svg>', media.SVG),
        (b"<svg>", media.SVG),
        (b"<?xml version='1.0'?><rss>", None),
        (b"plain text", None),
        (b"", None),
    ],
)
def test_by_content(head: bytes, media_type: str | None) -> None:
    assert media.by_content(head) == media_type


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        (media.HTML, True),
        ("text/x-anything", True),
        (media.SVG, True),
        ("application/geo+json", True),
        ("font/ttf", True),
        ("font/woff2", False),
        (media.PNG, False),
        (media.BINARY, False),
    ],
)
def test_what_codings_can_save_anything_on(media_type: str, expected: bool) -> None:
    assert media.is_compressible(media_type) == expected
