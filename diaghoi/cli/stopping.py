"""Exit cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(KeyboardInterrupt):
    """A signal asked this process to end.

    A separate class, because Python exits as if killed by SIGINT, whatever the exit code, once a
    KeyboardInterrupt has passed through ``exec``.
    """


@contextmanager
def stoppable() -> Iterator[list[signal.Signals]]:
    """Turn SIGINT and SIGTERM into :class:`Stopped` while the block runs.

    Unfinished files are then removed on exit, which the default action of SIGTERM would not do. A
    second signal ends the process at once. Any exception that leaves the block after a signal is a
    consequence of it, and is suppressed.

    Yields
    ------
    list of signal.Signals
        Initially empty; the signal is appended when it arrives.
    """
    came: list[signal.Signals] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(signal.Signals(number))
        # Finalizers of interrupted objects may raise errors, whose messages would only confuse.
        sys.unraisablehook = lambda complaint: None
        for each in WORDS:
            signal.signal(each, signal.SIG_DFL)
        raise Stopped

    if threading.current_thread() is not threading.main_thread():
        yield came  # signals reach only the main thread
        return
    with _handled_by(stop):
        try:
            yield came
        except BaseException:
            if not came:
                raise


def wait_for_signal() -> None:
    """Wait for SIGINT or SIGTERM if that is the regular end.

    Signals that are already ignored, as under nohup, stay ignored.
    """
    came = threading.Event()
    with _handled_by(lambda number, frame: came.set()):
        came.wait()


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals during the block, except those that are ignored, as under nohup."""
    before = {each: signal.getsignal(each) for each in WORDS}
    heeded = [each for each, usual in before.items() if usual is not signal.SIG_IGN]
    for each in heeded:
        signal.signal(each, handler)
    try:
        yield
    finally:
        for each in heeded:
            signal.signal(each, before[each])
