"""Workers elsewhere: those of an executor, or of a scheduler of Dask (``dask scheduler``, ``dask worker``).

Dask is used for what it is: it knows its workers, sends work to those that are free, and sends it again where one was
lost. This process asks it which versions its workers have, and whether they see the directories of the build.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from adaptc.compile.engine.exchange import Exchange
from adaptc.compile.engine.executor import available_cpus
from adaptc.compile.engine.executor_pool import ExecutorPool
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state import State
from adaptc.compile.engine.store import Store
from adaptc.compile.engine.task import difference, own_versions
from adaptc.core.diagnostics import UsageError
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
def far_workers(spec: BuildSpec, executor: Executor | None, state: State) -> Iterator[ExecutorPool]:
    """Provide the workers of ``executor``, or else of ``build.scheduler``.

    The ``state`` knows what sources embed. Raises ``UsageError`` for workers that cannot build the same, and
    ``Shortage`` where there are none.
    """
    scheduler, remote_cache = spec.config.build.scheduler, spec.config.build.remote_cache
    if remote_cache is not None and spec.config.build.remote_cache_readonly:
        raise UsageError("workers elsewhere need a remote cache that this build may write to")
    with ExitStack() as stack:
        count: Callable[[], int] = partial(int, spec.config.build.jobs or available_cpus())
        if executor is None:
            client = stack.enter_context(_connected(str(scheduler)))
            _check_workers(client, str(scheduler), None if remote_cache else (spec.docroot, spec.private))
            executor, count = DaskExecutor(client), lambda: len(client.nthreads())
        uses_disk = remote_cache is None or isinstance(executor, (ThreadPoolExecutor, ProcessPoolExecutor))
        if uses_disk:
            yield ExecutorPool(executor, count)
            return
        exchange = Exchange(str(remote_cache), Store(spec.cache), partial(_embedded_files, state))
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
        client = connect(address, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"{address} is no address of a scheduler: {error}") from None
    except OSError as error:
        reason = str(error.__cause__ or error)
        raise Shortage(f"the scheduler {address} cannot be reached: {reason}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            reason = f"had no worker for {PATIENCE:.0f} s; start some: dask worker {address}"
            raise Shortage(f"the scheduler {address} {reason}") from None
        yield client


def _check_workers(client: Any, address: str, directories: Iterable[Path] | None) -> None:
    """Raise ``UsageError`` for workers of other versions, or that do not see ``directories``."""
    hint = f"a worker of {address} has no adaptc: install adaptc {VERSION} there"
    for worker, version in _ask(client, hint, pkgutil.resolve_name, _VERSION):
        if version != VERSION:
            raise UsageError(f"worker {worker} has adaptc {version}, and this build {VERSION}")
    for worker, versions in _ask(client, hint, own_versions):
        if versions != own_versions():
            raise UsageError(f"worker {worker} has {difference(versions, own_versions())}: all must have the same")
    for directory in directories or ():
        for worker, is_there in _ask(client, hint, os.path.isdir, os.fspath(directory)):
            if not is_there:
                raise UsageError(f"worker {worker} does not see {directory}: without it, set build.remote_cache")


def _ask(client: Any, hint: str, function: Callable[..., Any], *arguments: object) -> Iterable[tuple[str, Any]]:
    answers: dict[str, Any] = client.run(function, *arguments, on_error="return")
    if any(isinstance(answer, ImportError) for answer in answers.values()):
        raise UsageError(hint)
    return answers.items()
