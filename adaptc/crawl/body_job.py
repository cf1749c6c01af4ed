"""Processes one response body: decodes it, extracts its links and writes its file."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path
from typing import NamedTuple

from adaptc.core.values import dataclass
from adaptc.crawl.discover.content import PARSED, Kind, RunningPage, discover, kind_of, most_parsed
from adaptc.crawl.discover.link import Discovery, Link, distinct
from adaptc.crawl.http import LARGEST, BodyTooLarge, DecodeError, Head, dechunked, decode_body, is_chunked, is_coded
from adaptc.crawl.mirror import Mirror, OutsideMirror
from adaptc.crawl.request import continues, part_of, total
from adaptc.crawl.scope import ScopeOptions, too_large
from adaptc.crawl.store import pack

UNPARSED = "unparsed"  # the rule that is noted for a file that is too large to be read for its links
_SNIFFED = 512
# What is wrong with one name, and not with the disk: another file may still be written.
_UNNAMEABLE = (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EILSEQ, errno.EINVAL)


class Job(NamedTuple):
    """A response to process.

    ``number`` is the id of its URL, ``place`` that of the first link to it. The body, with its content coding, is
    in ``body`` or in ``file``, of ``size`` bytes. ``name`` is that of its file, ``None`` where it is read for its
    links only; ``modified`` the file's modification time in seconds since 1970. ``is_old`` says that an earlier crawl
    stored the URL. ``page`` is the base URL of the page that runs a script, and the name of its file, if it has one.
    """

    number: int
    url: str
    place: str
    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes
    file: str | None
    size: int
    name: str | None
    modified: float | None
    is_old: bool
    page: tuple[str, str] | None = None


class FileLinks(NamedTuple):
    """The links of a file: all of them ``packed`` for the frontier, and in ``links`` the distinct ones.

    ``base`` and ``nofollow`` are as in ``Discovery``.
    """

    base: str
    nofollow: bool
    packed: bytes
    links: list[Link]


class BodyResult(NamedTuple):
    """A processed body: its kind, and bytes received and on disk; ``file_links`` is ``None`` for a kind without.

    ``is_unparsed`` says that it is too large to be read for its links.
    """

    kind: str
    size: int
    disk: int
    is_unparsed: bool
    file_links: FileLinks | None


class BodyError(Exception):
    """A body cannot be stored: ``kind`` is the class of the failure, the message says why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


def file_links_of(discovered: Discovery, scope: ScopeOptions) -> FileLinks:
    """Return a file's links as the frontier stores and follows them."""
    return FileLinks(discovered.base, discovered.nofollow, pack(discovered.links), distinct(discovered.links, scope))


@dataclass(slots=True)
class _Body:
    """The bytes of a response on their way: in memory, or in a file."""

    content: bytes
    file: Path | None
    size: int


