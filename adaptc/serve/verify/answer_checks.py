"""Compares answers with the policy: a fault is a diagnostic."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes
from adaptc.core.media import HTML
from adaptc.core.model import MEDIA_TYPES, TOKENS, is_dictionary, is_negotiable, token_of
from adaptc.core.urls import quote_path, unquote_path
from adaptc.core.values import dataclass, field
from adaptc.formats.codings import CodingError, decode
from adaptc.serve.policy import LABELS, PRIVATE, Policy, page_label
from adaptc.serve.server import Launcher
from adaptc.serve.verify.cases import pattern_of_versions
from adaptc.serve.verify.http_client import Response
from adaptc.serve.verify.negotiation import ORIGINAL, Version
from adaptc.serve.verify.scenario import Baseline, Case

# Header fields that the site itself must send for a level to have them
SITE_HEADERS = (
    "content-type",
    "content-language",
    "content-security-policy",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
    "referrer-policy",
    "permissions-policy",
    "link",
)
# All that it sends must be the same in every answer, but for what depends on time, the connection, or the version
# that is sent (RFC 9110, section 8; the last two are examined apart)
OF_ONE_ANSWER = frozenset(
    {
        *("date", "age", "expires", "set-cookie", "connection", "keep-alive", "transfer-encoding", "alt-svc"),
        *("content-length", "content-encoding", "etag", "last-modified", "accept-ranges", "content-range"),
        *("vary", "cache-control"),
    }
)
NONE = "none"
UNADAPTED = ("", "-")  # X-Adapt of an original


@dataclass(slots=True)
class AnswerChecker:
    """Compares answers with the policy; stores the ETags of each URL.

    ``locate`` returns the file of a version. With ``is_cached`` answers are those of a cache that keeps them by
    level and lets no other cache do so; ``launcher`` says what else is expected of the server. ``ordinary`` has, by
    hostile request, status and digest of what the server sends without adaptation, which are no faults of adaptation.
    """

    policy: Policy
    locate: Callable[[str, Version], Path]
    is_cached: bool = False
    launcher: Launcher | None = None
    baselines: dict[str, Baseline] = field(default_factory=dict)
    etags: dict[str, dict[str, Version]] = field(default_factory=dict)
    ordinary: dict[str, tuple[int, str]] = field(default_factory=dict)

    def faults(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """Yield the faults of an answer."""
        return CHECKS[case.check](self, case, response)

    def full(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A whole version, or its header after HEAD."""
        if response.status != 200:
            yield wrong_status(case, response, 200)
            return
        version = self._version(case, response)
        if version is None:
            yield fault("server-body", case, got=shown_body(response), wanted=case.wanted[0])
            return
        yield from self._headers(case, response, version)
        yield from self._length(case, response, version)
        yield from self._etag(case, response, version)

    def part(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """The bytes ``part`` of the first version (RFC 9110, section 15.3.7)."""
        (first, last), version = case.part, case.wanted[0]
        if response.status != 206:
            yield wrong_status(case, response, 206)
            return
        content_range, wanted = response.header("content-range"), f"bytes {first}-{last}/{version.size}"
        if content_range != wanted:
            yield wrong_header(case, "Content-Range", content_range, wanted)
        if response.body != self.locate(case.path, version).read_bytes()[first : last + 1]:
            yield fault("server-body", case, got=shown_body(response), wanted=f"a part of {version}")
        yield from self._headers(case, response, version)

    def not_modified(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """No body, and no coding of a missing body (RFC 9110, section 15.4.5)."""
        yield from self._bare(case, response, 304)
        yield from self._vary(case, response)

    def out_of_range(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A range beyond the end."""
        yield from self._bare(case, response, 416)

    def failed_condition(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A condition that does not hold."""
        yield from self._bare(case, response, 412)

    def rejected(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """Level 0: come again later."""
        yield from self._bare(case, response, 503)
        for name, wanted in (("Retry-After", str(self.policy.serve.retry_after)), ("Cache-Control", "no-store")):
            if response.header(name) != wanted:
                yield wrong_header(case, name, response.header(name), wanted)

    def refused(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """The server refuses the same files with and without adaptation."""
        status = self.baselines[case.path].status
        if response.status != status:
            yield fault("server-access", case, before=status, got=response.status)

    def not_found(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A file that was removed."""
        if response.status != 404:
            yield wrong_status(case, response, 404)

    def unadapted(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """Another method: any answer that does not fail and is not a level."""
        if response.status >= 500:
            yield wrong_status(case, response, "below 500")
        if response.status == 200 and response.header("x-adapt") not in UNADAPTED:
            yield wrong_header(case, "X-Adapt", response.header("x-adapt"), NONE)

    def harmless(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A hostile request: an answer without injected header fields, and no file outside the site."""
        status, body = self.ordinary.get(str(case.request), (0, ""))
        if response.status >= 500 and response.status != status:
            yield wrong_status(case, response, "below 500")
        is_known = body == digest_bytes(response.body)
        leaks = (
            response.status == 200 and not is_known and not any(is_body(response, version) for version in case.wanted)
        )
        if leaks or "x-injected" in response.headers:
            yield fault("server-leak", case, got=shown_body(response))

    def unbroken(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A request for too much: any answer but a failure."""
        if response.status >= 500:
            yield wrong_status(case, response, "below 500")

    def redirected(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A directory without its slash."""
        if response.status not in (301, 302, 307, 308):
            yield wrong_status(case, response, 301)
        elif not response.header("location").endswith(case.request.target + "/"):
            yield wrong_header(case, "Location", response.header("location"), f"{case.request.target}/")

    def immutable(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """A file that only trees have, named by its content: caches may store it forever."""
        if response.status != 200:
            yield wrong_status(case, response, 200)
        elif not any(is_body(response, version) for version in case.wanted):
            yield fault("server-body", case, got=shown_body(response), wanted=case.wanted[0])
        elif "immutable" not in response.header("cache-control"):
            yield wrong_header(case, "Cache-Control", response.header("cache-control"), "immutable")
        else:
            yield from self._use(case, response)

    # ---- parts of rules

    def _use(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        """Yield a fault where browsers would not take a dictionary for the site's pages, or another file for one."""
        name, wanted = "use-as-dictionary", ""
        if self.policy.dictionaries and is_dictionary(case.path):
            # in a pattern some characters need a backslash, which in turn needs one in a string (RFC 9651)
            prefix = "".join(rf"\\{char}" if char in "*+:?" else char for char in quote_path(self.policy.prefix))
            wanted = f'match="{prefix}/*", match-dest=("document" "")'
        if response.header(name) != wanted:
            yield wrong_header(case, name.title(), response.header(name), wanted or NONE)

    def _version(self, case: Case, response: Response) -> Version | None:
        """Return the version that was sent: by its bytes, of equal ones by X-Adapt; after HEAD by its coding."""
        if case.request.method == "HEAD":
            coding = response.header("content-encoding")
            return next((version for version in case.wanted if token_of(version.coding) == coding), case.wanted[0])
        equal = [version for version in case.wanted if is_body(response, version)]
        x_adapt = response.header("x-adapt")
        named = ORIGINAL if x_adapt in UNADAPTED else x_adapt
        return next((version for version in equal if str(version) == named), equal[0] if equal else None)

    def _headers(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        coding, wanted = response.header("content-encoding"), token_of(version.coding)
        if version.level != ORIGINAL and coding != wanted:
            yield wrong_header(case, "Content-Encoding", coding, wanted or NONE)
        yield from self._vary(case, response)
        yield from self._site_headers(case, response, version)
        yield from self._caching(case, response, version)
        yield from self._versions(case, response, version)
        yield from self._exposed(case, response, version)

    def _vary(self, case: Case, response: Response) -> Iterator[Diagnostic]:
        fields = {name.strip().lower() for name in response.header("vary").split(",")}
        negotiated = {"accept"} if self.policy.formats and is_negotiable(case.path) else set[str]()
        chosen = set[str]() if negotiated else {name.lower() for name in self.policy.vary.split(", ")}
        wanted = {"accept-encoding"} | negotiated | chosen
        is_wider = "accept" in fields - wanted and case.path in self.baselines and not self._varied_before(case.path)
        if "*" not in fields and (is_wider or not wanted <= fields):
            yield wrong_header(case, "Vary", response.header("vary"), ", ".join(sorted(wanted, reverse=True)).title())

    def _varied_before(self, path: str) -> bool:
        """Whether the site's own answer varies by media types."""
        fields = self.baselines[path].headers.get("vary", "").lower().split(",")
        return "accept" in (name.strip() for name in fields)

    def _site_headers(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        baseline = self.baselines.get(case.path)
        if baseline is None:
            return
        for name in dict.fromkeys((*SITE_HEADERS, *(baseline.headers.keys() - OF_ONE_ANSWER))):
            old, new = baseline.headers.get(name, ""), response.header(name)
            if name == "content-type":
                old = MEDIA_TYPES.get(version.coding, old)
            elif name == "link":
                old = ", ".join(filter(None, (old, self._offer(case, response, version))))
            if old != new:
                yield wrong_header(case, name.title(), new, old or NONE)

    def _offer(self, case: Case, response: Response, version: Version) -> str:
        """Return the field Link of a page for a client that does not hold the dictionary that encodes it."""
        name = self.policy.dictionaries.get(version.level)
        if name is None or not response.header("content-type").startswith(HTML):
            return ""
        is_held = case.request.headers.get("Available-Dictionary") == f":{name}=:"
        files = (
            self.policy.dictionary_file(version.level),
            f"{self.policy.coded_directory(version.level)}/{case.path}",
        )
        return "" if is_held or not all(map(os.path.isfile, files)) else link(self.policy, name)

    def _caching(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        baseline = self.baselines.get(case.path)
        old = baseline.headers.get("cache-control", "") if baseline is not None else ""
        wanted: dict[str, str]
        if version.level in self.policy.degraded:
            is_anybodys = "X-Server-Actions" not in case.request.headers and case.requested in (None, "normal")
            fields = {} if self.is_cached else self.policy.shared_fields
            wanted = dict.fromkeys(fields, "") | {"Cache-Control": PRIVATE} | dict(fields if is_anybodys else {})
            level = self.policy.label(version.level) if fields and is_anybodys else ""
        else:
            wanted, level = {} if baseline is None else {"Cache-Control": old}, ""
        if self.policy.shared_fields and not self.is_cached:
            yield from self._labels(case, response, level)
        for name, value in wanted.items():
            # of two values the stricter one counts (RFC 9111, section 4.2.1)
            either = (value, f"{old}, {value}") if name == "Cache-Control" else (value,)
            if response.header(name) not in either:
                yield wrong_header(case, name, response.header(name), value or NONE)
        if version.level != ORIGINAL and "last-modified" in response.headers:
            yield wrong_header(case, "Last-Modified", response.header("last-modified"), NONE)

    def _labels(self, case: Case, response: Response, level: str) -> Iterator[Diagnostic]:
        """Yield a fault where the labels of level and page are not named; that of an index page may be its own."""
        paths = (f"{self.policy.prefix}/{case.path}", unquote_path(case.request.target.partition("?")[0]))
        pages = [page_label(self.policy.name, path) for path in paths]
        for name, separator in LABELS.items():
            wanted = [f"{level}{separator if level else ''}{page}" for page in pages]
            if response.header(name) not in wanted:
                yield wrong_header(case, name, response.header(name), wanted[0])

    def _versions(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        """Yield a fault where a style sheet or script is not said to be a dictionary of its later versions."""
        is_used = version.level in self.policy.version_levels
        pattern = pattern_of_versions(quote_path(f"{self.policy.prefix}/{case.path}")) if is_used else None
        wanted = f'match="{pattern}", match-dest=("style" "script" "")' if pattern else ""
        if response.header("use-as-dictionary") != wanted:
            yield wrong_header(case, "Use-As-Dictionary", response.header("use-as-dictionary"), wanted or NONE)

    def _exposed(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        if not self.policy.serve.expose:
            return
        if version.level != ORIGINAL and response.header("x-adapt") != str(version):
            yield wrong_header(case, "X-Adapt", response.header("x-adapt"), str(version))
        if case.requested is not None and response.header("x-class") != case.requested:
            yield wrong_header(case, "X-Class", response.header("x-class"), case.requested)

    def _length(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        length = response.header("content-length")
        if version.level == ORIGINAL or (case.request.method == "HEAD" and not length):  # RFC 9110, section 8.6
            return
        if length != str(version.size):
            yield wrong_header(case, "Content-Length", length, str(version.size))

    def _etag(self, case: Case, response: Response, version: Version) -> Iterator[Diagnostic]:
        """Yield a fault where two versions of a URL share a validator: a wrong 304 would follow."""
        etag = response.header("etag").removeprefix("W/")
        if etag:
            other = self.etags.setdefault(case.path, {}).setdefault(etag, version)
            if other.sha256 != version.sha256:
                yield diagnose("server-etag", Location(case.path), etag=etag, version=version, other=other)
        elif version.level != ORIGINAL:
            yield wrong_header(case, "ETag", "", "one")

    def _bare(self, case: Case, response: Response, status: int) -> Iterator[Diagnostic]:
        """Yield a fault for another status, or where a client would decode a body that is no version."""
        if response.status != status:
            yield wrong_status(case, response, status)
        elif self.launcher is not None and self.launcher.keeps_coding and status in (304, 412):
            return
        elif response.header("content-encoding") and (response.body or status == 304):
            yield wrong_header(case, "Content-Encoding", response.header("content-encoding"), NONE)


CHECKS: Mapping[str, Callable[[AnswerChecker, Case, Response], Iterator[Diagnostic]]] = {
    "full": AnswerChecker.full,
    "part": AnswerChecker.part,
    "not-modified": AnswerChecker.not_modified,
    "out-of-range": AnswerChecker.out_of_range,
    "failed-condition": AnswerChecker.failed_condition,
    "rejected": AnswerChecker.rejected,
    "refused": AnswerChecker.refused,
    "not-found": AnswerChecker.not_found,
    "unadapted": AnswerChecker.unadapted,
    "harmless": AnswerChecker.harmless,
    "unbroken": AnswerChecker.unbroken,
    "redirected": AnswerChecker.redirected,
    "immutable": AnswerChecker.immutable,
}


def is_body(response: Response, version: Version) -> bool:
    """Whether the body is that version; an original may be compressed by the server itself."""
    if digest_bytes(response.body) == version.sha256:
        return True
    own = {token: coding for coding, token in TOKENS.items()}.get(response.header("content-encoding"))
    if version.level != ORIGINAL or own is None:
        return False
    return digest_bytes(_decoded(response.body, own)) == version.sha256


def link(policy: Policy, name: str) -> str:
    """Return a link to the dictionary ``name``."""
    return f'<{quote_path(policy.prefix)}/_adaptc/{name}.dict>; rel="compression-dictionary"'


def _decoded(body: bytes, coding: str) -> bytes:
    """Return a body without its coding; empty where it has another one."""
    try:
        return decode(body, coding, None)
    except CodingError:
        return b""


def shown_body(response: Response) -> str:
    """Return the description of an unknown body in a message."""
    x_adapt = response.header("x-adapt")
    return f"{len(response.body):,} other bytes" + (f" (X-Adapt: {x_adapt})" if x_adapt else "")


def fault(kind: str, case: Case, **fields: object) -> Diagnostic:
    """Return a diagnostic about a case."""
    return diagnose(kind, Location(case.path), request=case.request, **fields)


def wrong_status(case: Case, response: Response, wanted: int | str) -> Diagnostic:
    """Return the diagnostic of a wrong status."""
    return fault("server-status", case, got=response.status, wanted=wanted)


def wrong_header(case: Case, name: str, got: str, wanted: str) -> Diagnostic:
    """Return the diagnostic of a wrong header field."""
    return fault("server-header", case, name=name, got=got or NONE, wanted=wanted)
