"""URLs of the site and the files they name (WHATWG URL, by upa-url).

The site has an address: the URL under which its docroot is published. A page's URL is that address plus its path;
references are resolved against it as a browser does, and mapped back to paths of the docroot.

Versions of a style sheet or script have one URL or, where names hold a hash, each its own: patterns tell them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

from upa_url import URL

from adaptc.core.diagnostics import UsageError

NOWHERE = "http://site.invalid/"  # the address of a site without one (RFC 2606)
# Not escaped in a path; quotes and parentheses are, so that the URL fits HTML, CSS and srcset as it is.
_SAFE = "/~!$&*+;=:@-._"
_STRIPPED = "".join(map(chr, range(0x21)))  # C0 control or space, which the URL parser strips at both ends


class Reach(Enum):
    """Where a reference leads."""

    LOCAL = "local"  # a path of the docroot, whether or not a file is there
    OUTSIDE = "outside"  # the site's host, but not below the docroot
    EXTERNAL = "external"  # another host
    OTHER = "other"  # data:, javascript:, mailto:, the document itself ("#top", "")
    BAD = "bad"  # not a URL

    __hash__ = object.__hash__  # as in ``model.Role``


class Target(NamedTuple):
    """A resolved reference.

    ``path`` is decoded and relative to the docroot; it is empty or ends in ``/`` for a directory. ``suffix`` is the
    query and the fragment with their marks, as the URL standard serialises them.
    """

    reach: Reach
    path: str = ""
    suffix: str = ""


_OTHER, _BAD, _EXTERNAL, _OUTSIDE = (Target(r) for r in (Reach.OTHER, Reach.BAD, Reach.EXTERNAL, Reach.OUTSIDE))


class SiteAddress:
    """The URL under which the docroot is published, and the mapping between URLs and paths.

    ``base_url`` may have a path (the deploy prefix); a missing last ``/`` is added. Raises ``UsageError`` if it
    is not an absolute http or https URL, or has a query or fragment.
    """

    def __init__(self, base_url: str | None = None) -> None:
        try:
            parsed = URL(base_url or NOWHERE)
        except RuntimeError:
            raise UsageError(f"base URL {base_url!r} is not an absolute URL") from None
        if parsed.protocol not in ("http:", "https:") or parsed.search or parsed.hash:
            raise UsageError(f"base URL {base_url!r} must be http or https, without query and fragment")
        self.is_known = base_url is not None
        self.prefix: str = parsed.pathname if parsed.pathname.endswith("/") else parsed.pathname + "/"
        self.host: str = parsed.host
        self.base: str = parsed.origin + self.prefix

    def url_of(self, path: str) -> str:
        """Return the absolute URL of a path of the docroot."""
        return self.base + quote_path(path)

    def resolve(self, base: str, reference: str) -> Target:
        """Resolve ``reference`` (as written) against the absolute URL ``base``."""
        trimmed = reference.strip(_STRIPPED)
        if not trimmed or trimmed[0] == "#":
            return _OTHER
        try:
            url = URL(trimmed, _parsed(base))
        except (RuntimeError, UnicodeEncodeError, TypeError):  # the binding takes no lone surrogates
            return _BAD
        if url.protocol not in ("http:", "https:"):
            return _OTHER
        if url.host != self.host:
            return _EXTERNAL
        return self._local(url.pathname, url.search + url.hash)

    def _local(self, pathname: str, suffix: str) -> Target:
        if not pathname.startswith(self.prefix):
            return _OUTSIDE
        path = unquote_path(pathname[len(self.prefix) :])
        return _BAD if "\0" in path else Target(Reach.LOCAL, path, suffix)


def join(base: str, reference: str) -> str | None:
    """Return the absolute URL of ``reference`` against the absolute URL ``base``, or ``None`` if it is not a URL."""
    try:
        href: str = URL(reference.strip(_STRIPPED), _parsed(base)).href
    except (RuntimeError, UnicodeEncodeError, TypeError):  # the binding takes no lone surrogates
        return None
    return href


def host_and_path(url: str) -> tuple[str, str]:
    """Return the host, in small letters, and the path of a URL as it is written; both are empty if it is not a URL."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.path
    except ValueError:  # of "http://["
        return "", ""


def host_of(base: str, reference: str) -> str:
    """Return the host of ``reference`` against the absolute URL ``base``, in small letters; ``""`` if it has none."""
    return host_and_path(join(base, reference) or "")[0]


