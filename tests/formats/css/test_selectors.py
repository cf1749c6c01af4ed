"""Which images a selector by their addresses may take for others once they get new ones."""

from __future__ import annotations

import pytest

from adaptc.formats.css.selectors import AddressSelectors

PHOTO = {"src": "img/a.jpg"}


@pytest.mark.parametrize(
    "selector",
    [
        "[src$='.jpg']", '[SRC *= "IMG/" i]', "[src=x],[src|='img/a.jpg']", "[src^=img]", "[src^='data:']",
        "[src^='.']", "[src$='.webp']", "[src$=p]", "[src*=png]", "[src*='_adaptc/']", "[srcset]",
        "[sizes$='px']", "[src='a\\62']",
    ],
)  # fmt: skip
def test_an_address_that_a_selector_may_know(selector: str) -> None:
    assert AddressSelectors.of(["p{}", f"img{selector}{{top:0}}"]).may_choose(PHOTO)


@pytest.mark.parametrize(
    "selector",
    [
        "[src]", ":not([src])", "[src='']", "[src^='']", "[src~=a]", "[src$='.svg']", "[src*='//tube.example/']",
        "[src='b.jpg' i]", "[sizes=auto]", "[data-src]", "[src-x='a']", "[alt='src']",
    ],
)  # fmt: skip
def test_an_address_that_no_selector_knows(selector: str) -> None:
    assert not AddressSelectors.of(["p{}", f"img{selector}{{top:0}}"]).may_choose(PHOTO)


def test_an_image_without_an_address_gets_one() -> None:
    selectors = AddressSelectors.of(["img:not([src]){opacity:0}"])
    assert selectors.may_choose({"data-src": "a.jpg"}) and not selectors.may_choose(PHOTO)
