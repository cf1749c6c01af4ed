"""A whole verification: of a server that is started for it, or of one that runs.

A ``Verifier`` sends the requests of one mode to one server, checks the answers and counts the faults.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.state.state import last_build
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.digest import digest_bytes
from adaptc.core.media import HTML
from adaptc.core.model import IDENTITY, OWN_DIRECTORY, name_in_tree
from adaptc.core.values import dataclass, field, replace
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.serve.accounts import account_of, refusals
from adaptc.serve.launch import settle, unprivileged_user
from adaptc.serve.policy import Policy, policy_of
from adaptc.serve.server import Server
from adaptc.serve.servers import launchable
from adaptc.serve.verify.answer_checks import AnswerChecker
from adaptc.serve.verify.cases import (
    ACCEPTS,
    class_cases,
    condition_cases,
    directory_cases,
    first_wave,
    format_cases,
    held_cases,
    hostile_cases,
    race_cases,
    second_wave,
)
from adaptc.serve.verify.http_client import Address, BrokenAnswer, Client, Request, Response
from adaptc.serve.verify.modes import SWITCHING, Mode, adapting_mode, current_mode, modes_of, switch, switching
from adaptc.serve.verify.negotiation import ORIGINAL, Version
from adaptc.serve.verify.scenario import Baseline, Case, Scenario, Target, index_pages, spread, targets, url_of
from adaptc.serve.verify.workspace import (
    MOVES,
    STEPS,
    SourceCopies,
    TreeCopies,
    Workspace,
    missing_cases,
    removed_cases,
    sample,
    stale_cases,
    workspace_for,
)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to request: pages and other files (None: all), requests while modes change, and switches per second."""

    pages: int | None = None
    assets: int | None = 50
    race: int = 0
    switches: float = 100.0


def verify_started(
    config: Config, server: Server, extent: Extent, progress: Progress, origin: Server | None = None
) -> Tally:
    """Start ``server`` with the configuration that would be emitted, and verify it in every mode.

    ``origin`` is the origin server of a reverse proxy, which is started, too. Raises ``UsageError`` when the
    configuration is wrong, or the server is missing or does not start.
    """
    manifest, tally = last_manifest(config.output), Tally()
    refuse_unreadable_trees(manifest)
    with workspace_for(config, server, origin) as workspace:
        policy = workspace.policy(workspace.linked(manifest.level_names))
        chosen = tuple(targets(manifest, policy, extent.pages, extent.assets))
        checker = _checker(policy, config, workspace.server)
        verification = _Verification(workspace, manifest, checker, chosen, tally, progress)
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
    """Verify the server at ``url`` in its current mode: the flag of the state directory tells whether it adapts.

    A server that limits its pages is asked for half as many a second.
    """
    address, prefix = address_of(url)
    manifest, tally = last_manifest(config.output), Tally()
    with last_build(config.output) as state:
        policy = replace(policy_of(state, config), prefix=prefix)
    chosen = tuple(targets(manifest, policy, extent.pages, extent.assets))
    with _connected(address, policy.serve.nginx_page_rate / 2) as client, _until_silence(tally):
        software = client.ask(Request(f"{prefix}/")).header("server").lower()
        server = next((server for server in launchable() if server.name in software), None)
        checker = _checker(policy, config, server)
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
                    verifier.run(
                        scenario, [case for target in chosen for case in stale_cases(scenario, target, seconds)]
                    )
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


def _checker(policy: Policy, config: Config, server: Server | None) -> AnswerChecker:
    def locate(path: str, version: Version) -> Path:
        if version.level == ORIGINAL:
            return Path(config.docroot or ".") / path
        return config.output / version.level / version.coding / name_in_tree(version.coding, path)

    launcher = server.launcher if server is not None else None
    return AnswerChecker(policy, locate, server is not None and server.is_cache, launcher)


@contextlib.contextmanager
def _connected(address: Address, rate: float = 0) -> Iterator[Client]:
    client = Client(address, rate=rate)
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


# ---- one mode of one server

BATCH = 8  # targets whose first answers are in memory at once, with their bodies
RACE_BATCH = 200
CLASS_TARGETS = 12
DIRECTORIES = 40
OWN_FILES = 40
STORED = 1_000  # diagnostics of one id that are stored; all are counted


