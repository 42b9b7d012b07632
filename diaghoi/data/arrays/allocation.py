"""How a process takes memory from the system and gives it back."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# New objects after which Python looks for unused ones; its own default is 700 to 2000.
OBJECTS = 50_000
# Parameters of mallopt in glibc.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8


def give_back_freed_memory() -> None:
    """Give what is free to the system once, where the C library can: after millions of objects."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def keep_freed_memory() -> None:
    """Let this process keep the memory of freed arrays for its next ones.

    The C library of most Linux systems gives large arrays back as soon as they are freed, so that
    the system clears fresh pages for each new one: a sixth of the time of resamples. Elsewhere, and
    in a process of somebody else's that only imports the package, nothing is changed.
    """
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        # One arena for all threads: another one would hold 64 MB at most, and keep nothing larger.
        for parameter, value in (
            (ARENA_MAX, 1),
            (MMAP_THRESHOLD, 2**30),
            (TRIM_THRESHOLD, 2**31 - 1),
        ):
            mallopt(parameter, value)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Let Python look less often for unused objects that refer to one another.

    It goes through all others each time, which is a sixth of the time of drawing figures and of
    cutting fonts down, as both make very many small objects.
    """
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
