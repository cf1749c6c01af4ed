"""The requests of a mode, and the version that each must get.

They come in two waves, since conditional requests need the validators of the first answers.
"""

from __future__ import annotations

import email.utils
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adaptc.core.model import MEDIA_TYPES, is_negotiable
from adaptc.serve.policy import NO_ACTION, Policy
from adaptc.serve.verify.http_client import Request, Response
from adaptc.serve.verify.modes import SWITCHING
from adaptc.serve.verify.negotiation import ORIGINAL, Version
from adaptc.serve.verify.scenario import BEST, Case, Scenario, Target, headers_of

# Values of Accept-Encoding; None: no such header. Each tests another part of the pattern that the server matches.
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


def first_wave(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield the plain requests for a target, in the order of ``ACCEPTS``."""
    scenario, path = scenario.of_target(target), target.resource.path
    for accept in ACCEPTS:
        request = Request(target.url, headers_of(accept))
        if scenario.is_refused(target):
            yield Case("GET", "refused", path, request)
        elif scenario.mode.rejects:
            yield Case("GET", "rejected", path, request, requested=scenario.requested)
        else:
            yield Case("GET", "full", path, request, scenario.wanted(target, accept), scenario.requested)


def second_wave(
    scenario: Scenario, target: Target, answers: Mapping[str | None, Response], etags: Mapping[str, Version]
) -> Iterator[Case]:
    """Yield HEAD, ranges, conditions and other methods, for clients that accept no coding and all codings.

    ``answers`` are those of the first wave by Accept-Encoding, ``etags`` the validators of this path so far.
    """
    scenario = scenario.of_target(target)
    if scenario.mode.rejects or scenario.is_refused(target):
        return
    for accept in FEW:
        (version, *_), answer = scenario.wanted(target, accept), answers[accept]
        if answer.status == 200:
            yield from _whole(scenario, target, accept)
            yield from _ranges(scenario, target, accept, answers)
            yield from _conditions(scenario, target, accept, version, answer, etags)
    yield Case("other", "unadapted", target.resource.path, Request(target.url, {"Content-Length": "0"}, "POST"))


def _whole(scenario: Scenario, target: Target, accept: str | None) -> Iterator[Case]:
    wanted, path = scenario.wanted(target, accept), target.resource.path
    yield Case("HEAD", "full", path, Request(target.url, headers_of(accept), "HEAD"), wanted, scenario.requested)
    yield Case("GET", "full", path, Request(f"{target.url}?a=b&c", headers_of(accept)), wanted, scenario.requested)


def _ranges(
    scenario: Scenario, target: Target, accept: str | None, answers: Mapping[str | None, Response]
) -> Iterator[Case]:
    decisive = scenario.accept_of_ranges(accept)
    wanted, answer = scenario.wanted(target, decisive), answers[decisive]
    version, etag = wanted[0], answer.header("etag")
    size = version.size
    if size <= PART[1] + TAIL or answer.header("accept-ranges") == "none":
        return

    def part(first: int, last: int, **headers: str) -> Case:
        request = Request(target.url, headers_of(accept, **headers))
        return Case("Range", "part", target.resource.path, request, (version,), scenario.requested, (first, last))

    def whole(**headers: str) -> Case:
        request = Request(target.url, headers_of(accept, Range="bytes=0-9", **headers))
        return Case("Range", "full", target.resource.path, request, wanted, scenario.requested)

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
    scenario: Scenario,
    target: Target,
    accept: str | None,
    version: Version,
    answer: Response,
    etags: Mapping[str, Version],
) -> Iterator[Case]:
    path, etag, wanted = target.resource.path, answer.header("etag"), scenario.wanted(target, accept)

    def case(check: str, **headers: str) -> Case:
        return Case(
            "condition", check, path, Request(target.url, headers_of(accept, **headers)), wanted, scenario.requested
        )

    yield case("full", If_None_Match=FOREIGN)
    yield case("failed-condition", If_Match=FOREIGN)
    if etag:
        yield case("not-modified", If_None_Match=etag)
        yield case("not-modified", If_None_Match=f'{FOREIGN}, "another", {etag}')
        if is_strong(etag):
            yield case("full", If_Match=etag)
    # A client with another version of this URL, from another level or coding, gets this one whole.
    for other_etag, other in etags.items():
        if other.sha256 != version.sha256:
            yield case("full", If_None_Match=other_etag)
    if version.level != ORIGINAL:  # a date does not identify a version
        yield case("full", If_Modified_Since=http_date(time.time()))
    elif answer.header("last-modified"):
        yield case("not-modified", If_Modified_Since=answer.header("last-modified"))


def is_strong(etag: str) -> bool:
    """Whether a validator is valid in If-Match and If-Range (RFC 9110, section 8.8.1)."""
    return bool(etag) and not etag.startswith("W/")


def http_date(moment: float) -> str:
    """Return a time as HTTP writes it (RFC 9110, section 5.6.7)."""
    return email.utils.formatdate(moment, usegmt=True)


def directory_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests for a directory, with its slash and without; ``target.url`` ends with the slash."""
    scenario = scenario.of_target(target)
    if scenario.mode.rejects or scenario.is_refused(target):
        return
    path = target.resource.path
    for accept in FEW:
        for method in ("GET", "HEAD"):
            request = Request(target.url, headers_of(accept), method)
            yield Case("directory", "full", path, request, scenario.wanted(target, accept), scenario.requested)
    without = target.url.rstrip("/")
    if without != scenario.policy.prefix:
        yield Case("directory", "redirected", path, Request(without))


# Values of X-Server-Actions, and the class or level that they count as; unknown words get the original.
REQUESTED: tuple[tuple[str, str], ...] = (
    (".poor", "poor"),
    (".rich", "rich"),
    (".gz .poor", "poor"),
    ("../../etc/passwd", NO_ACTION),
    (".poorer", NO_ACTION),
)
# Client hints, and the class that they make.
HINTED: tuple[tuple[Mapping[str, str], str], ...] = (
    ({"Save-Data": "on"}, "poor"),
    ({"ECT": "2g"}, "poor"),
    ({"ECT": "slow-2g", "Downlink": "10"}, "poor"),
    ({"Downlink": "0.1"}, "poor"),
    ({"Sec-CH-Save-Data": "?1"}, "poor"),
    ({"Save-Data": "on", "Sec-CH-Save-Data": "on"}, "poor"),
    ({"Sec-CH-ECT": '"2g"', "Sec-CH-Downlink": "10"}, "poor"),
    ({"RTT": "1400"}, "poor"),
    ({"RTT": "350", "Sec-CH-RTT": "350"}, "normal"),
    ({"ECT": "4g", "Downlink": "10", "Save-Data": "off"}, "normal"),
)


def class_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests of clients of all classes, and of those that ask for a class or a level."""
    scenario, policy = scenario.of_target(target), scenario.policy
    if not (policy.serve.classes and scenario.mode.is_on) or scenario.mode.rejects or scenario.is_refused(target):
        return
    for fields, requested, name in _clients(policy):
        for accept in FEW:
            wanted = scenario.wanted(target, accept, requested)
            request = Request(target.url, {**headers_of(accept), **fields})
            # servers do not look the class up where they send the original anyway
            shown = None if requested == NO_ACTION else name
            yield Case("class", "full", target.resource.path, request, wanted, shown)


def _clients(policy: Policy) -> Iterator[tuple[Mapping[str, str], str, str]]:
    """Yield header fields, the class or level that they count as, and the class of the client."""
    for word, requested in (*REQUESTED, *((f".{level}", level) for level in policy.levels)):
        yield {"X-Server-Actions": word}, requested, "normal"
    for hints, name in HINTED if policy.serve.hints else ():
        yield hints, name, name
        yield {"X-Server-Actions": ".rich", **hints}, "rich", name


# ---- images in other formats: only clients that name a media type in Accept get it

_FORMAT_TYPES = tuple(MEDIA_TYPES.values())
_FIRST, _LAST = _FORMAT_TYPES[0], _FORMAT_TYPES[-1]
# Values of Accept; ``image/*`` names no format.
ACCEPTED_TYPES: tuple[str | None, ...] = (
    None,
    f"{','.join(_FORMAT_TYPES)},image/apng,*/*;q=0.8",
    f"{_LAST},*/*",
    f"{_LAST.upper()};q=0.5",
    f"{_FIRST};q=0, {_LAST}",
    f"image/png, {_FIRST} ; q=0.001, {_LAST};q=0.000",
    f"{';q=0,'.join(_FORMAT_TYPES)};q=0.0",
    "image/*,*/*",
    f"{_FIRST}-x, x{_LAST}",
)


def format_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests for an image by clients that accept other formats."""
    scenario, path = scenario.of_target(target), target.resource.path
    if not (scenario.policy.formats and is_negotiable(path)) or scenario.is_refused(target):
        return
    for types in ACCEPTED_TYPES:
        headers = headers_of(BEST) | ({} if types is None else {"Accept": types})
        if scenario.mode.rejects:
            yield Case("format", "rejected", path, Request(target.url, headers), requested=scenario.requested)
            continue
        wanted = scenario.wanted(target, BEST, types=types)
        yield Case("format", "full", path, Request(target.url, headers), wanted, scenario.requested)
        yield Case("format", "full", path, Request(target.url, headers, "HEAD"), wanted, scenario.requested)
        if wanted[0].level != ORIGINAL and wanted[0].size > PART[1]:
            part = Request(target.url, headers | {"Range": "bytes=0-9"})
            yield Case("format", "part", path, part, wanted, scenario.requested, PART)


# ---- requests while the mode changes

RACE_ACCEPTS = (None, BEST, "gzip", "br;q=0, zstd")


def race_cases(scenario: Scenario, targets: Sequence[Target], count: int) -> Iterator[Case]:
    """Yield ``count`` requests for targets that the server sends, in turns."""
    scenario = replace(scenario, mode=SWITCHING)
    sent = [target for target in targets if not scenario.is_refused(target)]
    mix = itertools.cycle(itertools.product(sent, RACE_ACCEPTS)) if sent else ()
    for target, accept in itertools.islice(mix, count):
        request, wanted = Request(target.url, headers_of(accept)), scenario.of_target(target).wanted(target, accept)
        yield Case("race", "full", target.resource.path, request, wanted)
