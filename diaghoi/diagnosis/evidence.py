"""Join the evidence of all blocks of images, with its rows in ranking order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray, batches, descending
from diaghoi.data.memory import Scratch, StoredArray, merge, release
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.ledger import Benchmark, Ledger
from diaghoi.evaluation.listing import Answers
from diaghoi.evaluation.negatives import Negatives
from diaghoi.evaluation.pairs import COUNTED, ImagePairs, ObjectBoxes

# The slice of all rows that belongs to a class, and a function that reads a column of these rows.
OfClass = Callable[[int], tuple[slice, Callable[[str], Array]]]
_CLASS = np.empty(0, dtype=np.int16)

# Number of rows that one thread ranks at a time, and number of rows in memory at once.
_FEW, _MANY = 50_000, 500_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Evidence gathered in one pass over the images.

    Parameters
    ----------
    benchmark : Benchmark
        All predictions and annotated triplets of all HOI classes.
    ledger : Ledger
        Predictions that the protocol counts, labelled and assigned.
    ignored : int
        Number of ignored predictions of the protocol's classes.
    pairs : dict of ImagePairs
        Pair counts of each split.
    object_boxes : ObjectBoxes
        Annotated pairs that count.
    objects : (N, objects) bool array
        Categories annotated in each image: see :func:`~diaghoi.data.groups.annotated_objects`.
    negatives : Negatives
        The predicted pairs.
    unknown_annotated, unknown_predicted : int
        Number of triplets whose object and verb form no HOI class.
    other_subjects : (2, objects) int array
        Number of counted triplets, annotated and predicted, whose subject is not a person, by the
        subject's category.
    answers : Answers or None
        Counts of a scoreless detector's answers that cannot be evaluated as given.
    """

    benchmark: Benchmark
    ledger: Ledger
    ignored: int
    pairs: dict[str, ImagePairs]
    object_boxes: ObjectBoxes
    objects: BoolArray
    negatives: Negatives
    unknown_annotated: int
    unknown_predicted: int
    other_subjects: IntArray
    answers: Answers | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Sorted:
    """Rows of a block, ordered by class and, within a class, by input position.

    Parameters
    ----------
    bounds : (C + 1,) int array
        The first row of each class.
    columns : dict of (R, ...) array or StoredArray
        Values of the rows, by column name.
    """

    bounds: IntArray
    columns: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockEvidence:
    """Evidence of a block of images. Images and input rows are numbered as in the whole data set.

    Parameters
    ----------
    objects : (N, objects) bool array
        As in :class:`Evidence`. The array ``objects`` stays in memory, as do the image names.
    pairs : dict of (N,) array or StoredArray
        ``counts``: the columns of :class:`~diaghoi.evaluation.pairs.ImagePairs` of each split, as a
        record.
    object_boxes : dict of (K,) array or StoredArray
        The columns of :class:`~diaghoi.evaluation.pairs.ObjectBoxes`.
    rows : Sorted
        Predictions of all HOI classes: ``image``, ``score``, ``verdict`` (see
        :class:`~diaghoi.evaluation.ledger.Benchmark`) and ``counts``: whether the protocol counts
        the prediction.
    labelled : Sorted
        Predictions that the protocol counts: ``input``, ``label``, ``annotation``, ``attempt``,
        ``on_pair``, ``action_score`` (see :class:`~diaghoi.evaluation.ledger.Ledger`).
    annotations : dict of (A,) array or StoredArray
        Annotated triplets: ``class``, ``image``, ``counts``, ``examined``, ``attempted``,
        ``reachable``, ``claims`` (of the protocol, then of each benchmark).
    negatives : dict of (P,) array or StoredArray
        The predicted pairs: ``score``, ``negative``, ``image`` (see
        :class:`~diaghoi.evaluation.negatives.Negatives`).
    ignored, unknown_annotated, unknown_predicted, other_subjects, answers
        As in :class:`Evidence`.
    """

    objects: BoolArray
    pairs: Mapping[str, Any]
    object_boxes: Mapping[str, Any]
    rows: Sorted
    labelled: Sorted
    annotations: Mapping[str, Any]
    negatives: Mapping[str, Any]
    ignored: int
    unknown_annotated: int
    unknown_predicted: int
    other_subjects: IntArray
    answers: Answers | None

    def kept(self, scratch: Scratch) -> BlockEvidence:
        """Move the rows to the scratch storage."""
        rows, labelled = (
            replace(table, columns=scratch.keep(table.columns))
            for table in (self.rows, self.labelled)
        )
        return replace(
            self,
            rows=rows,
            labelled=labelled,
            pairs=scratch.keep(self.pairs),
            object_boxes=scratch.keep(self.object_boxes),
            annotations=scratch.keep(self.annotations),
            negatives=scratch.keep(self.negatives),
        )


