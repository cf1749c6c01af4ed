"""A case of the crawler's behaviour: what is served, the options, and what must come of it.

``{base}`` and ``{other}`` stand for the server's URL and for the same server under another host name, in resources,
options and expectations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.crawl import Resource, Server, serving

from adaptc.cli.main import run


@dataclass(frozen=True)
class Case:
    """``files`` are relative to the host's directory (``~`` in front: to the output), all that there are when given.

    ``asked`` are the paths of requests, in any order, each once; ``holds`` texts that files must hold.
    """

    name: str
    site: Mapping[str, Resource]
    options: str = ""
    files: str | None = None
    asked: str | None = None
    holds: Mapping[str, str] = field(default_factory=dict)
    exit: int = 0
    start: str = "/"
    said: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Outcome:
    """What a crawl left."""

    output: Path
    server: Server
    code: int

    def path(self, name: str) -> Path:
        host = f"127.0.0.1:{self.server.port}"
        return self.output / name[1:] if name.startswith("~") else self.output / host / name

    def files(self) -> set[str]:
        host = f"127.0.0.1:{self.server.port}/"
        names = (one.relative_to(self.output).as_posix() for one in self.output.rglob("*") if one.is_file())
        kept = (name for name in names if not name.startswith(".adaptc"))
        return {name.removeprefix(host) if name.startswith(host) else f"~{name}" for name in kept}

    def log(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.output / ".adaptc/crawl.jsonl").read_text().splitlines()]


def crawl(server: Server, output: Path, options: str = "", start: str = "/") -> Outcome:
    words = [server.fill(word) for word in options.split()]
    urls = [] if start == "" else [server.base + one for one in start.split()]
    code = run(["crawl", *urls, "-o", str(output), "--no-netrc", "--waitretry", "0", *words])
    return Outcome(output, server, int(code))


def check(case: Case, tmp_path: Path, capsys: object = None) -> None:
    with serving(case.site) as server:
        outcome = crawl(server, tmp_path / "m", case.options, case.start)
        if case.files is not None:
            assert outcome.files() == {server.fill(one) for one in case.files.split()}
        if case.asked is not None:
            assert sorted(server.paths()) == sorted(case.asked.split())
        for name, text in case.holds.items():
            assert server.fill(text) in outcome.path(name).read_text("utf-8", "surrogateescape")
        assert outcome.code == case.exit
        if case.said:
            said = capsys.readouterr()  # type: ignore[attr-defined]
            assert server.fill(case.said) in said.err + said.out
