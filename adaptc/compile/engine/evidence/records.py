"""What is known of pages that a browser looked at before, in the cache.

A record has the digests of the files that a page loaded; of missing ones that they are missing. It is valid as long as
all of them are as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from functools import cache
from typing import Any

from adaptc.browser.answers import file_at
from adaptc.browser.evidence import code_digest
from adaptc.browser.look import Look
from adaptc.browser.script_coverage import ScriptCoverage
from adaptc.compile.engine.cache.evidence import PageEvidenceStore
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.core.digest import digest_parts
from adaptc.site.site import Site

_MISSING = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a look at a page: the key of its evidence, or why there is none, and how much of its scripts ran."""

    key: str | None
    reason: str | None = None
    scripts: tuple[ScriptCoverage, ...] = ()


class LookRecords:
    """Reads and writes the records of the pages of ``site``; ``recipe`` is what else evidence depends on."""

    def __init__(self, store: Store, site: Site, recipe: str) -> None:
        self.store, self.site, self.recipe = store, site, recipe
        self.page_evidence = PageEvidenceStore(store)
        self.path_of = cache(self._path_of)

    def _path_of(self, url: str) -> str | None:
        return file_at(self.site, url)

    def known(self, path: str) -> Outcome | None:
        """Return the outcome of the last look at a page, if it would have the same now."""
        record: Any = self.store.record(self._key(path))
        if record is None or self._loads(record["loads"]) != record["loads"]:
            return None
        scripts = tuple(ScriptCoverage(*script) for script in record["scripts"])
        outcome = Outcome(record["evidence"], record["reason"], scripts)
        return outcome if outcome.key is None or self._is_complete(outcome.key) else None

    def _is_complete(self, key: str) -> bool:
        """Whether the cache still has all of the evidence."""
        try:
            document = self.page_evidence.read(key).document
        except ObjectGone:
            return False
        return document is None or self.store.has(document)

    def put(self, path: str, look: Look) -> Outcome:
        """Store what was seen of a page."""
        document = None if look.document is None else self.store.put(look.document)
        key = self.page_evidence.put(look.evidence_with(document))
        return self._put(path, look.urls, Outcome(key, scripts=look.scripts))

    def put_failure(self, path: str, urls: Iterable[str], reason: str) -> None:
        """Store that a page cannot be looked at."""
        self._put(path, urls, Outcome(None, reason))

    def _put(self, path: str, urls: Iterable[str], outcome: Outcome) -> Outcome:
        record = {
            "loads": self._loads(sorted(urls)),
            "evidence": outcome.key,
            "reason": outcome.reason,
            "scripts": [astuple(script) for script in outcome.scripts],
        }
        self.store.put_record(self._key(path), record)
        return outcome

    def _key(self, path: str) -> str:
        return digest_parts("look", self.recipe, self.site.url_for_readers(path), self.site.sources[path].digest)

    def _loads(self, urls: Iterable[str]) -> dict[str, str]:
        return {url: self._file_digest(self.path_of(url)) for url in urls}

    def _file_digest(self, path: str | None) -> str:
        """Return what identifies the answer that the browser gets."""
        source = self.site.sources.get(path) if path is not None else None
        return _MISSING if source is None else f"{path} {source.digest} {source.media_type}"


def look_recipe(version: str, settings: Mapping[str, Any]) -> str:
    """Return the digest of what evidence depends on: the code, the browser's version, settings of the site."""
    return digest_parts(code_digest(), version, repr(sorted(settings.items())))
