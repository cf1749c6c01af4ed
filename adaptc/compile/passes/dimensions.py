"""dimensions: width and height of images, where they cannot move the layout.

With both attributes a browser knows the box before the picture arrives, and the text does not jump. The pass writes
them only if they state what the layout becomes anyway: the image has its natural size, since nothing gives it another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.page.sheets import page_sheets
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.core.shortage import raise_shortage
from adaptc.formats.css.sheet_text import is_too_deep
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["PageSizing", "add_dimensions", "is_styled", "natural_size", "sizing_rules"]

_RASTER = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP})
_REFUSED = frozenset({"width", "height", "style", "sizes", "srcset"})
# Parts of an ancestor's style attribute that reach the image
_REACHING = ("contents", "image-orientation", "zoom", "var(", "all")
# The largest side: Chromium scales down larger pictures
_LARGEST = 16384


def add_dimensions(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give images of the site the size that their header says; not on pages with scripts that may measure them."""
    report = Report()
    if page.unseen_scripts or any(view.facts(_SIZES, script) for script in page.scripts):
        return report
    images = list(_candidates(editor, page, view))
    sheets = page_sheets(editor.tree, page.base, view) if images else None
    if sheets is None or not sheets.complete:
        return report
    sizing = PageSizing(sheets.texts)
    for path, image, parent in images:
        size = None if sizing.may_size(image, parent) else natural_size(view.artifact(path), view)
        if size is not None:
            editor.set_attribute(image, "width", str(size[0]))
            editor.set_attribute(image, "height", str(size[1]))
            report.actions.append(Action("dimensions", "added", path, f"its own size is {size[0]}x{size[1]}"))
    return report


# What a script needs to measure, size, find or move an image, or to change classes and attributes, by which rules apply
_SIZING_CODE = re.compile(
    r"width|height|size|rect|img|image|class|attr|dataset|style|rule|css|html|write|append|prepend|insert|wrap|clone"
    r"|replace(?:with|child)|\b(?:prop|before|after|import|eval)\b|\[\s*[^\]\s\d'\"]",
    re.IGNORECASE,
)


def _may_size(text: str) -> bool:
    return _SIZING_CODE.search(text) is not None


_SIZES = FactKind("may size images", _may_size, True)


def _candidates(editor: Editor, page: PageContext, view: View) -> Iterator[tuple[str, Element, Element]]:
    from turbohtml import Element

    for image in editor.tree.iter_elements("img"):
        parent = image.parent
        has_handler = any(name.startswith("on") for name in image.attrs)
        if not isinstance(parent, Element) or parent.tag == "picture" or not _REFUSED.isdisjoint(image.attrs):
            continue
        path = view.follow(page.base, image.attr("src") or "").path
        if (
            path is not None
            and view.media_type(path) in _RASTER
            and not (has_handler or is_isolated(image, editor.text) or is_styled(image))
        ):
            yield path, image, parent


def is_styled(image: Element) -> bool:
    """Whether a style attribute around the image may reach it: that of the parent by its layout."""
    styles = [getattr(ancestor, "attrs", {}).get("style") or "" for ancestor in image.ancestors]
    return "display" in styles[0].lower() or any(mark in style.lower() for style in styles for mark in _REACHING)


def natural_size(content: bytes, view: View) -> tuple[int, int] | None:
    """Return width and height as shown in CSS pixels, or ``None`` if they are uncertain."""
    from adaptc.formats.image.probe import BROKEN, open_image, read_exif

    try:
        with open_image(content) as image:
            (width, height), exif = image.size, read_exif(image.info.get("exif", b""), image.size)
    except BROKEN as error:
        raise_shortage(error)
        return None
    if exif.has_density or not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        return None
    return (height, width) if exif.orientation > 4 else (width, height)


# ---- which rules of style sheets may size an image, whatever the medium or state

# The answer errs on the side of yes: a rule counts even if another overrides it or its media query never holds.

