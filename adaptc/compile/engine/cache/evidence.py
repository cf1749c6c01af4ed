"""What a browser saw of pages, in the cache: records under the digests of what they hold."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.core.digest import digest_parts

# Levels of the same page are built in sequence
_KNOWN = 16
# Raised when the record has other fields
_VERSION = "3"


class PageEvidenceStore:
    """Reads and writes the evidence of pages."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.read = lru_cache(_KNOWN)(self._read)

    def put(self, evidence: PageEvidence) -> str:
        """Store the evidence of a page and return its key."""
        record = evidence.as_record()
        key = digest_parts("page-evidence", _VERSION, json.dumps(record, sort_keys=True))
        self.store.put_record(key, record)
        return key

    def has(self, key: str) -> bool:
        """Whether there is evidence under ``key``."""
        return self.store.record(key) is not None

    def document(self, digest: str) -> bytes:
        """Return the markup of a page after its scripts. Raises ``ObjectGone``."""
        markup = self.store.content(digest)
        if markup is None:
            raise ObjectGone
        return markup

    def _read(self, key: str) -> PageEvidence:
        """Return the evidence under ``key``. Raises ``ObjectGone``."""
        record: Any = self.store.record(key)
        if record is None:
            raise ObjectGone
        return PageEvidence.of_record(record)
