"""The links of a file entered into the frontier: each is followed, or refused for a reason."""

from __future__ import annotations

from collections.abc import Iterable

from adaptc.crawl.body_job import FileLinks
from adaptc.crawl.discover.link import Link
from adaptc.crawl.frontier import Frontier, MetUrl, Row
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.report import Journal
from adaptc.crawl.scope import Candidate, Scope
from adaptc.crawl.weburl import parts_of

_REFUSALS = 200_000  # refused links that are remembered, so that each is written down once


class Links:
    """Decides on links."""

    def __init__(self, options: CrawlOptions, scope: Scope, frontier: Frontier, journal: Journal) -> None:
        self.options, self.scope, self.frontier, self.journal = options, scope, frontier, journal
        self._refused: set[tuple[str, str]] = set()
        self._by_tag = options.scope.by_tag

    def add(self, row: Row, file_links: FileLinks) -> None:
        """Enter the links of a file, and keep them for reports and for the crawl after a 304."""
        self.frontier.remember_links(row.id, file_links.base, file_links.packed, file_links.nofollow)
        rank, knows = row.rank or 0, self.frontier.knows
        new = (link for link in file_links.links if not knows(link.url, rank, link.requisite))
        decided = [self._decided(row, link, file_links.nofollow) for link in new]
        self.frontier.add(row.id, rank, [link for link in decided if link is not None])

    def _decided(self, row: Row, link: Link, nofollow: bool) -> MetUrl | None:
        tag = link.tag if self._by_tag else ""
        forbidden = self._nofollow(link, nofollow)
        candidate = Candidate(link.url, row.depth + 1, link.requisite, tag, link.is_relative, forbidden, row.url)
        refused = self.scope.refusal(candidate)
        if refused is None:
            return MetUrl(link.url, row.depth + 1, link.requisite, link.place, link.line)
        if (link.url, refused.rule) in self._refused:
            return None
        if len(self._refused) >= _REFUSALS:
            self._refused.clear()
        self._refused.add((link.url, refused.rule))
        self.journal.write("refused", link.url, rule=refused.rule, reason=refused.reason, referrer=row.url)
        return MetUrl(link.url, row.depth + 1, link.requisite, link.place, link.line, refused.rule, refused.reason)

    def _nofollow(self, link: Link, page_forbids: bool) -> str:
        if not self.options.robots or link.requisite:
            return ""
        if link.nofollow and self.options.obey_nofollow:
            return "its link says rel=nofollow"
        return "the page forbids to follow its links (meta robots or X-Robots-Tag)" if page_forbids else ""

    def add_sitemaps(self, sitemaps: Iterable[MetUrl]) -> None:
        """Enter the sitemaps that a robots.txt names; not the scope but their host decides."""
        self.frontier.add(None, 0, [sitemap for sitemap in sitemaps if parts_of(sitemap.url).host in self.scope.hosts])
