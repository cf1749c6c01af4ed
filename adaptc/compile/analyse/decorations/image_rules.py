"""The image rules of a style sheet: which selectors load which images, and how. Read once for each sheet.

Only screens count: rules and sheets for print alone are left out. Pseudo-classes and pseudo-elements are dropped from
selectors, so that a rule for ``:hover`` counts where its element is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tinycss2

from adaptc.core.model import Role
from adaptc.core.values import dataclass, pattern
from adaptc.formats.css.references import IMAGE_SETS, css_references, may_have_references
from adaptc.formats.css.sheet_text import beyond_limits, split_rules
from adaptc.formats.css.visibility import is_of_state, may_match_screen, widths_of

# At-rules whose rules apply on some screen; @font-face, @keyframes and @page hold no images of elements.
_GROUPS = frozenset({"media", "supports", "layer", "container", "scope", "starting-style", "-moz-document", "document"})
_MATCHING_PSEUDO = frozenset({"is", "where", "-webkit-any", "-moz-any", "matches"})
_COMBINATORS = frozenset({">", "+", "~"})
_AWAY = pattern(r"\s*(?:-\d{3,}[a-z]*|-\d{2}r?em|-?[1-9]\d{2,}%)(?:\s*!important)?\s*", re.IGNORECASE)
_INDENT = pattern(r"text-indent\s*:\s*-?\d{2}", re.IGNORECASE)  # all of the above begin like this
_NOTHING = pattern(r"\s*0(?:px|em|rem)?(?:/0|/1)?(?:\s*!important)?\s*", re.IGNORECASE)
_PIXELS = pattern(r"\s*(\d+(?:\.\d+)?)px\s*")
# CSS pixels of the window of a laptop, as in ``adaptc.browser.evidence.WIDTHS``
WINDOW_WIDTH = 1280
# Characters of a nested selector: each "&" writes the selector around it again, so that it may grow exponentially
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class ImageRule:
    """One image of one rule. ``selector`` has no pseudo-classes; ``url`` is as written, escapes resolved.

    ``property`` is that of the declaration; ``repeat``, ``size`` and ``width``, ``height`` (px) are those of the rule.
    ``pseudo`` says that the image belongs to a pseudo-element or pseudo-class, ``hides_text`` that the rule hides the
    text of its element, so that the image is seen in its place. ``is_loaded`` says that a browser loads it with a page,
    in a window 1280 CSS pixels wide with one pixel for each of them: neither when somebody points at something, nor for
    other screens, nor where an ``image-set()`` has a choice before it. ``layer`` counts those of its declaration.
    """

    selector: str
    url: str
    property: str
    repeat: str = ""
    size: str = ""
    width: float | None = None
    height: float | None = None
    pseudo: bool = False
    hides_text: bool = False
    is_loaded: bool = True
    layer: int = 0


@dataclass(frozen=True, slots=True)
class SheetImages:
    """The image rules of a sheet in order, and the URLs of what it imports for screens.

    ``hiding`` are the selectors of rules that hide the text of their elements, which a background may replace; those of
    sheets without images are not read.
    """

    rules: tuple[ImageRule, ...] = ()
    imports: tuple[str, ...] = ()
    hiding: tuple[str, ...] = ()


def is_for_wide(media: str) -> bool:
    """Whether a media query list matches a screen with a window 1280 CSS pixels wide and default settings."""
    return any(low <= WINDOW_WIDTH <= high for low, high in widths_of(media))


def sheet_images(text: str) -> SheetImages:
    """Return the images that a style sheet loads; none of one that goes beyond the limits."""
    if beyond_limits(text):
        return SheetImages()
    references = css_references(text)
    imports = any(reference.role is Role.IMPORT for reference in references)
    has_images = any(_is_file(reference.url) for reference in references if reference.role is Role.CSS_URL)
    if not imports and not has_images:
        return SheetImages()
    hides = _INDENT.search(text) is not None
    nodes = tinycss2.parse_stylesheet(_relevant(text, hides), skip_comments=True, skip_whitespace=True)
    hiding = tuple(_hiding(nodes)) if hides else ()
    return SheetImages(tuple(_rules(nodes, "", is_wide=True)), tuple(_imports(nodes)), hiding)


def _relevant(text: str, hides: bool) -> str:
    """Return the rules that may load an image or, with ``hides``, may hide text: parsing 300 kB takes 0.3 s."""

    def is_relevant(rule: str) -> bool:
        return may_have_references(rule) or "\\" in rule or (hides and "text-indent" in rule.lower())

    return "".join(filter(is_relevant, split_rules(text)))


def style_images(text: str) -> tuple[ImageRule, ...]:
    """Return the images of a ``style`` attribute; their selector is empty."""
    if not css_references(text, declarations=True) or beyond_limits(text):
        return ()
    return tuple(_declared(tinycss2.parse_blocks_contents(text, True, True), "", pseudo=False, is_loaded=True))


def _is_file(url: str) -> bool:
    return bool(url) and url[0] != "#" and url[:5].lower() != "data:"


def _imports(nodes: list[Any]) -> Iterator[str]:
    for node in nodes:
        if node.type == "at-rule" and node.lower_at_keyword == "import":
            target = css_references(f"@import {tinycss2.serialize(node.prelude)};")
            media = "".join(
                token.serialize() for token in node.prelude if token.type not in ("url", "string", "function")
            )
            if target and may_match_screen(media):
                yield target[0].url


def _rules(nodes: list[Any], outer: str, *, is_wide: bool) -> Iterator[ImageRule]:
    """Yield the images of rules in the rule ``outer``; ``is_wide`` says that they apply in a wide window."""
    for node in nodes:
        if node.type == "qualified-rule":
            yield from _style_rule(node, outer, is_wide)
        elif node.type == "at-rule" and node.content is not None and _is_group(node):
            yield from _group(node, outer, is_wide and _is_for_wide(node))


def _is_group(node: Any) -> bool:
    """Whether an at-rule holds rules that apply on some screen."""
    name = node.lower_at_keyword
    return name in _GROUPS and (name != "media" or may_match_screen(tinycss2.serialize(node.prelude)))


def _is_for_wide(node: Any) -> bool:
    return node.lower_at_keyword != "media" or is_for_wide(tinycss2.serialize(node.prelude))


def _hiding(nodes: list[Any]) -> Iterator[str]:
    """Yield the selectors of rules that move the text of their elements out of sight; nested rules are left out."""
    for node in nodes:
        if node.type == "at-rule" and node.content is not None and _is_group(node):
            yield from _hiding(tinycss2.parse_rule_list(node.content, True, True))
        elif node.type == "qualified-rule" and any(map(_is_indent, node.content)):
            values = _values(tinycss2.parse_blocks_contents(node.content, True, True))
            if _AWAY.fullmatch(values.get("text-indent", "")) and ":" not in tinycss2.serialize(node.prelude):
                yield _without_pseudo(node.prelude)


def _is_indent(token: Any) -> bool:
    return bool(token.type == "ident" and token.lower_value == "text-indent")


def _values(nodes: list[Any]) -> dict[str, str]:
    return {node.lower_name: tinycss2.serialize(node.value) for node in nodes if node.type == "declaration"}


def _group(node: Any, outer: str, is_wide: bool) -> Iterator[ImageRule]:
    if outer:  # inside a style rule an at-rule holds declarations and rules
        yield from _contents(tinycss2.parse_blocks_contents(node.content, True, True), outer, "", is_wide)
    else:
        yield from _rules(tinycss2.parse_rule_list(node.content, True, True), outer, is_wide=is_wide)


def _style_rule(node: Any, outer: str, is_wide: bool) -> Iterator[ImageRule]:
    nodes = tinycss2.parse_blocks_contents(node.content, True, True)
    prelude = tinycss2.serialize(node.prelude)
    yield from _contents(nodes, _nested(_without_pseudo(node.prelude), outer), prelude, is_wide)


def _nested(selector: str, outer: str) -> str:
    """Return a nested selector as one of its own (CSS Nesting 1); one that is too long begins anywhere."""
    if not outer:
        return selector
    if len(outer) * max(1, selector.count("&")) > _LONGEST:
        outer = "*"
    return selector.replace("&", f":is({outer})") if "&" in selector else f":is({outer}) {selector}"


def _contents(nodes: list[Any], selector: str, prelude: str, is_wide: bool) -> Iterator[ImageRule]:
    """Yield the images of a rule with this ``prelude`` and of the rules in it."""
    is_loaded = is_wide and not all(map(is_of_state, prelude.split(",")))
    yield from _declared(nodes, selector, pseudo=":" in prelude, is_loaded=is_loaded)
    yield from _rules([node for node in nodes if node.type != "declaration"], selector, is_wide=is_wide)


def _declared(nodes: list[Any], selector: str, *, pseudo: bool, is_loaded: bool) -> Iterator[ImageRule]:
    values, last = _values(nodes), {node.lower_name: node.value for node in nodes if node.type == "declaration"}
    width, height, hides_text = _pixels(values.get("width")), _pixels(values.get("height")), _hides_text(values)
    for name, value in values.items():
        urls = [each.url for each in css_references(f"{name}:{value}", declarations=True) if _is_file(each.url)]
        if not urls:
            continue
        loaded = _loaded(last[name], name) if is_loaded and _LOADING.match(name) else {}
        words = _word(values, name, "repeat", _REPEAT), _word(values, name, "size", _SIZE)
        shared = (*words, width, height, pseudo, hides_text)
        for url in urls:
            yield ImageRule(selector, url, name, *shared, is_loaded=url in loaded, layer=loaded.get(url, 0))


_REPEAT = pattern(r"\b(?:no-repeat|repeat-[xy]|repeat|space|round)\b")
_SIZE = pattern(r"\b(?:cover|contain)\b")
# The properties whose images browsers load when an element has them
_LOADING = pattern(r"(?:-webkit-)?(?:background|border-image|content|cursor|list-style|mask)")
_DENSE = pattern(r"\b(?!1(?:\.0+)?(?:x|dppx))[\d.]+(?:x|dppx)\b", re.IGNORECASE)


def _loaded(value: list[Any], name: str) -> dict[str, int]:
    """Return the URLs that a browser loads of the last declaration of a property, and their numbers."""
    text = "".join(
        _choice(token) if token.type == "function" and token.lower_name in IMAGE_SETS else token.serialize()
        for token in value
    )
    urls = (reference.url for reference in css_references(f"{name}:{text}", declarations=True))
    return {url: number for number, url in enumerate(dict.fromkeys(filter(_is_file, urls)))}


def _choice(image_set: Any) -> str:
    """Return an ``image-set()`` of the choice for one pixel for each CSS pixel, the first of equals."""
    choices: list[list[Any]] = [[]]
    for token in image_set.arguments:
        if token == ",":
            choices.append([])
        else:
            choices[-1].append(token)
    texts = [tinycss2.serialize(choice) for choice in choices]
    return f"image-set({next((text for text in texts if not _DENSE.search(text)), texts[0])})"


def _word(values: dict[str, str], name: str, longhand: str, pattern: re.Pattern[str]) -> str:
    """Return a keyword of ``background-*``, or of the shorthand."""
    match = pattern.search(values.get(f"background-{longhand}", "") or values.get(name, ""))
    return match[0] if match else ""


def _hides_text(values: dict[str, str]) -> bool:
    """Whether declarations move the text of an element out of sight (the methods of image replacement)."""
    return (
        _AWAY.fullmatch(values.get("text-indent", "")) is not None
        or _NOTHING.fullmatch(values.get("font-size", "")) is not None
        or values.get("color", "").strip().lower() == "transparent"
    )


def _pixels(value: str | None) -> float | None:
    match = _PIXELS.fullmatch(value or "")
    return float(match[1]) if match else None


def _without_pseudo(prelude: list[Any]) -> str:
    """Return a selector list without pseudo-classes and pseudo-elements; an empty one becomes ``*``."""
    parts: list[str] = []
    colons = False
    for token in prelude:
        if token == ":":
            colons = True
        elif colons and token.type in ("ident", "function"):
            colons = False
            if token.type == "function" and token.lower_name in _MATCHING_PSEUDO:
                parts.append(f":is({_without_pseudo(token.arguments)})")
            elif not parts or parts[-1].strip() in {"", ",", *_COMBINATORS}:
                parts.append("*")
        else:
            parts.append(token.serialize())
    return "".join(parts).strip()
