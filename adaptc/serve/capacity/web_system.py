"""Models of a whole web system: an open site, and an Internet provider with a caching proxy.

Fujita, Murata and Miyahara 1999, figures 9 and 11. Times are seconds, sizes bytes, lines bits a second.
"""

from __future__ import annotations

from dataclasses import dataclass

from adaptc.serve.capacity.chains import ClosedChain, solve_closed
from adaptc.serve.capacity.processor_sharing import SharedServer, stationary

BACKBONE = 0.195  # mean delay coast to coast, seconds (section 4.1)
HIT_RATIO = 0.51  # of the proxy (section 4.2)
# The paper prints a = 0.01121 and b = 0.0002329 for g(x) = ax + b; only the other way round do they give the curve
# that it describes, flat below some 20 kB and then linear.
PROXY_FIXED = 0.01121  # seconds a request
PROXY_PER_KILOBYTE = 0.0002329  # seconds a kB


def proxy_demand(size: float) -> float:
    """Return the work of the proxy for a document of ``size`` bytes, in seconds: g(x) of section 3.2."""
    return PROXY_FIXED + PROXY_PER_KILOBYTE * size / 1000


@dataclass(frozen=True, slots=True)
class OpenDelays:
    """Mean delays of a request in seconds, and the share of requests that the web server turns away."""

    web: float
    line: float
    backbone: float
    blocked: float

    @property
    def total(self) -> float:
        """The delay that the user sees."""
        return self.web + self.line + self.backbone


def open_site(rate: float, size: float, line: float, web: SharedServer, backbone: float = BACKBONE) -> OpenDelays:
    """Return the delays of a site that is open to the Internet (figure 9), at ``rate`` requests a second.

    Raises ``Overload`` when the line cannot carry the requests.
    """
    at_web = stationary(web, rate)
    on_line = stationary(SharedServer(size * 8 / line), rate * (1 - at_web.blocked))
    return OpenDelays(at_web.time, on_line.time, backbone, at_web.blocked)


@dataclass(frozen=True, slots=True)
class Provider:
    """Users of an Internet provider behind a proxy (figure 11)."""

    users: int
    think: float
    size: float
    line: float
    web: SharedServer
    hit_ratio: float = HIT_RATIO
    backbone: float = BACKBONE


@dataclass(frozen=True, slots=True)
class ProviderDelays:
    """Documents a second, and mean seconds a document at the proxy, on the access line, and at the web server.

    ``line`` and ``web`` are averaged over hits and misses, as the paper's figures have them.
    """

    throughput: float
    proxy: float
    line: float
    web: float


def solve_provider(provider: Provider) -> ProviderDelays:
    """Return the delays by the approximation of section 4.3: the web server is a delay that depends on its rate.

    The rate at the web server follows from its delay and the delay from the rate: a fixed point. A longer delay
    means a lower rate, so there is one, and it is found by bisection. Against simulation the paper's error is
    7 % at 1.5 Mb/s and 11 % at 6 Mb/s.
    """
    low, high = 0.0, provider.users / (provider.think + proxy_demand(provider.size))
    for _ in range(60):
        rate = (low + high) / 2
        closed = _closed(provider, rate)
        low, high = (rate, high) if closed.throughput * _misses(provider) > rate else (low, rate)
    web_delay = _misses(provider) * stationary(provider.web, low).time
    return ProviderDelays(closed.throughput, closed.times[0], closed.times[1], web_delay)


def _misses(provider: Provider) -> float:
    return 1 - provider.hit_ratio


def _closed(provider: Provider, web_rate: float) -> ClosedChain:
    web = stationary(provider.web, web_rate)
    delay = provider.think + _misses(provider) * (provider.backbone + web.time)
    line = _misses(provider) * provider.size * 8 / provider.line
    return solve_closed(provider.users, delay, (proxy_demand(provider.size), line))