def collected(
    blocks: Sequence[BlockEvidence],
    protocols: tuple[Protocol, ...],
    pool: Executor,
    scratch: Scratch,
) -> Evidence:
    """Join the evidence of consecutive blocks.

    Parameters
    ----------
    blocks : sequence of BlockEvidence
        At least one block, whose rows are kept in the scratch.
    protocols : tuple of Protocol
        Protocols of the benchmark, and further protocols for which to compute mAP.
    pool : concurrent.futures.Executor
        Threads among which the classes are divided.
    scratch : Scratch
        Storage of the joined rows.
    """
    ledger, benchmark = _ranked(blocks, protocols, pool, scratch)
    pairs = _joined([block.pairs for block in blocks], scratch)["counts"]
    return Evidence(
        benchmark=benchmark,
        ledger=ledger,
        ignored=sum(block.ignored for block in blocks),
        pairs={
            split: ImagePairs({name: pairs[split][name] for name in COUNTED})
            for split in pairs.dtype.names or ()
        },
        object_boxes=ObjectBoxes(**_joined([block.object_boxes for block in blocks], scratch)),
        objects=np.concatenate([block.objects for block in blocks]),
        negatives=Negatives(**_joined([block.negatives for block in blocks], scratch)),
        unknown_annotated=sum(block.unknown_annotated for block in blocks),
        unknown_predicted=sum(block.unknown_predicted for block in blocks),
        other_subjects=np.sum([block.other_subjects for block in blocks], axis=0),
        answers=Answers.sum([block.answers for block in blocks]),
    )


def _joined(tables: Sequence[Mapping[str, StoredArray]], scratch: Scratch) -> dict[str, Array]:
    """Join the rows of tables with the same columns."""
    return {name: scratch.joined([table[name] for table in tables]) for name in tables[0]}


def _ranked(
    blocks: Sequence[BlockEvidence],
    protocols: tuple[Protocol, ...],
    pool: Executor,
    scratch: Scratch,
) -> tuple[Ledger, Benchmark]:
    """Rank the rows of all blocks once, for both the ledger and the benchmark."""
    annotated = _joined([block.annotations for block in blocks], scratch)
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
            annotation_pair_found=annotated["pair_found"][counts],
            annotation_claims=annotated["claims"][counts, 0],
        ),
        Benchmark(
            classes=classes,
            protocols=protocols,
            **{f"row_{name}": values for name, values in benchmark.items()},
            annotation_class=annotated["class"][of_class],
            annotation_image=annotated["image"][of_class],
            annotation_claims=annotated["claims"][of_class, 1:],
        ),
    )


