"""Which pages are shown: the most viewed ones, and without views those that save most."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import groupby

from adaptc.report.figures import PageFigures


def sample_pages(pages: Iterable[PageFigures], first: str, count: int) -> list[tuple[str, dict[str, PageFigures]]]:
    """Return ``count`` pages with their figures by level: by views, then by the bytes saved against level ``first``.

    ``pages`` come in the order of paths, as a ``Collector`` gives them.
    """
    found = (
        (path, {page.level: page for page in levels}) for path, levels in groupby(pages, key=lambda page: page.path)
    )

    def order(row: tuple[str, dict[str, PageFigures]]) -> tuple[int, int, str]:
        path, levels = row
        sent = [page.transfer_bytes for page in levels.values()]
        dearest = levels[first].transfer_bytes if first in levels else max(sent)
        return (-next(iter(levels.values())).views, min(sent) - dearest, path)

    return heapq.nsmallest(count, found, key=order)
