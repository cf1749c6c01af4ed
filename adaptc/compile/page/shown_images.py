"""The images of a page as a browser saw them: how large, and whether scripts write their addresses."""

from __future__ import annotations

from collections import defaultdict

from adaptc.browser.evidence import ImageSeen, PageEvidence

__all__ = ["ShownImages"]

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
