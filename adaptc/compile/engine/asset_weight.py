"""What an asset costs at a level, and what a style sheet costs with the images and fonts that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from adaptc.compile.engine.page_weight import AssetWeight, PageWeigher, PageWeight, client_sizes, total
from adaptc.core import media
from adaptc.formats.css.loads import loaded_urls
from adaptc.formats.css.references import imported_urls
from adaptc.formats.css.sheet_text import decode_sheet

if TYPE_CHECKING:
    from adaptc.compile.engine.derived import Encoder
    from adaptc.compile.engine.recording_view import RecordingView
    from adaptc.site.site import Site

# Returns an asset at a level; the view records what it depends on
ArtifactOf = Callable[[str, str, "RecordingView"], bytes]


class AssetWeigher:
    """Weighs the assets of a site. Files of more than ``largest`` bytes are never rewritten."""

    def __init__(
        self,
        site: Site,
        encoder: Encoder,
        artifact: ArtifactOf,
        view_of: Callable[[str], RecordingView],
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
        view = self.view_of(level)
        content = self.artifact(level, path, view)
        imports = imported_sheets(path, content, view) if source.media_type == media.CSS else ()
        return AssetWeight(self._sizes(content, source.media_type), imports, tuple(view.dependencies))

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
        copy = view.derived.get(path)
        if copy is not None:
            return client_sizes({}, copy.size, self.encoder.codings)
        asset = self.pages.asset(level, path)
        view.include(asset.dependencies, ())
        return asset.sizes

    def _sizes(self, content: bytes, media_type: str) -> tuple[int, ...]:
        encodings = self.encoder.encodings(content, media_type)
        sizes = {output.coding: output.size for output in encodings}
        return client_sizes(sizes, len(content), self.encoder.codings)


def imported_sheets(path: str, content: bytes, view: RecordingView) -> tuple[str, ...]:
    """Return the sheets that a style sheet imports."""
    return _files(path, imported_urls(_text(content)), view)


def loaded_files(path: str, content: bytes, view: RecordingView) -> tuple[str, ...]:
    """Return the images and fonts that a style sheet loads."""
    return _files(path, loaded_urls(_text(content)), view)


def _text(content: bytes) -> str:
    return decode_sheet(content, "utf-8").text


def _files(path: str, urls: Iterable[str], view: RecordingView) -> tuple[str, ...]:
    base = view.url_of(path)
    links = (view.follow(base, url) for url in urls)
    targets = (link.target.path if link.target.path in view.derived else link.path for link in links)
    return tuple(target for target in dict.fromkeys(targets) if target is not None and target != path)
