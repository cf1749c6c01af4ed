"""A whole verification: of a server that is started for it, or of one that runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.state.state import last_build
from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError, diagnose
from adaptc.core.model import name_in_tree
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.serve.doctor.accounts import account_of, refusals
from adaptc.serve.launch import settle, unprivileged_user
from adaptc.serve.policy import Policy, policy_of
from adaptc.serve.server import Server
from adaptc.serve.servers import launchable
from adaptc.serve.verify.altered_copies import (
    MOVES,
    STEPS,
    SourceCopies,
    TreeCopies,
    missing_cases,
    removed_cases,
    sample,
    stale_cases,
)
from adaptc.serve.verify.answers import AnswerChecker
from adaptc.serve.verify.http_client import Address, BrokenAnswer, Client, Request
from adaptc.serve.verify.modes import SWITCHING, Mode, adapting_mode, current_mode, modes_of, switch, switching
from adaptc.serve.verify.negotiation import ORIGINAL, Version
from adaptc.serve.verify.scenario import Scenario, Target, targets
from adaptc.serve.verify.verifier import Tally, Verifier
from adaptc.serve.verify.workspace import Workspace, workspace_for


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to request: pages and other files (None: all), requests while modes change, and switches per second."""

    pages: int | None = None
    assets: int | None = 50
    race: int = 0
    switches: float = 100.0


def verify_started(config: Config, server: Server, extent: Extent, progress: Progress) -> Tally:
    """Start ``server`` with the configuration that would be emitted, and verify it in every mode.

    Raises ``UsageError`` when the configuration is wrong, or the server is missing or does not start.
    """
    manifest, tally = last_manifest(config.output), Tally()
    refuse_unreadable_trees(manifest)
    with workspace_for(config, server) as workspace:
        policy = workspace.policy(workspace.linked(manifest.level_names))
        chosen = tuple(targets(manifest, policy, extent.pages, extent.assets))
        verification = _Verification(workspace, manifest, _checker(policy, config), chosen, tally, progress)
        verification.record_baselines()
        with _until_silence(tally):
            verification.verify_modes(extent)
        with _until_silence(tally):
            verification.verify_missing_files()
        if policy.is_strict:
            with _until_silence(tally):
                verification.verify_stale_sources()
    return tally


def refuse_unreadable_trees(manifest: Manifest) -> None:
    """Refuse trees that the server's user cannot read: every answer would be wrong for this one reason."""
    if os.geteuid() != 0:  # the server's workers run as this user
        return
    account = account_of(unprivileged_user())
    for level in manifest.level_names:
        refusal = next(refusals(manifest.output / level, account), None)
        if refusal is not None:
            raise UsageError(
                f"{account.name}, the user of the server, cannot read {refusal.path} (mode {refusal.mode:04o}): "
                f"chmod a+{refusal.lacks} it, or build into a directory that this user can search"
            )


def verify_running(config: Config, url: str, extent: Extent, progress: Progress) -> Tally:
    """Verify the server at ``url`` in its current mode: the flag of the state directory tells whether it adapts."""
    address, prefix = address_of(url)
    manifest, tally = last_manifest(config.output), Tally()
    with last_build(config.output) as state:
        policy = replace(policy_of(state, config), prefix=prefix)
    checker = _checker(policy, config)
    chosen = tuple(targets(manifest, policy, extent.pages, extent.assets))
    with _connected(address) as client, _until_silence(tally):
        software = client.ask(Request(f"{prefix}/")).header("server").lower()
        server = next((server for server in launchable() if server.name in software), None)
        verifier = Verifier(client, checker, manifest, chosen, tally, progress)
        verifier.verify(Scenario(policy, current_mode(policy), server, checker.baselines))
    return tally


