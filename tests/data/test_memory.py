"""Memory, its budget, threads, and rankings from rankings of parts."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diaghoi.data.arrays import Array, FloatArray, descending
from diaghoi.data.memory import (
    MEMORY_VARIABLE,
    THREADS_VARIABLE,
    Scratch,
    allowing,
    budget,
    check_budget,
    cores,
    gathered,
    merge,
    share,
)
from diaghoi.exceptions import InputError, speaking_of_options


def test_512_megabytes_unless_said_otherwise(monkeypatch) -> None:
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    assert budget() == 512_000_000
    monkeypatch.setenv(MEMORY_VARIABLE, "20")
    assert budget() == 20_000_000
    with allowing(3), allowing(7):
        assert budget() == 7_000_000
    assert budget() == 20_000_000


@pytest.mark.parametrize(
    "given", ["0", "-1", "1.5", "much", "٣", "1000001", "9" * 30, "0000000019999999999"]
)
def test_a_variable_that_is_no_number_of_megabytes(monkeypatch, given: str) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, given)
    with pytest.raises(InputError, match="a whole number up to 1,000,000"):
        budget()


def test_what_takes_more_is_refused_with_what_to_do() -> None:
    with allowing(2):
        check_budget(2_000_000, "rows")
        with pytest.raises(InputError) as error:
            check_budget(2_000_001, "a.npz: 5 rows")
        assert str(error.value) == (
            "a.npz: 5 rows: about 3 MB of memory, more than the 2 MB that may be taken; "
            "give DIAGHOI_MEMORY=3 or more"
        )
        with speaking_of_options(), pytest.raises(InputError, match="; give --memory 3 or more"):
            check_budget(2_000_001, "rows")


def test_parts_are_joined_as_long_as_they_fit() -> None:
    taken = []

    def parts():
        for number in range(100):
            taken.append(number)
            yield np.full(50_000, number), np.zeros(50_000, dtype=np.int8)

    with allowing(1):
        one, other = gathered([(np.arange(3), np.zeros(1)), (np.arange(2), np.ones(1))], "all")
        assert one.tolist() == [0, 1, 2, 0, 1]
        assert other.tolist() == [0, 1]
        with pytest.raises(InputError, match="boxes: about 2 MB of memory, more than the 1 MB"):
            gathered(parts(), "boxes")
    assert taken == [0, 1, 2]  # the rest is never made


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


@pytest.mark.parametrize(
    ("told", "count"), [("1", 1), ("3", 3), ("0", 1), ("", None), ("many", None), ("-2", None)]
)
def test_the_variable_overrules_the_machine(
    told: str, count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    usual = cores()
    monkeypatch.setenv(THREADS_VARIABLE, told)
    assert cores() == (usual if count is None else count)


@pytest.mark.parametrize(("processes", "each"), [(1, "8"), (2, "4"), (3, "2"), (20, "1")])
def test_processes_share_the_cores(
    processes: int, each: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "8")
    assert share(processes) == {THREADS_VARIABLE: each}


SCORES = st.one_of(st.sampled_from([-0.0, 0.0, 0.5, 1.0]), st.floats(allow_nan=False))
RUNS = st.lists(st.lists(SCORES, max_size=20), min_size=1, max_size=6)


def merged(
    runs: list[FloatArray], size: int, *, on_disk: bool
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Rank all rows at once; and run by run, then merged."""
    score, bounds = np.concatenate(runs), np.cumsum([0, *map(len, runs)]).tolist()
    rows = np.arange(len(score), dtype=np.int32)
    table = {"score": score, "row": rows, "wide": np.stack([rows, -rows], axis=1)}
    whole = {name: values[descending(score)] for name, values in table.items()}
    with closing(Scratch(on_disk=on_disk)) as scratch:
        found = {name: scratch.empty(values.shape, values.dtype) for name, values in table.items()}
        for first, stop in pairwise(bounds):
            order = first + descending(score[first:stop])
            for name, values in table.items():
                found[name][first:stop] = values[order]
        merge(found, bounds, size, scratch)
    return whole, found


@given(RUNS, st.integers(1, 200), st.booleans())
@example([[]], 1, False)
@example([[0.5] * 20] * 6, 12, True)
def test_merged_rankings_are_that_of_all_rows(
    runs: list[list[float]], size: int, on_disk: bool
) -> None:
    whole, found = merged([np.array(run, dtype=float) for run in runs], size, on_disk=on_disk)
    for name, values in whole.items():
        assert values.tobytes() == found[name].tobytes()


@pytest.mark.parametrize("levels", [1, 3, 10_000_000])
def test_few_rows_are_merged_at_once(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    most = []

    def counted(scores: FloatArray) -> Array:
        most.append(len(scores))
        return descending(scores)

    monkeypatch.setattr("diaghoi.data.memory.descending", counted)
    rng = np.random.default_rng(0)
    runs = [rng.integers(0, levels, rows) / levels for rows in (5000, 0, 1, 4000, 3000)]
    whole, found = merged(runs, 1000, on_disk=False)
    assert np.array_equal(whole["row"], found["row"])
    assert max(most) <= 1000
    assert len(most) < 50
