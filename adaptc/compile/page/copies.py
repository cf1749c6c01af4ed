"""Copies of images, smaller ones and in other formats, and how pages and style sheets refer to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adaptc.compile.page.context import KEPT, PageContext
from adaptc.compile.page.image_sizes import ShownImages
from adaptc.compile.page.pricing import COPIED, Pricing
from adaptc.compile.page.sheets import PageSheets, url_like
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.view import DerivedFile, DerivingView, Options, View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.model import FORMATS, Action
from adaptc.core.shortage import raise_shortage
from adaptc.core.urls import is_rooted
from adaptc.core.values import dataclass
from adaptc.formats.css.images import ImageDeclaration, image_declarations
from adaptc.formats.css.references import quote_url
from adaptc.formats.html.syntax import ImageCandidate, parse_srcset, serialise_srcset
from adaptc.formats.image.halve import EXACT, slack
from adaptc.formats.image.probe import BROKEN, read_orientation

# The options of a pass that decide what a copy is like
_HALF = frozenset({"scale", "text_scale", "target", "formats", "frozen"})


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy and its URL, relative to the page or sheet that refers to it."""

    url: str
    file: DerivedFile

    @property
    def scale(self) -> float:
        """Its pixels for each CSS pixel of the original."""
        return self.file.width / self.file.natural_width


class Copies:
    """Looks up copies for the page or sheet at ``path``, whose URLs are relative to ``base``; notes each action.

    Where ``shown`` knows the size at which a page shows an image, its copy is as small as that. With ``pricing`` each
    copy is the one that is worth its bytes. With ``as_stored`` an image that EXIF turns stays. Files that are
    ``preloaded`` have none.
    """

    def __init__(
        self,
        view: DerivingView,
        base: str,
        path: str,
        options: Options,
        pass_name: str,
        shown: ShownImages | None = None,
        pricing: Pricing | None = None,
        *,
        as_stored: bool = False,
        preloaded: frozenset[str] = frozenset(),
    ) -> None:
        self.view, self.base, self.path, self.pass_name = view, base, path, pass_name
        self.as_stored, self.preloaded = as_stored, preloaded
        self.options: Mapping[str, Any] = {name: options[name] for name in sorted(_HALF & set(options))}
        self.actions: list[Action] = []
        self.shown, self.pricing = shown or ShownImages(None), pricing
        self._known: dict[tuple[str, str], Copy | None] = {}  # by URL and kind

    def of(self, url: str) -> Copy | None:
        """Return the copy of the image that ``url``, as written, leads to; ``None`` if the original stays."""
        return self._of(url, "half")

    def of_sheet(self, url: str) -> Copy | None:
        """Return the copy of an image of a style sheet, which may repeat: its size is exact."""
        return self._of(url, "exact")

    def _of(self, url: str, kind: str) -> Copy | None:
        if (url, kind) not in self._known:
            self._known[url, kind] = self._find(url, kind)
        return self._known[url, kind]

    def _find(self, url: str, kind: str) -> Copy | None:
        destination = self.view.follow(self.base, url)
        # a fragment chooses a part of an image
        if (
            destination.path is None
            or destination.path in self.preloaded
            or "#" in destination.target.suffix
            or self.view.media_type(destination.path) not in COPIED
        ):
            return None
        if self.as_stored and is_turned(destination.path, self.view):
            self.actions.append(Action(self.pass_name, KEPT, destination.path, AS_STORED))
            return None
        copy, decision = self._choose(destination.path, kind)
        if isinstance(copy, str):
            self.actions.append(Action(self.pass_name, KEPT, destination.path, f"{copy}{decision}"))
            return None
        pixels = f"{copy.width}x{copy.height} of {copy.natural_width}x{copy.natural_height} pixels"
        reason = f"{pixels}, {copy.size:,} bytes{decision}"
        self.actions.append(Action(self.pass_name, "halved", destination.path, reason))
        return Copy(url_like(url, self.path, copy.path, self.view), copy)

    def _choose(self, path: str, kind: str) -> tuple[DerivedFile | str, str]:
        """Return the copy, or why there is none, and what decided that, if anything did."""
        if self.pricing is None:
            return self._derive(path, kind), ""
        copy, reason = self.pricing.choose(path, exact=kind == "exact")
        return copy, f"; {reason}" if reason else ""

    def _derive(self, path: str, kind: str) -> DerivedFile | str:
        copy = self.view.derive(path, kind, self.options)
        if isinstance(copy, str) or kind != "half":
            return copy
        scale, usual = self.shown.scale(path, (copy.natural_width, copy.natural_height)), self.options.get("scale", 0.5)
        if scale is None or scale >= usual:
            return copy
        text_scale = self.options.get("text_scale", usual)
        smaller = self.view.derive(
            path, kind, {**self.options, "scale": scale, "text_scale": text_scale * scale / usual}
        )
        return copy if isinstance(smaller, str) or smaller.size >= copy.size else smaller


