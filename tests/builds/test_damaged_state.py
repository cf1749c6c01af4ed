"""Whatever stands in the files that builds keep: the next build ends well, says so, and gives clean trees."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.samples.seeds import seeds
from tests.sites.built import BuiltSite

from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.state.state import State, last_build, state_path
from adaptc.core.diagnostics import UsageError
from adaptc.report.manifest import read_manifest
from adaptc.serve.emitter import emit
from adaptc.workflow.check.check import check

PAGE = (
    '<!DOCTYPE html>\n<html lang=en><title>{0}</title>\n<link rel="stylesheet" href="main.css">\n<p>  {0}\n'
    + "<p>x\n" * 40
)
SITE = {
    "a.html": PAGE.format("a"),
    "c.html": PAGE.format("c"),
    "main.css": "a  { color : red }\n" * 9,
    "image.svg": '<svg xmlns="http://www.w3.org/2000/svg">  <path d="M 0 0"/>  </svg>\n' * 1,
}
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    site = BuiltSite(tmp_path_factory.mktemp("built")).write(SITE)
    (site.docroot / "link.html").symlink_to("a.html")
    site.build()
    return site


@pytest.fixture
def site(built: BuiltSite, tmp_path: Path) -> BuiltSite:
    """Return a copy of a site that was built."""
    shutil.copytree(built.root, tmp_path / "copy", symlinks=True)
    copy = BuiltSite(tmp_path / "copy")
    for directory, _, names in os.walk(built.docroot):
        for name in names:
            times = os.lstat(Path(directory) / name)
            os.utime(copy.docroot / name, ns=(times.st_mtime_ns, times.st_mtime_ns), follow_symlinks=False)
    copy.build()
    return copy


def assert_recovers(site: BuiltSite, built: BuiltSite) -> list[str]:
    """Build after a change; return the ids of the diagnostics, those of the first build first."""
    expected = built.trees()
    site.write({"c.html": PAGE.format("c") + "<p>more\n"}).build()
    site.write({"c.html": PAGE.format("c")})
    ids = [diagnostic.id for diagnostic in site.build().diagnostics]
    assert site.trees() == expected
    assert site.built() == {}
    return ids


# ---- the file


def _directory(path: Path) -> None:
    path.unlink()
    (path / "below").mkdir(parents=True)


def _link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nowhere" / "state")


def _other_schema(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 1")


def _no_tables(path: Path) -> None:
    db = sqlite3.connect(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    path.unlink()
    sqlite3.connect(path).execute(f"PRAGMA user_version = {version}").connection.close()


FILES: dict[str, Callable[[Path], Any]] = {
    "a directory": _directory,
    "a link to nothing": _link_to_nothing,
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(random.Random(1).randbytes(9000)),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "overwritten in the middle": lambda path: path.write_bytes(path.read_bytes()[:4000] + bytes(12000)),
    "another schema": _other_schema,
    "no tables": _no_tables,
    "a log that is a directory": lambda path: Path(f"{path}-wal").mkdir(),
}


@pytest.mark.parametrize("damage", FILES)
def test_a_damaged_state_is_discarded_and_reported(site: BuiltSite, built: BuiltSite, damage: str) -> None:
    FILES[damage](state_path(site.output))
    assert [diagnostic.id for diagnostic in site.build().diagnostics][:1] == ["state-discarded"]
    assert site.trees() == built.trees()
    assert site.build().diagnostics == ()


def test_a_state_that_is_damaged_as_soon_as_it_is_written(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(site.output, ignore_errors=True)

    def damage(state: State) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(State, "begin", damage)
    with pytest.raises(OSError, match=r"Input/output error \(database disk image is malformed\)") as raised:
        site.build()
    assert raised.value.filename == str(state_path(site.output))


@pytest.mark.parametrize("damage", FILES)
def test_a_damaged_ledger_is_discarded(site: BuiltSite, built: BuiltSite, damage: str) -> None:
    FILES[damage](site.output / ".adaptc/ledger.sqlite")
    assert_recovers(site, built)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_state_that_cannot_be_read(site: BuiltSite) -> None:
    state_path(site.output).chmod(0)
    assert [diagnostic.id for diagnostic in site.build().diagnostics] == ["state-discarded"]


# ---- values

NUMBERS: tuple[Any, ...] = (None, 7, -1, 2**62, 1.5)
TEXTS: tuple[Any, ...] = ("", "garbage", b"", b"\xff\xfe", b"\xed\xa0\x80", "{", "[]", "{}", "[[[1]]]", "null", DEEP)


def columns_of(path: Path) -> list[tuple[str, str]]:
    """Return the columns of all tables of a file."""
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = [(table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")]
    db.close()
    return columns


def put(path: Path, table: str, column: str, value: Any, chance: random.Random) -> None:
    """Put a value into a column of one row, or of all rows."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
        rows = db.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()
        for row in [chance.choice(rows)] if rows and chance.random() < 0.7 else rows:
            where = " AND ".join(f"{key} IS ?" for key in keys)
            db.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {where}", (value, *row))


def mutated(value: Any, chance: random.Random) -> Any:
    """Return a JSON value in which one value somewhere is another."""
    if isinstance(value, list | dict) and value and chance.random() < 0.8:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        changed = dict(value) if isinstance(value, dict) else list(value)
        if chance.random() < 0.2:
            del changed[key]
        else:
            changed[key] = mutated(value[key], chance)
        return changed
    return chance.choice([None, 7, -1, 1.5, "", "garbage", [], {}, [[1]], {"a": 1}, True])


