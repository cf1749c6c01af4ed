"""What becomes of a response: a file, a redirect, a failure; and of the links in it.

Each response is settled in one transaction, after its file is complete under its name.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adaptc.crawl.bodies import LARGEST, Undecodable, dechunked, decode_body, is_chunked, is_coded
from adaptc.crawl.claims import Claims
from adaptc.crawl.discover.content import Kind, discover, kind_of
from adaptc.crawl.discover.link import Discovered, Link
from adaptc.crawl.fetch import Request, Response
from adaptc.crawl.frontier import Found, Frontier, Row, State
from adaptc.crawl.head import Head
from adaptc.crawl.journal import Journal
from adaptc.crawl.mirror import Mirror, Outside, http_date, http_time
from adaptc.crawl.names import adjusted, name_of, server_name
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.pace import LONGEST_RETRY_AFTER, retry_after, retry_wait
from adaptc.crawl.packing import pack, unpack
from adaptc.crawl.partial import continues, part_of, range_fields, total, validator
from adaptc.crawl.scope import Candidate, Refusal, Scope
from adaptc.crawl.table import policy_key
from adaptc.crawl.waiting import Task
from adaptc.crawl.weburl import parts_of, resolved, without_parameters

_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_PARSED = {Kind.PAGE, Kind.SHEET, Kind.SVG, Kind.XML, Kind.SITEMAP, Kind.MANIFEST}
_SNIFFED = 512
_SIZEABLE = 1 << 20  # bytes from which on a file that is cut off is gone on with
_REFUSALS = 200_000  # refused links that are remembered, so that each is written down once


class Archive(Protocol):
    """Where exchanges are recorded (WARC)."""

    def record(self, response: Response) -> None:
        """Record a request and its response."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What became of a body: its name (``None`` when it is not kept, for ``reason``), bytes on disk, kind."""

    name: str | None
    size: int
    kind: Kind
    reason: str | None