# ---- Images that EXIF turns, but not where they are shown with ``image-orientation: none`` (CSS Images 3, 6.2)

AS_STORED = "its metadata turns it, which a style sheet may undo"
_UNDONE = re.compile(r"image-?orientation(?!\s*:\s*from-image\b)", re.IGNORECASE)


def _undoes_turns(text: str) -> bool:
    return _UNDONE.search(text) is not None


_UNDOES = FactKind("shows images as stored", _undoes_turns, True)


def shows_as_stored(text: str, page: PageContext, sheets: PageSheets, view: View) -> bool:
    """Whether images of a page may be shown as they are stored: its markup, a sheet or a script of it may say so."""
    if not sheets.are_known or _undoes_turns(text):
        return True
    return any(view.facts(_UNDOES, each) for each in (*sheets.texts, *page.scripts))


def is_turned(path: str, view: View) -> bool:
    """Whether browsers turn the image at ``path``."""
    try:
        return read_orientation(view.artifact(path)) != 1
    except BROKEN as error:
        raise_shortage(error)
        return False


# ---- CSS


def halve_css(text: str, copy_of: Callable[[str], Copy | None], *, declarations: bool = False) -> str:
    """Return CSS text, or a style attribute's ``declarations``, with copies of its images; all else stays."""

    def image_of(url: str) -> str | None:
        copy = copy_of(url)
        return _image(copy) if copy is not None and _is_close(copy) else None

    return with_images(text, image_of, declarations=declarations)


def with_images(text: str, image_of: Callable[[str], str | None], *, declarations: bool = False) -> str:
    """Return CSS with another value for each ``url()`` of an image for which ``image_of`` returns one.

    It is in a declaration of its own after the original one, which counts where a browser does not know the value. One
    that is overridden already stays: the sheet had them before it moved into the page.
    """
    pieces, end = [], 0
    for declaration in image_declarations(text, declarations=declarations):
        replaced = None if declaration.is_overridden else _declaration(text, declaration, image_of)
        if replaced is not None:
            pieces += [text[end : declaration.start], replaced]
            end = declaration.end
    return "".join([*pieces, text[end:]])


def _declaration(text: str, declaration: ImageDeclaration, image_of: Callable[[str], str | None]) -> str | None:
    """Return the original declaration followed by one with other images, or ``None`` without any."""
    pieces, end = [], declaration.start
    for reference in declaration.urls:
        image = image_of(reference.url)
        if image is not None:
            pieces += [text[end : reference.start], image]
            end = reference.end
    if not pieces:
        return None
    return f"{text[declaration.start : declaration.end]};{''.join(pieces)}{text[end : declaration.end]}"


def _image(copy: Copy) -> str:
    return f"image-set({quote_url(copy.url)} {copy.scale:.6g}x)"


def _is_close(copy: Copy) -> bool:
    file = copy.file
    return slack((file.natural_width, file.natural_height), (file.width, file.height)) <= EXACT


# ---- source sets (HTML, 4.8.4.3)

# A candidate with a ``w`` descriptor is laid out by the ratio of that descriptor to ``sizes``, so a copy with its own
# pixels as the descriptor takes the box of the original. ``0.5x`` would not work on ``<img>``: ``src`` counts as the
# candidate for 1x.

# The screen whose choice is halved: larger candidates are for wider or denser screens
_VIEWPORT = 1280.0
_UNITS = {"px": 1.0, "em": 16.0, "rem": 16.0, "vw": _VIEWPORT / 100}
_LENGTH = r"(\d+(?:\.\d+)?|\.\d+)"
_SIZE = re.compile(
    rf"(?:\(\s*(?P<bound>min|max)-width\s*:\s*{_LENGTH}(px|em|rem)\s*\)\s+)?{_LENGTH}(px|em|rem|vw)", re.IGNORECASE
)
# A descriptor is a whole number. It may be off by this share where it does not count the file's pixels: 0.3 CSS
# pixels in 1280.
_OFF = 1 / 4096
# CSS pixels added where the copy is not an exact part: Chromium rounds down twice, and 401 would be 400.97 (60 sizes:
# mean error 0.005 instead of 0.018, naturalWidth right in all instead of 50).
_ROUNDING = 0.02


