"""The matrix: which requests are sent in a mode, and which version each must get.

It comes in two waves, since conditional requests need the validators that the first answers brought.
"""

from __future__ import annotations

import email.utils
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adaptc.serve.policy import NO_ACTION, Policy
from adaptc.serve.verify.judge import Baseline, Case
from adaptc.serve.verify.modes import Mode
from adaptc.serve.verify.negotiation import ORIGINAL, Version, expected
from adaptc.serve.verify.targets import Target
from adaptc.serve.verify.wire import Request, Response

BEST = "gzip, deflate, br, zstd"
# None: no such header. Each asks for something else of the pattern that the server matches.
ACCEPTS: tuple[str | None, ...] = (
    None,
    BEST,
    "",
    "identity",
    "gzip",
    "br",
    "zstd",
    "x-gzip",
    "GZIP",
    "gzip, deflate",
    "gzip;q=1.0, br;q=0.5",
    "br;q=0, gzip",
    "br;q=0.000 , zstd ; q=0, gzip; q=0.1",
    "gzip;q=0",
    "gzip;q=0, br;q=0, zstd;q=0, identity",
    "*",
    "*;q=0",
    "br;q=0, *",
    "identity;q=0, gzip",
    "deflate, compress",
    "xbr, notgzip, zstd-x",
)
FEW = (None, BEST)
PART = (0, 9)
TAIL = 5
FOREIGN = '"0-0-no-such-version"'


@dataclass(frozen=True, slots=True)
class Scene:
    """What all requests of a mode have in common: the policy, the mode, the kind of server, and how it was before."""

    policy: Policy
    mode: Mode
    server: str
    baselines: Mapping[str, Baseline]

    def wanted(
        self, target: Target, accept: str | None, asked: str = "normal", types: str | None = None
    ) -> tuple[Version, ...]:
        """Return the versions that may answer to a client that accepts these codings and media types."""
        trees = self.mode.trees(self.policy, asked)
        found = (expected(target.resource, tree, self.policy.codings, accept, types) for tree in trees)
        return tuple(version for versions in found for version in versions)

    def around(self, target: Target) -> Scene:
        """Return the scene that a target is in: one that is left out, or is stale, is not adapted."""
        is_stale = self.policy.is_strict and not self.mode.rejects and not is_fresh(self.policy, target.resource.path)
        if is_stale or self._is_left_out(target):
            return replace(self, mode=replace(self.mode, is_on=False, is_known=True))
        return self

    def _is_left_out(self, target: Target) -> bool:
        """Whether a path is not adapted: the user says so, or Apache would refuse its ``?`` in a rewritten path."""
        if self.server == "apache" and "?" in target.resource.path:
            return True
        path = f"/{target.resource.path}"
        return any(path == one or path.startswith(f"{one}/") for one in self.policy.serve.exclude)

    def is_refused(self, target: Target) -> bool:
        """Whether the server does not send the file without adaptation."""
        before = self.baselines.get(target.resource.path)
        return before is not None and before.status != 200

    @property
    def asked(self) -> str | None:
        """The class of a client that says nothing of itself, None without classes."""
        return "normal" if self.policy.serve.classes and self.mode.is_on else None


def is_fresh(policy: Policy, path: str) -> bool:
    """Whether a source has the time that was noted of it: only then does a strict server adapt it."""
    try:
        noted, found = os.stat(f"{policy.times}/{path}"), os.stat(f"{policy.docroot}/{path}")
    except OSError:
        return False
    return noted.st_mtime_ns == found.st_mtime_ns


def headers_of(accept: str | None, **others: str) -> dict[str, str]:
    """Return header fields; ``If_Range`` is If-Range."""
    named = {name.replace("_", "-"): value for name, value in others.items()}
    return named if accept is None else {"Accept-Encoding": accept, **named}


def first_wave(scene: Scene, target: Target) -> Iterator[Case]:
    """Yield the plain requests for a target, in the order of ``ACCEPTS``."""
    scene, path = scene.around(target), target.resource.path
    for accept in ACCEPTS:
        request = Request(target.url, headers_of(accept))
        if scene.is_refused(target):
            yield Case("GET", "refused", path, request)
        elif scene.mode.rejects:
            yield Case("GET", "rejected", path, request, asked=scene.asked)
        else:
            yield Case("GET", "full", path, request, scene.wanted(target, accept), scene.asked)


def second_wave(
    scene: Scene, target: Target, answers: Mapping[str | None, Response], etags: Mapping[str, Version]
) -> Iterator[Case]:
    """Yield HEAD, ranges, conditions and other methods, for who takes no coding and for who takes all.

    ``answers`` are those of the first wave by Accept-Encoding, ``etags`` the validators of this path met so far.
    """
    scene = scene.around(target)
    if scene.mode.rejects or scene.is_refused(target):
        return
    for accept in FEW:
        (version, *_), answer = scene.wanted(target, accept), answers[accept]
        if answer.status == 200:
            yield from _whole(scene, target, accept)
            yield from _ranges(scene, target, accept, version, answer)
            yield from _conditions(scene, target, accept, version, answer, etags)
    yield Case("other", "unadapted", target.resource.path, Request(target.url, {"Content-Length": "0"}, "POST"))


def _whole(scene: Scene, target: Target, accept: str | None) -> Iterator[Case]:
    wanted, path = scene.wanted(target, accept), target.resource.path
    yield Case("HEAD", "full", path, Request(target.url, headers_of(accept), "HEAD"), wanted, scene.asked)
    yield Case("GET", "full", path, Request(f"{target.url}?a=b&c", headers_of(accept)), wanted, scene.asked)


