"""Manifest and report are written from what changed, and are what a build of the whole site writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.report.entries import Entries

PIXELS = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"


def page(number: int, words: str = "words") -> str:
    return (
        f'<!DOCTYPE html><title>{number}</title><link rel="stylesheet" href="s.css"><img src="i{number % 3}.gif">'
        f'<p>{words} <a href="gone{number}.html">gone</a>'
    )


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    pages = {f"p{number:02}.html": page(number) for number in range(20)}
    sheets = {"s.css": '@import "t.css"; p { color : red }' + "/* long */" * 5000, "t.css": "b { color : blue }"}
    images = {f"i{number}.gif": PIXELS + b"\0" * 9 * number for number in range(3)}
    built = BuiltSite(tmp_path).write({**pages, **sheets, **images, "readme.txt": "words " * 50})
    built.build()
    return built


@pytest.fixture
def whole_sites(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of paths each time that the documents are written from the whole site."""
    counts: list[int] = []
    enter = Entries._enter_all

    def counted(entries: Entries) -> None:
        counts.append(len(entries.paths))
        enter(entries)

    monkeypatch.setattr(Entries, "_enter_all", counted)
    return counts


def documents(site: BuiltSite) -> tuple[bytes, bytes]:
    return (site.output / "manifest.json").read_bytes(), (site.output / "report.html").read_bytes()


def fresh_documents(site: BuiltSite) -> tuple[bytes, bytes]:
    """Return the documents of a build without a ledger."""
    for name in ("manifest.json", ".adaptc/ledger.sqlite"):
        (site.output / name).unlink()
    site.build()
    return documents(site)


def costs(site: BuiltSite, path: str) -> Any:
    rows = json.loads((site.output / "manifest.json").read_bytes())["resources"]
    return next(row for row in rows if row["path"] == path)["levels"]["full"]["page"]


EDITS: dict[str, Callable[[BuiltSite], object]] = {
    "a page": lambda site: site.write({"p07.html": page(7, "other words, and more")}),
    "an image": lambda site: site.write({"i1.gif": PIXELS + b"\0" * 999}),
    "a new page": lambda site: site.write({"a new.html": page(1), "p07.html": page(2)}),
    "a new target": lambda site: site.write({"gone3.html": page(1)}),
    "a page that goes": lambda site: site.remove("p05.html"),
    "an image that goes": lambda site: site.remove("i2.gif"),
    "a name of bytes": lambda site: site.write({os.fsdecode(b'\xe9".html'): page(1)}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_after_an_edit_they_are_those_of_the_whole_site(site: BuiltSite, edit: str, whole_sites: list[int]) -> None:
    EDITS[edit](site)
    site.build()
    assert whole_sites == []
    after = documents(site)
    assert after == fresh_documents(site)
    assert whole_sites != []


def test_a_larger_image_changes_the_costs_of_its_pages_alone(site: BuiltSite, whole_sites: list[int]) -> None:
    before = {path: costs(site, path) for path in ("p01.html", "p02.html")}
    site.write({"i1.gif": PIXELS + b"\0" * 999})
    site.build()
    assert costs(site, "p01.html")["bytes"] == before["p01.html"]["bytes"] + 990
    assert costs(site, "p02.html") == before["p02.html"]
    assert whole_sites == []


def test_most_of_the_site_is_read_at_once(site: BuiltSite, whole_sites: list[int]) -> None:
    site.write({f"p{number:02}.html": page(number, "new") for number in range(20)})
    site.build()
    assert len(whole_sites) == 1


@pytest.mark.parametrize("damage", ["edited", "removed", "no ledger", "broken ledger", "old ledger"])
def test_documents_that_are_not_as_they_were_written_are_written_anew(
    site: BuiltSite, damage: str, whole_sites: list[int]
) -> None:
    manifest, ledger = site.output / "manifest.json", site.output / ".adaptc/ledger.sqlite"
    old = ledger.read_bytes()
    if damage == "old ledger":  # the one of another build was put back
        site.write({"p03.html": page(3, "between")})
        site.build()
    damages: dict[str, Callable[[], object]] = {
        "edited": lambda: manifest.write_bytes(manifest.read_bytes().replace(b"p04.html", b"p0x.html")),
        "removed": manifest.unlink,
        "no ledger": ledger.unlink,
        "broken ledger": lambda: ledger.write_bytes(old[:4000] + b"\xff" * (len(old) - 4000)),
        "old ledger": lambda: ledger.write_bytes(old),
    }
    damages[damage]()
    site.write({"p07.html": page(7, "other")})
    site.build()
    after = documents(site)
    assert whole_sites
    assert after == fresh_documents(site)


def test_a_build_killed_before_it_wrote_them_leaves_the_next_one_to_do_so(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, whole_sites: list[int]
) -> None:
    site.write({"p07.html": page(7, "other")})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Entries, "text", lambda _entries: (_ for _ in ()).throw(KeyboardInterrupt))
        site.build()
    site.write({"p08.html": page(8, "other")})
    site.build()
    assert whole_sites == []
    assert documents(site) == fresh_documents(site)


def test_diagnostics_of_a_build_with_nothing_to_do_are_those_of_the_last(site: BuiltSite) -> None:
    site.write({"p07.html": page(7, "other")})
    first = site.build()
    again = site.build()
    assert again.built == {}
    assert again.diagnostics == first.diagnostics
    assert again.figures == first.figures
