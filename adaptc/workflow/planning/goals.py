"""What a level is to reach: limits of what its mean page view costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.browser.paint import LINES
from adaptc.config.budgets import read_budgets
from adaptc.config.config import CostConfig
from adaptc.config.schema import InvalidValue, seconds, size
from adaptc.config.toml import nearest
from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass
from adaptc.report.figures import capacity_factor

if TYPE_CHECKING:
    from adaptc.config.config import Config

# Requests that browsers send to a server at once
_CONNECTIONS = 6
# Round trips before the first byte of a page: the connection, TLS 1.3, the request
_FIRST = 3


@dataclass(frozen=True, slots=True)
class PageMean:
    """The mean page view of a level: requests, and bytes in the best coding."""

    requests: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Goals:
    """Limits that all must hold, ``None`` for none: requests and bytes of the mean page view, and what they lead to.

    ``requests_share`` and ``bytes_share`` are limits as shares of the full site, ``throughput`` is the factor by which
    page views may grow at equal utilization, ``seconds`` the time of a page on the ``line`` of that name.
    """

    requests: float | None = None
    requests_share: float | None = None
    bytes: float | None = None
    bytes_share: float | None = None
    throughput: float | None = None
    seconds: float | None = None
    line: str = "3g"

    def misses(self, mean: PageMean, full: PageMean, cost: CostConfig) -> list[str]:
        """Return a sentence for each goal that ``mean`` does not reach."""
        factor, seconds = throughput(mean, full, cost), page_seconds(mean, self.line)
        rows = (
            (self.requests, mean.requests, "{:.2f} requests a page, not {:g}"),
            (self.requests_share, mean.requests / full.requests, "{:.3f} of the requests, not {:g}"),
            (self.bytes, mean.bytes, "{:,.0f} bytes a page, not {:,.0f}"),
            (self.bytes_share, mean.bytes / full.bytes if full.bytes else 0.0, "{:.3f} of the bytes, not {:g}"),
            (self.seconds, seconds, "{:.2f} s a page on such a line, not {:g} s"),
        )
        missed = [text.format(value, limit) for limit, value, text in rows if limit is not None and value > limit]
        if self.throughput is not None and factor < self.throughput:
            missed.append(f"{factor:.2f} times the page views, not {self.throughput:g} times")
        return missed

    def request_bytes(self, cost: CostConfig) -> float:
        """Return the bytes that a request is worth to these goals."""
        if self.throughput is not None or self.requests is not None or self.requests_share is not None:
            return round(1000 * cost.request_ms / cost.kilobyte_ms)
        line = LINES[self.line]
        return round(line.latency / 1000 * line.down / 8 / _CONNECTIONS) if self.seconds is not None else 0.0


def page_cost(mean: PageMean, cost: CostConfig) -> float:
    """Return what a page view costs the server, in milliseconds: p + aR + bW."""
    return cost.view_ms + cost.request_ms * mean.requests + cost.kilobyte_ms * mean.bytes / 1000


def throughput(mean: PageMean, full: PageMean, cost: CostConfig) -> float:
    """Return how many times the page views of the full site a server can answer (``capacity_factor``)."""
    costs = {"request_ms": cost.request_ms, "kilobyte_ms": cost.kilobyte_ms, "view_ms": cost.view_ms}
    return capacity_factor(mean.requests, mean.bytes, full.requests, full.bytes, **costs)


def page_seconds(mean: PageMean, line: str) -> float:
    """Predict the seconds in which the mean page arrives on a line of ``adaptc.browser.paint.LINES``.

    That is the round trips to the first byte, one more for each six requests after the first, and the bytes at the
    speed of the line. ``adaptc prove --line`` measures it in a browser.
    """
    profile = LINES[line]
    trips = _FIRST + ceil(max(0.0, mean.requests - 1) / _CONNECTIONS)
    return trips * profile.latency / 1000 + 8 * mean.bytes / profile.down


# ---- what people write

_SHARE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)")
_TIMES = re.compile(r"(\d+(?:\.\d+)?)\s*[x×]?")


def read_goals(config: Config, written: Mapping[str, str | None]) -> Goals:
    """Read the goals of the options ``throughput``, ``bytes``, ``requests``, ``page_time``, ``line`` and ``budget``.

    Raises ``UsageError`` for what cannot be read, and without any goal.
    """
    given = {name: value for name, value in written.items() if value is not None}
    if "line" in given and "page_time" not in given:
        raise UsageError("--line is for --page-time: say how soon a page shall arrive on it")
    if not given:
        raise UsageError("name a goal: --throughput, --bytes, --requests, --page-time or --budget")
    limits = _budget(config, given.pop("budget")) if "budget" in given else {}
    readers = {"throughput": _throughput, "bytes": _bytes, "requests": _requests, "page_time": _page_time}
    for name, value in given.items():
        limits |= {"line": value} if name == "line" else readers[name](value)
    return Goals(**limits)  # type: ignore[arg-type]


def _throughput(text: str) -> dict[str, float | str]:
    match = _TIMES.fullmatch(text.strip())
    if match is None or float(match[1]) < 1:
        raise UsageError(f"--throughput {text}: write how many times as many page views, such as 4x")
    return {"throughput": float(match[1])}


def _share_of(text: str) -> float | None:
    """Return a share, from a number up to 1 or a percentage; ``None`` for others."""
    match = _SHARE.fullmatch(text.strip())
    share = None if match is None else float(match[1]) / (100 if match[2] else 1)
    return share if share is not None and 0 < share <= 1 else None


def _bytes(text: str) -> dict[str, float | str]:
    share = _share_of(text)
    if share is not None:
        return {"bytes_share": share}
    try:
        return {"bytes": float(size()(int(text) if text.isascii() and text.isdigit() else text, Path()))}
    except InvalidValue:
        raise UsageError(f"--bytes {text}: write a share such as 0.4 or 40%, or a size such as 200kB") from None


def _requests(text: str) -> dict[str, float | str]:
    match, share = _SHARE.fullmatch(text.strip()), _share_of(text)
    if match is None or float(match[1]) <= 0 or (match[2] and share is None):
        raise UsageError(f"--requests {text}: write a number such as 5, or a share such as 0.5 or 50%")
    return {"requests": float(match[1])} if share is None or float(match[1]) == 1 else {"requests_share": share}


def _page_time(text: str) -> dict[str, float | str]:
    wanted = seconds(text)
    if not wanted:
        raise UsageError(f"--page-time {text}: write how long it may take, such as 2s or 1500ms")
    return {"seconds": wanted}


def _budget(config: Config, name: str) -> dict[str, float | str]:
    budgets = {budget.level: budget for budget in read_budgets(config.budgets)}
    if name not in budgets:
        raise UsageError(f"--budget {name}: there is no [budgets.{name}]{nearest(name, budgets)}")
    limits = {"requests": budgets[name].mean_requests, "bytes": budgets[name].mean_bytes}
    if not any(limits.values()):
        raise UsageError(f"--budget {name}: [budgets.{name}] limits neither mean_requests nor mean_bytes")
    return {key: limit for key, limit in limits.items() if limit is not None}
