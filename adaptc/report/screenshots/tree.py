"""A level as its server sends it: the files of the level's tree, and where it has none the original."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from adaptc.core import media
from adaptc.core.model import IDENTITY
from adaptc.core.urls import Reach
from adaptc.report.screenshots.chromium import Answer, Server
from adaptc.site.site import Site


def level_server(output: Path, docroot: Path, level: str, site: Site, headers: Mapping[str, str]) -> Server:
    """Return what answers for a level; ``headers`` go with every page."""
    tree = output / level / IDENTITY

    def answer(url: str) -> Answer | None:
        target = site.address.resolve(site.address.base, url)
        if target.reach is not Reach.LOCAL:
            return None
        path = site.find(target.path) or target.path
        body = _first(_reader(tree, path), _reader(docroot, path) if path in site.sources else None)
        if body is None:
            return None
        media_type = site.sources[path].media_type if path in site.sources else media.by_name(path) or media.BINARY
        return Answer(body, media_type, tuple(headers.items()) if media_type == media.HTML else ())

    return answer


def _reader(root: Path, path: str) -> Callable[[], bytes | None]:
    def read() -> bytes | None:
        if ".." in path.split("/"):
            return None
        try:
            return Path(os.path.join(root, path)).read_bytes()
        except OSError:
            return None

    return read


def _first(*readers: Callable[[], bytes | None] | None) -> bytes | None:
    return next((body for read in readers if read is not None and (body := read()) is not None), None)
