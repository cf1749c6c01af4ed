"""The documentation and the program say the same."""

from __future__ import annotations

import builtins
import dataclasses
import dis
import json
import re
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import click
import pytest

from tests.places import DOCS, ROOT

import adaptc
from adaptc.cli.command import ExitCode
from adaptc.cli.crawl_options import MISSING_FLAGS, MISSING_VALUES
from adaptc.cli.main import COMMANDS, cli
from adaptc.compile.pipeline import KNOWN_PASSES
from adaptc.config.config import Config
from adaptc.config.config_file import FIELDS, OPEN_TABLES
from adaptc.config.rulebook import load_levels
from adaptc.config.toml import TomlSource, parse_toml
from adaptc.core.diagnostics import KINDS, Location, diagnose
from adaptc.formats.html.edit import Editor
from adaptc.workflow.check.ci_formats import FORMATS, Problem, Summary

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md")])


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def found_command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def manual(name: str) -> str:
    """The manual page of a command without markup of hyphens."""
    return text(f"docs/man/{name}.1").replace("\\-", "-")


def flags(found: click.Command, hidden: bool) -> set[str]:
    options = [one for one in found.params if isinstance(one, click.Option) and one.hidden is hidden]
    return {flag for option in options for flag in (*option.opts, *option.secondary_opts)}


# ---- diagnostics


def test_every_diagnostic_is_explained_once_and_no_other() -> None:
    ids = re.findall(r"^### (\S+)$", text("docs/diagnostics.md"), re.MULTILINE)
    assert sorted(ids) == sorted(KINDS)


def test_the_severities_of_the_documentation_are_those_of_the_program() -> None:
    written = dict(re.findall(r"^### (\S+)\n\n\*(\w+)\.\*", text("docs/diagnostics.md"), re.MULTILINE))
    assert written == {kind: described.severity.value.capitalize() for kind, described in KINDS.items()}


def test_every_diagnostic_says_what_to_do() -> None:
    sections = text("docs/diagnostics.md").split("\n### ")[1:]
    assert [section.split()[0] for section in sections if "\nWhat to do: " not in section] == []


# ---- configuration


def test_every_key_of_the_configuration_is_documented_and_no_other() -> None:
    keys = re.findall(r"^\| `([a-z_.]+)` \| [^|]+ \| [^|]+ \|$", text("docs/configuration.md"), re.MULTILINE)
    passes = set(KNOWN_PASSES)
    assert sorted(set(keys) - passes) == sorted(FIELDS)


def test_the_open_tables_are_documented() -> None:
    heads = re.findall(r"^## \[(\w+)", text("docs/configuration.md"), re.MULTILINE)
    assert set(OPEN_TABLES) <= set(heads)


def test_the_defaults_of_the_documentation_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \| `([^|]+)` \|", text("docs/configuration.md"), re.MULTILINE)
    assert len(rows) > 15
    for key, written in rows:
        table, name = key.split(".")
        default = getattr(getattr(Config(), table), name)
        value = parse_toml(f"key = {written}", key).values["key"]
        wanted = FIELDS[key](value, Path())
        assert wanted == default, key


def test_every_pass_and_option_is_documented_and_no_other() -> None:
    section = text("docs/configuration.md").partition("### Passes and their options")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \|([^|]*)\|", section, re.MULTILINE)
    options = {name: set(re.findall(r"`([a-z_][a-z0-9_]*)`", cell)) for name, cell in rows}
    assert options == {name: set(known) for name, known in KNOWN_PASSES.items()}


def test_the_examples_of_the_documentation_are_sound() -> None:
    for page in (DOCS / "configuration.md", DOCS / "diagnostics.md", DOCS / "troubleshooting.md"):
        for example in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            source: TomlSource = parse_toml(example, page.name)
            load_levels(source.below("levels"), KNOWN_PASSES)
            assert set(source.below("diagnostics").values) <= set(KINDS)


def test_every_level_is_in_the_table_of_the_readme() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", text("README.md").partition("| level | promise |")[2], re.MULTILINE)
    levels = [file.stem for file in ROOT.glob("rules/*.toml") if "[level]\n" in file.read_text("utf-8")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(levels)


def test_every_format_of_a_check_is_documented_and_no_other() -> None:
    table = text("docs/freshness.md").partition("| format | for |")[2].partition("\n\n")[0]
    wanted = ["text", "json", *FORMATS]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == wanted
    assert f"may be {', '.join(wanted[:-1])} or {wanted[-1]}." in manual("adaptc-check")


# ---- what contributors read first


def test_what_the_tour_says_is_somewhere_is_there() -> None:
    part = text("docs/architecture.md").partition("### Where it is\n")[2].partition("\n## ")[0]
    found = 0
    for names, path in re.findall(r"((?:`\w+`[^`|]*?)+)\bin `([\w/]+\.py)`", part):
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^ *(?:def|class) {name}\b", text(f"adaptc/{path}"), re.MULTILINE), (path, name)
            found += 1
    assert found >= 9, "of the questions: a sheet, a rel, a unit's row"


# ---- recipes for contributors

# What one may come to add, and the heading under which it stands
EXERCISES = {
    "a level": "A level",
    "a pass": "A pass",
    "a server": "A server",
    "an image format": "An image format or a content coding",
    "a sensor": "A sensor",
    "an output format": "A format of `adaptc check` and `adaptc prove`",
}
# What the worked examples add, in places that exist; when one of them is added in earnest, the recipe takes another
ADDED = {
    "rules/quiet.toml",
    "adaptc/compile/passes/prefetch.py",
    "adaptc/serve/servers/openlitespeed.py",
    "templates/vhconf.conf.j2",
}
RECIPES = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text("docs/recipes.md"), re.MULTILINE | re.DOTALL))


