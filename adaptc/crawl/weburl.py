"""URLs of the web as a crawler compares them: serialised by the WHATWG rules, without a fragment."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from adaptc.core.urls import join

# What upa-url serialises: a user is never kept (see ``normalised``), the port only where it is not the scheme's.
_PARTS = re.compile(r"(https?)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/:?#]*)(?::(\d+))?([^?#]*)(?:\?([^#]*))?", re.DOTALL)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_CREDENTIALS = re.compile(r"(https?://)(?:([^/?#@]*)@)?", re.DOTALL)
_DIRECTORY = re.compile(r"https?://[^?#]*/")
_PORTS = {"http": 80, "https": 443}


class Parts(NamedTuple):
    """The parts of a normalised URL. ``query`` is ``None`` where there is no question mark."""

    scheme: str
    host: str
    port: int
    path: str
    query: str | None

    @property
    def origin(self) -> str:
        """Scheme, host and port: what has one robots.txt (RFC 9309, section 2.3)."""
        return f"{self.scheme}://{self.site}"

    @property
    def site(self) -> str:
        """The host, with the port where it is not that of the scheme."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def directory(self) -> str:
        """The path up to its last slash, that slash included."""
        return self.path[: self.path.rfind("/") + 1]

    @property
    def file(self) -> str:
        """What follows the last slash of the path; empty for a directory."""
        return self.path[self.path.rfind("/") + 1 :]


@lru_cache(maxsize=4096)
def parts_of(url: str) -> Parts:
    """Split a normalised URL. Raises ``ValueError`` for any other."""
    match = _PARTS.match(url)
    if match is None:
        raise ValueError(f"not a URL of the web: {url}")
    scheme, host, port, path, query = match.groups()
    return Parts(scheme, host, int(port) if port else _PORTS[scheme], path or "/", query)


def resolved(base: str, reference: str) -> str | None:
    """Return the absolute URL of ``reference``, without its fragment and credentials; ``None`` when not http(s)."""
    joined = join(base, reference)
    if joined is None or not joined.startswith(("http:", "https:")):
        return None
    return without_needless_escapes(without_fragment(without_credentials(joined)))


_LETTER = "4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A]|3[0-9]|2D|5F|7E"  # unreserved characters without the dot
_UNRESERVED = re.compile(f"%({_LETTER})", re.IGNORECASE)
_WITH_DOT = re.compile(f"%({_LETTER}|2E)", re.IGNORECASE)
_SLASH = re.compile("%(?:2F|5C)", re.IGNORECASE)


def without_needless_escapes(url: str) -> str:
    """Return a URL in which no unreserved character is escaped.

    The URL Standard leaves them as they are written; by RFC 3986 (section 6.2.2.2) ``/%7Eu`` and ``/~u`` are equal. An
    escaped dot stays next to escaped slashes, where servers differ on what is a step up.
    """
    if "%" not in url:
        return url
    return (_UNRESERVED if _SLASH.search(url) else _WITH_DOT).sub(lambda match: chr(int(match[1], 16)), url)


@lru_cache(maxsize=256)
def directory_of(url: str) -> str:
    """Return a URL up to the last slash of its path."""
    match = _DIRECTORY.match(url)
    return match[0] if match is not None else url


def start_url(typed: str) -> str | None:
    """Return the URL that a person typed, with ``http://`` where the scheme is missing (``example.org/x``)."""
    return resolved("http://invalid/", typed if _HAS_SCHEME.match(typed) else f"http://{typed.lstrip('/')}")


def credentials_in(typed: str) -> tuple[str, str] | None:
    """Return user and password written in a URL (``http://user:password@host/``), or ``None``."""
    from urllib.parse import unquote

    match = _CREDENTIALS.match(typed)
    if match is None or not match[2]:
        return None
    user, _, password = match[2].partition(":")
    return unquote(user), unquote(password)


def without_credentials(url: str) -> str:
    """Return a URL without user and password, which must reach neither names, logs nor other hosts."""
    return _CREDENTIALS.sub(r"\1", url, count=1) if "@" in url else url


def without_fragment(url: str) -> str:
    """Return a URL up to its fragment."""
    return url.partition("#")[0] if "#" in url else url


def fragment_of(url: str) -> str:
    """Return the fragment of a URL with its mark, or nothing."""
    _, mark, fragment = url.partition("#")
    return mark + fragment


def without_parameters(url: str, names: frozenset[str]) -> str:
    """Return a URL without the query's parameters called so; the others keep their order and spelling."""
    bare, mark, query = url.partition("?")
    if not mark:
        return url
    parameters = [parameter for parameter in query.split("&") if parameter.partition("=")[0] not in names]
    return f"{bare}?{'&'.join(parameters)}" if parameters else bare
