"""Which representation an answer must be: the policy of ``adaptc emit`` worked out from the manifest.

It is worked out anew here, from RFC 9110 and the manifest, and shares no pattern with the templates, only the tokens
and media types: a fault in the templates shall not be their own measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adaptc.core.model import FORMATS, IDENTITY, MEDIA_TYPES, TOKENS
from adaptc.report.manifest import BuiltResource

ORIGINAL = "original"  # the docroot's file
OFF = "off"  # the tree of a client that gets originals


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a resource: a level and a coding or image format, or the original.

    ``sha256`` is that of the bytes as sent.
    """

    level: str
    coding: str
    size: int
    sha256: str | None

    def __str__(self) -> str:
        return ORIGINAL if self.level == ORIGINAL else f"{self.level}/{self.coding}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an Accept-Encoding header says of each coding: named with a weight above 0, refused, or left open."""

    named: frozenset[str]
    refused: frozenset[str]


def read_accept_encoding(header: str | None) -> Accepted:
    """Return what a header says (RFC 9110, section 12.5.3); ``*`` decides for what is not named."""
    weights = dict(_weights(header or ""))
    rest = weights.get("*")
    named = {name for name, token in TOKENS.items() if weights.get(token, 0) > 0}
    refused = {
        name
        for name, token in TOKENS.items()
        if weights.get(token) == 0 or (token not in weights and not (rest is not None and rest > 0))
    }
    return Accepted(frozenset(named), frozenset(refused))


def _weights(header: str) -> Iterator[tuple[str, float]]:
    for member in header.lower().split(","):
        token, *parameters = [part.strip() for part in member.split(";")]
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        yield token.removeprefix("x-"), float(weight)


def original(resource: BuiltResource) -> Version:
    """Return the docroot's version."""
    return Version(ORIGINAL, IDENTITY, resource.size, resource.sha256)


def versions(resource: BuiltResource) -> Iterator[Version]:
    """Yield every version, the original first."""
    yield original(resource)
    for level in resource.files:
        yield from _of_level(resource, level).values()


def _of_level(resource: BuiltResource, level: str) -> Mapping[str, Version]:
    files = resource.files.get(level, {})
    return {coding: Version(level, coding, one.size, one.sha256) for coding, one in files.items()}


def expected(
    resource: BuiltResource, tree: str, codings: tuple[str, ...], header: str | None, accept: str | None = None
) -> tuple[Version, ...]:
    """Return the versions that may be sent from ``tree``, the best first.

    One, unless the header leaves codings open with ``*``. ``codings`` are those of the policy in its order; ``accept``
    is the Accept header, of which only types that are named count.
    """
    there = _of_level(resource, tree) if tree != OFF else {}
    types = dict(_weights(accept or ""))
    in_format = next((there[one] for one in FORMATS if one in there and types.get(MEDIA_TYPES[one], 0) > 0), None)
    if in_format is not None:
        return (in_format,)
    said = read_accept_encoding(header)
    plain = there.get(IDENTITY) or original(resource)
    best = next((there[one] for one in codings if one in there and one in said.named), plain)
    open_ones = [there[one] for one in codings if one in there and one not in said.named and one not in said.refused]
    return (best, *open_ones)
