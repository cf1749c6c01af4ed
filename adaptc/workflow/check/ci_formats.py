"""The problems that a check or a proof found in the formats of CI systems and code scanners.

``FORMATS`` is the table that ``adaptc check --format`` and ``adaptc prove --format`` offer. To add a format, add a
function and its line here, its name in docs/man/adaptc-check.1 and docs/freshness.md, and a test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_from_bytes

from adaptc.core.diagnostics import KINDS, Diagnostic, Severity, printable
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic with its file, relative to the working directory, or absolute outside of it; None for no file."""

    diagnostic: Diagnostic
    file: str | None
    group: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What a command found: the problems, the number of what is well by group, and the result in a sentence.

    ``well`` is what is said of what has no problem; the command ``fails`` where it does not end with 0.
    """

    problems: Sequence[Problem]
    passed: Mapping[str, int]
    sentence: str
    command: str = "check"
    well: str = "fresh"
    fails: bool = True


def file_name(folder: Path, path: str) -> str:
    """Return the name of ``path`` below ``folder`` for tools, which know the working directory only."""
    full = os.path.abspath(folder / path)
    relative = os.path.relpath(full)
    return full if relative.split(os.sep)[0] == ".." else relative


# ---- JUnit XML, as GitLab, Jenkins and others read it (https://github.com/testmoapp/junitxml)


def junit(summary: Summary) -> str:
    """Return the document: a suite for each group, with a case for each problem and one for all that is well."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", name=f"adaptc {summary.command}")
    ordered = sorted(summary.problems, key=lambda problem: problem.group)
    failed = {group: list(problems) for group, problems in groupby(ordered, key=lambda problem: problem.group)}
    for group in sorted({*failed, *summary.passed}):
        passed = summary.passed.get(group, 0)
        _suite(root, group, failed.get(group, []), f"{passed} {summary.well}" if passed else None)
    for name in ("tests", "failures"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _suite(root: Element, group: str, failed: Sequence[Problem], passed: str | None) -> None:
    from xml.etree.ElementTree import SubElement

    cases = len(failed) + bool(passed)
    suite = SubElement(root, "testsuite", name=group, tests=str(cases), failures=str(len(failed)))
    if passed:
        SubElement(suite, "testcase", classname=group, name=passed)
    for problem in failed:
        diagnostic, place = problem.diagnostic, _xml_text(problem.file or group)
        case = SubElement(suite, "testcase", classname=group, name=f"{diagnostic.id} {place}")
        if problem.file:
            case.set("file", place)
        failure = SubElement(case, "failure", type=diagnostic.id, message=_xml_text(diagnostic.message))
        failure.text = _xml_text(str(diagnostic))


def _xml_text(text: str) -> str:
    """Return text that XML allows: without control characters and lone surrogates."""
    return printable(text).encode("utf-8", "replace").decode()


# ---- annotations of GitHub Actions: workflow commands on standard output
# https://docs.github.com/actions/reference/workflow-commands-for-github-actions

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def workflow_commands(summary: Summary) -> str:
    """Return a command for each problem, the sentence first: GitHub shows ten annotations of a step at most."""
    name = "error" if summary.problems and summary.fails else "notice"
    lines = [_command(name, f"title=adaptc {summary.command}", summary.sentence)]
    for problem in summary.problems:
        diagnostic = problem.diagnostic
        properties = [f"file={problem.file.translate(_PROPERTY)}"] if problem.file else []
        properties.append(f"title={diagnostic.id.translate(_PROPERTY)}")
        lines.append(_command(_COMMANDS[diagnostic.severity], ",".join(properties), diagnostic.message))
    return "\n".join(lines)


def _command(name: str, properties: str, message: str) -> str:
    return printable(f"::{name} {properties}::{message.translate(_MESSAGE)}")


# ---- SARIF 2.1.0, the Static Analysis Results Interchange Format (OASIS), as code scanners read it

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(summary: Summary) -> str:
    """Return the document: a run of adaptc, with a rule for each kind of problem."""
    rules = sorted({problem.diagnostic.id for problem in summary.problems})
    driver = {"name": "adaptc", "version": VERSION, "rules": list(map(_rule, rules))}
    results = list(map(_result, summary.problems))
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(kind: str) -> dict[str, Any]:
    return {"id": kind, "defaultConfiguration": {"level": _LEVELS[KINDS[kind].severity]}}


def _result(problem: Problem) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": problem.diagnostic.id,
        "level": _LEVELS[problem.diagnostic.severity],
        "message": {"text": printable(problem.diagnostic.message)},
    }
    if problem.file:
        location = {"artifactLocation": {"uri": _uri(problem.file)}}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(file: str) -> str:
    """Return a file's name as a URI reference (RFC 3986): relative, or with the scheme ``file``."""
    quoted = quote_from_bytes(os.fsencode(file))
    return f"file://{quoted}" if file.startswith("/") else quoted


FORMATS: dict[str, Callable[[Summary], str]] = {
    "junit": junit,
    "github": workflow_commands,
    "sarif": sarif,
}
