"""The list of passes: what it names is there, and nothing that only asks for recipes imports it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.pipeline import KNOWN_PASSES, PASSES, Pass, modules_of
from adaptc.config.rulebook import load_levels


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_every_function_of_a_pass_exists(each: Pass) -> None:
    assert isinstance(each.function, str)  # imported when the pass first runs
    assert callable(each.run)


@pytest.mark.parametrize("command", [["check", "--quick"], ["build", "-q"]], ids=lambda command: command[0])
def test_a_fresh_site_costs_no_parser(tmp_path: Path, command: list[str]) -> None:
    """The modules of the passes, with the parsers behind them, take longer to import than 10,000 files to compare."""
    site = BuiltSite(tmp_path)
    site.write({"index.html": "<!DOCTYPE html>\n<title>a</title>\n<p>a", "one.css": "a { color: red }"}).build()
    program = (
        "import sys\n"
        "from adaptc.cli.main import run\n"
        f"code = run({[*command, str(site.docroot), '-o', str(site.output), '--effort', 'fast']!r})\n"
        "heavy = {'turbohtml', 'tinycss2', 'lxml', 'numpy', 'PIL', 'multiprocessing', 'jinja2', 'rich', 'watchdog'}\n"
        "print(int(code), sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


# What a build imports, in modules of adaptc: one that has nothing to do, and the first one of a page and a style sheet.
# Half of the CPU time of a small build are imports: about 1 ms for each module
_NOTHING_TO_DO, _FIRST = 108, 208


def test_a_small_build_imports_little(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path)
    site.write({"index.html": "<!DOCTYPE html>\n<title>a</title>\n<p>a", "one.css": "a { color: red }"})
    command = ["build", "-q", str(site.docroot), "-o", str(site.output), "--effort", "fast", "--level", "lossless"]
    program = (
        "import sys\n"
        "from adaptc.cli.main import run\n"
        f"code = run({command!r})\n"
        "heavy = {'asyncio', 'ssl', 'email', 'http', 'statistics', 'adaptc.browser.chromium', 'PIL', 'numpy'}\n"
        "own = [name for name in sys.modules if name.startswith('adaptc.')]\n"
        "print(int(code), sorted(heavy & sys.modules.keys()), len(own))\n"
    )
    counts = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
        result, _, count = done.stdout.splitlines()[-1].rpartition(" ")
        assert result == "0 []"
        counts.append(int(count))
    assert counts[0] <= _FIRST
    assert counts[1] <= _NOTHING_TO_DO


def test_the_modules_of_a_level() -> None:
    levels = load_levels(known_passes=KNOWN_PASSES)
    assert modules_of([levels["full"]]) == []
    matches = modules_of([levels["full"], levels["lossless"]])
    assert {"adaptc.compile.passes.images", "adaptc.compile.passes.inline_styles"} <= set(matches)
