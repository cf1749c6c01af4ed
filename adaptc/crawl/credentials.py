"""Which requests carry credentials: they belong to where the user gave them for, and never go from https to http.

User and password belong to an origin: scheme, host and port (RFC 9110, section 11.5, keeps protection spaces apart by
origin, too). A ``Cookie`` or ``Authorization`` field of the user's own goes to the hosts of the start URLs. An entry of
``~/.netrc`` is for a machine; libcurl would send it without TLS as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from adaptc.crawl.options import NetworkOptions
from adaptc.crawl.weburl import Parts, parts_of

_SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})


class Credentials:
    """The credentials of a crawl that begins with the URLs ``starts``."""

    def __init__(self, options: NetworkOptions, starts: Iterable[str]) -> None:
        self._auth = options.auth
        self._schemes: dict[str, set[str]] = {}  # of the start URLs, by host
        for parts in map(parts_of, starts):
            self._schemes.setdefault(parts.host, set()).add(parts.scheme)
        self._is_secure = any("https" in schemes for schemes in self._schemes.values())
        self.secret_fields = tuple(line for line in options.headers if _name(line) in _SECRET)

    def of(self, url: str) -> tuple[str, str] | None:
        """Return user and password for a URL."""
        return self._auth.get(parts_of(url).origin)

    def may_have_fields(self, url: str) -> bool:
        """Whether a request may carry the fields that are secret."""
        parts = parts_of(url)
        return parts.host in self._schemes and self._is_as_safe(parts)

    def may_use_netrc(self, url: str) -> bool:
        """Whether libcurl may look for the host in ``~/.netrc``."""
        return not self._is_secure or self._is_as_safe(parts_of(url))

    def _is_as_safe(self, parts: Parts) -> bool:
        """Whether a URL is no less protected than the start URLs of its host; for another host, than all of them."""
        if parts.scheme == "https":
            return True
        schemes = self._schemes.get(parts.host)
        return "http" in schemes if schemes is not None else not self._is_secure


def _name(line: str) -> str:
    return line.partition(":")[0].strip().lower()
