"""Run the tasks of a sweep in local processes or on a cluster.

The local and the Dask engine run the same tasks, which are functions of plain values. The outcomes
of the engines agree to the last digit.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Thread
from typing import Any, NamedTuple, Protocol

from diaghoi.data.memory import keep_freed_memory, share
from diaghoi.exceptions import NO_MEMORY, InputError, out_of_memory

# A task is given up when it has lost this many workers.
MOST_LOSSES = 3
# Workers are not forked, because threads of this process may hold locks.
CONTEXT = multiprocessing.get_context("spawn")
LOST = (
    f"the worker ended, or ran out of memory, {MOST_LOSSES} times while it worked on this "
    "file; give fewer --workers, a smaller --block or more memory"
)


class Task(NamedTuple):
    """A piece of work. The outcome of a task is returned, unless other tasks need it.

    Parameters
    ----------
    key : str
        Unique name of the task.
    function : callable
        A module-level function, so that other processes can import it.
    arguments : tuple
        Plain values.
    needs : tuple of str
        Keys of tasks whose outcomes are passed after the arguments.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Outcome of a failed task, with the reason for the user."""

    message: str


class Engine(AbstractContextManager["Engine"], Protocol):
    """A runner of tasks; as a context manager, an engine ends its workers on exit."""

    @property
    def workers(self) -> int:
        """Number of workers, as far as known."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[str, Any]]:
        """Run tasks; yield the key and outcome of each finished task that no other task needs.

        The outcome is a :class:`Failure` if the task, or a task that it needs, has unusable input,
        or if its workers are lost repeatedly.
        """


def guarded(function: Callable[..., Any], arguments: tuple[Any, ...], *needed: Any) -> Any:
    """Call a function; turn an error that the user can fix into a :class:`Failure`."""
    for outcome in needed:
        if isinstance(outcome, Failure):
            return outcome
    try:
        return function(*arguments, *needed)
    except InputError as error:
        return Failure(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return Failure(f"{where}{error.strerror or error}")
    except Exception as error:
        if not out_of_memory(error):
            raise
        return Failure(NO_MEMORY)


class LocalEngine:
    """Run tasks in processes on this machine.

    Each process has its own executor, so a lost process costs only its current task, which then
    goes to a new process.

    Parameters
    ----------
    workers : int
        Number of processes. With one worker, tasks run in this process.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._started = False
        self._idle: list[ProcessPoolExecutor] = []
        self._working: dict[Future[Any], tuple[Task, ProcessPoolExecutor]] = {}

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        # Wait for workers now, because at exit the interpreter may close the workers' queues first,
        # and then wait for the workers forever. After an interrupt, do not wait.
        wait_for = kind is None or issubclass(kind, Exception)
        for executor in [*self._idle, *(executor for _, executor in self._working.values())]:
            executor.shutdown(wait=wait_for, cancel_futures=True)
        self._idle, self._working = [], {}

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[str, Any]]:
        """Run tasks: see :meth:`Engine.run`."""
        ready = deque(task for task in tasks if not task.needs)
        waiting = [task for task in tasks if task.needs]
        uses = Counter(need for task in tasks for need in task.needs)
        losses: Counter[str] = Counter()
        kept: dict[str, Any] = {}
        while ready or self._working or waiting:
            for task, outcome in self._outcomes(ready, kept, losses):
                for need in task.needs:
                    uses[need] -= 1
                    if not uses[need]:
                        del kept[need]
                if not uses[task.key]:
                    yield task.key, outcome
                    continue
                kept[task.key] = outcome
                # Tasks whose needed outcomes are all available come first, because finishing such a
                # task frees the needed outcomes.
                ready.extendleft(later for later in waiting if kept.keys() >= set(later.needs))
                waiting = [later for later in waiting if not kept.keys() >= set(later.needs)]

    def _outcomes(
        self, ready: deque[Task], kept: dict[str, Any], losses: Counter[str]
    ) -> Iterator[tuple[Task, Any]]:
        """Give work to idle workers, and wait for the next outcomes."""
        while ready and len(self._working) < self.workers:
            task = ready.popleft()
            call = (task.function, task.arguments, *(kept[need] for need in task.needs))
            if self.workers == 1:
                yield task, guarded(*call)
                return
            future, executor = self._start(*call)
            self._working[future] = task, executor
        done, _ = wait(self._working, return_when=FIRST_COMPLETED)
        for future in done:
            task, executor = self._working.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:
                executor.shutdown(wait=False)
                losses[task.key] += 1
                if losses[task.key] < MOST_LOSSES:
                    ready.appendleft(task)
                    continue
                outcome = Failure(LOST)
            else:
                self._idle.append(executor)
            yield task, outcome

    def _start(self, *call: Any) -> tuple[Future[Any], ProcessPoolExecutor]:
        """Give a guarded call to an idle worker that is still alive, or to a new worker."""
        while self._idle:
            executor = self._idle.pop()
            try:
                return executor.submit(guarded, *call), executor
            except BrokenProcessPool:
                executor.shutdown(wait=False)
        executor = ProcessPoolExecutor(
            1, mp_context=CONTEXT, initializer=_share, initargs=(self.workers,)
        )
        if not self._started:
            try:
                executor.submit(guarded, int, ()).result()
            except BrokenProcessPool:  # no file can cause this error
                executor.shutdown(wait=False)
                raise InputError(
                    "the worker processes do not start; in a script, put the call under "
                    "\"if __name__ == '__main__':\", or give one worker"
                ) from None
            self._started = True
        return executor.submit(guarded, *call), executor


def _share(workers: int) -> None:
    """Limit a worker to its share of the cores, and tie its life to its parent process."""
    os.environ |= share(workers)
    keep_freed_memory()
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is gone: a killed parent cannot notify it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
