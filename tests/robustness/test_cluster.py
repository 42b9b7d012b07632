"""The engine on a real Dask cluster of several processes, of which one is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.robustness import RUNS

from diaghoi.engines.engine import LOST, MOST_LOSSES, Failure, LocalEngine, Task
from diaghoi.exceptions import InputError
from diaghoi.robustness.evaluation import evaluate_study
from diaghoi.robustness.study import RobustnessStudy, read_robustness_study

pytest.importorskip("distributed", reason="dask.distributed is not installed")


def times(*numbers: int) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def refuse() -> None:
    raise InputError("odd")


def die(marks: str, _: int) -> None:
    (Path(marks) / str(len(list(Path(marks).iterdir())))).touch()
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def cluster() -> Iterator[Any]:
    """An engine with three processes, which may come back as late as on a busy machine."""
    import dask

    from diaghoi.engines.cluster import DaskEngine

    late = {"distributed.deploy.lost-worker-timeout": "1ms"}
    with dask.config.set(late), DaskEngine(workers=3) as engine:
        yield engine


@pytest.fixture
def study(written: Path) -> RobustnessStudy:
    return read_robustness_study(written / "study.toml")


@pytest.mark.slow
def test_both_engines_give_the_same_json_and_survive_a_killed_worker(cluster, study) -> None:
    processes = list(cluster._client.run(os.getpid).values())
    assert len(set(processes)) == 3
    killed: list[int] = []

    def kill(_: int) -> None:
        if not killed:
            # How much each worker has still to do.
            killed.append(sum(map(len, cluster._client.processing().values())))
            os.kill(processes[0], signal.SIGKILL)

    here = evaluate_study(study, LocalEngine(1))
    there = evaluate_study(study, cluster, block=5, advance=kill)
    assert killed[0] > 0
    assert processes[0] not in cluster._client.run(os.getpid).values()
    assert there.failed == ()
    assert sum(len(profile.results) for profile in there.profiles) == RUNS
    assert json.dumps(there.to_dict()) == json.dumps(here.to_dict())


@pytest.mark.slow
def test_failures_needs_and_losses(cluster, tmp_path: Path) -> None:
    tasks = [
        Task("a", times, (2, 3)),
        Task("b", times, (5,), needs=("a",)),
        Task("c", refuse, ()),
        Task("d", times, (), needs=("a", "c")),
    ]
    assert dict(cluster.run(tasks)) == {"b": 30, "d": Failure("odd")}
    # Apart: a worker takes what it works on along, which may then be lost, too.
    tasks = [Task("bad", die, (str(tmp_path), 0)), Task("after", times, (), needs=("bad",))]
    assert dict(cluster.run(tasks)) == {"after": Failure(LOST)}
    assert len(list(tmp_path.iterdir())) == MOST_LOSSES


@pytest.mark.slow
def test_a_scheduler_that_runs_is_used(cluster, study: RobustnessStudy) -> None:
    from diaghoi.engines.cluster import DaskEngine

    address = cluster._client.scheduler.address
    small = replace(study, corruptions=("occlusion",), severities=(5,))
    with DaskEngine(address) as engine:
        assert engine.workers == 3
        found = evaluate_study(small, engine)
    assert found.to_dict() == evaluate_study(small, LocalEngine(1)).to_dict()
    # It belongs to somebody else, who goes on.
    assert dict(cluster.run([Task("a", times, (2,))])) == {"a": 2}


def refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from diaghoi.engines import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    message = rf"`scheduler` {address}: cannot be reached \(\w.*; give an address like tcp://node"
    with pytest.raises(InputError, match=message):
        cluster.DaskEngine(address)


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1"])
def test_a_scheduler_that_does_not_answer(address: str, monkeypatch) -> None:
    refused(address, monkeypatch)


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH_9.6\r\n", bytes(8), b""], ids=["words", "zeros", "nothing"]
)
def test_a_server_that_is_no_scheduler(said: bytes, monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections: list[socket.socket] = []

        def speak() -> None:
            with suppress(OSError):  # closed at the end
                while True:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(said)

        threading.Thread(target=speak, daemon=True).start()
        refused(f"tcp://127.0.0.1:{server.getsockname()[1]}", monkeypatch)
    for connection in connections:
        connection.close()


def test_without_dask(monkeypatch) -> None:
    from diaghoi.engines.cluster import DaskEngine

    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'diaghoi\[distributed\]'"):
        DaskEngine()
