"""Commands keep the memory of freed arrays; a process that imports the package does not."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
from diaghoi.data.memory import keep_freed_memory

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

if {keeps}:
    keep_freed_memory()
before = held()
array = np.ones(5_000_000)
del array
print(held() - before)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="needs the memory allocation of glibc",
)
@pytest.mark.parametrize("keeps", [False, True])
def test_memory_of_freed_arrays_is_kept_where_asked(keeps: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(keeps=keeps)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (int(done.stdout) > 30_000_000) is keeps
