"""HTTrack's filters: ``+*.png -*/ads/* +mime:image/* -*.zip*[>500]``. The last rule that matches wins.

The language, from HTTrack's manual ("Filters: advanced"): a pattern is compared with the URL without its scheme,
letter case ignored. ``*`` is any run of characters; ``*[file]`` has neither ``/`` nor ``?``, ``*[path]`` no ``?``,
``*[param]`` nothing or a query, ``*[name]`` letters, digits, ``-`` and ``_``; ``*[a-z,_]`` are characters; ``*[]`` is
the end. ``*[<10]``, ``*[>5]`` and ``*[>5<10]`` are ``*`` that bound the size in KiB. ``mime:`` compares the media
type instead.

Also the matching rules of wget's options, on domains, directories and file names.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Sequence
from enum import Enum

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass

_KIB = 1024


class Ruling(Enum):
    """What the filters say. ``OPEN``: a rule needs the type or the size, which only the response tells."""

    ACCEPT = "accept"
    REJECT = "reject"
    SILENT = "silent"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Filter:
    """One rule. ``low`` and ``high`` bound the size in bytes, both exclusive, where they are not ``None``."""

    written: str
    accepts: bool
    pattern: re.Pattern[str]
    on_type: bool = False
    low: int | None = None
    high: int | None = None

    @property
    def needs_response(self) -> bool:
        """Whether the rule cannot be answered by the URL alone."""
        return self.on_type or self.low is not None or self.high is not None


_CLASSES = {
    "file": r"[^/?]*",
    "name": r"[A-Za-z0-9_-]*",
    "path": r"[^?]*",
    "param": r"(?:\?.*)?",
    "": r"\Z",
}
_TOKEN = re.compile(r"\*(?:\[((?:\\.|[^\]\\])*)\])?|(.)", re.DOTALL)
_SIZE = re.compile(r"([<>])\s*(\d+)")


def parse_filter(written: str) -> Filter:
    """Parse one rule. Raises ``UsageError`` when it does not begin with ``+`` or ``-``, or says nothing."""
    sign, pattern = written[:1], written[1:]
    if sign not in ("+", "-") or not pattern:
        raise UsageError(f"filter {written!r} must be + or - and a pattern, as in +*.png")
    on_type = pattern.startswith("mime:")
    bounds: dict[str, int] = {}
    regex = "".join(_translated(part, bounds, written) for part in _TOKEN.finditer(_bare(pattern)))
    compiled = re.compile(regex, re.IGNORECASE | re.DOTALL)
    return Filter(written, sign == "+", compiled, on_type, bounds.get(">"), bounds.get("<"))


def judge(filters: Sequence[Filter], url: str, media_type: str | None = None, size: int | None = None) -> Ruling:
    """Return what ``filters`` say of ``url``; without type and size where the response is still to come.

    A size that the response does not tell counts as matching no bound.
    """
    is_known = media_type is not None
    subject = url.partition("://")[2]
    for rule in reversed(filters):
        if rule.needs_response and not is_known:
            if rule.on_type or rule.pattern.fullmatch(subject):
                return Ruling.OPEN
        elif _matches(rule, subject, media_type or "", size):
            return Ruling.ACCEPT if rule.accepts else Ruling.REJECT
    return Ruling.SILENT


def last_match(filters: Sequence[Filter], url: str) -> str:
    """Return the rule that decided on a URL, as written, for a sentence."""
    subject = url.partition("://")[2]
    rules = (rule.written for rule in reversed(filters) if not rule.needs_response and rule.pattern.fullmatch(subject))
    return next(rules, "")


def _matches(rule: Filter, subject: str, media_type: str, size: int | None) -> bool:
    if not rule.pattern.fullmatch(media_type if rule.on_type else subject):
        return False
    if rule.low is None and rule.high is None:
        return True
    if size is None:
        return False
    return (rule.low is None or size > rule.low) and (rule.high is None or size < rule.high)


def _bare(pattern: str) -> str:
    pattern = pattern.removeprefix("mime:")
    return re.sub(r"\A(?:\*\[[^\]]*\])?https?://", "", pattern)


def _translated(token: re.Match[str], bounds: dict[str, int], written: str) -> str:
    if token[2] is not None:
        return re.escape(token[2])
    inside = token[1]
    if inside is None:
        return ".*"
    if inside in _CLASSES:
        return _CLASSES[inside]
    if inside[0] in "<>":
        return _bounded(inside, bounds, written)
    return f"[{''.join(_range(part, written) for part in _listed(inside))}]*"


def _bounded(inside: str, bounds: dict[str, int], written: str) -> str:
    sizes = _SIZE.findall(inside)
    if not sizes or _SIZE.sub("", inside).strip():
        raise UsageError(f"filter {written!r}: {inside} is no bound of sizes, as in *[>5<10]")
    bounds.update((mark, int(number) * _KIB) for mark, number in sizes)
    return ".*"


def _listed(inside: str) -> list[str]:
    r"""Split ``a-z,\,,_`` at its commas; an escaped character is itself."""
    return [part for part in re.findall(r"(?:\\.|[^,\\])+", inside) if part]


def _range(part: str, written: str) -> str:
    part = re.sub(r"\\(.)", r"\1", part) if not re.fullmatch(r".-.", part, re.DOTALL) else part
    if len(part) == 1:
        return re.escape(part)
    if re.fullmatch(r".-.", part, re.DOTALL) and part[0] <= part[2]:
        return f"{re.escape(part[0])}-{re.escape(part[2])}"
    raise UsageError(f"filter {written!r}: *[{part}] is neither a class of HTTrack nor a range of characters")


# ---- wget's rules

_HTML_SUFFIXES = ("html", "htm", "shtml", "xhtml")
_WILDCARDS = "*?["


def in_domain(host: str, domain: str) -> bool:
    """Whether a host is the domain, or below it."""
    domain = domain.lower().strip(".")
    return host == domain or host.endswith("." + domain)


def in_directory(directory: str, pattern: str) -> bool:
    """Whether ``directory`` (with slashes at both ends) is the one that ``pattern`` names, or below it."""
    pattern = "/" + pattern.strip("/")
    if any(mark in pattern for mark in _WILDCARDS):
        steps, wanted = directory.strip("/").split("/"), pattern.strip("/").split("/")
        return len(steps) >= len(wanted) and all(map(fnmatch.fnmatchcase, steps, wanted))
    return (directory + "/").startswith(posixpath.join(pattern, ""))


def matches_name(name: str, pattern: str, ignore_case: bool) -> bool:
    """Whether a file name ends in ``pattern``, or matches it where it has wildcards (wget, utils.c ``in_acclist``)."""
    if ignore_case:
        name, pattern = name.lower(), pattern.lower()
    if any(mark in pattern for mark in _WILDCARDS):
        return fnmatch.fnmatchcase(name, pattern)
    return name.endswith(pattern)


def has_html_suffix(name: str) -> bool:
    """Whether the name of a file says HTML (wget, utils.c ``has_html_suffix_p``)."""
    return name.rpartition(".")[2].lower() in _HTML_SUFFIXES


_PERIODS = (1, 2, 3)  # names, pairs and triples that repeat


def has_repeats(path: str, limit: int) -> bool:
    """Whether a path repeats a name, a pair or a triple of names more than ``limit`` times in a row."""
    if path.count("/") <= limit:
        return False
    return any(run >= limit * period for run, period in zip(_runs(path), _PERIODS, strict=True))


def repeats_grow(page: str, path: str) -> bool:
    """Whether a path goes on with what the path of the page that leads to it repeats: each step makes a trap longer."""
    return any(0 < before < after for before, after in zip(_runs(page), _runs(path), strict=True))


def _runs(path: str) -> list[int]:
    """Return for each period how many names in a row are those that stand so many places before."""
    steps, longest = path.split("/"), []
    for period in _PERIODS:
        run = most = 0
        for step, before in zip(steps[period:], steps, strict=False):
            run = run + 1 if step and step == before else 0
            most = max(most, run)
        longest.append(most)
    return longest
