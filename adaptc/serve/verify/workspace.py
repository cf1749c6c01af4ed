"""The workspace of a verification: a directory inside the output with a configuration and a state of its own.

The trees are reached by links, so the real files are served; flag and levels are those of the workspace, so a
verification does not switch a site that people read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.compile.engine.state.state import last_build
from adaptc.compile.engine.trees.output import TIMES
from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import PRIVATE
from adaptc.serve.configuration import render
from adaptc.serve.emitter import create_state
from adaptc.serve.launch import Running, launcher_of, program_of, running
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of
from adaptc.serve.server import Instance, Server
from adaptc.serve.verify.http_client import Address

CSP = "Content-Security-Policy"


@dataclass(frozen=True)
class Workspace:
    """Where instances of one server are started for one site."""

    root: Path
    config: Config
    server: Server

    def policy(self, output: Path, docroot: Path | None = None) -> Policy:
        """Return the policy of the configuration for trees in ``output``, with a state of its own.

        ``docroot`` replaces that of the configuration.
        """
        serve = replace(
            self.config.serve, docroot=docroot or _docroot(self.config), output=output, state=output / "run"
        )
        with last_build(self.config.output) as state:
            return policy_of(state, replace(self.config, serve=serve))

    def linked(self, levels: tuple[str, ...]) -> Path:
        """Return an output whose trees are links to the real ones."""
        output = self.root / "linked"
        output.mkdir()
        for name in (*levels, TIMES):
            (output / name).symlink_to(Path(os.path.abspath(self.config.output)) / name)
        return output

    @contextlib.contextmanager
    def with_adaptation(self, name: str, policy: Policy) -> Iterator[Address]:
        """Run the server with the emitted configuration of ``policy``."""
        with self.adapting(name, policy) as server:
            yield _address(server)

    @contextlib.contextmanager
    def adapting(self, name: str, policy: Policy, certificate: Path | None = None) -> Iterator[Running]:
        """Run the server as ``with_adaptation`` does, with TLS where there is a certificate, and with an access log."""
        folder = Path(policy.output) / CONF_DIRECTORY
        folder.mkdir(exist_ok=True)
        create_state(policy, [self.server])
        for file, text in render(self.server, policy).items():
            (folder / file).write_bytes(os.fsencode(text))
        included = tuple(folder / file.name for file in self.server.files if file.is_included(policy))
        instance = self._instance(name, policy, included)
        with running(self.server, replace(instance, log_format=policy.name, certificate=certificate)) as server:
            yield server

    @contextlib.contextmanager
    def without_adaptation(self, policy: Policy) -> Iterator[Address]:
        """Run the server with the site alone."""
        with running(self.server, self._instance("plain", policy, ())) as server:
            yield _address(server)

    def _instance(self, name: str, policy: Policy, includes: tuple[Path, ...]) -> Instance:
        headers = ((CSP, self.config.site.csp),) if self.config.site.csp else ()
        modules = launcher_of(self.server).modules(policy)
        index, docroot = self.config.site.index, Path(policy.docroot)
        return Instance(self.root / name, docroot, policy.prefix, index, includes, headers, modules)


def _address(server: Running) -> Address:
    return Address("127.0.0.1", server.port, f"localhost:{server.port}")


@contextlib.contextmanager
def workspace_for(config: Config, server: Server) -> Iterator[Workspace]:
    """Create a workspace and remove it at the end. Raises ``UsageError`` when the server is not installed."""
    program_of(server)
    _docroot(config)
    root = Path(tempfile.mkdtemp(prefix="verify-", dir=os.path.abspath(config.output / PRIVATE)))
    root.chmod(0o755)
    try:
        yield Workspace(root, config, server)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _docroot(config: Config) -> Path:
    if config.docroot is None:
        raise UsageError("no docroot: name the published directory on the command line, or as docroot in adaptc.toml")
    if not config.docroot.is_dir():
        raise UsageError(f"docroot {config.docroot} is not a directory")
    return Path(os.path.abspath(config.docroot))
