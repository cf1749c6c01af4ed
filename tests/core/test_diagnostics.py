"""Diagnostics as values, and how they print."""

from __future__ import annotations

import os
import string

import pytest

from adaptc.core.diagnostics import KINDS, Location, Severity, diagnose, printable


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_said(kind: str) -> None:
    fields = {name for _, name, _, _ in string.Formatter().parse(KINDS[kind].message) if name}
    said = diagnose(kind, Location("a.html"), **dict.fromkeys(fields, "something"))
    assert (said.id, said.severity) == (kind, KINDS[kind].severity)
    assert "{" not in said.message


def test_it_prints_as_one_line() -> None:
    said = diagnose("missing-target", Location("a\nb.html", 3, 7), where="a href", url="x\ty\x1b[31m")
    assert str(said) == (
        r"a\nb.html:3:7: warning: a href points to x\ty\x1b[31m, but there is no such file [missing-target]"
    )


def test_a_place_may_be_missing() -> None:
    assert str(diagnose("special-file", kind="fifo")) == "warning: is a fifo, not a file; it is left out [special-file]"
    assert str(Location("a.html", 3)) == "a.html:3"


@pytest.mark.parametrize("fields", [{}, {"kind": "fifo", "surplus": 1}])
def test_missing_fields_are_a_bug_and_unknown_kinds(fields: dict[str, object]) -> None:
    if not fields:
        with pytest.raises(KeyError):
            diagnose("special-file", **fields)
    with pytest.raises(KeyError):
        diagnose("no-such-kind", **fields)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日本", "plain ü 日本"),
        (os.fsdecode(b"latin-\xe9"), r"latin-\xe9"),
        ("\x00\x7f\r\n", r"\x00\x7f\r\n"),
        ("right\u202eleft", r"right\u202eleft"),
        ("\ud800", r"\ud800"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()


def test_severities_from_the_gravest() -> None:
    assert list(Severity) == [Severity.ERROR, Severity.WARNING, Severity.NOTE]
