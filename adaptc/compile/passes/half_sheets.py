"""half-sheets: images of style sheets at half resolution, shown as large as before.

``url(a.png)`` becomes ``image-set(url(half.webp) 0.5x)`` (CSS Images 4, 2.4), for backgrounds, list markers and
``content``. The original declaration stays in front of it: browsers from before 2023 use that one, others drop it
before anything is fetched (checked in Chromium).
"""

from __future__ import annotations

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.copies import Copies, halve_css
from adaptc.compile.page.pricing import Pricing
from adaptc.compile.page.sheets import sheet_in_utf8
from adaptc.compile.view import Asset, DerivingView, Options, Outcome
from adaptc.core.model import Action

NAME = "half-sheets"


def halve_sheet(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Point a style sheet to copies of its images; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(NAME, KEPT, asset.path, "it is not in UTF-8"),))
    pricing = Pricing.of(options, view)
    copies = Copies(view, view.url_of(asset.path), asset.path, options, NAME, pricing=pricing)
    halved = halve_css(text, copies.of_sheet)
    return Outcome(None if halved == text else halved.encode(), tuple(copies.actions))