def _rank(
    blocks: Sequence[BlockEvidence], counts: BoolArray, pool: Executor, scratch: Scratch
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Rank rows class by class; ``counts`` marks the annotated triplets of the ledger."""
    # Convert indices into all triplets to indices into counted triplets; -1 (no triplet) is kept.
    position = np.append(np.cumsum(counts, dtype=np.int32) - 1, np.int32(-1))
    rows = _Rows([block.rows for block in blocks])
    labelled = _Rows([block.labelled for block in blocks])
    benchmark = rows.empty(("class", "image", "score", "verdict"), scratch)
    names = ("input", "label", "annotation", "attempt", "on_pair", "action_score")
    ledger = labelled.empty(names, scratch)
    ledger |= labelled.empty(("class", "image", "score"), scratch, like=rows)

    def rank(part: range, rows_of: OfClass, labelled_of: OfClass) -> None:
        some = np.diff(rows.bounds[part.start : part.stop + 1])
        for hoi in (np.flatnonzero(some) + part.start).tolist():
            (every, row), (those, label) = rows_of(hoi), labelled_of(hoi)
            order, counted = descending(row("score")), row("counts")
            # The ranking of all rows also ranks the counted rows, which need no second sort.
            chosen = order[counted[order]]
            place = (np.cumsum(counted, dtype=np.int32) - 1)[chosen]
            benchmark["class"][every] = ledger["class"][those] = hoi
            for name in ("image", "score", "verdict"):
                values = row(name)
                benchmark[name][every] = values[order]
                if name in ledger:
                    ledger[name][those] = values[chosen]
            for name in ("input", "label", "on_pair", "action_score"):
                ledger[name][those] = label(name)[place]
            for name in ("annotation", "attempt"):
                ledger[name][those] = position[label(name)[place]]

    for classes, shares in _shares(rows):
        for share in shares:
            held = rows.read(classes, share), labelled.read(classes, share)
            tasks = [pool.submit(rank, few, *held) for few in batches(rows.bounds, _FEW, classes)]
            for task in tasks:
                task.result()
            release(*benchmark.values(), *ledger.values())
            del held  # free the memory of these rows before the next rows are read
        if len(shares) > 1:
            rows.merge(benchmark, classes.start, shares, scratch)
            labelled.merge(ledger, classes.start, shares, scratch)
    return ledger, benchmark


def _shares(rows: _Rows) -> Iterator[tuple[range, list[range]]]:
    """Yield runs of classes, with the blocks whose rows are in memory at once (usually all)."""
    everything = [range(rows.blocks)]
    for some in batches(rows.bounds, _MANY):
        first, stop = rows.bounds[[some.start, some.stop]].tolist()
        if stop - first <= _MANY:
            yield some, everything
            continue
        # Only the last class can exceed the limit by itself.
        yield some[:-1], everything
        place = rows.places(some[-1])
        yield some[-1:], batches(place - place[0], _MANY)


class _Rows:
    """Rows of one table in all blocks, class by class."""

    def __init__(self, tables: Sequence[Sorted]) -> None:
        self._tables = tables
        self.blocks = len(tables)
        self.bounds: IntArray = np.sum([table.bounds for table in tables], axis=0)

    def empty(
        self, names: Sequence[str], scratch: Scratch, like: _Rows | None = None
    ) -> dict[str, Array]:
        """Return empty arrays for all rows, with the types of this or another table's columns."""
        columns = (like or self)._tables[0].columns
        kinds = {name: columns.get(name, _CLASS) for name in names}
        return {
            name: scratch.empty((self.bounds[-1], *kind.shape[1:]), kind.dtype)
            for name, kind in kinds.items()
        }

    def places(self, hoi: int) -> IntArray:
        """Return the class's first row in each block, then the class's end: (blocks + 1,)."""
        rows = [table.bounds[hoi + 1] - table.bounds[hoi] for table in self._tables]
        return np.cumsum([self.bounds[hoi], *rows])

    def merge(
        self, columns: Mapping[str, Array], hoi: int, shares: Sequence[range], scratch: Scratch
    ) -> None:
        """Rank all rows of a class by merging the ranked rows of each range of blocks."""
        place = self.places(hoi)[[*(share.start for share in shares), self.blocks]]
        mine = slice(*place[[0, -1]].tolist())
        table = {name: values[mine] for name, values in columns.items() if name != "class"}
        merge(table, (place - place[0]).tolist(), _MANY, scratch)

    def read(self, classes: range, blocks: range) -> OfClass:
        """Read the rows of some classes in all blocks, or the rows of one class in some blocks."""
        tables = self._tables[blocks.start : blocks.stop]
        bounds = np.array([table.bounds[classes.start : classes.stop + 1] for table in tables])
        place = np.append(0, np.cumsum(bounds[:, -1] - bounds[:, 0])).tolist()
        held = {
            # Allocate a single block of memory, which is freed as a whole.
            name: np.empty((place[-1], *kind.shape[1:]), kind.dtype)
            for name, kind in self._tables[0].columns.items()
        }
        for block, table in enumerate(tables):
            for name, rows in held.items():
                mine = table.columns[name].rows(*bounds[block, [0, -1]].tolist())
                rows[place[block] : place[block + 1]] = mine
        before = bounds - bounds[:, :1]
        starts = (before + np.array(place[:-1])[:, None]).T
        # The rows that are read here are also consecutive among all rows.
        among_all = self.places(classes.start)[blocks.start] + before.sum(axis=0)

        def of_class(hoi: int) -> tuple[slice, Callable[[str], Array]]:
            ends = slice(hoi - classes.start, hoi - classes.start + 2)
            runs = list(map(slice, *starts[ends].tolist()))
            return slice(*among_all[ends].tolist()), lambda name: np.concatenate(
                [held[name][run] for run in runs]
            )

        return of_class
