"""The elements that a script may take hold of."""

from __future__ import annotations

import pytest

from adaptc.formats.script.lookups import find_handles
from adaptc.formats.script.script import Script

# Of Bootstrap 4.0 and 5.3
CAROUSELS = (
    """var KEY='bs.carousel',Selector={ITEM:'.carousel-item',RIDE:'[data-ride="carousel"]'};
    $(element).find(Selector.ITEM).addClass('active')""",
    """const EVENT_KEY='.bs.carousel',SELECTOR_ITEM='.carousel-item',SELECTOR_ITEM_IMG='.carousel-item img',
    RIDE='[data-bs-ride="carousel"]';for(const img of SelectorEngine.find(SELECTOR_ITEM_IMG,this._element))
    EventHandler.on(img,EVENT_DRAG_START,event=>event.preventDefault());find(".carousel-item img")""",
)


@pytest.mark.parametrize("carousel", CAROUSELS)
def test_the_carousel_of_bootstrap_takes_no_hold_of_the_images_in_it(carousel: str) -> None:
    handles = find_handles(Script(carousel + ";$('.active.carousel-item').next();$('.gallery').hide()"))
    assert (handles.classes - {"bs"}, handles.attributes, handles.selectors) == ({"gallery"}, set(), set())


def test_another_script_of_that_name_does() -> None:
    handles = find_handles(Script("$('.carousel-item img').attr('src', next); $('.carousel').hide()"))
    assert handles.classes == {"carousel-item", "carousel"}
    assert handles.selectors == {".carousel-item img"}


def test_what_else_names_slides_counts() -> None:
    from adaptc.formats.script.lookups import union_of

    parts = [find_handles(Script(text)) for text in (CAROUSELS[0], "$('.carousel-item').css('width', 9)")]
    assert union_of(parts).classes == {"carousel-item"}


def test_a_variable_may_be_an_element_by_its_id() -> None:
    handles = find_handles(Script("hero.src = a; window.logo.src = b; this.photo.src = c; const d = 'e'"))
    assert [name for name in ("hero", "logo", "photo", "d", "e") if handles.may_be_id(name)] == ["hero", "logo", "e"]
