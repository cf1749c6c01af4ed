"""One proof from the beginning to the end: of a server that is started for it, or of one that runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.state import last_build
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.model import name_in_tree
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.serve.policy import Policy, policy_of
from adaptc.serve.verify.judge import Judge
from adaptc.serve.verify.matrix import Scene
from adaptc.serve.verify.missing import STEPS, Copy, missing_cases, sample
from adaptc.serve.verify.modes import Mode, modes_of, settle, switch
from adaptc.serve.verify.negotiation import ORIGINAL, Version
from adaptc.serve.verify.prover import Prover
from adaptc.serve.verify.races import MODE as SWITCHING
from adaptc.serve.verify.races import Race, race_cases, switching
from adaptc.serve.verify.stage import Stage, staged
from adaptc.serve.verify.stale import MOVES, Sources, gone_cases, stale_cases
from adaptc.serve.verify.tally import Tally
from adaptc.serve.verify.targets import Target, targets
from adaptc.serve.verify.wire import BrokenAnswer, Client, Request, Server

MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is asked for: pages and assets (None: all), and the race (None: none)."""

    pages: int | None = None
    assets: int | None = 50
    race: Race | None = None


def verify_started(config: Config, server: str, extent: Extent, progress: Progress) -> Tally:
    """Start ``server`` ("apache" or "nginx") with what would be emitted and prove it in every mode.

    Raises ``UsageError`` when the configuration is wrong, or the server is missing or does not start.
    """
    manifest, tally = last_manifest(config.output), Tally()
    with staged(config, server) as stage:
        policy = stage.policy(stage.linked(manifest.level_names))
        judge = _judge(policy, config)
        asked = tuple(targets(manifest, policy, extent.pages, extent.assets))
        with stage.without_adaptation(policy) as plain, _prover(plain, judge, manifest, asked, tally, progress) as one:
            one.record_baselines()
        with (
            stage.with_adaptation("site", policy) as site,
            _prover(site, judge, manifest, asked, tally, progress) as one,
            _answering(tally),
        ):
            for mode in modes_of(policy):
                switch(policy, mode)
                settle(policy, server)
                one.prove(Scene(policy, mode, server, judge.baselines))
            if extent.race is not None:
                _race(one, Scene(policy, SWITCHING, server, judge.baselines), extent.race)
        with _answering(tally):
            _missing(stage, judge, manifest, asked, tally, progress)
        if policy.is_strict:
            with _answering(tally):
                _stale(stage, judge, manifest, asked, tally, progress)
    return tally


def verify_running(config: Config, url: str, extent: Extent, progress: Progress) -> Tally:
    """Prove the server at ``url`` as it is now: the flag of the state directory says whether it adapts."""
    server, prefix = _address(url)
    manifest, tally = last_manifest(config.output), Tally()
    with last_build(config.output) as state:
        policy = replace(policy_of(state, config), prefix=prefix)
    judge = _judge(policy, config)
    asked = tuple(targets(manifest, policy, extent.pages, extent.assets))
    with _prover(server, judge, manifest, asked, tally, progress) as one, _answering(tally):
        kind = "apache" if "apache" in one.client.ask(Request(f"{prefix}/")).header("server").lower() else "nginx"
        one.prove(Scene(policy, current_mode(policy), kind, judge.baselines))
    return tally


def current_mode(policy: Policy) -> Mode:
    """Return the mode that the state directory of a running server says; with buckets, any level may be ours."""
    is_on = not policy.serve.flag or Path(policy.flag).exists()
    if is_on and policy.serve.buckets:
        return Mode("as it is", is_on=True, is_known=False)
    return Mode("as it is", is_on)


def _judge(policy: Policy, config: Config) -> Judge:
    def locate(path: str, version: Version) -> Path:
        if version.level == ORIGINAL:
            return Path(config.docroot or ".") / path
        return config.output / version.level / version.coding / name_in_tree(version.coding, path)

    return Judge(policy, locate)


