"""The Python interface of the crawler: ``crawl(options) -> CrawlResult``, and docroots made of a URL or a WARC file."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.diagnostics import Busy, Diagnostic, UsageError
from adaptc.core.fs import lock_file
from adaptc.crawl.body_job import Reading
from adaptc.crawl.engine import Engine
from adaptc.crawl.frontier import Frontier, State
from adaptc.crawl.http import Fetcher
from adaptc.crawl.mirror import Mirror, write_table
from adaptc.crawl.names import Claims, NameOptions
from adaptc.crawl.options import AgainOptions, CrawlOptions, RecordOptions
from adaptc.crawl.reader import Reader, reader_for
from adaptc.crawl.report import Journal, broken_links, gone_files
from adaptc.crawl.scope import Scope, ScopeOptions
from adaptc.crawl.settle import Archive, Settler
from adaptc.crawl.twins import merge_twins
from adaptc.crawl.warc import WarcFetcher
from adaptc.crawl.weburl import parts_of, start_url

_WATCHED = 0.5
_LAST_BREATH = (
    1.0  # seconds: the reader process of a crawl that was killed finishes its file, and holds the lock until then
)


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """What a crawl did.

    ``files``, ``received`` (bytes of bodies) and ``kept`` (files that stayed: not modified, or ``--no-clobber``) are
    of this process; the counts are those of the whole run, what an interrupted one had done included. ``failures`` are
    the classes of errors: network, tls, auth, protocol, server. ``stopped`` says which limit ended the crawl early.
    """

    output: Path
    files: int
    received: int
    kept: int
    seconds: float
    stored: int
    failed: int
    refused: int
    resumed: bool
    failures: frozenset[str]
    stopped: str | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Watched:
    """How far a crawl is: files and bytes of this process, URLs that wait, seconds since it began."""

    files: int
    received: int
    waiting: int
    seconds: float


def crawl(
    options: CrawlOptions,
    *,
    fetcher: Fetcher | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    watch: Callable[[Watched], None] | None = None,
) -> CrawlResult:
    """Mirror the site of ``options.urls`` into ``options.output``.

    Raises ``UsageError``, ``Busy``, ``OSError`` when the output cannot be written, and ``KeyboardInterrupt`` when
    ``is_stopped`` says so; the next crawl resumes one that ended early. ``watch`` is called now and then with
    how far it is.
    """
    starts = tuple(_start(url) for url in options.urls)
    began = time.monotonic()
    mirror = Mirror(options.output)
    with ExitStack() as stack:
        busy = Busy(f"another crawl is writing to {options.output}")
        stack.enter_context(lock_file(mirror.state / "lock", busy, patience=_LAST_BREATH))
        reader = _reader(options, mirror, is_networked=fetcher is None)
        stack.callback(reader.close)
        frontier = Frontier(mirror.state / "crawl.sqlite")
        stack.callback(frontier.close)
        resumed = _begin(frontier, starts)
        journal = Journal(mirror.state / "crawl.jsonl", anew=not resumed)
        stack.callback(journal.close)
        claims = Claims(frontier, folds_case=options.names.folds_case or mirror.folds_case())
        archive = _archive(options.records, stack)
        settler = Settler(options, Scope(options.scope, starts), frontier, mirror, claims, journal, reader, archive)
        network = fetcher or _curl(options, reader)
        stack.callback(network.close)
        engine = Engine(options, frontier, network, settler, claims)
        engine.is_stopped, engine.clock = is_stopped, clock
        if watch is not None:
            engine.on_settled = _watcher(watch, settler, frontier)
        engine.run()
        diagnostics = _completed(options, settler)
        frontier.end_run()
        return CrawlResult(
            options.output, settler.files, settler.stored_bytes, settler.kept, time.monotonic() - began,
            frontier.count(State.STORED, State.CHECKED), frontier.count(State.FAILED), frontier.count(State.REFUSED),
            resumed, frontier.failure_rules(), settler.limit.reason if settler.limit else None, diagnostics,
        )  # fmt: skip


def _completed(options: CrawlOptions, settler: Settler) -> tuple[Diagnostic, ...]:
    """Do what can be done only when everything is there, and return what there is to say."""
    frontier, mirror, claims = settler.frontier, settler.mirror, settler.claims
    if settler.limit is not None:
        frontier.give_up(*settler.limit)
    merge_twins(frontier, mirror, claims, options.names.default_page)
    converted = _converted(options, frontier, mirror)
    if options.spider or options.again.delete_after:  # the files of a former crawl are none of its business
        return tuple(broken_links(frontier))
    # a crawl that ended early did not look for everything
    gone = gone_files(frontier, mirror, claims, purge=options.again.purge) if settler.limit is None else ()
    write_table(frontier, mirror, options.names)
    return (*converted, *broken_links(frontier), *gone)


def _converted(options: CrawlOptions, frontier: Frontier, mirror: Mirror) -> tuple[Diagnostic, ...]:
    if not (options.convert_links or options.as_served):
        return ()
    from adaptc.crawl.convert.links import LinkConversion

    return tuple(LinkConversion(options, frontier, mirror).run())


def _watcher(watch: Callable[[Watched], None], settler: Settler, frontier: Frontier) -> Callable[[], None]:
    """Return what tells how far a crawl is, at most every ``_WATCHED`` seconds: counting what waits takes time."""
    began = reported = time.monotonic()

    def tell() -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= _WATCHED:
            reported = now
            watch(Watched(settler.files, settler.stored_bytes, frontier.waiting(), now - began))

    return tell


def _start(typed: str) -> str:
    url = start_url(typed)
    if url is None:
        raise UsageError(f"{typed!r} is not a URL of the web (http or https)")
    return url


def _begin(frontier: Frontier, starts: tuple[str, ...]) -> bool:
    """Begin a run, or go on with one that was interrupted and was asked for with the same URLs; return which."""
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
    from adaptc.crawl.warc import WarcFile

    archive = WarcFile(options)
    stack.callback(archive.close)
    return archive


def _reader(options: CrawlOptions, mirror: Mirror, *, is_networked: bool) -> Reader:
    """Return who reads what comes.

    No second process reads where a limit may end the crawl, so that no file is written after it ended, nor where the
    crawl waits between requests anyway: there, what is asked for twice after a kill is what was under way.
    """
    scope = options.scope
    alone = not is_networked or bool(scope.quota is not None or scope.max_pages is not None or options.network.wait)
    return reader_for(Reading(mirror, scope, is_raw=options.records.warc is not None), alone=alone)


def _curl(options: CrawlOptions, reader: Reader) -> Fetcher:
    from adaptc.crawl.curl_fetcher import CurlFetcher

    return CurlFetcher(options.network, recording=options.records.warc is not None, descriptors=reader.awaited)


_NAMES = NameOptions(host_directories=False, trust_server_names=True)
_WORDS = re.compile(r"[^A-Za-z0-9.-]+")


def mirror_name(source: str) -> str:
    """Return the name of the directory for what is crawled from a URL or read from a file: readable, and its own."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{_WORDS.sub('-', source.partition('://')[2] or source).strip('-.')[-60:]}-{digest}"


