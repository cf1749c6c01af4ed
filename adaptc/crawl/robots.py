"""robots.txt (RFC 9309), by protego: longest match, wildcards, Crawl-delay, sitemaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LONGEST = 500 * 1024  # bytes that are read of a robots.txt (RFC 9309, section 2.5)
MOST_REDIRECTS = 5  # section 2.3.1.2
UNREACHABLE = 599  # the status kept for an origin whose robots.txt cannot be had
_TOKEN = "adaptc"


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin. ``rules`` is protego's, ``None`` where ``blanket`` decides for every URL."""

    blanket: bool = True
    rules: Any = None
    reason: str = ""
    sitemaps: tuple[str, ...] = field(default=())

    def allows(self, url: str) -> bool:
        """Whether the URL may be asked for."""
        return bool(self.rules.can_fetch(url, _TOKEN)) if self.rules is not None else self.blanket

    @property
    def delay(self) -> float:
        """Seconds to leave between requests: Crawl-delay, not of the standard but in common use."""
        return float(self.rules.crawl_delay(_TOKEN) or 0.0) if self.rules is not None else 0.0


def robots_of(status: int, content: bytes) -> Robots:
    """Return the rules that a response for ``/robots.txt`` stands for (section 2.3.1).

    2xx is read; 4xx (and redirects that do not end) means no rules; 5xx and no answer at all mean that nothing may be
    asked for.
    """
    if status >= 500:
        said = "cannot be had" if status == UNREACHABLE else f"is answered with {status}"
        return Robots(blanket=False, reason=f"robots.txt {said}: everything counts as forbidden (RFC 9309, 2.3.1.4)")
    if not 200 <= status < 300:
        return Robots()
    from protego import Protego

    rules = Protego.parse(content[:LONGEST].decode("utf-8-sig", "replace"))
    return Robots(rules=rules, reason="robots.txt forbids it", sitemaps=tuple(rules.sitemaps))
