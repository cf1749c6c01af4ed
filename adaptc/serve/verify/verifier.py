"""Sends the requests of one mode to one server, checks the answers and counts the faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from adaptc.compile.engine.reporting import Progress
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.media import HTML
from adaptc.core.model import IDENTITY, OWN_DIRECTORY
from adaptc.report.manifest import Manifest
from adaptc.serve.verify.answers import AnswerChecker, digest
from adaptc.serve.verify.cases import (
    ACCEPTS,
    class_cases,
    directory_cases,
    first_wave,
    format_cases,
    race_cases,
    second_wave,
)
from adaptc.serve.verify.dictionary_cases import condition_cases, held_cases
from adaptc.serve.verify.hostile_cases import hostile_cases
from adaptc.serve.verify.http_client import Client, Request, Response
from adaptc.serve.verify.modes import SWITCHING
from adaptc.serve.verify.negotiation import Version
from adaptc.serve.verify.scenario import Baseline, Case, Scenario, Target, index_pages, spread, url_of

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
            self.checker.ordinary[str(case.request)] = digest(self.client.ask(case.request).body)
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
                    versions.setdefault(path, Version(level, IDENTITY, len(content), digest(content)))
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
