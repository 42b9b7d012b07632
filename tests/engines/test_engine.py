"""Engines: order, needs, failures, and workers that are lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diaghoi.engines.engine import LOST, MOST_LOSSES, Failure, LocalEngine, Task
from diaghoi.exceptions import InputError


def add(*numbers: int) -> int:
    return sum(numbers)


def refuse(number: int) -> int:
    raise InputError(f"{number}: is odd")


def open_file(path: str) -> None:
    """Fail as the file system does."""
    Path(path).open().close()


def out_of_memory() -> None:
    """Fail as a machine does that is too small."""
    raise MemoryError


def crash() -> None:
    """Fail as a program with a bug does."""
    raise ZeroDivisionError


def die(marks: str, times: int) -> int:
    """End the worker some times, and then give the number of tries."""
    tries = len(list(Path(marks).iterdir()))
    (Path(marks) / str(tries)).touch()
    if tries < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return tries + 1


def outcomes(engine: Any, tasks: list[Task]) -> dict[str, Any]:
    return dict(engine.run(tasks))


@pytest.fixture(scope="module", params=[1, 2], ids=["this process", "two processes"])
def local(request) -> Iterator[LocalEngine]:
    with LocalEngine(request.param) as engine:
        yield engine


@pytest.fixture
def pair() -> Iterator[LocalEngine]:
    """Two processes of a test's own, which it may end."""
    with LocalEngine(2) as engine:
        yield engine


TREE = [
    Task("sum", add, (100,), needs=("b", "a")),
    Task("a", add, (1, 2)),
    Task("b", add, (10,)),
    Task("c", add, (7,)),
    Task("twice", add, (), needs=("sum", "c", "c")),
    Task("apart", add, (5,)),
]


@pytest.mark.slow
def test_outcomes_follow_arguments_and_those_that_none_needs_are_given_back(local) -> None:
    assert outcomes(local, TREE) == {"twice": 127, "apart": 5}


def test_what_a_user_can_mend_is_an_outcome(local, tmp_path: Path) -> None:
    tasks = [
        Task("a", refuse, (3,)),
        Task("b", open_file, (str(tmp_path / "none"),)),
        Task("c", out_of_memory, ()),
        Task("d", add, (1,), needs=("a",)),
        Task("e", add, (1,)),
    ]
    assert outcomes(local, tasks) == {
        "b": Failure(f"{tmp_path / 'none'}: No such file or directory"),
        "c": Failure("not enough memory for this input"),
        "d": Failure("3: is odd"),
        "e": 1,
    }


def test_a_bug_is_not_hidden(local) -> None:
    with pytest.raises(ZeroDivisionError):
        outcomes(local, [Task("a", crash, ())])


def test_no_tasks(local) -> None:
    assert outcomes(local, []) == {}


@pytest.mark.slow
def test_a_lost_worker_costs_only_its_task(tmp_path: Path, pair: LocalEngine) -> None:
    tasks = [
        Task("a", add, (1,)),
        Task("lost", die, (str(tmp_path), MOST_LOSSES - 1)),
        *(Task(str(number), add, (number,)) for number in range(5)),
    ]
    expected = {"a": 1, "lost": MOST_LOSSES} | {str(number): number for number in range(5)}
    assert outcomes(pair, tasks) == expected


@pytest.mark.slow
def test_a_task_that_ends_every_worker_is_given_up(tmp_path: Path, pair: LocalEngine) -> None:
    tasks = [Task("bad", die, (str(tmp_path), 99)), Task("good", add, (1,))]
    assert outcomes(pair, tasks) == {"bad": Failure(LOST), "good": 1}
    assert len(list(tmp_path.iterdir())) == MOST_LOSSES


@pytest.mark.slow
def test_workers_lost_between_tasks_are_replaced(pair: LocalEngine) -> None:
    (process,) = outcomes(pair, [Task("a", os.getpid, ())]).values()
    os.kill(process, signal.SIGKILL)
    assert outcomes(pair, [Task("b", add, (1,))]) == {"b": 1}


def test_no_worker_outlives_an_error() -> None:
    """A worker that is left to the end of the interpreter may wait for its next task for ever."""
    others = set(multiprocessing.active_children())  # of other engines in this process
    started = set()

    def fail() -> None:
        with LocalEngine(2) as engine:
            outcomes(engine, [Task(name, add, (1,)) for name in "ab"])
            started.update(set(multiprocessing.active_children()) - others)
            crash()

    with pytest.raises(ZeroDivisionError):
        fail()
    assert started
    assert started & set(multiprocessing.active_children()) == set()


@pytest.mark.slow
def test_a_script_without_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from diaghoi.engines.engine import LocalEngine, Task\n"
        "with LocalEngine(2) as engine:\n"
        "    print(list(engine.run([Task('a', int, ())])))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert "InputError: the worker processes do not start; in a script" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, number) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, time\n"
        "from diaghoi.engines.engine import LocalEngine, Task\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # nohup has it ignored
        "    works = [Task(name, time.sleep, (600,)) for name in 'ab']\n"
        "    with LocalEngine(2) as engine:\n"
        "        for key, _ in engine.run([Task('first', os.getpid, ()), *works]):\n"
        "            print(key, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "first\n"
        running.send_signal(number)
        # The workers hold the other end of the pipe as long as they live.
        assert running.communicate(timeout=60) == ("", None)
