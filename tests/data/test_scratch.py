"""Rows on disk: the same figures as in memory, whatever the disk does."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import fields
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, problems, scenes

from diaghoi import diagnose, protocol
from diaghoi.data import arrays, memory
from diaghoi.data.arrays import batches
from diaghoi.data.memory import Scratch, release
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis import blocks as examine
from diaghoi.diagnosis import diagnosis, evidence
from diaghoi.evaluation import ledger, negatives


def _full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


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
    for name in ("row_class", "row_input", "row_annotation", "row_score"):
        assert np.array_equal(getattr(found.ledger, name), getattr(expected.ledger, name))


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
    with closing(Scratch(on_disk=True)) as kept:
        column = kept.keep({"score": np.arange(1000.0)})["score"]
        assert kept._file is not None
        kept._file.truncate(100)
        with pytest.raises(OSError, match="cut off"):
            column.rows(0, 1000)


@given(
    runs=st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=12),
    many=st.integers(1, 20),
    chosen=st.sampled_from([{}, {"top": 1}, {"images_without_annotations": "left out"}]),
)
def test_a_class_with_very_many_rows_is_ranked_as_all_others(
    runs: list[list[int]], many: int, chosen: dict[str, Any]
) -> None:
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
    for table in ("ledger", "benchmark"):
        mine, whole = getattr(found, table), getattr(expected, table)
        for column in fields(whole):
            if column.name.startswith("row_"):
                values = getattr(whole, column.name)
                assert np.array_equal(
                    getattr(mine, column.name), values, equal_nan=values.dtype.kind == "f"
                )
