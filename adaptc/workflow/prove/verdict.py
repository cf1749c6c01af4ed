"""Verdicts on pages, and where they are stored: under the digests of everything that was loaded for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adaptc.browser.answers import Server
from adaptc.browser.evidence import code_digest
from adaptc.browser.judge import Difference
from adaptc.browser.page_view import answer_digest
from adaptc.compile.engine.store import Store
from adaptc.core.digest import digest_parts


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: a page at a level and a width, in CSS pixels, by what is promised (``adaptc.browser.judge``)."""

    page: str
    level: str
    width: int
    promised: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What differs; ``pictures`` are the digests of two WebP images in the cache, of the original and of the level.

    ``reason`` says why the page could not be judged.
    """

    case: Case
    differences: tuple[Difference, ...] = ()
    pictures: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the level keeps what it promises."""
        return not self.differences and self.reason is None


class Answers:
    """A server, with the digests of what it answers."""

    def __init__(self, server: Server) -> None:
        self.server, self._digests = server, dict[str, str]()

    def gives(self, answers: Mapping[str, str]) -> bool:
        """Whether every URL has the answer of this digest."""
        return all(self._digest(url) == digest for url, digest in answers.items())

    def _digest(self, url: str) -> str:
        if url not in self._digests:
            self._digests[url] = answer_digest(self.server(url))
        return self._digests[url]


class VerdictStore:
    """Verdicts in the cache, each with the digests of all that was loaded of the original and of the level."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, case: Case, url: str, original: Answers, level: Answers) -> Verdict | None:
        """Return the verdict on a case if everything that was loaded for it is as it was."""
        record: Any = self.store.record(_key(case, url))
        if record is None or not (original.gives(record["original"]) and level.gives(record["level"])):
            return None
        found = tuple(Difference(kind, message) for kind, message in record["differences"])
        return Verdict(case, found, tuple(record["pictures"]))

    def put(self, verdict: Verdict, url: str, original: Mapping[str, str], level: Mapping[str, str]) -> None:
        """Store a verdict with the digests of the answers that it is based on, by URL."""
        found = [(each.kind, each.message) for each in verdict.differences]
        record = {"original": original, "level": level, "differences": found, "pictures": verdict.pictures}
        self.store.put_record(_key(verdict.case, url), record)


def _key(case: Case, url: str) -> str:
    return digest_parts("verdict", code_digest(), url, case.level, str(case.width), case.promised)
