"""sheet-pictures: images of style sheets in other formats, of which the browser chooses one.

``url(a.jpg)`` becomes ``image-set(url(a.avif) type("image/avif"), ...)`` in a declaration of its own, which follows the
original one: browsers from before 2023 drop it and use that.
"""

from __future__ import annotations

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.copies import FormatCopies, with_images
from adaptc.compile.page.sheets import sheet_in_utf8
from adaptc.compile.view import Asset, DerivingView, Options, Outcome
from adaptc.core.model import Action

NAME = "sheet-pictures"


def offer_formats(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Offer the images of a style sheet in the formats of the option; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(NAME, KEPT, asset.path, "it is not in UTF-8"),))
    copies = FormatCopies(view, view.url_of(asset.path), asset.path, options)
    offered = with_images(text, copies.image_set)
    actions = tuple(Action(NAME, "offered", path, f"{size:,} bytes fewer") for path, size in copies.saved.items())
    return Outcome(None if offered == text else offered.encode(), actions)
