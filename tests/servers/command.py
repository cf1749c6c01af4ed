"""The command line in this process: a process of its own takes most of a second to import what a command needs."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from adaptc.cli.main import run


def run_adaptc(*arguments: str, cwd: Path | None = None, text: str = "") -> CompletedProcess[str]:
    """Run ``adaptc`` with ``arguments`` in ``cwd``, with ``text`` at its standard input; return what it said.

    It is as if its output went to files. What it does to the working directory is undone.
    """
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())), "utf-8")
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(cwd or "."))
        stack.enter_context(mock.patch.object(sys, "stdin", given))
        stack.enter_context(contextlib.redirect_stdout(output))
        stack.enter_context(contextlib.redirect_stderr(errors))
        code = run(arguments)
    return CompletedProcess(["adaptc", *arguments], int(code), *map(_said, (output, errors)))


def _said(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
