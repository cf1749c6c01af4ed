"""Copies of images in other formats, for pages and sheets that let the browser choose."""

from __future__ import annotations

from adaptc.compile.page.copies import Copy
from adaptc.compile.page.inlining import transfer_size
from adaptc.compile.view import DerivingView, Options
from adaptc.core import media
from adaptc.core.model import FORMATS
from adaptc.core.urls import relative_url
from adaptc.formats.css.references import quote_url

__all__ = ["FormatCopies"]

_TYPES = frozenset({media.JPEG, media.PNG, media.GIF})
# Bytes that the markup of the choices takes, about: what a copy must save
_MARKUP = 400


class FormatCopies:
    """Looks up copies for the page or sheet at ``path``, whose URLs are relative to ``base``.

    ``options`` are those of a pass: ``formats`` and ``target``. ``saved`` has the bytes that each image of CSS takes
    less with the copy that browsers prefer, by path.
    """

    def __init__(self, view: DerivingView, base: str, path: str, options: Options) -> None:
        self.view, self.base, self.path, self.target = view, base, path, options["target"]
        self.formats = [name for name in FORMATS if name in options["formats"]]
        self.saved: dict[str, int] = {}
        self._known: dict[tuple[str, str, int | None], Copy | None] = {}

    def image(self, url: str) -> str | None:
        """Return the file of an image that has copies, ``None`` for others."""
        destination = self.view.follow(self.base, url)
        if destination.path is None or "#" in destination.target.suffix:
            return None
        return destination.path if self.view.media_type(destination.path) in _TYPES else None

    def of(self, path: str, width: int | None = None) -> list[Copy]:
        """Return an image in the formats in the order of preference; each is smaller than the next."""
        copies: list[Copy] = []
        for name in reversed(self.formats):
            copy = self._copy(path, name, width)
            if copy is not None and (not copies or copy.file.size < copies[0].file.size):
                copies.insert(0, copy)
        return copies

    def is_worth_it(self, path: str, copies: list[Copy]) -> bool:
        """Whether the first of ``copies`` saves more than the markup takes."""
        return bool(copies) and copies[0].file.size + _MARKUP < transfer_size(path, self.view)

    def image_set(self, url: str) -> str | None:
        """Return the choice of an image for CSS (CSS Images 4, 2.4), ``None`` if there is none worth it."""
        path = self.image(url)
        copies = [] if path is None else self.of(path)
        if path is None or not self.is_worth_it(path, copies):
            return None
        self.saved[path] = transfer_size(path, self.view) - copies[0].file.size
        choices = [(copy.url, copy.file.media_type) for copy in copies] + [(url, self.view.media_type(path))]
        return "image-set(" + ",".join(f'{quote_url(address)} type("{kind}")' for address, kind in choices) + ")"

    def _copy(self, path: str, name: str, width: int | None) -> Copy | None:
        key = (path, name, width)
        if key not in self._known:
            file = self.view.derive(path, "format", {"format": name, "width": width, "target": self.target})
            self._known[key] = None if isinstance(file, str) else Copy(relative_url(self.path, file.path), file)
        return self._known[key]
