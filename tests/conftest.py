"""Fixtures that several test files use."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.places import ROOT
from tests.servers import web
from tests.servers.browser import Browser
from tests.servers.chromium import shared_chromium

from adaptc.browser import NAMES
from adaptc.core.interpreter import collect_seldom

# Builds write, and wait for the disk to have, thousands of small files: in memory that takes no time
_MEMORY, _ENOUGH = "/dev/shm", 6 << 30


def _work_in_memory() -> None:
    """Have temporary files in memory where there is enough of it and nobody said where they are to be."""
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text("ascii").splitlines())
    available = 1024 * int(fields["MemAvailable"].split()[0])
    if min(shutil.disk_usage(_MEMORY).free, available) >= _ENOUGH:
        os.environ["TMPDIR"], tempfile.tempdir = _MEMORY, None


_work_in_memory()


def _keep_bytecode() -> None:
    """Have commands that tests start find their modules compiled, also where Python is told to keep none beside them.

    To compile those of a build takes as long as to run them: half a second a command.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = os.fspath(ROOT / ".pytest_cache/bytecode")


_keep_bytecode()
collect_seldom()  # as the program does


def _program(*names: str) -> str:
    """Return the path of the first program that is installed; without one, skip the test, or fail it in CI."""
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        verdict = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        verdict(f"{names[0]} is not installed")
    return path


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """Return the path of the browser. Tests of a process that look at pages share one, which goes on running."""
    path = _program(*NAMES)
    with shared_chromium(path):
        yield path


@pytest.fixture(scope="session")
def _browser(chromium: str) -> Iterator[Browser]:
    running = Browser(chromium)
    yield running
    running.close()


@pytest.fixture
def browser(_browser: Browser, request: pytest.FixtureRequest) -> Browser:
    """Return a browser that is driven by DevTools, with a tab in which only tests of the same module were.

    To open one takes half a second; a test that needs one in which nothing was stored says ``browser.renew()``.
    """
    if _browser.user != request.path:
        _browser.renew()
        _browser.user = request.path
    return _browser


@pytest.fixture
def program() -> Callable[[str], str]:
    """Return what finds a program of the system by its name."""
    return _program


@pytest.fixture
def common() -> Iterator[Path]:
    """A directory that every user may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


# How long a machine takes is no fault of what is tested. A commit that passed passes again: what is drawn is always the
# same, unless ADAPTC_FUZZ is set
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="ADAPTC_FUZZ" not in os.environ,
)
settings.load_profile("patient")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs real servers where one is not installed, but fail it in continuous integration."""
    if item.get_closest_marker("servers") and (missing := web.missing()):
        verdict = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        verdict(f"not installed: {' '.join(missing)}")


# Directories of tests that start programs
LONG = frozenset({"builds", "docs", "serve", "workflow"})


def _haste(item: pytest.Item) -> int:
    """Return how early a test comes, the least first: what its module makes once, then what starts programs.

    Who has nothing left takes half of what another worker has last. Of a module in two workers both make what its
    tests share, and some of that takes half a minute.
    """
    made = (found[-1].scope for found in item._fixtureinfo.name2fixturedefs.values())  # type: ignore[attr-defined]
    return 0 if "module" in made else 1 if item.path.parent.name in LONG else 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one worker begin with what waits for a browser, and the next one with what waits for real servers.

    Each begins with its part of this order, and takes from others when it has done that. So there is work for the
    processors while these two wait; and tests that share what takes long, and those that start programs, come before
    those of functions: nobody takes half of the first, and no long one is left for the end.
    """
    kinds: dict[str, list[pytest.Item]] = {"browser": [], "servers": [], "": []}
    for item in sorted(items, key=_haste):
        has_browser = "chromium" in getattr(item, "fixturenames", ())
        kinds["browser" if has_browser else "servers" if item.get_closest_marker("servers") else ""].append(item)
    part = len(items) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    before = max(0, part - len(kinds["browser"])) if part < len(items) else 0
    # The matrices of verify-server, which wait longest, are the last by name
    kinds["servers"].reverse()
    kinds["servers"].sort(key=_haste)
    items[:] = [*kinds["browser"], *kinds[""][:before], *kinds["servers"], *kinds[""][before:]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker import its part of the test modules of directories before it collects all.

    So in a new clone each module is compiled by one worker, not by all of them at once, which takes longer than to
    collect the tests. What cannot be imported is reported once it is collected.
    """
    worker, count = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker is None:
        return
    number = int(worker.removeprefix("gw"))
    files = sorted(file for argument in session.config.args for file in (ROOT / argument).rglob("test_*.py"))
    for file in files[len(files) * number // count : len(files) * (number + 1) // count]:
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        pytest.CallInfo.from_call(partial(import_module, name), "collect")


def pytest_collection_finish() -> None:
    """Never look for garbage among the thousands of tests that were collected."""
    gc.collect()
    collect_seldom()


def pytest_configure() -> None:
    """Let commands that tests start be interrupted: what runs in the background of a shell ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
