"""Workers elsewhere: those of an executor, or of a scheduler of Dask (``dask scheduler``, ``dask worker``).

Dask is used for what it is: it knows its workers, sends work to those that are free, and sends it again where one was
lost. This process asks it which versions its workers have, and whether they see the directories of the build.
"""

from __future__ import annotations

import logging
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from adaptc.compile.engine.cache.remote import RemoteCache
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.workers.exchange import Exchange
from adaptc.compile.engine.workers.executor_pool import ExecutorPool
from adaptc.compile.engine.workers.task import difference, own_versions
from adaptc.core.diagnostics import UsageError
from adaptc.core.interpreter import available_cpus
from adaptc.core.shortage import Shortage
from adaptc.core.version import VERSION

# Seconds after which a scheduler without workers is given up
PATIENCE = 60.0
# What is asked of workers that may have any version of adaptc, or none: a name for ``pkgutil.resolve_name``
_VERSION = "adaptc.core.version:VERSION"


class DaskExecutor(Executor):
    """The workers of a ``client`` of Dask.

    Its own executor never answers for a task whose result was lost and that then ended too many workers.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Send a call to a worker."""
        answer: Future[Any] = Future()
        sent = self.client.submit(function, *arguments, pure=False, **named)
        answer.add_done_callback(lambda each: sent.cancel() if each.cancelled() else None)
        sent.add_done_callback(partial(_pass_on, answer))
        return answer


def _pass_on(answer: Future[Any], done: Any) -> None:
    if answer.set_running_or_notify_cancel():
        try:
            answer.set_result(done.result())
        except BaseException as error:  # whatever it is, the build waits for it
            answer.set_exception(error)


@contextmanager
def far_workers(
    spec: BuildSpec, executor: Executor | None, state: State, remote: RemoteCache | None
) -> Iterator[ExecutorPool]:
    """Provide the workers of ``executor``, or else of ``build.scheduler``.

    The ``state`` knows what sources embed; what workers made is shared by ``remote``. Raises ``UsageError`` for workers
    that cannot build the same, and ``Shortage`` where there are none.
    """
    scheduler = spec.config.build.scheduler
    if remote is not None and remote.is_readonly:
        raise UsageError("workers elsewhere need a remote cache that this build may write to")
    with ExitStack() as stack:
        count: Callable[[], int] = partial(int, spec.config.build.jobs or available_cpus())
        if executor is None:
            client = stack.enter_context(_connected(str(scheduler)))
            _check_workers(client, str(scheduler), None if remote else (spec.docroot, spec.private))
            executor, count = DaskExecutor(client), partial(_count_workers, client, str(scheduler))
        if remote is None or isinstance(executor, (ThreadPoolExecutor, ProcessPoolExecutor)):  # by their common disk
            yield ExecutorPool(executor, count)
            return
        exchange = Exchange(remote.url, remote.store, partial(_embedded_files, state), remote.adopt)
        stack.callback(exchange.close)
        yield ExecutorPool(executor, count, exchange)


def _embedded_files(state: State, path: str) -> Iterator[str]:
    return (file for _, facts in state.facts(path) for _, file in facts.embeds)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    if find_spec("distributed") is None:
        raise UsageError(f"{address}: Dask is not installed: pip install 'adaptc[cluster]'")
    from distributed import Client

    connect: Any = Client  # without types, where the package is installed
    try:
        with _reaching(address):
            client = connect(address, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"{address} is no address of a scheduler: {error}") from None
    with _without_log(), client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            reason = f"had no worker for {PATIENCE:.0f} s; start some: dask worker {address}"
            raise Shortage(f"the scheduler {address} {reason}") from None
        yield client


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep Dask from writing tracebacks of lost connections, which become a sentence here."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        first: BaseException = error  # Dask's own errors name its classes
        while first.__cause__ is not None:
            first = first.__cause__
        raise Shortage(f"the scheduler {address} cannot be reached: {first}") from error


def _count_workers(client: Any, address: str) -> int:
    with _reaching(address):
        return len(client.nthreads())


def _check_workers(client: Any, address: str, directories: Iterable[Path] | None) -> None:
    """Raise ``UsageError`` for workers of other versions, or that do not see ``directories``."""
    ask = partial(_ask, client, address)
    for worker, version in ask(pkgutil.resolve_name, _VERSION):
        if version != VERSION:
            raise UsageError(f"worker {worker} has adaptc {version}, and this build {VERSION}")
    for worker, versions in ask(own_versions):
        if versions != own_versions():
            raise UsageError(f"worker {worker} has {difference(versions, own_versions())}: all must have the same")
    for directory in directories or ():
        for worker, is_there in ask(os.path.isdir, os.fspath(directory)):
            if not is_there:
                raise UsageError(f"worker {worker} does not see {directory}: without it, set build.remote_cache")


def _ask(client: Any, address: str, function: Callable[..., Any], *arguments: object) -> Iterable[tuple[str, Any]]:
    with _reaching(address):
        answers: dict[str, Any] = client.run(function, *arguments, on_error="return")
    if any(isinstance(answer, ImportError) for answer in answers.values()):
        raise UsageError(f"a worker of {address} has no adaptc: install adaptc {VERSION} there")
    return answers.items()