class JobRunner:
    """Runs jobs.

    ``is_raw`` says that bodies still have their chunks (for a WARC file); ``agent`` is as in ``discover``.
    """

    def __init__(self, mirror: Mirror, scope: ScopeOptions, *, is_raw: bool, agent: str = "") -> None:
        self.mirror, self.scope, self.is_raw, self.agent = mirror, scope, is_raw, agent

    def run(self, job: Job) -> BodyResult:
        """Process a response and write its file.

        Raises ``BodyError``, and ``OSError`` when no file can be written any more: the body stays in its file then, for
        the next crawl to resume.
        """
        body = _Body(job.body, Path(job.file) if job.file is not None else None, job.size)
        try:
            result = self._read(job, body)
        except (BodyError, BodyTooLarge, DecodeError) as problem:
            _discard(body)
            raise self._error(problem) from problem
        _discard(body)
        return result

    def _read(self, job: Job, body: _Body) -> BodyResult:
        head = Head(job.status, job.fields)
        content = self._content(job, head, body)
        size = body.size if content is None else len(content)
        if self.scope.max_filesize is not None and size > self.scope.max_filesize:
            raise BodyError(*too_large(self.scope.max_filesize))
        kind = kind_of(head.media_type, job.place, _start_of(content, body))
        is_unparsed = kind in PARSED and size > most_parsed(kind)
        parsed = Kind.OTHER if is_unparsed else kind
        if content is None and parsed in PARSED and body.file is not None:
            content = body.file.read_bytes()
        has_links = kind in PARSED or head.get("link") is not None
        file_links = self._links(parsed, content or b"", job, head) if has_links else None
        if job.name is not None:
            self._place(job, job.name, content, body)
        return BodyResult(kind.value, body.size, size, is_unparsed, file_links)

    def _error(self, problem: BodyError | BodyTooLarge | DecodeError) -> BodyError:
        """Return the error of a body: one may be larger when decoded than ``--max-filesize``, or than any may be."""
        limit = self.scope.max_filesize
        if isinstance(problem, BodyError):
            return problem
        if isinstance(problem, BodyTooLarge) and limit is not None and limit <= LARGEST:
            return BodyError(*too_large(limit))
        return BodyError("protocol", f"could not be read: {problem}")

    def _links(self, kind: Kind, content: bytes, job: Job, head: Head) -> FileLinks:
        page = None if job.page is None else RunningPage(job.page[0], partial(self._markup, job.page[1]))
        return file_links_of(discover(kind, content, job.url, head, self.agent, page), self.scope)

    def _markup(self, name: str) -> bytes:
        return self.mirror.read(name) if name and self.mirror.size(name) is not None else b""

    def _content(self, job: Job, head: Head, body: _Body) -> bytes | None:
        """Return the decoded body, ``None`` when it is in a file as it is. Raises ``DecodeError``."""
        if job.status == 206:
            self._complete(job, head, body)
        if is_chunked(head) and self.is_raw:
            _dechunk(body)
        if body.file is None:
            return decode_body(body.content, head, job.url, self._most)
        if is_coded(head):
            if body.size > LARGEST:
                raise DecodeError(f"a coded body of {body.size} bytes is too large")
            return decode_body(body.file.read_bytes(), head, job.url, self._most)
        return None

    @property
    def _most(self) -> int:
        """Bytes of a decoded body at the most."""
        return min(LARGEST, self.scope.max_filesize or LARGEST)

    def _complete(self, job: Job, head: Head, body: _Body) -> None:
        """Append the rest of a file to its part. Raises ``DecodeError`` when together they are not the whole file."""
        part = Path(part_of(self.mirror.spool, job.number))
        if body.file is None:
            before = part.stat().st_size if part.exists() else 0
            if not continues(head, before):
                raise DecodeError("a range came that was not asked for")
            with open(part, "ab") as file:
                file.write(body.content)
            body.file = part
        body.size = part.stat().st_size
        whole = total(head)
        if whole is not None and whole != body.size:
            raise DecodeError(f"its parts make {body.size} of {whole} bytes")

    def _place(self, job: Job, name: str, content: bytes | None, body: _Body) -> None:
        """Put the file under its name. Raises ``BodyError``, and ``OSError`` when nothing can be written."""
        try:
            if job.is_old:
                self.mirror.forget_original(job.number)
            if content is not None:
                self.mirror.write(name, content, job.modified)
            else:
                assert body.file is not None
                self.mirror.take(name, body.file, job.modified)
        except (OutsideMirror, UnicodeEncodeError) as problem:
            raise BodyError("file", f"cannot be written: {problem}") from None
        except OSError as error:
            if error.errno not in _UNNAMEABLE:
                raise
            raise BodyError("file", f"cannot be written: {error.strerror}") from None


def _discard(body: _Body) -> None:
    """Remove the file of a body that has been processed, if it is in one."""
    if body.file is not None:
        body.file.unlink(missing_ok=True)


def _dechunk(body: _Body) -> None:
    """Undo the chunks of a body that was kept as it came, for a WARC file. Raises ``DecodeError``."""
    if body.file is not None:
        body.content = body.file.read_bytes()
        body.file.unlink()
        body.file = None
    body.content = dechunked(body.content)
    body.size = len(body.content)


def _start_of(content: bytes | None, body: _Body) -> bytes:
    """Return the first bytes of a body, which tell its kind."""
    if content is not None:
        return content[:_SNIFFED]
    if body.file is None:
        return b""
    with open(body.file, "rb") as opened:
        return opened.read(_SNIFFED)
