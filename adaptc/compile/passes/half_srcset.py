"""Source sets of smaller copies that are shown exactly as large as the originals (HTML, 4.8.4.3).

A candidate with a ``w`` descriptor is laid out by the ratio of that descriptor to ``sizes``, so a copy with its own
pixels as the descriptor takes the box of the original. A copy as ``0.5x`` would not do on ``<img>``: ``src`` counts as
the candidate for 1x.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from adaptc.compile.page.copies import Copy
from adaptc.formats.html.srcset import Candidate, parse_srcset, serialise_srcset

# The screen whose choice is halved: larger candidates are for wider or denser screens.
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
# mean error 0.005 in place of 0.018, naturalWidth right in all in place of 50).
_ROUNDING = 0.02


@dataclass(frozen=True, slots=True)
class SourceSet:
    """A rewritten source set. ``sizes`` is ``None`` where the attribute stays as it is.

    ``media_type`` is that of all candidates, ``None`` if they are of several, or one was kept.
    """

    srcset: str
    sizes: str | None
    media_type: str | None


def halve_srcset(
    value: str, sizes: str | None, copy_of: Callable[[str], Copy | None], src: str | None = None
) -> SourceSet | None:
    """Return the source set with copies in the place of originals, or ``None`` to leave it.

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


def single(copy: Copy, density: float = 1.0) -> SourceSet:
    """Return the source set of one copy, shown as large as the original at ``density`` pixels a CSS pixel."""
    candidate = Candidate(copy.url, (f"{copy.file.width}w",))
    rounding = _ROUNDING if copy.file.natural_width % copy.file.width else 0
    sizes = f"{copy.file.natural_width / density + rounding:.6g}px"
    return SourceSet(serialise_srcset([candidate]), sizes, copy.file.media_type)


def only(copy: Copy, value: str) -> SourceSet:
    """Return the source set of one copy in the place of all candidates of ``value``, laid out as they were."""
    if any(_number(candidate, "w") for candidate in parse_srcset(value)):
        candidate = Candidate(copy.url, (f"{copy.file.width}w",))
        return SourceSet(serialise_srcset([candidate]), None, copy.file.media_type)
    return single(copy)


def _number(candidate: Candidate, unit: str) -> float | None:
    found = (descriptor for descriptor in candidate.descriptors if descriptor.endswith(unit))
    return next((float(descriptor[:-1]) for descriptor in found), None)


def _densities(candidates: list[Candidate], src: str | None) -> list[tuple[float, str]]:
    numbers = [(_number(candidate, "x"), candidate.url) for candidate in candidates]
    found = [(1.0 if number is None else number, url) for number, url in numbers]
    return [*found, (1.0, src)] if src and all(density != 1 for density, _ in found) else found


def _by_density(candidates: list[tuple[float, str]], copy_of: Callable[[str], Copy | None]) -> SourceSet | None:
    enough = [density for density, _ in candidates if density >= 1]
    chosen = min(enough) if enough else max(density for density, _ in candidates)
    copy = copy_of(next(url for density, url in candidates if density == chosen))
    return None if copy is None or chosen <= 0 else single(copy, chosen)


def _by_width(
    candidates: list[tuple[Candidate, float]], sizes: str | None, copy_of: Callable[[str], Copy | None]
) -> SourceSet | None:
    slot = slot_width(sizes)
    widest = min((width for _, width in candidates if width >= slot), default=float("inf"))
    made = [_candidate(one, width, copy_of) for one, width in candidates if width <= widest]
    types = {media_type for _, media_type in made}
    if types == {None}:
        return None
    return SourceSet(serialise_srcset(one for one, _ in made), None, types.pop() if len(types) == 1 else None)


def _candidate(
    original: Candidate, declared: float, copy_of: Callable[[str], Copy | None]
) -> tuple[Candidate, str | None]:
    """Return a candidate's copy and its media type; the original and ``None`` where it stays."""
    copy = copy_of(original.url)
    if copy is None:
        return original, None
    exact = declared * copy.scale
    if round(exact) < 1 or abs(round(exact) - exact) > exact * _OFF:
        return original, None
    return Candidate(copy.url, (f"{round(exact)}w",)), copy.file.media_type


def slot_width(sizes: str | None) -> float:
    """Return the CSS pixels that ``sizes`` gives an image on a screen 1280 wide; where unsure, all of it."""
    for entry in (sizes or "100vw").split(","):
        found = _SIZE.fullmatch(entry.strip())
        if found is None:
            return _VIEWPORT
        bound, limit, limit_unit, length, unit = found.groups()
        if bound is None or _holds(bound.lower(), float(limit) * _UNITS[limit_unit.lower()]):
            return float(length) * _UNITS[unit.lower()]
    return _VIEWPORT


def _holds(bound: str, limit: float) -> bool:
    return limit <= _VIEWPORT if bound == "min" else limit >= _VIEWPORT
