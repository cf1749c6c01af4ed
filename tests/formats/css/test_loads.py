"""The URLs of a style sheet that a browser may load."""

from __future__ import annotations

import pytest

from adaptc.formats.css.images import loaded_urls


@pytest.mark.parametrize(
    ("sheet", "urls"),
    [
        ("a{background:url(a.png)}b{background:url(b.png)}", ["a.png", "b.png"]),
        ("a{background:url(a.png);background:image-set(url(h.webp) 0.5x)}", ["h.webp"]),
        ("@media print{a{background:url(a.png);color:red;background:none}}", []),
        ('@import "b.css";@font-face{src:url(f.woff2),url(f.woff)}', ["f.woff2"]),
        ("@font-face{src:url(f.eot);src:url(f.eot?#) format('embedded-opentype'),url(f.ttf)}", ["f.ttf"]),
        ("@font-face{src:url(s.woff2),url(f.ttf)}@font-face{src:url(w.woff2),url(f.ttf)}", ["s.woff2"]),
        ("@font-face{src:url(f.eot)}", ["f.eot"]),
        ("a{color:red}", []),
    ],
)
def test_of_the_declarations_of_a_property_the_last_is_loaded(sheet: str, urls: list[str]) -> None:
    assert loaded_urls(sheet, bool) == urls
