"""The workspace of a verification: a directory inside the output with a configuration and a state of its own.

The trees are reached by links, so the real files are served; flag and levels are those of the workspace, so a
verification does not switch a site that people read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from adaptc.compile.engine.state.state import last_build
from adaptc.compile.engine.trees.output import TIMES
from adaptc.config.config import MIRRORS, Config
from adaptc.core.fs import keep_private
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, MEDIA_TYPES, PRIVATE, TOKENS, is_negotiable, name_in_tree
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import BuiltResource
from adaptc.serve.emitter import create_state, render
from adaptc.serve.launch import Running, launcher_of, program_of, running
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of
from adaptc.serve.server import Instance, Server
from adaptc.serve.verify.http_client import Address, Request
from adaptc.serve.verify.scenario import BEST, Case, Scenario, Target, headers_of
from adaptc.site.host_files import server_fields

CSP = "content-security-policy"


@dataclass(frozen=True)
class Workspace:
    """Where instances of one server are started for one site; ``origin`` is the origin server of a reverse proxy."""

    root: Path
    config: Config
    server: Server
    origin: Server | None = None

    def policy(self, output: Path, docroot: Path | None = None) -> Policy:
        """Return the policy of the configuration for trees in ``output``, with a state of its own.

        ``docroot`` replaces that of the configuration.
        """
        serve = replace(
            self.config.serve,
            docroot=docroot or Path(os.path.abspath(self.config.existing_docroot())),
            output=output,
            state=output / "run",
        )
        with last_build(self.config.output) as state:
            policy = policy_of(state, replace(self.config, serve=serve))
        ignored = {name for server in filter(None, (self.server, self.origin)) for name in server.ignores}
        if "formats" in ignored:
            policy = replace(policy, formats=())
        if "dictionaries" in ignored:
            policy = replace(policy, dictionaries={}, version_levels=())
        return policy.for_origin() if serve.reverse_proxy and not self.server.is_reverse_proxy else policy

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
        """Run the server as ``with_adaptation`` does, with TLS where there is a certificate, and with an access log.

        It has no status page, whose port may be that of the server in use, and sends pages at any rate.
        """
        rate = 1_000_000 if policy.serve.nginx_page_rate else 0
        policy = replace(policy, serve=replace(policy.serve, status=None, nginx_page_rate=rate))
        with contextlib.ExitStack() as stack:
            instance = replace(self._emitted(self.server, name, policy), certificate=certificate)
            if self.origin is not None:
                origin = self._emitted(self.origin, f"{name}-origin", policy.for_origin())
                instance = replace(instance, origin=stack.enter_context(running(self.origin, origin)).port)
            yield stack.enter_context(running(self.server, instance))

    def _emitted(self, server: Server, name: str, policy: Policy) -> Instance:
        """Write what is emitted for a server, and return the instance that includes it."""
        folder = Path(policy.output) / CONF_DIRECTORY
        folder.mkdir(exist_ok=True)
        create_state(policy, [server])
        for file, text in render(server, policy).items():
            (folder / file).write_bytes(os.fsencode(text))
        included = tuple(folder / file.name for file in server.files if file.is_included(policy))
        return replace(self._instance(server, name, policy, included), log_format=policy.name)

    @contextlib.contextmanager
    def without_adaptation(self, policy: Policy) -> Iterator[Address]:
        """Run the server, of a reverse proxy its origin server, with the site alone."""
        chosen = self.origin or self.server
        with running(chosen, self._instance(chosen, "plain", policy, ())) as server:
            yield _address(server)

    def _instance(self, server: Server, name: str, policy: Policy, includes: tuple[Path, ...]) -> Instance:
        headers = dict(server_fields(self.config.site.server_config, Path(policy.docroot)))
        headers |= {CSP: self.config.site.csp} if self.config.site.csp else {}
        modules = launcher_of(server).modules(policy)
        index, docroot = self.config.site.index, Path(policy.docroot)
        return Instance(self.root / name, docroot, policy.prefix, index, includes, tuple(headers.items()), modules)


def _address(server: Running) -> Address:
    return Address("127.0.0.1", server.port, f"localhost:{server.port}")


@contextlib.contextmanager
def workspace_for(config: Config, server: Server, origin: Server | None = None) -> Iterator[Workspace]:
    """Create a workspace and remove it at the end. Raises ``UsageError`` when a server is not installed."""
    for one in filter(None, (server, origin)):
        program_of(one)
    server = server if origin is None else _in_front_of(server, origin)
    config.existing_docroot()
    private = Path(os.path.abspath(config.output / PRIVATE))
    root = Path(tempfile.mkdtemp(prefix="verify-", dir=private))
    root.chmod(0o755)
    keep_private(private, (root.name, MIRRORS.rpartition("/")[2]))  # the server's user passes, and reads nothing else
    try:
        yield Workspace(root, config, server, origin)
    finally:
        shutil.rmtree(root, ignore_errors=True)
        keep_private(private, (MIRRORS.rpartition("/")[2],))


def _in_front_of(server: Server, origin: Server) -> Server:
    """Return a reverse proxy with what is expected of it because of its origin server."""
    launcher, of_origin = launcher_of(server), launcher_of(origin)
    expected = replace(launcher, omits=of_origin.omits, settling=of_origin.settling)
    if not server.is_cache:
        expected = replace(
            expected,
            has_plain_ranges=of_origin.has_plain_ranges,
            ignores_if_match=of_origin.ignores_if_match,
            keeps_coding=of_origin.keeps_coding,
        )
    return replace(server, launcher=expected)


# ---- copies of trees and sources that a verification may alter
#
# Where files are missing, a server falls back step by step to the original, and never fails. Where a source changed, a
# strict server sends what is in the docroot.

SAMPLE, SAMPLE_IMAGES = 12, 3
TYPES = ",".join([*MEDIA_TYPES.values(), "*/*"])
# The codings and formats that are removed, one step after the other
STEPS = ((CODINGS[0], FORMATS[0]), (*CODINGS, *FORMATS), (*CODINGS, *FORMATS, IDENTITY))
# Seconds by which the time of a source moves: an older copy that kept its time is as stale as an edit
MOVES = (0, 3600, -3600)


def sample(targets: Sequence[Target], output: Path) -> list[Target]:
    """Return targets that have all their files, those with the most encodings first, and images with formats."""
    complete = [target for target in targets if _is_complete(target.resource, output)]
    chosen = sorted(complete, key=lambda target: -sum(1 for _ in _versions(target.resource)))[:SAMPLE]
    images = [target for target in complete if target not in chosen and _has_formats(target.resource)]
    return [*chosen, *images[:SAMPLE_IMAGES]]


def _is_complete(resource: BuiltResource, output: Path) -> bool:
    names = ((level, coding, name_in_tree(coding, resource.path)) for level, coding in _versions(resource))
    return all((output / level / coding / name).is_file() for level, coding, name in names)


def _has_formats(resource: BuiltResource) -> bool:
    return any(coding in FORMATS for _, coding in _versions(resource))


def _versions(resource: BuiltResource) -> Iterator[tuple[str, str]]:
    return ((level, coding) for level, files in resource.files.items() for coding in files)


def _copy(source: Path, copy: Path) -> None:
    """Copy a file that servers can read, with its time, from which entity tags are made."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, copy)
    os.chmod(copy, 0o644)


