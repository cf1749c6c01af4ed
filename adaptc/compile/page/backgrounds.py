"""CSS backgrounds that go, and the colour that they leave behind.

``url()`` becomes ``none`` where it stands, so that the cascade is what it was. An image that would have covered its
element leaves its colour, on which the text stays readable; one whose text would not be readable stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import tinycss2

from adaptc.compile.analyse.decorations.evidence import ImageEvidence
from adaptc.formats.css.images import DeclarationBlocks, Declarations, ImageDeclaration, image_declarations
from adaptc.formats.css.values import Colour, as_hex, contrast, has_colour, luminance, opaque_colour

_PROPERTIES = frozenset({"background", "background-image"})
_OPAQUE = 0.9  # share of pixels that hide what is behind, from which an image covers
_READABLE = 3.0  # WCAG 2.2, 1.4.3, large text: what is less was readable by the picture alone
_LIGHT_INK = 0.4  # luminance of text that cannot be read on white
_LIGHT_GROUND = 0.6  # ... and of what text stands on that can
_SEE_THROUGH = 0.5  # share of see-through pixels from which text has to be readable on what is behind
_TINY = 32  # px: text does not stand on what is smaller
_SMALL = 64  # px: nor does it stand before what is smaller
_IMPORTANT = re.compile(r"\s*!\s*important\s*\Z", re.IGNORECASE)
_REPEAT = re.compile(r"\b(no-repeat|repeat-x|repeat-y)\b", re.IGNORECASE)
_COVER = re.compile(r"\b(cover|100%)", re.IGNORECASE)
_PIXELS = re.compile(r"\s*(\d+(?:\.\d+)?)px\s*")


@dataclass(frozen=True, slots=True)
class RemovableImage:
    """A background image that may go, and what it looks like; ``None`` where that is not known.

    ``is_bare`` says that no text stands in the elements that show it.
    """

    evidence: ImageEvidence | None
    is_bare: bool = False


# What becomes of the image that a URL, as written, names: ``None`` where it stays.
Verdict = Callable[[str], RemovableImage | None]


@dataclass(frozen=True, slots=True)
class ClearedCss:
    """CSS text without some of its images; ``urls`` are those that went, ``unreadable`` those that had to stay."""

    text: str
    urls: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def clear_backgrounds(text: str, verdict: Verdict, *, declarations: bool = False) -> ClearedCss:
    """Return a style sheet, or a style attribute's ``declarations``, without the backgrounds that go."""
    blocks: DeclarationBlocks | None = None
    pieces, done = list[str](), 0
    gone, unreadable = list[str](), list[str]()
    for declaration in image_declarations(text, declarations=declarations):
        going = {one.url: found for one in declaration.urls if (found := verdict(one.url)) is not None}
        if not going or _name(text, declaration) not in _PROPERTIES:
            continue
        blocks = blocks or DeclarationBlocks(text, declarations=declarations)
        made = _cleared(text, declaration, going, blocks.around(declaration.start))
        (unreadable if made is None else gone).extend(going)
        if made is not None:
            pieces += [text[done : declaration.start], made]
            done = declaration.end
    return ClearedCss("".join([*pieces, text[done:]]), tuple(gone), tuple(unreadable))


def _name(text: str, declaration: ImageDeclaration) -> str:
    return text[declaration.start : declaration.end].partition(":")[0].strip().lower()


def _cleared(
    text: str, declaration: ImageDeclaration, going: dict[str, RemovableImage], block: Declarations
) -> str | None:
    """Return the declaration without its images, ``None`` where text would not be readable."""
    pieces, done = list[str](), declaration.start
    for reference in declaration.urls:
        if reference.url in going:
            pieces += [text[done : reference.start], "none"]
            done = reference.end
    written = "".join([*pieces, text[done : declaration.end]])
    last = declaration.urls[-1]
    colour = _colour_behind(going.get(last.url), block)
    if not _is_readable(going.get(last.url), colour, block):
        return None
    return written if colour is None or _has_own(block) else _with_colour(written, colour, block)


def _colour_behind(one: RemovableImage | None, block: Declarations) -> Colour | None:
    """Return the colour of an image that covers its element, or hides what text of another element may stand on."""
    seen = one.evidence if one is not None else None
    if one is None or seen is None or seen.colour is None or (seen.opaque or 0) < _OPAQUE:
        return None
    is_ground = one.is_bare and min(seen.width or 0, seen.height or 0) > _SMALL
    return seen.colour if is_ground or _covers(seen, block) else None


def _covers(seen: ImageEvidence, block: Declarations) -> bool:
    if _COVER.search(_text(block, "background-size") + _text(block, "background").partition("/")[2]):
        return True
    if not _REPEAT.search(_text(block, "background-repeat") or _text(block, "background")):
        return True
    width, height = _pixels(block, "width"), _pixels(block, "height")
    return bool(width and height and seen.width and seen.height and width <= seen.width and height <= seen.height)


def _is_readable(one: RemovableImage | None, colour: Colour | None, block: Declarations) -> bool:
    """Whether text can be read without the image, as far as the rule and the image say it."""
    if one is None or (one.is_bare and one.evidence is not None and not one.evidence.is_vector):
        return True  # text of another element may stand before it: for that its colour stays
    ink, own = opaque_colour(block.get("color", [])), _own_colour(block)
    behind = own or (None if _has_own(block) else colour)
    if ink is not None and behind is not None:
        return contrast(ink, behind) >= _READABLE
    return _has_own(block) or colour is not None or _leaves_text_alone(one.evidence, ink)


def _leaves_text_alone(seen: ImageEvidence | None, ink: Colour | None) -> bool:
    """Whether text stands beside an image, or would be as readable on the page's own ground."""
    if seen is None:
        return False
    is_tiny = bool(seen.width and seen.height) and max(seen.width or 0, seen.height or 0) <= _TINY
    is_dark_text = ink is None or luminance(ink) < _LIGHT_INK
    is_light = seen.colour is not None and luminance(seen.colour) >= _LIGHT_GROUND
    return is_tiny or (is_dark_text and (is_light or (seen.transparent or 0) >= _SEE_THROUGH))


def _own_colour(block: Declarations) -> Colour | None:
    shorthand = (opaque_colour([token]) for token in block.get("background", []))
    return opaque_colour(block.get("background-color", [])) or next((one for one in shorthand if one), None)


def _has_own(block: Declarations) -> bool:
    """Whether the author gave a colour for a browser that does not get the image."""
    return "background-color" in block or has_colour(block.get("background", []))


def _with_colour(written: str, colour: Colour, block: Declarations) -> str:
    """Add a colour: to the last layer of a shorthand, or behind a longhand.

    A longhand without another image becomes the shorthand, which is shorter than the address was: what else it resets
    means nothing without an image, but for ``background-clip``.
    """
    important = _IMPORTANT.search(written)
    end = important.start() if important else len(written)
    name, _, value = written[:end].partition(":")
    if name.strip().lower() == "background":
        return f"{written[:end]} {as_hex(colour)}{written[end:]}"
    if value.strip() == "none" and "background-clip" not in block:
        return f"background:{as_hex(colour)}{written[end:]}"
    return f"{written};background-color:{as_hex(colour)}{written[end:].strip()}"


def _text(block: Declarations, name: str) -> str:
    return tinycss2.serialize(block[name]) if name in block else ""


def _pixels(block: Declarations, name: str) -> float | None:
    found = _PIXELS.fullmatch(_text(block, name))
    return float(found[1]) if found else None


UNREADABLE = "text could not be read without it"
