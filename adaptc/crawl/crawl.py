"""The Python interface of the crawler: ``crawl`` with any options, ``crawl_site`` and ``unpack_warc`` for docroots."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from adaptc.core.diagnostics import Busy, Diagnostic, UsageError
from adaptc.core.fs import lock_file
from adaptc.core.values import dataclass, field
from adaptc.crawl.engine import Engine
from adaptc.crawl.frontier import Frontier, State
from adaptc.crawl.http import Fetcher
from adaptc.crawl.mirror import Mirror, write_table
from adaptc.crawl.names import Claims, NameOptions
from adaptc.crawl.options import CrawlOptions, PurgeBound, RecordOptions, UpdateOptions
from adaptc.crawl.purge import TOO_MANY, give_names_back, gone_files, merge_twins
from adaptc.crawl.report import Journal, broken_links, repeating_paths, robots_failures, unread_files
from adaptc.crawl.scope import Scope, ScopeOptions
from adaptc.crawl.settle import Archive, Settler
from adaptc.crawl.warc import WarcFetcher, WarcFile
from adaptc.crawl.weburl import parts_of, start_url

_PROGRESS_INTERVAL = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What a crawl did.

    ``files``, ``received`` (bytes of bodies) and ``kept`` (files that stayed: not modified, or ``--no-clobber``) count
    for this process only; the other counts are of the whole run, including interrupted processes. ``refusals`` counts
    the links that were not followed by rule. ``failures`` are the classes of errors: network, tls, auth, protocol,
    server, file, and purge where too many files were gone. ``stopped`` says which limit ended the crawl early.
    """

    output: Path
    files: int
    received: int
    kept: int
    seconds: float
    stored: int
    failed: int
    refusals: Mapping[str, int]
    resumed: bool
    failures: frozenset[str]
    stopped: str | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def refused(self) -> int:
        """How many links were not followed."""
        return sum(self.refusals.values())


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """The progress of a crawl: files and bytes of this process, waiting URLs, and seconds since it began.

    ``delays`` are the seconds between requests that the robots.txt of hosts asks for.
    """

    files: int
    received: int
    waiting: int
    seconds: float
    delays: Mapping[str, float] = field(default_factory=dict)


def crawl(
    options: CrawlOptions,
    *,
    fetcher: Fetcher | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    watch: Callable[[CrawlProgress], None] | None = None,
) -> CrawlResult:
    """Mirror the site of ``options.urls`` into ``options.output``.

    Raises ``UsageError``, ``Busy``, ``OSError`` when the output cannot be written, and ``KeyboardInterrupt`` when
    ``is_stopped`` says so; the next crawl resumes one that ended early. ``watch`` is called at
    intervals with the progress.
    """
    starts = tuple(_start(url) for url in options.urls)
    _check_saving(options.network.save_cookies)
    began = time.monotonic()
    mirror = Mirror(options.output)
    with ExitStack() as stack:
        busy = Busy(f"another crawl is writing to {options.output}")
        stack.enter_context(lock_file(mirror.state / "lock", busy))
        frontier = Frontier(mirror.state / "crawl.sqlite")
        stack.callback(frontier.close)
        resumed = _begin(frontier, starts)
        journal = Journal(mirror.state / "crawl.jsonl", anew=not resumed)
        stack.callback(journal.close)
        claims = Claims(frontier, folds_case=options.names.folds_case or mirror.folds_case())
        archive = _archive(options.records, stack)
        settler = Settler(options, Scope(options.scope, starts), frontier, mirror, claims, journal, archive)
        network = fetcher or _curl(options, starts)
        stack.callback(network.close)
        engine = Engine(options, frontier, network, settler, claims)
        engine.is_stopped, engine.clock = is_stopped, clock
        if watch is not None:
            engine.on_turn = _watcher(watch, settler, frontier, engine.origins.delays)
        engine.run()
        diagnostics = _completed(options, settler)
        frontier.end_run()
        return _result(settler, diagnostics, time.monotonic() - began, resumed)


def _result(settler: Settler, diagnostics: tuple[Diagnostic, ...], seconds: float, resumed: bool) -> CrawlResult:
    frontier, budget = settler.frontier, settler.budget
    return CrawlResult(
        settler.options.output, budget.files, budget.received, settler.kept, seconds,
        frontier.count(State.STORED, State.CHECKED), frontier.count(State.FAILED), frontier.refusals(), resumed,
        _failures(frontier, diagnostics), budget.spent.reason if budget.spent else None, diagnostics,
    )  # fmt: skip


def _failures(frontier: Frontier, diagnostics: tuple[Diagnostic, ...]) -> frozenset[str]:
    """Return the classes of what went wrong."""
    closed = {failure.kind for _, failure in robots_failures(frontier)}
    unpurged = {"purge"} if any(diagnostic.id == TOO_MANY for diagnostic in diagnostics) else set()
    return frontier.failure_rules() | closed | unpurged


