"""The sources of a site in a file are those in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptc.core.fs import write_atomic
from adaptc.core.model import Resource
from adaptc.core.urls import SiteAddress
from adaptc.site.site import Site, Source, paths_of_type
from adaptc.site.source_table import ResourceSources, SourceTable, in_order_of_bytes, write_table

SEGMENTS = st.text("ab.\udc80é", min_size=1, max_size=3)
PATHS = st.lists(st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join), max_size=300, unique=True)


def table_of(file: Path, sources: dict[str, Source]) -> SourceTable:
    write_atomic(str(file), write_table(sources))
    return SourceTable(str(file))


def sources_of(paths: list[str]) -> dict[str, Source]:
    return {path: Source(f"digest of {path}", number, "text/html") for number, path in enumerate(paths)}


@given(paths=PATHS, others=PATHS)
def test_a_table_has_what_a_dictionary_has(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str], others: list[str]
) -> None:
    sources = sources_of(paths)
    table = table_of(tmp_path_factory.mktemp("table") / "sources", sources)
    assert dict(table) == sources
    assert list(table) == sorted(sources, key=os.fsencode)
    assert list(table.items()) == [(path, sources[path]) for path in table]
    assert len(table) == len(sources)
    assert [table.get(path) for path in others] == [sources.get(path) for path in others]
    address = SiteAddress(None)
    site, same = (Site.of(each, address, ("index.html",)) for each in (table, sources))
    prefixes = {path[:end] for path in (*paths, *others) for end in range(1, len(path) + 1)}
    assert [site.leads_somewhere(each) for each in prefixes] == [same.leads_somewhere(each) for each in prefixes]


def test_a_source_without_a_target_and_one_with(tmp_path: Path) -> None:
    sources = {
        "link.html": Source("digest", 1, "text/html", "page.html"),
        "page.html": Source("digest", 1, "text/html"),
    }
    assert dict(table_of(tmp_path / "sources", sources)) == sources


def test_the_paths_of_a_type_are_those_of_a_dictionary() -> None:
    types = {"a.jpg": "image/jpeg", "b.html": "text/html", "c": "image/jpeg"}
    resources = {path: Resource(path, 1, 2, 3, kind) for path, kind in types.items()}
    sources = ResourceSources(resources, lambda path: f"digest of {path}")
    assert (
        list(paths_of_type(sources, "image/jpeg")) == list(paths_of_type(dict(sources), "image/jpeg")) == ["a.jpg", "c"]
    )


def test_paths_are_in_the_order_of_their_bytes() -> None:
    paths = ["b", "a", "\U0001f600", "\udcff", "é"]  # the fourth is the byte 0xff
    assert in_order_of_bytes(paths) == sorted(paths, key=os.fsencode) != sorted(paths)
    assert in_order_of_bytes(["b", "a/b", "a"]) == ["a", "a/b", "b"]
