"""How many blocks are worked on at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

# More threads wait for the interpreter, and each holds a block.
MOST = 8


def cores() -> int:
    """Count the processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> ThreadPoolExecutor:
    """Open a pool with a thread for each core, but not too many."""
    return ThreadPoolExecutor(min(cores(), MOST))
