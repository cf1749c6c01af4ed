"""What is requested, and under which conditions: targets, the scenario of a mode, and the case of one request."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from adaptc.core import media
from adaptc.core.urls import quote_path
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import BuiltResource, Manifest
from adaptc.serve.policy import OFF, Policy
from adaptc.serve.server import Server
from adaptc.serve.verify.http_client import Request
from adaptc.serve.verify.modes import Mode
from adaptc.serve.verify.negotiation import Version, expected

T = TypeVar("T")

BEST = "gzip, deflate, br, zstd"  # the Accept-Encoding of browsers


# ---- targets: every page of the site, and other files at even distances


@dataclass(frozen=True, slots=True)
class Target:
    """A URL of the site, as a request contains it, and its resource."""

    url: str
    resource: BuiltResource


def spread(items: Sequence[T], count: int | None) -> list[T]:
    """Return ``count`` of ``items`` at even distances, all when there are no more or ``count`` is None."""
    if count is None or len(items) <= count:
        return list(items)
    return [items[position * len(items) // count] for position in range(count)]


def targets(manifest: Manifest, policy: Policy, pages: int | None, assets: int | None) -> list[Target]:
    """Return the resources to request, in the order of their paths; None is all of them."""
    resources = list(manifest.resources.values())
    chosen = [
        *spread([resource for resource in resources if _is_page(resource)], pages),
        *spread([resource for resource in resources if not _is_page(resource)], assets),
    ]
    order = {path: number for number, path in enumerate(manifest.resources)}
    chosen.sort(key=lambda resource: order[resource.path])
    return [Target(url_of(policy, resource.path), resource) for resource in chosen]


def _is_page(resource: BuiltResource) -> bool:
    return resource.media_type in (media.HTML, media.XHTML)


def url_of(policy: Policy, path: str) -> str:
    """Return the path of a URL, percent-encoded."""
    return quote_path(f"{policy.prefix}/{path}")


def index_pages(manifest: Manifest, policy: Policy, count: int) -> Iterator[Target]:
    """Yield index pages by the URLs of their directories: the first of each."""
    pages = list(_first_indexes(manifest, policy.indexes))
    for page in spread(pages, count):
        yield Target(url_of(policy, page.path[: page.path.rfind("/") + 1]), page)


def _first_indexes(manifest: Manifest, names: Sequence[str]) -> Iterator[BuiltResource]:
    for path, page in manifest.resources.items():
        directory, _, name = path.rpartition("/")
        if name in names:
            preferred = (f"{directory}/{other}".lstrip("/") for other in names[: names.index(name)])
            if manifest.resources.keys().isdisjoint(preferred):
                yield page


# ---- cases


@dataclass(frozen=True, slots=True)
class Baseline:
    """The answer of the server for a path without adaptation: its status and its header fields."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """A request and the versions that may answer it, the best first.

    ``check`` names the rule of ``CHECKS`` (``answers.py``) that the answer must pass, ``group`` the column of the table
    in which it counts. ``requested`` is the class or level that the request counts as, None where there are no classes.
    ``part`` is the first and last byte of a range (RFC 9110, section 14.1.2).
    """

    group: str
    check: str
    path: str
    request: Request
    wanted: tuple[Version, ...] = ()
    requested: str | None = None
    part: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What all requests of a mode share: policy, mode, server (None: unknown), and the baselines by path."""

    policy: Policy
    mode: Mode
    server: Server | None
    baselines: Mapping[str, Baseline]

    def wanted(
        self,
        target: Target,
        accept: str | None,
        requested: str = "normal",
        types: str | None = None,
        dictionary: str | None = None,
    ) -> tuple[Version, ...]:
        """Return the versions that may answer a client that accepts these codings and types, and has a dictionary."""
        trees, codings = self.mode.trees(self.policy, requested), self.policy.codings
        choices = (expected(target.resource, tree, codings, accept, types, dictionary) for tree in trees)
        return tuple(version for versions in choices for version in versions)

    def of_target(self, target: Target) -> Scenario:
        """Return the scenario of a target: excluded and stale ones are not adapted, but may be rejected."""
        if self.mode.rejects:
            return self
        is_stale = self.policy.is_strict and not is_fresh(self.policy, target.resource.path)
        if is_stale or self._is_excluded(target):
            return replace(self, mode=replace(self.mode, is_on=False, is_known=True, level=OFF))
        return self

    def accept_of_ranges(self, accept: str | None) -> str | None:
        """Return the Accept-Encoding that decides of which version a request with Range gets a part."""
        launcher = self.server.launcher if self.server is not None else None
        return None if launcher is not None and launcher.has_plain_ranges else accept

    @property
    def ignores_if_match(self) -> bool:
        """Whether the server answers as if there were no If-Match."""
        launcher = self.server.launcher if self.server is not None else None
        return launcher is not None and launcher.ignores_if_match

    def _is_excluded(self, target: Target) -> bool:
        """Whether a path is never adapted: by the configuration, or because the server cannot do so."""
        launcher = self.server.launcher if self.server is not None else None
        if launcher is not None and launcher.omits(target.resource.path):
            return True
        return self.policy.excludes(f"/{target.resource.path}")

    def is_refused(self, target: Target) -> bool:
        """Whether the server refuses the file without adaptation."""
        baseline = self.baselines.get(target.resource.path)
        return baseline is not None and baseline.status != 200

    @property
    def requested(self) -> str | None:
        """The class of a client that sends no hints, None without classes."""
        return "normal" if self.mode.counts_classes(self.policy) else None


def is_fresh(policy: Policy, path: str) -> bool:
    """Whether a source has the time that was recorded for it: only then does a strict server adapt it."""
    try:
        recorded, current = os.stat(f"{policy.times}/{path}"), os.stat(f"{policy.docroot}/{path}")
    except OSError:
        return False
    return recorded.st_mtime_ns == current.st_mtime_ns


def headers_of(accept: str | None, **others: str) -> dict[str, str]:
    """Return header fields; ``If_Range`` is If-Range."""
    named = {name.replace("_", "-"): value for name, value in others.items()}
    return named if accept is None else {"Accept-Encoding": accept, **named}
