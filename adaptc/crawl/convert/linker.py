"""What a link becomes in the mirror: a relative path to what was saved, the absolute URL of what was not."""

from __future__ import annotations

from collections.abc import Callable

from adaptc.crawl.weburl import fragment_of, without_credentials, without_fragment
from adaptc.urls import join, relative_url

# Returns the name of the file that holds a URL, or None.
Names = Callable[[str], str | None]


class Linker:
    """Converts the links of the file ``name``, had from ``url``; ``base`` is what they are resolved against."""

    def __init__(self, url: str, name: str, base: str, names: Names) -> None:
        self.url, self.name, self.base, self._names = url, name, base, names

    def __call__(self, written: str) -> str | None:
        """Return what a reference becomes, ``None`` when it stays: it is right already, or nothing for a crawler."""
        absolute = join(self.base, written)
        if absolute is None or not absolute.startswith(("http:", "https:")):
            return None
        target, fragment = without_fragment(without_credentials(absolute)), fragment_of(absolute)
        trimmed = written.strip()
        if target == self.url and self.base == self.url and trimmed[:1] in ("", "#"):
            return None
        name = self._names(target)
        made = target + fragment if name is None else relative_url(self.name, name) + fragment
        return None if made == trimmed else made
