"""The names that scripts are likely to bring into a page."""

from __future__ import annotations

import pytest

from adaptc.formats.script.lookups import LikelyNames

WORDS = ("drop", "nav", "a-b", "is-", "card__title--")


@pytest.mark.parametrize(
    "name", ["nav", "nav12", "nav drop", "drop:nav", "a-b", "is-nav", "is-drop-nav", "card__title--nav"]
)
def test_a_name_consists_of_words(name: str) -> None:
    assert name in LikelyNames(WORDS)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "12",
        "other",
        "nav-other",
        "nav other",
        "a",
        "NAV",
        "is",
        "is-a",
        "nav-drop",
        "nav-is-drop",
        "card__title",
        "card__title--other",
    ],
)
def test_other_names_are_none(name: str) -> None:
    assert name not in LikelyNames(WORDS)


def test_case_counts_but_in_quirks_mode() -> None:
    assert "NAV" in LikelyNames(["Nav"], folds=True)


@pytest.mark.parametrize("name", [".dark:i-carbon-moon", "[data-theme", "#top-1/2", "x-box"])
def test_a_name_that_was_seen_is_likely_whatever_its_words_are(name: str) -> None:
    assert name in LikelyNames(["dark:i-carbon-moon", "data-theme", "top-1/2", "x-box"])
    assert ".dark:i-carbon-sun" not in LikelyNames(["dark:i-carbon-moon"])
