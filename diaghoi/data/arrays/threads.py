"""How many blocks are worked on at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

VARIABLE = "DIAGHOI_THREADS"
"""Environment variable: how many threads a process may use, where not all cores are its own."""

# More threads wait for the interpreter, and each holds a block.
MOST = 8


def cores() -> int:
    """Count the processor cores that this process may use, in ``DIAGHOI_THREADS`` if it is set."""
    given = os.environ.get(VARIABLE, "")
    if given.isdecimal():
        return max(1, int(given))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share(processes: int) -> dict[str, str]:
    """Return the environment of each of some processes that share the cores of this one."""
    return {VARIABLE: str(max(1, cores() // processes))}


def threads() -> ThreadPoolExecutor:
    """Open a pool with a thread for each core, but not too many."""
    return ThreadPoolExecutor(min(cores(), MOST))