def path_in_host(base: str, reference: str) -> str:
    """Return the URL of ``reference`` against the absolute URL ``base`` without scheme and host: ``/x.png?v=1``."""
    url = URL(reference.strip(_STRIPPED), _parsed(base))
    return str(url.pathname + url.search + url.hash)


def document_base(url: str, base_href: str | None) -> str:
    """Return the document base URL (HTML, section 2.4.3) of the page at ``url`` with the first base's ``href``."""
    joined = join(url, base_href) if base_href is not None else None
    return joined if joined is not None and joined.startswith(("http:", "https:")) else url


@lru_cache(maxsize=64)
def _parsed(base: str) -> URL:
    return URL(base)


def is_at_or_below(path: str, parents: Iterable[str]) -> bool:
    """Whether a path is one of ``parents``, or below one."""
    return any(path == parent or path.startswith(f"{parent}/") for parent in parents)


def quote_path(path: str) -> str:
    """Percent-encode a path, byte by byte, for use in a URL."""
    return quote(os.fsencode(path), safe=_SAFE)


def unquote_path(pathname: str) -> str:
    """Percent-decode the path of a URL; an encoded slash stays encoded, since servers treat it as another character."""
    if "%" not in pathname:
        return pathname
    with_slashes_escaped = pathname.replace("%2F", "%252F").replace("%2f", "%252f")
    return os.fsdecode(unquote_to_bytes(with_slashes_escaped))


def relative_url(from_path: str, to_path: str) -> str:
    """Return the shortest relative URL from the page or sheet ``from_path`` to ``to_path``, both in the docroot.

    Relative URLs stay valid when the deploy prefix changes.
    """
    source, target = from_path.split("/")[:-1], to_path.split("/")
    shared = 0
    while shared < min(len(source), len(target) - 1) and source[shared] == target[shared]:
        shared += 1
    steps = [".."] * (len(source) - shared) + target[shared:]
    relative = quote_path("/".join(steps))
    first = relative.split("/", 1)[0]
    return "./" + relative if ":" in first or not first else relative


_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def is_rooted(url: str) -> bool:
    """Whether a URL, as written, leads to one place from pages of any address: a slash or a scheme begins it."""
    trimmed = url.strip(_STRIPPED)
    return trimmed[:1] in ("/", "\\") or _SCHEME.match(trimmed) is not None


def rooted_url(url: str) -> str:
    """Return an absolute URL without scheme and host: ``/x.png?v=1``."""
    return path_in_host(url, "")


# Characters that are the same in a path, a URL and a URL pattern; names with others get no pattern
_PATTERN_SAFE = r"[A-Za-z0-9_./~-]*"
_LETTER = "[A-Za-z0-9_-]"
_EXTENSION = r"\.(?:css|js|mjs)"

# A hash has eight letters, one of them a digit: index-B2x4Yz_a.js (Vite), main.3f2a9c1b.chunk.js (webpack). Without
# lookaround, which not every server has: the first digit is one of the first seven letters, or comes later.
_LENGTH = 8
_FIRST_DIGITS = [f"{_LETTER}{{{place}}}[0-9]{_LETTER}{{{_LENGTH - 1 - place},}}" for place in range(_LENGTH - 1)]
_HASH = f"(?:{'|'.join(_FIRST_DIGITS)}|{_LETTER}{{{_LENGTH - 1},}}[0-9]{_LETTER}*)"


def hashed_path(head: str = "", tail: str = "") -> str:
    """Return the regular expression of a path with a hash; groups, after ``head`` and ``tail``, are what surrounds it.

    It begins and ends anywhere.
    """
    return rf"({head}{_PATTERN_SAFE}[._~-]){_HASH}({tail}(?:\.[a-z]{{1,8}})?{_EXTENSION})"


def plain_path(group: str = "") -> str:
    """Return the regular expression of a path that counts where ``hashed_path`` does not match, in one group."""
    return rf"({group}{_PATTERN_SAFE}{_EXTENSION})"


def pattern_of(path: str) -> str | None:
    """Return the pattern of the paths of all versions of a file, with ``*`` for a hash; ``None`` where there is none.

    It is a pattern as ``Use-As-Dictionary`` has it (RFC 9842, section 2.1.1).
    """
    if hashed := re.fullmatch(hashed_path(), path):
        return f"{hashed[1]}*{hashed[2]}"
    return path if re.fullmatch(plain_path(), path) else None
