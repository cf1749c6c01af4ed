"""nginx, asked about its configuration by its own switches (nginx(8): -T, -V)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from adaptc.serve.doctor.directives import Directive, nginx_directives
from adaptc.serve.doctor.setup import Setup, account_of
from adaptc.serve.verify.daemons import program_of, unprivileged

_FILE = re.compile(r"^# configuration file (.+):$", re.MULTILINE)


def ask_nginx(file: Path | None, user: str | None) -> Setup:
    """Return the setup of nginx; ``file`` is its main file, None for the usual one. Raises ``UsageError``."""
    program = program_of("nginx")
    dumped = _said([program, "-T", *(["-c", str(file.absolute())] if file else [])])
    about = _said([program, "-V"]).stderr
    usual = re.search(r"--conf-path=(\S+)", about)
    directives = tuple(_directives(dumped.stdout))
    named = [one.args[0] for one in directives if one.name == "user" and one.args]
    compiled = re.search(r"--user=(\S+)", about)
    names = [*([user] if user else []), *named, *([compiled[1]] if compiled else []), unprivileged()]
    return Setup(
        "nginx",
        str(file) if file else usual[1] if usual else "nginx.conf",
        None if dumped.returncode == 0 else _sentence(dumped.stderr),
        account_of(names[0]),
        frozenset(re.findall(r"--with-(\w+_module)", about)),
        directives,
    )


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False)


def _sentence(said: str) -> str:
    """Return the lines of nginx that stop it."""
    stopping = re.findall(r"\[(?:emerg|alert)\](?: \d+#\d+:)? (.+)", said)
    return "; ".join(dict.fromkeys(stopping)) or " ".join(said.split())


def _directives(dump: str) -> Iterator[Directive]:
    """Yield the directives of the dump, which has each file once, behind a line with its name."""
    _, *parts = _FILE.split(dump)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        yield from nginx_directives(text, name)
