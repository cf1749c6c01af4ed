"""Which header fields hosts and servers send with which file of a site: rules, and what they come to.

A rule is a pattern of URL paths, and fields. A fallback is a page that is sent for addresses of any depth: for missing
files, or for every route of an application.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from adaptc.core.values import dataclass

CSP, LINK, CONTENT_TYPE = "content-security-policy", "link", "content-type"
# No fields: what nginx adds to the ``Content-Type`` of texts (charset), and what Apache does, in the order in which it
# counts: by ForceType, AddCharset, AddType, AddDefaultCharset
CHARSET = "charset"
APACHE_CHARSETS = ("forced-charset", "added-charset", "typed-charset", "default-charset")
# Those that decide the bytes of pages. ``Cache-Control: immutable`` does not: what a cache keeps under a name, the
# file of the site or of another level, stands for the same content, and copies have other names
BINDING = frozenset({CSP, LINK, CONTENT_TYPE, CHARSET, *APACHE_CHARSETS})


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """Fields of the answers for URL paths of which all of ``pattern`` matches, and names that ``name`` matches.

    Names of fields are in small letters. A value ``None`` removes the field that other rules set. With ``replaces`` the
    rule counts instead of those before it in its file.
    """

    pattern: str
    fields: tuple[tuple[str, str | None], ...]
    replaces: bool = False
    name: str = ""

    def matches(self, addresses: Iterable[str], name: str) -> bool:
        """Whether the rule is for a file of this name that has these URL paths."""
        if self.name and not _found(self.name, name):
            return False
        return any(_matches(self.pattern, address) for address in addresses)


@dataclass(frozen=True, slots=True)
class HostRules:
    """The rules of each file of hosts, and the paths of the pages that are ``fallbacks``.

    ``prefix`` is the URL path of the docroot without its final slash. A page that is sent anywhere has the fields of
    all rules.
    """

    files: tuple[tuple[str, tuple[HeaderRule, ...]], ...] = ()
    fallbacks: frozenset[str] = frozenset()
    prefix: str = ""

    def values(self, path: str, field: str) -> tuple[str, ...]:
        """Return the values of a field in answers with the file at ``path``, of each host's file."""
        return tuple(value for _, value in self.found(path, field))

    def found(self, path: str, field: str) -> Iterator[tuple[str, str]]:
        """Yield the values of a field in answers with the file at ``path``, each with the file that says it."""
        addresses, name = addresses_of(path, self.prefix), path.rpartition("/")[2]
        is_anywhere = self.is_sent_anywhere(path)
        for file, rules in self.files:
            values: list[str] = []
            for rule in rules:
                own = [value for key, value in rule.fields if key == field]
                if own and (is_anywhere or rule.matches(addresses, name)):
                    values = [] if (rule.replaces or None in own) and not is_anywhere else values
                    values += [value for value in own if value]
            yield from ((file, value) for value in dict.fromkeys(values))

    def charset(self, path: str) -> str | None:
        """Return the label of the encoding with which a page is sent; ``None`` where none is, or several are."""
        types = map(_CHARSET.search, self.values(path, CONTENT_TYPE))
        found = {match[1].lower() for match in types if match}
        found = found or {*self.values(path, CHARSET), *self._apache_charsets(path)}
        return found.pop() if len(found) == 1 else None

    def _apache_charsets(self, path: str) -> Iterator[str]:
        """Yield the encoding that Apache adds; of one kind the directive counts that is nearest to the file."""
        addresses, name = addresses_of(path, self.prefix), path.rpartition("/")[2]
        is_anywhere = self.is_sent_anywhere(path)
        for field in APACHE_CHARSETS:
            nearest = [
                (file.count("/") if file.endswith(".htaccess") else -1, number, value)
                for file, rules in self.files
                for number, rule in enumerate(rules)
                for key, value in rule.fields
                if key == field and (is_anywhere or rule.matches(addresses, name))
            ]
            if is_anywhere:
                yield from (value for _, _, value in nearest if value)
            elif nearest and (value := max(nearest, key=lambda found: found[:2])[2]):
                yield value
                return

    def binding(self) -> tuple[object, ...]:
        """Return what decides the bytes of pages."""
        rules = [
            (file, rule) for file, rules in self.files for rule in rules if BINDING & {name for name, _ in rule.fields}
        ]
        return tuple(rules)

    def is_sent_anywhere(self, path: str) -> bool:
        """Whether a page is sent for addresses of any depth."""
        return path in self.fallbacks or _ANYWHERE.fullmatch(path) is not None


NO_HOST_RULES = HostRules()


_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageHeaders:
    """The header fields that a server sends with a page: the policy of the configuration, and those of hosts."""

    csp: str | None = None
    hosts: HostRules = NO_HOST_RULES

    def __call__(self, path: str) -> dict[str, str]:
        """Return the fields for the page at ``path``."""
        policies = filter(None, (self.csp, *self.hosts.values(path, CSP)))
        joined = ", ".join(policies)
        return {"Content-Security-Policy": joined} if joined else {}


# The pages of errors, and of service workers without a connection, by their usual names
_ANYWHERE = re.compile(r"(?:.*/)?(?:200|[45](?:\d\d|xx|\dx)|offline|_?fallback|not[-_]?found)(?:\.html?|/index\.html?)")


def addresses_of(path: str, prefix: str = "") -> tuple[str, ...]:
    """Return the URL paths at which hosts send a file: with and without its extension, and of its directory.

    Rules may have the ``prefix`` of the site or not.
    """
    stem = re.sub(r"\.html?$", "", path, flags=re.IGNORECASE)
    directory = re.sub(r"(^|/)index$", r"\1", stem)
    forms = (path, stem, f"{stem}/", directory, directory.rstrip("/"))
    own = tuple(dict.fromkeys(f"/{form}" for form in forms if form != "/"))
    return (*own, *(prefix + each for each in own)) if prefix else own


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        return re.compile("", re.DOTALL)  # what is not understood may be for all


def _matches(pattern: str, address: str) -> bool:
    compiled = _compiled(pattern)
    return compiled.fullmatch(address) is not None or not compiled.pattern


def _found(pattern: str, name: str) -> bool:
    return _compiled(pattern).search(name) is not None


NO_HEADERS = PageHeaders()
