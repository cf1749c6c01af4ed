"""SARIF 2.1.0, the Static Analysis Results Interchange Format (OASIS), as code scanners read it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote_from_bytes

from adaptc.core.diagnostics import KINDS, Severity, printable
from adaptc.core.version import VERSION
from adaptc.workflow.check.formats.problem import Problem

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(problems: Iterable[Problem]) -> str:
    """Return the document: one run of adaptc, with a rule for each kind of problem that was found."""
    found = list(problems)
    rules = sorted({one.said.id for one in found})
    driver = {"name": "adaptc", "version": VERSION, "rules": [_rule(kind) for kind in rules]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(one) for one in found]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(kind: str) -> dict[str, Any]:
    return {"id": kind, "defaultConfiguration": {"level": _LEVELS[KINDS[kind].severity]}}


def _result(one: Problem) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.said.id,
        "level": _LEVELS[one.said.severity],
        "message": {"text": printable(one.said.message)},
    }
    if one.file:
        location = {"artifactLocation": {"uri": _uri(one.file)}}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(file: str) -> str:
    """Return a file's name as a URI reference (RFC 3986): relative, or with the scheme ``file``."""
    quoted = quote_from_bytes(os.fsencode(file))
    return f"file://{quoted}" if file.startswith("/") else quoted
