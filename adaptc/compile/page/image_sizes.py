"""How large images are: which rules of style sheets may size one, and the boxes that a browser saw.

The answer errs on the side of yes: a rule counts even if another overrides it or its media query never holds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from adaptc.browser.evidence import ImageSeen, PageEvidence
from adaptc.core.values import dataclass, pattern
from adaptc.formats.css.rules import GROUPS, Item, sheet_items
from adaptc.formats.css.selectors import static_selectors
from adaptc.formats.css.sheet_text import beyond_limits
from adaptc.formats.css.visibility import split_selectors
from adaptc.formats.html.syntax import split_tokens

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["PageSizing", "ShownImages", "sizing_rules"]

# Properties that size a replaced element, or give it another natural size. ``width`` and the like with a logical side
# count, and so do the prefixed ones.
_SIZING = pattern(
    r"(?:-(?:webkit|moz|ms|o)-)?(?:"
    r"(?:(?:min|max)-)?(?:width|height|inline-size|block-size)|aspect-ratio|object-(?:fit|view-box)|all|zoom|content"
    r"|contain(?:-intrinsic-[a-z-]+)?|content-visibility|(?:align|justify|place)-self|animation(?:-name)?)\Z"
)
# With ``box-sizing: border-box`` a width in the markup includes what surrounds the picture.
_AROUND = pattern(
    r"(?:padding|border)(?:-(?:top|right|bottom|left|block|inline)(?:-(?:start|end))?)?(?:-width|-style)?\Z"
)
# Elements that stand for the page: that a script names them says nothing of an image
_WHOLE = frozenset({"html", "body", "main"})
_WIDTHS = ("width", "min-width", "max-width")
_NOTHING = frozenset({"none", "hidden", "0", "0px"})
# As the resets of libraries write it: ``border: 0 solid``
_IS_NO_BORDER = pattern(r"0(?:px)? (?:solid|dashed|dotted|double)\b")
# Values of display under which a child's size does not depend on the parent's layout.
_PLAIN_DISPLAY = frozenset({
    "none", "block", "inline", "inline-block", "list-item", "flow-root", "table", "inline-table", "table-row",
    "table-cell", "table-row-group", "table-header-group", "table-footer-group", "table-caption", "table-column",
    "table-column-group", "initial", "unset", "revert",
})  # fmt: skip
# Inherited properties; displays that hide which element lays out which; selectors that an added attribute could match
_UNPREDICTABLE = pattern(
    r"image-orientation|image-resolution|display\s*:[^;}]*(?:contents|var\()|\[\s*(?:width|height)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SizingRules:
    """Selectors by what their rules do: size the element as an image, set ``box-sizing`` on it, put a padding or
    border around it, or lay out its children in a special way. ``is_unpredictable``: no image has a known size.

    ``stretched`` are those of ``sized`` that do more than to limit the width and keep the shape, ``shaped`` those that
    do more than to set a width or ``height: auto``. ``freed`` are of rules with ``height: auto`` in every medium and
    state, ``proportioned`` of those with an ``aspect-ratio``.
    """

    sized: tuple[str, ...] = ()
    stretched: tuple[str, ...] = ()
    shaped: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    proportioned: tuple[str, ...] = ()
    boxed: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()
    arranged: tuple[str, ...] = ()
    is_unpredictable: bool = False


class PageSizing:
    """The effect of all sheets of a page on the sizes of its images.

    ``lasting`` are those of ``sheets`` that apply in every medium. ``may_appear`` says whether scripts may give
    elements a class, id or attribute, or take it away: a selector then counts as if it did not ask for the name, but
    of the image itself and its parent, which no script names where this is asked.
    """

    def __init__(
        self, sheets: Iterable[str], lasting: Iterable[str] = (), may_appear: Callable[[str], bool] | None = None
    ) -> None:
        self.rules = [sizing_rules(text) for text in sheets]
        self.is_unpredictable = any(rules.is_unpredictable for rules in self.rules)
        self._freed = [selector for text in lasting for selector in sizing_rules(text).freed]
        self._may_appear = may_appear
        self._fitting: dict[tuple[str, ...], list[str]] = {}

    def may_size(self, image: Element, parent: Element) -> bool:
        """Whether a rule may size an image, by itself or through its parent."""
        return self._any("sized", image) or self._is_arranged(image, parent)

    def keeps_shape(self, image: Element, parent: Element) -> bool:
        """Whether an image has the same box in every state if its own size is written as attributes.

        No rule sizes it; or none sets more than widths, and one always sets ``height: auto``, which goes before the
        attribute: then the width alone decides, and that of the attribute is the natural one (CSS 2, 10.3.2 and 10.4).
        """
        if self._is_arranged(image, parent):
            return False
        return not self._any("sized", image) or self._has_free_height(image)

    def may_stretch(self, image: Element) -> bool:
        """Whether an image may have another shape or width than its attributes say, but for a limit of its width."""
        return self.is_unpredictable or self._any("stretched", image)

    def _is_arranged(self, image: Element, parent: Element) -> bool:
        """Whether its parent, or what surrounds the picture, may change what a width means."""
        if self.is_unpredictable or self._any("arranged", parent):
            return True
        return self._is_surrounded(image)

    def _is_surrounded(self, image: Element) -> bool:
        """Whether a padding or border may lie inside the box of which the sides are given."""
        return self._any("boxed", image) and ("border" in image.attrs or self._any("padded", image))

    def takes_ratio(self, image: Element) -> bool:
        """Whether ``aspect-ratio``, given the shape of its file, leaves an image the box that it has.

        It is that of the content, unless ``box-sizing`` makes it one of what is around that (CSS Sizing 4, 5.1).
        """
        return not self._is_surrounded(image) and not self._any("proportioned", image)

    def _has_free_height(self, image: Element) -> bool:
        lasting = (selector for selector in self._freed if self._weakened(selector) == selector)
        return any(map(image.matches, lasting)) and not self._any("shaped", image)

    def _any(self, kind: str, element: Element) -> bool:
        key = (kind, element.tag, element.attr("class") or "", element.attr("id") or "")
        fitting = self._fitting.get(key)
        if fitting is None:  # most images of a page are alike: a hundred selectors are reduced to a few, once
            is_whole = element.tag in _WHOLE or element.attr("role") == "main"
            selectors = (self._weakened(each, is_whole) for rules in self.rules for each in getattr(rules, kind))
            fitting = self._fitting[key] = [selector for selector in selectors if _fits(selector, *key[1:])]
        is_fixed = self._may_appear is None  # a script that adds elements changes which one is the first of them
        return any(_matches(selector, element, is_fixed) for selector in fitting)

    def _weakened(self, selector: str, is_whole: bool = False) -> str:
        """Return a selector without the names that scripts may give or take; with ``is_whole`` of its subject, too."""
        may_appear = self._may_appear
        if may_appear is None:
            return selector
        own = "" if is_whole else _SUBJECT.search(selector)[0]  # type: ignore[index]
        around = selector.removesuffix(own)
        return (_GIVEN.sub(lambda match: "" if may_appear(match[1] or match[2]) else match[0], around) + own).strip()


@lru_cache(maxsize=128)
def sizing_rules(text: str) -> SizingRules:
    """Return the sizing rules of a style sheet, at 3 MB/s; cached, as sheets are shared by pages."""
    try:
        rules = None if beyond_limits(text) else list(_rules(text, sheet_items(text)))
    except _OddRuleError:
        rules = None
    if rules is None:
        return SizingRules(proportioned=("*",), is_unpredictable=True)
    sizes = ({name: value for name, value in rule.declared.items() if _SIZING.match(name)} for rule in rules)
    sizing = [rule._replace(declared=own) for rule, own in zip(rules, sizes, strict=True) if own]
    return SizingRules(
        _selected(sizing, "img"),
        _selected([rule for rule in sizing if not _sets_only(rule.declared, "max-width")], "img"),
        _selected([rule for rule in sizing if not _sets_only(rule.declared, *_WIDTHS)], "img"),
        _selected([rule for rule in sizing if _frees(rule)], "img"),
        _selected([rule for rule in rules if "aspect-ratio" in rule.declared], "img"),
        _selected([rule for rule in rules if "box-sizing" in rule.declared], "img"),
        _selected([rule for rule in rules if _surrounds(rule.declared)], "img"),
        _selected([rule for rule in rules if _arranges(rule.declared)]),
        _UNPREDICTABLE.search(text) is not None,
    )


def _sets_only(sizing: dict[str, str], *names: str) -> bool:
    """Whether declarations size an image by these properties alone, with the height that follows."""
    return all(name in names or (name, value) == ("height", "auto") for name, value in sizing.items())


# Selectors without states that every browser knows: for one that it does not know it ignores the whole rule
_NAMES = r"(?:[.#][a-zA-Z_][\w-]*)"
_COMPOUND = rf"(?:(?:\*|[a-zA-Z][\w-]*){_NAMES}*|{_NAMES}+)"
_PLAIN = rf"{_COMPOUND}(?:(?:\s*[>+~]\s*|\s+){_COMPOUND})*"
_PLAIN_LIST = pattern(rf"\s*{_PLAIN}(?:\s*,\s*{_PLAIN})*\s*\Z")


def _frees(rule: _Rule) -> bool:
    """Whether a rule sets ``height: auto`` in every medium and state."""
    is_plain = rule.is_lasting and _PLAIN_LIST.match(rule.prelude) is not None
    return is_plain and rule.declared.get("height") == "auto"


def _selected(rules: list[_Rule], tag: str | None = None) -> tuple[str, ...]:
    selectors = (selector for rule in rules for selector in split_selectors(rule.prelude))
    return tuple(dict.fromkeys(selector for selector in selectors if tag is None or _may_be(selector, tag)))


class _Rule(NamedTuple):
    """A rule: its prelude and its declarations by name. ``is_lasting`` if nothing is around it."""

    prelude: str
    declared: dict[str, str]
    is_lasting: bool = False


class _OddRuleError(Exception):
    """The sheet has something that is read in several ways: what is not closed, or an unknown at-rule in another."""


_NO_ELEMENTS = frozenset(
    {"@font-face", "@page", "@keyframes", "@-webkit-keyframes", "@-moz-keyframes", "@-o-keyframes", "@property"}
)
_READ = GROUPS | _NO_ELEMENTS
_IMPORTANT = pattern(r"\s*!\s*important\s*\Z", re.IGNORECASE)


def _rules(text: str, items: Iterable[Item], is_inside: bool = False, is_known: bool = True) -> Iterator[_Rule]:
    """Yield the rules of a sheet, nested ones too; not ``is_known`` in an at-rule that is not, as ``@-moz-document``.

    Raises ``_OddRuleError``.
    """
    for item in items:
        is_open = item.name == "?" and text.startswith("{", item.prelude)
        is_foreign = item.name.startswith("@") and item.name not in _READ and item.body >= 0
        if is_open or (is_foreign and not is_known):
            raise _OddRuleError
        if is_foreign:
            body = text[item.body : item.close]
            yield from _rules(body, sheet_items(body), True, False)
        elif item.is_rule or item.name in GROUPS:
            named = ((each.name, text[each.body : each.close]) for each in item.items if each.is_declaration)
            declared = {name: _IMPORTANT.sub("", value).strip().lower() for name, value in named}
            # declarations right in a nested group are those of the rule around it: of any element, then
            yield _Rule(text[item.start : item.prelude] if item.is_rule else "", declared, not is_inside)
            yield from _rules(text, item.items, True, is_known)


def _surrounds(declared: dict[str, str]) -> bool:
    """Whether declarations put a padding or border around an element; one without a style or a width is none."""
    is_thin = declared.get("border-width") in _NOTHING
    around = {name: value for name, value in declared.items() if _AROUND.match(name) and value not in _NOTHING}
    return any(
        not (is_thin and name.endswith("-style")) and not _IS_NO_BORDER.match(value) for name, value in around.items()
    )


def _arranges(declared: dict[str, str]) -> bool:
    return "all" in declared or declared.get("display", "block") not in _PLAIN_DISPLAY


_BRACKETS = pattern(r"\[[^][]*\]|\([^()]*\)")
_COMBINATORS = pattern(r"[\s>+~]+")
_SUBJECT = pattern(r"(?:[^][()\s>+~]|\[[^][]*\]|\([^()]*\))*\Z")
_PSEUDO_ELEMENT = pattern(r"::|:(?:before|after|first-line|first-letter)\b", re.IGNORECASE)
_TYPE = pattern(r"[a-zA-Z][\w-]*")
_NAME = pattern(r"([.#])([\w-]+)")
_GIVEN = pattern(r"[.#]([\w-]+)|\[\s*([\w-]+)[^\]]*\]")


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
    own = {".": split_tokens(classes.lower()), "#": [identifier.lower()]}
    return _is_odd(subject) or all(name.lower() in own[mark] for mark, name in _NAME.findall(subject))


def _matches(selector: str, element: Element, is_fixed: bool) -> bool:
    """Whether a selector may match in some state; unsupported selectors count as matching.

    ``is_fixed`` says that the page keeps its elements.
    """
    from turbohtml import SelectorSyntaxError

    static = static_selectors(selector) if is_fixed or ":" not in selector else ()
    if "&" in selector or not static:  # another element's rule around this one, or an unknown one
        return True
    try:
        return any(map(element.matches, static))
    except SelectorSyntaxError:
        return True


# ---- The images of a page as a browser saw them: how large, and whether scripts write their addresses

# Parts of an image's own size, of each side: pages that show it at nearly the same size share a copy
_STEPS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


class ShownImages:
    """What is known of the images of one page; nothing without evidence."""

    def __init__(self, evidence: PageEvidence | None) -> None:
        self._seen: dict[str, list[ImageSeen]] = defaultdict(list)
        self._widths: dict[str, dict[int, ImageSeen]] = defaultdict(dict)
        widths = evidence.widths if evidence is not None else ()
        self._count = len(widths)
        for width in widths:
            for image in width.images:
                self._seen[image.path].append(image)
                self._widths[image.path][width.width] = image

    def is_left_alone(self, path: str) -> bool:
        """Whether an image was seen, and no script wrote its address at any width."""
        seen = self._seen.get(path, ())
        return bool(seen) and not any(image.is_by_script for image in seen)

    def is_by_script(self, path: str) -> bool:
        """Whether a script wrote the address of an image at some width."""
        return any(image.is_by_script for image in self._seen.get(path, ()))

    def is_unchanged(self, path: str) -> bool:
        """Whether an image was seen at every width, and no script wrote its address or attributes, or moved it."""
        seen = self._seen.get(path, ())
        is_seen = len(seen) == self._count > 0
        return is_seen and not any(image.is_by_script or image.is_changed for image in seen)

    def box(self, path: str) -> tuple[int, int] | None:
        """Return width and height of the largest box that shows an image, in CSS pixels; ``None`` without any."""
        boxes = [(image.width, image.height) for image in self._seen.get(path, ()) if image.width and image.height]
        return max(boxes, key=lambda box: box[0] * box[1], default=None)

    def scale(self, path: str, natural: tuple[int, int]) -> float | None:
        """Return the scale at which a copy has a pixel for each CSS pixel of the largest box, if that is below a half.

        ``natural`` is the size of the image in CSS pixels. Between the widths at which pages are looked at, a box may
        be wider: that of a column of three at 1,280 pixels, which is the only one at 800, twice as wide. A background
        may show a part of the image only, and an image that no width shows may have any size.
        """
        seen = self._seen.get(path, ())
        width, height = (max((getattr(image, side) for image in seen), default=0) for side in ("width", "height"))
        if not width or not height or any(image.is_background or image.is_by_script for image in seen):
            return None
        share = max(width / natural[0], height / natural[1])
        return next((step for step in _STEPS if step >= share), None)

    def share(self, path: str, natural: tuple[int, int], width: int) -> float | None:
        """Return how large the largest box at a width of the window is, as a part of the image's own sides.

        ``natural`` is the size of the image in CSS pixels. The side that is the larger part counts. ``None`` where no
        box was seen, or a script wrote the address.
        """
        image = self._widths.get(path, {}).get(width)
        if image is None or not image.width or not image.height or not self.is_left_alone(path):
            return None
        return max(image.width / natural[0], image.height / natural[1])
