"""Apache httpd, asked about its configuration by its own switches (httpd(8): -t, -D DUMP_...)."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from adaptc.serve.doctor.directives import Directive, apache_directives
from adaptc.serve.doctor.setup import Setup, account_of
from adaptc.serve.verify.daemons import SEARCH, program_of, unprivileged

USUAL_FILES = ("/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf")


def ask_apache(file: Path | None, user: str | None) -> Setup:
    """Return the setup of Apache; ``file`` is its main file, None for the usual one. Raises ``UsageError``."""
    command = [_control(), *(["-f", str(file.absolute())] if file else [])]
    test = _said([*command, "-t"])
    refusal = None if test.returncode == 0 else _sentence(test.stderr or test.stdout)
    run = _said([*command, "-t", "-D", "DUMP_RUN_CFG"]).stdout
    included = re.findall(r"^\s+\((?:\*|\d+)\) (.+)$", _said([*command, "-t", "-D", "DUMP_INCLUDES"]).stdout, re.M)
    main = str(file) if file else next(iter(included), _usual())
    named = re.search(r'^User: name="([^"]*)"', run, re.M)
    return Setup(
        "apache",
        main,
        refusal,
        account_of(user or (named[1] if named else unprivileged())),
        frozenset(re.findall(r"^ (\w+)_module \(", _said([*command, "-M"]).stdout, re.M)),
        tuple(_directives(included or [main])),
    )


def _control() -> str:
    """Return apachectl, which knows the environment that Debian's configuration needs; else the program itself."""
    return shutil.which("apachectl", path=SEARCH) or program_of("apache")


def _usual() -> str:
    return next((one for one in USUAL_FILES if Path(one).exists()), USUAL_FILES[0])


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False)


def _sentence(said: str) -> str:
    """Return Apache's complaint in one line, without its remarks about names and what apachectl adds."""
    lines = [line.strip() for line in said.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("AH00558", "Action '", "The Apache error log"))]
    return " ".join(kept)


def _directives(files: list[str]) -> Iterator[Directive]:
    for file in dict.fromkeys(files):
        with contextlib.suppress(OSError):  # a file that only root reads: what it says stays unknown
            yield from apache_directives(Path(file).read_text("utf-8", "surrogateescape"), file)
