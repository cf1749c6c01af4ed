"""Annotations of GitHub Actions: workflow commands on standard output.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adaptc.core.diagnostics import Severity, printable
from adaptc.workflow.check.formats.problem import Problem

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
# GitHub shows ten annotations of a step and drops the rest: the sum comes first
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def workflow_commands(problems: Iterable[Problem], verdict: str) -> Iterator[str]:
    """Yield the lines; ``verdict`` is the sum in a sentence."""
    found = list(problems)
    yield _command("error" if found else "notice", "title=adaptc check", verdict)
    for one in found:
        properties = [f"file={one.file.translate(_PROPERTY)}"] if one.file else []
        properties.append(f"title={one.said.id.translate(_PROPERTY)}")
        yield _command(_COMMANDS[one.said.severity], ",".join(properties), one.said.message)


def _command(name: str, properties: str, message: str) -> str:
    return printable(f"::{name} {properties}::{message.translate(_MESSAGE)}")
