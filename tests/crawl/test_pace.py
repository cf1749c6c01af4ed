"""When a host may be asked again, by a clock that the test sets."""

from __future__ import annotations

import pytest

from adaptc.crawl.http import Head
from adaptc.crawl.schedule import Pace, retry_wait


def pace(wait: float = 0.0, connections: int = 8, total: int = 16, random_wait: bool = False) -> Pace:
    return Pace(wait, random_wait, connections, total, seed=1)


def started(at: Pace, host: str = "h", now: float = 0.0) -> int:
    """Start as many requests as may start now; return how many."""
    count = 0
    while at.may_start(host, now):
        at.started(host, now)
        count += 1
    return count


def test_connections_to_a_host_and_to_all() -> None:
    at = pace()
    assert [started(at, host) for host in ("a", "b", "c")] == [8, 8, 0]
    at.ended("a")
    assert started(at, "c") == 1


def test_a_wait_is_between_starts_and_one_at_a_time() -> None:
    at = pace(wait=2.0)
    assert started(at) == 1
    assert not at.may_start("h", 5.0)
    at.ended("h")
    assert not at.may_start("h", 1.9)
    assert at.ready_in("h", 0.5) == 1.5
    assert at.may_start("h", 2.0)
    assert at.may_start("other", 0.0)


def test_a_crawl_delay_counts_where_it_is_longer() -> None:
    at = pace(wait=2.0)
    at.slow_down("h", 1.0)
    at.slow_down("g", 3.0)
    started(at, "h")
    started(at, "g")
    assert (at.ready_in("h", 0.0), at.ready_in("g", 0.0)) == (2.0, 3.0)


def test_a_random_wait_is_half_to_one_and_a_half_times_as_long() -> None:
    gaps = set()
    for number in range(50):
        at = Pace(2.0, True, 8, 16, seed=number)
        at.started("h", 0.0)
        gaps.add(at.ready_in("h", 0.0))
    assert 1.0 <= min(gaps) < 1.2
    assert 2.8 < max(gaps) <= 3.0


def test_backing_off_never_shortens_a_wait() -> None:
    at = pace()
    at.back_off("h", 10.0)
    at.back_off("h", 5.0)
    assert at.ready_in("h", 0.0) == 10.0


def test_a_queue_that_drops_connections_gets_half_as_many() -> None:
    at = pace()
    started(at)
    at.ended("h", connected=1.05)
    for _ in range(7):
        at.ended("h")
    assert started(at, now=1.0) == 4


def test_one_more_is_tried_after_many_that_were_taken() -> None:
    at = pace()
    started(at)
    at.ended("h", connected=1.05)
    for _ in range(32):
        at.ended("h", connected=0.001)
        at.started("h", 0.0)
    for _ in range(7):
        at.ended("h")
    assert started(at, now=1.0) == 5


def test_at_least_one_connection_is_left() -> None:
    at = pace(connections=2)
    for _ in range(5):
        at.started("h", 0.0)
        at.ended("h", connected=3.0)
    assert started(at) == 1


def test_connections_that_are_not_kept_are_made_one_after_the_other() -> None:
    at = pace()
    at.started("h", 0.0)
    at.ended("h", connected=0.001, closes=True)
    assert started(at, now=1.0) == 1
    assert at.may_start("h", 1.001)


@pytest.mark.parametrize(
    ("raw", "fields", "closes"),
    [
        (b"HTTP/1.1 200 OK\r\n", (), False),
        (b"HTTP/1.1 200 OK\r\n", (("connection", "Close"),), True),
        (b"HTTP/1.0 200 OK\r\n", (), True),
        (b"HTTP/1.0 200 OK\r\n", (("connection", "keep-alive"),), False),
    ],
)
def test_which_answers_end_a_connection(raw: bytes, fields: tuple[tuple[str, str], ...], closes: bool) -> None:
    assert Head(200, fields, raw).closes is closes


def test_attempts_are_further_and_further_apart() -> None:
    assert [retry_wait(tried, 3.0) for tried in (1, 2, 3, 4)] == [1.0, 2.0, 3.0, 3.0]
