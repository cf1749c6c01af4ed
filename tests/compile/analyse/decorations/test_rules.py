"""The rules of the classifier: those that ship, and the user's over them."""

from __future__ import annotations

import pytest

from adaptc.compile.analyse.decorations.rules import QUESTIONS, load_decoration_rules, shipped_rules
from adaptc.compile.analyse.decorations.signs import SIGNS
from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import UsageError


def complaint(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_decoration_rules(parse_toml(text, "own.toml"))
    return str(caught.value)


def test_every_weight_is_that_of_a_sign_and_every_sign_has_one() -> None:
    weights = [set(shipped_rules().values[question]["weights"]) for question in QUESTIONS]
    assert set.union(*weights) == set(SIGNS)


def test_words_are_in_lower_case_and_in_one_list_each() -> None:
    for group, words in shipped_rules().values["words"].items():
        assert [word for word in words if word != word.lower()] == [], group
        assert len(words) == len(set(words)), group


def test_a_users_file_replaces_what_it_names() -> None:
    rules = load_decoration_rules(
        parse_toml("limits.small = 20\n[decoration.weights]\nsmall = 9\n[words]\nicon = ['sign']\n", "own.toml")
    )
    assert rules.limits["small"] == 20
    assert rules.limits["icon"] == 64
    assert rules.questions["decoration"].weights["small"] == 9
    assert rules.questions["decoration"].weights["background"] == 7
    assert rules.words["icon"] == {"sign"}


def test_a_sign_without_weight_may_be_given_one() -> None:
    rules = load_decoration_rules(parse_toml("[logo.weights]\nphoto = 1\n", "own.toml"))
    assert rules.questions["logo"].weights["photo"] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[decoration.weights]\nsmal = 1", "own.toml:2: unknown key decoration.weights.smal, did you mean small?"),
        ("[limits]\nsmall = 'x'", 'own.toml:2: limits.small must be a number, not "x"'),
        ("[limits]\nsmall = true", "own.toml:2: limits.small must be a number, not true"),
        ("limits = 1", "own.toml:1: limits must be a table, not 1"),
        ("[words]\nicon = 'x'", 'own.toml:2: words.icon must be a list, not "x"'),
        ("[words]\nicon = [1]", "own.toml:2: words.icon must hold a text each"),
        ("[[drop]]\nlevels = []", "own.toml:1: drop: needs either selector or url"),
        ("[[keep]]\nurl = 'x'\nselector = 'p'", "own.toml:1: keep: needs either selector or url"),
        ("[[keep]]\nurl = ''", "own.toml:1: keep: selector or url must be a text"),
        ("[[keep]]\nul = 'x'", "own.toml:1: keep: unknown key ul, did you mean url?"),
        ("[[keep]]\nurl = 'x'\nlevels = 'y'", "own.toml:1: keep: levels must be a list of names"),
        ("[[keep]]\nselector = 'p['", "own.toml:1: keep: "),
        ("keep = 'x'", 'own.toml:1: keep must be a list, not "x"'),
        ("keep = ['x']", "own.toml:1: keep: must be a table with selector or url"),
        ("[ads]\nsizes = [[1, 2, 3]]", "own.toml:2: ads.sizes must hold two numbers each"),
    ],
)
def test_mistakes_name_file_and_line(text: str, expected: str) -> None:
    assert complaint(text).startswith(expected)


def test_all_mistakes_are_told_at_once() -> None:
    assert len(complaint("x = 1\n[limits]\ny = 2\n").splitlines()) == 2
