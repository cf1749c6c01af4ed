"""What each image of a page is for: logo, story, content, decoration or advertisement, and why.

Three pure steps, so that a build repeats only what changed: ``image_evidence`` for each file, ``page_uses`` for each
page, and ``label_page``, which brings both together with the counts of the site. ``classify_site`` does all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptc.compile.analyse.decorations.evidence import (
        ImageEvidence,
        SiteCounts,
        Standing,
        Standings,
        Tag,
        UseEvidence,
        image_evidence,
    )
    from adaptc.compile.analyse.decorations.labels import (
        STRIPPED,
        ImageUse,
        Label,
        classify_site,
        count_uses,
        kept_at_extreme,
        label_page,
        site_pages,
    )
    from adaptc.compile.analyse.decorations.page_images import page_uses
    from adaptc.compile.analyse.decorations.rules import DecorationRules, load_decoration_rules
    from adaptc.compile.analyse.decorations.sheet_images import SheetImages, sheet_images

__all__ = [
    "STRIPPED", "DecorationRules", "ImageEvidence", "ImageUse", "Label", "SheetImages", "SiteCounts", "Standing",
    "Standings", "Tag",
    "UseEvidence", "classify_site", "count_uses", "image_evidence", "kept_at_extreme", "label_page",
    "load_decoration_rules", "page_uses", "sheet_images", "site_pages",
]  # fmt: skip

# Imported when asked for: who only reads the rules, for a recipe, needs none of the parsers behind the labels.
_HOMES = {
    "classify_site": "labels",
    "count_uses": "labels",
    "site_pages": "labels",
    "ImageEvidence": "evidence",
    "SiteCounts": "evidence",
    "Standing": "evidence",
    "Standings": "evidence",
    "Tag": "evidence",
    "UseEvidence": "evidence",
    "STRIPPED": "labels",
    "ImageUse": "labels",
    "Label": "labels",
    "kept_at_extreme": "labels",
    "label_page": "labels",
    "page_uses": "page_images",
    "image_evidence": "evidence",
    "DecorationRules": "rules",
    "load_decoration_rules": "rules",
    "SheetImages": "sheet_images",
    "sheet_images": "sheet_images",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
