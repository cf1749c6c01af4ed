"""What an asset costs at a level, and what a style sheet costs with the images and fonts that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from adaptc.compile.analyse.loaded_backgrounds import page_styling, sheet_backgrounds
from adaptc.compile.analyse.styling import NO_STYLING, Background, Styling, resolved
from adaptc.compile.engine.page_weight import AssetWeight, PageWeigher, PageWeight, client_sizes, total
from adaptc.compile.verify import embedded_files_of, files_of
from adaptc.core import media
from adaptc.core.urls import document_base
from adaptc.formats.css.images import loaded_urls
from adaptc.formats.css.references import imported_urls
from adaptc.formats.css.sheet_text import decode_sheet
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.html.references import base_href

if TYPE_CHECKING:
    from adaptc.compile.engine.derived import Encoder
    from adaptc.compile.engine.recording_view import RecordingView
    from adaptc.compile.engine.results import UnitResult
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
    return _files(path, imported_urls(_text(content)), view)


def loaded_backgrounds(path: str, content: bytes, view: RecordingView) -> tuple[Background, ...]:
    """Return the images that a style sheet loads with pages, by path."""
    backgrounds, base = sheet_backgrounds(_text(content)), view.url_of(path)
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
    """Return the images and fonts that a style sheet loads."""
    return _files(path, loaded_urls(_text(content)), view)


def _text(content: bytes) -> str:
    return decode_sheet(content, "utf-8").text


def _files(path: str, urls: Iterable[str], view: RecordingView) -> tuple[str, ...]:
    return tuple(file for file in files_of(urls, view.url_of(path), view) if file != path)