# ---- missing files


@dataclass(frozen=True, slots=True)
class TreeCopies:
    """Copies of all versions of a few resources, in trees of their own below ``root``; ``source`` is the output."""

    root: Path
    source: Path

    def fill(self, targets: list[Target]) -> None:
        """Copy all versions of targets."""
        for target in targets:
            for level, coding in _versions(target.resource):
                source = self.source / level / coding / name_in_tree(coding, target.resource.path)
                _copy(source, self.file(level, coding, target))

    def file(self, level: str, coding: str, target: Target) -> Path:
        """Return the path of a version."""
        return self.root / level / coding / name_in_tree(coding, target.resource.path)

    def without(self, codings: tuple[str, ...], target: Target) -> Target:
        """Remove the files of codings; return the target with the remaining ones."""
        for level, coding in _versions(target.resource):
            if coding in codings:
                self.file(level, coding, target).unlink(missing_ok=True)
        remaining = {
            level: {coding: file for coding, file in files.items() if coding not in codings}
            for level, files in target.resource.files.items()
        }
        return replace(target, resource=replace(target.resource, files=remaining))


def missing_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests for a target with missing files: any remaining version that the client accepts may answer.

    A server may try fewer steps than possible: in a build, a file without Brotli has no Zstandard either. The query is
    that of the remaining files, so that no cache has the answer.
    """
    scenario = scenario.of_target(target)
    url = f"{target.url}?{len(list(_versions(target.resource)))}"
    if scenario.is_refused(target):
        return
    for accept in (None, BEST, "gzip", "br", "zstd"):
        versions = [*scenario.wanted(target, accept), *scenario.wanted(target, "identity")]
        if accept == BEST:
            versions += [version for coding in CODINGS for version in scenario.wanted(target, TOKENS[coding])]
        request = Request(url, headers_of(accept))
        yield Case("missing", "full", target.resource.path, request, tuple(versions), scenario.requested)
    if is_negotiable(target.resource.path):
        request = Request(url, headers_of(BEST, Accept=TYPES))
        wanted = scenario.wanted(target, BEST, types=TYPES)
        yield Case("missing", "full", target.resource.path, request, wanted, scenario.requested)


# ---- changed sources


@dataclass(frozen=True, slots=True)
class SourceCopies:
    """Copies of a few sources, whose times can be moved, in a docroot of their own: ``root``."""

    root: Path
    docroot: Path

    def fill(self, targets: list[Target], output: Path, trees: Path) -> None:
        """Copy the sources of targets, and their recorded times from ``output`` to the copies of trees in ``trees``."""
        for target in targets:
            path = target.resource.path
            for source, copy in (
                (self.docroot / path, self.root / path),
                (output / TIMES / path, trees / TIMES / path),
            ):
                if source.exists():
                    _copy(source, copy)

    def move(self, targets: list[Target], seconds: int) -> None:
        """Give sources the time of the docroot's files, moved by ``seconds``."""
        for target in targets:
            time = os.stat(self.docroot / target.resource.path).st_mtime_ns + seconds * 10**9
            os.utime(self.root / target.resource.path, ns=(time, time))

    def remove(self, targets: list[Target]) -> None:
        """Remove the sources."""
        for target in targets:
            (self.root / target.resource.path).unlink()


def stale_cases(scenario: Scenario, target: Target, seconds: int) -> Iterator[Case]:
    """Yield requests for a target whose source has moved by some seconds, which are their query."""
    scenario = scenario.of_target(target)
    for accept in (None, BEST, "gzip"):
        request = Request(f"{target.url}?{seconds}", headers_of(accept))
        if scenario.mode.rejects:
            yield Case("stale", "rejected", target.resource.path, request, requested=scenario.requested)
        else:
            wanted = scenario.wanted(target, accept)
            yield Case("stale", "full", target.resource.path, request, wanted, scenario.requested)


def removed_cases(targets: list[Target]) -> Iterator[Case]:
    """Yield requests for targets without a source."""
    for target in targets:
        yield Case("stale", "not-found", target.resource.path, Request(f"{target.url}?removed", headers_of(BEST)))
