"""Settles responses: each becomes a stored file, a redirect or a failure.

``StoragePolicy`` says whether a response is kept as a file, and under which name. ``Links`` enters the links of a file
into the frontier: each is followed, or refused for a reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from adaptc.core import media
from adaptc.core.values import dataclass
from adaptc.crawl.body_job import UNPARSED, BodyError, BodyResult, FileLinks, Job, JobRunner, file_links_of
from adaptc.crawl.discover.content import PARSED, Kind, discover, kind_of, most_parsed
from adaptc.crawl.discover.link import Discovery, Link
from adaptc.crawl.discover.script_links import GUESSES, WORKER
from adaptc.crawl.frontier import Frontier, MetUrl, Row, State
from adaptc.crawl.http import Head, Response, received_content
from adaptc.crawl.mirror import Mirror, OutsideMirror, http_time, policy_key
from adaptc.crawl.names import Claims, adjusted, name_of, server_name
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.report import Journal
from adaptc.crawl.request import Budget, is_whole, part_of
from adaptc.crawl.schedule import Task
from adaptc.crawl.scope import TOO_LARGE, Candidate, Refusal, Scope
from adaptc.crawl.store import unpack
from adaptc.crawl.weburl import parts_of, resolved, without_parameters

_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})
_ERROR_CLASS = {401: "auth", 407: "auth"}


class Archive(Protocol):
    """Where exchanges are recorded (WARC)."""

    def record(self, response: Response) -> None:
        """Record a request and its response."""


@dataclass(frozen=True, slots=True)
class _PendingBody:
    """A response that is being read: the ``name`` of its file, or the ``reason`` why it has none."""

    row: Row
    response: Response
    name: str | None
    reason: str | None


class Settler:
    """Settles responses."""

    def __init__(
        self,
        options: CrawlOptions,
        scope: Scope,
        frontier: Frontier,
        mirror: Mirror,
        claims: Claims,
        journal: Journal,
        archive: Archive | None = None,
    ) -> None:
        self.options, self.scope, self.frontier, self.mirror = options, scope, frontier, mirror
        self.claims, self.journal, self.archive = claims, journal, archive
        self.links = Links(options, scope, frontier, journal)
        self.storage = StoragePolicy(options, scope, frontier, claims)
        is_raw = options.records.warc is not None
        self.runner = JobRunner(mirror, options.scope, is_raw=is_raw, agent=options.network.agent)
        self.budget = Budget(options.scope)
        self.kept = 0

    def from_disk(self, row: Row) -> bool:
        """Take the file that is there instead of asking for it (``--no-clobber``); return whether there is one."""
        if not self.options.update.no_clobber or row.name is None or self.mirror.size(row.name) is None:
            return False
        if row.kind == Kind.ERROR.value:
            return False
        with self.frontier:
            self.links.add(row, file_links_of(self._known_links(row), self.options.scope))
            reason = "--no-clobber: the file is there already"
            self.frontier.update(row.id, State.STORED, rule=self._unparsed(row), reason=reason)
        self.kept += 1
        self.journal.write("kept", row.url, file=row.name)
        return True

    def _accept_leftover(self, row: Row) -> None:
        """Take the file that another program left: it is complete (``--continue``)."""
        assert row.name is not None
        media_type, size = media.by_name(row.name) or "", self.mirror.size(row.name)
        with self.frontier:
            self.links.add(row, file_links_of(self._links_on_disk(row), self.options.scope))
            self.frontier.update(
                row.id, State.STORED, type=media_type, kind=kind_of(media_type, row.place or "", b"").value, size=size,
                disk=size, rule=None, reason="--continue: the file is complete",
            )  # fmt: skip
        self.kept += 1
        self.journal.write("kept", row.url, status=416, file=row.name)

    def settle(self, task: Task, response: Response) -> None:
        """Record the result of a request; a body is recorded once it has been read."""
        row, head = task.row, response.head
        self.record(response)
        if response.refused is not None:
            self._refused_by_head(row, response.refused, head)
        elif response.error:
            self.fail(row, response.error, f"could not be fetched: {response.message}")
        elif head.status in _REDIRECTS and head.get("location"):
            self._redirect(task, head.get("location") or "", head.status)
        elif head.status == 304 and task.conditional:
            self._unchanged(row)
        elif task.leftover is not None and is_whole(head, task.leftover):
            self._accept_leftover(row)
        elif 200 <= head.status < 300:
            self._forget_part(task, response)
            self._keep(row, response)
            return
        else:
            self.fail(row, _ERROR_CLASS.get(head.status, "server"), f"is answered with {head.status}", head.status)
            if self.options.content_on_error:
                self._keep_error(row, response)
        self._forget_part(task, response)
        if response.file is not None and not (response.error and self.frontier.partial(row.id)):
            response.file.unlink(missing_ok=True)

    def _forget_part(self, task: Task, response: Response) -> None:
        """Remove the copy of a leftover that the response does not continue."""
        if task.leftover is not None and response.file is None and response.head.status != 206:
            Path(part_of(self.mirror.spool, task.row.id)).unlink(missing_ok=True)

    def record(self, response: Response) -> None:
        """Put a response into the archive, if there is one."""
        if self.archive is not None and not response.error:
            self.archive.record(response)

    def _refused_by_head(self, row: Row, refused: Refusal, head: Head) -> None:
        if refused.rule == "spider":
            self._check(row, head)
        else:
            self.refuse(row, refused.rule, refused.reason)

    def refuse(self, row: Row, rule: str, reason: str) -> None:
        """Note that a URL that was queued is not wanted after all; one that the user named is wanted, and failed."""
        if row.place == "start" and rule == TOO_LARGE:
            self.fail(row, rule, reason)
            return
        with self.frontier:
            self.frontier.update(row.id, State.REFUSED, rule=rule, reason=reason)
        self.journal.write("refused", row.url, rule=rule, reason=reason)

    def fail(self, row: Row, kind: str, reason: str, status: int | None = None) -> None:
        """Note that a URL that was wanted could not be fetched; ``kind`` is the class of the error."""
        if status in _MISSING and row.place in GUESSES and row.disk is None:
            self.refuse(row, "named-in-script", f"{reason}; only the code of a script names it")
            return
        with self.frontier:
            self.frontier.update(row.id, State.FAILED, rule=kind, reason=reason, status=status)
        self.journal.write("failed", row.url, status=status, rule=kind, reason=reason, referrer=self._referrer(row))

    def _check(self, row: Row, head: Head, reason: str | None = None) -> None:
        with self.frontier:
            self.frontier.update(row.id, State.CHECKED, status=head.status, type=head.media_type, reason=reason)
        self.journal.write("checked", row.url, status=head.status, type=head.media_type, reason=reason)

    def _keep_error(self, row: Row, response: Response) -> None:
        """Keep the body of an error, but not in the place of a good copy (``--content-on-error``)."""
        has_copy = row.disk is not None and row.kind != Kind.ERROR.value
        if row.name is None or has_copy or self.storage.reason_not_kept(row) is not None:
            return
        content = received_content(response, is_raw=self.archive is not None)
        name = self.storage.final_name(row, response.head)
        try:
            self.mirror.write(name, content, None)
        except OutsideMirror:  # reported as an error already
            return
        self.frontier.update(
            row.id, State.FAILED, name=name, type=response.head.media_type, kind=Kind.ERROR.value, disk=len(content)
        )

    # ---- redirects

    def _redirect(self, task: Task, location: str, status: int) -> None:
        row = task.row
        target = self._cleaned(resolved(row.url, location))
        if target is None:
            self.fail(row, "protocol", f"redirects to {location}, which is no URL of the web", status)
            return
        problem = bad_redirect(self.frontier, row, target, self.options.network.max_redirect)
        if problem:
            self.fail(row, "server", problem, status)
            return
        refused = self._redirect_refusal(row, target)
        with self.frontier:
            if row.name is not None:
                self.claims.release(row.name)
            number = self.frontier.redirect(row, target, refused)
            self.frontier.update(
                row.id, State.REDIRECTED, status=status, target=number, name=None, rule=None, reason=None
            )
        self.journal.write("redirected", row.url, status=status, location=target, reason=refused and refused.reason)

    def _redirect_refusal(self, row: Row, target: str) -> Refusal | None:
        if row.depth == 0:
            self.scope.add_host(target)
            return None
        return self.scope.refusal(Candidate(target, row.depth, bool(row.requisite), page=row.url))

    def _cleaned(self, url: str | None) -> str | None:
        names = self.options.scope.strip_query
        return without_parameters(url, names) if url is not None and names else url

    # ---- files

    def _keep(self, row: Row, response: Response) -> None:
        reason = self.storage.reason_not_kept(row)
        body = _PendingBody(
            row, response, self.storage.final_name(row, response.head) if reason is None else None, reason
        )
        try:
            result = self.runner.run(self.storage.job(row, response, body.name))
        except BodyError as error:
            self._settle_error(body, error)
        else:
            self._store(body, result)

    def _settle_error(self, body: _PendingBody, error: BodyError) -> None:
        if error.kind == TOO_LARGE:
            self.refuse(body.row, error.kind, error.reason)
        else:
            self.fail(body.row, error.kind, error.reason, body.response.head.status)

    def _store(self, body: _PendingBody, result: BodyResult) -> None:
        row, response, head = body.row, body.response, body.response.head
        kind = Kind(result.kind)
        if row.depth == 0 and kind is Kind.PAGE:
            self.frontier.set_meta(policy_key(parts_of(row.url).origin), head.get("content-security-policy"))
        state, decision = (State.CHECKED, "checked") if body.name is None else (State.STORED, "stored")
        with self.frontier:
            if result.file_links is not None:
                self.links.add(row, result.file_links)
            self.frontier.update(
                row.id, state, name=body.name or row.name, status=head.status, type=head.media_type,
                charset=head.charset, kind=result.kind, size=result.size, disk=result.disk, etag=head.get("etag"),
                modified=head.get("last-modified"), rule=UNPARSED if result.is_unparsed else None, reason=body.reason,
            )  # fmt: skip
        self.budget.count(result.size, is_page=kind is Kind.PAGE)
        self.journal.write(
            decision, row.url, status=head.status, type=head.media_type, bytes=result.size,
            seconds=round(response.seconds, 4), file=body.name, referrer=self._referrer(row), reason=body.reason,
        )  # fmt: skip

    def _unchanged(self, row: Row) -> None:
        """Keep the file of a 304 and follow the links that it had."""
        with self.frontier:
            self.links.add(row, file_links_of(self._known_links(row), self.options.scope))
            self.frontier.update(row.id, State.STORED, rule=self._unparsed(row), reason="not modified")
        self.kept += 1
        self.journal.write("unchanged", row.url, status=304, file=row.name)

    def _unparsed(self, row: Row) -> str | None:
        """Return the mark of a file of a former crawl that is too large to be read for its links."""
        kind = Kind(row.kind or Kind.OTHER.value)
        return UNPARSED if kind in PARSED and (row.disk or 0) > most_parsed(kind) else None

    def _known_links(self, row: Row) -> Discovery:
        """Return the links that a file had when it was fetched: those of the file itself may be converted."""
        known = self.frontier.links(row.id)
        if known is None:
            return self._links_on_disk(row)
        return Discovery(known.base, list(unpack(known.links)), known.nofollow)

    def _links_on_disk(self, row: Row) -> Discovery:
        """Return the links of a file that another program left."""
        assert row.name is not None
        media_type = media.by_name(row.name) or ""
        kind = kind_of(media_type, row.place or "", b"")
        if kind not in PARSED or (self.mirror.size(row.name) or 0) > most_parsed(kind):
            return Discovery(row.url)
        return discover(kind, self.mirror.read(row.name), row.url, Head(200), self.options.network.agent)

    def keep_robots(self, url: str, response: Response, content: bytes) -> None:
        """Keep a robots.txt as a file of the site (as wget does), unless it is asked for as a page, too."""
        if self.options.spider or self.options.update.delete_after:
            return
        if self.scope.name_refusal("robots.txt") is not None:
            return
        self.frontier.add(None, 0, [MetUrl(url, 1, requisite=False, place="robots.txt")])
        row = self.frontier.row(url)
        if row is None or row.state != State.FOUND:
            return
        name = row.name or self.claims.claim(name_of(url, self.options.names))
        try:
            self.mirror.write(name, content, http_time(response.head.get("last-modified")))
        except OutsideMirror as problem:
            self.fail(row, "file", f"cannot be written: {problem}", response.head.status)
            return
        self.frontier.update(
            row.id, State.STORED, name=name, status=response.head.status, type=response.head.media_type,
            size=len(content), disk=len(content), kind=Kind.OTHER.value,
        )  # fmt: skip

    def _referrer(self, row: Row) -> str | None:
        return self.frontier.url_of(row.parent) if row.parent is not None else None


def bad_redirect(frontier: Frontier, row: Row, target: str, limit: int) -> str:
    """Return what is wrong with a redirect: too many of them, or a loop."""
    hops, hop = 1, row
    while hop.parent is not None:
        parent = frontier.by_id(hop.parent)
        if parent is None or parent.target != hop.id or parent.state != State.REDIRECTED:
            break
        if parent.url == target:
            return "redirects in a loop"
        hops, hop = hops + 1, parent
    if target == row.url:
        return "redirects to itself"
    return "redirects more often than --max-redirect" if hops > limit else ""


# ---- files, and the links in them


class StoragePolicy:
    """Decides whether a body is kept, and under which name."""

    def __init__(self, options: CrawlOptions, scope: Scope, frontier: Frontier, claims: Claims) -> None:
        self.options, self.scope, self.frontier, self.claims = options, scope, frontier, claims

    def job(self, row: Row, response: Response, name: str | None) -> Job:
        """Return the job for a response whose file is ``name``, ``None`` for no file."""
        head, file = response.head, response.file
        modified = http_time(head.get("last-modified")) if self.options.update.use_server_timestamps else None
        return Job(
            row.id, row.url, row.place or "", head.status, head.fields, response.body,
            str(file) if file is not None else None, response.size, name, modified, row.disk is not None,
            self._running_page(row) if "script" in head.media_type else None,
        )  # fmt: skip

    def _running_page(self, row: Row) -> tuple[str, str] | None:
        """Return the base URL and the file of the page that a script was found from; a worker is its own base."""
        hop: Row | None = row
        for _ in range(_MOST_HOPS):
            if hop is None or hop.kind == Kind.PAGE.value:
                break
            if hop.place == WORKER:
                return hop.url, ""
            hop = self.frontier.by_id(hop.parent) if hop.parent is not None else None
        known = self.frontier.links(hop.id) if hop is not None else None
        return None if hop is None or known is None else (known.base, hop.name or "")

    def reason_not_kept(self, row: Row) -> str | None:
        """Return why a file is not kept though it was loaded, ``None`` when it is."""
        if self.options.spider:
            return "--spider"
        if self.options.update.delete_after:
            return "--delete-after"
        if row.place == "start" and not self.options.scope.level:
            return None
        refused = self.scope.name_refusal(parts_of(row.url).file or self.options.names.default_page)
        return f"needed for its links only; {refused.reason}" if refused is not None else None

    def final_name(self, row: Row, head: Head) -> str:
        """Return the name with what only the response tells: Content-Disposition, the extension of the type."""
        assert row.name is not None
        names, wanted = self.options.names, row.name
        server_base = server_name(head.get("content-disposition") or "", names) if names.content_disposition else None
        if server_base is not None:
            wanted = wanted[: wanted.rfind("/") + 1] + server_base
        wanted = adjusted(wanted, head.media_type, names)
        if wanted == row.name:
            return wanted
        with self.frontier:
            self.claims.release(row.name)
            wanted = self.claims.claim(wanted)
            self.frontier.set_names([(wanted, row.id)])
        return wanted


_MOST_HOPS = 30  # from a script to its page, by the modules between them
_REFUSALS = 200_000  # refused links that are remembered, so that each is written down once


class Links:
    """Decides on links."""

    def __init__(self, options: CrawlOptions, scope: Scope, frontier: Frontier, journal: Journal) -> None:
        self.options, self.scope, self.frontier, self.journal = options, scope, frontier, journal
        self._refused: set[tuple[str, str]] = set()
        self._by_tag = options.scope.by_tag

    def add(self, row: Row, file_links: FileLinks) -> None:
        """Enter the links of a file, and keep them for reports and for the crawl after a 304."""
        self.frontier.remember_links(row.id, file_links.base, file_links.packed, file_links.nofollow)
        rank, knows = row.rank or 0, self.frontier.knows
        new = (link for link in file_links.links if not knows(link.url, rank, link.requisite))
        decided = [self._decided(row, link, file_links.nofollow) for link in new]
        self.frontier.add(row.id, rank, [link for link in decided if link is not None])

    def _decided(self, row: Row, link: Link, nofollow: bool) -> MetUrl | None:
        tag = link.tag if self._by_tag else ""
        forbidden = self._nofollow(link, nofollow)
        candidate = Candidate(link.url, row.depth + 1, link.requisite, tag, link.is_relative, forbidden, row.url)
        refused = self.scope.refusal(candidate)
        if refused is None:
            return MetUrl(link.url, row.depth + 1, link.requisite, link.place, link.line)
        if (link.url, refused.rule) in self._refused:
            return None
        if len(self._refused) >= _REFUSALS:
            self._refused.clear()
        self._refused.add((link.url, refused.rule))
        self.journal.write("refused", link.url, rule=refused.rule, reason=refused.reason, referrer=row.url)
        return MetUrl(link.url, row.depth + 1, link.requisite, link.place, link.line, refused.rule, refused.reason)

    def _nofollow(self, link: Link, page_forbids: bool) -> str:
        if not self.options.robots or link.requisite:
            return ""
        if link.nofollow and self.options.obey_nofollow:
            return "its link says rel=nofollow"
        return "the page forbids to follow its links (meta robots or X-Robots-Tag)" if page_forbids else ""

    def add_sitemaps(self, sitemaps: Iterable[MetUrl]) -> None:
        """Enter the sitemaps that a robots.txt names; not the scope but their host decides."""
        self.frontier.add(None, 0, [sitemap for sitemap in sitemaps if parts_of(sitemap.url).host in self.scope.hosts])
