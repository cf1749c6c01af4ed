"""The representation that an answer must have: the policy of ``adaptc emit``, computed from the manifest.

The computation follows RFC 9110 and shares only tokens and media types with the templates, no pattern: a fault in them
must not confirm itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from adaptc.core.model import (
    DICTIONARY_TOKEN,
    FORMATS,
    IDENTITY,
    MEDIA_TYPES,
    TOKENS,
    dictionary_coding,
    is_dictionary_coding,
)
from adaptc.core.values import dataclass
from adaptc.report.manifest import BuiltResource
from adaptc.serve.policy import OFF

ORIGINAL = "original"  # the docroot's file


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
        """The version as X-Adapt has it; a dictionary is not named."""
        coding = DICTIONARY_TOKEN if is_dictionary_coding(self.coding) else self.coding
        return ORIGINAL if self.level == ORIGINAL else f"{self.level}/{coding}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The codings in an Accept-Encoding header: named with a weight above 0, or refused; others are left open."""

    named: frozenset[str]
    refused: frozenset[str]


@lru_cache(maxsize=256)
def read_accept_encoding(header: str | None) -> Accepted:
    """Return the codings in a header (RFC 9110, section 12.5.3); ``*`` decides for those that are not named."""
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
    return {coding: Version(level, coding, file.size, file.sha256) for coding, file in files.items()}


def held_coding(dictionary: str | None) -> str | None:
    """Return the directory for clients that hold a dictionary, by their Available-Dictionary: one byte sequence."""
    if dictionary is None or len(dictionary) != 46 or not (dictionary[0] == dictionary[-1] == ":"):
        return None
    return dictionary_coding(dictionary[1:-1].removesuffix("="))


def expected(
    resource: BuiltResource,
    tree: str,
    codings: tuple[str, ...],
    header: str | None,
    accept: str | None = None,
    dictionary: str | None = None,
) -> tuple[Version, ...]:
    """Return the versions that may be sent from ``tree``, the best first.

    It is one version, unless the header leaves codings open with ``*``. ``codings`` are those of the policy in its
    order; ``accept`` is the Accept header, of which only named types count; ``dictionary`` is Available-Dictionary.
    """
    available = _of_level(resource, tree) if tree != OFF else {}
    held = held_coding(dictionary)
    if held is not None and held in available and dict(_weights(header or "")).get(DICTIONARY_TOKEN, 0) > 0:
        return (available[held],)
    types = dict(_weights(accept or ""))
    image_format = next((name for name in FORMATS if name in available and types.get(MEDIA_TYPES[name], 0) > 0), None)
    if image_format is not None:
        return (available[image_format],)
    accepted = read_accept_encoding(header)
    plain = available.get(IDENTITY) or original(resource)
    present = [coding for coding in codings if coding in available]
    best = next((available[coding] for coding in present if coding in accepted.named), plain)
    return (best, *(available[coding] for coding in present if coding not in accepted.named | accepted.refused))
