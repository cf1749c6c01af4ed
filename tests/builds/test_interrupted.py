"""Builds that are killed, interrupted or run into a full disk: the trees stay true, and the next run completes them."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite, decoded, files_below
from tests.waiting import PATIENCE, wait_until

from adaptc.workflow.api import plan

PAGES = 100  # enough for workers at two levels
WORDS = ("sea", "calm", "tonight", "tide", "full", "moon", "fair", "straits", "coast", "light", "gleams", "cliffs")


def text(seed: object, count: int) -> str:
    chosen = random.Random(str(seed))
    return " ".join(chosen.choice(WORDS) + str(chosen.randrange(100)) for _ in range(count))


@cache
def version(number: int) -> dict[str, str | bytes]:
    """Files of the docroot: every third page, and the sheet that all pages take in, differ between versions."""
    pages = {f"p{page // 10}/{page}.html": _page(page, number if page % 3 == 0 else 0) for page in range(PAGES)}
    return {**pages, "one.css": f".a  {{ width : {number}px }}\n" * 3, "same.bin": bytes(range(256)) * 20}


def _page(page: int, number: int) -> str:
    return (
        f'<!DOCTYPE html>\n<html><head><title>{page}</title>\n<link rel="stylesheet" href="../one.css">\n</head>\n'
        f"<body>\n<p>  {text((page, number), 450)}\n</body></html>\n"
    )


def start(site: BuiltSite, **how: object) -> subprocess.Popen[str]:
    """Start ``adaptc build`` as the leader of a group of its own."""
    command = [sys.executable, "-P", "-m", "adaptc", "build", os.fspath(site.docroot), "-o", os.fspath(site.output)]
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [*command, "--effort", "fast", "-j", "2"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )


def finish(build: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code and what was printed to standard error."""
    _, said = build.communicate(timeout=PATIENCE)
    return build.returncode, said


def alive(group: int) -> list[int]:
    """Return the processes of a group that still run."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{int(entry)}/stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry))
    return found


class Truth:
    """What may stand in the trees: whatever a clean build of a version that was in the docroot gives."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.trees: dict[int, dict[str, bytes]] = {}
        self.allowed: dict[str, set[bytes]] = defaultdict(set)

    def add(self, number: int) -> dict[str, bytes]:
        """Allow a version; return its trees."""
        if number not in self.trees:
            site = BuiltSite(self.root / str(number)).write(version(number))
            site.build(build__jobs=2)
            self.trees[number] = site.trees()
            for path, content in self.trees[number].items():
                self.allowed[_place(path)].add(decoded(path, content) if "/" in path else content)
        return self.trees[number]

    def check(self, output: Path) -> None:
        """Fail for a file of the trees that is half-written, or of no version."""
        for level in ("full", "lossless"):
            for path in files_below(output / level):
                name = f"{level}/{path}"
                assert decoded(name, (output / name).read_bytes()) in self.allowed[_place(name)], name


def _place(path: str) -> str:
    level, _, rest = path.partition("/")
    return f"{level}/{rest.partition('/')[2]}" if rest else path


@pytest.fixture(scope="session")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    return Truth(tmp_path_factory.mktemp("truth"))


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write(version(0))


def begun(site: BuiltSite) -> Callable[[], bool]:
    return lambda: (site.output / "lossless/id/p0").exists()


# ---- killed


@pytest.mark.parametrize("parent_only", [False, True], ids=["group", "parent"])
def test_killed_at_any_moment(site: BuiltSite, truth: Truth, parent_only: bool) -> None:
    chosen = random.Random(1 + parent_only)
    truth.add(0)
    for number in (0, 1, 2, 1):
        site.write(version(number))
        expected = truth.add(number)
        build = start(site)
        if chosen.random() < 0.5:
            wait_until(lambda build=build: build.poll() is not None or (site.output / ".adaptc/state.sqlite").exists())
        time.sleep(chosen.uniform(0.0, 1.2))
        os.kill(build.pid, signal.SIGKILL) if parent_only else os.killpg(build.pid, signal.SIGKILL)
        build.communicate()
        truth.check(site.output)
        if chosen.random() < 0.5:
            assert finish(start(site)) == (0, "")
            truth.check(site.output)
            assert site.trees() == expected
    assert finish(start(site)) == (0, "")
    assert site.trees() == expected
    assert not plan(site.config()).reasons


def test_workers_end_with_their_build(site: BuiltSite) -> None:
    build = start(site)
    wait_until(lambda: len(alive(build.pid)) > 2)
    os.kill(build.pid, signal.SIGKILL)
    build.communicate()
    wait_until(lambda: not alive(build.pid))


def test_a_build_waits_for_the_workers_of_a_killed_one(site: BuiltSite) -> None:
    import fcntl

    site.build()
    with open(site.output / ".adaptc/workers", "rb+") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        done = threading.Event()
        build = threading.Thread(target=lambda: (site.build(), done.set()))
        build.start()
        assert not done.wait(0.3)
        fcntl.flock(held, fcntl.LOCK_UN)
        build.join(PATIENCE)
    assert done.is_set()


def test_an_interrupt_ends_the_build_with_130(site: BuiltSite, truth: Truth) -> None:
    expected = truth.add(0)
    build = start(site)
    wait_until(begun(site))
    os.killpg(build.pid, signal.SIGINT)  # as a terminal does
    code, said = finish(build)
    assert (code, said.strip()) == (130, "adaptc: interrupted")
    wait_until(lambda: not alive(build.pid))
    truth.check(site.output)
    assert finish(start(site)) == (0, "")
    assert site.trees() == expected


