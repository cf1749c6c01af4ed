"""Servers for a calibration: one for each level of the site, and some for files of known sizes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.urls import quote_path
from adaptc.serve.calibrate.cpu_time import ServerProcesses
from adaptc.serve.calibrate.samples import FEW_FILES, SampleFiles, Samples
from adaptc.serve.launch import settle
from adaptc.serve.policy import REJECT, Policy
from adaptc.serve.verify.modes import Mode, adapting_mode, switch
from adaptc.serve.verify.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Site:
    """A server that runs: the origin of its URLs, its processes, and the policy that it follows."""

    origin: str
    processes: ServerProcesses
    policy: Policy

    @property
    def base(self) -> str:
        """The URL of the docroot without the final slash."""
        return self.origin + quote_path(self.policy.prefix)


@dataclass(frozen=True)
class Testbed:
    """Starts servers in a workspace; they end with ``stack``. ``files`` are the sample files."""

    workspace: Workspace
    stack: ExitStack
    files: SampleFiles = FEW_FILES

    def level(self, level: str, levels: tuple[str, ...]) -> Site:
        """Start a server that gives everybody a level of the site; ``levels`` are those that were built."""
        workspace = self._workspace(f"level-{level}", level)
        policy = workspace.policy(workspace.linked(levels))
        return self._start(workspace, policy, adapting_mode(policy))

    def site(self, levels: tuple[str, ...]) -> Site:
        """Start a server of the site as it is configured; ``levels`` are those that were built."""
        workspace = self._workspace("site")
        policy = workspace.policy(workspace.linked(levels))
        return self._start(workspace, policy, adapting_mode(policy))

    def samples(self, name: str, mode: Mode | None = None, certificate: Path | None = None) -> Site:
        """Start a server of files of known sizes, in a mode; without one, in which their trees are served."""
        workspace, samples = self._workspace(name), Samples(self.workspace.root / "files", self.files)
        policy = workspace.policy(workspace.root / "output", samples.docroot)
        served = adapting_mode(policy)
        samples.link(policy, served.trees(policy, "normal")[0])
        return self._start(workspace, policy, mode or served, certificate)

    def _workspace(self, name: str, level: str | None = None) -> Workspace:
        root, config = self.workspace.root / name, self.workspace.config
        root.mkdir()
        return Workspace(root, with_level(config, level) if level else config, self.workspace.server)

    def _start(self, workspace: Workspace, policy: Policy, mode: Mode, certificate: Path | None = None) -> Site:
        server = self.stack.enter_context(workspace.adapting("server", policy, certificate))
        switch(policy, mode)
        settle(workspace.server, policy)
        scheme = "https" if certificate else "http"
        return Site(f"{scheme}://127.0.0.1:{server.port}", ServerProcesses(server.process), policy)


def with_level(config: Config, level: str) -> Config:
    """Return a configuration by which everybody without a class gets a level."""
    serve = config.serve
    normal = level if serve.normal_level is not None else None
    return replace(config, serve=replace(serve, level=level, normal_level=normal))


REJECTING = Mode("reject", is_on=True, level=REJECT)
OFF = Mode("off", is_on=False)


def make_certificate(folder: Path) -> Path:
    """Write a certificate with its key for servers on loopback. Raises ``UsageError`` without openssl(1)."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]
    try:
        subprocess.run(
            ["openssl", "req", "-x509", *curve, "-keyout", key, "-out", certificate], check=True, capture_output=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise UsageError(f"openssl cannot make a certificate ({error})") from None
    certificate.write_bytes(certificate.read_bytes() + key.read_bytes())
    return certificate


@contextmanager
def testbed(workspace: Workspace, files: SampleFiles = FEW_FILES) -> Iterator[Testbed]:
    """Give a testbed in a workspace; its servers end with it. ``files`` are the sample files."""
    with ExitStack() as stack:
        yield Testbed(workspace, stack, files)
