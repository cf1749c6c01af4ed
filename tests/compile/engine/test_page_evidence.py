"""Evidence of pages: it survives the cache, and a page depends on its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.sites.small import SmallSite

from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.analyse.decisions import NO_DECISIONS, EvidenceKey, changed_decisions, decision_rows, evidence_of
from adaptc.compile.engine.cache.derived import PageEvidenceStore
from adaptc.compile.engine.cache.store import ObjectGone, Store

SEEN = PageEvidence(
    (
        WidthEvidence(412, (ImageSeen("a.png", 20, 10, is_first=True),), frozenset({"a", "b"})),
        WidthEvidence(1280),
    ),
    "0123",
    is_same_without_scripts=True,
)


def test_evidence_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    store = PageEvidenceStore(Store(tmp_path))
    key = store.put(SEEN)
    assert PageEvidenceStore(Store(tmp_path)).read(key) == SEEN
    assert store.put(SEEN) == key
    assert store.put(replace(SEEN, document=None)) != key
    assert store.has(key)


def test_evidence_that_another_build_removed_is_asked_for_again(tmp_path: Path) -> None:
    store = PageEvidenceStore(Store(tmp_path))
    assert not store.has("ab12")
    with pytest.raises(ObjectGone):
        store.read("ab12")


def test_a_page_depends_on_its_evidence_whether_there_is_any_or_not() -> None:
    site = SmallSite({"index.html": "<p>a", "b.html": "<p>b"}, evidence={"index.html": SEEN})
    view = site.view()
    assert view.page_evidence("index.html") == SEEN
    assert view.page_evidence("b.html") is None
    assert list(view.dependencies) == ["/evidence/index.html", "/evidence/b.html"]


def test_other_evidence_is_another_decision() -> None:
    one, other = (
        decision_rows(replace(NO_DECISIONS, evidence={"a.html": EvidenceKey(key * 16)})) for key in ("abcd", "ffff")
    )
    assert changed_decisions(one, other) == {"/evidence/a.html"}
    assert changed_decisions(one, one) == set()
    assert changed_decisions(one, {}) == {"/evidence/a.html"}
    inferred = {"b.html": EvidenceKey("ab" * 32, ("a b.html", "ü.html"))}
    assert evidence_of(decision_rows(replace(NO_DECISIONS, evidence=inferred))) == inferred
    assert all(abs(value) < 2**63 for value, _ in (*one.values(), *other.values()))
