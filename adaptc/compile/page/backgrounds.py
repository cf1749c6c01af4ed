"""Remove CSS background images, and set a colour instead where text needs one.

``url()`` becomes ``none`` in place, so that the cascade stays the same. An image that covers its element is replaced
by its colour, on which the text stays readable; an image without which the text could not be read stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import tinycss2

from adaptc.compile.analyse.decorations.evidence import ImageEvidence
from adaptc.core.values import dataclass
from adaptc.formats.css.colours import Colour, as_hex, contrast, has_colour, luminance, opaque_colour
from adaptc.formats.css.images import DeclarationBlocks, Declarations, ImageDeclaration, image_declarations
from adaptc.formats.css.sheet_text import beyond_limits

_PROPERTIES = frozenset({"background", "background-image"})
_OPAQUE = 0.9  # share of opaque pixels from which an image covers its element
_READABLE = 3.0  # WCAG 2.2, 1.4.3, large text: with less, the text was readable because of the picture
_LIGHT_INK = 0.4  # luminance of text that cannot be read on white
_LIGHT_GROUND = 0.6  # ... and of backgrounds on which such text can be read
_SEE_THROUGH = 0.5  # share of transparent pixels from which text must be readable on what is below the image
_TINY = 32  # px: smaller images have no text on them
_SMALL = 64  # px: text of other elements does not overlap smaller images
_IMPORTANT = re.compile(r"\s*!\s*important\s*\Z", re.IGNORECASE)
_REPEAT = re.compile(r"\b(no-repeat|repeat-x|repeat-y)\b", re.IGNORECASE)
_COVER = re.compile(r"\b(cover|100%)", re.IGNORECASE)
_PIXELS = re.compile(r"\s*(\d+(?:\.\d+)?)px\s*")


@dataclass(frozen=True, slots=True)
class RemovableImage:
    """A background image to remove, and what it looks like (``None`` if unknown).

    ``is_bare`` says that the elements with this background contain no text.
    """

    evidence: ImageEvidence | None
    is_bare: bool = False


# Gets a URL as written; returns ``None`` if the image stays
Verdict = Callable[[str], RemovableImage | None]


@dataclass(frozen=True, slots=True)
class ClearedCss:
    """CSS text without some of its images; ``urls`` are the removed ones, ``unreadable`` those that text needs."""

    text: str
    urls: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def clear_backgrounds(text: str, verdict: Verdict, *, declarations: bool = False) -> ClearedCss:
    """Return a style sheet, or a style attribute's ``declarations``, without the backgrounds that ``verdict`` picks."""
    if beyond_limits(text):
        return ClearedCss(text)
    blocks: DeclarationBlocks | None = None
    pieces, end = list[str](), 0
    removed, unreadable = list[str](), list[str]()
    for declaration in image_declarations(text, declarations=declarations):
        removals = {each.url: image for each in declaration.urls if (image := verdict(each.url)) is not None}
        if not removals or _name(text, declaration) not in _PROPERTIES:
            continue
        blocks = blocks or DeclarationBlocks(text, declarations=declarations)
        cleared = _clear_declaration(text, declaration, removals, blocks.around(declaration.start))
        (unreadable if cleared is None else removed).extend(removals)
        if cleared is not None:
            pieces += [text[end : declaration.start], cleared]
            end = declaration.end
    return ClearedCss("".join([*pieces, text[end:]]), tuple(removed), tuple(unreadable))


def _name(text: str, declaration: ImageDeclaration) -> str:
    return text[declaration.start : declaration.end].partition(":")[0].strip().lower()


def _clear_declaration(
    text: str, declaration: ImageDeclaration, removals: dict[str, RemovableImage], block: Declarations
) -> str | None:
    """Return the declaration without its images, ``None`` if text could not be read."""
    pieces, end = list[str](), declaration.start
    for reference in declaration.urls:
        if reference.url in removals:
            pieces += [text[end : reference.start], "none"]
            end = reference.end
    cleared = "".join([*pieces, text[end : declaration.end]])
    last = declaration.urls[-1]
    colour = _image_colour(removals.get(last.url), block)
    if not _is_readable(removals.get(last.url), colour, block):
        return None
    return cleared if colour is None or _has_own(block) else _with_colour(cleared, colour, block)


