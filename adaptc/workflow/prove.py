"""Proves the last build: that the pages of every level keep what the level promises."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adaptc.browser import find_chromium, names_tried
from adaptc.browser.answers import docroot_server, level_server
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
from adaptc.config.toml import nearest, nearest_or_all
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.core.fs import write_atomic
from adaptc.core.media import HTML
from adaptc.core.urls import Reach
from adaptc.core.values import dataclass, field
from adaptc.report.comparisons import ProofViews
from adaptc.report.html_report import ProofFigures, site_name, stream_proof
from adaptc.site.docroot import site_of
from adaptc.site.header_rules import PageHeaders
from adaptc.site.host_files import host_rules
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
    first: Sequence[str] = (),
) -> Proof:
    """Prove the pages ``names``, or ``count`` pages, at every level that was built.

    Those are the paths ``first``, then the most viewed or else different ones.

    ``names`` are paths in the docroot or URLs of the site; ``levels`` are those to prove, by default all. With
    ``line``, a name of ``adaptc.browser.paint.LINES``, it is measured how soon pages are shown on it, too. With a
    ``robot`` pages are acted on, at levels that keep more than the content. Raises ``UsageError`` where there is no
    build or no browser, and for names that were not built.
    """
    bench = _Bench.of(config, levels)
    urls = bench.addresses(names, count, first)
    try:
        store = VerdictStore(bench.store, finds_broken=False)
        verdicts = Prover(bench.program, bench.servers, store, robot).prove(urls, progress)
        paints = bench.painter(line).measure(urls, progress) if line else []
    except BrowserError as error:
        raise UsageError(f"{bench.program} failed: {error}") from None
    built = tuple(bench.servers.servers)
    return Proof(tuple(urls), built, tuple(verdicts), bench.store, bench.dropped, line, tuple(paints))


def measure(config: Config, level: str, line: str, progress: Progress) -> tuple[PagePaint, ...]:
    """Return how soon the home page, or else the most usual one, is shown on ``line``: the original, and at ``level``.

    It is loaded once each. Raises ``UsageError`` as ``prove`` does.
    """
    bench = _Bench.of(config, [level])
    try:
        return tuple(bench.painter(line, quick=True).measure(bench.addresses(bench.home(), 1), progress))
    except BrowserError as error:
        raise UsageError(f"{bench.program} failed: {error}") from None


@dataclass(frozen=True, slots=True)
class _Bench:
    """The last build, a browser to look at it, and servers of the original and its levels.

    ``sizes`` are the bytes of each page, ``hits`` the views of those viewed.
    """

    site: Site
    sizes: Mapping[str, int]
    hits: Mapping[str, int]
    dropped: Demotions
    store: Store
    program: str
    headers: PageHeaders
    servers: Levels

    @classmethod
    def of(cls, config: Config, levels: Sequence[str]) -> _Bench:
        """Read the last build; ``levels`` are those to look at, by default all. Raises ``UsageError``."""
        if config.docroot is None:
            raise UsageError("no docroot: name it as docroot in adaptc.toml")
        with last_build(config.output) as state:
            resources = {path: resource for path, (resource, _) in state.resources().items()}
            traffic, built = last_traffic(state), state.levels()
            dropped = demotions_of(state.decisions())
            site = site_of(config, resources, state.linked_paths())
        chosen = _levels(config, built, levels)
        headers = PageHeaders(config.site.csp, host_rules(config, config.docroot, resources))
        return cls(
            site,
            {path: source.size for path, source in site.sources.items() if source.media_type == HTML},
            traffic.hits if traffic else {},
            dropped,
            Store(config.build.cache or config.output / ".adaptc/cache"),
            _browser(config.browser.program),
            headers,
            _servers(config, config.docroot, site, chosen, headers),
        )

    def home(self) -> list[str]:
        """Return the home page, if there is one."""
        path = self.site.find("")
        return [path] if path in self.sizes and path is not None else []

    def addresses(self, names: Sequence[str], count: int, first: Sequence[str] = ()) -> dict[str, str]:
        """Return the addresses of the pages ``names``, or else of ``count`` pages. Raises ``UsageError``."""
        named = [_page(self.site, self.sizes, name) for name in names]
        sampled = (page for page in (*first, *sample_pages(self.sizes, self.hits, count)) if page in self.sizes)
        pages = named or list(dict.fromkeys(sampled))[:count]
        original, hosts = self.servers.original, self.headers.hosts
        return {page: address_to_prove(page, self.site, original, hosts) for page in dict.fromkeys(pages)}

    def painter(self, line: str, *, quick: bool = False) -> Painter:
        """Return what measures pages on a line."""
        return Painter(self.program, self.servers, line, self.store, quick=quick)


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
        raise UsageError(f"level {missing[0]} was not built{nearest_or_all(missing[0], sorted(built))}")
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
