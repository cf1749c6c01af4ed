"""What is asked for: every page of the site, and assets spread evenly over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adaptc.core import media
from adaptc.core.urls import quote_path
from adaptc.report.manifest import BuiltResource, Manifest
from adaptc.serve.policy import Policy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL of the site, as it stands in a request, and the resource behind it."""

    url: str
    resource: BuiltResource


def spread(found: Sequence[T], count: int | None) -> list[T]:
    """Return ``count`` of ``found`` at even distances, all when there are no more or ``count`` is None."""
    if count is None or len(found) <= count:
        return list(found)
    return [found[position * len(found) // count] for position in range(count)]


def targets(manifest: Manifest, policy: Policy, pages: int | None, assets: int | None) -> list[Target]:
    """Return the resources to ask for, in the order of their paths; None is all of them."""
    found = list(manifest.resources.values())
    chosen = [
        *spread([one for one in found if one.media_type in (media.HTML, media.XHTML)], pages),
        *spread([one for one in found if one.media_type not in (media.HTML, media.XHTML)], assets),
    ]
    order = {path: number for number, path in enumerate(manifest.resources)}
    chosen.sort(key=lambda one: order[one.path])
    return [Target(url_of(policy, one.path), one) for one in chosen]


def url_of(policy: Policy, path: str) -> str:
    """Return the path of a URL, percent-encoded."""
    return quote_path(f"{policy.prefix}/{path}")


def index_pages(manifest: Manifest, policy: Policy, count: int) -> Iterator[Target]:
    """Yield directories by the URL with which they are asked for, and their index pages."""
    name = policy.index
    found = [one for path, one in manifest.resources.items() if path == name or path.endswith(f"/{name}")]
    for one in spread(found, count):
        yield Target(url_of(policy, one.path.removesuffix(name)), one)
