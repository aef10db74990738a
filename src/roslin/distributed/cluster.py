"""Work that a Dask cluster does: the same methods as `roslin.deadline.Work`, and the same results in the same order.

    with ClusterWork(Cluster.parse("local:4"), kept=folder) as work:
        for result in work.map(task, pieces): ...

    local               as many processes of this computer as it has cores
    local:4             four of them
    tcp://host:8786     the scheduler at this address, with the workers that it has (also tls://)

Every worker needs the same version of Roslin and of the libraries it computes with, and sees the same files under the
same names. A task must be picklable: a function of a module, or a frozen value that can be called. Workers only
compute. The process that asked writes. A worker that dies costs the time of its pieces: another one does them again.
Without the scheduler the work ends with a `ClusterError` that names the folder of the finished pieces.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from roslin.deadline import Work
from roslin.errors import ArgumentError, ClusterError, MissingExtraError
from roslin.search.program import COUNTED, program_versions
from roslin.types import Progress

_LOCAL = re.compile(r"local(?::([1-9]\d{0,3}))?")
_ADDRESS = re.compile(r"(?:tcp|tls)://[^\s/]+:\d{1,5}")
_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")

_CONNECT_S = 5.0
_WORKERS_S = 60.0  # without any worker
_LOOK_S = 1.0  # between two looks at whether there is a worker, and at the clock
_AHEAD = 3  # pieces for each worker that are on their way, or finished and not yet asked for
# On a local cluster, this many workers may die with one piece before the piece is to blame, and no one looks at what
# Dask's profiler, which costs several percent, finds out.
_SETTINGS = {"distributed.scheduler.allowed-failures": 10, "distributed.worker.profile.enabled": False}
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application")
_SILENT = logging.CRITICAL + 1
# Rooms of the program that tasks are in, or use.
_ROOMS = (*COUNTED, "values", "notation", "collection", "concordances", "distributed", "campaign")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a scheduler, or, without one, a number of processes of this computer."""

    address: str = ""
    processes: int = 0

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """A cluster from the word that names it.

        >>> Cluster.parse("local:4"), str(Cluster.parse("tcp://10.0.0.1:8786"))
        (Cluster(address='', processes=4), 'tcp://10.0.0.1:8786')
        """
        if local := _LOCAL.fullmatch(text):
            return cls(processes=int(local[1] or _cores()))
        if not _ADDRESS.fullmatch(text):
            raise ArgumentError(f"a Dask cluster must be local, local:4 or tcp://host:8786; got {text!r}")
        return cls(address=text)

    def __str__(self) -> str:
        return self.address or f"local:{self.processes}"


