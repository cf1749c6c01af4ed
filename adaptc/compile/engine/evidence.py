"""What image files look like, measured once for each content and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from adaptc.compile.analyse.decorations import ImageEvidence, image_evidence
from adaptc.compile.engine.store import Store
from adaptc.core.digest import digest_parts
from adaptc.site.site import Source

# Goes up whenever the same content gives other evidence
_VERSION = "1"
# Evidence that a worker remembers: the icons and backgrounds of a site stand on many of its pages
_KNOWN = 4096


class EvidenceStore:
    """Measures images, or finds what was measured."""

    def __init__(self, store: Store, limit_pixels: int) -> None:
        self.store, self.limit_pixels = store, limit_pixels
        self._known: dict[str, ImageEvidence] = {}

    def of(self, source: Source, read: Callable[[], bytes]) -> ImageEvidence:
        """Return the evidence of the file ``source``, whose content ``read`` gives."""
        key = digest_parts("evidence", _VERSION, str(self.limit_pixels), source.media_type, source.digest)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[key] = self._stored(key) or self._measured(key, source, read)
        return found

    def _stored(self, key: str) -> ImageEvidence | None:
        record = self.store.record(key)
        return _unpacked(record) if isinstance(record, dict) else None

    def _measured(self, key: str, source: Source, read: Callable[[], bytes]) -> ImageEvidence:
        made = image_evidence(read(), source.media_type, self.limit_pixels)
        self.store.put_record(key, asdict(made))
        return made


def _unpacked(record: dict[str, Any]) -> ImageEvidence | None:
    """Return the evidence of a record; ``None`` where it is of another version, or damaged."""
    try:
        found = ImageEvidence(**record)
    except TypeError:
        return None
    colour = record["colour"]
    return replace(found, colour=None if colour is None else tuple(colour))
