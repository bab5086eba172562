# SPDX-License-Identifier: GPL-2.0-only
"""Runs on the workers of a Dask cluster (``pip install 'tunnelcc[cluster]'``).

The simulator exists once per process, so a worker process does one run at a time. Start workers
with ``--nthreads 1``, as many as there are cores. If a worker dies, another one repeats its run.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any

from tunnelcc.errors import ConfigError, Problem, RunError, TunnelccError, install

if TYPE_CHECKING:
    import distributed

_CONNECT_SECONDS = 10
_TASKS_PER_THREAD = 3  # that wait at the scheduler, so that no worker waits for us
_COUNT_SECONDS = 5.0

_one_at_a_time = threading.Lock()


class Cluster:
    """The workers of ``client``, or of the scheduler at that address (``tcp://host:8786``)."""

    def __init__(self, client: distributed.Client | str) -> None:
        self._client = _connect(client) if isinstance(client, str) else client
        self._is_ours = isinstance(client, str)
        self._counted = -_COUNT_SECONDS
        self._threads = 0

    def parallel(
        self, function: Callable[[Any], Any], tasks: Iterable[tuple[str, Any]]
    ) -> Generator[tuple[str, Any], None, None]:
        """Do the same as pool.parallel(), on the cluster."""
        from distributed import as_completed

        pending = iter(tasks)
        keys: dict[str, str] = {}
        running = as_completed(loop=self._client.loop)
        try:
            while True:
                room = self._window() - len(keys)
                for key, argument in itertools.islice(pending, max(room, 0)):
                    future = self._client.submit(_do, function, argument, pure=False)
                    keys[future.key] = key
                    running.add(future)
                if not keys:
                    return
                future = next(running)
                yield keys.pop(future.key), _outcome(future)
        finally:
            self._client.cancel(list(running.futures))
            if self._is_ours:
                self._client.close()

    def _window(self) -> int:
        """Return the number of tasks for the scheduler. Workers may join and leave."""
        now = time.monotonic()
        if now - self._counted > _COUNT_SECONDS:
            self._counted = now
            self._threads = sum(self._client.nthreads().values())
        return _TASKS_PER_THREAD * max(self._threads, 1)


def _connect(address: str) -> distributed.Client:
    try:
        import distributed
    except ImportError:
        raise TunnelccError(f"Dask distributed is not installed; {install('cluster')}") from None
    # Of a scheduler that dies, it would log a traceback before we can say so.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return distributed.Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        expected = "the address of a running Dask scheduler, such as tcp://host:8786"
        raise ConfigError(Problem("dask", address, expected, _first_line(error))) from None


def _do(function: Callable[[Any], Any], argument: object) -> Any:
    """Call ``function`` in a thread of a worker. A task's own errors are its outcome."""
    with _one_at_a_time:
        try:
            return function(argument)
        except TunnelccError as error:
            return RunError(str(error))


def _outcome(future: distributed.Future) -> Any:
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        return RunError(_first_line(error))
    except (CancelledError, OSError) as error:
        raise TunnelccError(
            f"lost the connection to the Dask scheduler: {_first_line(error)}; finished "
            "runs are kept"
        ) from None


def _first_line(error: BaseException) -> str:
    """Return what Dask says, which may be long."""
    lines = str(error).splitlines()  # words: those of another program, for people
    return next(iter(lines), type(error).__name__)
