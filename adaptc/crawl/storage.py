"""Whether a response is kept as a file, and under which name."""

from __future__ import annotations

from adaptc.crawl.body_job import Job
from adaptc.crawl.frontier import Frontier, Row
from adaptc.crawl.http import Head, Response
from adaptc.crawl.mirror import http_time
from adaptc.crawl.names import Claims, adjusted, server_name
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.scope import Scope
from adaptc.crawl.weburl import parts_of


class StoragePolicy:
    """Decides whether a body is kept, and under which name."""

    def __init__(self, options: CrawlOptions, scope: Scope, frontier: Frontier, claims: Claims) -> None:
        self.options, self.scope, self.frontier, self.claims = options, scope, frontier, claims

    def job(self, row: Row, response: Response, name: str | None) -> Job:
        """Return the job for a response whose file is ``name``, ``None`` for no file."""
        head, file = response.head, response.file
        modified = http_time(head.get("last-modified")) if self.options.update.use_server_timestamps else None
        return Job(
            row.id, row.url, row.place or "", head.status, head.fields, response.body,
            str(file) if file is not None else None, response.size, name, modified, row.disk is not None,
        )  # fmt: skip

    def reason_not_kept(self, row: Row) -> str | None:
        """Return why a file is not kept though it was loaded, ``None`` when it is."""
        if self.options.spider:
            return "--spider"
        if self.options.update.delete_after:
            return "--delete-after"
        if row.place == "start" and not self.options.scope.level:
            return None
        refused = self.scope.name_refusal(parts_of(row.url).file or self.options.names.default_page)
        return f"needed for its links only; {refused.reason}" if refused is not None else None

    def final_name(self, row: Row, head: Head) -> str:
        """Return the name with what only the response tells: Content-Disposition, the extension of the type."""
        assert row.name is not None
        names, wanted = self.options.names, row.name
        server_base = server_name(head.get("content-disposition") or "", names) if names.content_disposition else None
        if server_base is not None:
            wanted = wanted[: wanted.rfind("/") + 1] + server_base
        wanted = adjusted(wanted, head.media_type, names)
        if wanted == row.name:
            return wanted
        with self.frontier:
            self.claims.release(row.name)
            wanted = self.claims.claim(wanted)
            self.frontier.set_names([(wanted, row.id)])
        return wanted
