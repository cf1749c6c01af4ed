"""adaptc.toml: values, defaults, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adaptc.config.config import SECTIONS, Config, recipe_text, with_severities
from adaptc.config.config_file import FIELDS, store_last_build
from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import Severity, UsageError, diagnose
from adaptc.workflow.configuration import load_config


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(text: str, **overrides: Any) -> Config:
    Path("adaptc.toml").write_text(text, "utf-8")
    return load_config(None, {key.replace("__", "."): value for key, value in overrides.items()})


def problems(text: str, **overrides: Any) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load(text, **overrides)
    return str(caught.value).splitlines()


def test_without_a_file_the_defaults_hold(folder: Path) -> None:
    assert load_config() == Config()


def test_every_field_of_the_dataclasses_is_a_key() -> None:
    of_sections = {f"{name}.{field}" for name, section in SECTIONS.items() for field in section.__slots__}
    assert set(FIELDS) == of_sections | {"docroot", "output"}


def test_every_kind_of_value_is_read(folder: Path) -> None:
    config = load(
        """
        docroot = "public"
        site.index = ["default.html"]
        [build]
        effort = "max"
        cache_size = "500MB"
        [codings]
        zst = false
        [cost]
        warm_share = 1
        """
    )
    assert config.docroot == Path("public")
    assert config.site.index == ("default.html",)
    assert (config.build.effort, config.build.cache_size) == ("max", 500_000_000)
    assert (config.codings.zst, config.codings.br) == (False, True)
    assert config.cost.warm_share == 1.0


@pytest.mark.parametrize(
    ("written", "size"),
    [("4096", 4096), ('"4096"', 4096), ('"10 kB"', 10_000), ('"2GiB"', 2 * 2**30), ('"1.5M"', 1_500_000)],
)
def test_sizes(folder: Path, written: str, size: int) -> None:
    assert load(f"[site]\nmax_file_bytes = {written}").site.max_file_bytes == size


def test_paths_of_the_file_start_from_the_file(folder: Path) -> None:
    (folder / "conf").mkdir()
    (folder / "conf/site.toml").write_text('docroot = "../public"\noutput = "/srv/opt"\n')
    config = load_config(Path("conf/site.toml"))
    assert config.docroot == Path("conf/../public")
    assert config.output == Path("/srv/opt")
    assert config.file == Path("conf/site.toml")


def test_the_command_line_wins_and_starts_from_the_working_directory(folder: Path) -> None:
    config = load('output = "a"\n[build]\neffort = "fast"\njobs = 3', output=Path("b"), build__effort="max")
    assert (config.output, config.build.effort, config.build.jobs) == (Path("b"), "max", 3)


def test_none_on_the_command_line_means_not_given(folder: Path) -> None:
    assert load('output = "a"', output=None).output == Path("a")


def test_a_wrong_value_names_file_line_and_choices(folder: Path) -> None:
    assert problems('\n\n[build]\neffort = "slow"') == [
        'adaptc.toml:4: build.effort must be one of fast, default, max, not "slow"'
    ]


def test_all_mistakes_are_told_at_once(folder: Path) -> None:
    found = problems('output = 3\n[build]\njobs = -1\nidentity = "all"\n[diagnostics]\nmissing-target = "loud"')
    assert [line.split(": ")[0] for line in found] == [f"adaptc.toml:{n}" for n in (1, 3, 4, 6)]


def test_the_mistakes_of_all_tables_are_reported_in_one_run(folder: Path) -> None:
    assert problems(
        """[build]
