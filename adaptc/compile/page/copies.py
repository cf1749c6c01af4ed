"""The smaller copies of images that a page or a style sheet refers to, and what they are called there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adaptc.compile.page.context import KEPT
from adaptc.compile.view import DerivedFile, DerivingView, Options
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.core.urls import relative_url

_MEDIA_TYPES = frozenset({media.JPEG, media.PNG, media.GIF, media.WEBP, media.AVIF, "image/apng"})
# Of a pass's options those that decide the copy
OF_COPIES = {
    "half": frozenset({"scale", "text_scale", "target", "formats", "frozen"}),
    "hard": frozenset({"formats"}),
}


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy and its URL, relative to the page or sheet that refers to it."""

    url: str
    file: DerivedFile

    @property
    def scale(self) -> float:
        """Its pixels for each CSS pixel of the original."""
        return self.file.width / self.file.natural_width


class Copies:
    """Looks up copies for the page or sheet at ``path``, whose URLs are relative to ``base``; notes each action."""

    def __init__(self, view: DerivingView, base: str, path: str, options: Options, pass_name: str) -> None:
        self.view, self.base, self.path, self.pass_name = view, base, path, pass_name
        self.kind: str = options.get("kind", "half")
        self.options: Mapping[str, Any] = {name: options[name] for name in sorted(OF_COPIES[self.kind] & set(options))}
        self.actions: list[Action] = []
        self._known: dict[str, Copy | None] = {}

    def of(self, url: str) -> Copy | None:
        """Return the copy of the image that ``url``, as written, leads to; ``None`` where the original stays."""
        if url not in self._known:
            self._known[url] = self._made(url)
        return self._known[url]

    def _made(self, url: str) -> Copy | None:
        found = self.view.follow(self.base, url)
        # a fragment chooses a part of an image
        if found.path is None or "#" in found.target.suffix or self.view.media_type(found.path) not in _MEDIA_TYPES:
            return None
        made = self.view.derive(found.path, self.kind, self.options)
        if isinstance(made, str):
            self.actions.append(Action(self.pass_name, KEPT, found.path, made))
            return None
        reason = f"{made.width}x{made.height} of {made.natural_width}x{made.natural_height} pixels, {made.size:,} bytes"
        self.actions.append(Action(self.pass_name, "halved", found.path, reason))
        return Copy(relative_url(self.path, made.path), made)
