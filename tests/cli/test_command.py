"""The invocation of the command line: exit codes, the shared options, rendering, and the small commands."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.crawl_options import GROUPS
from adaptc.cli.init import starting_text, toml_value
from adaptc.cli.main import COMMANDS, cli, run
from adaptc.cli.render import (
    diagnostic_lines,
    diagnostic_record,
    exit_code,
    print_diagnostics,
    print_json,
    summary,
    table,
)
from adaptc.config.config import SECTIONS, Config, recipe_text
from adaptc.config.config_file import FIELDS
from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import Diagnostic, Location, Severity, UsageError, diagnose
from adaptc.core.version import VERSION
from adaptc.serve.calibrate.profile import profile_of, write_profile
from adaptc.serve.capacity.utilization import Cost
from adaptc.site.surroundings import usual_docroot
from adaptc.workflow.configuration import load_config

Output = Callable[[], tuple[str, str]]


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Output:
    """What was printed since the last call, as (standard output, standard error)."""
    return lambda: tuple(capsys.readouterr())  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADAPTC_DEBUG", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make ``adaptc version`` raise."""

    def plant(error: BaseException) -> None:
        @command("version")
        def fails(invocation: Invocation) -> None:
            raise error

        monkeypatch.setattr(type(cli), "get_command", lambda *_: fails)

    return plant


