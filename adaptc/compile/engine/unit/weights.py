"""A page at a level is never dearer than at the level above: if it would be, it stays as it is there.

Verification compares each pass with the source already (``adaptc.compile.rewrite``). But two levels process a page
differently: one inlines a sheet that the other can no longer reduce. So a page of a degrading level is compared with
that of the level above, with all the files that a browser loads, for every kind of client. It may have no request more,
and for each that it saves it may have the bytes of its header fields more. The files themselves are compared likewise
(``assets``), so that a page that stays as it is above does not load larger images than there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from adaptc.compile.analyse.loaded_backgrounds import page_styling, sheet_backgrounds
from adaptc.compile.analyse.styling import NO_STYLING, Background, Styling, draws_any, resolved
from adaptc.compile.engine.state.results import Output, UnitResult
from adaptc.compile.page.sheets import sheet_text
from adaptc.compile.verify import embedded_files_of, files_of
from adaptc.compile.view import REQUEST_BYTES
from adaptc.core import media
from adaptc.core.model import FORMATS, IDENTITY
from adaptc.core.urls import document_base
from adaptc.core.values import dataclass, field, replace
from adaptc.formats.css.images import loaded_urls
from adaptc.formats.css.references import imported_urls
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.html.references import base_href

if TYPE_CHECKING:
    from adaptc.compile.engine.cache.derived import Encoder
    from adaptc.compile.engine.unit.recording_view import RecordingView
    from adaptc.site.site import Site

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

    def with_more(self, requests: int, size: int) -> PageWeight:
        """Return what a page costs that has so many more requests, for files of ``size`` bytes each."""
        return PageWeight(self.requests + requests, tuple(own + requests * size for own in self.sizes))

    def with_file(self, sizes: ClientSizes) -> PageWeight:
        """Return what a page costs that loads a file of these sizes, too."""
        return PageWeight(self.requests + 1, total((self.sizes, sizes)))

    def excess(self, other: PageWeight) -> str | None:
        """Return in words by what this page is dearer, or ``None``: requests, or bytes with their header fields."""
        if self.requests > other.requests:
            return f"{self.requests} requests instead of {other.requests}"
        saved = REQUEST_BYTES * (other.requests - self.requests)
        dearer = ((own, size) for own, size in zip(self.sizes, other.sizes, strict=True) if own > size + saved)
        return next((f"{own:,} bytes instead of {size:,}" for own, size in dearer), None)


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


# ---- assets

# Returns an asset at a level; the view records what it depends on
ArtifactOf = Callable[[str, str, "RecordingView"], bytes]


class AssetWeigher:
    """Weighs the assets of a site. Files of more than ``largest`` bytes are never rewritten."""

    def __init__(
        self,
        site: Site,
        encoder: Encoder,
        artifact: ArtifactOf,
        view_of: Callable[[str, str], RecordingView],
        largest: int,
    ) -> None:
        self.site, self.encoder, self.artifact, self.view_of, self.largest = site, encoder, artifact, view_of, largest
        self.pages = PageWeigher(self.weigh, encoder.codings)

    def weigh(self, level: str, path: str) -> AssetWeight:
        """Return the weight of an asset at a level."""
        source = self.site.sources[path]
        # the page in a frame has a weight of its own, which may depend on that of this page
        if source.media_type == media.HTML or source.size > self.largest:
            return AssetWeight(client_sizes({}, source.size, self.encoder.codings), (), (path,))
        view = self.view_of(level, path)
        content = self.artifact(level, path, view)
        sizes, is_sheet = self._sizes(content, source.media_type), source.media_type == media.CSS
        imports = imported_sheets(path, content, view) if is_sheet else ()
        images = loaded_backgrounds(path, content, view) if is_sheet else ()
        copies = {each.image: self._copy_sizes(each.image, view) for each in images if each.image in view.derived}
        return AssetWeight(sizes, imports, tuple(view.dependencies), images, copies)

    def page(self, result: UnitResult, view: RecordingView) -> PageWeight:
        """Return the weight of a page; ``view`` records what it depends on."""
        path, original = result.path, view.read(result.path)
        embeds = result.embeds if result.embeds is not None else embedded_files_of(path, original, view)
        styling = partial(styling_of, path, original, view)
        weight, dependencies = self.pages.page(result, self.site.sources[path].size, embeds, styling)
        view.include(dependencies, ())
        return weight

    def with_loads(self, level: str, path: str, content: bytes, view: RecordingView) -> PageWeight:
        """Return the weight of an asset with ``content`` at a level, and of the files that it loads as a sheet."""
        media_type = self.site.sources[path].media_type
        sizes, requests = [self._sizes(content, media_type)], 1
        if media_type == media.CSS:
            loads = [load for load in loaded_files(path, content, view) if not self._is_sheet(load, view)]
            requests += len(loads) + len(imported_sheets(path, content, view))
            sizes += [self._load_sizes(level, load, view) for load in loads]
        return PageWeight(requests, total(sizes))

    def _is_sheet(self, path: str, view: RecordingView) -> bool:
        return path not in view.derived and view.media_type(path) == media.CSS

    def _load_sizes(self, level: str, path: str, view: RecordingView) -> tuple[int, ...]:
        if path in view.derived:
            return self._copy_sizes(path, view)
        asset = self.pages.asset(level, path)
        view.include(asset.dependencies, ())
        return asset.sizes

    def _copy_sizes(self, path: str, view: RecordingView) -> tuple[int, ...]:
        return client_sizes({}, view.derived[path].size, self.encoder.codings)

    def _sizes(self, content: bytes, media_type: str) -> tuple[int, ...]:
        encodings = self.encoder.encodings(content, media_type)
        sizes = {output.coding: output.size for output in encodings}
        return client_sizes(sizes, len(content), self.encoder.codings)


def imported_sheets(path: str, content: bytes, view: RecordingView) -> tuple[str, ...]:
    """Return the sheets that a style sheet imports."""
    return _files(path, imported_urls(sheet_text(content)), view)


def loaded_backgrounds(path: str, content: bytes, view: RecordingView) -> tuple[Background, ...]:
    """Return the images that a style sheet loads with pages, by path."""
    backgrounds, base = sheet_backgrounds(sheet_text(content)), view.url_of(path)
    return resolved(backgrounds, lambda url: next(iter(files_of((url,), base, view)), None))


def styling_of(path: str, content: bytes, view: RecordingView) -> Styling:
    """Return the styling of the page ``content``, with the paths of the sheets that do not apply."""
    styling, base = _styling(content)
    return replace(styling, idle=files_of(styling.idle, document_base(view.url_of(path), base), view))


@lru_cache(maxsize=1)  # all levels of a page are compared one after the other
def _styling(content: bytes) -> tuple[Styling, str | None]:
    try:
        text = read_page(content).text
    except Irreversible:
        return NO_STYLING, None
    tree = parse(text)
    return page_styling(text, tree), base_href(tree)


def loaded_files(path: str, content: bytes, view: RecordingView) -> tuple[str, ...]:
    """Return the images and fonts that a style sheet loads with pages of the site."""
    characters = view.page_characters()
    return _files(path, loaded_urls(sheet_text(content), lambda ranges: draws_any(ranges, characters)), view)


def _files(path: str, urls: Iterable[str], view: RecordingView) -> tuple[str, ...]:
    return tuple(file for file in files_of(urls, view.url_of(path), view) if file != path)