# Properties that size a replaced element, or give it another natural size. ``width`` and the like with a logical side
# count, and so do the prefixed ones.
_SIZING = re.compile(
    r"(?:-(?:webkit|moz|ms|o)-)?(?:"
    r"(?:(?:min|max)-)?(?:width|height|inline-size|block-size)|aspect-ratio|object-(?:fit|view-box)|all|zoom|content"
    r"|contain(?:-intrinsic-[a-z-]+)?|content-visibility|(?:align|justify|place)-self|animation(?:-name)?)\Z"
)
# With ``box-sizing: border-box`` a width in the markup includes what surrounds the picture.
_AROUND = re.compile(
    r"(?:padding|border)(?:-(?:top|right|bottom|left|block|inline)(?:-(?:start|end))?)?(?:-width|-style)?\Z"
)
# Values of display under which a child's size does not depend on the parent's layout.
_PLAIN_DISPLAY = frozenset({
    "none", "block", "inline", "inline-block", "list-item", "flow-root", "table", "inline-table", "table-row",
    "table-cell", "table-row-group", "table-header-group", "table-footer-group", "table-caption", "table-column",
    "table-column-group", "initial", "unset", "revert",
})  # fmt: skip
# Inherited properties; displays that hide which element lays out which; selectors that an added attribute could match
_UNPREDICTABLE = re.compile(
    r"image-orientation|image-resolution|display\s*:[^;}]*(?:contents|var\()|\[\s*(?:width|height)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SizingRules:
    """Selectors by what their rules do: size the element as an image, set ``box-sizing`` on it, put a padding or
    border around it, or lay out its children in a special way. ``is_unpredictable``: no image has a known size.

    ``stretched`` are those of ``sized`` that do more than to limit the width and keep the shape.
    """

    sized: tuple[str, ...] = ()
    stretched: tuple[str, ...] = ()
    boxed: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()
    arranged: tuple[str, ...] = ()
    is_unpredictable: bool = False


class PageSizing:
    """The effect of all sheets of a page on the sizes of its images."""

    def __init__(self, sheets: Iterable[str]) -> None:
        self.rules = [sizing_rules(text) for text in sheets]
        self.is_unpredictable = any(rules.is_unpredictable for rules in self.rules)
        self._fitting: dict[tuple[str, ...], list[str]] = {}

    def may_size(self, image: Element, parent: Element) -> bool:
        """Whether a rule may size an image, by itself or through its parent."""
        if self.is_unpredictable or self._any("sized", image) or self._any("arranged", parent):
            return True
        return self._any("boxed", image) and ("border" in image.attrs or self._any("padded", image))

    def may_stretch(self, image: Element) -> bool:
        """Whether an image may have another shape or width than its attributes say, but for a limit of its width."""
        return self.is_unpredictable or self._any("stretched", image)

    def _any(self, kind: str, element: Element) -> bool:
        key = (kind, element.tag, element.attr("class") or "", element.attr("id") or "")
        fitting = self._fitting.get(key)
        if fitting is None:  # most images of a page are alike: a hundred selectors are reduced to a few, once
            selectors = (selector for rules in self.rules for selector in getattr(rules, kind))
            fitting = self._fitting[key] = [selector for selector in selectors if _fits(selector, *key[1:])]
        return any(_matches(selector, element) for selector in fitting)


@lru_cache(maxsize=128)
def sizing_rules(text: str) -> SizingRules:
    """Return the sizing rules of a style sheet, at 2 MB/s; cached, as sheets are shared by pages."""
    import tinycss2

    if _UNPREDICTABLE.search(text) or is_too_deep(text):
        return SizingRules(is_unpredictable=True)
    rules = list(_rules(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)))
    return SizingRules(
        _selected(rules, _SIZING.match, "img"),
        _selected([rule for rule in rules if not _only_limits(rule[1])], _SIZING.match, "img"),
        _selected(rules, "box-sizing".__eq__, "img"),
        _selected(rules, _AROUND.match, "img"),
        tuple(
            dict.fromkeys(
                selector for prelude, declared in rules if _arranges(declared) for selector in _split(prelude)
            )
        ),
    )


