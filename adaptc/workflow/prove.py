"""Proves the last build: that the pages of every level keep what the level promises."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adaptc.browser.answers import docroot_server, level_server
from adaptc.browser.chromium import find_chromium, names_tried
from adaptc.browser.judge import promised_by
from adaptc.browser.robot import Robot
from adaptc.browser.tab import BrowserError
from adaptc.compile.analyse.demotions import Demotions, demotions_of
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.loading import last_traffic
from adaptc.compile.engine.proof.paints import PagePaint, Painter
from adaptc.compile.engine.proof.prover import Levels, Prover, address_to_prove
from adaptc.compile.engine.proof.stage import sample_pages
from adaptc.compile.engine.proof.verdict import Verdict, VerdictStore, diagnostic_of, views_of
from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.state.state import last_build
from adaptc.config.config import Config
from adaptc.config.rulebook import Level
from adaptc.config.toml import nearest
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.core.fs import write_atomic
from adaptc.core.media import HTML
from adaptc.core.urls import Reach
from adaptc.report.comparisons import ProofViews
from adaptc.report.html_report import ProofFigures, site_name, stream_proof
from adaptc.site.docroot import site_of
from adaptc.site.host_files import PageHeaders, host_rules
from adaptc.site.site import Site
from adaptc.workflow.configuration import known_levels


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdicts on ``pages`` at ``levels``, in the order of both; ``store`` has their pictures.

    ``dropped`` are the passes that the build dropped, and why. ``paints`` say how soon pages are shown on ``line``, a
    name of ``adaptc.browser.paint.LINES``, if that was measured.
    """

    pages: tuple[str, ...]
    levels: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    store: Store
    dropped: Demotions = field(default_factory=dict)
    line: str | None = None
    paints: tuple[PagePaint, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether every level keeps what it promises, as far as could be seen, and something could."""
        judged = [verdict for verdict in self.verdicts if verdict.reason is None]
        return bool(judged) and not any(verdict.differences for verdict in judged)

    def diagnostics(self) -> list[Diagnostic]:
        """Return a diagnostic for each verdict that is not good."""
        return [diagnostic_of(verdict) for verdict in self.verdicts if not verdict.is_kept]


def prove(
    config: Config,
    names: Sequence[str],
    levels: Sequence[str],
    count: int,
    progress: Progress,
    line: str | None = None,
    robot: Robot | None = None,
) -> Proof:
    """Prove the pages ``names``, or ``count`` of the most viewed or else different ones, at every level that was built.

    ``names`` are paths in the docroot or URLs of the site; ``levels`` are those to prove, by default all. With
    ``line``, a name of ``adaptc.browser.paint.LINES``, it is measured how soon pages are shown on it, too. With a
    ``robot`` pages are acted on, at levels that keep more than the content. Raises ``UsageError`` where there is no
    build or no browser, and for names that were not built.
    """
    if config.docroot is None:
        raise UsageError("no docroot: name it as docroot in adaptc.toml")
    with last_build(config.output) as state:
        resources = {path: resource for path, (resource, _) in state.resources().items()}
        traffic, built = last_traffic(state), state.levels()
        dropped = demotions_of(state.decisions())
        site = site_of(config, resources, state.linked_paths())
    sizes = {path: source.size for path, source in site.sources.items() if source.media_type == HTML}
    pages = [_page(site, sizes, name) for name in names]
    pages = pages or sample_pages(sizes, traffic.hits if traffic else {}, count)
    chosen = _levels(config, built, levels)
    store = Store(config.build.cache or config.output / ".adaptc/cache")
    headers = PageHeaders(config.site.csp, host_rules(config, config.docroot, resources))
    program, servers = _browser(config.browser.program), _servers(config, config.docroot, site, chosen, headers)
    urls = {page: address_to_prove(page, site, servers.original, headers.hosts) for page in dict.fromkeys(pages)}
    try:
        verdicts = Prover(program, servers, VerdictStore(store), robot).prove(urls, progress)
        paints = Painter(program, servers, line, store).measure(urls, progress) if line else []
    except BrowserError as error:
        raise UsageError(f"{program} failed: {error}") from None
    names = tuple(level.name for level in chosen)
    return Proof(tuple(urls), names, tuple(verdicts), store, dropped, line, tuple(paints))


PROOF = "proof.html"


def write_report(config: Config, proof: Proof, file: Path | None) -> Path:
    """Write the report with pictures, by default into the output; return its path.

    Raises ``OSError`` when it cannot be written.
    """
    views = ProofViews.of(tuple(views_of(proof.verdicts)), proof.dropped, proof.store.content)
    docroot = Path(os.path.abspath(config.docroot or ""))
    name = site_name(docroot, config.site.index) or config.site.base_url or docroot.name
    figures = ProofFigures(name, proof.pages, proof.levels, views, proof.line, proof.paints)
    path = file or config.output / PROOF
    chunks = (chunk.encode("utf-8", "replace") for chunk in stream_proof(figures))
    write_atomic(os.fspath(path), chunks, keep_equal=True)
    return path


def _page(site: Site, pages: Mapping[str, int], name: str) -> str:
    """Return the path of a page. Raises ``UsageError`` for what is none."""
    target = site.address.resolve(site.address.base, name)
    path = name if name in pages else site.find(target.path) if target.reach is Reach.LOCAL else None
    if path not in pages or path is None:
        raise UsageError(f"{name} is no page of the last build{nearest(name, pages)}")
    return path


def _levels(config: Config, built: Iterable[str], names: Sequence[str]) -> list[Level]:
    """Return the levels to prove. Raises ``UsageError`` for those that were not built."""
    built = set(built)
    missing = [name for name in names if name not in built]
    if missing:
        raise UsageError(f"level {missing[0]} was not built{nearest(missing[0], built)}")
    return [level for name, level in known_levels(config).items() if name in (names or built)]


def _browser(named: str) -> str:
    program = find_chromium(named)
    if program is None:
        raise UsageError(f"no Chromium was found ({names_tried(named)}): install one, or set browser.program")
    return program


def _servers(config: Config, docroot: Path, site: Site, levels: Iterable[Level], headers: PageHeaders) -> Levels:
    root, output = Path(os.path.realpath(docroot)), Path(os.path.realpath(config.output))
    return Levels(
        docroot_server(root, site, headers),
        {level.name: level_server(output, root, level.name, site, headers) for level in levels},
        {level.name: promised_by(level) for level in levels},
    )
