"""The requests of a mode, and the version that each must get.

They come in two waves, since conditional requests need the validators of the first answers. Clients that hold a
dictionary, or claim to, must get the right one with the right coding. To hostile requests an answer must come, and
contain nothing but what the site publishes.
"""

from __future__ import annotations

import email.utils
import itertools
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adaptc.core.media import HTML
from adaptc.core.model import (
    DICTIONARY_TOKEN,
    MEDIA_TYPES,
    dictionary_coding,
    is_dictionary_coding,
    is_negotiable,
    name_of_coding,
)
from adaptc.formats.dictionary import name_of, nameable
from adaptc.serve.policy import NO_ACTION, Policy
from adaptc.serve.verify.http_client import Request, Response
from adaptc.serve.verify.modes import SWITCHING
from adaptc.serve.verify.negotiation import ORIGINAL, Version, versions
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
    yield case("full" if scenario.ignores_if_match else "failed-condition", If_Match=FOREIGN)
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
    if not scenario.mode.counts_classes(policy) or scenario.mode.rejects or scenario.is_refused(target):
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


# ---- hostile requests

# {url} is a page. ../ leads from the docroot, or from a directory LEVEL/CODING of the output.
TARGETS = (
    "/../../../../etc/passwd",
    "{prefix}/../manifest.json",
    "{prefix}/../../manifest.json",
    "{prefix}/../../run/buckets.txt",
    "{prefix}/%2e%2e/%2e%2e/manifest.json",
    "{prefix}/..%2f..%2fmanifest.json",
    "{prefix}/..%5c..%5cmanifest.json",
    "{prefix}/.%2e/.%2e/manifest.json",
    "{prefix}/_adaptc/../../../manifest.json",
    "{prefix}/_adaptc/%2e%2e/%2e%2e/%2e%2e/manifest.json",
    "{prefix}/_adaptc/..%2f..%2f..%2fmanifest.json",
    "{prefix}//etc/passwd",
    "{prefix}/%00",
    "{url}%00.txt",
    "{url}%0d%0aX-Injected:%20yes",
    "{url}/behind",
    "{url}%3f",
    "{url}%20",
    "{url}.br",
    "{url}.gz",
    "{prefix}/.htaccess",
    "{prefix}/%ff%fe",
    "{prefix}/" + "a" * 300,
    "{prefix}/" + "a/" * 300,
    "{prefix}/${{IFS}}%7B%25%7BHTTP_HOST%7D%7D",
    "http://other.invalid{url}",
    "*",
)
HEADERS = (
    {"Accept-Encoding": "../../run"},
    {"Accept-Encoding": "br/../../../manifest.json"},
    {"Accept-Encoding": "gzip;q=0;q=1,,,;;;=,\t*"},
    {"Accept-Encoding": "br, " * 500 + "gzip"},
    {"X-Server-Actions": "../../../manifest.json"},
    {"X-Server-Actions": ".poor/../../.."},
    {"X-Server-Actions": "${ENV:PATH} %{HTTP_HOST} $host"},
    {"X-Adapt": "lossless/br", "X-Class": "poor"},
    {"Range": "bytes=" + ",".join("0-1" for _ in range(200))},
    {"Range": "bytes=-99999999999999999999"},
    {"If-None-Match": '"' + "x" * 4000},
    {"If-Modified-Since": "yesterday"},
    {"Forwarded": "for=192.0.2.1", "X-Forwarded-For": "192.0.2.1, ../../.."},
)


def hostile_cases(prefix: str, target: Target) -> Iterator[Case]:
    """Yield hostile requests around a page. A body with status 200 must be the page, in any of its versions."""
    path, allowed = target.resource.path, tuple(versions(target.resource))
    for pattern in TARGETS:
        url = pattern.format(prefix=prefix, url=target.url)
        yield Case("hostile", "harmless", path, Request(url, {"Accept-Encoding": BEST}), allowed)
    for headers in HEADERS:
        if "Range" not in headers:
            yield Case("hostile", "harmless", path, Request(target.url, headers), allowed)
        else:
            yield Case("hostile", "unbroken", path, Request(target.url, headers))


# ---- clients with a dictionary

GROUP = "dictionary"
# The Accept-Encoding of a browser that holds a dictionary
WITH = f"{BEST}, dcb, {DICTIONARY_TOKEN}"
FIELD = "Available-Dictionary"


def held(name: str) -> str:
    """Return the field of a client that holds the dictionary ``name``."""
    return f":{name}=:"


def dictionaries_of(scenario: Scenario, target: Target) -> tuple[str, ...]:
    """Return what a file may be encoded with at the level of the mode: dictionaries, and earlier versions of itself."""
    trees = scenario.mode.trees(scenario.policy, "normal")
    if scenario.mode.rejects or scenario.is_refused(target) or len(trees) != 1:
        return ()
    codings = filter(is_dictionary_coding, target.resource.files.get(trees[0], {}))
    own = scenario.policy.dictionaries.get(trees[0]) if target.resource.media_type == HTML else None
    return tuple(dict.fromkeys((*([own] if own else []), *map(name_of_coding, codings))))


