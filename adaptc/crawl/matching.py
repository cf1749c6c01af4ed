"""What wget's rules on hosts, directories and names mean by a match."""

from __future__ import annotations

import fnmatch
import posixpath

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


def has_repeats(path: str, limit: int) -> bool:
    """Whether a name, or a pair of names, stands in a path more than ``limit`` times one after the other."""
    if path.count("/") <= limit:
        return False
    steps = path.split("/")
    for size in (1, 2, 3):
        run = 0
        for position in range(size, len(steps)):
            run = run + 1 if steps[position] and steps[position] == steps[position - size] else 0
            if run >= limit * size:
                return True
    return False