jobs = -1
levels = ["full", "losless"]
[diagnostics]
missing-target = "loud"
[levels.lossless]
titel = "x"
[budgets.full]
page_bytes = "x"
[daemons.switch]
dwel = 1
[daemons.control.sites.a]
output = "opt"
[daemons.classify]
patience = 0
[daemons.swich]
"""
    ) == [
        "adaptc.toml:2: build.jobs must be a whole number of at least 0, not -1",
        'adaptc.toml:5: diagnostics.missing-target must be one of error, warning, note, off, not "loud"',
        "adaptc.toml:7: unknown key titel, did you mean title?",
        'adaptc.toml:9: page_bytes must be a size, such as "200kB", not "x"',
        "adaptc.toml:11: unknown key dwel, did you mean dwell?",
        "adaptc.toml:12: the site a needs output, and logs or status_url",
        "adaptc.toml:15: patience must be a whole number from 1 to 1000, not 0",
        "adaptc.toml:16: unknown daemon swich, did you mean switch?",
    ]
    assert problems('[build]\nlevels = ["losless"]') == [
        "adaptc.toml:2: there is no level losless, did you mean lossless?"
    ]
    assert problems("[budgets.ful]\n[levels.lossless]\n") == [
        "adaptc.toml:1: level ful is not built, did you mean full?"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[build]\nlevel = 1", "adaptc.toml:2: unknown key build.level, did you mean build.levels?"),
        ("[build]\nefort = 1", "adaptc.toml:2: unknown key build.efort, did you mean build.effort?"),
        ('effort = "max"', "adaptc.toml:1: unknown key effort, did you mean build.effort?"),
        ("[sites]\na = 1", "adaptc.toml:1: unknown key sites, did you mean site?"),
        ("[colour]\na = 1", "adaptc.toml:1: unknown key colour"),
        ("build = 3", "adaptc.toml:1: build must be a table, not 3"),
        ("levels = 3", "adaptc.toml:1: levels must be a table, not 3"),
        ("[codings]\ngz = 1", "adaptc.toml:2: codings.gz must be true or false, not 1"),
        ("[build]\njobs = true", "adaptc.toml:2: build.jobs must be a whole number of at least 0, not true"),
        ("[cost]\nwarm_share = nan", "adaptc.toml:2: cost.warm_share must be a number from 0 to 1, not NaN"),
        (
            "[cost]\nrequest_ms = inf",
            "adaptc.toml:2: cost.request_ms must be a number of at least 0, not Infinity",
        ),
        (
            '[site]\nbase_url = "ftp://x"',
            "adaptc.toml:2: site.base_url must be an http or https URL without query and fragment, "
            'such as https://example.org/, not "ftp://x"',
        ),
        (
            '[site]\nindex = ["a/b"]',
            'adaptc.toml:2: site.index must be a list of file names, without /, not ["a/b"]',
        ),
        (
            "[build]\nlevels = []",
            "adaptc.toml:2: build.levels must be a list of level names, each once, not []",
        ),
        (
            '[site]\nmax_file_bytes = "big"',
            "adaptc.toml:2: site.max_file_bytes must be a size: a number of bytes, or a text such as "
            '"500MB" or "2GiB", not "big"',
        ),
        (
            '[diagnostics]\nmissing-targets = "off"',
            "adaptc.toml:2: unknown diagnostic missing-targets, did you mean missing-target?",
        ),
        (
            '[diagnostics]\nmissing-target = "quiet"',
            'adaptc.toml:2: diagnostics.missing-target must be one of error, warning, note, off, not "quiet"',
        ),
        (
            '[diagnostics]\nunreadable-directory = "note"',
            "adaptc.toml:2: diagnostics.unreadable-directory is an error, and errors cannot be silenced",
        ),
    ],
)
def test_what_is_said_of_a_mistake(folder: Path, text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_a_mistake_of_the_command_line_is_said_to_be_one(folder: Path) -> None:
    for url in ("example.org", "http://[", "https://[:::]/"):
        assert problems("", site__base_url=url)[0].startswith("command line: site.base_url must be an http")


def test_text_that_is_no_toml(folder: Path) -> None:
    (line,) = problems("[build]\njobs = \n")
    assert line.startswith("adaptc.toml:2: not TOML: invalid value")


def test_a_file_that_is_not_utf8(folder: Path) -> None:
    Path("adaptc.toml").write_bytes(b'output = "caf\xe9"')
    with pytest.raises(UsageError, match=r"adaptc.toml: is not UTF-8 text \(byte 13\)"):
        load_config()


def test_a_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no.toml: cannot be read \(No such file or directory\)"):
        load_config(Path("no.toml"))


def test_a_byte_order_mark_is_no_mistake(folder: Path) -> None:
    assert load('\ufeffoutput = "a"').output == Path("a")


@pytest.mark.parametrize("output", [".", "public", "public/.."])
def test_an_output_that_holds_the_docroot_is_refused(folder: Path, output: str) -> None:
    (line,) = problems(f'docroot = "public"\noutput = "{output}"')
    assert "choose another output" in line


def test_control_characters_of_the_file_do_not_reach_the_terminal(folder: Path) -> None:
    (line,) = problems('"a\\u001b[2J" = 1')
    assert line == "adaptc.toml:1: unknown key a\\x1b[2J"


# ---- lines of keys


@pytest.mark.parametrize(
    ("text", "place", "line"),
    [
        ("a = 1\nb = 2", ("b",), 2),
        ("[t]\n\nb = 2", ("t", "b"), 3),
        ("[t]\n\nb = 2", ("t",), 1),
        ("x.y.z = 1", ("x", "y", "z"), 1),
        ("x.y.z = 1", ("x", "y"), 1),
        ("[t.\"a.b\"]\n'c d' = 2", ("t", "a.b", "c d"), 2),
        ('"\\u00e9" = 1', ("é",), 1),
        ("[[p]]\na = 1\n[[p]]\na = 2", ("p", 1, "a"), 4),
        ("[[p]]\n[[p]]\n[p.q]\na = 2", ("p", 1, "q", "a"), 4),
        ('a = """\nb = 1\n"""\nb = 2', ("b",), 4),
        ("a = '''\nb = 1 ''''\nb = 2", ("b",), 3),
        ("a = [\n  'x', # ]\n  'y',\n]\nb = 2", ("b",), 5),
        ("a = { c = 1, d = [1,\n2] }\nb = 2", ("b",), 3),
        ("a = { c = 1 }", ("a", "c"), 1),
        ('a = "# no comment" # b = 3\nb = 2', ("b",), 2),
        ("a = 1979-05-27T07:32:00Z\r\nb = 2", ("b",), 2),
        (" [ t . u ] \n v = 1", ("t", "u", "v"), 2),
    ],
)
def test_lines_of_keys(text: str, place: tuple[str | int, ...], line: int) -> None:
    assert parse_toml(text, "t").line(place) == line


def test_a_place_that_is_nowhere_takes_the_line_of_the_table_around_it() -> None:
    source = parse_toml("[t]\na = 1", "t")
    assert source.line(("t", "no")) == 1
    assert source.line(("u", "no")) is None


# ---- severities by id


def test_diagnostics_are_relevelled_and_silenced(folder: Path) -> None:
    config = load('[diagnostics]\nmissing-target = "error"\nbad-url = "off"')
    found = [
        diagnose("missing-target", where="img src", url="a"),
        diagnose("bad-url", where="a href", url="b"),
        diagnose("css-malformed", problem="c"),
    ]
    kept = list(with_severities(found, config))
    assert [(one.id, one.severity) for one in kept] == [
        ("missing-target", Severity.ERROR),
        ("css-malformed", Severity.WARNING),
    ]


# ---- the recipe


@pytest.mark.parametrize(
    "text",
    [
        '[build]\neffort = "max"',
        '[site]\ncsp = "default-src *"',
        "[codings]\nbr = false",
        "[cost]\nrequest_ms = 1",
        '[levels.lossless]\nskip = ["json"]',
    ],
)
def test_the_recipe_tells_what_may_change_the_output(folder: Path, text: str) -> None:
    assert recipe_text(load(text)) != recipe_text(Config())


@pytest.mark.parametrize("text", ["[build]\njobs = 3", 'output = "x"', '[diagnostics]\nmissing-target = "off"'])
def test_the_recipe_leaves_out_what_cannot(folder: Path, text: str) -> None:
    assert recipe_text(load(text)) == recipe_text(Config())


def test_the_recipe_does_not_depend_on_the_order(folder: Path) -> None:
    one = load('[levels.a]\nextends = "full"\ntitle = "x"\n[build]\neffort = "max"')
    other = load('[build]\neffort = "max"\n[levels.a]\ntitle = "x"\nextends = "full"')
    assert recipe_text(one) == recipe_text(other)


# ---- content is no configuration


def refused(place: str, **overrides: Any) -> None:
    with pytest.raises(UsageError, match=rf"adaptc.toml is inside the {place}.*--config adaptc.toml"):
        load_config(None, {key.replace("__", "."): value for key, value in overrides.items()})


def test_a_file_in_the_docroot_is_not_read(folder: Path) -> None:
    Path("adaptc.toml").write_text('[serve]\nemit = ["nginx"]\ntemplates = "."\n')
    refused("docroot", docroot=".", output="../opt")
    refused("docroot", docroot=folder, output="../opt")
    refused("docroot", docroot="..", output="../opt")
    assert load_config(Path("adaptc.toml"), {"docroot": ".", "output": "../opt"}).serve.emit == ("nginx",)
    assert load_config(None, {"docroot": "site"}).serve.emit == ("nginx",)


def test_nor_one_that_says_so_itself(folder: Path) -> None:
    Path("adaptc.toml").write_text('docroot = "."\noutput = "../opt"\n')
    refused("docroot")
    refused("docroot", docroot="elsewhere")


def test_nor_one_by_a_link(folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "site/adaptc.toml").write_text("")
    Path("adaptc.toml").symlink_to("site/adaptc.toml")
    refused("docroot", docroot="site")
    Path("adaptc.toml").unlink()
    (folder / "way").symlink_to("site")
    Path("adaptc.toml").write_text("")
    assert load_config(None, {"docroot": "way"}).file == Path("adaptc.toml")


def test_nor_one_in_the_docroot_of_the_last_build(folder: Path) -> None:
    Path("adaptc.toml").write_text("")
    output = folder.parent / f"{folder.name}-opt"
    (output / ".adaptc").mkdir(parents=True)
    store_last_build(output, folder, {})
    refused("docroot", output=output)


@pytest.mark.parametrize("below", [".", "host", "host/a/b"])
def test_nor_one_in_a_mirror(folder: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    (folder / ".adaptc").mkdir()
    (folder / ".adaptc/mirror.json").write_text("{}")
    (folder / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder / below)
    Path("adaptc.toml").write_text('docroot = "elsewhere"\n')
    refused("mirror")


def test_its_mistakes_are_not_even_told(folder: Path) -> None:
    Path("adaptc.toml").write_text("[serve]\nemits = 1\n")
    refused("docroot", docroot=".", output="../opt")
