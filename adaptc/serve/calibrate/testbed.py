"""Servers for a calibration: one for each level of the site, and some for files of known sizes.

The files are of every kind, in two sizes.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import CODINGS, IDENTITY, TOKENS, name_in_tree
from adaptc.core.urls import quote_path
from adaptc.core.values import dataclass, replace
from adaptc.serve.calibrate.cpu_time import ServerProcesses
from adaptc.serve.launch import settle
from adaptc.serve.policy import REJECT, Policy
from adaptc.serve.verify.modes import Mode, adapting_mode, switch
from adaptc.serve.verify.scenario import BEST
from adaptc.serve.verify.workspace import Workspace

# ---- files of known sizes

# Bytes; from two sizes follow the costs of a request and of a kilobyte. The large ones are as large as those of the
# site: of 290 kB nginx sent a kilobyte for three quarters of what it takes of 50 kB.
SMALL, LARGE = 1_000, 50_000
MOST_BYTES = 16_000_000  # of the large files of a kind
# Of each, as many as a site has: one of 64 files of 100 kB cost nginx half more than one of 8, which stay in a
# processor's cache.
FEWEST, MOST = 8, 64
ORIGINAL = "original"  # the kind of files that are in no tree


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """The files of each kind and size, and the bytes of ``large`` ones."""

    count: int = FEWEST
    large: int = LARGE


FEW_FILES = SampleFiles()


class Samples:
    """A docroot of its own with a tree, below ``root``; servers share them by links."""

    def __init__(self, root: Path, files: SampleFiles) -> None:
        self.docroot, self._tree, self._times, self.files = root / "docroot", root / "tree", root / "times", files

    def link(self, policy: Policy, level: str) -> None:
        """Make the files the tree of a level in the output of ``policy``; they are written if need be."""
        if not self.docroot.exists():
            self._write_all(policy)
        Path(policy.output).mkdir()
        Path(policy.output, level).symlink_to(self._tree)
        Path(policy.times).symlink_to(self._times)

    def _write_all(self, policy: Policy) -> None:
        generator = random.Random(0)
        for kind in kinds(policy):
            for size in (SMALL, self.files.large):
                for number in range(self.files.count):
                    path = _path(kind, size, number)
                    self._write(self.docroot / path, generator.randbytes(size) if kind == ORIGINAL else b"")
                    if kind != ORIGINAL:
                        self._write(self._tree / kind / name_in_tree(kind, path), generator.randbytes(size))
                    if policy.is_strict:
                        self._record_time(self._times / path, self.docroot / path)

    @staticmethod
    def _write(file: Path, content: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def _record_time(self, record: Path, source: Path) -> None:
        self._write(record, b"")
        time = source.stat().st_mtime_ns
        os.utime(record, ns=(time, time))


def kinds(policy: Policy) -> tuple[str, ...]:
    """Return what a server sends: codings of texts, formats of images, images as they are, and originals."""
    return (*policy.codings, *policy.formats, IDENTITY, ORIGINAL)


def accepted(kind: str) -> str:
    """Return the Accept-Encoding of a client that gets a kind: that of browsers but for the other codings."""
    return TOKENS.get(kind, BEST)


def urls(policy: Policy, kind: str, size: int, count: int) -> tuple[str, ...]:
    """Return the paths of the URLs of the first ``count`` files of a kind and a size."""
    paths = (_path(kind, size, number) for number in range(count))
    return tuple(quote_path(f"{policy.prefix}/{path}") for path in paths)


def _path(kind: str, size: int, number: int) -> str:
    """Return a path as sites have them: pages at the top, images in a directory."""
    is_page = kind in CODINGS
    return f"calibrate-{kind}-{size}-{number}.html" if is_page else f"calibrate/images/{kind}-{size}-{number}.png"


# ---- the servers


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
