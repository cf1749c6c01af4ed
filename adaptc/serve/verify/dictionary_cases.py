"""Requests of clients that hold a dictionary, or claim to: only the right one with the right coding counts."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence

from adaptc.core.media import HTML
from adaptc.core.model import DICTIONARY_TOKEN, dictionary_coding, is_dictionary_coding, name_of_coding
from adaptc.formats.dictionary import name_of, nameable
from adaptc.serve.verify.cases import FOREIGN, PART
from adaptc.serve.verify.http_client import Request, Response
from adaptc.serve.verify.scenario import BEST, Case, Scenario, Target, headers_of

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
    yield _case(scenario, target, WITH, field, "failed-condition", If_Match=FOREIGN)
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