def _image_colour(image: RemovableImage | None, block: Declarations) -> Colour | None:
    """Return the colour of an image that covers its element, or that text of another element may overlap."""
    evidence = image.evidence if image is not None else None
    if image is None or evidence is None or evidence.colour is None or (evidence.opaque or 0) < _OPAQUE:
        return None
    is_ground = image.is_bare and min(evidence.width or 0, evidence.height or 0) > _SMALL
    return evidence.colour if is_ground or _covers(evidence, block) else None


def _covers(evidence: ImageEvidence, block: Declarations) -> bool:
    if _COVER.search(_text(block, "background-size") + _text(block, "background").partition("/")[2]):
        return True
    if not _REPEAT.search(_text(block, "background-repeat") or _text(block, "background")):
        return True
    width, height = _pixels(block, "width"), _pixels(block, "height")
    return bool(
        width
        and height
        and evidence.width
        and evidence.height
        and width <= evidence.width
        and height <= evidence.height
    )


def _is_readable(image: RemovableImage | None, colour: Colour | None, block: Declarations) -> bool:
    """Whether text can be read without the image, as far as the rule and the image show."""
    if image is None or (image.is_bare and image.evidence is not None and not image.evidence.is_vector):
        return True  # text of another element may overlap it: for that its colour stays
    ink, own = opaque_colour(block.get("color", [])), _own_colour(block)
    background = own or (None if _has_own(block) else colour)
    if ink is not None and background is not None:
        return contrast(ink, background) >= _READABLE
    return _has_own(block) or colour is not None or _leaves_text_alone(image.evidence, ink)


def _leaves_text_alone(evidence: ImageEvidence | None, ink: Colour | None) -> bool:
    """Whether text does not overlap an image, or would be as readable on the page's own background."""
    if evidence is None:
        return False
    is_tiny = bool(evidence.width and evidence.height) and max(evidence.width or 0, evidence.height or 0) <= _TINY
    is_dark_text = ink is None or luminance(ink) < _LIGHT_INK
    is_light = evidence.colour is not None and luminance(evidence.colour) >= _LIGHT_GROUND
    return is_tiny or (is_dark_text and (is_light or (evidence.transparent or 0) >= _SEE_THROUGH))


def _own_colour(block: Declarations) -> Colour | None:
    shorthand = (opaque_colour([token]) for token in block.get("background", []))
    return opaque_colour(block.get("background-color", [])) or next((colour for colour in shorthand if colour), None)


def _has_own(block: Declarations) -> bool:
    """Whether the author set a colour for browsers without the image."""
    return "background-color" in block or has_colour(block.get("background", []))


def _with_colour(declaration: str, colour: Colour, block: Declarations) -> str:
    """Add a colour: to the last layer of a shorthand, or after a longhand.

    A longhand without another image becomes the shorthand, which is shorter than the address was: what else it resets
    means nothing without an image, except ``background-clip``.
    """
    important = _IMPORTANT.search(declaration)
    end = important.start() if important else len(declaration)
    name, _, value = declaration[:end].partition(":")
    if name.strip().lower() == "background":
        return f"{declaration[:end]} {as_hex(colour)}{declaration[end:]}"
    if value.strip() == "none" and "background-clip" not in block:
        return f"background:{as_hex(colour)}{declaration[end:]}"
    return f"{declaration};background-color:{as_hex(colour)}{declaration[end:].strip()}"


def _text(block: Declarations, name: str) -> str:
    return tinycss2.serialize(block[name]) if name in block else ""


def _pixels(block: Declarations, name: str) -> float | None:
    match = _PIXELS.fullmatch(_text(block, name))
    return float(match[1]) if match else None


UNREADABLE = "text could not be read without it"