def test_every_exercise_has_its_recipe() -> None:
    assert set(EXERCISES.values()) <= set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_files_that_a_recipe_names_exist(name: str) -> None:
    """A name in capitals, or an asterisk, stands for any."""
    named = re.findall(r"`([\w.*-]+(?:/[\w.*-]+)*\.[a-z][a-z0-9]*)`", RECIPES[name])
    assert any("/" in path for path in named)
    for path in set(named) - {"adaptc.toml"}:  # the user's
        if path in ADDED:
            assert (ROOT / path).parent.is_dir()
            assert not (ROOT / path).exists(), f"{path} is no example any more: give the recipe another"
        else:
            pattern = path.replace("NAME", "*")
            assert list(ROOT.glob(pattern)) or list(ROOT.glob(f"adaptc/**/{pattern}")), path


@pytest.mark.parametrize("name", RECIPES)
def test_tables_that_a_recipe_names_are_in_their_module(name: str) -> None:
    for path, step in re.findall(r"\d\. `(adaptc/[\w/]+\.py)`: (.*?)(?=\d\. `|\n\n)", RECIPES[name], re.DOTALL):
        for table in re.findall(r"`([A-Z_]+)`", step if "NAME" not in path else ""):
            assert re.search(rf"^{table}\b.* = ", text(path), re.MULTILINE), (path, table)


def python_example(name: str) -> tuple[str, dict[str, Any]]:
    """Return the worked example of a recipe and what it defines."""
    [example] = re.findall(r"```python\n(.*?)```", RECIPES[name], re.DOTALL)
    names: dict[str, Any] = {"__name__": name}
    exec(compile(example, name, "exec", dont_inherit=True), names)
    return example, names


@pytest.mark.parametrize("name", [name for name in RECIPES if "```python" in RECIPES[name]])
def test_names_in_the_examples_of_recipes_exist(name: str) -> None:
    example, names = python_example(name)
    known = names.keys() | vars(builtins).keys()
    codes = [compile(example, name, "exec", dont_inherit=True)]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        wanted = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
        assert wanted - known == set()


def test_the_pass_of_the_recipe_edits_pages() -> None:
    _, names = python_example(EXERCISES["a pass"])
    editor = Editor("<!doctype html><title>t</title><link rel=prefetch href=b.html><link rel=next href=b.html><p>words")
    report = names["remove_prefetch"](editor, None, None, {})
    assert editor.apply().text == "<!doctype html><title>t</title><link rel=next href=b.html><p>words"
    assert [action.subject for action in report.actions] == ["b.html"]


