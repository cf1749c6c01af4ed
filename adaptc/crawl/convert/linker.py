"""What a link becomes in the mirror: a relative path to what was saved, the absolute URL of what was not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from adaptc.core.urls import join, quote_path, relative_url
from adaptc.crawl.names import NameOptions, name_of
from adaptc.crawl.weburl import fragment_of, parts_of, without_credentials, without_fragment

# Returns the name of the file that holds a URL, or None.
Names = Callable[[str], str | None]


class Linker:
    """Converts the links of the file ``name``, had from ``url``; ``base`` is what they are resolved against."""

    empties_base = True  # what is left relative is relative to the file

    def __init__(self, url: str, name: str, base: str, names: Names) -> None:
        self.url, self.name, self.base, self._names = url, name, base, names

    def based(self, base: str) -> Self:
        """Return the linker of a part of the file that has another base URL."""
        return type(self)(self.url, self.name, base, self._names)

    def __call__(self, written: str) -> str | None:
        """Return what a reference becomes, ``None`` when it stays: it is right already, or nothing for a crawler."""
        absolute = join(self.base, written)
        if absolute is None or not absolute.startswith(("http:", "https:")):
            return None
        target, fragment = without_fragment(without_credentials(absolute)), fragment_of(absolute)
        trimmed = written.strip()
        if target == self.url and self.base == self.url and trimmed[:1] in ("", "#"):
            return None
        made = self._made(target, fragment)
        return None if made == trimmed else made

    def _made(self, target: str, fragment: str) -> str | None:
        name = self._names(target)
        return target + fragment if name is None else relative_url(self.name, name) + fragment


_AS_SERVED = NameOptions(host_directories=False)


class ServedLinker(Linker):
    """Converts only the links whose file a server would not find: a query in the name, a redirect, a taken name.

    Names are those of a mirror without directories for hosts; what was not saved stays as it is written.
    """

    empties_base = False

    def _made(self, target: str, fragment: str) -> str | None:
        name = self._names(target)
        if name is None or (name == name_of(target, _AS_SERVED) and parts_of(target).query is None):
            return None
        return self._reachable(f"/{quote_path(_without_index(name))}") + fragment

    def _reachable(self, path: str) -> str:
        """Return a path of the site as a reference that ``<base href>`` of another host does not lead astray."""
        absolute = parts_of(self.url).origin + path
        return path if join(self.base, path) == absolute else absolute


def _without_index(name: str) -> str:
    """Return the path by which a directory's page is asked for."""
    index = _AS_SERVED.default_page
    return name.removesuffix(index) if name == index or name.endswith(f"/{index}") else name