def _cores() -> int:
    """The cores that this process may use: fewer than the computer has, in a container or a job."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ClusterWork(Work):
    """A cluster at work. `kept` is the folder of finished parts, for a later start."""

    def __init__(
        self,
        cluster: Cluster,
        seconds: float | None = None,
        progress: Progress | None = None,
        *,
        kept: str | Path | None = None,
    ):
        super().__init__(1, seconds, progress)
        self.cluster = cluster
        self._open = ExitStack()
        self._looked = self._seen = 0.0  # when workers were counted, and when there were any
        self._workers = 0
        self._rest = "; nothing was changed: start the same command again"
        if kept is not None:
            self._rest = f"; finished parts are saved in {kept}: the same command continues, with --dask or without"

    def __enter__(self) -> Self:
        try:
            import distributed
        except ImportError as error:
            raise MissingExtraError("work on a cluster", str(error.name), "cluster") from None
        self._dask: Any = distributed
        with ExitStack() as opening:
            opening.enter_context(_quiet())
            address = self.cluster.address or opening.enter_context(self._local_cluster())
            try:
                self._client: Any = self._dask.Client(address, timeout=_CONNECT_S, set_as_default=False)
            except OSError:
                hint = "is there a `dask scheduler`, and is the address right?"
                raise ClusterError(f"no scheduler answers at {self.cluster}; {hint}") from None
            opening.callback(self._client.close, timeout=_CONNECT_S)
            self._seen = time.monotonic()
            while not self._workers:
                self._look(_LOOK_S / 100)
                time.sleep(_LOOK_S / 100)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @contextmanager
    def _local_cluster(self) -> Iterator[Any]:
        import dask

        with dask.config.set(_SETTINGS):
            cluster = self._dask.LocalCluster(
                n_workers=self.cluster.processes,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # a separate port, although it is not used
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,  # pages of a mapped collection would count as memory
                silence_logs=_SILENT,
            )
        with cluster:
            yield cluster

    def map(self, function: Callable[[_Piece], _Result], pieces: Iterable[_Piece]) -> Iterator[_Result]:
        """The function of each piece, in order; only as many are sent ahead as keep the workers busy."""
        waiting: deque[Any] = deque()
        versions = _versions()
        try:
            for piece in pieces:
                if len(waiting) >= _AHEAD * self._workers:
                    yield self._result(waiting.popleft())
                    self._look()
                with self._told_if_lost():
                    waiting.append(self._client.submit(_call, versions, function, piece, pure=False))
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            for future in waiting:  # the caller has left
                future.release()

    def processes(self) -> list[int]:
        """The ids of the worker processes, on their computers."""
        with self._told_if_lost():
            return sorted(self._client.run(os.getpid, on_error="ignore").values())

    def _look(self, pause: float = _LOOK_S) -> None:
        """Count the workers, now and then: some may come, and some may go."""
        if time.monotonic() < self._looked + pause:
            return
        with self._told_if_lost():
            found = sum(self._client.nthreads().values())
        self._looked = time.monotonic()
        if found:
            self._seen, self._workers = self._looked, found
        elif self._looked > self._seen + _WORKERS_S:
            hint = f"start some with: dask worker {self.address}"
            raise ClusterError(f"the scheduler at {self.address} has no workers; {hint}{self._rest}")

    def _result(self, future: Any) -> Any:
        while not future.done():
            with suppress(TimeoutError), self._told_if_lost(), self._client.as_current():
                self._dask.wait(future, timeout=_LOOK_S)
            self.check_time()
            self._look()
        if future.status == "error":
            raise self._failure(future.exception())
        with self._told_if_lost():
            return future.result()

    def _failure(self, error: Any) -> Exception:
        """The exception that the caller gets for a piece that failed."""
        if isinstance(error, self._dask.KilledWorker):
            reason = f"{error.allowed_failures + 1} workers of {self.cluster} died with the same piece of work"
            return ClusterError(f"{reason}: they may need more memory{self._rest}")
        if isinstance(error, ModuleNotFoundError):
            return ClusterError(f"a worker of {self.cluster} lacks the module {error.name}; {_SAME}")
        return error if isinstance(error, Exception) else ClusterError(str(error))

    @contextmanager
    def _told_if_lost(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise
        except (OSError, CancelledError, self._dask.client.ClosedClientError):
            raise ClusterError(f"the scheduler at {self.address} is gone{self._rest}") from None

    @property
    def address(self) -> str:
        return self.cluster.address or str(self._client.scheduler.address if self._client.scheduler else self.cluster)


_SAME = "the same versions of Roslin and of what it computes with must be installed on all computers"


@cache
def _versions() -> dict[str, str]:
    return program_versions(_ROOMS)


def _call(versions: dict[str, str], function: Callable[[_Piece], _Result], piece: _Piece) -> _Result:
    """One piece, on a worker: if that computes what the others compute."""
    own = _versions()
    if own != versions:
        differing = [name for name in versions if own[name] != versions[name]]
        here = ", ".join(f"{name} {own[name][:12]} instead of {versions[name][:12]}" for name in differing)
        raise ClusterError(f"a worker has {here}; {_SAME}")
    return function(piece)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask: errors are raised in any case."""
    before = dict[logging.Handler, int]()
    for name in _LOGGERS:
        for handler in logging.getLogger(name).handlers:
            before.setdefault(handler, handler.level)
            handler.setLevel(_SILENT)
    try:
        yield
    finally:
        for handler, level in before.items():
            handler.setLevel(level)
