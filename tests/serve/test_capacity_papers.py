"""The capacity formulas give the papers' numbers, to the printed digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from adaptc.daemons.control.machine import Load
from adaptc.serve.capacity.queueing import (
    Overload,
    Provider,
    SharedServer,
    proxy_demand,
    solve_closed,
    solve_mixed,
    solve_provider,
    stationary,
)
from adaptc.serve.capacity.rungs import ACTIONS, PAGE_SHARES, SAVINGS, bucket_of
from adaptc.serve.capacity.utilization import (
    BOUND,
    CapacityExceeded,
    Cost,
    Guarantee,
    allocations,
    priority_target,
)
from benchmarks.papers.fujita import open_site


def rounded(values: object, digits: int = 6) -> object:
    return [round(value, digits) for value in values]  # type: ignore[attr-defined]


# ---- Fujita, Murata and Miyahara 1999: M/G/1/PS with a limit


@pytest.mark.parametrize(
    ("service", "limit", "rate", "blocked", "time"),
    [
        (1, 5, 0.8, 0.088819, 2.563065),
        (0.0135, 16, 50, 0.000604, 0.041137),
        (0.0135, 16, 80, 0.101509, 0.136288),
        (0.0135, 16, 100, 0.260847, 0.179218),
    ],
)
def test_a_limited_server(service: float, limit: int, rate: float, blocked: float, time: float) -> None:
    result = stationary(SharedServer(service, limit), rate)
    assert (round(result.blocked, 6), round(result.time, 6)) == (blocked, time)


def test_a_limited_server_agrees_with_the_closed_form_of_the_mean() -> None:
    rho, limit = 0.675, 16
    closed_form = rho / (1 - rho) - (limit + 1) * rho ** (limit + 1) / (1 - rho ** (limit + 1))
    assert stationary(SharedServer(0.0135, limit), 50).jobs == pytest.approx(closed_form)


def test_a_full_load_is_no_special_case() -> None:
    result = stationary(SharedServer(0.1, 4), 10)
    assert result.blocked == pytest.approx(1 / 5)
    assert result.jobs == pytest.approx(2)


def test_a_server_far_beyond_its_capacity_stays_finite() -> None:
    result = stationary(SharedServer(1, 1000), 1000)
    assert result.blocked == pytest.approx(0.999)
    assert result.time == pytest.approx(1000, rel=1e-3)


def test_time_in_the_server_is_proportional_to_the_service_a_job_needs() -> None:
    result = stationary(SharedServer(1, 5), 0.8)
    assert result.time_of(2, 1) == pytest.approx(2 * 2.563065, abs=1e-5)


def test_an_idle_server_takes_the_service_time() -> None:
    assert stationary(SharedServer(0.04), 0).time == 0.04


def test_a_server_without_limit_has_no_steady_state_in_overload() -> None:
    with pytest.raises(Overload, match=r"offered load 1\.2"):
        stationary(SharedServer(0.04), 30)


# ---- closed and mixed chains


def test_mean_value_analysis() -> None:
    result = solve_closed(2, 1, [0.5, 0.25])
    assert round(result.throughput, 6) == 1.037037
    assert rounded(result.queues) == [0.666667, 0.296296]


def normalising_constants(customers: int, think: float, demands: Sequence[float]) -> list[float]:
    """Return G(0)..G(N) by convolution: G_0(n) = Z^n / n!, then G(n) += D_k G(n-1) station by station.

    The throughput is G(N-1) / G(N). The constants leave the range of floats for hundreds of customers.
    """
    constants = [1.0]
    for n in range(1, customers + 1):
        constants.append(constants[-1] * think / n)
    for demand in demands:
        for n in range(1, customers + 1):
            constants[n] += demand * constants[n - 1]
    return constants


def test_convolution() -> None:
    constants = normalising_constants(2, 1, [0.5, 0.25])
    assert constants == [1, 1.75, 1.6875]
    assert round(constants[1] / constants[2], 6) == 1.037037


def test_thirty_customers() -> None:
    result = solve_closed(30, 1, [0.013539, 0.026760])
    assert round(result.throughput, 6) == 27.232066
    assert rounded(result.queues) == [0.569066, 2.198868]


def test_a_mixed_network() -> None:
    result = solve_mixed(10, 1, [0.05, 0.08], 4, [0.03, 0.05])
    assert round(result.closed.throughput, 6) == 7.438255
    assert rounded(result.closed.queues) == [0.671343, 1.890402]
    assert rounded(result.open_times) == [0.056978, 0.180650]


def test_open_arrivals_that_fill_a_station_are_refused() -> None:
    with pytest.raises(ValueError, match="alone fill a station"):
        solve_mixed(1, 1, [0.1], 20, [0.05])


# ---- whole systems


@pytest.mark.parametrize(("line", "total"), [(1.5e6, 0.320128), (768e3, 0.473571)])
def test_an_open_site(line: float, total: float) -> None:
    assert round(open_site(5, 10 * 1024, line, SharedServer(0.04, 16)).total, 6) == total


def test_the_proxy_is_flat_for_small_documents_and_linear_for_large_ones() -> None:
    assert proxy_demand(1000) == pytest.approx(0.0114429)
    assert proxy_demand(1_000_000) / proxy_demand(500_000) > 1.9


def provider(line: float = 1.5e6, hit_ratio: float = 0.51) -> Provider:
    return Provider(30, 1.0, 10 * 1024, line, SharedServer(0.04, 16), hit_ratio)


def test_the_delay_of_the_web_server_is_the_one_at_the_rate_that_it_causes() -> None:
    result = solve_provider(provider())
    at_web = stationary(SharedServer(0.04, 16), result.throughput * 0.49)
    assert result.web == pytest.approx(0.49 * at_web.time, rel=1e-6)


def test_a_better_hit_ratio_shortens_the_delay_on_the_line() -> None:
    delays = [solve_provider(provider(768e3, ratio)).line for ratio in (0.0, 0.25, 0.5, 0.75)]
    assert delays == sorted(delays, reverse=True)


# ---- Abdelzaher, Shin and Bhatti 2002


def test_the_bound() -> None:
    assert round(1 / (1 + math.sqrt(0.5)), 4) == 0.5858
    assert BOUND == 0.58


def service_time(kilobytes: float) -> float:
    """Return the seconds that a file of this size took on the paper's server (section 7.2).

    T_s(x) = max(1.604 + 0.063 x, 0.093 x) ms: the end system is the bottleneck first, the network later. Table 2's
    1.677 for 1 kB is a misprint of 1.667.
    """
    return max(1.604 + 0.063 * kilobytes, 0.093 * kilobytes) / 1000


@pytest.mark.parametrize(
    ("kilobytes", "milliseconds"),
    [
        (1, 1.667),
        (2, 1.73),
        (4, 1.856),
        (8, 2.108),
        (16, 2.612),
        (32, 3.62),
        (64, 5.952),
        (128, 11.904),
        (256, 23.808),
        (512, 47.616),
    ],
)
def test_the_service_time_of_a_file(kilobytes: int, milliseconds: float) -> None:
    assert round(service_time(kilobytes) * 1000, 3) == milliseconds


def test_the_rates_at_which_to_degrade_and_to_reject() -> None:
    # read off figure 6 there: about 160 and 460 requests a second
    assert 1 / service_time(64) == pytest.approx(160, rel=0.06)
    assert 1 / service_time(8) == pytest.approx(460, rel=0.06)


def test_utilization_with_and_without_rejection() -> None:
    cost = Cost()
    assert cost.utilization(100, 1000) == pytest.approx(0.083 + 0.033)
    assert Load(100, 0, 1000).utilization(cost) == cost.utilization(100, 1000)
    assert Load(1000, 1000, 0).utilization(cost) == pytest.approx(0.55)


MEGABIT = 125  # kB
HP_UX = Cost(0.001604, 0.007875 / MEGABIT, 0.0011)  # equation 10, section 7.5


def test_the_guarantees_of_section_7_6_are_accepted() -> None:
    result = allocations({"V1": Guarantee(50, 13 * MEGABIT), "V2": Guarantee(100, 27 * MEGABIT)}, HP_UX)
    assert round(sum(result.values()), 4) == 0.5556


def test_the_guarantees_of_section_7_8_are_refused_unless_only_throughput_is_asked() -> None:
    asked = {"V1": Guarantee(100, 13 * MEGABIT), "V2": Guarantee(100, 27 * MEGABIT)}
    with pytest.raises(CapacityExceeded, match=r"need a utilization of 0\.6358 .* the bound is 0\.58"):
        allocations(asked, HP_UX)
    assert round(sum(allocations(asked, HP_UX, throughput_only=True).values()), 4) == 0.6358


def test_a_lower_priority_gets_what_the_higher_ones_leave() -> None:
    cost = Cost(rejection=0.001)
    assert priority_target(0.58, [0.2, 0.1], [50], cost) == pytest.approx(0.23)
    assert priority_target(0.58, [0.7], [], cost) == pytest.approx(-0.12)


# ---- Krishnamurthy, Zhang, Wills and Vishwanath 2003


@pytest.mark.parametrize(
    ("container", "objects", "embedded", "bucket"),
    [
        (11_999, 6, 19_999, "S-S-S"),
        (12_000, 7, 20_000, "M-M-M"),
        (29_999, 22, 54_999, "M-M-M"),
        (30_000, 23, 55_000, "L-L-L"),
    ],
)
def test_buckets_of_pages(container: int, objects: int, embedded: int, bucket: str) -> None:
    assert str(bucket_of(container, objects, embedded)) == bucket


def test_the_share_of_pages_by_bucket() -> None:
    assert bucket_of(0, 0, 0).paper_share == 20
    assert bucket_of(12_000, 7, 20_000).paper_share == 7
    assert bucket_of(0, 7, 20_000).paper_share == 5
    assert bucket_of(30_000, 23, 55_000).paper_share == 14
    assert sum(PAGE_SHARES.values()) == 99  # rounded in the paper


def test_what_actions_save() -> None:
    modem = SAVINGS["modem-att"]
    assert modem.base * modem.percent[ACTIONS.index("baseonly")] / 100 == pytest.approx(9.724, abs=1e-3)
    assert all(len(savings.percent) == len(ACTIONS) for savings in SAVINGS.values())
    assert all(max(savings.percent) == savings.percent[ACTIONS.index("baseonly")] for savings in SAVINGS.values())
