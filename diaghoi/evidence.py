"""What all blocks of images leave behind, in ranking order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from diaghoi.ledger import Benchmark, Ledger
from diaghoi.negatives import Negatives
from diaghoi.pairs import ImagePairs
from diaghoi.protocol import Protocol
from diaghoi.ragged import first_of_run
from diaghoi.ranking import descending

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.integer]
Result = TypeVar("Result")

# Rows ranked at once, of whole classes: few enough for the cache, many enough for a thread.
_ROWS = 50_000


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
class Block:
    """The evidence of a block of images; images and input rows are numbered as in all of them.

    Parameters
    ----------
    images : int
        How many.
    rows : dict of (R, ...) array
        Predictions of all HOI classes, in the order of the classes and, in a class, of the input:
        ``class``, ``image``, ``score``, ``verdict`` (see :class:`~diaghoi.ledger.Benchmark`) and
        ``counts``: whether the protocol counts it.
    labelled : dict of (L,) array
        Those that it counts, in the same order: ``class``, ``input``, ``label``, ``annotation``,
        ``action_score`` (see :class:`~diaghoi.ledger.Ledger`).
    annotations : dict of (A,) array
        Annotated triplets: ``class``, ``image``, ``counts``, ``examined``, ``attempted``,
        ``reachable``.
    ignored, pairs, negatives, unknown_annotated, unknown_predicted
        As those of the evidence.
    """

    images: int
    rows: dict[str, Array]
    labelled: dict[str, Array]
    annotations: dict[str, Array]
    ignored: int
    pairs: dict[str, ImagePairs]
    negatives: Negatives
    unknown_annotated: int
    unknown_predicted: int


def collected(
    blocks: Sequence[Block], classes: int, protocols: tuple[Protocol, ...], pool: Executor
) -> Evidence:
    """Join the evidence of consecutive blocks, whose columns are freed on the way.

    Parameters
    ----------
    blocks : sequence of Block
        At least one; the arrays of their rows are taken out.
    classes : int
        Number of HOI classes C.
    protocols : tuple of Protocol
        Those of the benchmark.
    pool : concurrent.futures.Executor
        Threads that share the classes.
    """
    ledger, benchmark = _ranked(blocks, classes, protocols, pool)
    return Evidence(
        benchmark=benchmark,
        ledger=ledger,
        ignored=sum(block.ignored for block in blocks),
        pairs={
            split: ImagePairs.concatenate([block.pairs[split] for block in blocks])
            for split in blocks[0].pairs
        },
        negatives=Negatives.concatenate(
            [block.negatives for block in blocks], [block.images for block in blocks]
        ),
        unknown_annotated=sum(block.unknown_annotated for block in blocks),
        unknown_predicted=sum(block.unknown_predicted for block in blocks),
    )


def _ranked(
    blocks: Sequence[Block], classes: int, protocols: tuple[Protocol, ...], pool: Executor
) -> tuple[Ledger, Benchmark]:
    """Rank the rows of all blocks once, for the ledger and the benchmark."""
    annotated = {
        name: np.concatenate([block.annotations[name] for block in blocks])
        for name in blocks[0].annotations
    }
    rows = _ByClass([block.rows for block in blocks], classes, pool)
    labelled = _ByClass([block.labelled for block in blocks], classes, pool)

    rank, labelled_rank = _ranks(rows)
    ranked = {
        name: rows.take(name, rank) for name in ("counts", "class", "image", "score", "verdict")
    }
    del rank
    kept = np.flatnonzero(ranked.pop("counts"))

    counts, of_class = annotated["counts"], annotated["class"] >= 0
    # From a triplet among all to one that counts; -1, no triplet, stays.
    position = np.append(np.cumsum(counts, dtype=np.int32) - 1, np.int32(-1))
    labels = {
        name: labelled.take(name, labelled_rank)
        for name in ("input", "label", "annotation", "action_score")
    }
    ledger = Ledger(
        classes=classes,
        row_class=ranked["class"][kept],
        row_image=ranked["image"][kept],
        row_score=ranked["score"][kept],
        row_input=labels["input"],
        row_label=labels["label"],
        row_annotation=position[labels["annotation"]],
        row_action_score=labels["action_score"],
        annotation_class=annotated["class"][counts],
        annotation_image=annotated["image"][counts],
        annotation_input=np.flatnonzero(counts).astype(np.int32),
        annotation_counts=np.ones(counts.sum(), dtype=bool),
        annotation_examined=annotated["examined"][counts],
        annotation_attempted=annotated["attempted"][counts],
        annotation_reachable=annotated["reachable"][counts],
    )
    benchmark = Benchmark(
        classes=classes,
        protocols=protocols,
        row_class=ranked["class"],
        row_image=ranked["image"],
        row_score=ranked["score"],
        row_verdict=ranked["verdict"],
        annotation_class=annotated["class"][of_class],
        annotation_image=annotated["image"][of_class],
    )
    return ledger, benchmark


def _ranks(rows: _ByClass) -> tuple[list[IntArray], list[IntArray]]:
    """Rank the rows of each class, and those of them that the protocol counts among these."""

    def rank_class(hoi: int) -> tuple[IntArray, IntArray]:
        rank = descending(rows.of_class("score", hoi)).astype(np.int32)
        counts = rows.of_class("counts", hoi)
        place = np.cumsum(counts, dtype=np.int32) - 1
        return rank, place[rank[counts[rank]]]

    ranks, labelled = zip(*rows.each_class(rank_class), strict=True)
    return list(ranks), list(labelled)


class _ByClass:
    """The columns of one table of all blocks, class by class.

    What one class has in all blocks fits the processor's cache; the whole column does not.
    """

    def __init__(self, tables: list[dict[str, Array]], classes: int, pool: Executor) -> None:
        self._tables = tables
        self._pool = pool
        steps = np.arange(classes + 1, dtype=np.int16)
        self._bounds = [np.searchsorted(table["class"], steps).tolist() for table in tables]
        sizes = np.sum([np.diff(bounds) for bounds in self._bounds], axis=0)
        self._stop: list[int] = np.cumsum(sizes).tolist()
        first = np.flatnonzero(first_of_run(np.cumsum(sizes) // _ROWS)).tolist()
        self._parts = list(starmap(range, pairwise([*first, classes])))

    def each_class(self, function: Callable[[int], Result]) -> list[Result]:
        """Call a function with each class, in threads that each take several."""
        parts = self._pool.map(lambda part: [function(hoi) for hoi in part], self._parts)
        return [result for part in parts for result in part]

    def of_class(self, name: str, hoi: int) -> Array:
        """Join what all blocks have of a class in a column."""
        return np.concatenate(
            [
                table[name][bounds[hoi] : bounds[hoi + 1]]
                for table, bounds in zip(self._tables, self._bounds, strict=True)
            ]
        )

    def take(self, name: str, rank: list[IntArray]) -> Array:
        """Join a column, each class in its ranking order, and free it."""
        like = self._tables[0][name]
        column = np.empty((self._stop[-1], *like.shape[1:]), dtype=like.dtype)

        def place(hoi: int) -> None:
            stop = self._stop[hoi]
            mine = column[stop - len(rank[hoi]) : stop]
            # "clip" writes straight into the column; no rank is out of range.
            np.take(self.of_class(name, hoi), rank[hoi], axis=0, out=mine, mode="clip")

        self.each_class(place)
        for table in self._tables:
            del table[name]
        return column
