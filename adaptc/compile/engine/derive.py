"""Smaller copies of images, each made once for the site and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from adaptc.compile.engine.publish import ObjectGone
from adaptc.compile.engine.store import Store
from adaptc.compile.view import DerivedFile, Options, Settings
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.model import OWN_DIRECTORY
from adaptc.formats.image.derive import KINDS, VERSION
from adaptc.formats.image.halve import Derived

# Digits of the digest in a file's name: 64 bits, enough for the images of any site
_DIGITS = 16


class Deriver:
    """Makes copies, or finds them in the store: content, kind and options say all about one."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._known: dict[str, DerivedFile | str] = {}

    def derived(self, digest: str, read: Callable[[], bytes], kind: str, options: Options) -> DerivedFile | str:
        """Return the copy of the image with this ``digest``, which ``read`` gives, or why there is none."""
        chosen = {**options, "effort": self.settings.effort, "limit_pixels": self.settings.limit_pixels}
        key = digest_parts("derive", str(VERSION), kind, repr(sorted(chosen.items())), digest)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._stored(key) or self._made(key, read(), kind, chosen)
        return found

    def content(self, copy: DerivedFile) -> bytes:
        """Return the bytes of a copy. Raises ``ObjectGone`` where another build removed it from the cache."""
        found = self.store.content(copy.digest)
        if found is None:
            self._known.clear()
            raise ObjectGone(copy.path)
        return found

    def _stored(self, key: str) -> DerivedFile | str | None:
        record = self.store.record(key)
        if not isinstance(record, dict):
            return record if isinstance(record, str) else None
        file = DerivedFile(**record)
        return file if self.store.content(file.digest) is not None else None

    def _made(self, key: str, content: bytes, kind: str, options: Mapping[str, Any]) -> DerivedFile | str:
        made = KINDS[kind](content, **options)
        if not isinstance(made, Derived):
            self.store.put_record(key, made.reason)
            return made.reason
        file = derived_file(made)
        self.store.put(made.content, file.digest)
        self.store.put_record(key, asdict(file))
        return file


def derived_file(made: Derived) -> DerivedFile:
    """Return what passes see of a copy."""
    digest = digest_bytes(made.content)
    return DerivedFile(
        f"{OWN_DIRECTORY}{digest[:_DIGITS]}.{made.extension}",
        made.media_type,
        digest,
        len(made.content),
        made.width,
        made.height,
        made.natural_width,
        made.natural_height,
    )
