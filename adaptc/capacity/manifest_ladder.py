"""The ladder of a build: requests and bytes of its pages at each level, from ``manifest.json`` (docs/manifest.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adaptc import media
from adaptc.capacity.ladder import Rung

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class PageWeight:
    """A page at a level as it is sent: bytes of the page, number and bytes of what it embeds."""

    page: int
    objects: int
    embedded: int


def page_weights(manifest: Mapping[str, Any], level: str) -> Iterator[PageWeight]:
    """Yield the weight of every HTML page at a level, each file in its smallest coding.

    What a style sheet imports counts for the pages that use it. Raises ``ValueError`` for a schema that this
    version does not know.
    """
    if manifest.get("schema") != SCHEMA:
        raise ValueError(f"the manifest has schema {manifest.get('schema')!r}, not {SCHEMA}")
    resources = manifest["resources"]
    for position, resource in enumerate(resources):
        if resource["media_type"] in (media.HTML, media.XHTML):
            objects = _embedded(resources, position, level)
            yield PageWeight(_sent(resource, level), len(objects), sum(_sent(resources[one], level) for one in objects))


def _embedded(resources: Sequence[Mapping[str, Any]], page: int, level: str) -> set[int]:
    """Return what a browser loads with a page, frames and imports followed."""
    found: set[int] = set()
    waiting = list(_references(resources[page], level))
    while waiting:
        one = waiting.pop()
        if one != page and one not in found:
            found.add(one)
            waiting.extend(_references(resources[one], level))
    return found


def _references(resource: Mapping[str, Any], level: str) -> Sequence[int]:
    made = resource["levels"].get(level, {})
    found: Sequence[int] = made.get("references", resource.get("references", ()))
    return found


def _sent(resource: Mapping[str, Any], level: str) -> int:
    files = resource["levels"].get(level, {}).get("files", {})
    sizes: list[int] = [file["size"] for file in files.values()]
    return min(sizes if "id" in files else [*sizes, resource["source"]["size"]])


def ladder_of(manifest: Mapping[str, Any]) -> list[Rung]:
    """Return the levels of a build, the full site first, as means over its pages; empty without pages.

    Levels without a number stand beside the ladder and are left out.
    """
    ladder = []
    steps = [level for level in manifest["levels"] if level["number"] is not None]
    for level in sorted(steps, key=lambda one: one["number"], reverse=True):
        pages = list(page_weights(manifest, level["name"]))
        if pages:
            requests = sum(1 + page.objects for page in pages) / len(pages)
            size = sum(page.page + page.embedded for page in pages) / len(pages)
            ladder.append(Rung(level["name"], requests, size / 1000))
    return ladder
