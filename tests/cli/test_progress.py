"""The bar on stderr that appears after a second."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable

import pytest

from diaghoi.cli import progress as progress_module
from diaghoi.cli.progress import Progress, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bar appear without waiting for a second."""

    class Timer(threading.Timer):
        def __init__(self, _: float, function) -> None:
            super().__init__(0.0, function)

        def start(self) -> None:
            super().start()
            self.join()

    monkeypatch.setattr(progress_module.threading, "Timer", Timer)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Callable[[io.StringIO], io.StringIO]:
    """Return a function that puts a stream in the place of stderr.

    It must be called in the test itself: after the fixtures, pytest puts its own stream there.
    """

    def replace(stream: io.StringIO) -> io.StringIO:
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replace


def work(quiet: bool = False) -> None:
    with progress(quiet) as shown:
        shown.start("matching", total=4)
        shown.advance(3)


def test_quick_work_shows_nothing(stderr) -> None:
    stream = stderr(Terminal())
    with progress(quiet=False) as shown:
        shown.start("reading", total=2)
        shown.advance(2)
    assert stream.getvalue() == ""
    assert (shown.task, shown.done, shown.total) == ("reading", 2, 2)


def test_slow_work_shows_a_bar(at_once, stderr) -> None:
    stream = stderr(Terminal())
    work()
    assert "matching" in stream.getvalue()
    assert "75%" in stream.getvalue()


def test_quiet_shows_no_bar(at_once, stderr) -> None:
    stream = stderr(Terminal())
    work(quiet=True)
    assert stream.getvalue() == ""


def test_a_log_file_gets_no_bar(at_once, stderr) -> None:
    stream = stderr(io.StringIO())
    work()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("stream", "quiet", "logged"),
    [
        (io.StringIO(), False, "Resampling: 1,000 resamples ...\n"),
        (io.StringIO(), True, ""),
        (Terminal(), False, ""),
    ],
)
def test_a_log_file_gets_a_line_of_what_takes_long(stderr, stream, quiet, logged) -> None:
    stderr(stream)
    with progress(quiet) as shown:
        shown.start_slow("resampling", 1000)
    assert stream.getvalue() == logged


def test_an_error_takes_the_bar_away(at_once, stderr) -> None:
    stream = stderr(Terminal())

    def fail() -> None:
        with Progress().shown() as shown:
            shown.start("matching")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    # The line is cleared, and the cursor shown again.
    assert "\x1b[2K" in stream.getvalue()
    assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")
