"""What all blocks of images leave behind, in ranking order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.ledger import Benchmark, Ledger
from diaghoi.negatives import Negatives
from diaghoi.pairs import ImagePairs
from diaghoi.protocol import Protocol
from diaghoi.ragged import batches
from diaghoi.ranking import descending
from diaghoi.scratch import Scratch, let_go

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]
OfClass = Callable[[int], dict[str, Array]]
_CLASS = np.empty(0, dtype=np.int16)

# Rows of whole classes that a thread ranks, and that are in memory at once.
_FEW, _MANY = 50_000, 2_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What one pass over the images leaves behind.

    Parameters
    ----------
    benchmark : Benchmark
        All predictions and annotated triplets of all HOI classes.
    ledger : Ledger
        Those that the protocol counts, labelled and assigned.
    ignored : int
        Predictions of the protocol's classes that count neither way.
    pairs : dict of ImagePairs
        For the annotated pairs of each split.
    negatives : Negatives
        The predicted pairs.
    unknown_annotated, unknown_predicted : int
        Triplets whose object and verb form no HOI class.
    """

    benchmark: Benchmark
    ledger: Ledger
    ignored: int
    pairs: dict[str, ImagePairs]
    negatives: Negatives
    unknown_annotated: int
    unknown_predicted: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Sorted:
    """Rows of a block in the order of the classes and, in a class, of the input.

    Parameters
    ----------
    bounds : (C + 1,) int array
        The first row of each class.
    columns : dict of (R, ...) array or Column
        By name.
    """

    bounds: IntArray
    columns: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """The evidence of a block of images; images and input rows are numbered as in all of them.

    Parameters
    ----------
    images : int
        How many.
    rows : Sorted
        Predictions of all HOI classes: ``image``, ``score``, ``verdict`` (see
        :class:`~diaghoi.ledger.Benchmark`) and ``counts``: whether the protocol counts it.
    labelled : Sorted
        Those that it counts: ``input``, ``label``, ``annotation``, ``action_score`` (see
        :class:`~diaghoi.ledger.Ledger`).
    annotations : dict of (A,) array
        Annotated triplets: ``class``, ``image``, ``counts``, ``examined``, ``attempted``,
        ``reachable``.
    negatives : dict of (P,) array or Column
        The predicted pairs: ``score``, ``negative``, ``image`` (see
        :class:`~diaghoi.negatives.Negatives`).
    ignored, pairs, unknown_annotated, unknown_predicted
        As those of the evidence.
    """

    images: int
    rows: Sorted
    labelled: Sorted
    annotations: dict[str, Array]
    negatives: Mapping[str, Any]
    ignored: int
    pairs: dict[str, ImagePairs]
    unknown_annotated: int
    unknown_predicted: int

    def kept(self, scratch: Scratch) -> Block:
        """Put the rows away."""
        rows, labelled = (
            replace(table, columns=scratch.keep(table.columns))
            for table in (self.rows, self.labelled)
        )
        negatives = scratch.keep(self.negatives)
        return replace(self, rows=rows, labelled=labelled, negatives=negatives)


def collected(
    blocks: Sequence[Block], protocols: tuple[Protocol, ...], pool: Executor, scratch: Scratch
) -> Evidence:
    """Join the evidence of consecutive blocks.

    Parameters
    ----------
    blocks : sequence of Block
        At least one, whose rows are kept by the scratch.
    protocols : tuple of Protocol
        Those of the benchmark.
    pool : concurrent.futures.Executor
        Threads that share the classes.
    scratch : Scratch
        Where the joined rows lie.
    """
    ledger, benchmark = _ranked(blocks, protocols, pool, scratch)
    return Evidence(
        benchmark=benchmark,
        ledger=ledger,
        ignored=sum(block.ignored for block in blocks),
        pairs={
            split: ImagePairs.concatenate([block.pairs[split] for block in blocks])
            for split in blocks[0].pairs
        },
        negatives=_negatives(blocks, scratch),
        unknown_annotated=sum(block.unknown_annotated for block in blocks),
        unknown_predicted=sum(block.unknown_predicted for block in blocks),
    )


def _negatives(blocks: Sequence[Block], scratch: Scratch) -> Negatives:
    """Join the predicted pairs."""
    bounds = np.cumsum([0, *(block.negatives["score"].shape[0] for block in blocks)]).tolist()
    joined = {
        name: scratch.empty((bounds[-1],), column.dtype)
        for name, column in blocks[0].negatives.items()
    }
    for block, first, stop in zip(blocks, bounds, bounds[1:], strict=False):
        for name, column in block.negatives.items():
            joined[name][first:stop] = column.rows(0, stop - first)
    let_go(*joined.values())
    return Negatives(**joined)


