"""The copy of an image that is worth its bytes: rate against distortion, with one multiplier for the whole site.

Of all copies and the original that one is chosen whose bytes and harm, the latter times the multiplier, are the fewest
together (Shoham and Gersho 1988). Where every choice of a site is made with the same multiplier, no other choices of as
many bytes have less harm. Bytes and harm of a page are both sent as often as it is viewed, so that views do not change
a choice: they are weights of the sums by which the multiplier is found, and no unit depends on a log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.labels import Label
from adaptc.compile.analyse.harm import ShownImage
from adaptc.compile.page.image_labels import labelled_images
from adaptc.compile.page.image_sizes import ShownImages
from adaptc.compile.view import DerivedFile, DerivingView, Options
from adaptc.core import media
from adaptc.core.values import dataclass
from adaptc.formats.image.score import MODERATE, TEXT_SCALE

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.compile.page.context import PageContext

# Copies by pixels of a side for each CSS pixel of the box, and quality, about from large to small. A low quality at all
# pixels has less harm for its bytes than fewer pixels, by this measure. The one without quality is that of moderate.
_COPIES: tuple[tuple[float, int | None], ...] = (
    (1.0, 90), (1.0, 75), (1.0, 60), (1.0, 45), (1.0, 30), (0.71, 45), (1.0, 15), (0.71, 25), (0.5, None), (0.5, 45),
    (0.5, 25), (0.35, 45), (0.25, 35),
)  # fmt: skip
# The one that is tried first, and how many in a row may cost more than the best one, larger and smaller: encoding
# takes its time. The larger ones differ in quality alone, so that their costs rise once they rise.
_FIRST, _LARGER, _SMALLER = 3, 1, 2
# The types of images of which there are copies
COPIED = frozenset({media.JPEG, media.PNG, media.GIF, media.WEBP, media.AVIF, "image/apng"})
_STEP = 64  # CSS pixels to which widths are rounded up, so that pages share copies


@dataclass(frozen=True, slots=True)
class _Choice:
    """A copy, or the reason why the original stays, its bytes, and its harm times the multiplier."""

    copy: DerivedFile | str
    size: float
    harm: float = 0.0

    @property
    def cost(self) -> float:
        """What it comes to, in bytes."""
        return self.size + self.harm


def _tried(rate: Callable[[int], _Choice | None], count: int) -> list[_Choice]:
    """Return the choices that may cost the least, of ``count`` from large to small, and those needed to know it.

    From one in the middle on smaller ones are tried until the harm of one alone costs as much as the best one, or some
    in a row cost more; where none was better, larger ones until the bytes of one do. ``rate`` returns ``None`` where
    there is no copy.
    """
    tried: list[_Choice] = []
    smaller, larger = (range(_FIRST, count), "harm", _SMALLER), (range(_FIRST - 1, -1, -1), "size", _LARGER)
    for numbers, part, patience in (smaller, larger):
        failures = 0
        for choice in filter(None, map(rate, numbers)):
            lowest = min((each.cost for each in tried), default=inf)
            tried.append(choice)
            failures = failures + 1 if choice.cost > lowest else 0
            if failures == patience or getattr(choice, part) >= min(lowest, choice.cost):
                break
        if tried and tried[0].cost > min(choice.cost for choice in tried):
            break
    return tried


class Pricing:
    """Chooses the copies of one page or style sheet.

    ``price`` is the multiplier: the bytes that a page may take to avoid a harm of 1. ``least`` is the least likeness
    that a copy may have. ``shown`` is what is known of images by path; others count as content of their own size. The
    pass ``images`` is taken to have the same price, so that what a page shows without a copy has its harm, too.
    """

    def __init__(self, view: DerivingView, options: Options, shown: Mapping[str, ShownImage]) -> None:
        self.view, self.shown = view, shown
        self.price: float = options["price"]
        self.least: float = options.get("least", 0.0)
        self.target, self.frozen = options.get("target", MODERATE), options.get("frozen", False)

    @classmethod
    def of(cls, options: Options, view: DerivingView, shown: Mapping[str, ShownImage] | None = None) -> Pricing | None:
        """Return the pricing of a pass with these options, ``None`` where they set no price."""
        return cls(view, options, shown or {}) if options.get("price") else None

    def choose(self, path: str, *, exact: bool) -> tuple[DerivedFile | str, str]:
        """Return the copy of the image at ``path``, or why the original stays, and how that was decided.

        With ``exact`` its box is exactly that of the original, for style sheets.
        """
        evidence = self.view.evidence(path)
        image = self.shown.get(path) or ShownImage.of(Label.CONTENT, None, evidence)
        if image is None or not evidence.width:
            return "its size is not known", ""
        best, original = self._best(path, image, exact=exact)
        return best.copy, self._reason(best, image, original)

    def is_worth_its_bytes(self, path: str, image: ShownImage, request: float, *, exact: bool) -> bool:
        """Whether an image costs less as its best copy than its absence does in harm; ``request`` are bytes, too."""
        if self.view.media_type(path) not in COPIED:
            return self.price * image.worth > len(self.view.artifact(path)) + request
        return self.price * image.worth > self._best(path, image, exact=exact)[0].cost + request

    def _best(self, path: str, image: ShownImage, *, exact: bool) -> tuple[_Choice, int]:
        """Return what costs the least, and the bytes of the file as it is at the level."""
        kept = choose_recompressed(path, self.view, {"price": self.price, "least": self.least})[0]
        original = len(self.view.artifact(path)) if kept is None else kept.size
        harm = 0.0 if kept is None else image.harm(kept.likeness or 0.0)
        stays = _Choice("no copy is worth its harm", original, self.price * harm)
        rate = partial(self._copy, path, image, exact=exact)
        return min((stays, *_tried(rate, len(_COPIES))), key=lambda choice: choice.cost), original

    def _copy(self, path: str, image: ShownImage, number: int, *, exact: bool) -> _Choice | None:
        density, quality = _COPIES[number]
        natural = self.view.evidence(path).width or image.width
        shown = min(-(-image.width // _STEP) * _STEP, max(1, round(natural)))
        scale = text_scale = round(density * shown / natural, 3)
        target = f"q={quality}"
        if quality is None:
            text_scale, target = round(TEXT_SCALE * shown / natural, 3), self.target
        options = {"shown": shown, "exact": exact, "frozen": self.frozen, "scale": scale}
        copy = self.view.derive(path, "rated", {**options, "text_scale": text_scale, "target": target})
        return _rated(copy, image, self.price, self.least)

    def _reason(self, best: _Choice, image: ShownImage, original: int) -> str:
        shown = f"{image.label.value} of {image.width}x{image.height} CSS pixels"
        price = f"at {self.price:,.0f} bytes for a harm of 1"
        if isinstance(best.copy, str):
            return f"{shown}, {price}"
        harm = image.harm(best.copy.likeness or 0.0)
        return (
            f"{shown}, harm {harm:.4f}: {original - best.copy.size:,} bytes fewer for {harm * self.price:,.0f} {price}"
        )


# The qualities of files of the same format that are compared, as those of copies from large to small
_QUALITIES = (90, 75, 60, 45, 30)


def choose_recompressed(path: str, view: DerivingView, options: Options) -> tuple[DerivedFile | None, str]:
    """Return the image file at ``path`` in fewer bytes, as content of its own size, and how that was decided.

    ``None`` where the one without loss is worth its bytes.
    """
    evidence, price, least = view.evidence(path), options["price"], options["least"]
    image = ShownImage.of(Label.CONTENT, None, evidence)
    if image is None or evidence.is_vector:
        return None, ""
    same = {"media_type": view.media_type(path)}
    exact = view.derive(path, "recompressed", {**same, "target": "exact"})

    def rate(number: int) -> _Choice | None:
        copy = view.derive(path, "recompressed", {**same, "target": f"q={_QUALITIES[number]}"})
        return _rated(copy, image, price, least)

    size = evidence.size if isinstance(exact, str) else exact.size
    best = min(_tried(rate, len(_QUALITIES)), key=lambda choice: choice.cost, default=None)
    if best is None or isinstance(best.copy, str) or best.cost >= size:
        return None, ""
    return best.copy, (
        f"score {best.copy.likeness:.3f}, harm {best.harm / price:.4f}: {size - best.copy.size:,} bytes fewer than "
        f"without loss for {best.harm:,.0f} at {price:,.0f} bytes for a harm of 1"
    )


def _rated(copy: DerivedFile | str, image: ShownImage, price: float, least: float) -> _Choice | None:
    """Return what a copy costs, ``None`` where there is none; one that is less like than it must be costs too much."""
    if isinstance(copy, str) or copy.likeness is None:
        return None
    return _Choice(copy, copy.size, price * image.harm(copy.likeness) if copy.likeness >= least else inf)


def images_of_page(tree: Document, page: PageContext, view: DerivingView, seen: ShownImages) -> dict[str, ShownImage]:
    """Return what the images of a page's markup and styles are for and how large they are shown, by path."""
    return {
        image.path: shown
        for image in labelled_images(tree, page, view).values()
        if image.path and (shown := ShownImage.of(image.use.label, seen.box(image.path) or image.size, None))
    }
