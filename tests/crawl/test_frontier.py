"""The frontier: order, depth, what is known from former crawls, and what a killed crawl leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.crawl.frontier import Frontier, MetUrl, State
from adaptc.crawl.names import Claims


def begun(path: Path | str = ":memory:", *starts: str) -> Frontier:
    frontier = Frontier(path)
    frontier.begin_run()
    for position, url in enumerate(starts or ("http://h/",)):
        frontier.add_start(url, position)
    frontier.next_level()
    return frontier


def found(*names: str, depth: int = 1, requisite: bool = False) -> list[MetUrl]:
    return [MetUrl(f"http://h/{name}", depth, requisite) for name in names]


def waiting(frontier: Frontier) -> list[str]:
    return [row.url.removeprefix("http://h/") for row in frontier.queued(-1, 100)]


def test_the_order_is_that_of_a_sequential_crawl_whichever_page_comes_first() -> None:
    frontier = begun(":memory:", "http://h/", "http://h/b")
    first, second = frontier.queued(-1, 10)
    frontier.add(second.id, second.rank or 0, found("y", "x"))
    frontier.add(first.id, first.rank or 0, found("z", "x"))
    for row in (first, second):
        frontier.update(row.id, State.STORED)
    assert frontier.next_level() == 1
    assert waiting(frontier) == ["z", "x", "y"]
    assert frontier.waiting() == 3


def test_a_refused_link_is_followed_where_another_page_may() -> None:
    frontier = begun()
    frontier.add(1, 0, [MetUrl("http://h/a", 1, False, rule="nofollow", reason="no")])
    frontier.add(1, 1, found("a"))
    row = frontier.row("http://h/a")
    assert row is not None
    assert (row.state, row.rule) == (State.FOUND, None)


def test_what_is_done_is_not_fetched_again_in_the_same_run() -> None:
    frontier = begun()
    frontier.update(1, State.STORED)
    frontier.add(1, 0, [MetUrl("http://h/", 1, False)])
    assert frontier.next_level() is None


def test_a_new_run_fetches_again_and_knows_names_and_validators() -> None:
    frontier = begun()
    frontier.update(1, State.STORED, name="h/index.html", etag='"1"', disk=5)
    frontier.end_run()
    frontier.begin_run()
    frontier.add_start("http://h/", 0)
    frontier.next_level()
    (row,) = frontier.queued(-1, 10)
    assert (row.name, row.etag, row.disk) == ("h/index.html", '"1"', 5)


def test_a_transaction_is_undone_as_a_whole() -> None:
    frontier = begun()
    with pytest.raises(RuntimeError), frontier:
        with frontier:
            frontier.update(1, State.STORED)
        raise RuntimeError
    row = frontier.by_id(1)
    assert row is not None
    assert row.state == State.QUEUED


def test_what_a_killed_crawl_left_is_there(tmp_path: Path) -> None:
    frontier = begun(tmp_path / "f.sqlite", "http://h/a", "http://h/b")
    with frontier:
        frontier.update(1, State.STORED)
        frontier.remember_partial(2, '"1"')
    again = Frontier(tmp_path / "f.sqlite")
    assert again.is_unfinished
    assert waiting(again) == ["b"]
    assert again.is_partial(2)
    assert (again.partial(2), again.partial(1)) == ('"1"', None)


def test_names_are_taken_once() -> None:
    claims = Claims(begun(), folds_case=False)
    wanted = ("a", "a", "a/b", "A", "d/x", "d", "d/x")
    assert [claims.claim(name) for name in wanted] == ["a", "a.1", "a.2/b", "A", "d/x", "d.1", "d/x.1"]


def test_names_that_a_file_system_takes_for_one() -> None:
    claims = Claims(begun(), folds_case=True)
    assert [claims.claim(name) for name in ("a", "A", "\u00e9", "e\u0301")] == ["a", "A.1", "\u00e9", "e\u0301.1"]


def test_a_name_that_was_let_go_is_free() -> None:
    claims = Claims(begun(), folds_case=False)
    claims.claim("a")
    claims.release("a")
    assert claims.claim("a") == "a"