def _ranked(
    blocks: Sequence[Block], protocols: tuple[Protocol, ...], pool: Executor, scratch: Scratch
) -> tuple[Ledger, Benchmark]:
    """Rank the rows of all blocks once, for the ledger and the benchmark."""
    annotated = {
        name: np.concatenate([block.annotations[name] for block in blocks])
        for name in blocks[0].annotations
    }
    counts, of_class = annotated["counts"], annotated["class"] >= 0
    ledger, benchmark = _rank(blocks, counts, pool, scratch)
    classes = len(blocks[0].rows.bounds) - 1
    return (
        Ledger(
            classes=classes,
            **{f"row_{name}": values for name, values in ledger.items()},
            annotation_class=annotated["class"][counts],
            annotation_image=annotated["image"][counts],
            annotation_input=np.flatnonzero(counts).astype(np.int32),
            annotation_counts=np.ones(counts.sum(), dtype=bool),
            annotation_examined=annotated["examined"][counts],
            annotation_attempted=annotated["attempted"][counts],
            annotation_reachable=annotated["reachable"][counts],
        ),
        Benchmark(
            classes=classes,
            protocols=protocols,
            **{f"row_{name}": values for name, values in benchmark.items()},
            annotation_class=annotated["class"][of_class],
            annotation_image=annotated["image"][of_class],
        ),
    )


def _rank(
    blocks: Sequence[Block], counts: BoolArray, pool: Executor, scratch: Scratch
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Rank rows class by class; ``counts`` marks the annotated triplets of the ledger."""
    # From a triplet among all to one that counts; -1, no triplet, stays.
    position = np.append(np.cumsum(counts, dtype=np.int32) - 1, np.int32(-1))
    rows = _Joined([block.rows for block in blocks])
    labelled = _Joined([block.labelled for block in blocks])
    benchmark = rows.empty(("class", "image", "score", "verdict"), scratch)
    ledger = labelled.empty(("input", "label", "annotation", "action_score"), scratch)
    ledger |= labelled.empty(("class", "image", "score"), scratch, like=rows)

    def rank(part: range, rows_of: OfClass, labelled_of: OfClass) -> None:
        some = np.diff(rows.bounds[part.start : part.stop + 1])
        for hoi in (np.flatnonzero(some) + part.start).tolist():
            row, label = rows_of(hoi), labelled_of(hoi)
            order = descending(row["score"])
            counted = row.pop("counts")
            place = np.cumsum(counted, dtype=np.int32) - 1
            chosen = order[counted[order]]
            rows.write(benchmark, hoi, row, order)
            labelled.write(ledger, hoi, {name: row[name] for name in ("image", "score")}, chosen)
            label["annotation"] = position[label["annotation"]]
            labelled.write(ledger, hoi, label, place[chosen])

    for some in batches(rows.bounds, _MANY):
        held = rows.read(some), labelled.read(some)
        tasks = [pool.submit(rank, few, *held) for few in batches(rows.bounds, _FEW, some)]
        for task in tasks:
            task.result()
        let_go(*benchmark.values(), *ledger.values())
    return ledger, benchmark


class _Joined:
    """The rows of one table in all blocks, class by class."""

    def __init__(self, tables: Sequence[Sorted]) -> None:
        self._tables = tables
        self.bounds: IntArray = np.sum([table.bounds for table in tables], axis=0)

    def empty(
        self, names: Sequence[str], scratch: Scratch, like: _Joined | None = None
    ) -> dict[str, Array]:
        """Return arrays for all rows: the classes, or like columns of this table or another."""
        columns = (like or self)._tables[0].columns
        kinds = {name: columns.get(name, _CLASS) for name in names}
        return {
            name: scratch.empty((self.bounds[-1], *kind.shape[1:]), kind.dtype)
            for name, kind in kinds.items()
        }

    def write(
        self, table: dict[str, Array], hoi: int, columns: dict[str, Array], order: IntArray
    ) -> None:
        """Write rows of a class, in some order."""
        mine = slice(*self.bounds[hoi : hoi + 2].tolist())
        table["class"][mine] = hoi
        for name, values in columns.items():
            table[name][mine] = values[order]

    def read(self, classes: range) -> OfClass:
        """Read the rows of some classes; the function that is returned joins those of one."""
        bounds = [table.bounds[classes.start : classes.stop + 1] for table in self._tables]
        held = {
            name: [
                table.columns[name].rows(*mine[[0, -1]].tolist())
                for table, mine in zip(self._tables, bounds, strict=True)
            ]
            for name in self._tables[0].columns
        }
        starts = [(mine - mine[0]).tolist() for mine in bounds]

        def of_class(hoi: int) -> dict[str, Array]:
            at = hoi - classes.start
            return {
                name: np.concatenate(
                    [
                        rows[start[at] : start[at + 1]]
                        for rows, start in zip(blocks, starts, strict=True)
                    ]
                )
                for name, blocks in held.items()
            }

        return of_class
