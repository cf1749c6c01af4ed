"""One examination: the servers for which configuration was emitted, each with all checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.state import last_build
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.report.manifest import last_manifest
from adaptc.serve.configuration import FILES, render
from adaptc.serve.doctor.apache import ask_apache
from adaptc.serve.doctor.checks import CHECKS
from adaptc.serve.doctor.nginx import ask_nginx
from adaptc.serve.doctor.patient import Patient
from adaptc.serve.doctor.setup import Setup
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of

ASK: dict[str, Callable[[Path | None, str | None], Setup]] = {"apache": ask_apache, "nginx": ask_nginx}
FORMS = {"apache": ("apache", "htaccess"), "nginx": ("nginx",)}  # what adaptc emit calls them


@dataclass(frozen=True, slots=True)
class Examined:
    """A server that was looked at: its user, its main file, how many checks there were, and what they found."""

    server: str
    user: str
    file: str
    checks: int
    diagnostics: tuple[Diagnostic, ...]


def examine(config: Config, servers: Sequence[str], file: Path | None, user: str | None) -> list[Examined]:
    """Examine ``servers``, or without any those that configuration was emitted for.

    ``file`` is the server's main configuration file, ``user`` who its workers run as; None: what the server says.
    Raises ``UsageError`` when nothing was emitted, or a server is not installed.
    """
    with last_build(config.output) as state:
        policy = policy_of(state, config)
    chosen = servers or tuple(server for server in ASK if _emitted(policy, server))
    if not chosen or not all(_emitted(policy, server) for server in chosen):
        what = chosen[0] if chosen else "apache or adaptc emit nginx"
        raise UsageError(f"no configuration of a server in {policy.output}/{CONF_DIRECTORY}; run adaptc emit {what}")
    if file is not None and len(chosen) > 1:
        raise UsageError("say with --server whose file --server-config is")
    return [_examined(patient_of(config, policy, ASK[server](file, user))) for server in chosen]


def patient_of(config: Config, policy: Policy, setup: Setup) -> Patient:
    """Return what the checks look at."""
    return Patient(setup, policy, last_manifest(config.output), _emitted(policy, setup.server))


def _emitted(policy: Policy, server: str) -> dict[str, str]:
    """Return what would be written now of the files that were emitted for a server."""
    folder = Path(policy.output) / CONF_DIRECTORY
    forms = [form for form in FORMS[server] if os.path.exists(folder / FILES[form][0])]
    return {name: text for form in forms for name, text in render(form, policy).items()}


def _examined(patient: Patient) -> Examined:
    setup, found = patient.setup, tuple(one for check in CHECKS for one in check(patient))
    return Examined(setup.server, setup.account.name, setup.file, len(CHECKS), found)
