"""What the browser gets for a URL: the files of a docroot, or of a level as its server sends it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from adaptc.core import media
from adaptc.core.model import IDENTITY, MEDIA_TYPES, is_negotiable, name_in_tree
from adaptc.core.urls import Reach
from adaptc.core.values import dataclass, replace
from adaptc.site.site import Site


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sends for a URL; an empty media type is not sent.

    ``alternates`` are an image in other formats, by media type, in the order in which servers prefer them.
    """

    body: bytes
    media_type: str
    headers: tuple[tuple[str, str], ...] = ()
    status: int = 200
    alternates: tuple[tuple[str, bytes], ...] = ()

    def for_client(self, accept: str) -> Answer:
        """Return what a client gets by its field ``Accept`` (RFC 9110, section 12.5.1), as from the emitted rules.

        Only a format that the field names counts; browsers forbid none (``q=0``).
        """
        named = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
        for media_type, body in self.alternates:
            if media_type in named:
                return replace(self, body=body, media_type=media_type, alternates=())
        return replace(self, alternates=()) if self.alternates else self


# Gives the answer for an absolute URL, None for 404.
Server = Callable[[str], Answer | None]
# Gives the header fields of a page by its path.
Headers = Callable[[str], Mapping[str, str]]
# Reads a file by its path in the docroot.
Reader = Callable[[str], bytes | None]
# Reads an image in another format, by the name of the format and the path of the image.
FormatReader = Callable[[str, str], bytes | None]


def docroot_server(docroot: Path, site: Site, headers: Headers) -> Server:
    """Return what answers for the site as it is; ``headers`` go with pages."""
    return _server((_reader(docroot),), _no_format, site, headers)


def level_server(output: Path, docroot: Path, level: str, site: Site, headers: Headers) -> Server:
    """Return what answers for a level: the files of its tree, and where it has none the original."""
    tree = output / level

    def read_format(name: str, path: str) -> bytes | None:
        return _read(tree / name, name_in_tree(name, path))

    return candidate_server(_reader(tree / IDENTITY), read_format, docroot, site, headers)


def candidate_server(read: Reader, read_format: FormatReader, docroot: Path, site: Site, headers: Headers) -> Server:
    """Return what answers with what ``read`` returns for a path, and where that is ``None`` with the original.

    ``read_format`` returns what clients get in its place whose ``Accept`` names the format.
    """
    return _server((read, _reader(docroot)), read_format, site, headers)


def _server(readers: tuple[Reader, ...], read_format: FormatReader, site: Site, headers: Headers) -> Server:
    """Return what answers with the first of ``readers`` that has a file; the last of them reads the docroot."""

    def answer(url: str) -> Answer | None:
        target = site.address.resolve(site.address.base, url)
        if target.reach is not Reach.LOCAL:
            return None
        path = _file_of(site, target.path)
        if path is not None and path.startswith(target.path + "/"):
            return Answer(b"", "", (("Location", site.address.url_of(target.path) + "/"),), status=301)
        path = path or target.path
        bodies = (read(path) for read in (readers if path in site.sources else readers[:-1]))
        body = next((each for each in bodies if each is not None), None)
        if body is None:
            return None
        media_type = site.sources[path].media_type if path in site.sources else media.by_name(path) or media.BINARY
        sent = tuple(headers(path).items()) if media_type == media.HTML else ()
        found = [(name, read_format(name, path)) for name in (MEDIA_TYPES if is_negotiable(path) else ())]
        alternates = tuple((MEDIA_TYPES[name], image) for name, image in found if image is not None)
        return Answer(body, media_type, sent, alternates=alternates)

    return answer


def _no_format(name: str, path: str) -> None:
    """Read no image in another format: the original has none."""


def file_at(site: Site, url: str) -> str | None:
    """Return the file of the docroot that static hosts send for an absolute URL."""
    target = site.address.resolve(site.address.base, url)
    return _file_of(site, target.path) if target.reach is Reach.LOCAL else None


# A page is sent for the path of any depth that begins so, as hosts send the page of an error
ANYWHERE = "-/any/depth/"


def _file_of(site: Site, path: str) -> str | None:
    """Return the file that static hosts send for a path: ``news.html`` for ``news``, too."""
    page = path.removeprefix(ANYWHERE)
    if page != path and page in site.sources and site.sources[page].media_type == media.HTML:
        return page
    return site.send(path)


def _reader(root: Path) -> Reader:
    return partial(_read, root)


def _read(root: Path, path: str) -> bytes | None:
    if not {"", ".", ".."}.isdisjoint(path.split("/")):  # a path with "//" is no name of a file
        return None
    try:
        return Path(os.path.join(root, path)).read_bytes()
    except OSError:
        return None
