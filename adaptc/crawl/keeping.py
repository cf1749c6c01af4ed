"""The body of a response becomes a file of the mirror, complete and under its name."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from adaptc.crawl.bodies import LARGEST, Undecodable, dechunked, decode_body, is_chunked, is_coded
from adaptc.crawl.claims import Claims
from adaptc.crawl.discover.content import PARSED, Kind, discover, kind_of
from adaptc.crawl.discover.link import Discovered
from adaptc.crawl.fetch import Response
from adaptc.crawl.frontier import Frontier
from adaptc.crawl.head import Head
from adaptc.crawl.mirror import Mirror, Outside, http_time
from adaptc.crawl.names import adjusted, server_name
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.partial import continues, part_of, total
from adaptc.crawl.rows import Row
from adaptc.crawl.scope import Scope
from adaptc.crawl.weburl import parts_of

_SNIFFED = 512
# What is wrong with one name, and not with the disk: another file may still be written.
_UNNAMEABLE = (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EILSEQ, errno.EINVAL)


class Unkept(Exception):
    """A body cannot be kept: ``kind`` is the class of the failure, the message says why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a body.

    ``name`` is ``None`` where it is not kept, for ``reason``; ``size`` are its bytes on disk, ``found`` what it leads
    to, ``None`` for a file that holds no links.
    """

    name: str | None
    size: int
    kind: Kind
    reason: str | None
    found: Discovered | None


class Keeping:
    """Keeps bodies. ``is_raw`` says that they come in the chunks of the wire (for a WARC file)."""

    def __init__(
        self, options: CrawlOptions, scope: Scope, frontier: Frontier, mirror: Mirror, claims: Claims, *, is_raw: bool
    ) -> None:
        self.options, self.scope, self.frontier = options, scope, frontier
        self.mirror, self.claims, self.is_raw = mirror, claims, is_raw

    def keep(self, row: Row, response: Response) -> Kept:
        """Write the file of a response. Raises ``Unkept``, and ``OSError`` when nothing can be written."""
        try:
            content = self._content(row, response)
        except Undecodable as problem:
            raise Unkept("protocol", f"could not be read: {problem}") from None
        head = response.head
        kind = kind_of(head.media_type, row.place or "", _start_of(response, content))
        if content is None and kind in PARSED and response.file is not None:
            content = response.file.read_bytes()
        has_links = kind in PARSED or head.get("link") is not None
        found = discover(kind, content or b"", row.url, head) if has_links else None
        reason = self._unwanted(row)
        name = self._placed(row, response, content) if reason is None else None
        return Kept(name, response.size if content is None else len(content), kind, reason, found)

    def _placed(self, row: Row, response: Response, content: bytes | None) -> str:
        """Put the file under its name; return the name. Raises ``Unkept``."""
        try:
            return self._place(row, response, content)
        except (Outside, UnicodeEncodeError) as problem:
            raise Unkept("file", f"cannot be written: {problem}") from None
        except OSError as error:
            if error.errno not in _UNNAMEABLE:
                raise
            raise Unkept("file", f"cannot be written: {error.strerror}") from None

    def decoded(self, response: Response) -> bytes:
        """Return the content of a response; of one that is not what its coding says, the bytes as they came."""
        try:
            if is_chunked(response.head) and self.is_raw:
                self._dechunk(response)
            return decode_body(response.body, response.head, response.request.url)
        except Undecodable:
            return response.body

    def _content(self, row: Row, response: Response) -> bytes | None:
        """Return the decoded body, ``None`` when it is in a file as it is. Raises ``Undecodable``."""
        if response.head.status == 206:
            self._complete(row, response)
        if is_chunked(response.head) and self.is_raw:
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

    def _unwanted(self, row: Row) -> str | None:
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


def _start_of(response: Response, content: bytes | None) -> bytes:
    """Return the first bytes of a body, by which its kind is told."""
    if content is not None:
        return content[:_SNIFFED]
    if response.file is None:
        return b""
    with open(response.file, "rb") as opened:
        return opened.read(_SNIFFED)
