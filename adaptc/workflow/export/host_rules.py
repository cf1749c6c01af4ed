"""Paths to which the rules of a host apply: ``_headers`` and ``_redirects`` of Netlify, Cloudflare Pages and others.

Such a rule names a URL path. A copy of the file at another path would not be protected, redirected or labelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Header fields that a copy may be sent without: how long it is kept, and what else a browser could fetch
_HARMLESS = frozenset(
    {"cache-control", "expires", "link", "access-control-allow-origin", "x-robots-tag", "timing-allow-origin"}
)
_EVERYTHING = "/*"
_PLACEHOLDER = re.compile(r"(\*|:[A-Za-z]\w*)")


@dataclass(frozen=True, slots=True)
class HostRules:
    """The paths of rules, as patterns of URL paths."""

    patterns: tuple[re.Pattern[str], ...] = ()

    def applies_to(self, path: str) -> bool:
        """Whether a rule applies to the file at ``path`` of the site, by any of the addresses that hosts give it."""
        return any(pattern.fullmatch(url) for url in _addresses(path) for pattern in self.patterns)


def read_host_rules(headers: str, redirects: str) -> HostRules:
    """Return the rules of the texts of ``_headers`` and ``_redirects``; those for the whole site are left out.

    They apply to copies as well. A redirect of everything that is forced (``/* /new/:splat 301!``) counts.
    """
    paths = dict.fromkeys([*_header_paths(headers), *_redirect_paths(redirects)])
    return HostRules(tuple(re.compile(_pattern(path)) for path in paths))


def _header_paths(text: str) -> Iterator[str]:
    path, counts = "", False
    for line in _lines(text):
        if not line[0].isspace():
            if counts:
                yield path
            path, counts = line.split()[0], False
        elif path != _EVERYTHING:
            counts |= line.partition(":")[0].strip().lower() not in _HARMLESS
    if counts:
        yield path


def _redirect_paths(text: str) -> Iterator[str]:
    for line in _lines(text):
        words = line.split()
        is_forced = any(word.endswith("!") and word[:-1].isdigit() for word in words)
        if words[0] != _EVERYTHING or is_forced:
            yield words[0]


def _lines(text: str) -> Iterable[str]:
    return (line for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


def _pattern(path: str) -> str:
    """Return a regular expression for a path with ``*`` and ``:placeholders``; a host in front does not count."""
    path = re.sub(r"^https?://[^/]*", "", path)
    parts = _PLACEHOLDER.split(path)
    return (
        "".join(
            ".*" if part == "*" else "[^/]+" if number % 2 else re.escape(part) for number, part in enumerate(parts)
        )
        + "/?"
    )


def _addresses(path: str) -> tuple[str, ...]:
    """Return the URL paths at which hosts send a file: with and without its extension, and of its directory."""
    stem = re.sub(r"\.html?$", "", path, flags=re.IGNORECASE)
    directory = re.sub(r"(^|/)index$", r"\1", stem)
    return tuple(f"/{each}" for each in dict.fromkeys((path, stem, directory)))