def test_a_level_that_is_not_built_any_more_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed build has forgotten its units, but not yet removed the files that several of them share."""
    from adaptc.compile.engine.building import BuildStage

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    site = BuiltSite(tmp_path).write({"index.html": "<p>x", "a.css": "p { }"})
    site.build(build__levels=("full", "lossless", "moderate"))
    shared = site.output / "moderate/id/_adaptc/0.webp"
    shared.parent.mkdir()
    shared.write_bytes(b"x")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(BuildStage, "run", end)
        site.build()
    shared.parent.mkdir(parents=True, exist_ok=True)
    shared.write_bytes(b"x")
    site.build()
    assert not (site.output / "moderate").exists()


def test_a_new_state_leaves_no_level_that_is_not_built_any_more(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": "<p>x"})
    site.build(build__levels=("full", "lossless", "moderate"))
    (site.output / ".adaptc/state.sqlite").write_bytes(b"damaged")
    site.build()
    assert not (site.output / "moderate").exists()


# ---- at the same time


def test_two_builds_at_once(site: BuiltSite, truth: Truth) -> None:
    expected = truth.add(0)
    first = start(site)
    wait_until((site.output / ".adaptc/state.sqlite").exists)
    code, said = finish(start(site))
    assert (code, said) == (4, f"adaptc: another build is writing to {site.output}\n")
    assert finish(first) == (0, "")
    assert site.trees() == expected


def test_a_file_that_is_written_all_the_time(site: BuiltSite) -> None:
    file, over = site.docroot / "log.txt", threading.Event()
    line = "a line of the log\n"

    def append() -> None:
        with file.open("a") as log:
            while not over.is_set():
                log.write(line)
                log.flush()
                time.sleep(0.0001)

    file.write_text(line)
    writer = threading.Thread(target=append)
    writer.start()
    try:
        result = site.build(build__levels=("full",))
    finally:
        over.set()
        writer.join()
    assert {one.id for one in result.diagnostics} <= {"unreadable-file", "changed-while-read"}
    published = site.output / "full/id/log.txt"
    assert not published.exists() or published.read_text().replace(line, "") == ""
    site.build(build__levels=("full",))
    assert published.read_bytes() == file.read_bytes()


# ---- no space


def rlimit(_: BuiltSite) -> contextlib.AbstractContextManager[dict[str, object]]:
    """Files of a megabyte at most."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # noqa: E731
    return contextlib.nullcontext({"preexec_fn": limit})


@contextlib.contextmanager
def small_disk(site: BuiltSite) -> Iterator[dict[str, object]]:
    """An output on a file system of four megabytes."""
    site.output.mkdir()
    mount(site.output)
    try:
        yield {}
    finally:
        subprocess.run(["umount", "--lazy", site.output], check=True)


def mount(place: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "adaptc-test", place], check=True, capture_output=True)


def can_mount() -> bool:
    """Whether this user may mount (root outside a container, mostly)."""
    script = "mount -t tmpfs -o size=64k adaptc-test /mnt"
    try:
        return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def test_drafts_of_killed_writers_go_before_anything_is_written(tmp_path: Path) -> None:
    """They can fill the disk so that no state opens. Others may be written now, as a proof needs no lock."""
    site = BuiltSite(tmp_path).write({"index.html": "<p>x"})
    site.build()
    ended = subprocess.Popen(["true"])
    ended.wait()
    drafts = site.output / ".adaptc/cache/drafts"
    left, written = (drafts / f".adaptc-{process}-0123456789ab" for process in (ended.pid, os.getpid()))
    left.touch()
    written.touch()
    site.build()
    assert [*drafts.iterdir()] == [written]


@pytest.mark.parametrize("limited", [rlimit, small_disk] if can_mount() else [rlimit])
def test_a_full_disk_leaves_the_trees_whole(
    tmp_path: Path, limited: Callable[[BuiltSite], contextlib.AbstractContextManager[dict[str, object]]]
) -> None:
    site = BuiltSite(tmp_path).write({"index.html": "<p>x", **{f"{n}.txt": text(n, 500) for n in range(20)}})
    with limited(site) as how:
        assert finish(start(site))[0] == 0
        before = site.trees()
        site.write({"large.bin": random.Random(0).randbytes(6 << 20), "3.txt": text("new", 500)})
        build = start(site, **how)
        code, said = finish(build)
        assert code == 3, said
        wait_until(lambda: not alive(build.pid))  # what workers have open takes room until they have ended
        after = site.trees()
        kept = {path for path in before if not path.endswith(("/3.txt", ".html", ".json"))}
        assert {path: after[path] for path in kept} == {path: before[path] for path in kept}
        assert all(after[path] != before[path] for path in after if path.endswith("/3.txt"))
        assert not any(path.endswith("large.bin") for path in after)
        site.remove("large.bin")
        assert finish(start(site)) == (0, "")
        clean = site.clean()
        clean.build()
        assert site.trees() == clean.trees()


def test_a_full_disk_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import sqlite3

    from adaptc.compile.engine.state.state import State

    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    site = BuiltSite(tmp_path).write({"a.txt": "a"})
    monkeypatch.setattr(State, "commit", full)
    with pytest.raises(OSError) as raised:
        site.build()
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(site.output / ".adaptc/state.sqlite"))