@dataclass(frozen=True, slots=True)
class SourceSet:
    """A rewritten source set. ``sizes`` is ``None`` if the attribute stays as it is.

    ``media_type`` is that of all candidates, ``None`` if they differ or an original remains.
    """

    srcset: str
    sizes: str | None
    media_type: str | None


def halve_srcset(
    value: str, sizes: str | None, copy_of: Callable[[str], Copy | None], src: str | None = None
) -> SourceSet | None:
    """Return the source set with copies instead of originals, or ``None`` to leave it.

    ``src`` is that of an ``<img>``: among densities it is the candidate for 1x where there is no other.

    Of candidates by density the one for a 1x screen remains. Of candidates by width those remain that a screen of 1280
    CSS pixels and 1x, or a smaller one, would have chosen, each as its copy; ``sizes`` stays.
    """
    candidates = parse_srcset(value)
    widths = [_number(candidate, "w") for candidate in candidates]
    if not candidates or (None in widths and any(widths)):
        return None
    if None not in widths:
        return _by_width(list(zip(candidates, filter(None, widths), strict=True)), sizes, copy_of)
    return _by_density(_densities(candidates, src), copy_of)


def single_source_set(copy: Copy, density: float = 1.0) -> SourceSet:
    """Return the source set of one copy, shown as large as the original at ``density`` pixels a CSS pixel."""
    candidate = ImageCandidate(copy.url, (f"{copy.file.width}w",))
    rounding = _ROUNDING if copy.file.natural_width % copy.file.width else 0
    sizes = f"{copy.file.natural_width / density + rounding:.6g}px"
    return SourceSet(serialise_srcset([candidate]), sizes, copy.file.media_type)


def replace_source_set(copy: Copy, value: str) -> SourceSet:
    """Return the source set of one copy instead of all candidates of ``value``, laid out as they were."""
    if any(_number(candidate, "w") for candidate in parse_srcset(value)):
        candidate = ImageCandidate(copy.url, (f"{copy.file.width}w",))
        return SourceSet(serialise_srcset([candidate]), None, copy.file.media_type)
    return single_source_set(copy)


def _number(candidate: ImageCandidate, unit: str) -> float | None:
    numbers = (descriptor for descriptor in candidate.descriptors if descriptor.endswith(unit))
    return next((float(descriptor[:-1]) for descriptor in numbers), None)


def _densities(candidates: list[ImageCandidate], src: str | None) -> list[tuple[float, str]]:
    numbers = [(_number(candidate, "x"), candidate.url) for candidate in candidates]
    densities = [(1.0 if number is None else number, url) for number, url in numbers]
    return [*densities, (1.0, src)] if src and all(density != 1 for density, _ in densities) else densities


def _by_density(candidates: list[tuple[float, str]], copy_of: Callable[[str], Copy | None]) -> SourceSet | None:
    enough = [density for density, _ in candidates if density >= 1]
    chosen = min(enough) if enough else max(density for density, _ in candidates)
    copy = copy_of(next(url for density, url in candidates if density == chosen))
    return None if copy is None or chosen <= 0 else single_source_set(copy, chosen)


def _by_width(
    candidates: list[tuple[ImageCandidate, float]], sizes: str | None, copy_of: Callable[[str], Copy | None]
) -> SourceSet | None:
    slot = slot_width(sizes)
    widest = min((width for _, width in candidates if width >= slot), default=float("inf"))
    copies = [_candidate(candidate, width, copy_of) for candidate, width in candidates if width <= widest]
    types = {media_type for _, media_type in copies}
    if types == {None}:
        return None
    return SourceSet(
        serialise_srcset(candidate for candidate, _ in copies), None, types.pop() if len(types) == 1 else None
    )


def _candidate(
    original: ImageCandidate, declared: float, copy_of: Callable[[str], Copy | None]
) -> tuple[ImageCandidate, str | None]:
    """Return a candidate's copy and its media type; the original and ``None`` if it stays."""
    copy = copy_of(original.url)
    if copy is None:
        return original, None
    exact = declared * copy.scale
    if round(exact) < 1 or abs(round(exact) - exact) > exact * _OFF:
        return original, None
    return ImageCandidate(copy.url, (f"{round(exact)}w",)), copy.file.media_type


def slot_width(sizes: str | None) -> float:
    """Return the CSS pixels that ``sizes`` gives an image on a screen 1280 wide; where unsure, all of it."""
    for entry in (sizes or "100vw").split(","):
        match = _SIZE.fullmatch(entry.strip())
        if match is None:
            return _VIEWPORT
        bound, limit, limit_unit, length, unit = match.groups()
        if bound is None or _holds(bound.lower(), float(limit) * _UNITS[limit_unit.lower()]):
            return float(length) * _UNITS[unit.lower()]
    return _VIEWPORT