@dataclass(slots=True)
class Tally:
    """The result of a verification: requests and faults by (mode, group), and the diagnostics."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    ids: Counter[str] = field(default_factory=Counter)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, mode: str, group: str, diagnostics: Iterable[Diagnostic], requests: int = 1) -> None:
        """Count requests and the faults of their answers."""
        self.requests[mode, group] += requests
        for diagnostic in diagnostics:
            self.faults[mode, group] += 1
            self.ids[diagnostic.id] += 1
            if self.ids[diagnostic.id] <= STORED:
                self.diagnostics.append(diagnostic)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in the order of their first requests."""
        return tuple(dict.fromkeys(mode for mode, _ in self.requests))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in the order of their first requests."""
        return tuple(dict.fromkeys(group for _, group in self.requests))

    def of_mode(self, mode: str) -> tuple[int, int]:
        """Return the requests and faults of a mode."""
        return (
            sum(count for (name, _), count in self.requests.items() if name == mode),
            sum(count for (name, _), count in self.faults.items() if name == mode),
        )

    @property
    def total(self) -> tuple[int, int]:
        """All requests and all faults."""
        return self.requests.total(), self.faults.total()


@dataclass(frozen=True)
class Verifier:
    """The verification of one server: its address, the targets to request, and the check of the answers."""

    client: Client
    checker: AnswerChecker
    manifest: Manifest
    targets: tuple[Target, ...]
    tally: Tally
    progress: Progress

    def record_baselines(self) -> None:
        """Ask a server without adaptation: what the site itself refuses, and which header fields it sends."""
        self.progress.begin("without", len(self.targets), 0)
        answers = self.client.ask_all([Request(target.url) for target in self.targets])
        for target, answer in zip(self.targets, answers, strict=True):
            self.checker.baselines[target.resource.path] = Baseline(answer.status, answer.headers)
            self.progress.advance(1, 0, 0)
        for case in self._hostile():
            answer = self.client.ask(case.request)
            self.checker.ordinary[str(case.request)] = answer.status, digest_bytes(answer.body)
        self.progress.end()

    def verify(self, scenario: Scenario) -> None:
        """Send all requests of a mode."""
        self.progress.begin(scenario.mode.name, len(self.targets), 0)
        remaining = iter(self.targets)
        while batch := list(islice(remaining, BATCH)):
            self._waves(scenario, batch)
            self.run(scenario, [case for target in batch for case in format_cases(scenario, target)])
            for target in batch:
                answers = self.run(scenario, list(held_cases(scenario, target)))
                self.run(scenario, list(condition_cases(scenario, target, answers)))
            self.progress.advance(len(batch), 0, 0)
        for target in index_pages(self.manifest, self.checker.policy, DIRECTORIES):
            self.run(scenario, list(directory_cases(scenario, target)))
        for target in spread(self.targets, CLASS_TARGETS):
            self.run(scenario, list(class_cases(scenario, target)))
        self.run(scenario, list(self._own_files()))
        if not scenario.mode.rejects:
            self.run(scenario, self._hostile())
        self.progress.end()

    def verify_race(self, scenario: Scenario, requests: int) -> None:
        """Send requests while another process changes the mode."""
        cases = list(race_cases(scenario, self.targets, requests))
        self.progress.begin(SWITCHING.name, requests, 0)
        for start in range(0, len(cases), RACE_BATCH):
            batch = cases[start : start + RACE_BATCH]
            self.run(scenario, batch)
            self.progress.advance(len(batch), 0, 0)
        self.progress.end()

    def run(self, scenario: Scenario, cases: list[Case]) -> list[Response]:
        """Send requests, check and count the answers, and return them."""
        answers = []
        for case, answer in zip(cases, self.client.ask_all([case.request for case in cases]), strict=True):
            self.tally.add(scenario.mode.name, case.group, self.checker.faults(case, answer))
            answers.append(answer)
        return answers

    def _waves(self, scenario: Scenario, batch: list[Target]) -> None:
        first = [case for target in batch for case in first_wave(scenario, target)]
        answers = iter(self.run(scenario, first))
        second: list[Case] = []
        for target in batch:
            by_accept = dict(zip(ACCEPTS, islice(answers, len(ACCEPTS)), strict=True))
            etags = self.checker.etags.get(target.resource.path, {})
            second += second_wave(scenario, target, by_accept, dict(etags))
        self.run(scenario, second)

    def _own_files(self) -> Iterator[Case]:
        """Yield requests for files that only trees have: reachable in every mode."""
        versions: dict[str, Version] = {}
        for level in self.manifest.level_names:
            folder = self.manifest.output / level / IDENTITY
            for file in sorted((folder / OWN_DIRECTORY).rglob("*")):
                if file.is_file():
                    path = file.relative_to(folder).as_posix()
                    content = file.read_bytes()
                    versions.setdefault(path, Version(level, IDENTITY, len(content), digest_bytes(content)))
        for path in spread(list(versions), OWN_FILES):
            url = url_of(self.checker.policy, path)
            yield Case("own files", "immutable", path, Request(url), (versions[path],))

    def _hostile(self) -> list[Case]:
        """Return hostile requests around a page that the server sends."""
        pages = (target for target in self.targets if target.resource.media_type == HTML and self._is_sent(target))
        page = next(pages, None)
        return list(hostile_cases(self.checker.policy.prefix, page)) if page is not None else []

    def _is_sent(self, target: Target) -> bool:
        baseline = self.checker.baselines.get(target.resource.path)
        return baseline is None or baseline.status == 200
