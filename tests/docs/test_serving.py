"""docs/serving.md, followed to the letter: the commands and lines are taken from the page and run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import DOCS, NEWSROOM
from tests.servers import web

from adaptc.workflow.configuration import load_config

MANUAL = (DOCS / "serving.md").read_text("utf-8")


def blocks(section: str, language: str) -> list[str]:
    """The examples of a section, in order."""
    text = re.split(r"^## ", MANUAL.split(f"\n## {section}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


class Machine:
    """A directory that stands for the root of a machine: /srv/www of the manual is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.www = folder / "www"
        self.www.mkdir()
        (self.www / "site").symlink_to(NEWSROOM)
        self.port = 0

    def here(self, text: str) -> str:
        return text.replace("/srv/www", str(self.www)).replace("http://localhost/", f"http://127.0.0.1:{self.port}/")

    def shell(self, script: str) -> str:
        """Run lines of the manual with adaptc of this environment."""
        tools = self.folder / "bin"
        tools.mkdir(exist_ok=True)
        (tools / "adaptc").write_text(f'#!/bin/sh\nexec {sys.executable} -m adaptc "$@"\n')
        (tools / "adaptc").chmod(0o755)
        environment = {"PATH": f"{tools}:/usr/sbin:/usr/bin:/bin", "HOME": str(self.folder)}
        done = subprocess.run(
            ["sh", "-e", "-c", self.here(script)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.mark.servers
def test_from_nothing_to_the_switched_page(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.www / "adaptc.toml").write_text(machine.here(blocks("Build", "toml")[0]))
    machine.shell(blocks("Build", "sh")[0])
    switch_apache(machine)
    switch_nginx(machine)


def switch_apache(machine: Machine) -> None:
    modules = blocks("Apache", "sh")[0]
    assert modules == "a2enmod rewrite headers actions\n"
    named = re.search(r"^#     a2enmod ([a-z ]+?)  ", (machine.www / "opt/serve/apache.conf").read_text(), re.MULTILINE)
    assert named is not None
    assert set(named[1].split()) == set(modules.split()[1:])
    inside = machine.here(blocks("Apache", "apache")[0])
    with web.apache(machine.folder / "apache", NEWSROOM, inside) as server:
        switch(machine, server)


def switch_nginx(machine: Machine) -> None:
    http, inside = (machine.here(block) for block in blocks("nginx", "nginx"))
    with web.nginx(machine.folder / "nginx", NEWSROOM, http, inside) as server:
        switch(machine, server)


def switch(machine: Machine, server: web.Server) -> None:
    machine.port = server.port
    on, look, off = blocks("Switch", "sh")
    assert "x-adapt" not in server.get("/").headers
    machine.shell(on)
    said = machine.shell(look).lower().splitlines()
    assert sorted(said) == ["content-encoding: br", "x-adapt: lossless/br"]
    assert server.get("/", accept_encoding="br").body == (machine.www / "opt/lossless/br/index.html").read_bytes()
    machine.shell(off)
    assert "x-adapt" not in server.get("/").headers


def test_the_tables_of_the_manual_are_sound(tmp_path: Path) -> None:
    for section in ("Build", "Proxies and CDNs"):
        for block in blocks(section, "toml"):
            (tmp_path / "adaptc.toml").write_text(block)
            load_config(tmp_path / "adaptc.toml")
