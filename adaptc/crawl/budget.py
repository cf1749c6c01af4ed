"""What a crawl may still fetch: ``--quota`` and ``--max-pages``.

Nothing is started beyond them, and what is under way when one is used up is kept. So requests under way count before
they end: a file with what its head announces, or else with the mean of the files so far; any of them may be a page.
"""

from __future__ import annotations

from adaptc.crawl.scope import Refusal, ScopeOptions


class Budget:
    """The files that came, and those that are under way. ``spent`` is set when a limit is used up, and says which."""

    def __init__(self, scope: ScopeOptions) -> None:
        self.quota, self.max_pages = scope.quota, scope.max_pages
        self.is_bounded = self.quota is not None or self.max_pages is not None
        self.spent: Refusal | None = None
        self.files = self.pages = self.received = 0
        self._announced: dict[int, int] = {}  # bytes by the id of the URL

    def announce(self, number: int, size: int) -> None:
        """Note how many bytes a response under way has."""
        if self.quota is not None:
            self._announced[number] = size

    def forget(self, number: int) -> None:
        """Note that a response is not under way any more."""
        self._announced.pop(number, None)

    def count(self, size: int, *, is_page: bool) -> None:
        """Count a file that came, of ``size`` bytes."""
        self.files += 1
        self.pages += is_page
        self.received += size
        if self.quota is not None and self.received >= self.quota:
            self.spent = Refusal("quota", f"--quota {self.quota} is used up")
        if self.max_pages is not None and self.pages >= self.max_pages:
            self.spent = Refusal("max-pages", f"--max-pages {self.max_pages} is reached")

    def may_start(self, active: int) -> bool:
        """Whether a request may start while ``active`` others are under way."""
        if self.spent is not None:
            return False
        if self.max_pages is not None and self.pages + active >= self.max_pages:
            return False
        return self.quota is None or self.received + self._expected(active) < self.quota

    def _expected(self, active: int) -> float:
        mean = self.received / self.files if self.files else 0.0
        return sum(self._announced.values()) + max(0, active - len(self._announced)) * mean