def mutate_json(path: Path, table: str, column: str, chance: random.Random) -> None:
    db = sqlite3.connect(path)
    rows = [row for (row,) in db.execute(f"SELECT {column} FROM {table}")]
    packed = chance.choice(rows)
    text = zlib.decompress(packed) if isinstance(packed, bytes) else packed
    changed = json.dumps(mutated(json.loads(text), chance))
    value = zlib.compress(changed.encode()) if isinstance(packed, bytes) else changed
    db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (value, packed))
    db.commit()
    db.close()


JSON_COLUMNS = (("meta", "value"), ("units", "outputs"), ("units", "notes"), ("facts", "facts"))


@pytest.mark.parametrize("seed", seeds(*range(12)))
def test_malformed_values_are_no_end(site: BuiltSite, built: BuiltSite, seed: int) -> None:
    chance = random.Random(seed)
    path = site.output / ".adaptc" / chance.choice(("state.sqlite", "state.sqlite", "ledger.sqlite"))
    table, column = chance.choice(columns_of(path))
    with contextlib.suppress(sqlite3.IntegrityError):  # SQLite refuses some: then nothing is damaged
        put(path, table, column, chance.choice(NUMBERS + TEXTS), chance)
    assert_recovers(site, built)


@pytest.mark.parametrize(("table", "column"), [("files", "kind"), ("totals", "kind"), ("rows", "row")])
def test_texts_of_the_ledger_that_adaptc_never_writes(
    site: BuiltSite, built: BuiltSite, table: str, column: str
) -> None:
    put(site.output / ".adaptc/ledger.sqlite", table, column, "{}", random.Random(1))
    assert_recovers(site, built)


@pytest.mark.parametrize("seed", seeds(*range(12)))
def test_malformed_json_is_no_end(site: BuiltSite, seed: int) -> None:
    """Values of another meaning may go unnoticed, but no build fails, and a check fails or not: it is no bug."""
    chance = random.Random(seed)
    mutate_json(state_path(site.output), *chance.choice(JSON_COLUMNS), chance)
    check(site.config(), every_file=True)
    site.write({"c.html": PAGE.format("c") + "<p>more\n"}).build()
    site.write({"main.css": SITE["main.css"] + "b { margin: 0 }\n"}).build()
    assert site.built() == {}


# ---- cache and manifest


@pytest.mark.parametrize("content", [b"", b"[", b"7", b'{"content": 5}', DEEP.encode(), b"\xff" * 80])
def test_damaged_records_of_the_cache_are_written_anew(site: BuiltSite, built: BuiltSite, content: bytes) -> None:
    records = [path for path in (site.output / ".adaptc/cache/records").rglob("*") if path.is_file()]
    assert records
    for record in records:
        record.write_bytes(content)
    shutil.rmtree(site.output / "lossless")
    site.build()
    assert site.trees() == built.trees()


def test_the_state_of_another_version_is_said_to_be_one(site: BuiltSite, built: BuiltSite) -> None:
    with contextlib.closing(sqlite3.connect(state_path(site.output))) as db:
        db.execute("PRAGMA user_version = 3")
    (finding,) = check(site.config(), every_file=True).findings
    assert finding.file == ".adaptc/state.sqlite"
    assert "of another version of adaptc" in finding.reason
    with pytest.raises(UsageError, match="of another version of adaptc; build the site again"), last_build(site.output):
        pass
    assert [each.id for each in site.build().diagnostics] == ["state-discarded"]
    assert site.trees() == built.trees()


def test_a_record_is_what_was_stored(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put_record("ab" * 32, {"size": 1})
    assert store.record("ab" * 32) == {"size": 1}
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes().replace(b"1}", b"2}"))
    assert store.record("ab" * 32) is None


def edited(manifest: dict[str, Any], edit: str) -> bytes:
    page = manifest["resources"][0]
    if edit == "source":
        page["source"]["sha256"] = "0" * 64
    elif edit == "size":
        page["source"]["size"] += 1
    elif edit == "recipe":
        manifest["levels"][0]["recipe"] = "0" * 64
    return json.dumps(manifest).encode()


@pytest.mark.parametrize("edit", ["source", "size", "recipe"])
def test_check_finds_every_change_of_the_manifest(site: BuiltSite, edit: str) -> None:
    file = site.output / "manifest.json"
    file.write_bytes(edited(json.loads(file.read_bytes()), edit))
    (finding,) = check(site.config(), every_file=True).findings
    assert (finding.file, finding.diagnostic().id) == ("manifest.json", "tree-corrupt")


@pytest.mark.parametrize("content", [DEEP, "", "[]", "{}", '{"schema": 1}', "\ufeff{"])
def test_a_malformed_manifest_is_corrupt(site: BuiltSite, content: str) -> None:
    (site.output / "manifest.json").write_text(content)
    (finding,) = check(site.config(), every_file=True).findings
    assert (finding.file, finding.diagnostic().id) == ("manifest.json", "tree-corrupt")
    with pytest.raises(UsageError, match="build the site again"):
        read_manifest(site.output).resources  # noqa: B018


def test_commands_say_that_the_state_is_damaged(site: BuiltSite) -> None:
    state_path(site.output).write_bytes(state_path(site.output).read_bytes()[:4000] + bytes(60_000))
    with pytest.raises(UsageError):
        emit(site.config(), ["apache"])
