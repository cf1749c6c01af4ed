"""Files that a finished crawl takes out of the mirror: those whose URLs are gone, and the second of two alike.

The former are reported, or removed (``--purge``), but not too many at once. A crawl that could not look everywhere says
nothing about what is gone. A server that answers with a login or maintenance page for the site looks like one that lost
its pages: a bound on what one crawl removes asks the user first.

The latter are one page under two URLs: ``/a/`` and ``/a/index.html`` are both fetched, and usually have the same bytes.

Names are given before anything is fetched. Those that no file got (``/docs`` redirects to ``/docs/``, or fails) go back
in the end, and files that had to make way for them get the names that they asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.crawl.discover.content import Kind
from adaptc.crawl.frontier import Frontier, Row, State
from adaptc.crawl.mirror import Mirror, OutsideMirror
from adaptc.crawl.names import Claims, NameOptions, adjusted, may_be_numbered, name_of
from adaptc.crawl.options import UpdateOptions
from adaptc.crawl.report import Journal, robots_failures
from adaptc.crawl.weburl import parts_of

TOO_MANY = "purge-too-many"  # the id of the diagnostic that asks for a confirmation


def gone_files(frontier: Frontier, mirror: Mirror, claims: Claims, options: UpdateOptions) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each file of a former crawl whose URL this one did not meet, or that is answered 404.

    With ``purge`` such files are removed, unless they are more than ``purge_most`` allows.
    """
    gone = [(row, row.name) for row in _gone(frontier) if row.name is not None and mirror.size(row.name) is not None]
    held = frontier.count_files()
    purge = options.purge and len(gone) <= options.purge_most.allowed(held)
    if options.purge and not purge:
        yield diagnose(TOO_MANY, None, gone=len(gone), held=held, bound=str(options.purge_most))
    for row, name in gone:
        if purge:
            mirror.remove(name)
            with frontier:
                claims.release(name)
                frontier.forget(row.id)
        yield diagnose("file-purged" if purge else "file-outdated", None, file=name, url=row.url)


_GONE = (404, 410)


def _gone(frontier: Frontier) -> Iterator[Row]:
    if any(not failure.is_host_down for _, failure in robots_failures(frontier)):
        return  # an origin was not looked at
    failed = frontier.rows(State.FAILED)
    yield from (row for row in failed if row.status in _GONE and row.kind != Kind.ERROR.value)
    if _is_complete(frontier):
        yield from frontier.rows(State.STORED, of_this_run=False)


def _is_complete(frontier: Frontier) -> bool:
    """Whether a URL that was not discovered is gone: a page that could not be fetched may link to it."""
    return not any(_may_lead_on(frontier, row) for row in frontier.rows(State.FAILED))


def _may_lead_on(frontier: Frontier, row: Row) -> bool:
    """Whether a URL that failed may be a page that leads to files of the mirror.

    A start, and what it redirects to, always may; an origin of which there never was a file does not.
    """
    if row.depth == 0:
        return True
    return row.status not in _GONE and frontier.holds_files(parts_of(row.url).origin)


# ---- one page under two URLs


def merge_twins(frontier: Frontier, mirror: Mirror, claims: Claims, default_page: str) -> None:
    """Keep one file for a directory and its default page where their bytes are equal; links to both lead to it."""
    for number in frontier.stored_ending(f"/{default_page}"):
        page = frontier.by_id(number)
        directory = frontier.row(page.url.removesuffix(default_page)) if page is not None else None
        if page is not None and directory is not None and directory.state == State.STORED:
            survivor, twin = (page, directory) if _has_name(page, default_page) else (directory, page)
            _merge(frontier, mirror, claims, survivor, twin)


def _has_name(row: Row, default_page: str) -> bool:
    return row.name is not None and (row.name == default_page or row.name.endswith(f"/{default_page}"))


def _merge(frontier: Frontier, mirror: Mirror, claims: Claims, survivor: Row, twin: Row) -> None:
    if survivor.name is None or twin.name is None or mirror.size(survivor.name) != mirror.size(twin.name):
        return
    if mirror.original(survivor.id, survivor.name) != mirror.original(twin.id, twin.name):
        return
    with frontier:
        claims.release(twin.name)
        frontier.update(twin.id, State.REDIRECTED, target=survivor.id, name=None, reason=f"the same as {survivor.url}")
    mirror.remove(twin.name)
    mirror.forget_original(twin.id)


# ---- names that no file got


def give_names_back(frontier: Frontier, mirror: Mirror, claims: Claims, journal: Journal, options: NameOptions) -> None:
    """Give names without a file to files that had to take others, in the order of their ranks.

    What a former crawl named stays, where it has the name that it asked for.
    """
    with frontier:
        for row in frontier.rows(State.FAILED, State.REFUSED):
            if row.name is not None and row.disk is None and mirror.size(row.name) is None:
                claims.release(row.name)
                frontier.set_names([(None, row.id)])
    numbered = [row for row in frontier.rows(State.STORED) if may_be_numbered(row.name or "")]
    for row in sorted(numbered, key=lambda row: (row.rank or 0, row.id)):
        _rename(row, frontier, mirror, claims, journal, options)


def _rename(
    row: Row, frontier: Frontier, mirror: Mirror, claims: Claims, journal: Journal, options: NameOptions
) -> None:
    assert row.name is not None
    wanted = name_of(frontier.named_after(row, options.trust_server_names), options)
    directory, slash, _ = wanted.rpartition("/")
    is_own = not options.content_disposition
    wanted = adjusted(wanted, row.type or "", options) if is_own else directory + slash + row.name.rpartition("/")[2]
    if row.name == wanted:
        return
    with frontier:
        claims.release(row.name)
        name = claims.claim(wanted)
        try:
            if name != row.name:
                mirror.move(row.name, name)
                journal.write("renamed", row.url, file=name)
        except (OSError, OutsideMirror):  # it keeps what it has
            claims.release(name)
            name = claims.claim(row.name)
        frontier.set_names([(name, row.id)])
