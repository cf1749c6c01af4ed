"""Sends the matrix of one mode to one server and judges the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from adaptc.compile.engine.reporting import Progress
from adaptc.core.media import HTML
from adaptc.core.model import IDENTITY, OWN_DIRECTORY
from adaptc.report.manifest import Manifest
from adaptc.serve.verify.formats import format_cases
from adaptc.serve.verify.hostile import hostile_cases
from adaptc.serve.verify.judge import Baseline, Case, Judge, digest
from adaptc.serve.verify.matrix import ACCEPTS, Scene, class_cases, directory_cases, first_wave, second_wave
from adaptc.serve.verify.negotiation import Version
from adaptc.serve.verify.tally import Tally
from adaptc.serve.verify.targets import Target, index_pages, spread, url_of
from adaptc.serve.verify.wire import Client, Request, Response

BATCH = 8  # targets whose first answers are held at once, with their bodies
CLASS_TARGETS = 12
DIRECTORIES = 40
OWN_FILES = 40


@dataclass(frozen=True)
class Prover:
    """One server under proof: where it is, what is asked for, and how the answers are judged."""

    client: Client
    judge: Judge
    manifest: Manifest
    targets: tuple[Target, ...]
    tally: Tally
    progress: Progress

    def record_baselines(self) -> None:
        """Ask a server without adaptation: what the site itself refuses, and which header it sends."""
        self.progress.begin("without", len(self.targets), 0)
        answers = self.client.ask_all([Request(target.url) for target in self.targets])
        for target, answer in zip(self.targets, answers, strict=True):
            self.judge.baselines[target.resource.path] = Baseline(answer.status, answer.headers)
            self.progress.advance(1, 0, 0)
        for case in self._hostile():
            self.judge.ordinary[str(case.request)] = digest(self.client.ask(case.request).body)
        self.progress.end()

    def prove(self, scene: Scene) -> None:
        """Send everything there is to ask in a mode."""
        self.progress.begin(scene.mode.name, len(self.targets), 0)
        remaining = iter(self.targets)
        while batch := list(islice(remaining, BATCH)):
            self._waves(scene, batch)
            self.run(scene, [case for target in batch for case in format_cases(scene, target)])
            self.progress.advance(len(batch), 0, 0)
        for target in index_pages(self.manifest, self.judge.policy, DIRECTORIES):
            self.run(scene, list(directory_cases(scene, target)))
        for target in spread(self.targets, CLASS_TARGETS):
            self.run(scene, list(class_cases(scene, target)))
        self.run(scene, list(self._own_files()))
        if not scene.mode.rejects:
            self.run(scene, self._hostile())
        self.progress.end()

    def run(self, scene: Scene, cases: list[Case]) -> list[Response]:
        """Send requests, judge and count the answers, and return them."""
        answers = []
        for case, answer in zip(cases, self.client.ask_all([case.request for case in cases]), strict=True):
            self.tally.add(scene.mode.name, case.group, self.judge.faults(case, answer))
            answers.append(answer)
        return answers

    def _waves(self, scene: Scene, batch: list[Target]) -> None:
        first = [case for target in batch for case in first_wave(scene, target)]
        answers = iter(self.run(scene, first))
        second: list[Case] = []
        for target in batch:
            by_accept = dict(zip(ACCEPTS, islice(answers, len(ACCEPTS)), strict=True))
            etags = self.judge.etags.get(target.resource.path, {})
            second += second_wave(scene, target, by_accept, dict(etags))
        self.run(scene, second)

    def _own_files(self) -> Iterator[Case]:
        """Yield requests for files that only trees have: reachable in every mode."""
        found: dict[str, Version] = {}
        for level in self.manifest.level_names:
            folder = self.manifest.output / level / IDENTITY
            for file in sorted((folder / OWN_DIRECTORY).rglob("*")):
                if file.is_file():
                    path = file.relative_to(folder).as_posix()
                    content = file.read_bytes()
                    found.setdefault(path, Version(level, IDENTITY, len(content), digest(content)))
        for path in spread(list(found), OWN_FILES):
            url = url_of(self.judge.policy, path)
            yield Case("own files", "immutable", path, Request(url), (found[path],))

    def _hostile(self) -> list[Case]:
        """Return hostile requests around a page that the server sends."""
        sent = (one for one in self.targets if self._is_sent(one) and one.resource.media_type == HTML)
        target = next(sent, None)
        return list(hostile_cases(self.judge.policy.prefix, target)) if target is not None else []

    def _is_sent(self, target: Target) -> bool:
        before = self.judge.baselines.get(target.resource.path)
        return before is None or before.status == 200
