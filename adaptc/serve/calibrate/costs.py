"""The costs that follow from measured views: of a connection, a request and a kilobyte.

A view of k files of a size costs p + k(a + b size); p is for the connection. Views of several lengths give p, two sizes
give a and b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptc.serve.capacity.utilization import Cost


@dataclass(frozen=True, slots=True)
class KindCost:
    """CPU seconds of a request and of a kilobyte, of files of a kind."""

    request: float
    kilobyte: float


def fit_line(views: Mapping[int, float]) -> tuple[float, float]:
    """Return p and the cost of a request, by least squares of relative errors; ``views`` are costs by length.

    Neither is negative.
    """
    weights = {length: 1 / cost**2 for length, cost in views.items()}
    total = sum(weights.values())
    mean_length = sum(weights[length] * length for length in views) / total
    mean_cost = sum(weights[length] * cost for length, cost in views.items()) / total
    spread = sum(weights[length] * (length - mean_length) ** 2 for length in views)
    joint = sum(weights[length] * (length - mean_length) * (cost - mean_cost) for length, cost in views.items())
    slope = min(max(0.0, joint / spread), mean_cost / mean_length)
    return mean_cost - slope * mean_length, slope


def kind_cost(small: float, large: float, sizes: tuple[float, float]) -> KindCost:
    """Return the cost of a kind from those of requests of two ``sizes`` in kB."""
    kilobyte = max(0.0, (large - small) / (sizes[1] - sizes[0]))
    return KindCost(max(0.0, small - kilobyte * sizes[0]), kilobyte)


def site_cost(
    connection: float, page: KindCost, kinds: Mapping[str, KindCost], embedded: Sequence[str], page_kind: str
) -> Cost:
    """Return p, a and b of a site whose pages embed files of these kinds, over the protocol of ``page``.

    ``kinds`` are costs over plain HTTP: only the difference between a kind and that of pages is taken from them. The
    first request of a view is that of the page: what it costs more or less than others is in p. a is the mean over
    embedded files; without any it is that of pages.
    """
    extra = [kinds.get(kind, kinds[page_kind]).request - kinds[page_kind].request for kind in embedded]
    request = max(0.0, page.request + (sum(extra) / len(extra) if extra else 0.0))
    return Cost(request, page.kilobyte, view=max(0.0, connection + page.request - request))
