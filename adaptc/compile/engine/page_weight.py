"""A page at a level is never dearer than at the level above: if it would be, it stays as it is there.

Verification compares each pass with the source already (``adaptc.compile.rewrite``). But two levels process a page
differently: one inlines a sheet that the other can no longer reduce. So a page of a degrading level is compared with
that of the level above, with all the files that a browser loads, for every kind of client. It may need a request more,
as for its logo, where that saves more bytes than a request is worth. The files themselves are compared likewise
(``assets``), so that a page that stays as it is above does not load larger images than there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from adaptc.compile.analyse.styling import Background, Styling
from adaptc.compile.engine.results import Output, UnitResult
from adaptc.compile.view import REQUEST_BYTES
from adaptc.config.rulebook import Level
from adaptc.core.model import FORMATS, IDENTITY

# Bytes of a file for each kind of client: by content coding, without and then with the other formats of images
ClientSizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PageWeight:
    """What a page or an asset costs with all that it loads: requests, and bytes for each kind of client."""

    requests: int
    sizes: ClientSizes

    @property
    def transfer(self) -> int:
        """The bytes of a page in the best coding, for clients without other formats of images."""
        return min(self.sizes[: len(self.sizes) // 2])

    def excess(self, other: PageWeight, request_worth: float) -> str | None:
        """Return in words by what this page is dearer, or ``None``.

        Each request that it saves counts as its header fields. For each one more it must save ``request_worth`` bytes.
        """
        more = self.requests - other.requests
        added = more * (request_worth if more > 0 else REQUEST_BYTES)
        dearer = [(own, size) for own, size in zip(self.sizes, other.sizes, strict=True) if own + added > size]
        if not dearer:
            return None
        own, size = dearer[0]
        if more <= 0:
            return f"{own:,} bytes instead of {size:,}"
        less = f" for {size - own:,} bytes less" if size > own else ""
        return f"{self.requests} requests instead of {other.requests}{less}"


@dataclass(frozen=True, slots=True)
class AssetWeight:
    """What an asset costs at a level: bytes, the sheets it imports, and the dependencies of this knowledge.

    ``backgrounds`` are the images that a sheet loads with some pages, ``copies`` the sizes of those that are derived.
    """

    sizes: ClientSizes
    imports: tuple[str, ...]
    dependencies: tuple[str, ...]
    backgrounds: tuple[Background, ...] = ()
    copies: Mapping[str, ClientSizes] = field(default_factory=dict)


def levels_above(levels: Iterable[Level]) -> Mapping[str, str]:
    """Return the next higher built level for each degrading level; ``levels`` are in order, highest first.

    Of the levels without a number, one that keeps the article alone (``text``) is below the lowest number; others have
    no level above or below them.
    """
    chosen = list(levels)
    ladder = [level for level in chosen if level.number is not None]
    articles = [level for level in chosen if ladder and level.number is None and level.promise == "article"]
    return {lower.name: upper.name for upper, lower in pairwise(ladder) if lower.promise != "same"} | {
        level.name: ladder[-1].name for level in articles
    }


class PageWeigher:
    """Weighs pages. ``weigh(level, path)`` weighs an asset, once; clients accept the ``codings`` of the build."""

    def __init__(self, weigh: Callable[[str, str], AssetWeight], codings: Sequence[str]) -> None:
        self.weigh, self.codings = weigh, codings
        self._known: dict[tuple[str, str], AssetWeight] = {}

    def page(
        self, result: UnitResult, size: int, embeds: Iterable[str], styling: Callable[[], Styling]
    ) -> tuple[PageWeight, dict[str, None]]:
        """Return the weight of a page that loads ``embeds``, and its dependencies; ``size`` is that of its source.

        ``styling`` is asked for where sheets have images.
        """
        extras = {extra.path: self.sizes(extra.outputs, 0) for extra in result.extras}
        sizes, pending, seen = [self.sizes(result.outputs, size)], list(embeds), {result.path}
        dependencies = dict[str, None]()
        while pending:
            path = pending.pop()
            if path in seen:
                continue
            seen.add(path)
            if path in extras:
                sizes.append(extras[path])
                continue
            asset = self.asset(result.level, path)
            sizes.append(asset.sizes)
            pending += asset.imports
            if asset.backgrounds:
                extras.update(asset.copies)
                pending += styling().loaded(path, asset.backgrounds)
            dependencies.update(dict.fromkeys(asset.dependencies))
        return PageWeight(len(seen), total(sizes)), dependencies

    def asset(self, level: str, path: str) -> AssetWeight:
        """Return the weight of an asset at a level."""
        known = self._known.get((level, path))
        if known is None:
            known = self._known[level, path] = self.weigh(level, path)
        return known

    def sizes(self, outputs: Iterable[Output], size: int) -> ClientSizes:
        """Return the sizes of a file with these outputs; one that is not in the tree has the ``size`` of its source."""
        return client_sizes({output.coding: output.size for output in outputs}, size, self.codings)


def client_sizes(sizes: Mapping[str, int], size: int, codings: Sequence[str]) -> ClientSizes:
    """Return the bytes that each kind of client receives of a file, from its sizes by representation.

    ``size`` is that of the file itself where ``sizes`` has none.
    """
    identity = sizes.get(IDENTITY, size)
    plain = tuple(sizes.get(coding, identity) for coding in (IDENTITY, *codings))
    smallest = min((sizes[name] for name in FORMATS if name in sizes), default=identity)
    return plain + tuple(min(each, smallest) for each in plain)


def total(sizes: Iterable[ClientSizes]) -> ClientSizes:
    """Add up the sizes of several files."""
    return tuple(map(sum, zip(*sizes, strict=True)))
