"""Facts of sources come from a cache that machines share, as long as what they refer to is where it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.engine.unit import unit_builder

pytest.importorskip("fsspec")

PAGE = "<!DOCTYPE html>\n<html lang=en>\n<title>{n}</title><link rel=stylesheet href=/a.css><a href={n}x.html>{n}</a>"


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path / "first")
    sheet = "p { background: url(a.svg) }"
    site.write({**{f"{n}.html": PAGE.format(n=n) for n in range(4)}, "a.css": sheet, "a.svg": "<svg/>", "b.bin": b"\0"})
    site.write({os.fsdecode(b"\xe4.html"): PAGE.format(n="%E4") + "<a href=%ff%00.html>"})
    (site.docroot / "alias.html").symlink_to("1.html")
    return site


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read and parsed."""
    paths: list[str] = []
    facts = unit_builder.read_facts

    def noting(builder: unit_builder.UnitBuilder, path: str) -> Any:
        paths.append(path)
        return facts(builder, path)

    monkeypatch.setattr(unit_builder, "read_facts", noting)
    return paths


def build(site: BuiltSite, **overrides: Any) -> None:
    root = next(each for each in site.root.parents if (each / "first").exists())
    diagnostics = site.build(build__remote_cache=f"file://{root}/shared", **overrides).diagnostics
    assert "remote-cache-failed" not in {each.id for each in diagnostics}


def built_alone(site: BuiltSite) -> dict[str, bytes]:
    fresh = site.clean("fresh")
    fresh.build()
    return fresh.trees()


def test_another_machine_parses_nothing(site: BuiltSite, read: list[str]) -> None:
    build(site)
    assert len(read) == 9
    read.clear()
    other = site.clean()
    build(other)
    assert read == []
    assert other.trees() == site.trees() == built_alone(site)  # with the diagnostics of the manifest and the report


def test_a_file_that_appears_counts_for_those_that_refer_to_it(site: BuiltSite, read: list[str]) -> None:
    build(site)
    read.clear()
    other = site.clean()
    other.write({"2x.html": PAGE.format(n="new")})
    build(other)
    assert sorted(read) == ["2.html", "2x.html"]
    assert other.trees() == built_alone(other)
    other.remove("a.svg")
    third = other.clean("third")
    read.clear()
    build(third)
    assert read == ["a.css"]
    assert third.trees() == built_alone(third)


def test_a_changed_file_and_another_address(site: BuiltSite, read: list[str]) -> None:
    build(site)
    read.clear()
    other = site.clean()
    other.write({"0.html": PAGE.format(n="changed")})
    build(other)
    assert read == ["0.html"]
    read.clear()
    build(other.clean(), site__base_url="https://example.org/folder/")
    assert len(read) == 9


def test_the_machine_that_found_facts_finds_them_again(site: BuiltSite, read: list[str]) -> None:
    build(site)
    read.clear()
    (site.output / ".adaptc" / "state.sqlite").unlink()
    build(site)
    assert read == []


def test_a_file_that_cannot_be_read_now_is_left_to_workers(site: BuiltSite, read: list[str]) -> None:
    build(site)
    read.clear()
    other = site.clean()
    build(other, site__max_file_bytes=10)
    assert sorted(read) == ["0.html", "1.html", "2.html", "3.html", "a.css", "alias.html", os.fsdecode(b"\xe4.html")]
