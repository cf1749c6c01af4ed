"""The names that scripts are likely to bring into a page."""

from __future__ import annotations

import pytest

from adaptc.formats.script.names import LikelyNames, Names

NAMES = LikelyNames([Names(frozenset({"drop", "nav"}), frozenset({"is-", "-submenu", "-item", "a-", "-a"}))])


@pytest.mark.parametrize("name", ["nav", "is-drop", "drop-submenu", "is-drop-submenu-item", "nav nav-item"])
def test_a_name_is_a_word_among_pieces(name: str) -> None:
    assert name in NAMES


@pytest.mark.parametrize("name", ["other", "nav-other", "is-other-item", "is-submenu-item", "item", "drop-is-"])
def test_other_names_are_none(name: str) -> None:
    assert name not in NAMES


@pytest.mark.parametrize("count", [6, 30, 3000])
def test_a_name_of_many_pieces_takes_no_time(count: int) -> None:
    assert "a-" * count + "b" not in NAMES
