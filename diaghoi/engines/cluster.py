"""Run tasks on a Dask cluster: in local processes, or on workers anywhere.

On a SLURM cluster, `dask-jobqueue <https://jobqueue.dask.org>`_ starts the workers as jobs, and the
sweep uses its scheduler::

    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(cores=1, memory="8GB", walltime="02:00:00")
    cluster.scale(jobs=64)
    print(cluster.scheduler_address)  # diaghoi robustness STUDY.toml --engine dask --scheduler ...
    input("press return when the sweep is done")
"""

from __future__ import annotations

import importlib
import logging
import secrets
from collections.abc import Iterator, Sequence
from multiprocessing.pool import ThreadPool
from typing import Any

from diaghoi.data.memory import share
from diaghoi.engines.engine import LOST, MOST_LOSSES, Failure, Task, guarded
from diaghoi.exceptions import InputError

PATIENCE = 30  # seconds to wait for a scheduler to answer
SETTINGS = {
    # Number of lost workers per task that Dask tolerates.
    "distributed.scheduler.allowed-failures": MOST_LOSSES - 1,
    # A local cluster gives up on workers that do not start in time, and without workers all tasks
    # would wait forever. On a busy machine, a worker can take half a minute to start.
    "distributed.deploy.lost-worker-timeout": "1h",
    # Dask polls its processes many times a second, which takes an eighth of a processor. With the
    # longer intervals below, polling takes a quarter of that time.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.admin.tick.interval": "500ms",
}


class DaskEngine:
    """Workers of a Dask cluster, which must have this package and access to the same files.

    Parameters
    ----------
    scheduler : str, optional
        Address of a running scheduler, such as ``tcp://node:8786``; without an address, a local
        cluster is started.
    workers : int
        Number of processes of the local cluster.

    Raises
    ------
    InputError
        If Dask is missing, or the scheduler does not answer.
    """

    def __init__(self, scheduler: str | None = None, workers: int = 1) -> None:
        try:
            dask, library = map(importlib.import_module, ("dask", "distributed"))
        except ImportError:
            raise InputError(
                "--engine dask: needs dask.distributed: pip install 'diaghoi[distributed]'"
            ) from None
        self._library: Any = library
        self._cluster: Any = None
        self._client: Any = None
        # By default, Dask makes the allocator of workers return freed memory at once; requesting
        # memory again takes longer than the work.
        environment = {"distributed.nanny.pre-spawn-environ": share(workers)}
        self._settings: Any = dask.config.set(SETTINGS | environment)
        if scheduler is None:
            self._cluster = library.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                # Port 0 selects any free port, because another cluster may use the default port.
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        try:
            # A thread is needed because Dask waits forever for a silent server.
            with ThreadPool(1) as pool:
                how = {"address": scheduler or self._cluster, "timeout": PATIENCE}
                self._client = pool.apply_async(library.Client, kwds=how).get(2 * PATIENCE)
        except Exception as error:  # Dask fails in many ways on invalid replies
            self.__exit__()
            if scheduler is None:
                raise
            reason = str(error) or type(error).__name__
            raise InputError(
                f"--scheduler {scheduler}: cannot be reached ({reason:.120}); give an address "
                "like tcp://node:8786"
            ) from None

    @property
    def workers(self) -> int:
        """Current number of workers."""
        return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(self, *error: object) -> None:
        for opened in (self._client, self._cluster):
            if opened is not None:
                opened.close()
        self._settings.__exit__(None, None, None)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[str, Any]]:
        """Run tasks: see :meth:`diaghoi.engines.engine.Engine.run`."""
        # Dask treats equal keys as equal work, even across clients.
        mark = secrets.token_hex(4)
        futures: dict[str, Any] = {}
        for task in tasks:
            futures[task.key] = self._client.submit(
                guarded,
                task.function,
                task.arguments,
                *(futures[need] for need in task.needs),
                key=f"diaghoi-{mark}-{task.key}",
            )
        needed = {need for task in tasks for need in task.needs}
        key_of = {futures[task.key].key: task.key for task in tasks if task.key not in needed}
        queue = self._library.as_completed([futures[key] for key in key_of.values()])
        del futures  # workers keep outcomes as long as futures exist
        for future in queue:
            try:
                outcome = future.result()
            except self._library.KilledWorker:
                outcome = Failure(LOST)
            yield key_of[future.key], outcome
