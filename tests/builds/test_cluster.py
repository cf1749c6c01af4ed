"""Workers elsewhere build what workers here build, whatever becomes of them."""

from __future__ import annotations

import errno
import os
import re
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.samples.fragile_work import fragile
from tests.servers.dask import Cluster, dask_cluster
from tests.sites.built import BuiltSite
from tests.waiting import PATIENCE

import adaptc
from adaptc.cli.command import ExitCode
from adaptc.cli.main import run as run_command
from adaptc.compile.engine.cache.remote import pack_bundle
from adaptc.compile.engine.cache.tracing import OBJECT
from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.workers import cluster as cluster_module
from adaptc.compile.engine.workers import executor_pool
from adaptc.compile.engine.workers.exchange import Exchange
from adaptc.compile.engine.workers.executor_pool import ExecutorPool
from adaptc.compile.engine.workers.task import Answer, difference, own_versions, run_order
from adaptc.core.diagnostics import Fault, RemoteError, UsageError
from adaptc.core.digest import digest_bytes
from adaptc.core.remote import Remote
from adaptc.core.shortage import Shortage
from adaptc.core.version import VERSION
from adaptc.workflow.api import BuildResult

PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n<title>{n}</title>\n<link rel=stylesheet href=a.css><script src=a.js></script>\n"
    "<img src=image.png alt=x><p>{n}" + "some words \n" * 99
)


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path / "first")
    sheet = "@import 'b.css';\n" + "\n".join(f".class-{n} p {{ color: #112233; margin: {n}px }}" for n in range(200))
    files = {f"{n}.html": PAGE.format(n=n) for n in range(9)} | {"b.css": "p { background: url(image.png) }"}
    site.write({**files, "a.css": sheet, "a.js": "var answer = 42; // the answer\n" * 9})
    image = site.docroot / "image.png"
    Image.linear_gradient("L").save(image)
    os.utime(image, (1_600_000_000, 1_600_000_000))  # one that is new is read again by the next build
    (site.docroot / "alias.html").symlink_to("1.html")
    return site


LEVELS = ["full", "lossless", "moderate"]


def build(site: BuiltSite, executor: Executor | None = None, **overrides: Any) -> BuildResult:
    return adaptc.build(site.config(build__levels=LEVELS, **overrides), isolated=False, executor=executor)


def built_here(site: BuiltSite) -> dict[str, bytes]:
    """Return the trees of a build by this process."""
    return _built_here(
        frozenset(
            (str(file.relative_to(site.docroot)), os.readlink(file) if file.is_symlink() else file.read_bytes())
            for file in site.docroot.rglob("*")
            if not file.is_dir()
        )
    )


@cache
def _built_here(files: frozenset[tuple[str, str | bytes]]) -> dict[str, bytes]:
    """Return the trees of a site by its files and links."""
    with tempfile.TemporaryDirectory() as root:
        site = BuiltSite(Path(root)).write({name: content for name, content in files if isinstance(content, bytes)})
        for name, target in files:
            if isinstance(target, str):
                (site.docroot / name).symlink_to(target)
        build(site)
        return site.trees()


class Distant(Executor):
    """An executor that is none of the standard library; ``loses`` says for each call whether its worker ends."""

    def __init__(self, *loses: bool) -> None:
        self.threads = ThreadPoolExecutor(2)
        self.loses, self.calls = iter(loses), 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        self.calls += 1
        if next(self.loses, False):
            lost: Future[Any] = Future()
            lost.set_exception(RuntimeError("the worker is gone. Look at its log."))
            return lost
        return self.threads.submit(function, *arguments, **named)


@pytest.mark.parametrize("is_far", [False, True])
def test_workers_elsewhere_see_what_changed(site: BuiltSite, tmp_path: Path, is_far: bool) -> None:
    pytest.importorskip("fsspec")
    chosen = {"build__remote_cache": f"file://{tmp_path}/shared"} if is_far else {}
    build(site, Distant() if is_far else None, **chosen)
    site.write({"0.html": PAGE.format(n="changed"), "new.html": PAGE.format(n="new")})
    site.remove("8.html")
    (site.docroot / "alias.html").unlink()
    build(site, Distant() if is_far else None, **chosen)
    assert site.trees() == built_here(site)


