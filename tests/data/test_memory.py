"""Memory, its budget, threads, rows on disk, and rankings from rankings of parts."""

from __future__ import annotations

import ctypes
import errno
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import fields
from io import BytesIO
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, problems, scenes

from diaghoi import Diagnosis, diagnose, protocol
from diaghoi.data import arrays, memory
from diaghoi.data.arrays import Array, FloatArray, batches, descending
from diaghoi.data.memory import (
    MEMORY_VARIABLE,
    THREADS_VARIABLE,
    Scratch,
    StoredArray,
    allowing,
    budget,
    check_budget,
    cores,
    gathered,
    merge,
    release,
    share,
)
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis import blocks as examine
from diaghoi.diagnosis import diagnosis, evidence
from diaghoi.evaluation import ledger, negatives
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
            "a.npz: 5 rows: about 3 MB of memory, more than the 2 MB allowed; "
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
def test_the_variable_overrules_the_machine(told, count, monkeypatch) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    usual = cores()
    monkeypatch.setenv(THREADS_VARIABLE, told)
    assert cores() == (usual if count is None else count)


@pytest.mark.parametrize(("processes", "each"), [(1, "8"), (2, "4"), (3, "2"), (20, "1")])
def test_processes_share_the_cores(processes, each, monkeypatch) -> None:
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
def test_merged_rankings_are_that_of_all_rows(runs, size, on_disk) -> None:
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


def _full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def _assert_equal(found: Diagnosis, expected: Diagnosis) -> None:
    for table in ("ledger", "benchmark"):
        mine, whole = getattr(found, table), getattr(expected, table)
        for column in fields(whole):
            if column.name.startswith("row_"):
                values = getattr(whole, column.name)
                assert np.array_equal(
                    getattr(mine, column.name), values, equal_nan=values.dtype.kind == "f"
                )


@contextmanager
def _small(*more: Any, many: int = 5) -> Iterator[None]:
    """Put everything on disk, and look at few rows at a time."""
    few = {
        examine: {"LARGE": -1, "BLOCK": 3},
        evidence: {"_MANY": many, "_FEW": 2},
        ledger: {"PART": 4},
        diagnosis: {"PART": 4},
        negatives: {"_SORTED": 3},
        arrays: {"EXPANDED": 2},
    }
    with ExitStack() as stack:
        for module, values in few.items():
            stack.enter_context(patch.multiple(module, **values))
        for each in more:
            stack.enter_context(each)
        yield


@pytest.mark.parametrize(
    "disk",
    [
        "free",  # in the first tier: no other of its tests has more than one block and part
        pytest.param("full", marks=pytest.mark.slow),
        pytest.param("full later", marks=pytest.mark.slow),
    ],
)
@given(problem=problems())
def test_figures_do_not_depend_on_where_rows_lie(disk: str, problem: tuple[Scenes, Scenes]) -> None:
    expected = diagnose(*problem)
    full = {
        "free": nullcontext(),
        "full": patch.object(tempfile, "TemporaryFile", _full),
        "full later": patch.object(memory.os, "posix_fallocate", _full, create=True),
    }[disk]
    with _small(full):
        found = diagnose(*problem)
        assert found.to_dict() == expected.to_dict()
    _assert_equal(found, expected)


def test_values_stay_when_their_memory_is_freed() -> None:
    values = Scratch(on_disk=True).empty((1000, 3), np.dtype(np.float64))
    values[:] = np.arange(3000).reshape(1000, 3)
    part = values[10:20]
    release(values, part, np.arange(3))
    assert values.sum() == 2999 * 1500
    assert part[0, 0] == 30


@pytest.mark.parametrize("on_disk", [True, False])
def test_tables_come_back(on_disk: bool) -> None:
    tables = [
        {"wide": np.arange(12.0).reshape(6, 2)[::2], "flag": np.array([True, False, True])},
        {"wide": np.empty((0, 2)), "flag": np.empty(0, dtype=bool)},
    ]
    with closing(Scratch(on_disk=on_disk)) as kept:
        columns = [kept.keep(table) for table in tables]
        for table, mine in zip(tables, columns, strict=True):
            for name, values in table.items():
                assert mine[name].shape == values.shape
                assert np.array_equal(mine[name].rows(0, len(values)), values)
        assert columns[0]["wide"].rows(1, 3).tolist() == [[4, 5], [8, 9]]


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 30))
def test_runs_hold_all_groups_and_about_so_many_rows(sizes: list[int], size: int) -> None:
    bounds = np.append(0, np.cumsum(sizes, dtype=np.int64))
    runs = batches(bounds, size)
    assert [group for run in runs for group in run] == list(range(len(sizes)))
    for run in runs:
        # The last group may lie across the end.
        assert bounds[run[-1]] - bounds[run.start] < size


def test_rows_that_are_gone_are_not_made_up() -> None:
    column = StoredArray.in_file(lambda: BytesIO(bytes(12)), 0, (2,), np.dtype(np.float64))
    assert column.rows(0, 1) == 0
    with pytest.raises(OSError, match="cut off"):
        column.rows(0, 2)


@given(
    runs=st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=12),
    many=st.integers(1, 20),
    chosen=st.sampled_from([{}, {"top": 1}, {"images_without_annotations": "left out"}]),
)
def test_a_class_with_very_many_rows_is_ranked_as_all_others(runs, many, chosen) -> None:
    """One class has nearly all rows, with few different scores, and another has one row."""
    annotated, predicted = [], []
    for number, scores in enumerate(runs):
        boxes = [(PERSON, (0, 0, 10, 10)), (BICYCLE, (20, 20, 40, 40))]
        rows = [(0, 1, RIDE, score / 4, score / 4) for score in scores]
        rows += [(0, 1, HOLD, 0.5, 0.5)] * (number == 0)
        annotated.append(image(str(number), boxes, [(0, 1, RIDE)] * (number % 3 < 2)))
        predicted.append(image(str(number), boxes, rows))
    problem = scenes(annotated, scored=False), scenes(predicted, scored=True)
    choices = protocol("hico-det", **chosen)
    expected = diagnose(*problem, choices)
    with _small(many=many):
        found = diagnose(*problem, choices)
        assert found.to_dict() == expected.to_dict()
    _assert_equal(found, expected)
