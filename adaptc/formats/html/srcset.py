"""The ``srcset`` attribute (WHATWG HTML, "parsing a srcset attribute")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SPACE = "\t\n\f\r "
_URL = re.compile(r"[^\t\n\f\r ,][^\t\n\f\r ]*")  # after spaces and stray commas
# One descriptor: characters up to a space, with what stands in parentheses taken whole.
_DESCRIPTOR = re.compile(r"(?:[^\t\n\f\r ,(]|\([^)]*\)?)+")
_WIDTH = re.compile(r"\d+w")
_HEIGHT = re.compile(r"\d+h")
_DENSITY = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?x")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One image of a srcset; ``descriptors`` as written: ``("200w",)``, ``("2x",)``, ``()``."""

    url: str
    descriptors: tuple[str, ...] = ()


def parse_srcset(value: str) -> list[Candidate]:
    """Return the candidates that a browser considers, in order; not those with invalid descriptors."""
    candidates: list[Candidate] = []
    position = 0
    while url := _URL.search(value, position):
        if url[0].endswith(","):
            candidates.append(Candidate(url[0].rstrip(",")))
            position = url.end()
            continue
        descriptors, position = _tokenise(value, url.end())
        if _valid(descriptors):
            candidates.append(Candidate(url[0], descriptors))
    return candidates


def serialise_srcset(candidates: Iterable[Candidate]) -> str:
    """Write candidates so that ``parse_srcset`` reads them back; spaces and outer commas are escaped."""
    return ", ".join(" ".join((_escaped(candidate.url), *candidate.descriptors)) for candidate in candidates)


def _tokenise(value: str, position: int) -> tuple[tuple[str, ...], int]:
    """Read descriptors up to the comma that ends the candidate; return them and the place behind it."""
    descriptors: list[str] = []
    while position < len(value) and value[position] != ",":
        found = _DESCRIPTOR.match(value, position)
        if found:
            descriptors.append(found[0])
        position = found.end() if found else position + 1
    return tuple(descriptors), position + 1


def _valid(descriptors: tuple[str, ...]) -> bool:
    widths = [float(d[:-1]) for d in descriptors if _WIDTH.fullmatch(d)]
    heights = [float(d[:-1]) for d in descriptors if _HEIGHT.fullmatch(d)]
    densities = [float(d[:-1]) for d in descriptors if _DENSITY.fullmatch(d)]
    if len(widths) + len(heights) + len(densities) != len(descriptors):
        return False
    if len(widths) > 1 or len(heights) > 1 or len(densities) > 1 or 0 in widths + heights:
        return False
    if densities:
        return not widths and not heights and densities[0] >= 0
    return bool(widths) or not heights


def _escaped(url: str) -> str:
    for space in _SPACE:
        url = url.replace(space, f"%{ord(space):02X}")
    inner = url.strip(",")
    leading = len(url) - len(url.lstrip(","))
    trailing = len(url) - len(inner) - leading
    return "%2C" * leading + inner + "%2C" * trailing