def _only_limits(declared: dict[str, str]) -> bool:
    """Whether declarations size an image by a largest width alone, with the height that follows."""
    sizing = {name: value.strip().lower() for name, value in declared.items() if _SIZING.match(name)}
    return all(name == "max-width" or (name, value) == ("height", "auto") for name, value in sizing.items())


def _selected(rules: list[_Rule], is_meant: Callable[[str], object], tag: str) -> tuple[str, ...]:
    preludes = (prelude for prelude, declared in rules if any(map(is_meant, declared)))
    selectors = (selector for prelude in preludes for selector in _split(prelude))
    return tuple(dict.fromkeys(selector for selector in selectors if _may_be(selector, tag)))


# A rule: the tokens of its prelude and its declarations by name, with their values as written.
_Rule = tuple[list[Any], dict[str, str]]
_NO_ELEMENTS = frozenset(
    {"font-face", "page", "keyframes", "-webkit-keyframes", "-moz-keyframes", "-o-keyframes", "property"}
)


def _rules(nodes: list[Any], is_nested: bool = False) -> Iterator[_Rule]:
    import tinycss2

    for node in nodes:
        is_style = node.type == "qualified-rule"
        if not (is_style or (node.type == "at-rule" and not _has_no_elements(node))):
            continue
        parse = tinycss2.parse_blocks_contents if is_style or is_nested else tinycss2.parse_rule_list
        inside = parse(node.content, skip_comments=True, skip_whitespace=True)
        declared = {each.lower_name: tinycss2.serialize(each.value) for each in inside if each.type == "declaration"}
        # declarations right in a nested group are those of the rule around it: of any element, then
        yield (node.prelude if is_style else []), declared
        yield from _rules(inside, is_nested or is_style)


def _has_no_elements(node: Any) -> bool:
    return node.content is None or node.lower_at_keyword in _NO_ELEMENTS


def _arranges(declared: dict[str, str]) -> bool:
    display = declared.get("display", "block").strip().lower()
    return "all" in declared or display not in _PLAIN_DISPLAY


def _split(prelude: list[Any]) -> Iterator[str]:
    import tinycss2

    from adaptc.formats.css.selector_forms import split_list

    return (tinycss2.serialize(piece).strip() for piece in split_list(prelude))


_BRACKETS = re.compile(r"\[[^][]*\]|\([^()]*\)")
_COMBINATORS = re.compile(r"[\s>+~]+")
_PSEUDO_ELEMENT = re.compile(r"::|:(?:before|after|first-line|first-letter)\b", re.IGNORECASE)
_TYPE = re.compile(r"[a-zA-Z][\w-]*")
_NAME = re.compile(r"([.#])([\w-]+)")


@lru_cache(maxsize=4096)
def _subject(selector: str) -> str:
    """Return the last compound selector, which selects the element itself, without arguments of functions."""
    while (bare := _BRACKETS.sub("", selector)) != selector:
        selector = bare
    return _COMBINATORS.split(selector)[-1]


def _may_be(selector: str, tag: str) -> bool:
    """Whether a selector can select elements with this tag name."""
    subject = _subject(selector)
    if _is_odd(subject):
        return True
    name = _TYPE.match(subject)
    return not _PSEUDO_ELEMENT.search(subject) and (name is None or name[0].lower() == tag)


def _is_odd(subject: str) -> bool:
    return not subject or not subject.isascii() or not {"\\", "&", "|", '"', "'"}.isdisjoint(subject)


def _fits(selector: str, tag: str, classes: str, identifier: str) -> bool:
    """Whether type, classes and id of a subject are those of an element; letter case does not matter (quirks mode)."""
    if not _may_be(selector, tag):
        return False
    subject = _subject(selector)
    own = {".": classes.lower().split(), "#": [identifier.lower()]}
    return _is_odd(subject) or all(name.lower() in own[mark] for mark, name in _NAME.findall(subject))


def _matches(selector: str, element: Element) -> bool:
    """Whether a selector may match in some state; unsupported selectors count as matching."""
    from turbohtml import SelectorSyntaxError

    if ":" in selector or "&" in selector:  # a state (:hover), or another element's rule around this one
        return True
    try:
        return element.matches(selector)
    except SelectorSyntaxError:
        return True