@dataclass(frozen=True)
class _Verification:
    """The verification of a server that is started in a workspace."""

    workspace: Workspace
    manifest: Manifest
    checker: AnswerChecker
    targets: tuple[Target, ...]
    tally: Tally
    progress: Progress

    @property
    def policy(self) -> Policy:
        """The policy for the real trees."""
        return self.checker.policy

    def record_baselines(self) -> None:
        """Record the answers of the server without adaptation."""
        with self.workspace.without_adaptation(self.policy) as address, _connected(address) as client:
            self._verifier(client, self.checker, self.targets).record_baselines()

    def verify_modes(self, extent: Extent) -> None:
        """Verify every mode, and the change of modes."""
        with self.workspace.with_adaptation("site", self.policy) as address, _connected(address) as client:
            verifier = self._verifier(client, self.checker, self.targets)
            for mode in modes_of(self.policy):
                self._switch(self.policy, mode)
                verifier.verify(self._scenario(self.policy, mode))
            if extent.race:
                with switching(self.policy, extent.switches):
                    settle(self.workspace.server, self.policy)  # rejections of the last mode are forgotten
                    verifier.verify_race(self._scenario(self.policy, SWITCHING), extent.race)

    def verify_missing_files(self) -> None:
        """Remove files from copies of a few targets, while the server runs."""
        copies = TreeCopies(self.workspace.root / "copies", self.manifest.output)
        chosen = sample(self.targets, self.manifest.output)
        copies.fill(chosen)
        policy = self.workspace.policy(copies.root)
        mode = adapting_mode(policy)
        scenario = self._scenario(policy, replace(mode, name="missing"))
        checker = replace(self.checker, policy=policy, etags={})
        with self.workspace.with_adaptation("missing", policy) as address, _connected(address) as client:
            verifier = self._verifier(client, checker, tuple(chosen))
            switch(policy, mode)
            for codings in STEPS:
                remaining = [copies.without(codings, target) for target in chosen]
                settle(self.workspace.server, policy)
                verifier.run(scenario, [case for target in remaining for case in missing_cases(scenario, target)])

    def verify_stale_sources(self) -> None:
        """Move the times of copies of a few sources in every mode, then remove them."""
        sources = SourceCopies(self.workspace.root / "sources", Path(self.policy.docroot))
        copies = TreeCopies(self.workspace.root / "stale", self.manifest.output)
        chosen = [target for target in sample(self.targets, self.manifest.output) if self._is_sent(target)]
        copies.fill(chosen)
        sources.fill(chosen, self.manifest.output, copies.root)
        policy = self.workspace.policy(copies.root, sources.root)
        checker = replace(self.checker, policy=policy, etags={})
        with self.workspace.with_adaptation("stale", policy) as address, _connected(address) as client:
            verifier = self._verifier(client, checker, tuple(chosen))
            for mode in modes_of(policy):
                scenario = self._scenario(policy, mode)
                self._switch(policy, mode)
                for seconds in MOVES:
                    sources.move(chosen, seconds)
                    verifier.run(scenario, [case for target in chosen for case in stale_cases(scenario, target)])
            sources.remove(chosen)
            self._switch(policy, adapting_mode(policy))
            verifier.run(self._scenario(policy, adapting_mode(policy)), list(removed_cases(chosen)))

    def _verifier(self, client: Client, checker: AnswerChecker, chosen: tuple[Target, ...]) -> Verifier:
        return Verifier(client, checker, self.manifest, chosen, self.tally, self.progress)

    def _scenario(self, policy: Policy, mode: Mode) -> Scenario:
        return Scenario(policy, mode, self.workspace.server, self.checker.baselines)

    def _switch(self, policy: Policy, mode: Mode) -> None:
        switch(policy, mode)
        settle(self.workspace.server, policy)

    def _is_sent(self, target: Target) -> bool:
        return self.checker.baselines[target.resource.path].status == 200


def _checker(policy: Policy, config: Config) -> AnswerChecker:
    def locate(path: str, version: Version) -> Path:
        if version.level == ORIGINAL:
            return Path(config.docroot or ".") / path
        return config.output / version.level / version.coding / name_in_tree(version.coding, path)

    return AnswerChecker(policy, locate)


@contextlib.contextmanager
def _connected(address: Address) -> Iterator[Client]:
    client = Client(address)
    try:
        yield client
    finally:
        client.close()


@contextlib.contextmanager
def _until_silence(tally: Tally) -> Iterator[None]:
    """Turn the end of a server that stops answering into a diagnostic."""
    try:
        yield
    except (BrokenAnswer, TimeoutError, ConnectionError) as error:
        problem = str(error) or "the server does not answer"
        tally.add("", "", [diagnose("server-unreachable", problem=problem)])


def address_of(url: str) -> tuple[Address, str]:
    """Return the server of a URL, and its path without the final slash. Raises ``UsageError``."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{url} is not an http or https URL without query and fragment")
    is_encrypted = parts.scheme == "https"
    port = parts.port or (443 if is_encrypted else 80)
    return Address(parts.hostname, port, parts.netloc.rpartition("@")[2], is_encrypted), parts.path.rstrip("/")
