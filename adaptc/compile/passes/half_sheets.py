"""half-sheets: images of style sheets at half resolution, shown as large as before.

``url(a.png)`` becomes ``image-set(url(half.webp) 0.5x)`` (CSS Images 4, 2.4), for backgrounds, list markers and
``content``. The original declaration stays in front of it: a browser from before 2023 takes that one, others drop it
before anything is fetched (checked in Chromium).
"""

from __future__ import annotations

from collections.abc import Callable

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.copies import Copies, Copy
from adaptc.compile.page.sheets import sheet_in_utf8
from adaptc.compile.view import Asset, DerivingView, Options, Outcome
from adaptc.core.model import Action
from adaptc.formats.css.images import ImageDeclaration, image_declarations
from adaptc.formats.css.references import quote_url
from adaptc.formats.image.size import slack

NAME = "half-sheets"
# CSS pixels by which the height of an image may be off: a pattern that repeats shows more than that.
_OFF = 0.25


def half_sheet_file(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Point a style sheet to copies of its images; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(NAME, KEPT, asset.path, "it is not in UTF-8"),))
    copies = Copies(view, view.url_of(asset.path), asset.path, options, NAME)
    halved = half_css(text, copies.of)
    return Outcome(None if halved == text else halved.encode(), tuple(copies.actions))


def half_css(text: str, copy_of: Callable[[str], Copy | None], *, declarations: bool = False) -> str:
    """Return CSS text, or a style attribute's ``declarations``, with copies of its images; all else stays."""
    pieces, done = [], 0
    for declaration in image_declarations(text, declarations=declarations):
        halved = _declaration(text, declaration, copy_of)
        if halved is not None:
            pieces += [text[done : declaration.start], halved]
            done = declaration.end
    return "".join([*pieces, text[done:]])


def _declaration(text: str, declaration: ImageDeclaration, copy_of: Callable[[str], Copy | None]) -> str | None:
    """Return the original declaration and the one with copies behind it, or ``None`` without a copy."""
    pieces, done = [], declaration.start
    for reference in declaration.urls:
        copy = copy_of(reference.url)
        if copy is not None and _is_close(copy):
            pieces += [text[done : reference.start], _image(copy)]
            done = reference.end
    if not pieces:
        return None
    return f"{text[declaration.start : declaration.end]};{''.join(pieces)}{text[done : declaration.end]}"


def _image(copy: Copy) -> str:
    return f"image-set({quote_url(copy.url)} {copy.scale:.6g}x)"


def _is_close(copy: Copy) -> bool:
    file = copy.file
    return slack((file.natural_width, file.natural_height), (file.width, file.height)) <= _OFF
