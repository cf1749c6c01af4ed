"""Action tables: what is written for a build, and what is said about a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.cli.main import run
from adaptc.core.diagnostics import UsageError
from adaptc.serve.emitter import Entry, MalformedError, check_actions, check_table, emit, parse_line, table_line

PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n<head><title>A</title></head>\n<body>\n"
    + "<p>words</p>\n\n" * 99
    + "</body></html>"
)


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path).write({"index.html": PAGE, "a b/c%é.html": PAGE, "tiny.bin": b"\x00\x01"})
    site.build()
    return site


def test_a_line_is_written_as_in_the_paper() -> None:
    assert table_line(Entry("/foo.html", (".gz", ".p_lc"), (".r_mc",), {})) == "/foo.html .gz .p_lc ; .r_mc"
    assert table_line(Entry("/foo.html", (".gz",), (), {})) == "/foo.html .gz"
    assert table_line(Entry("/foo.html", (), (".r_mc",), {})) == "/foo.html ; .r_mc"


def test_the_line_of_the_paper_is_read() -> None:
    line = parse_line("/foo.html .gz .p_lc ; .r_mc", 7)
    assert line is not None
    assert (line.uri, line.poor, line.rich) == ("/foo.html", (".gz", ".p_lc"), (".r_mc",))
    assert parse_line("", 1) is None
    assert parse_line("# a comment", 1) is None


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("foo.html .gz", "foo.html is no path"),
        ("/a gz", "gz is no action, which begins with a dot"),
        ("/a .", ". is no action, which begins with a dot"),
        ("/a .gz ; .x ; .y", "it has more than one ;"),
    ],
)
def test_other_lines_are_refused(written: str, problem: str) -> None:
    with pytest.raises(MalformedError, match=f"^{problem}$"):
        parse_line(written, 1)


def test_what_was_built_is_in_the_table(site: BuiltSite) -> None:
    emit(site.config(), ["actions"])
    folder = site.output / "serve"
    assert (folder / "actions.txt").read_text() == (
        "/a%20b/c%25%C3%A9.html .gz .br .zst ; .full\n/index.html .gz .br .zst ; .full\n"
    )
    assert (folder / "actions.map").read_text().splitlines()[1] == "/index.html .gz,.br,.zst;.full"


def test_the_json_names_the_files(site: BuiltSite) -> None:
    emit(site.config(serve__prefix="/docs"), ["actions"])
    found = json.loads((site.output / "serve" / "actions.json").read_text())
    assert [row["uri"] for row in found["actions"]] == ["/docs/a%20b/c%25%C3%A9.html", "/docs/index.html"]
    for row in found["actions"]:
        assert sorted(row["files"]) == sorted({*row["poor"], *row["rich"]})
        assert all((site.output / file).is_file() for file in row["files"].values())


def test_a_lower_level_is_for_poor_clients(site: BuiltSite) -> None:
    site.build(build__levels=("full", "lossless"))
    emit(site.config(serve__level="full"), ["actions"])
    assert "/index.html .gz .br .zst .lossless\n" in (site.output / "serve" / "actions.txt").read_text()


def test_a_table_is_compared_with_the_build() -> None:
    built = [Entry("/a", (".gz", ".poorer"), (".full",), {}), Entry("/b", (".gz",), (), {})]
    text = "# ours\n/a .gz .lossy ; .full\n/c .gz\n/a .br\nnonsense\n"
    assert [str(one) for one in check_table(text, "t", built)] == [
        "t:4: error: is not a valid line of an action table: /a is in line 2 already [action-malformed]",
        "t:5: error: is not a valid line of an action table: nonsense is no path [action-malformed]",
        "t:2: error: /a has .lossy in the table, but it was not built [action-unknown]",
        "t:2: warning: /a was built with .poorer, but the table does not have it [action-missing]",
        "t:3: error: /c has .gz in the table, but it was not built [action-unknown]",
        "t: warning: /b was built with .gz, but the table does not have it [action-missing]",
    ]


def test_the_table_that_is_written_passes_the_check(site: BuiltSite) -> None:
    emit(site.config(), ["actions"])
    assert check_actions(site.config(), site.output / "serve" / "actions.txt") == []


def test_the_check_of_the_command_line(site: BuiltSite, capfd: pytest.CaptureFixture[str]) -> None:
    table = site.root / "table"
    table.write_text("/index.html .gz .br .zst .nope ; .full\n")
    assert run(["emit", "actions", "-o", str(site.output), "--check", str(table)]) == 1
    assert "table:1: error: /index.html has .nope in the table, but it was not built" in capfd.readouterr().err
    assert run(["emit", "apache", "-o", str(site.output), "--check", str(table)]) == 2
    assert capfd.readouterr().err == "adaptc: --check goes with adaptc emit actions\n"


def test_a_table_that_is_no_text(site: BuiltSite) -> None:
    table = site.root / "table"
    table.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="cannot be read"):
        check_actions(site.config(), table)