# ---- commands and their summaries


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_in_the_table_is_that_of_the_command(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert found.name == name
    assert found.get_short_help_str(200) == COMMANDS[name].summary


def test_help_imports_no_command_and_no_library() -> None:
    script = (
        "import sys\n"
        "from adaptc.cli.main import run\n"
        "run(['--help'])\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(loaded & {'pyvips', 'PIL', 'turbohtml', 'numpy', 'lxml', 'rich', 'jinja2', 'sqlite3'})\n"
        "print('adaptc.cli.build' in sys.modules, 'adaptc.config.config' in sys.modules)\n"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-2:] == ["set()", "False False"]


def test_commands_import_the_compiler_once_they_run() -> None:
    # of seven, one after the other: what one of them imports the next ones have
    script = (
        "import importlib, sys\n"
        "for name in ('crawl', 'build', 'status', 'explain', 'check', 'publish', 'switch'):\n"
        "    importlib.import_module(f'adaptc.cli.{name}')\n"
        "loaded = {'.'.join(name.split('.')[:2]) for name in sys.modules if name.startswith('adaptc.')}\n"
        "print(loaded & {f'adaptc.{name}' for name in ('compile', 'site', 'formats', 'serve', 'daemons', 'browser')})\n"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed == "set()\n"


@pytest.mark.parametrize("words", [["build", "site", "--level", "moderate"], ["check"]])
def test_a_command_that_finds_nothing_to_do_starts_with_little(folder: Path, words: list[str]) -> None:
    """What a start costs is counted: modules, and texts that are compiled meanwhile, as methods of data classes are.

    With data classes of Python's own there were 945 such texts, one for each method.
    """
    (folder / "site").mkdir()
    page = folder / "site" / "index.html"
    page.write_text("<!DOCTYPE html><title>Page</title><p>Words.", "utf-8")
    os.utime(page, (1e9, 1e9))  # what was written a moment ago is read again
    assert run(["build", "site", "--level", "moderate"]) is ExitCode.DONE
    script = (
        "import sys\n"
        "written = []\n"
        "sys.addaudithook(lambda event, values: event == 'exec' and written.append(values[0].co_filename))\n"
        "from adaptc.cli.main import run\n"
        f"code = run({words})\n"
        "print(int(code), sum(name.startswith('adaptc') for name in sys.modules), written.count('<string>'))\n"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    code, modules, compiled = map(int, printed.splitlines()[-1].split())
    assert code == ExitCode.DONE
    assert modules <= 100
    assert compiled <= 120


def test_help_lists_every_command(output: Output) -> None:
    assert run(["--help"]) is ExitCode.DONE
    shown = output()[0]
    assert all(name in shown and entry.summary in shown for name, entry in COMMANDS.items())


@pytest.mark.parametrize(("words", "same"), [(["help"], ["--help"]), (["help", "build"], ["build", "--help"])])
def test_help_is_a_word_too(output: Output, words: list[str], same: list[str]) -> None:
    assert run(words) is ExitCode.DONE
    shown = output()[0]
    assert shown.startswith("Usage: adaptc")
    assert run(same) is ExitCode.DONE
    assert output()[0] == shown
    assert run(["help", "biuld"]) is ExitCode.USAGE


def test_the_many_options_of_crawl_are_shown_on_request(output: Output) -> None:
    assert run(["crawl", "--help"]) is ExitCode.DONE
    usual = output()[0]
    assert "--no-parent" in usual and "--warc-cdx" not in usual and "--help-all" in usual
    assert run(["crawl", "--help-all"]) is ExitCode.DONE
    every = output()[0]
    assert all(rows[0][-1] in every for group in GROUPS.values() for rows in group if rows[0][-1][:2] == "--")
    assert len(usual.splitlines()) * 2 < len(every.splitlines())


# ---- exit codes


def test_a_word_that_is_no_command(output: Output) -> None:
    assert run(["biuld"]) is ExitCode.USAGE
    assert "there is no command biuld, did you mean build?" in output()[1]


def test_a_mistake_in_the_configuration_is_one_clear_line(output: Output, folder: Path) -> None:
    (folder / "adaptc.toml").write_text("[build]\nefort = 3\n")
    assert run(["levels"]) is ExitCode.USAGE
    assert output() == (
        "",
        "adaptc: adaptc.toml:2: unknown key build.efort, did you mean build.effort?\n",
    )


def test_every_mistake_has_a_line(raising: Callable[[BaseException], None], output: Output) -> None:
    raising(UsageError("one\ntwo"))
    assert run(["version"]) is ExitCode.USAGE
    assert output()[1] == "adaptc: one\nadaptc: two\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_what_the_system_refuses(number: int, raising: Callable[[BaseException], None], output: Output) -> None:
    raising(OSError(number, "refused", "opt/full/id/a\x1b.html"))
    assert run(["version"]) is ExitCode.INTERNAL
    assert output()[1] == "adaptc: opt/full/id/a\\x1b.html: refused\n"


def test_a_bug_asks_to_be_reported(raising: Callable[[BaseException], None], output: Output) -> None:
    raising(ValueError("seven\nis not eight"))
    assert run(["version"]) is ExitCode.INTERNAL
    assert output()[1] == (
        "adaptc: this is a bug of adaptc, please report it: ValueError: seven is not eight; "
        "run it again with --verbose for the traceback\n"
    )


@pytest.mark.parametrize("by_option", [True, False])
def test_a_bug_shows_its_traceback_on_demand(
    by_option: bool,
    raising: Callable[[BaseException], None],
    output: Output,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raising(ValueError("seven"))
    if not by_option:
        monkeypatch.setenv("ADAPTC_DEBUG", "1")
    assert run(["version", "--verbose"] if by_option else ["version"]) is ExitCode.INTERNAL
    assert "Traceback (most recent call last)" in output()[1]


def test_an_interruption(raising: Callable[[BaseException], None], output: Output) -> None:
    raising(KeyboardInterrupt())
    assert run(["version"]) is ExitCode.INTERRUPTED
    assert output()[1].strip() == "adaptc: interrupted"


def test_errors_among_the_diagnostics_are_worth_1() -> None:
    warning, error = diagnose("css-malformed", problem="x"), diagnose("unreadable-directory", reason="x")
    assert exit_code([warning]) is ExitCode.DONE
    assert exit_code([warning, error]) is ExitCode.WITH_ERRORS


# ---- the shared options


@pytest.mark.parametrize("arguments", [["--format", "json", "version"], ["version", "--format", "json"]])
def test_shared_options_stand_before_or_after_the_command(arguments: list[str], output: Output) -> None:
    assert run(arguments) is ExitCode.DONE
    assert json.loads(output()[0])["adaptc"] == VERSION


def test_the_option_after_the_command_wins(output: Output) -> None:
    run(["--format", "json", "version", "--format", "text"])
    assert output()[0].startswith("adaptc ")


def test_a_directory_to_work_in_holds_for_the_configuration(output: Output, folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "site/other.toml").write_text('[build]\nlevels = ["full"]\n')
    assert run(["-C", "site", "--config", "other.toml", "--format", "json", "levels"]) is ExitCode.DONE
    assert [level["name"] for level in json.loads(output()[0]) if level["built"]] == ["full"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("color", "stream", "environment", "colored"),
    [
        ("auto", Terminal(), {}, True),
        ("auto", Terminal(), {"NO_COLOR": "1"}, False),
        ("auto", Terminal(), {"TERM": "dumb"}, False),
        ("auto", io.StringIO(), {}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Terminal(), {}, False),
    ],
)
def test_when_text_is_coloured(
    color: str,
    stream: io.StringIO,
    environment: dict[str, str],
    colored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Invocation(color=color).is_colored(stream) is colored


# ---- rendering


def missing(count: int) -> list[Diagnostic]:
    return [
        diagnose("missing-target", Location("a.html", line), where="img src", url="b.png")
        for line in range(1, count + 1)
    ]


def test_many_diagnostics_of_one_id_are_cut_short() -> None:
    lines = list(diagnostic_lines(missing(6966), Invocation()))
    assert lines[0] == ("a.html:1: warning: img src points to b.png, but there is no such file [missing-target]")
    assert len(lines) == 7
    assert lines[-2:] == ["and 6,961 more [missing-target]; see the report or --verbose", "6,966 warnings"]


def test_verbose_prints_all_and_notes_too() -> None:
    note = diagnose("svg-unchanged", Location("a.svg"), reason="it has a script")
    assert len(list(diagnostic_lines([*missing(30), note], Invocation(verbose=True)))) == 32
    assert list(diagnostic_lines([note], Invocation())) == ["1 note"]


def test_quiet_prints_errors_only(output: Output) -> None:
    error = diagnose("unreadable-directory", Location("a"), reason="full")
    print_diagnostics([*missing(3), error], Invocation(quiet=True))
    assert output() == (
        "",
        "a: error: cannot be listed (full); nothing below it is built [unreadable-directory]\n1 error\n",
    )


def test_errors_come_first_and_lines_in_order(output: Output) -> None:
    error = diagnose("unreadable-directory", Location("z"), reason="full")
    print_diagnostics([*reversed(missing(2)), error], Invocation())
    assert [line.split(": ")[0] for line in output()[1].splitlines()] == [
        "z",
        "a.html:1",
        "a.html:2",
        "1 error, 2 warnings",
    ]


def test_colour_changes_nothing_but_colour() -> None:
    (plain, *_), (colored, *_) = (list(diagnostic_lines(missing(1), Invocation(), on)) for on in (False, True))
    assert colored != plain
    assert click.unstyle(colored) == plain


def test_no_diagnostics_print_nothing(output: Output) -> None:
    print_diagnostics([], Invocation())
    assert output() == ("", "")
    assert summary([]) == "no diagnostics"


def test_a_diagnostic_as_json(output: Output) -> None:
    print_json(diagnostic_record(Diagnostic("bad-url", Severity.NOTE, "m", Location("a\udcff.html", 3))))
    assert json.loads(output()[0]) == {
        "id": "bad-url",
        "severity": "note",
        "message": "m",
        "path": "a\udcff.html",
        "line": 3,
        "column": None,
    }


def test_columns_are_aligned() -> None:
    assert table([["level", "n"], ["full", "14"]], right=(1,)) == "level   n\nfull   14"


# ---- init


def test_init_writes_a_file_that_says_the_defaults(folder: Path, output: Output) -> None:
    assert run(["init"]) is ExitCode.DONE
    assert recipe_text(load_config()) == recipe_text(Config())
    assert output()[0] == "wrote adaptc.toml; next: adaptc build DOCROOT\n"


def test_init_never_overwrites(folder: Path, output: Output) -> None:
    (folder / "adaptc.toml").write_text("# mine\n")
    assert run(["init"]) is ExitCode.USAGE
    assert (folder / "adaptc.toml").read_text() == "# mine\n"
    assert output()[1] == "adaptc: adaptc.toml exists already; it is left as it is\n"


def test_init_where_there_is_no_directory(output: Output) -> None:
    assert run(["--config", "no/adaptc.toml", "init"]) is ExitCode.USAGE
    assert output()[1] == "adaptc: no is not a directory\n"


def test_init_finds_the_site_of_a_generator(folder: Path) -> None:
    (folder / "_site").mkdir()
    assert usual_docroot(folder) is None
    (folder / "_site/index.html").touch()
    assert usual_docroot(folder) == "_site"
    run(["init", "--output", 'o"\\ü'])
    config = load_config()
    assert (config.docroot, config.output) == (Path("_site"), Path('o"\\ü'))


def test_init_names_the_site_of_the_last_build_not_its_export(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out/index.html").write_text("<!doctype html><title>t</title><p>words")
    assert run(["web", "out", "public", "--no-browser", "-j", "1"]) == 0
    assert run(["init"]) == 0
    assert load_config().docroot == Path("out")


def test_init_sets_what_it_found_with_reasons(folder: Path, output: Output) -> None:
    (folder / "site").mkdir()
    (folder / "site/index.html").write_text("<!DOCTYPE html><title>a</title><p>words")
    (folder / "site/CNAME").write_text("herons.example\n")
    assert run(["init"]) is ExitCode.DONE
    assert 'site.base_url = "https://herons.example/": CNAME' in output()[0]
    config = load_config()
    assert config.site.base_url == "https://herons.example/"
    assert config.build.levels == ("full", "web")
    assert config.cost.preset == "static-host"
    text = (folder / "adaptc.toml").read_text()
    assert '# build.levels = ["full", "web"]: GitHub Pages (CNAME) sends files as they are' in text


def test_the_program_alone_says_what_it_would_do(folder: Path, output: Output) -> None:
    assert run([]) is ExitCode.DONE
    said = output()[0]
    assert said.startswith("There is no site here: adaptc reads finished HTML.")
    assert "Usage: adaptc" in said
    (folder / "mkdocs.yml").write_text("site_name: Herons\n")
    (folder / "netlify.toml").write_text("")
    (folder / "site").mkdir()
    (folder / "site/index.html").write_text("<!DOCTYPE html><title>a</title><p>words")
    before = sorted(folder.rglob("*"))
    assert run([]) is ExitCode.DONE
    said = output()[0]
    assert said.startswith("the site in site (nothing was written;")
    assert "made by MkDocs (mkdocs.yml); published by Netlify (netlify.toml)" in said
    assert "  adaptc web site adapted\n" in said
    assert sorted(folder.rglob("*")) == before
    assert run(["web", "site", "adapted", "--effort", "fast"]) is ExitCode.DONE
    output()
    assert run([]) is ExitCode.DONE
    said = output()[0]
    assert "it was exported, too; to see what came of it, to paste:\n" in said
    assert "  adaptc preview\n" in said
    assert "adaptc web" not in said


def test_a_project_whose_site_is_not_there_yet(folder: Path, output: Output) -> None:
    (folder / "mkdocs.yml").write_text("site_name: Herons\n")
    (folder / "index.html").write_text("<p>source")
    assert run([]) is ExitCode.DONE
    said = output()[0]
    assert said.startswith("a project of MkDocs (mkdocs.yml), whose site is not there yet (nothing was written;")
    assert "  mkdocs build\n" in said
    assert "  adaptc web site adapted\n" in said
    assert said.endswith("or once for all, with each build: plugins: [search, adaptc] in mkdocs.yml\n")
    assert run(["init"]) is ExitCode.DONE
    assert output()[0].endswith("next: mkdocs build, which writes site, and adaptc build\n")
    assert load_config().docroot == Path("site")


def test_commands_for_the_working_directory_write_outside_of_it(
    folder: Path, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "site here").mkdir()
    (folder / "site here/about.html").write_text("<!DOCTYPE html><title>a</title><p>words")
    assert run(["-C", "site here"]) is ExitCode.DONE
    said = output()[0]
    assert said.startswith("the site in . (")
    web = next(line for line in said.splitlines() if "adaptc web" in line)
    assert web == "  adaptc web . '../site here-adapted' -o '../site here-opt'"
    monkeypatch.chdir(folder / "site here")
    assert run([*shlex.split(web)[1:], "--no-browser", "--effort", "fast", "-j", "1"]) is ExitCode.DONE
    assert (folder / "site here-adapted/about.html").is_file()


def test_the_site_itself_is_no_place_for_what_is_written(folder: Path, output: Output) -> None:
    (folder / "site").mkdir()
    (folder / "site/about.html").write_text("<!DOCTYPE html><title>a</title><p>words")
    assert run(["-C", "site", "init"]) is ExitCode.USAGE
    assert output()[1] == (
        "adaptc: . is the site itself, and all in it is published: in the directory above, adaptc init --docroot site\n"
    )
    assert run(["build", "."]) is ExitCode.USAGE
    assert output()[1] == "adaptc: output opt is inside the docroot .: choose another output, as -o ../site-opt\n"
    assert run(["build", ".", "-o", "../site-opt", "--effort", "fast", "-j", "1"]) is ExitCode.DONE
    assert [each.name for each in (folder / "site").iterdir()] == ["about.html"]
    output()
    assert run(["-C", "..", "build"]) is ExitCode.USAGE
    assert output()[1].endswith("adaptc alone says what it finds\n")


def test_the_program_alone_knows_the_last_build(folder: Path, output: Output) -> None:
    for name in ("pages", "public"):
        (folder / name).mkdir()
        (folder / name / "index.html").write_text("<!DOCTYPE html><title>a</title><p>words")
    assert run(["build", "pages", "--effort", "fast", "-j", "1"]) is ExitCode.DONE
    output()
    assert run([]) is ExitCode.DONE
    said = output()[0]
    assert said.startswith("the site in pages, built in opt (")
    assert "adaptc build pages\n" not in said


def test_a_repository_with_several_sites(folder: Path, output: Output) -> None:
    (folder / "apps/blog").mkdir(parents=True)
    (folder / "apps/blog/hugo.toml").touch()
    assert run([]) is ExitCode.DONE
    assert output()[0] == "no site here, but below; to paste:\n  adaptc -C apps/blog\n"


def test_every_key_stands_in_the_starting_text_and_is_sound(folder: Path) -> None:
    text = starting_text("public", "opt").partition("# A level may be changed")[0]
    lines = (line.removeprefix("# ") for line in text.splitlines())
    settings = "\n".join(line for line in lines if " = " in line or line.startswith("["))
    values = parse_toml(settings, "starting text").values
    written = {f"{table}.{key}" for table in SECTIONS for key in values[table]} | {"docroot", "output"}
    assert written == set(FIELDS)
    (folder / "adaptc.toml").write_text(settings)
    costs = {"http1": Cost(0.0002, 0.000003, view=0.0001)}
    write_profile(profile_of("nginx/1.22.1", costs, {}, None, (), None, 1), folder / "cost.json")
    config = load_config()
    assert config.site.csp == "default-src 'self'" and config.cost.request_ms == 0.2


def test_a_profile_for_a_crowd_has_every_knob(folder: Path) -> None:
    assert run(["init", "--profile", "crowd", "--docroot", "public"]) is ExitCode.DONE
    config = load_config()
    assert config.build.levels == config.serve.ladder == ("full", "lossless", "moderate", "extreme", "text")
    assert (config.serve.buckets, config.serve.reject, config.serve.flag) == (True, True, True)
    assert config.serve.level == "extreme"
    assert config.serve.status == "127.0.0.1:8901"


def test_the_levels_of_the_starting_text_are_sound(folder: Path, output: Output) -> None:
    commented = starting_text(None, "opt").splitlines()
    start = commented.index("# [levels.lossless]")
    text = "\n".join(line.removeprefix("# ") for line in commented[start:])
    (folder / "adaptc.toml").write_text(text)
    assert run(["levels", "mine"]) is ExitCode.DONE
    assert "dimensions" not in output()[0]


@pytest.mark.parametrize("value", [True, 7, 100_000, 0.5, 'a"b\\c\n', ("a", "b"), ()])
def test_values_as_toml(value: object) -> None:
    read = parse_toml(f"key = {toml_value(value)}", "t").values["key"]
    assert (tuple(read) if isinstance(read, list) else read) == value


# ---- levels, version, completion


def test_levels_as_a_table(output: Output) -> None:
    assert run(["levels"]) is ExitCode.DONE
    heads, full, lossless, *others = output()[0].splitlines()
    assert heads.split() == ["level", "number", "built", "promise", "title"]
    assert full.split()[:4] == ["full", "5", "yes", "same"]
    assert lossless.split()[:3] == ["lossless", "4", "yes"]
    assert ["halfres", "-", "no", "words"] in [line.split()[:4] for line in others]


def test_one_level_with_its_passes(output: Output, folder: Path) -> None:
    (folder / "adaptc.toml").write_text('[levels.lossless]\nskip = ["svg"]\nimages.target = 0.9\n')
    assert run(["levels", "lossless", "--format", "json"]) is ExitCode.DONE
    level = json.loads(output()[0])
    assert level["passes"][0] == {"name": "images", "options": {"least": 0.0, "price": 0.0, "target": 0.9}}
    assert "svg" not in [use["name"] for use in level["passes"]]


def test_a_level_without_passes(output: Output) -> None:
    run(["levels", "full"])
    assert output()[0].splitlines()[-1] == "no passes: the files stay as they are"


def test_a_level_that_is_none(output: Output) -> None:
    assert run(["levels", "losless"]) is ExitCode.USAGE
    assert output()[1] == "adaptc: there is no level losless, did you mean lossless?\n"


def test_version_names_the_libraries(output: Output) -> None:
    assert run(["version"]) is ExitCode.DONE
    shown = output()[0]
    assert shown.splitlines()[0].split() == ["adaptc", VERSION]
    assert {"turbohtml", "pyvips", "brotli"} <= set(shown.split())
    assert "missing" not in shown


def test_version_as_an_option(output: Output) -> None:
    assert run(["--version"]) is ExitCode.DONE
    assert output()[0] == f"adaptc {VERSION}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, output: Output) -> None:
    assert run(["completion", shell]) is ExitCode.DONE
    assert "_ADAPTC_COMPLETE" in output()[0]


def test_a_shell_completes_commands() -> None:
    from click.shell_completion import ShellComplete

    found = ShellComplete(cli, {}, "adaptc", "_ADAPTC_COMPLETE").get_completions([], "le")
    assert [(item.value, item.help) for item in found] == [("levels", COMMANDS["levels"].summary)]