def _holds(bound: str, limit: float) -> bool:
    return limit <= _VIEWPORT if bound == "min" else limit >= _VIEWPORT


# ---- Copies in other formats, for pages and sheets that let the browser choose

_TYPES = frozenset({media.JPEG, media.PNG, media.GIF})
# Bytes that the markup of the choices takes, about: what a copy must save
_MARKUP = 400
# Of 16 photographs at three sizes an AVIF above this many bytes was smaller than the WebP in 22 of 23 cases. Browsers
# that know no AVIF (before 2024) get the JPEG, and a third of the time to encode is saved
_SMALL_AVIF = 4096


class FormatCopies:
    """Looks up copies for the page or sheet at ``path``, whose URLs are relative to ``base``.

    ``options`` are those of a pass: ``formats`` and ``target``. ``saved`` has the bytes that each image of CSS takes
    less with the copy that browsers prefer, by path. With ``as_stored`` an image that EXIF turns has none.
    """

    def __init__(
        self,
        view: DerivingView,
        base: str,
        path: str,
        options: Options,
        *,
        as_stored: bool,
        preloaded: frozenset[str] = frozenset(),
    ) -> None:
        self.view, self.base, self.path, self.target = view, base, path, options["target"]
        self.as_stored, self.preloaded = as_stored, preloaded
        self.formats = [name for name in FORMATS if name in options["formats"]]
        self.saved: dict[str, int] = {}
        self._known: dict[tuple[str, str, int | None, bool], Copy | None] = {}

    def image(self, url: str) -> str | None:
        """Return the file of an image that has copies, ``None`` for others."""
        destination = self.view.follow(self.base, url)
        path = destination.path
        if path is None or path in self.preloaded or "#" in destination.target.suffix:
            return None
        if self.view.media_type(path) not in _TYPES:
            return None
        return None if self.as_stored and is_turned(path, self.view) else path

    def of(
        self, path: str, reference: str, width: int | None = None, formats: Sequence[str] | None = None
    ) -> list[Copy]:
        """Return an image in ``formats``, by default all, in the order of preference; each is smaller than the next.

        Of a photograph those after the first are not tried, unless it is small. ``reference`` is the URL by which the
        page or sheet refers to it.
        """
        copies: list[Copy] = []
        if transfer_size(path, self.view) <= _MARKUP:  # no copy is worth it
            return copies
        is_photograph = self.view.media_type(path) == media.JPEG
        for name in self.formats if formats is None else formats:
            if is_photograph and copies and copies[0].file.size > _SMALL_AVIF:
                break
            copy = self._copy(path, reference, name, width)
            if copy is not None:
                copies = [*(each for each in copies if each.file.size < copy.file.size), copy]
        return copies

    def in_format(self, path: str, reference: str, name: str) -> Copy | None:
        """Return an image in one format, ``None`` if that is not smaller."""
        return None if transfer_size(path, self.view) <= _MARKUP else self._copy(path, reference, name, None)

    def is_worth_it(self, path: str, copies: list[Copy]) -> bool:
        """Whether the first of ``copies`` saves more than the markup takes."""
        return bool(copies) and copies[0].file.size + _MARKUP < transfer_size(path, self.view)

    def image_set(self, url: str, formats: Sequence[str] | None = None) -> str | None:
        """Return the choice of an image for CSS (CSS Images 4, 2.4), ``None`` if there is none worth it."""
        path = self.image(url)
        copies = [] if path is None else self.of(path, url, formats=formats)
        if path is None or not self.is_worth_it(path, copies):
            return None
        self.saved[path] = transfer_size(path, self.view) - copies[0].file.size
        choices = [(copy.url, copy.file.media_type) for copy in copies] + [(url, self.view.media_type(path))]
        return "image-set(" + ",".join(f'{quote_url(address)} type("{kind}")' for address, kind in choices) + ")"

    def _copy(self, path: str, reference: str, name: str, width: int | None) -> Copy | None:
        key = (path, name, width, is_rooted(reference))
        if key not in self._known:
            file = self.view.derive(path, "format", {"format": name, "width": width, "target": self.target})
            url = "" if isinstance(file, str) else url_like(reference, self.path, file.path, self.view)
            self._known[key] = None if isinstance(file, str) else Copy(url, file)
        return self._known[key]