@contextlib.contextmanager
def _prover(
    server: Server, judge: Judge, manifest: Manifest, asked: tuple[Target, ...], tally: Tally, progress: Progress
) -> Iterator[Prover]:
    client = Client(server)
    try:
        yield Prover(client, judge, manifest, asked, tally, progress)
    finally:
        client.close()


@contextlib.contextmanager
def _answering(tally: Tally) -> Iterator[None]:
    """Turn the end of a server that answers no more into a diagnostic."""
    try:
        yield
    except (BrokenAnswer, TimeoutError, ConnectionError) as error:
        tally.add("", "", [_silent(error)])


def _silent(error: Exception) -> Diagnostic:
    return diagnose("server-unreachable", problem=str(error) or "the server does not answer")


def _race(one: Prover, scene: Scene, race: Race) -> None:
    one.progress.begin(SWITCHING.name, race.requests, 0)
    with switching(scene.policy, race.switches):
        settle(scene.policy, scene.server)  # what the last mode rejected is forgotten
        cases = list(race_cases(scene, one.targets, race.requests))
        for start in range(0, len(cases), 200):
            one.run(scene, cases[start : start + 200])
            one.progress.advance(len(cases[start : start + 200]), 0, 0)
    one.progress.end()


def _missing(
    stage: Stage, judge: Judge, manifest: Manifest, asked: Sequence[Target], tally: Tally, progress: Progress
) -> None:
    """Take files away from copies of a few targets, while the server runs."""
    copy = Copy(stage.root / "copies", manifest.output)
    chosen = sample(asked, manifest.output)
    copy.fill(chosen)
    policy = stage.policy(copy.root)
    mode = _adapting(policy)
    scene = Scene(policy, replace(mode, name=MISSING), stage.server, judge.baselines)
    judge = replace(judge, policy=policy, etags={})
    with stage.with_adaptation("missing", policy) as server:
        switch(policy, mode)
        with _prover(server, judge, manifest, tuple(chosen), tally, progress) as one:
            for codings in STEPS:
                left = [copy.without(codings, target) for target in chosen]
                settle(policy, stage.server)
                one.run(scene, [case for target in left for case in missing_cases(scene, target)])


def _adapting(policy: Policy) -> Mode:
    """Return the first mode in which levels are served."""
    return next(mode for mode in modes_of(policy) if mode.is_on and not mode.rejects)


def _stale(
    stage: Stage, judge: Judge, manifest: Manifest, asked: Sequence[Target], tally: Tally, progress: Progress
) -> None:
    """Move the times of copies of a few sources in every mode, then take them away."""
    sources = Sources(stage.root / "sources", Path(judge.policy.docroot))
    copy = Copy(stage.root / "stale", manifest.output)
    chosen = [one for one in sample(asked, manifest.output) if judge.baselines[one.resource.path].status == 200]
    copy.fill(chosen)
    sources.fill(chosen, manifest.output, copy.root)
    policy = stage.policy(copy.root, sources.root)
    judge = replace(judge, policy=policy, etags={})
    with (
        stage.with_adaptation("stale", policy) as server,
        _prover(server, judge, manifest, tuple(chosen), tally, progress) as one,
    ):
        for mode in modes_of(policy):
            scene = Scene(policy, mode, stage.server, judge.baselines)
            switch(policy, mode)
            settle(policy, stage.server)
            for seconds in MOVES:
                sources.move(chosen, seconds)
                one.run(scene, [case for target in chosen for case in stale_cases(scene, target)])
        scene = Scene(policy, _adapting(policy), stage.server, judge.baselines)
        switch(policy, scene.mode)
        sources.remove(chosen)
        settle(policy, stage.server)
        one.run(scene, list(gone_cases(chosen)))


def _address(url: str) -> tuple[Server, str]:
    """Return where a URL leads, and its path without the final slash. Raises ``UsageError``."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{url} is not an http or https URL without query and fragment")
    is_encrypted = parts.scheme == "https"
    port = parts.port or (443 if is_encrypted else 80)
    return Server(parts.hostname, port, parts.netloc.rpartition("@")[2], is_encrypted), parts.path.rstrip("/")
