"""What a reader loses: the unit of harm, and how much of it an image is worth.

The harm of a page is 1 where a window full of content is gone: 1280 by 800 CSS pixels of a photograph, say. An image
counts by what of such a window it covers, by its label and by how unlike itself it became. The figures below are
judgements, no measurements; they are the same for every level that is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.labels import Label
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from adaptc.compile.analyse.decorations.evidence import ImageEvidence

# The window of a laptop in CSS pixels, as ``adaptc.browser.evidence.WIDTHS`` has it
WINDOW_WIDTH, WINDOW_HEIGHT = 1280, 800

# How much a part of an image counts by its label: a logo covers little and is missed much, advertisements are not
WEIGHTS: Mapping[Label, float] = {
    Label.LOGO: 4.0,
    Label.STORY: 2.0,
    Label.CONTENT: 1.0,
    Label.DECORATION: 0.1,
    Label.AD: 0.0,
}


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image as a page shows it: its label, and width and height of its box in CSS pixels, 1 or more."""

    label: Label
    width: int
    height: int

    @classmethod
    def of(cls, label: Label, size: tuple[float, float] | None, evidence: ImageEvidence | None) -> ShownImage | None:
        """Return an image of this ``size`` in the markup, else as large as its file is, at most as wide as a window.

        ``None`` where neither is known.
        """
        if size is None and evidence is not None and evidence.width and evidence.height:
            size = (evidence.width, evidence.height)
        if size is None or min(size) <= 0:
            return None
        scale = min(1.0, WINDOW_WIDTH / size[0])
        return cls(label, max(1, round(size[0] * scale)), max(1, round(size[1] * scale)))

    @property
    def worth(self) -> float:
        """The harm of its absence."""
        return WEIGHTS[self.label] * self.width * self.height / (WINDOW_WIDTH * WINDOW_HEIGHT)

    def harm(self, likeness: float) -> float:
        """Return the harm where a copy is shown that is as like it as this, from 0 to 1."""
        return self.worth * (1 - likeness)
