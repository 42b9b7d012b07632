"""Ending in order when asked to."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(KeyboardInterrupt):
    """Somebody wants this process to end.

    Not KeyboardInterrupt itself: that, once it has passed through ``exec``, makes Python end as if
    by SIGINT whatever the exit code.
    """


@contextmanager
def stoppable() -> Iterator[list[signal.Signals]]:
    """Turn SIGINT and SIGTERM into :class:`Stopped` while the block runs.

    What is being written is then removed on the way out, which the default of SIGTERM does not do.
    A second signal ends the process at once. Any other exception that leaves the block once a
    signal came is its consequence, and goes no further.

    Yields
    ------
    list of signal.Signals
        The signal that came, once it has come.
    """
    came: list[signal.Signals] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(signal.Signals(number))
        # Objects that are dropped in the middle of something may complain, and need not.
        sys.unraisablehook = lambda complaint: None
        for each in WORDS:
            signal.signal(each, signal.SIG_DFL)
        raise Stopped

    if threading.current_thread() is not threading.main_thread():
        yield came  # signals reach the main thread alone
        return
    before = {each: signal.getsignal(each) for each in WORDS}
    # Who starts a command in the background, with its signals ignored, wants that kept.
    heeded = [each for each, handler in before.items() if handler is not signal.SIG_IGN]
    for each in heeded:
        signal.signal(each, stop)
    try:
        yield came
    except BaseException:
        if not came:
            raise
    finally:
        for each in heeded:
            signal.signal(each, before[each])
