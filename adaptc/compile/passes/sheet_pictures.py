"""half-sheets, sheet-pictures: images of style sheets at half resolution, or in formats of which the browser chooses.

``url(a.png)`` becomes ``image-set(url(half.webp) 0.5x)`` (CSS Images 4, 2.4), shown as large as before, or
``image-set(url(a.avif) type("image/avif"), ...)``, for backgrounds, list markers and ``content``. The original
declaration stays in front of it: browsers from before 2023 use that one, others drop it before anything is fetched
(checked in Chromium).
"""

from __future__ import annotations

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.copies import Copies, FormatCopies, halve_css, with_images
from adaptc.compile.page.pricing import Pricing
from adaptc.compile.page.sheets import sheet_in_utf8
from adaptc.compile.view import Asset, DerivingView, Options, Outcome
from adaptc.core.model import Action

HALF, PICTURES = "half-sheets", "sheet-pictures"


def halve_sheet(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Point a style sheet to copies of its images; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(HALF, KEPT, asset.path, "it is not in UTF-8"),))
    pricing = Pricing.of(options, view)
    copies = Copies(view, view.url_of(asset.path), asset.path, options, HALF, pricing=pricing, as_stored=True)
    halved = halve_css(text, copies.of_sheet)
    return Outcome(None if halved == text else halved.encode(), tuple(copies.actions))


def offer_formats(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Offer the images of a style sheet in the formats of the option; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(PICTURES, KEPT, asset.path, "it is not in UTF-8"),))
    copies = FormatCopies(view, view.url_of(asset.path), asset.path, options, as_stored=True)
    offered = with_images(text, copies.image_set)
    actions = tuple(Action(PICTURES, "offered", path, f"{size:,} bytes fewer") for path, size in copies.saved.items())
    return Outcome(None if offered == text else offered.encode(), actions)
