"""Filter lists of ad blockers: network filters and element hiding.

The syntax is that of Adblock Plus, in which EasyList is written: ``||host^``, ``|``, ``*``, ``^``, options after ``$``,
exceptions ``@@``, hiding ``domains##selector`` and ``#@#``. Filters of responses, of scripts at run time and by regular
expressions are not supported; they are counted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from adaptc.core.values import dataclass, field, pattern

# What a page loads, by the name of the filter option; kinds that a build never sees match nothing
KINDS = frozenset({
    "image", "script", "subdocument", "stylesheet", "object", "media", "font", "ping", "xmlhttprequest", "websocket",
    "webrtc", "other", "object-subrequest",
})  # fmt: skip
_PARTIES = {"third-party": True, "3p": True, "first-party": False, "1p": False}
_IGNORED = frozenset({"match-case", "important"})
_SPECIAL = pattern(r"#(?:\?|\$|%|@\?|@\$|@%)#|\$\$|##\+js|##\^|#@#\+js")
_HIDING = pattern(r"^([^#]*)(##|#@#)(.+)$")
_WORD = pattern(r"[a-z0-9%]{3,}")
# A word of a pattern that every matching URL contains as a whole word
_WHOLE = pattern(r"(?<![a-z0-9%*])[a-z0-9%]{3,}(?![a-z0-9%*])")
_NAME = pattern(r"[.#]([A-Za-z0-9_-]+)")
_LITERAL = pattern(r"[A-Za-z0-9_-]{3,}")


@dataclass(frozen=True, slots=True)
class Domains:
    """Hosts of pages that a filter applies to, and hosts that it does not apply to; each with its subdomains."""

    only: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def match(self, host: str) -> bool:
        """Whether a filter applies to pages of ``host``."""
        names = {host[at:] for at in range(len(host)) if at == 0 or host[at - 1] == "."}
        return names.isdisjoint(self.never) and (not self.only or not names.isdisjoint(self.only))


@dataclass(frozen=True, slots=True)
class NetworkFilter:
    """A filter of requests; ``text`` is as written.

    No ``kinds`` means all of them; ``third_party`` is ``None`` where both parties are meant.
    """

    text: str
    pattern: str
    kinds: frozenset[str] = frozenset()
    third_party: bool | None = None
    domains: Domains = Domains()

    def matches(self, request: Request) -> bool:
        """Whether the filter matches a request."""
        return (
            (not self.kinds or request.kind in self.kinds)
            and self.third_party in (None, request.is_third_party)
            and self.domains.match(request.host)
            and _compiled(self.pattern).search(request.url) is not None
        )


@dataclass(frozen=True, slots=True)
class Request:
    """What a page on ``host`` loads: the absolute URL, and its kind, one of ``KINDS``."""

    url: str
    kind: str
    host: str
    is_third_party: bool


@dataclass(frozen=True, slots=True)
class HidingFilter:
    """Elements that are not shown on pages of some hosts."""

    selector: str
    domains: Domains


Index = Mapping[str, tuple[NetworkFilter, ...]]


@dataclass(frozen=True, slots=True)
class FilterList:
    """Filters, those of requests by a word that a URL must have. ``left_out`` are filters that are not supported."""

    blocking: Index = field(default_factory=dict)
    allowing: Index = field(default_factory=dict)
    hiding: tuple[HidingFilter, ...] = ()
    showing: tuple[HidingFilter, ...] = ()
    total: int = 0
    left_out: tuple[str, ...] = ()

    def blocks(self, request: Request) -> str | None:
        """Return the filter that blocks a request, ``None`` where there is none or an exception allows it."""
        blocking = _first(self.blocking, request)
        return None if blocking is None or self.allows(request) else blocking.text

    def allows(self, request: Request) -> bool:
        """Whether an exception matches a request."""
        return _first(self.allowing, request) is not None

    def hidden(self, host: str, text: str) -> Iterator[str]:
        """Yield the selectors that hide elements on a page of ``host``, as far as they may match its ``text``."""
        if not self.hiding:
            return
        words = frozenset(_LITERAL.findall(text))
        shown = {hiding.selector for hiding in self.showing if hiding.domains.match(host)}
        for hiding in self.hiding:
            if _may_match(hiding.selector, words, text) and hiding.selector not in shown and hiding.domains.match(host):
                yield hiding.selector


def _first(index: Index, request: Request) -> NetworkFilter | None:
    words = ("", *dict.fromkeys(_WORD.findall(request.url.lower())))
    return next((candidate for word in words for candidate in index.get(word, ()) if candidate.matches(request)), None)


def _may_match(selector: str, words: frozenset[str], text: str) -> bool:
    """Whether a page has the class or id, or the longest word, that a selector contains."""
    kind, name = _key(selector)
    return name in words if kind == "name" else name in text


@lru_cache(maxsize=1 << 16)
def _key(selector: str) -> tuple[str, str]:
    named = _NAME.match(selector)
    if named is not None and "," not in selector and len(named[1]) >= 3:
        return "name", named[1]
    literals = _LITERAL.findall(selector) if "," not in selector and ":not" not in selector else []
    return "text", max(literals, key=len, default="")


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# ---- reading


def read_filters(text: str, selector_problem: Callable[[str], str | None]) -> FilterList:
    """Return the filters of a list; ``selector_problem`` says why a selector cannot be used."""
    requests: dict[bool, list[NetworkFilter]] = {True: [], False: []}
    hiding: dict[bool, list[HidingFilter]] = {True: [], False: []}
    total, left_out = 0, list[str]()
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith(("!", "[")):
            continue
        total += 1
        parsed = _hiding_filter(line, selector_problem) or _network_filter(line)
        if isinstance(parsed, HidingFilter):
            hiding["#@#" in line].append(parsed)
        elif isinstance(parsed, NetworkFilter):
            requests[line.startswith("@@")].append(parsed)
        else:
            left_out.append(line)
    return FilterList(
        _indexed(requests[False]), _indexed(requests[True]), tuple(hiding[False]), tuple(hiding[True]), total,
        tuple(left_out),
    )  # fmt: skip


def _hiding_filter(line: str, selector_problem: Callable[[str], str | None]) -> HidingFilter | None:
    match = None if _SPECIAL.search(line) else _HIDING.match(line)
    if match is None or selector_problem(match[3]) is not None:
        return None
    return HidingFilter(match[3], _domains(match[1].split(",")))


def _network_filter(line: str) -> NetworkFilter | None:
    if "##" in line or "#@#" in line or _SPECIAL.search(line):
        return None
    body, _, options = line.removeprefix("@@").rpartition("$") if "$" in line else (line.removeprefix("@@"), "", "")
    if body.startswith("/") and body.endswith("/") and len(body) > 1:
        return None  # a regular expression of JavaScript
    chosen = _options(options)
    return None if chosen is None or not body.strip("*|^") else NetworkFilter(line, _pattern(body), *chosen)


def _options(written: str) -> tuple[frozenset[str], bool | None, Domains] | None:
    """Return kinds, party and domains; ``None`` where an option is not supported."""
    kinds, without = set[str](), set[str]()
    party: bool | None = None
    domains = Domains()
    for option in filter(None, written.split(",")):
        name = option.lower().removeprefix("~")
        is_negated = option.startswith("~")
        if name in KINDS:
            (without if is_negated else kinds).add(name)
        elif name in _PARTIES:
            party = _PARTIES[name] is not is_negated
        elif name.startswith(("domain=", "from=")):
            domains = _domains(name.partition("=")[2].split("|"))
        elif name not in _IGNORED:
            return None
    return frozenset(kinds or (KINDS - without if without else ())), party, domains


def _domains(written: Iterable[str]) -> Domains:
    names = [name.strip().lower() for name in written if name.strip()]
    never = frozenset(name[1:] for name in names if name.startswith("~"))
    return Domains(frozenset(name for name in names if not name.startswith("~")), never)


def _pattern(body: str) -> str:
    """Return a network pattern as a regular expression."""
    start = ""
    if body.startswith("||"):
        start, body = r"^[a-z][a-z0-9+.-]*://(?:[^/?#]*\.)?", body[2:]
    elif body.startswith("|"):
        start, body = "^", body[1:]
    end = "$" if body.endswith("|") else ""
    inner = re.escape(body.removesuffix("|")).replace(r"\*", ".*").replace(r"\^", r"(?:[^\w.%-]|$)")
    return start + inner + end


def _indexed(filters: list[NetworkFilter]) -> Index:
    index: defaultdict[str, list[NetworkFilter]] = defaultdict(list)
    for item in filters:
        index[_word_of(item.text)].append(item)
    return {word: tuple(items) for word, items in index.items()}


def _word_of(text: str) -> str:
    """Return the longest word that every matching URL has; an empty word if there is none."""
    body = text.removeprefix("@@").rpartition("$")[0] or text.removeprefix("@@")
    # a word at an open end of the pattern may be a part of a longer word
    body = (body if body.startswith("|") else f"*{body}") + ("" if body.endswith("|") else "*")
    return max(_WHOLE.findall(body.lower()), key=len, default="")