class Settler:
    """Settles responses. ``limit`` is set when the quota or the number of pages is used up, and says so."""

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
        self.limit: Refusal | None = None
        self.stored_bytes = self.pages = self.files = 0
        self._refused: set[tuple[str, str]] = set()

    # ---- before the request

    def prepared(self, task: Task) -> Task:
        """Complete a task: the method, and the fields of a conditional request."""
        row, again = task.row, self.options.again
        if self.options.spider:
            task.method = "GET" if _may_hold_links(row) else "HEAD"
        elif again.timestamping and row.name is not None:
            task.headers = self._conditions(row, row.name)
            task.conditional = bool(task.headers)
        return task

    def _range(self, task: Task) -> tuple[str, ...]:
        """Return the fields that ask for the rest of a file that was cut off, nothing where the whole is asked for."""
        row = task.row
        if task.conditional or task.method != "GET":
            return ()
        part = Path(part_of(self.mirror.spool, row)) if self.frontier.is_partial(row.id) else None
        if part is not None and part.exists():
            condition = self.frontier.partial(row.id)
            return range_fields(part.stat().st_size, condition) if condition else ()
        left = row.name if self.options.again.continue_partial and row.status is None else None
        if left is None or not self.mirror.size(left):
            return ()
        begun = self.mirror.read(left)
        Path(part_of(self.mirror.spool, row)).write_bytes(begun)
        return range_fields(len(begun), None)

    def from_disk(self, row: Row) -> bool:
        """Take the file that is there instead of asking for it (``--no-clobber``); return whether there is one."""
        if not self.options.again.no_clobber or row.name is None or self.mirror.size(row.name) is None:
            return False
        found = self._links_on_disk(row)
        with self.frontier:
            self._add_links(row, found)
            self.frontier.update(row.id, State.STORED, reason="--no-clobber: the file is there already")
        self.journal.write("kept", row.url, file=row.name)
        return True

    def _conditions(self, row: Row, name: str) -> tuple[str, ...]:
        """Return the fields that ask for a file only when it changed (RFC 9110, section 13.1)."""
        size = self.mirror.size(name)
        if size is None:
            return ()
        if row.etag is None and row.modified is None:
            modified = self.mirror.modified(name)
            return (f"If-Modified-Since: {http_date(modified)}",) if row.status is None and modified else ()
        if row.disk != size:
            return ()  # cut short, or written to by somebody: the whole is asked for
        fields = [f"If-None-Match: {row.etag}"] if row.etag else []
        return (*fields, *([f"If-Modified-Since: {row.modified}"] if row.modified else []))

    def request(self, task: Task) -> Request:
        """Return the request of a task."""
        request = Request(
            task, task.row.url, task.method, self._fields(task), spool=part_of(self.mirror.spool, task.row)
        )
        request.admit = lambda head: self._admit(task, head)
        return request

    def _fields(self, task: Task) -> tuple[str, ...]:
        referrer = self.options.network.referer
        if referrer is None and task.row.parent is not None and task.row.place != "sitemap loc":
            referrer = _referrer(self.frontier.url_of(task.row.parent), task.row.url)
        fields = (*task.headers, *self._range(task))
        return (*fields, f"Referer: {referrer}") if referrer else fields

    def _admit(self, task: Task, head: Head) -> str | None:
        """Return why a body is not wanted, now that its head is there."""
        if not 200 <= head.status < 300:
            return None
        refused = self.scope.response_refusal(task.row.url, head.media_type, head.length)
        if refused is not None and task.row.place != "start":
            return f"{refused.rule}\0{refused.reason}"
        if self.options.spider and kind_of(head.media_type, task.row.place or "", b"") not in _PARSED:
            return "spider\0is there"
        if (head.length or 0) > _SIZEABLE and head.status == 200 and not self.options.spider:
            with self.frontier:
                self.frontier.remember_partial(task.row.id, validator(head))
        return None

    # ---- whether to try again

    def pause(self, task: Task, response: Response) -> float | None:
        """Return the seconds after which to try again, ``None`` when this is the last word."""
        network = self.options.network
        if task.method == "HEAD" and self._needs_get(task, response):
            task.method, task.tried = "GET", task.tried - 1
            return 0.0
        if response.refused is not None or (network.tries and task.tried + 1 >= network.tries):
            return None
        if response.error:
            return None if response.is_final else retry_wait(task.tried + 1, network.retry_wait)
        if response.head.status not in network.retry_on:
            return None
        asked = retry_after(response.head.get("retry-after"), time.time())
        if asked is not None and asked > LONGEST_RETRY_AFTER:
            return None
        return asked if asked is not None else retry_wait(task.tried + 1, network.retry_wait)

    def _needs_get(self, task: Task, response: Response) -> bool:
        """Whether the body must be had after all: the server knows no HEAD, or the file holds links."""
        if response.error:
            return False
        if response.head.status in (403, 405, 501):
            return True
        is_parsed = kind_of(response.head.media_type, task.row.place or "", b"") in _PARSED
        return is_parsed and response.refused is None and 200 <= response.head.status < 300

    # ---- settling

    def settle(self, task: Task, response: Response) -> None:
        """Write down what came of a request."""
        row, head = task.row, response.head
        if self.archive is not None and not response.error:
            self.archive.record(response)
        if response.refused is not None:
            self._refused_by_head(row, response)
        elif response.error:
            self._fail(row, response.error, response.message, None)
        elif head.status in _REDIRECTS and head.get("location"):
            self._redirect(task, head.get("location") or "", head.status)
        elif head.status == 304 and task.conditional:
            self._unchanged(row)
        elif 200 <= head.status < 300:
            self._keep(row, response)
        else:
            self._fail(row, _ERROR_CLASS.get(head.status, "server"), f"is answered with {head.status}", head.status)
        if response.file is not None and not (response.error and self.frontier.partial(row.id)):
            response.file.unlink(missing_ok=True)

    def _refused_by_head(self, row: Row, response: Response) -> None:
        rule, _, reason = (response.refused or "").partition("\0")
        if rule == "spider":
            self._check(row, response.head)
        else:
            self.refuse(row, rule, reason)

    def refuse(self, row: Row, rule: str, reason: str) -> None:
        """Note that a URL that was queued is not wanted after all."""
        with self.frontier:
            self.frontier.update(row.id, State.REFUSED, rule=rule, reason=reason)
        self.journal.write("refused", row.url, rule=rule, reason=reason)

    def _fail(self, row: Row, kind: str, reason: str, status: int | None) -> None:
        with self.frontier:
            self.frontier.update(row.id, State.FAILED, rule=kind, reason=reason, status=status)
        self.journal.write("failed", row.url, status=status, rule=kind, reason=reason, referrer=self._referrer(row))

    def _check(self, row: Row, head: Head, reason: str | None = None) -> None:
        with self.frontier:
            self.frontier.update(row.id, State.CHECKED, status=head.status, type=head.media_type, reason=reason)
        self.journal.write("checked", row.url, status=head.status, type=head.media_type, reason=reason)

    # ---- redirects

    def _redirect(self, task: Task, location: str, status: int) -> None:
        row = task.row
        target = self._cleaned(resolved(row.url, location))
        problem = self._bad_redirect(row, target) if target is not None else ""
        if target is None:
            self._fail(row, "protocol", f"redirects to {location}, which is no URL of the web", status)
            return
        if problem:
            self._fail(row, "server", problem, status)
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
            self.scope.welcome(target)
            return None
        return self.scope.refusal(Candidate(target, row.depth, bool(row.requisite)))

    def _bad_redirect(self, row: Row, target: str) -> str:
        """Return what is wrong with a redirect: too many of them, or a loop."""
        hops, one = 1, row
        while one.parent is not None:
            parent = self.frontier.by_id(one.parent)
            if parent is None or parent.target != one.id or parent.state != State.REDIRECTED:
                break
            if parent.url == target:
                return "redirects in a loop"
            hops, one = hops + 1, parent
        if target == row.url:
            return "redirects to itself"
        return "redirects more often than --max-redirect" if hops > self.options.network.max_redirect else ""

    def _cleaned(self, url: str | None) -> str | None:
        names = self.options.scope.strip_query
        return without_parameters(url, names) if url is not None and names else url

    # ---- files

    def decoded(self, response: Response) -> bytes:
        """Return the content of a response; of one that is not what its coding says, the bytes as they came."""
        try:
            if is_chunked(response.head) and self.archive is not None:
                self._dechunk(response)
            return decode_body(response.body, response.head, response.request.url)
        except Undecodable:
            return response.body

    def _keep(self, row: Row, response: Response) -> None:
        try:
            content = self._content(row, response)
        except Undecodable as problem:
            self._fail(row, "protocol", str(problem), response.head.status)
            return
        head = response.head
        start = content[:_SNIFFED] if content is not None else _start_of(response.file)
        kind = kind_of(head.media_type, row.place or "", start)
        if content is None and kind in _PARSED and response.file is not None:
            content = response.file.read_bytes()
        found = discover(kind, content or b"", row.url, head) if kind in _PARSED or head.get("link") else None
        reason = self._unkept(row)
        try:
            name = None if reason is not None else self._place(row, response, content)
        except (Outside, UnicodeEncodeError) as problem:
            self._fail(row, "file", f"cannot be written: {problem}", head.status)
            return
        except OSError as error:
            if error.errno not in _UNNAMEABLE:
                raise
            self._fail(row, "file", f"cannot be written: {error.strerror}", head.status)
            return
        size = response.size if content is None else len(content)
        self._store(row, response, _Kept(name, size, kind, reason), found)

    def _content(self, row: Row, response: Response) -> bytes | None:
        """Return the decoded body, ``None`` when it is in a file as it is. Raises ``Undecodable``."""
        if response.head.status == 206:
            self._complete(row, response)
        if is_chunked(response.head) and self.archive is not None:
            self._dechunk(response)
        if response.file is None:
            return decode_body(response.body, response.head, row.url)
        if is_coded(response.head):
            if response.size > LARGEST:
                raise Undecodable(f"a coded body of {response.size} bytes is too large")
            return decode_body(response.file.read_bytes(), response.head, row.url)
        return None

    def _complete(self, row: Row, response: Response) -> None:
        """Put the rest of a file behind its part. Raises ``Undecodable`` when they do not make a whole."""
        part = Path(part_of(self.mirror.spool, row))
        if response.file is None:
            before = part.stat().st_size if part.exists() else 0
            if not continues(response.head, before):
                raise Undecodable("a range came that was not asked for")
            with open(part, "ab") as file:
                file.write(response.body)
            response.file = part
        response.size = part.stat().st_size
        whole = total(response.head)
        if whole is not None and whole != response.size:
            raise Undecodable(f"its parts make {response.size} of {whole} bytes")

    def _dechunk(self, response: Response) -> None:
        """Undo the chunks of a body that was kept as it came, for a WARC file. Raises ``Undecodable``."""
        if response.file is not None:
            response.body = response.file.read_bytes()
            response.file.unlink()
            response.file = None
        response.body = dechunked(response.body)
        response.size = len(response.body)

    def _unkept(self, row: Row) -> str | None:
        """Return why the file is not kept though it was loaded, ``None`` when it is."""
        if self.options.spider:
            return "--spider"
        if self.options.again.delete_after:
            return "--delete-after"
        if row.place == "start" and not self.options.scope.level:
            return None
        refused = self.scope.name_refusal(parts_of(row.url).file or self.options.names.default_page)
        return f"needed for its links only; {refused.reason}" if refused is not None else None

    def _place(self, row: Row, response: Response, content: bytes | None) -> str:
        """Put the file under its name; return the name."""
        name = self._final_name(row, response.head)
        modified = http_time(response.head.get("last-modified")) if self.options.again.use_server_timestamps else None
        if row.disk is not None:
            self.mirror.forget_original(row.id)
        if content is not None:
            self.mirror.write(name, content, modified)
        else:
            assert response.file is not None
            self.mirror.take(name, response.file, modified)
        return name

    def _final_name(self, row: Row, head: Head) -> str:
        """Return the name with what only the response tells: Content-Disposition, the extension of the type."""
        assert row.name is not None
        names, wanted = self.options.names, row.name
        given = server_name(head.get("content-disposition") or "", names) if names.content_disposition else None
        if given is not None:
            wanted = wanted[: wanted.rfind("/") + 1] + given
        wanted = adjusted(wanted, head.media_type, names)
        if wanted == row.name:
            return wanted
        with self.frontier:
            self.claims.release(row.name)
            wanted = self.claims.claim(wanted)
            self.frontier.set_names([(wanted, row.id)])
        return wanted

    def _store(self, row: Row, response: Response, kept: _Kept, found: Discovered | None) -> None:
        head = response.head
        if row.depth == 0 and kept.kind is Kind.PAGE:
            self.frontier.set_meta(policy_key(parts_of(row.url).origin), head.get("content-security-policy"))
        state = State.CHECKED if kept.name is None else State.STORED
        with self.frontier:
            if found is not None:
                self._add_links(row, found)
            self.frontier.update(
                row.id, state, name=kept.name or row.name, status=head.status, type=head.media_type,
                charset=head.charset, kind=kept.kind.value, size=response.size, disk=kept.size, etag=head.get("etag"),
                modified=head.get("last-modified"), rule=None, reason=kept.reason,
            )  # fmt: skip
        self._count(kept.kind, response.size)
        self.journal.write(
            state.name.lower(), row.url, status=head.status, type=head.media_type, bytes=response.size,
            seconds=round(response.seconds, 4), file=kept.name, referrer=self._referrer(row), reason=kept.reason,
        )  # fmt: skip

    def _count(self, kind: Kind, size: int) -> None:
        scope = self.options.scope
        self.files += 1
        self.pages += kind is Kind.PAGE
        self.stored_bytes += size
        if scope.quota is not None and self.stored_bytes >= scope.quota:
            self.limit = Refusal("quota", f"--quota {scope.quota} is used up")
        if scope.max_pages is not None and self.pages >= scope.max_pages:
            self.limit = Refusal("max-pages", f"--max-pages {scope.max_pages} is reached")

    def _unchanged(self, row: Row) -> None:
        """Keep the file of a 304 and go on with the links that it had."""
        known = self.frontier.links(row.id)
        found = Discovered(known[0], list(unpack(known[1]))) if known is not None else self._links_on_disk(row)
        with self.frontier:
            self._add_links(row, found)
            self.frontier.update(row.id, State.STORED, rule=None, reason="not modified")
        self.journal.write("unchanged", row.url, status=304, file=row.name)

    def _links_on_disk(self, row: Row) -> Discovered:
        """Return the links of a file that another program, or ``--no-clobber``, left."""
        from adaptc import media

        assert row.name is not None
        media_type = media.by_name(row.name) or ""
        kind = kind_of(media_type, row.place or "", b"")
        if kind not in _PARSED:
            return Discovered(row.url)
        return discover(kind, self.mirror.read(row.name), row.url, Head(200))

    # ---- links

    def _add_links(self, row: Row, found: Discovered) -> None:
        self.frontier.remember_links(row.id, found.base, pack(found.links))
        rank, knows = row.rank or 0, self.frontier.knows
        new = (link for link in self._distinct(found.links) if not knows(link.url, rank, link.requisite))
        decided = [self._decided(row, link, found.nofollow) for link in new]
        self.frontier.add(row.id, rank, [one for one in decided if one is not None])

    def _distinct(self, links: Iterable[Link]) -> Iterable[Link]:
        """Return each URL once, as a requisite where it is one anywhere in the file.

        Where elements or spellings count, each of those once.
        """
        distinct: dict[tuple[str, str, bool], Link] = {}
        scope = self.options.scope
        strips, by_tag = scope.strip_query, bool(scope.follow_tags or scope.ignore_tags)
        for link in links:
            if strips:
                link = link._replace(url=without_parameters(link.url, strips))
            key = (link.url, link.tag if by_tag else "", link.is_relative and scope.relative)
            known = distinct.setdefault(key, link)
            if known is not link and _is_stronger(link, known):
                distinct[key] = link
        return distinct.values()

    def _decided(self, row: Row, link: Link, nofollow: bool) -> Found | None:
        candidate = Candidate(
            link.url, row.depth + 1, link.requisite, link.tag, link.is_relative, self._nofollow(link, nofollow)
        )
        refused = self.scope.refusal(candidate)
        if refused is None:
            return Found(link.url, row.depth + 1, link.requisite, link.place, link.line)
        if (link.url, refused.rule) in self._refused:
            return None
        if len(self._refused) >= _REFUSALS:
            self._refused.clear()
        self._refused.add((link.url, refused.rule))
        self.journal.write("refused", link.url, rule=refused.rule, reason=refused.reason, referrer=row.url)
        return Found(link.url, row.depth + 1, link.requisite, link.place, link.line, refused.rule, refused.reason)

    def _nofollow(self, link: Link, page_forbids: bool) -> str:
        if not self.options.robots or link.requisite:
            return ""
        if link.nofollow:
            return "its link says rel=nofollow"
        return "the page forbids to follow its links (meta robots or X-Robots-Tag)" if page_forbids else ""

    def add_sitemaps(self, found: Iterable[Found]) -> None:
        """Enter the sitemaps that a robots.txt names; scope is not asked, since their pages are asked for."""
        self.frontier.add(None, 0, [one for one in found if parts_of(one.url).host in self.scope.hosts])

    def keep_robots(self, url: str, response: Response, content: bytes) -> None:
        """Keep a robots.txt as a file of the site (as wget does), unless it is asked for as a page, too."""
        if self.options.spider or self.options.again.delete_after:
            return
        if self.scope.name_refusal("robots.txt") is not None:
            return
        self.frontier.add(None, 0, [Found(url, 1, requisite=False, place="robots.txt")])
        row = self.frontier.row(url)
        if row is None or row.state != State.FOUND:
            return
        name = row.name or self.claims.claim(name_of(url, self.options.names))
        self.mirror.write(name, content, http_time(response.head.get("last-modified")))
        self.frontier.update(
            row.id, State.STORED, name=name, status=response.head.status, type=response.head.media_type,
            size=len(content), disk=len(content), kind=Kind.OTHER.value,
        )  # fmt: skip

    def _referrer(self, row: Row) -> str | None:
        return self.frontier.url_of(row.parent) if row.parent is not None else None


# What is wrong with one name, and not with the disk: another file may still be written.
_UNNAMEABLE = (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EILSEQ, errno.EINVAL)
_ERROR_CLASS = {401: "auth", 407: "auth"}


def _is_stronger(link: Link, known: Link) -> bool:
    """Whether a second link to the same URL says more for following it than the first."""
    return (link.requisite and not known.requisite) or (known.nofollow and not link.nofollow)


def _referrer(parent: str, url: str) -> str | None:
    """Return the Referer of a request; a page had by TLS tells nobody without it (Referrer Policy's default)."""
    return None if parent.startswith("https:") and url.startswith("http:") else parent


def _may_hold_links(row: Row) -> bool:
    """Whether a URL's name may be that of a page, a sheet, or anything else with links."""
    from adaptc import media

    known = media.by_name(parts_of(row.url).file)
    return known is None or kind_of(known, row.place or "", b"") in _PARSED


def _start_of(file: Path | None) -> bytes:
    if file is None:
        return b""
    with open(file, "rb") as opened:
        return opened.read(_SNIFFED)
