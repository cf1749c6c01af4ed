"""The stage of a proof: a directory inside the output with a configuration and a state of its own.

The trees are reached through links, so the real files are served; flag and levels are those of the stage, so a proof
does not switch a site that people are reading.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.compile.engine.output import PRIVATE, TIMES
from adaptc.compile.engine.state import last_build
from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.serve import state_directory
from adaptc.serve.configuration import render
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of
from adaptc.serve.verify.daemons import Place, program_of, running
from adaptc.serve.verify.wire import Server

CSP = "Content-Security-Policy"
STRICT_MODULES = {"apache": ("lua",), "nginx": ("ngx_http_js_module",)}


@dataclass(frozen=True)
class Stage:
    """Where servers are started, for one site and one kind of server."""

    root: Path
    config: Config
    server: str

    def policy(self, output: Path, docroot: Path | None = None) -> Policy:
        """Return the policy of the configuration for trees in ``output``, with a state of its own.

        ``docroot`` is another one than that of the configuration.
        """
        serve = replace(
            self.config.serve, docroot=docroot or _docroot(self.config), output=output, state=output / "run"
        )
        with last_build(self.config.output) as state:
            return policy_of(state, replace(self.config, serve=serve))

    def linked(self, levels: tuple[str, ...]) -> Path:
        """Return an output whose trees are links to the real ones."""
        made = self.root / "linked"
        made.mkdir()
        for name in (*levels, TIMES):
            (made / name).symlink_to(Path(os.path.abspath(self.config.output)) / name)
        return made

    @contextlib.contextmanager
    def with_adaptation(self, name: str, policy: Policy) -> Iterator[Server]:
        """Run the server with what is emitted for ``policy``."""
        folder = Path(policy.output) / CONF_DIRECTORY
        folder.mkdir(exist_ok=True)
        class_map = policy.serve.class_map if policy.serve.classes and self.server == "apache" else "txt"
        state_directory.create(Path(policy.state), policy.start, class_map)
        texts = render(self.server, policy)
        for file, text in texts.items():
            (folder / file).write_bytes(os.fsencode(text))
        with self._running(name, policy, tuple(folder / file for file in texts if file.endswith(".conf"))) as server:
            yield server

    @contextlib.contextmanager
    def without_adaptation(self, policy: Policy) -> Iterator[Server]:
        """Run the server with the site alone."""
        with self._running("plain", policy, ()) as server:
            yield server

    @contextlib.contextmanager
    def _running(self, name: str, policy: Policy, includes: tuple[Path, ...]) -> Iterator[Server]:
        headers = ((CSP, self.config.site.csp),) if self.config.site.csp else ()
        modules = STRICT_MODULES[self.server] if policy.is_strict else ()
        place = Place(
            self.root / name, Path(policy.docroot), policy.prefix, self.config.site.index, includes, headers, modules
        )
        with running(self.server, place) as port:
            yield Server("127.0.0.1", port, f"localhost:{port}")


@contextlib.contextmanager
def staged(config: Config, server: str) -> Iterator[Stage]:
    """Make a stage and take it away at the end. Raises ``UsageError`` when the server is not installed."""
    program_of(server)
    _docroot(config)
    root = Path(tempfile.mkdtemp(prefix="verify-", dir=os.path.abspath(config.output / PRIVATE)))
    root.chmod(0o755)
    try:
        yield Stage(root, config, server)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _docroot(config: Config) -> Path:
    if config.docroot is None:
        raise UsageError("no docroot: name it with --docroot or as docroot in adaptc.toml")
    if not config.docroot.is_dir():
        raise UsageError(f"docroot {config.docroot} is not a directory")
    return Path(os.path.abspath(config.docroot))
