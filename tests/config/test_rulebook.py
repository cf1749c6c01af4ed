"""Levels: those that ship, changed ones, and the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.compile.pipeline import KNOWN_PASSES
from adaptc.config.config import Config
from adaptc.config.rulebook import Level, Option, PassTable, choose_levels, load_levels
from adaptc.config.schema import fits
from adaptc.config.toml import TomlSource, parse_toml
from adaptc.core.diagnostics import UsageError


def overrides(text: str) -> TomlSource:
    return parse_toml(text, "adaptc.toml").below("levels")


def levels(text: str, known: PassTable = KNOWN_PASSES) -> dict[str, Level]:
    return load_levels(overrides(text), known)


def problems(text: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        levels(text)
    return str(caught.value).splitlines()


def names(level: Level) -> list[str]:
    return [use.name for use in level.passes]


def test_the_shipped_ladder() -> None:
    shipped = load_levels(known_passes=KNOWN_PASSES)
    ladder = [(level.name, level.number, level.promise) for level in shipped.values() if level.number is not None]
    assert ladder == [
        ("full", 5, "same"),
        ("lossless", 4, "same"),
        ("moderate", 3, "words"),
        ("unhydrated", 2, "words"),
        ("extreme", 1, "article"),
    ]
    beside = [level.name for level in shipped.values() if level.number is None]
    assert beside == sorted(beside) and "halfres" in beside
    assert names(shipped["full"]) == []
    assert (shipped["halfobject"].number, shipped["halfobject"].promise) == (None, "words")


def test_the_default_configuration_builds_levels_that_ship() -> None:
    assert set(Config().build.levels) <= set(load_levels())


def test_pages_take_in_what_was_made_smaller_before() -> None:
    order = names(load_levels()["lossless"])
    assert order.index("styles") < order.index("inline-styles") < order.index("embedded") < order.index("markup")
    assert order.index("images") < order.index("inline-images")


def test_every_option_of_a_pass_has_a_value() -> None:
    for use in levels("")["lossless"].passes:
        assert [name for name, _ in use.options] == sorted(KNOWN_PASSES[use.name])


def test_defaults_of_the_pass_fill_what_the_level_leaves_open() -> None:
    known = {**KNOWN_PASSES, "json": {"indent": 0, "sort": False}}
    use = next(
        use for use in levels("[levels.lossless.json]\nsort = true", known)["lossless"].passes if use.name == "json"
    )
    assert use.options == (("indent", 0), ("sort", True))
    assert use.option("sort") is True


def test_an_option_is_overridden_where_it_stands() -> None:
    changed = levels("[levels.lossless.images]\ntarget = 0.98")["lossless"]
    assert names(changed) == names(load_levels()["lossless"])
    assert changed.passes[0].option("target") == 0.98
    assert (changed.number, changed.title) == (4, load_levels()["lossless"].title)


def test_passes_are_skipped() -> None:
    changed = levels('[levels.lossless]\nskip = ["json", "svg"]')["lossless"]
    assert names(changed) == [name for name in names(load_levels()["lossless"]) if name not in ("json", "svg")]


def test_an_own_level_extends_another_whatever_the_order() -> None:
    found = levels(
        """
        [levels.slim]
        extends = "mine"
        skip = ["json"]
        number = 1
        title = "Slim"
        [levels.mine]
        extends = "lossless"
        skip = ["svg"]
        """
    )
    assert [name for name in found if name in ("lossless", "mine", "slim")] == ["lossless", "mine", "slim"]
    assert found["mine"].number == 4
    assert found["lossless"].lineage == ("lossless",)
    assert found["slim"].lineage == ("slim", "mine", "lossless")
    assert {"svg", "json"}.isdisjoint(names(found["slim"]))
    assert "json" in names(found["mine"])


def test_an_own_level_sees_the_changes_of_the_level_that_it_extends() -> None:
    found = levels('[levels.mine]\nextends = "lossless"\n[levels.lossless]\nskip = ["svg"]')
    assert "svg" not in names(found["mine"])


def test_an_own_level_gives_its_whole_list() -> None:
    text = """
        [levels.mine]
        number = 2
        promise = "words"
        passes = ["svg", "images"]
        [levels.mine.images]
        target = 1
    """
    mine = levels(text)["mine"]
    assert names(mine) == ["svg", "images"]
    assert (mine.number, mine.promise, mine.passes[1].option("target")) == (2, "words", 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[levels]\nlossless = 3", "adaptc.toml:2: levels.lossless must be a table, not 3"),
        (
            "[levels.lossless.image]\ntarget = 1",
            "adaptc.toml:1: level lossless has no pass image, did you mean images?; add it with levels.lossless.passes",
        ),
        (
            "[levels.lossless.images]\ntarget = 'best'",
            'adaptc.toml:2: option target of pass images must be "exact" or a number, not "best"',
        ),
        (
            "[levels.lossless.images]\ntarget = true",
            'adaptc.toml:2: option target of pass images must be "exact" or a number, not true',
        ),
        (
            "[levels.lossless.styles]\nminfy = true",
            "adaptc.toml:2: pass styles has no option minfy, did you mean minify?",
        ),
        (
            "[levels.lossless]\n\nskip = ['imges']",
            "adaptc.toml:3: levels.lossless.skip: level lossless has no pass imges, did you mean images?",
        ),
        ("[levels.lossless]\nskip = 'svg'", 'adaptc.toml:2: skip must be a list, not "svg"'),
        ("[levels.lossless]\nskip = [1]", "adaptc.toml:2: levels.lossless.skip must be a list of pass names"),
        ("[levels.lossless]\ntitel = 'x'", "adaptc.toml:2: unknown key titel, did you mean title?"),
        (
            "[levels.lossless]\npromise = 'none'",
            'adaptc.toml:2: promise must be "same" or "words" or "article", not "none"',
        ),
        (
            "[levels.lossless]\nnumber = 0",
            "adaptc.toml:2: number must be 1 or more: 0 is reject, which has no tree",
        ),
        (
            "[levels.lossless]\nextends = 'full'",
            "adaptc.toml:1: level lossless ships with adaptc and cannot extend another: "
            "name a level of your own otherwise",
        ),
        (
            "[levels.mine]\ntitle = 'x'",
            "adaptc.toml:1: level mine needs extends (the level it starts from) or a number of its own",
        ),
        (
            "[levels.mine]\nextends = 'losless'",
            "adaptc.toml:2: levels.mine: extends losless, which is no level, did you mean lossless?",
        ),
        ("[levels.a]\nextends = 'a'", "adaptc.toml:2: levels.a: extends a, which closes a cycle"),
        (
            "[levels.mine]\nnumber = 1\npasses = ['svgs']",
            "adaptc.toml:3: there is no pass svgs, did you mean svg?",
        ),
        (
            '[levels."a/b"]\nnumber = 1',
            'adaptc.toml:1: a level cannot be called "a/b": small letters, digits and -, 32 at most, and not reject',
        ),
        (
            "[levels.reject]\nnumber = 1",
            'adaptc.toml:1: a level cannot be called "reject": small letters, digits and -, 32 at most, and not reject',
        ),
    ],
)
def test_what_is_said_of_a_mistake(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[levels.mine]\nnumber = 1\npasses = ['remove-scripts']",
            "adaptc.toml:3: there is no pass remove-scripts: "
            "pages without scripts are composed now, by the pass compose",
        ),
        (
            "[levels.extreme]\nskip = ['used-styles']",
            "adaptc.toml:2: levels.extreme.skip: level extreme has no pass used-styles: its pages are composed now, "
            "see the options of the pass compose",
        ),
        (
            "[levels.moderate.strip]\nkeep = 'logo-story'",
            "adaptc.toml:2: pass strip has no option keep: pages with their logo and story alone are composed now, "
            "by the pass compose",
        ),
        (
            "[levels.mine]\nextends = 'extreme'\nunembed.x = 1",
            "adaptc.toml:3: level mine has no pass unembed: "
            "pages without scripts are composed now, by the pass compose",
        ),
    ],
)
def test_what_is_gone_is_named_with_what_there_is_instead(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_a_file_that_an_option_names_is_read(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("{{ page.main }}")
    settings = parse_toml("[levels.text.compose]\ntemplate = 'page.html'", str(tmp_path / "adaptc.toml"))
    found = load_levels(settings.below("levels"), KNOWN_PASSES)["text"]
    assert next(use for use in found.passes if use.name == "compose").option("template") == "{{ page.main }}"


def test_each_level_of_a_cycle_is_named() -> None:
    assert problems("[levels.a]\nextends = 'b'\n[levels.b]\nextends = 'a'") == [
        "adaptc.toml:2: levels.a: extends b, which closes a cycle",
        "adaptc.toml:4: levels.b: extends a, which closes a cycle",
    ]


def test_mistakes_of_several_levels_are_told_at_once() -> None:
    assert len(problems("[levels.mine]\nextends = 'no'\n[levels.lossless.images]\ntarget = 'x'")) == 2


def test_levels_are_chosen_from_the_top_down() -> None:
    found = load_levels()
    assert [level.name for level in choose_levels(["lossless", "full"], found)] == ["full", "lossless"]


def test_choosing_a_level_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"there is no level losless, did you mean lossless\?"):
        choose_levels(["losless"], load_levels())
    with pytest.raises(UsageError, match=r"there is no level nope; there are full, lossless, moderate, "):
        choose_levels(["nope"], load_levels())


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        (Option(True), False, True),
        (Option(True), 1, False),
        (Option(0), 3, True),
        (Option(0), True, False),
        (Option(0.5), 1, True),
        (Option(0.5), "1", False),
        (Option("a", "a", "b"), "b", True),
        (Option("a", "a", "b"), "c", False),
    ],
)
def test_the_values_that_an_option_allows(option: Option, value: object, allowed: bool) -> None:
    assert fits(option.check, value) is allowed


def test_pages_of_a_level_may_be_made_as_others_instead() -> None:
    mine = levels('[levels.mine]\nextends = "moderate"\ninstead = ["lossless", "unhydrated"]\nprice = 500.0\n')["mine"]
    assert ([other.name for other in mine.instead], mine.price) == (["lossless", "unhydrated"], 500.0)
    assert problems('[levels.mine]\nextends = "moderate"\ninstead = ["extreme", "none"]\n') == [
        'adaptc.toml:3: levels.mine.instead: level extreme promises less: set promise = "article" here, too',
        "adaptc.toml:3: levels.mine.instead: there is no level none",
    ]
    assert "must be a list of level names" in problems('[levels.mine]\nextends = "moderate"\ninstead = [1]\n')[0]
