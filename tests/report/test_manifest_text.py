"""Rows of the last manifest are copied, and refer to the same files where others came or went."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from adaptc.core.digest import digest_bytes
from adaptc.report import entries
from adaptc.report.entries import ManifestText, read_rows, status_of
from adaptc.report.manifest_writer import separated

STRANGE = os.fsdecode(b"latin-\xe9\n'\".html")
PATHS = ("a.css", "b.css", "c.html", "d.html", STRANGE, "z.html")
REFERENCES = {"b.css": ["a.css"], "c.html": ["a.css", "z.html"], "d.html": ["b.css"], STRANGE: ["c.html", "d.html"]}


def row(path: str, paths: Sequence[str], references: Mapping[str, Sequence[str]] = REFERENCES) -> bytes:
    value: dict[str, object] = {"path": path, "media_type": "text/css" if path.endswith("css") else "text/html"}
    numbers = [paths.index(each) for each in references.get(path, ()) if each in paths]
    if path in references:
        value["levels"] = {"full": {"references": numbers}}
    return json.dumps(value, separators=(",", ":")).encode()


def rows(paths: Sequence[str]) -> list[bytes]:
    return [row(path, paths) for path in paths]


def manifest(of: Sequence[bytes]) -> bytes:
    lead = b"\n" if of else b""
    return b'{"schema":1,"resources":[' + lead + b",\n".join(of) + b'\n],"extras":[\n{"path":"x"}\n]}\n'


@pytest.fixture
def text(tmp_path: Path) -> ManifestText:
    file = tmp_path / "manifest.json"
    file.write_bytes(manifest(rows(PATHS)))
    found = read_rows(file, digest_bytes(file.read_bytes()))
    assert found is not None
    return found


def test_rows_are_copied_and_changed_ones_replaced(text: ManifestText) -> None:
    assert list(text.updated(PATHS, {})) == rows(PATHS)
    assert list(text.updated(PATHS, {"d.html": b"{}"})) == [*rows(PATHS)[:3], b"{}", *rows(PATHS)[4:]]


@pytest.mark.parametrize("copied", [1, 80, 1 << 16])
@pytest.mark.parametrize(
    "changed", [(), ("a.css",), ("d.html", "c.html"), ("z.html",), (STRANGE,), PATHS], ids=lambda each: str(len(each))
)
def test_rows_between_changed_ones_are_copied_together(
    text: ManifestText, changed: tuple[str, ...], copied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_COPIED", copied)
    new = dict.fromkeys(changed, b'{"path":"new"}')
    assert b"".join(text.spliced(new)) == b"".join(separated(text.updated(PATHS, new)))


def test_which_paths_have_rows(text: ManifestText) -> None:
    assert text.has(PATHS) and text.has(()) and text.has(["z.html", STRANGE])
    assert not text.has(["a.css", "b.html"]) and not text.has(["x"])  # the latter is no file of the docroot


@pytest.mark.parametrize(
    "paths",
    [
        ("0.html", *PATHS, "zz.html"),
        ("b.css", "c.html", STRANGE, "y.html", "z.html"),
        ("a.css", "e.html", os.fsdecode(b"latin-\xe8")),
        PATHS[1:],
        PATHS[:-1],
        (),
    ],
)
def test_numbers_follow_files_that_come_and_go(text: ManifestText, paths: tuple[str, ...]) -> None:
    paths = tuple(sorted(paths, key=os.fsencode))
    changed = {path: row(path, paths) for path in paths if path not in PATHS}
    assert list(text.updated(paths, changed)) == rows(paths)


def test_a_file_that_is_not_known_needs_a_row(text: ManifestText) -> None:
    with pytest.raises(KeyError):
        list(text.updated((*PATHS, "zz.html"), {}))


def test_what_refers_to_a_file_itself_or_by_style_sheets(text: ManifestText) -> None:
    assert text.referring(["a.css"]) == {"b.css", "c.html", "d.html"}
    assert text.referring(["d.html"]) == {STRANGE}
    assert text.referring([STRANGE, "missing.html"]) == text.referring([]) == set()


def test_another_manifest_or_none(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    assert read_rows(file, "digest") is None
    file.write_bytes(manifest([]))
    assert read_rows(file, "digest") is None
    assert read_rows(file, "digest", status_of(file)) is None  # it may be written again in the same tick of the clock
    os.utime(file, ns=(1, 1))
    assert read_rows(file, "digest", status_of(file)) is not None
    assert read_rows(file, "digest", f"{status_of(file)}1") is None
    empty = read_rows(file, digest_bytes(manifest([])))
    assert empty is not None and list(empty.updated([], {})) == list(empty.spliced({})) == []
    with pytest.raises(KeyError):
        list(empty.spliced({"a": b"{}"}))