def _ranges(scene: Scene, target: Target, accept: str | None, version: Version, answer: Response) -> Iterator[Case]:
    size, etag = version.size, answer.header("etag")
    if size <= PART[1] + TAIL or answer.header("accept-ranges") == "none":
        return

    def part(first: int, last: int, **headers: str) -> Case:
        request = Request(target.url, headers_of(accept, **headers))
        return Case("Range", "part", target.resource.path, request, (version,), scene.asked, (first, last))

    def whole(**headers: str) -> Case:
        request = Request(target.url, headers_of(accept, Range="bytes=0-9", **headers))
        return Case("Range", "full", target.resource.path, request, scene.wanted(target, accept), scene.asked)

    yield part(*PART, Range="bytes=0-9")
    yield part(size - TAIL, size - 1, Range=f"bytes=-{TAIL}")
    yield part(size - 1, size - 1, Range=f"bytes={size - 1}-{size + 9}")
    yield whole(If_Range=FOREIGN)
    if is_strong(etag):
        yield part(*PART, Range="bytes=0-9", If_Range=etag)
    if version.level != ORIGINAL:
        yield whole(If_Range=http_date(time.time()))
    request = Request(target.url, headers_of(accept, Range=f"bytes={size + 9}-"))
    yield Case("Range", "out-of-range", target.resource.path, request)


def _conditions(
    scene: Scene,
    target: Target,
    accept: str | None,
    version: Version,
    answer: Response,
    etags: Mapping[str, Version],
) -> Iterator[Case]:
    path, etag, wanted = target.resource.path, answer.header("etag"), scene.wanted(target, accept)

    def case(check: str, **headers: str) -> Case:
        return Case("condition", check, path, Request(target.url, headers_of(accept, **headers)), wanted, scene.asked)

    yield case("full", If_None_Match=FOREIGN)
    yield case("failed-condition", If_Match=FOREIGN)
    if etag:
        yield case("not-modified", If_None_Match=etag)
        yield case("not-modified", If_None_Match=f'{FOREIGN}, "another", {etag}')
        if is_strong(etag):
            yield case("full", If_Match=etag)
    # who holds another version of this URL, from another level or coding, gets this one whole
    for other, held in etags.items():
        if held.sha256 != version.sha256:
            yield case("full", If_None_Match=other)
    if version.level != ORIGINAL:  # a date says nothing of a version
        yield case("full", If_Modified_Since=http_date(time.time()))
    elif answer.header("last-modified"):
        yield case("not-modified", If_Modified_Since=answer.header("last-modified"))


def is_strong(etag: str) -> bool:
    """Whether a validator is fit for If-Match and If-Range (RFC 9110, section 8.8.1)."""
    return bool(etag) and not etag.startswith("W/")


def http_date(moment: float) -> str:
    """Return a time as HTTP writes it (RFC 9110, section 5.6.7)."""
    return email.utils.formatdate(moment, usegmt=True)


def directory_cases(scene: Scene, target: Target) -> Iterator[Case]:
    """Yield requests for a directory, with its slash and without; ``target.url`` ends with the slash."""
    scene = scene.around(target)
    if scene.mode.rejects or scene.is_refused(target):
        return
    path = target.resource.path
    for accept in FEW:
        for method in ("GET", "HEAD"):
            request = Request(target.url, headers_of(accept), method)
            yield Case("directory", "full", path, request, scene.wanted(target, accept), scene.asked)
    without = target.url.rstrip("/")
    if without != scene.policy.prefix:
        yield Case("directory", "redirected", path, Request(without))


# What a client may ask for with X-Server-Actions, and what that counts as; words that nobody knows get the original.
ASKED: tuple[tuple[str, str], ...] = (
    (".poor", "poor"),
    (".rich", "rich"),
    (".gz .poor", "poor"),
    ("../../etc/passwd", NO_ACTION),
    (".poorer", NO_ACTION),
)
# What it may hint at, and the class that it has then.
HINTED: tuple[tuple[Mapping[str, str], str], ...] = (
    ({"Save-Data": "on"}, "poor"),
    ({"ECT": "2g"}, "poor"),
    ({"ECT": "slow-2g", "Downlink": "10"}, "poor"),
    ({"Downlink": "0.1"}, "poor"),
    ({"ECT": "4g", "Downlink": "10", "Save-Data": "off"}, "normal"),
)


def class_cases(scene: Scene, target: Target) -> Iterator[Case]:
    """Yield requests of clients of all classes, and of those that ask for a class or a level."""
    scene, policy = scene.around(target), scene.policy
    if not (policy.serve.classes and scene.mode.is_on) or scene.mode.rejects or scene.is_refused(target):
        return
    for said, asked, known in _clients(policy):
        for accept in FEW:
            wanted = scene.wanted(target, accept, asked)
            request = Request(target.url, {**headers_of(accept), **said})
            # the class is not looked for where the original is sent anyway
            shown = None if asked == NO_ACTION else known
            yield Case("class", "full", target.resource.path, request, wanted, shown)


def _clients(policy: Policy) -> Iterator[tuple[Mapping[str, str], str, str]]:
    """Yield header fields, what they count as, and the class of the client."""
    for word, asked in (*ASKED, *((f".{level}", level) for level in policy.levels)):
        yield {"X-Server-Actions": word}, asked, "normal"
    for said, known in HINTED if policy.serve.hints else ():
        yield said, known, known
        yield {"X-Server-Actions": ".rich", **said}, "rich", known