def held_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests with all combinations of dictionaries and codings; the first has both, and gets the page so."""
    scenario = scenario.of_target(target)
    names = dictionaries_of(scenario, target)
    for field, accept in _combinations(names[0]) if names else ():
        for method in ("GET", "HEAD"):
            yield _case(scenario, target, accept, field, method=method)
    for name in names[1:]:
        yield _case(scenario, target, WITH, held(name))


def _combinations(name: str) -> Iterator[tuple[str | None, str | None]]:
    right, wrong = held(name), held(name_of(nameable(b"a dictionary of another site")))
    for accept in (WITH, DICTIONARY_TOKEN, f"{DICTIONARY_TOKEN};q=0.5", "DCZ, br"):
        yield right, accept
    for refusing in (BEST, None, f"{DICTIONARY_TOKEN};q=0, br", "dcb, br", "xdcz, dcz-x"):
        yield right, refusing
    several = (f"{right}, {wrong}", f"{wrong}, {right}", f"{right};a=1")
    broken = (right[1:-1], right.removesuffix("=:") + ":", ":=:", "::", ":../../id/_adaptc:", f":{'/' * 43}=:")
    for field in (None, wrong, *several, *broken):
        yield field, WITH


def condition_cases(scenario: Scenario, target: Target, answers: Sequence[Response]) -> Iterator[Case]:
    """Yield ranges and conditions; ``answers`` are those to ``held_cases``."""
    scenario = scenario.of_target(target)
    names = dictionaries_of(scenario, target)
    if not names or not answers or dictionary_coding(names[0]) not in target.resource.files.get(_tree(scenario), {}):
        return
    coded, plain = answers[0].header("etag"), _plain_etag(answers)
    field = held(names[0])
    for etags, is_same in ((coded, True), (f"{FOREIGN}, {coded}", True), (plain, False), (FOREIGN, False)):
        check = "not-modified" if is_same else "full"
        yield _case(scenario, target, WITH, field, check, If_None_Match=etags)
    yield _case(scenario, target, WITH, None, If_None_Match=coded)
    yield _case(scenario, target, BEST, field, If_None_Match=coded)
    check = "full" if scenario.ignores_if_match else "failed-condition"
    yield _case(scenario, target, WITH, field, check, If_Match=FOREIGN)
    decisive = scenario.accept_of_ranges(WITH)
    (version,) = scenario.wanted(target, decisive, dictionary=field)
    if version.size > PART[1]:
        request = Request(target.url, {**headers_of(WITH, Range="bytes=0-9"), FIELD: field})
        yield Case(GROUP, "part", target.resource.path, request, (version,), scenario.requested, PART)
    request = Request(target.url, {**headers_of(WITH, Range=f"bytes={version.size + 9}-"), FIELD: field})
    yield Case(GROUP, "out-of-range", target.resource.path, request)


def _tree(scenario: Scenario) -> str:
    return scenario.mode.trees(scenario.policy, "normal")[0]


def _plain_etag(answers: Sequence[Response]) -> str:
    coded = answers[0].header("etag")
    return next((etag for answer in answers if (etag := answer.header("etag")) and etag != coded), FOREIGN)


def _case(
    scenario: Scenario,
    target: Target,
    accept: str | None,
    field: str | None,
    check: str = "full",
    method: str = "GET",
    **others: str,
) -> Case:
    headers: Mapping[str, str] = headers_of(accept, **others) | ({} if field is None else {FIELD: field})
    wanted = scenario.wanted(target, accept, dictionary=field)
    return Case(GROUP, check, target.resource.path, Request(target.url, headers, method), wanted, scenario.requested)


# ---- what servers say of style sheets and scripts

_HASH = frozenset(f"{string.ascii_letters}{string.digits}_-")
_SAFE = _HASH | frozenset("./~")
_LEAST, _LONGEST_WORD = 8, 8


def pattern_of_versions(url: str) -> str | None:
    """Return the pattern of the paths of the later versions of a style sheet or script; None for other files."""
    stem, _, extension = url.rpartition(".")
    if extension not in ("css", "js", "mjs") or not _SAFE.issuperset(url):
        return None
    for place in range(len(stem) - 1, -1, -1):
        before, after = stem[: place + 1], stem[place + 1 :]
        name, dot, word = after.partition(".")
        is_word = not dot or (word.isalpha() and word.islower() and len(word) <= _LONGEST_WORD)
        if stem[place] in "._~-" and is_word and _is_hash(name):
            return f"{before}*{dot}{word}.{extension}"
    return url


def _is_hash(text: str) -> bool:
    return len(text) >= _LEAST and _HASH.issuperset(text) and any(char.isdigit() for char in text)