def test_the_output_format_of_the_recipe_gives_a_line_for_each_problem() -> None:
    _, names = python_example(EXERCISES["an output format"])
    problems = [Problem(diagnose("css-malformed", Location("a.css"), problem="x"), path, "full") for path in ("a", "b")]
    lines = names["json_lines"](Summary(problems, {}, "2 problems")).splitlines()
    assert [json.loads(line)["file"] for line in lines] == ["a", "b"]
    assert json.loads(lines[0]).keys() == {"id", "severity", "file", "message"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has /proc/net/tcp")
def test_the_sensor_of_the_recipe_reads_a_number() -> None:
    _, names = python_example(EXERCISES["a sensor"])
    assert names["QUEUE_LENGTH"].open("", ()).read() >= 0


def test_the_examples_of_the_python_interface_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("<!DOCTYPE html>\n<title>t</title>\n<a href=gone.html>x</a>\n")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.*?)```", text("docs/api.md"), re.DOTALL):
        exec(example, names)
    assert set(names["result"].built) == {("full", "index.html"), ("lossless", "index.html")}
    assert names["missing"] == ["index.html"]
    assert names["errors"] == []
    assert names["thorough"].build.effort == "max"


def test_the_python_interface_is_documented() -> None:
    page = text("docs/api.md")
    assert [name for name in adaptc.__all__ if not name.startswith("__") and name not in page] == []
    fields = [field.name for kind in (adaptc.BuildResult, adaptc.Plan) for field in dataclasses.fields(kind)]
    assert [name for name in fields if f"`{name}`" not in page and f"`Plan.{name}`" not in page] == []


# ---- the command line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_stands_in_the_manual_page(name: str) -> None:
    found, page = found_command(name), manual(f"adaptc-{name}")
    assert {flag for flag in flags(found, hidden=False) if flag not in page} == set()
    arguments = [one for one in found.params if isinstance(one, click.Argument)]
    for one in arguments:
        metavar = (one.metavar or one.name or "").strip("[]").upper()
        assert metavar in page or isinstance(one.type, click.Choice)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_manual_page_names_no_other_options(name: str) -> None:
    written = set(re.findall(r"(?<!\w)--[a-z][a-z0-9-]+", manual(f"adaptc-{name}")))
    assert written <= flags(found_command(name), hidden=False) | flags(found_command(name), hidden=True)


def test_the_options_of_adaptc_itself_and_its_commands() -> None:
    page = manual("adaptc")
    assert {flag for flag in flags(cli, hidden=False) if flag not in page} == set()
    for name, entry in COMMANDS.items():
        assert f"adaptc-{name} (1)\n{entry.summary}" in page


def test_there_is_a_manual_page_a_command_and_no_other() -> None:
    assert {page.stem for page in (DOCS / "man").iterdir()} == {
        "adaptc",
        *(f"adaptc-{name}" for name in COMMANDS),
    }


@pytest.mark.parametrize("page", sorted((DOCS / "man").iterdir()), ids=lambda page: page.name)
def test_manual_pages_have_the_usual_sections(page: Path) -> None:
    sections = re.findall(r"^\.SH (.+)$", page.read_text("utf-8"), re.MULTILINE)
    assert sections[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
    assert sections[-1] == "SEE ALSO"
    assert "EXIT STATUS" in sections


@pytest.mark.parametrize("name", ["docs/exit-codes.md", "docs/man/adaptc.1"])
def test_every_exit_code_is_documented(name: str) -> None:
    page = text(name)
    for code in ExitCode:
        assert re.search(rf"^(\| |\.B ){code.value}( \||$)", page, re.MULTILINE), code


# ---- commands and places that pages name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_pages_exist(page: Path) -> None:
    for line in re.findall(r"^    (?:\$ )?adaptc ([a-z].*)$", page.read_text("utf-8"), re.MULTILINE):
        words = line.partition("#")[0].split()
        known = flags(found_command(words[0]), hidden=False) | flags(found_command(words[0]), hidden=True)
        assert {word for word in words if word.startswith("-")} <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), link


def test_targets_of_make_that_the_readme_names_exist() -> None:
    targets = set(re.findall(r"^(\w+):", text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^    |`)make (\w+)", text("README.md"), re.MULTILINE))
    assert named
    assert named <= targets


def test_rooms_of_the_architecture_exist() -> None:
    rooms = re.findall(r"^\| `(adaptc/[\w/.]+|rules/|templates/)`", text("docs/architecture.md"), re.MULTILINE)
    assert len(rooms) > 10
    assert [room for room in rooms if not (ROOT / room).exists()] == []


def test_modules_that_the_architecture_names_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", text("docs/architecture.md")))
    files = [
        f"/{path.relative_to(ROOT).as_posix()}"
        for folder in ("adaptc", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert len(named) > 10
    assert {name for name in named if not any(file.endswith(f"/{name}") for file in files)} == set()


def test_every_module_of_the_ground_floor_stands_in_the_architecture() -> None:
    page = text("docs/architecture.md")
    modules = {f"adaptc/{path.name}" for path in (ROOT / "adaptc").glob("[!_]*.py")}
    packages = {f"adaptc/{path.parent.name}/" for path in (ROOT / "adaptc").glob("*/__init__.py")}
    assert {room for room in modules | packages if f"`{room}`" not in page} == set()


# ---- the package


def test_what_the_package_brings_along_is_found() -> None:
    from importlib import resources

    assert resources.files("adaptc.rules").joinpath("lossless.toml").is_file()
    assert resources.files("adaptc.templates").joinpath("adaptc.toml.j2").is_file()


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "adaptc").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def options_of_wget() -> str:
    return text("docs/crawl.md").partition("## Options of wget")[2].partition("## What users of HTTrack")[0]


def test_every_option_of_a_crawl_stands_in_its_table() -> None:
    table = options_of_wget()
    rows = re.findall(r"^\| (`-[^|]*) \|", table, re.MULTILINE)
    options = re.findall(r"`(-[^`]+)`", "\n".join([*rows, table.partition("Beyond wget:")[2]]))
    crawl = found_command("crawl")
    of_every_command = flags(cli, hidden=False) | {"-o"}
    assert set(options) - of_every_command == (flags(crawl, False) | flags(crawl, True)) - of_every_command


def test_the_table_of_a_crawl_calls_missing_what_is_refused() -> None:
    rows = re.findall(r"^\| (`-[^|]*) \| (missing)?", options_of_wget(), re.MULTILINE)
    missing = {name for cell, word in rows if word for name in re.findall(r"`(-[^`]+)`", cell)}
    assert missing == {*MISSING_VALUES, *MISSING_FLAGS}
