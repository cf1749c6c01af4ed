"""A site with ``adaptc watch`` beside it in another process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.sites.built import BuiltSite
from tests.waiting import PATIENCE

# What depends on the time, or on the docroot's name
_UNTOLD = ("report.html", "run/")


class Watched:
    """A site with a watcher in another process."""

    def __init__(self, site: BuiltSite, *options: str, docroot: Path | None = None) -> None:
        self.site, self.log = site, site.root / "events.jsonl"
        command = [
            sys.executable,
            "-P",
            "-m",
            "adaptc",
            "watch",
            str(docroot or site.docroot),
            "-o",
            str(site.output),
        ]
        given = ["--idle", "0.3", "--log", str(self.log), "-j", "1", *options]
        self.process = subprocess.Popen([*command, *given], cwd=site.root, stderr=subprocess.PIPE, text=True)
        self.wait_for("polished")

    def events(self, name: str) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [one for one in found if one["event"] == name]

    def wait_for(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        self.wait_until(lambda: len(self.events(name)) >= count)
        return self.events(name)

    def wait_until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)  # to look takes time of the processor, which the watcher needs

    def settle(self, **settings: Any) -> None:
        """Wait until the trees are those of a clean build, and the manifest too."""
        clean = self.site.clean()
        clean.build(build__effort="default", **settings)
        wanted = {path: content for path, content in clean.trees().items() if path != "report.html"}
        self.wait_until(lambda: self._trees() == wanted)

    def _trees(self) -> dict[str, bytes] | None:
        try:
            trees = self.site.trees()
            return {path: content for path, content in trees.items() if not path.startswith(_UNTOLD)}
        except OSError:  # they change while they are read
            return None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@contextlib.contextmanager
def watched(site: BuiltSite, *options: str, docroot: Path | None = None) -> Iterator[Watched]:
    found = Watched(site, *options, docroot=docroot)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


def save(file: Path, text: str) -> None:
    """Save as editors do: another file, and a rename over the old one."""
    other = file.with_name(file.name + "~")
    other.write_text(text)
    os.replace(other, file)
