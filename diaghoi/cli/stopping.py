"""Exit cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(KeyboardInterrupt):
    """A signal asked this process to end.

    A subclass, because once a plain KeyboardInterrupt has passed through ``exec``, Python exits as
    if killed by SIGINT, whatever the exit code.
    """


def run_stoppable(run: Callable[[], Result]) -> Result | signal.Signals:
    """Run a function that SIGINT and SIGTERM interrupt with :class:`Stopped`.

    Unfinished files are removed on exit; the default action of SIGTERM would leave unfinished
    files. A second signal ends the process at once. An exception that the function raises after a
    signal is a consequence of the signal, and is suppressed.

    Returns
    -------
    result or signal.Signals
        Result of the function, or the signal that interrupted it.
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
        return run()  # signals reach only the main thread
    try:
        # The signal may also arrive while the handlers are being installed or removed.
        with _handled_by(stop):
            result = run()
    except BaseException:
        if not came:
            raise
    return came[0] if came else result


def wait_for_signal() -> None:
    """Wait for SIGINT or SIGTERM, in a command that regularly ends with a signal.

    Signals that are already ignored, as under nohup, stay ignored.
    """
    came = threading.Event()
    with _handled_by(lambda number, frame: came.set()):
        came.wait()


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals during the block, except signals that are ignored, as under nohup."""
    before = {each: signal.getsignal(each) for each in WORDS}
    heeded = [each for each, usual in before.items() if usual is not signal.SIG_IGN]
    try:
        for each in heeded:
            signal.signal(each, handler)
        yield
    finally:
        for each in heeded:
            signal.signal(each, before[each])