def test_workers_elsewhere_on_a_file_system_without_hard_links(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "links are not possible here", source, None, target)

    (site.docroot / "alias.html").unlink()  # its link would be a copy, too
    monkeypatch.setattr("os.link", link)
    build(site, Distant())
    monkeypatch.undo()
    assert site.trees() == built_here(site)


# ---- executors


def processes() -> ProcessPoolExecutor:
    """Processes that are not forked: libraries have threads in this one."""
    return ProcessPoolExecutor(2, get_context("spawn"))


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, processes])
def test_an_executor_of_the_standard_library(site: BuiltSite, kind: Callable[[], Executor]) -> None:
    with kind() as executor:
        assert build(site, executor).built
        assert site.trees() == built_here(site)
        assert not build(site, executor).built
        assert executor.submit(int, "7").result() == 7  # it stays open


def test_workers_without_a_common_directory(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    shared = f"file://{site.root.parent}/shared"
    monkeypatch.setenv("TMPDIR", str(site.root.parent))
    assert not [each for each in build(site, Distant(), build__remote_cache=shared).diagnostics if "fail" in each.id]
    assert site.trees() == built_here(site)
    assert {name.partition("/")[0] for name in Remote(shared).files()} == {"packs"}  # the rest was removed
    site.write({"0.html": PAGE.format(n="changed")})
    assert {path for _, path in build(site, Distant(), build__remote_cache=shared).built} == {"0.html"}
    assert site.trees() == built_here(site)


def test_what_workers_packed_is_shared_as_it_is(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    packed: list[str] = []

    def noting(bundle: Mapping[str, bytes]) -> bytes:
        packed.extend(bundle)
        return pack_bundle(bundle)

    for module in ("workers.exchange_worker", "cache.remote"):
        monkeypatch.setattr(f"adaptc.compile.engine.{module}.pack_bundle", noting)
    site.write({"equal.html": PAGE.format(n=1)})  # two files, and one trace
    settings = {"build__remote_cache": f"file://{site.root.parent}/shared", "build__levels": ["full", "lossless"]}
    adaptc.build(site.config(**settings), isolated=False, executor=Distant())
    pages = [OBJECT + digest_bytes(site.read(f"{n}.html")) for n in (0, *range(2, 9))]
    assert 1 in {packed.count(name) for name in pages}  # of those that found what pages share in memory
    monkeypatch.setattr("adaptc.formats.codings.encode_if_smaller", None)  # nothing is encoded elsewhere
    other = site.clean("second")
    other.build(**settings)
    assert other.trees() == site.trees()


def test_a_source_that_a_worker_lacks_is_sent(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(Exchange, "related", lambda *_: frozenset())
    build(site, Distant(), build__remote_cache=f"file://{site.root}/shared")
    assert site.trees() == built_here(site)


def test_a_source_is_sent_once_to_be_read_and_built(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    sent: list[str] = []

    def noting(bundle: Mapping[str, bytes]) -> bytes:
        sent.extend(bundle)
        return pack_bundle(bundle)

    (site.docroot / "alias.html").unlink()  # threads may send equal files at the same moment
    monkeypatch.setattr("adaptc.compile.engine.workers.exchange.pack_bundle", noting)
    build(site, Distant(), build__remote_cache=f"file://{site.root}/shared")
    sources = {OBJECT + digest_bytes(file.read_bytes()) for file in site.docroot.iterdir()}
    assert {name: sent.count(name) for name in sources} == dict.fromkeys(sources, 1)
    assert site.trees() == built_here(site)


def test_large_sources_are_for_the_building_machine(site: BuiltSite) -> None:
    pytest.importorskip("fsspec")
    site.write({"large.bin": os.urandom(30_000)})
    shared = {"build__remote_cache": f"file://{site.root}/shared", "site__max_file_bytes": 20_000}
    result = build(site, Distant(), **shared)
    assert "file-too-large" in {each.id for each in result.diagnostics}
    assert site.read("large.bin") == (site.docroot / "large.bin").read_bytes()


def test_equal_files_in_one_batch(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr("adaptc.compile.engine.workers.executor._LEAST_BATCHES", 1)
    site.write({f"{name}/a.js": (site.docroot / "a.js").read_bytes() for name in "xyz"})
    build(site, Distant(), build__remote_cache=f"file://{site.root}/shared")
    assert site.trees() == built_here(site)


def test_lost_batches_are_sent_again(site: BuiltSite) -> None:
    executor = Distant(*[True, False, True] * 4)
    build(site, executor)
    assert executor.calls > 8
    assert site.trees() == built_here(site)


@pytest.mark.parametrize("method", ["files", "read", "write"])
def test_a_store_that_fails_ends_the_build(site: BuiltSite, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")

    def fail(*_: object) -> None:
        raise RemoteError(Fault.FAILED, "no route to host")

    monkeypatch.setattr(Remote, method, fail)
    with pytest.raises(Shortage, match="no route to host"):
        build(site, Distant(), build__remote_cache=f"file://{site.root}/shared")


@pytest.mark.parametrize("place", ["workers.exchange_worker.put_artifact", "cache.tracing.TracingStore.put"])
def test_a_worker_whose_disk_is_full_is_named(site: BuiltSite, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/scratch/object")

    monkeypatch.setattr(f"adaptc.compile.engine.{place}", fail)
    reason = f"the worker on {socket.gethostname()} cannot store what it needs: No space left on device"
    with pytest.raises(Shortage, match=f"^{re.escape(reason)}$"):
        build(site, Distant(), build__remote_cache=f"file://{site.root}/shared")


def test_a_cache_that_is_only_read_is_none_for_workers(site: BuiltSite) -> None:
    shared = {"build__remote_cache": f"file://{site.root}/shared", "build__remote_cache_readonly": True}
    with pytest.raises(UsageError, match="need a remote cache that this build may write to"):
        build(site, Distant(), **shared)


# ---- what goes wrong


def run(executor: Executor, *names: str, jobs: int = 2) -> list[str]:
    pool = ExecutorPool(executor, lambda: jobs)
    return sorted(pool.run(fragile, "snapshot", [names], lambda unit, reason: f"{unit}: {reason}"))


def test_a_unit_that_memory_is_short_for_costs_no_other() -> None:
    assert run(Distant(), "a", "short", "b") == ["a", "b", "short: not enough memory"]


def test_a_bug_of_a_worker_is_raised_with_its_place() -> None:
    with pytest.raises(LookupError, match="a bug") as raised:
        run(Distant(), "a", "wrong", "b")
    assert "in fragile" in raised.value.__notes__[0]


def test_a_unit_that_ends_workers_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Dask does: it gives up a batch at which several workers ended."""

    class Fragile(Distant):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
            self.loses = iter([b"killed" in arguments[1]])
            return super().submit(function, *arguments, **named)

    lost = "killed: the worker that built it was lost (the worker is gone)"
    assert run(Fragile(), *"abc", "killed", *"de") == [*"abcde", lost]


def test_workers_that_are_all_lost_end_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_pool, "_MOST_LOSSES", 3)
    with pytest.raises(Shortage, match="3 batches of work were lost one after the other"):
        run(Distant(*[True] * 9), *"abcdefgh")


def test_an_executor_that_ends_ends_the_build() -> None:
    with (
        processes() as executor,
        pytest.raises(Shortage, match="the executor ended: A process in the process pool was terminated abruptly"),
    ):
        run(executor, "a", "killed", "b")


def test_a_worker_of_another_version_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run_order({**own_versions(), "adaptc": "9.9"}, b"", "name")
    assert answer.refusal is not None and "has adaptc" in answer.refusal and "this build 9.9" in answer.refusal
    assert difference({"a": "1"}, {"a": "1", "Brotli": "2"}) == "Brotli not at all, and this build 2"
    monkeypatch.setattr(executor_pool, "own_versions", lambda: {"adaptc": "9.9"})
    with pytest.raises(Shortage, match=r"has adaptc .*, and this build 9.9: all must have the same"):
        run(Distant(), "a")


def test_an_answer_can_be_pickled() -> None:
    import pickle

    assert pickle.loads(pickle.dumps(Answer((1,), short="memory"))) == Answer((1,), short="memory")


# ---- Dask


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with dask_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.mark.parametrize("has_store", [True, False])
def test_a_cluster_builds_the_same(site: BuiltSite, cluster: Cluster, has_store: bool) -> None:
    pytest.importorskip("fsspec")
    store = {"build__remote_cache": f"file://{site.root}/shared"} if has_store else {}
    build(site, build__scheduler=cluster.address, **store)
    assert site.trees() == built_here(site)


def test_a_worker_that_is_killed_costs_time_only(site: BuiltSite, cluster: Cluster) -> None:
    pytest.importorskip("fsspec")
    killed = cluster.add_worker()
    cluster.await_workers()

    class Killer(Silent):
        def advance(self, units: int, size: int, saved: int) -> None:
            killed.kill()

    config = site.config(
        build__levels=LEVELS, build__scheduler=cluster.address, build__remote_cache=f"file://{site.root}/shared"
    )
    adaptc.build(config, Killer())
    assert killed.wait() == -9
    assert site.trees() == built_here(site)


def test_a_scheduler_whose_workers_come_late_and_that_ends_in_a_build(
    site: BuiltSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = pytest.importorskip("dask")
    with dask_cluster(tmp_path / "cluster", workers=0) as cluster:
        with (
            monkeypatch.context() as patched,
            pytest.raises(Shortage, match=r"had no worker for 0 s; start some: dask worker tcp://"),
        ):
            patched.setattr(cluster_module, "PATIENCE", 0.2)
            build(site, build__scheduler=cluster.address)
        late = threading.Timer(0.5, cluster.add_worker)
        late.start()
        assert build(site, build__scheduler=cluster.address).built
        late.join()

        class Killer(Silent):
            def advance(self, units: int, size: int, saved: int) -> None:
                cluster.programs[0].kill()

        site.write({f"{n}.html": PAGE.format(n=f"other {n}") for n in range(9)})
        config = site.config(build__levels=LEVELS, build__scheduler=cluster.address)
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
            pytest.raises(Shortage, match=rf"the scheduler {cluster.address} cannot be reached: "),
        ):
            adaptc.build(config, Killer(), isolated=False)
    build(site)
    assert site.trees() == built_here(site)


class Client:
    """A client of one worker, which answers in turn."""

    def __init__(self, *answers: object) -> None:
        self.answers = iter(answers)

    def run(self, *_: object, on_error: str) -> dict[str, object]:
        assert on_error == "return"
        return {"tcp://worker": next(self.answers)}


@pytest.mark.parametrize(
    ("answers", "mistake"),
    [
        (("9.9",), "worker tcp://worker has adaptc 9.9, and this build"),
        ((VERSION, {**own_versions(), "Pillow": "1.0"}), "has Pillow 1.0, and this build .*: all must have the same"),
        ((VERSION, own_versions(), False), "does not see /site: without it, set build.remote_cache"),
    ],
)
def test_a_cluster_that_cannot_build_the_same(answers: tuple[object, ...], mistake: str) -> None:
    with pytest.raises(UsageError, match=mistake):
        cluster_module._check_workers(Client(*answers), "tcp://scheduler", [Path("/site")])


def test_a_cluster_without_adaptc(site: BuiltSite, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_VERSION", "adaptc_of_nobody:VERSION")
    with pytest.raises(UsageError, match=r"a worker of tcp://\S+ has no adaptc: install adaptc"):
        build(site, build__scheduler=cluster.address)


def test_no_scheduler_at_the_address(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")  # which has settings as it is imported, and must keep them after this one
    monkeypatch.chdir(site.root)
    command = ["build", str(site.docroot), "-o", str(site.output), "--scheduler"]
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
        assert run_command([*command, "tcp://127.0.0.1:1"]) == ExitCode.INTERNAL
    assert "the scheduler tcp://127.0.0.1:1 cannot be reached" in capsys.readouterr().err
    assert run_command([*command, "nonsense://127.0.0.1:1"]) == ExitCode.USAGE
    assert "nonsense://127.0.0.1:1 is no address of a scheduler" in capsys.readouterr().err
    assert run_command([*command, "127.0.0.1:1"]) == ExitCode.USAGE
    assert "build.scheduler must be the address of a scheduler of Dask" in capsys.readouterr().err


def test_a_build_with_nothing_to_do_asks_no_scheduler(site: BuiltSite) -> None:
    build(site)
    assert not build(site, build__scheduler="tcp://127.0.0.1:1").built


def test_every_end_of_a_task_of_dask_is_passed_on() -> None:
    class Sent(Future[int]):
        def result(self, timeout: float | None = None) -> int:
            raise RuntimeError("the result was lost")

    class Client:
        def submit(self, *_: object, pure: bool) -> Future[int]:
            sent = Sent()
            sent.set_result(0)
            return sent

    assert (
        str(cluster_module.DaskExecutor(Client()).submit(int, "7").exception(timeout=PATIENCE)) == "the result was lost"
    )
