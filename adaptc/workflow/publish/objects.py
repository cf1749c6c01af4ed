"""What a published level consists of: objects with names, contents and header fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from adaptc.config.config import PUBLISHED_ENCODINGS, PublishConfig
from adaptc.core import media
from adaptc.core.digest import digest_file, digest_parts
from adaptc.core.model import IDENTITY, MEDIA_TYPES, OWN_DIRECTORY, TOKENS
from adaptc.core.remote import Headers
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import Manifest
from adaptc.site.selection import translated
from adaptc.workflow.export.destination import Item
from adaptc.workflow.export.items import LAYOUTS, Layout

# The names of files in ``OWN_DIRECTORY`` are digests. A file with any other name may change, whatever it looks like.
_FOREVER, _REVALIDATED = "public, max-age=31536000, immutable", "max-age=0, must-revalidate"


@dataclass(frozen=True, slots=True)
class SiteObject:
    """An object to publish: the content of ``file``, which has ``digest``, under ``name``.

    ``encodes`` is ``path`` for an encoding with a name of its own, else "".
    """

    name: str
    path: str
    file: Path
    digest: str | None
    headers: Headers
    is_page: bool
    encodes: str = ""

    @property
    def fingerprint(self) -> str:
        """The digest of content and header fields."""
        fields = (f"{name}={value}" for name, value in self.headers.present().items())
        return digest_parts(self.digest or "", *fields)[:32]


# Encodings that replace the file: an object store sends one content for each URL
_IN_PLACE = {TOKENS[coding]: coding for coding in ("gz", "br")}
assert set(PUBLISHED_ENCODINGS) == {*LAYOUTS, *_IN_PLACE}


def layout_of(encodings: str) -> Layout:
    """Return the layout of a value of ``publish.encodings``."""
    if encodings in _IN_PLACE:
        return replace(LAYOUTS["suffix"], codings=(_IN_PLACE[encodings],))
    return LAYOUTS[encodings]


def site_objects(
    items: Iterable[Item], manifest: Manifest, level: str, settings: PublishConfig
) -> Iterator[SiteObject]:
    """Yield the objects of ``items``, which were laid out by ``layout_of(settings.encodings)``."""
    cache_control = cache_rules(settings.cache_control)
    in_place = _IN_PLACE.get(settings.encodings)
    layout = layout_of(settings.encodings)
    for item in items:
        codings = {layout.name(item.path, coding): coding for coding in layout.codings}
        files = {IDENTITY: item.plain, **{codings[name]: (name, file) for name, file in item.encoded}}
        if in_place is not None:
            coding, (_, file) = next(reversed(files.items()))
            files = {coding: (item.plain[0], file)}
        for coding, (name, file) in files.items():
            digest = _digest(manifest, level, item.path, coding) or digest_file(str(file))
            headers = Headers(_media_type(manifest, item.path, coding), TOKENS.get(coding), cache_control(item.path))
            encodes = "" if name == item.plain[0] else item.path
            yield SiteObject(name, item.path, file, digest, headers, item.is_page, encodes)


def _digest(manifest: Manifest, level: str, path: str, coding: str) -> str | None:
    resource = manifest.resources.get(path)
    if resource is None:
        return None
    built = resource.at(level, coding)
    return resource.sha256 if built is None else built.sha256


def _media_type(manifest: Manifest, path: str, coding: str) -> str:
    if coding in MEDIA_TYPES:
        return MEDIA_TYPES[coding]
    resource = manifest.resources.get(path)
    return resource.media_type if resource else media.by_name(path) or media.BINARY


def cache_rules(rules: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Return a function from the path of a file to its Cache-Control: of the first pattern that matches."""
    compiled = [(re.compile(translated(pattern), re.DOTALL), value) for pattern, value in rules]

    def value_of(path: str) -> str:
        default = _FOREVER if path.startswith(OWN_DIRECTORY) else _REVALIDATED
        return next((value for pattern, value in compiled if pattern.fullmatch(path)), default)

    return value_of
