"""The files that style sheets make a browser load with a page: backgrounds, bullets, masks, fonts.

A rule counts where the page has all names of one of its selectors, whatever their order in the page: matching selectors
would take longer than all other facts, and a page would depend on the content of sheets that stay files. Of rules with
the same selector the last counts. What ``ImageRule.is_loaded`` rules out does not count. A font counts where the page
has a character of its range; of one weight alone, as which text is bold takes matching.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.image_rules import ImageRule, is_for_wide, sheet_images, style_images
from adaptc.compile.analyse.styling import NO_STYLING, Background, Styling
from adaptc.core.values import pattern
from adaptc.formats.characters import written_characters
from adaptc.formats.css.fonts import loaded_faces
from adaptc.formats.css.references import may_have_references
from adaptc.formats.css.selectors import required_names, static_selectors
from adaptc.formats.html.document import in_template
from adaptc.formats.html.links import applied_in_page, is_style_sheet, screen_medium
from adaptc.formats.html.syntax import split_tokens

if TYPE_CHECKING:
    from turbohtml import Document, Element

__all__ = ["own_backgrounds", "page_styling", "sheet_backgrounds"]


_TYPE = pattern(r"<([a-zA-Z][\w-]*)")
_NAMES = pattern(r"""\s(class|id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
# The ids of a layout; an API's manual has thousands of others
_LAYOUT_ID = pattern(r"[A-Za-z_-]{1,24}\d?")
_IMPLIED = ("html", "head", "body", "tbody")  # HTML, 13.1.2.4: their tags may be left out


def page_styling(text: str, tree: Document) -> Styling:
    """Return the styling of a page; ``idle`` are URLs."""
    names = {*_IMPLIED, *(name.lower() for name in set(_TYPE.findall(text)))}
    for kind, *values in set(_NAMES.findall(text)):
        value = unescape("".join(values))
        if kind.lower() == "class":
            names.update(f".{name}" for name in split_tokens(value))
        elif _LAYOUT_ID.fullmatch(value):
            names.add(f"#{value}")
    return Styling(frozenset(names), tuple(_idle_sheets(tree)), written_characters(text))


def _idle_sheets(tree: Document) -> Iterator[str]:
    """Yield the URLs of the sheets of which a wide window applies none."""
    applied = _applied_in_wide_windows(tree)
    links = [each for each in tree.iter_elements("link") if is_style_sheet(each)]
    used = {link.attr("href") for link in links if link in applied}
    yield from (link.attr("href") or "" for link in links if link.attr("href") not in used)


def _applied_in_wide_windows(tree: Document) -> set[Element]:
    return {each for each in applied_in_page(tree) if is_for_wide(screen_medium(each))}


def own_backgrounds(text: str, tree: Document) -> list[str]:
    """Return the URLs of the images that a page's style elements and attributes load, each once."""
    urls = [
        rule.url
        for element in tree.select('[style*="("]')
        if may_have_references(style := element.attr("style") or "") and not in_template(element)
        for rule in style_images(style)
        if rule.is_loaded
    ]
    sheets = [each for each in tree.iter_elements("style") if may_have_references(each.text)]
    styling, applied = (page_styling(text, tree), _applied_in_wide_windows(tree)) if sheets else (NO_STYLING, set())
    for element in sheets:
        if element in applied:
            urls += styling.loaded("", sheet_backgrounds(element.text))
    return list(dict.fromkeys(urls))


# The same sheet moves into many pages
@lru_cache(maxsize=64)
def sheet_backgrounds(text: str) -> tuple[Background, ...]:
    """Return the images and fonts that a sheet loads with pages, by their URLs."""
    last: dict[tuple[str, str], list[ImageRule]] = {}
    for rule in sheet_images(text).rules if may_have_references(text) else ():
        if rule.is_loaded:
            key = (rule.selector, rule.property.removesuffix("-image"))
            last[key] = [*last.get(key, ()), rule] if rule.layer else [rule]
    selectors: dict[str, dict[tuple[str, ...], None]] = {}
    for rule in (rule for rules in last.values() for rule in rules):
        selectors.setdefault(rule.url, {}).update(dict.fromkeys(_required(rule.selector)))
    fonts = (
        Background(url, tuple(dict.fromkeys(each for rule in rules for each in _required(rule))) or ((),), ranges)
        for url, ranges, rules in loaded_faces(text)
    )
    return (*(Background(url, tuple(each)) for url, each in selectors.items()), *fonts)


def _required(selector: str) -> Iterator[tuple[str, ...]]:
    for each in static_selectors(selector):
        yield tuple(sorted(name for name in required_names(each) if name[0] != "["))