def _completed(options: CrawlOptions, settler: Settler) -> tuple[Diagnostic, ...]:
    """Do what needs the complete mirror, and return the diagnostics."""
    frontier, mirror, claims = settler.frontier, settler.mirror, settler.claims
    if settler.budget.spent is not None:
        frontier.give_up(*settler.budget.spent)
    merge_twins(frontier, mirror, claims, options.names.default_page)
    if not (options.spider or options.update.delete_after):
        give_names_back(frontier, mirror, claims, settler.journal, options.names)
    converted = _converted(options, frontier, mirror)
    if options.spider or options.update.delete_after:  # it leaves the files of a former crawl alone
        return _crawl_diagnostics(frontier)
    # a crawl that ended early did not look for everything
    gone = tuple(gone_files(frontier, mirror, claims, options.update)) if settler.budget.spent is None else ()
    write_table(frontier, mirror, options.names)
    return (*converted, *_crawl_diagnostics(frontier), *gone)


def _crawl_diagnostics(frontier: Frontier) -> tuple[Diagnostic, ...]:
    """Return what there is to tell of the responses."""
    return (*unread_files(frontier), *repeating_paths(frontier), *broken_links(frontier))


def _converted(options: CrawlOptions, frontier: Frontier, mirror: Mirror) -> tuple[Diagnostic, ...]:
    if not (options.convert_links or options.as_served):
        return ()
    from adaptc.crawl.conversion import LinkConversion

    return tuple(LinkConversion(options, frontier, mirror).run())


def _watcher(
    watch: Callable[[CrawlProgress], None], settler: Settler, frontier: Frontier, delays: Mapping[str, float]
) -> Callable[[], None]:
    """Return a function that reports the progress, not too often: counting the waiting URLs takes time."""
    began = reported = time.monotonic()

    def report() -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= _PROGRESS_INTERVAL:
            reported = now
            files, received = settler.budget.files, settler.budget.received
            watch(CrawlProgress(files, received, frontier.waiting(), now - began, delays))

    return report


def _check_saving(cookies: Path | None) -> None:
    """Refuse a file of ``--save-cookies`` that could not be written when the crawl is over."""
    if cookies is not None and (cookies.is_dir() or not os.access(cookies.absolute().parent, os.W_OK)):
        raise UsageError(f"--save-cookies {cookies} cannot be written")


def _start(typed: str) -> str:
    url = start_url(typed)
    if url is None:
        raise UsageError(f"{typed!r} is not a URL of the web (http or https)")
    return url


def _begin(frontier: Frontier, starts: tuple[str, ...]) -> bool:
    """Begin a run, or resume an interrupted one with the same start URLs; return whether one is resumed."""
    arguments = json.dumps(starts)
    if frontier.is_unfinished and frontier.meta("starts") == arguments:
        return True
    frontier.begin_run()
    with frontier:
        frontier.set_meta("starts", arguments)
        for position, url in enumerate(starts):
            frontier.add_start(url, position)
    frontier.next_level()
    return False


def _archive(options: RecordOptions, stack: ExitStack) -> Archive | None:
    if options.warc is None:
        return None
    archive = WarcFile(options)
    stack.callback(archive.close)
    return archive


def _curl(options: CrawlOptions, starts: tuple[str, ...]) -> Fetcher:
    from adaptc.crawl.curl_fetcher import CurlFetcher

    return CurlFetcher(options.network, starts, recording=options.records.warc is not None)


_DEFAULT_BOUND = PurgeBound()
_NAMES = NameOptions(host_directories=False, trust_server_names=True)
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def mirror_name(source: str) -> str:
    """Return a readable and unique directory name for the mirror of a URL or a WARC file."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{_UNSAFE.sub('-', source.partition('://')[2] or source).strip('-.')[-60:]}-{digest}"


def crawl_site(
    url: str,
    output: Path,
    *,
    purge_most: PurgeBound = _DEFAULT_BOUND,
    is_stopped: Callable[[], bool] = lambda: False,
    watch: Callable[[CrawlProgress], None] | None = None,
) -> CrawlResult:
    """Crawl what is below the directory of ``url``, with the requisites of its pages, into the docroot ``output``.

    Only what changed is loaded, and what is gone is removed, as far as ``purge_most`` allows. Raises as ``crawl`` does.
    """
    options = CrawlOptions(
        (url,),
        output,
        ScopeOptions(no_parent=True, page_requisites=True),
        _NAMES,
        update=UpdateOptions(timestamping=True, purge=True, purge_most=purge_most),
        as_served=True,
    )
    return crawl(options, is_stopped=is_stopped, watch=watch)


def unpack_warc(
    path: Path,
    output: Path,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    watch: Callable[[CrawlProgress], None] | None = None,
) -> CrawlResult:
    """Write the files of the first site in a WARC file into the docroot ``output``.

    Raises ``UsageError`` when it is no WARC file, or holds no response that is a file.
    """
    archive = WarcFetcher(path)
    try:
        urls = _of_one_site(archive.page_urls(), path)
    except UsageError:
        archive.close()
        raise
    update = UpdateOptions(purge=True, purge_most=PurgeBound(1.0))  # the archive is the whole site
    scope = ScopeOptions(level=0, max_total=None, max_time=None)  # no server can make it larger
    options = CrawlOptions(urls, output, scope, _NAMES, update=update, robots=False, as_served=True)
    return crawl(options, fetcher=archive, is_stopped=is_stopped, watch=watch)


def _of_one_site(urls: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Return the URLs of the host that the file begins with: the other hosts of a crawl are what its pages embed."""
    if not urls:
        raise UsageError(f"{path} holds no response that is a file")
    site = parts_of(urls[0]).origin
    return tuple(url for url in urls if parts_of(url).origin == site)