def crawl_site(
    url: str,
    output: Path,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    watch: Callable[[Watched], None] | None = None,
) -> CrawlResult:
    """Crawl what is below the directory of ``url``, with the requisites of its pages, into the docroot ``output``.

    Only what changed is loaded, and what is gone is removed. Raises as ``crawl`` does.
    """
    options = CrawlOptions(
        (url,),
        output,
        ScopeOptions(no_parent=True, page_requisites=True),
        _NAMES,
        again=AgainOptions(timestamping=True, purge=True),
        as_served=True,
    )
    return crawl(options, is_stopped=is_stopped, watch=watch)


def unpack_warc(
    path: Path,
    output: Path,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    watch: Callable[[Watched], None] | None = None,
) -> CrawlResult:
    """Write the files of the first site in a WARC file into the docroot ``output``.

    Raises ``UsageError`` when it is no WARC file, or holds no response that is a file.
    """
    archive = WarcFetcher(path)
    try:
        urls = _of_one_site(archive.found(), path)
    except UsageError:
        archive.close()
        raise
    again = AgainOptions(purge=True)
    options = CrawlOptions(urls, output, ScopeOptions(level=0), _NAMES, again=again, robots=False, as_served=True)
    return crawl(options, fetcher=archive, is_stopped=is_stopped, watch=watch)


def _of_one_site(urls: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Return the URLs of the host that the file begins with: the other hosts of a crawl are what its pages embed."""
    if not urls:
        raise UsageError(f"{path} holds no response that is a file")
    site = parts_of(urls[0]).origin
    return tuple(url for url in urls if parts_of(url).origin == site)
