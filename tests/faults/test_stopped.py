"""Ctrl-C, SIGTERM and readers that leave: a line at most, and nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.faults import (
    MOMENTS,
    TEMPORARY,
    Job,
    after,
    command,
    ended,
    everything,
    finished,
    run,
    these,
    when_heeding,
    when_written,
)

from diaghoi.cli.stopping import run_stoppable

pytestmark = pytest.mark.slow

SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")


@pytest.fixture(autouse=True)
def hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a stop in this process changes to the test."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)


@needs_proc
@pytest.mark.parametrize("name", these("convert similarity", "report"))
def test_a_stopped_run_says_so_in_one_line(name: str, job: Callable[[str], Job]) -> None:
    one = job(name)
    found: list[tuple[str, bytes]] = []
    for place in range(MOMENTS):
        number = list(SIGNALS)[place % 2]

        def moment(running: subprocess.Popen[str], place: int = place) -> None:
            when_heeding(running)
            if place % 2:
                when_written(one.out)(running)
            else:
                after(1.5 * place / MOMENTS)(running)

        left = ended(one.words, one.folder, moment, number)
        assert not [path for path in everything(one.out) if TEMPORARY.fullmatch(path.name)]
        found += written(one).items()
        if left.code in (0, -number):
            continue  # it was done before
        assert left.code == 128 + number
        said = f"diaghoi: {SIGNALS[number]}; nothing is half-written"
        assert left.err.splitlines()[-1] == said
        assert "Traceback" not in left.err
    assert run(*one.words, folder=one.folder).code == 0
    expected = written(one)
    assert all(expected[path] == content for path, content in found)


def written(one: Job) -> dict[str, bytes]:
    """Give the finished files of a job, without the store of answers."""
    return {
        path: content
        for path, content in finished(one.out).items()
        if not path.endswith(".answers.jsonl")
    }


@needs_proc
@pytest.mark.parametrize("number", SIGNALS)
def test_the_exit_code_tells_the_signal(number: signal.Signals, job: Callable[[str], Job]) -> None:
    one = job("report")
    left = ended(one.words, one.folder, when_heeding, number)
    assert (left.code, left.out) == (128 + number, "")
    assert left.err == f"diaghoi: {SIGNALS[number]}; nothing is half-written\n"
    assert everything(one.out) == []


def test_a_job_in_the_background_does_not_heed_ctrl_c() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        heeded = run_stoppable(lambda: [signal.getsignal(each) for each in SIGNALS])
        assert isinstance(heeded, list)
        assert heeded[0] is signal.SIG_IGN
        assert heeded[1] is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


def test_whatever_a_library_makes_of_a_stop_goes_no_further() -> None:
    def library() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Error calling __set_name__") from None

    def at_fault() -> None:
        raise RuntimeError("own fault")

    assert run_stoppable(library) is signal.SIGINT
    with pytest.raises(RuntimeError, match="own fault"):
        run_stoppable(at_fault)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("restoring", [False, True])
def test_signals_while_handlers_are_installed_or_removed(
    number: signal.Signals, restoring: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = signal.signal
    arrived: list[signal.Signals] = []

    def disturbed(changed: signal.Signals, handler: Any) -> Any:
        wanted = changed == number and not arrived and (handler in before) == restoring
        arrived.extend([number] if wanted else [])
        if wanted and restoring:
            signal.raise_signal(number)
        usual = change(changed, handler)
        if wanted and not restoring:
            signal.raise_signal(number)
        return usual

    before = [signal.getsignal(each) for each in SIGNALS]
    monkeypatch.setattr(signal, "signal", disturbed)
    try:
        assert run_stoppable(lambda: "done") is number
    finally:
        for each, usual in zip(SIGNALS, before, strict=True):
            change(each, usual)


def test_the_second_signal_ends_it_at_once() -> None:
    def once() -> list[object]:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            found.extend(signal.getsignal(number) for number in SIGNALS)
            raise
        return []

    found: list[object] = []
    assert run_stoppable(once) is signal.SIGTERM
    assert found == [signal.SIG_DFL, signal.SIG_DFL]


def test_what_is_dropped_on_the_way_out_does_not_complain(capsys) -> None:
    class Archive:
        def __del__(self) -> None:
            raise ValueError("Can't close the ZIP file while there is an open writing handle on it")

    kept = [Archive()]
    assert run_stoppable(lambda: signal.raise_signal(signal.SIGINT)) is signal.SIGINT
    kept.clear()
    assert capsys.readouterr().err == ""


def test_threads_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    found: list[object] = []

    def work() -> None:
        found.append(run_stoppable(lambda: signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]


PRINTING = (
    "report preds.pkl --annotations truth.npz",
    "report preds.pkl --annotations truth.npz --json -",
    "--version",
)


@pytest.mark.parametrize("words", PRINTING)
def test_readers_that_leave_early_are_no_error(words: str, job: Callable[[str], Job]) -> None:
    one = job("report")
    with subprocess.Popen(
        command(*words.split()),
        cwd=one.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        said = [line for line in running.stderr.read().splitlines() if not line.startswith("Note")]
    assert (running.returncode, said) == (1, [])


@pytest.mark.parametrize("words", PRINTING)
def test_stdout_without_room(words: str, job: Callable[[str], Job]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    one = job("report")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(*words.split()),
            cwd=one.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "diaghoi: error: stdout: No space left on device\n"


def test_stdout_that_is_closed(job: Callable[[str], Job]) -> None:
    one = job("convert")
    close = f"import os, sys; os.close(1); os.execv(sys.executable, {command(*one.words)!r})"
    done = subprocess.run(
        [sys.executable, "-c", close], cwd=one.folder, stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (one.out / "preds.npz").is_file()
