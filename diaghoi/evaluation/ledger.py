"""Ledgers: ranked predictions with the annotated triplets that they should find.

A :class:`Ledger` contains the result of matching: one row per prediction, sorted by class and
score, and the annotated triplets that are the positives. An oracle turns one ledger into another;
the code for average precision need not know which oracle ran. A :class:`Benchmark` keeps, for all
predictions, the columns that the official numbers need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, batches, ranking
from diaghoi.data.memory import in_parts
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.average_precision import ClassScores, Evaluated, class_scores
from diaghoi.evaluation.errors import TRUE_POSITIVE

if TYPE_CHECKING:
    from typing_extensions import Self
from diaghoi.data.arrays import expand, first_of_run

# Number of rows examined or repaired at once, to limit memory.
PART = 500_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranked:
    """Predictions in ranking order, with the annotated triplets that they are measured against.

    Rows are sorted by class and, within a class, from best to worst. Equal scores keep the order of
    the images and, within an image, of the input.

    Parameters
    ----------
    classes : int
        Number of HOI classes C.
    row_class : (R,) int array
        HOI class under which the prediction is ranked.
    row_image : (R,) int array
        Image of the prediction.
    row_score : (R,) float64 array
        Ranking score.
    annotation_class, annotation_image : (A,) int array
        HOI class and image of each annotated triplet.
    """

    classes: int
    row_class: IntArray
    row_image: IntArray
    row_score: FloatArray
    annotation_class: IntArray
    annotation_image: IntArray

    @cached_property
    def bounds(self) -> IntArray:
        """(C + 1,) first row of each class, followed by the number of rows."""
        # searchsorted would convert the whole column if the keys had a different type.
        classes = np.arange(self.classes + 1, dtype=np.int16)
        return np.searchsorted(self.row_class, classes)

    def parts(self) -> Iterator[tuple[range, Self]]:
        """Split the classes into runs of about ``PART`` rows.

        Yields
        ------
        classes, part
            Consecutive classes, and a ledger with only their rows.
        """
        # A ledger that fits in one part is not copied and keeps its cached properties.
        runs = batches(self.bounds, PART)
        if len(runs) < 2:
            yield range(self.classes), self
            return
        cuts = [slice(*self.bounds[[run.start, run.stop]].tolist()) for run in runs]
        # zip asks its first argument first, so the generator of parts runs to its end and releases
        # the last part.
        for rows, run in zip(in_parts(self._columns("row"), cuts), runs, strict=True):
            yield run, replace(self, **rows)

    def scored(self, of: Callable[[Self], Evaluated], protocol: Protocol) -> ClassScores:
        """Compute the average precision of each class, part by part; ``of`` selects the columns."""
        return ClassScores.concatenate(
            [(run, class_scores(of(part), self.classes, protocol)) for run, part in self.parts()]
        )

    def rows(self, keep: BoolArray) -> Self:
        """Return a copy with only the rows that a mask keeps."""
        # Selecting by position is faster than by mask when many columns are selected.
        return replace(self, **self._rows_at(np.flatnonzero(keep)))

    def _rows_at(self, positions: IntArray | slice) -> dict[str, Any]:
        return {name: values[positions] for name, values in self._columns("row").items()}

    def _columns(self, table: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names(table)}

    def _joined(self, rows: Sequence[Mapping[str, Any]]) -> Self:
        joined: dict[str, Any] = {
            name: np.concatenate([each[name] for each in rows]) for name in rows[0]
        }
        return replace(self, **joined)

    @classmethod
    def concatenate(cls, parts: Sequence[Self], images: Sequence[int]) -> Self:
        """Join parts with the same classes and disjoint images, given each part's image count."""
        first_image = np.cumsum([0, *images])
        first_row = np.cumsum([0, *(len(part.row_class) for part in parts)])
        first_annotation = np.cumsum([0, *(len(part.annotation_class) for part in parts)])
        joined: dict[str, Any] = {}
        for name in (*cls._names("row"), *cls._names("annotation")):
            columns = []
            for number, part in enumerate(parts):
                column = getattr(part, name)
                if name.endswith("_image"):
                    column = column + first_image[number]
                elif name == "row_input":
                    # The input numbers of each part have gaps. Dense numbers do not collide when
                    # shifted, and keep the order that breaks ties.
                    column = _dense(column) + first_row[number]
                elif name == "annotation_input":
                    column = _dense(column) + first_annotation[number]
                elif name in ("row_annotation", "row_attempt"):
                    column = np.where(column < 0, -1, column + first_annotation[number])
                columns.append(column)
            joined[name] = np.concatenate(columns)
        # Equal scores keep the input order within a part, and the parts keep the order of their
        # images.
        order = ranking(joined["row_class"], joined["row_score"])
        for name in cls._names("row"):
            joined[name] = joined[name][order]
        return replace(parts[0], **joined)

    def arranged(self, place: IntArray) -> Self:
        """Give the N images new numbers, (N,), and sort equal scores by the new numbers."""
        if np.array_equal(place, np.arange(len(place))):
            return self
        image, annotated = place[self.row_image], place[self.annotation_image]
        order = {
            "row": np.lexsort((image, -self.row_score, self.row_class)),
            "annotation": np.argsort(annotated, kind="stable"),
        }
        columns = self._columns("row") | self._columns("annotation")
        columns["row_image"] = image.astype(self.row_image.dtype)
        columns["annotation_image"] = annotated.astype(self.annotation_image.dtype)
        if "row_input" in columns:
            columns["row_input"] = _dense(columns["row_input"], image)
            columns["annotation_input"] = _dense(columns["annotation_input"], annotated)
            number = np.append(np.argsort(order["annotation"]), -1)  # -1 (no triplet) stays -1
            for name in ("row_annotation", "row_attempt"):
                columns[name] = number[columns[name]]
        arranged: dict[str, Any] = {
            name: values[order[name.split("_")[0]]] for name, values in columns.items()
        }
        return replace(self, **arranged)

    @classmethod
    def _names(cls, table: str) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls) if field.name.startswith(table))


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark(Ranked):
    """All predictions of all HOI classes, as judged by the data set's benchmark.

    Parameters
    ----------
    protocols : tuple of Protocol
        The protocols of the benchmark, followed by other protocols whose mAP is requested.
    row_verdict : (R, protocols) int8 array
        1 for a true positive, 0 for a false positive, -1 if the protocol does not rank the row.
    annotation_claims : (A, protocols) int array
        Number of ranked predictions that claim the annotated triplet under each protocol.
    """

    protocols: tuple[Protocol, ...]
    row_verdict: IntArray
    annotation_claims: IntArray

    def evaluated(
        self,
        protocol: Protocol,
        rows: BoolArray | None = None,
        annotations: BoolArray | None = None,
    ) -> Evaluated:
        """Return the columns that determine average precision under one of the protocols.

        The masks select the (R,) rows and (A,) annotations that count; by default, all count.
        """
        verdict = self.row_verdict[:, self.protocols.index(protocol)]
        mask = verdict >= 0
        if rows is not None:
            mask &= rows
        # A slice gives views, where a mask would copy each column.
        ranked = slice(None) if mask.all() else mask
        counted = slice(None) if annotations is None else annotations
        return Evaluated(
            self.row_class[ranked],
            verdict[ranked] == 1,
            self.row_image[ranked],
            self.annotation_class[counted],
            self.annotation_image[counted],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Ledger(Ranked):
    """Labelled predictions that a protocol counts, with the triplets that they should have found.

    Parameters
    ----------
    row_input : (R,) int array
        Position of the prediction in the input, which breaks ties. Unless the diagnosis is a sum of
        diagnoses, the position is the prediction's row among the triplets of the joined
        predictions.
    row_label : (R,) int8 array
        Position in :data:`diaghoi.evaluation.errors.LABELS`.
    row_annotation : (R,) int array
        Annotated triplet that the prediction found or is assigned to, -1 for none.
    row_attempt : (R,) int array
        Annotated triplet that the prediction finds, or attempts by the rule for found pairs
        (:mod:`diaghoi.oracles.localised`); -1 for none.
    row_on_pair : (R,) bool array
        Whether the two boxes localise an annotated pair, possibly with another action.
    row_action_score : (R,) float64 array
        Score of the verb alone.
    annotation_input : (A,) int array
        Position of the annotated triplet in the input; see ``row_input``.
    annotation_counts : (A,) bool array
        Whether the annotated triplet counts among the positives of its class.
    annotation_examined : (A,) bool array
        Whether the protocol checks if the triplet was missed.
    annotation_attempted : (A,) bool array
        Whether a wrong prediction, counted or not, is assigned to the triplet.
    annotation_reachable : (A,) bool array
        Whether the pair of some predicted triplet localises this triplet's pair, or the image has
        no predictions.
    annotation_pair_found : (A,) bool array
        Whether any listed pair localises the annotated triplet's pair.
    annotation_claims : (A,) int array
        Number of predictions that claim the triplet.
    """

    row_input: IntArray
    row_label: IntArray
    row_annotation: IntArray
    row_attempt: IntArray
    row_on_pair: BoolArray
    row_action_score: FloatArray
    annotation_input: IntArray
    annotation_counts: BoolArray
    annotation_examined: BoolArray
    annotation_attempted: BoolArray
    annotation_reachable: BoolArray
    annotation_pair_found: BoolArray
    annotation_claims: IntArray

    @cached_property
    def true(self) -> BoolArray:
        """(R,) mask of the true positives."""
        return np.asarray(self.row_label == TRUE_POSITIVE)

    @property
    def evaluated(self) -> Evaluated:
        """The columns that determine average precision."""
        counted = self.annotation_counts
        return Evaluated(
            self.row_class,
            self.true,
            self.row_image,
            self.annotation_class[counted],
            self.annotation_image[counted],
        )

    @cached_property
    def scores_actions(self) -> bool:
        """Whether every row has an action score."""
        return not any(np.isnan(part.row_action_score).any() for _, part in self.parts())

    @cached_property
    def positives(self) -> IntArray:
        """(C,) number of annotated triplets of each class."""
        counted = self.annotation_class[self.annotation_counts]
        return np.bincount(counted, minlength=self.classes)

    @cached_property
    def found(self) -> BoolArray:
        """(A,) mask of the annotated triplets that have a true positive."""
        found = np.zeros(len(self.annotation_class), dtype=bool)
        for _, part in self.parts():
            found[part.row_annotation[part.true]] = True
        return found

    @cached_property
    def missed(self) -> BoolArray:
        """(A,) mask of the triplets with neither a true positive nor an assigned prediction."""
        return self.annotation_examined & ~self.found & ~self.annotation_attempted

    def labelled(self, classes: IntArray, labels: Sequence[int]) -> Self:
        """Keep only the rows with the given classes and labels."""
        found = [self._rows_at(slice(0))]
        predicted = classes[self.bounds[classes + 1] > self.bounds[classes]].tolist()
        cuts = [slice(*self.bounds[hoi : hoi + 2].tolist()) for hoi in predicted]
        for rows in in_parts(self._columns("row"), cuts):
            chosen = np.flatnonzero(np.isin(rows["row_label"], labels))
            found.append({name: values[chosen] for name, values in rows.items()})
        return self._joined(found)

    def scores(self, protocol: Protocol) -> ClassScores:
        """Average precision and max recall of each class; see :func:`class_scores`."""
        return self.scored(lambda part: part.evaluated, protocol)

    def repairable_parts(self) -> Iterator[tuple[range, Self]]:
        """Split the classes into runs of about ``PART`` rows that can be repaired separately.

        Yields
        ------
        classes, part
            Consecutive classes, and a ledger with their rows and the rows assigned to one of their
            triplets. For the classes of a part, an oracle on the part has the same effect as an
            oracle on the whole ledger.
        """
        bounds = self.bounds
        runs = batches(bounds, PART)
        if len(runs) < 2:
            yield range(self.classes), self
            return
        # If a row is assigned to a triplet of another class, an oracle moves the row to that
        # class, which may be in another part.
        moved = []
        for classes, part in self.parts():
            for meant_by in (part.row_annotation, part.row_attempt):
                assigned = np.flatnonzero(meant_by >= 0)
                meant = self.annotation_class[meant_by[assigned]]
                elsewhere = meant != part.row_class[assigned]
                moved.append((bounds[classes.start] + assigned[elsewhere], meant[elsewhere]))
        movers, meant = map(np.concatenate, zip(*moved, strict=True))
        for classes in runs:
            arriving = np.unique(movers[(meant >= classes.start) & (meant < classes.stop)])
            found = []
            for others, part in self.parts():
                first, stop = bounds[[others.start, others.stop]]
                mine = arriving[slice(*np.searchsorted(arriving, [first, stop]))] - first
                found.append(part._rows_at(slice(None) if others == classes else mine))
            yield classes, self._joined(found)

    def places(self, group: IntArray, score: FloatArray, input_: IntArray) -> IntArray:
        """Find the (N,) positions at which to insert other rows.

        The new rows are ranked by (N,) classes, scores and input positions.
        """
        places = np.empty(len(group), dtype=np.int64)
        for hoi in np.unique(group).tolist():
            mine = slice(*np.searchsorted(group, [hoi, hoi + 1]).tolist())
            first, stop = self.bounds[hoi : hoi + 2]
            # searchsorted needs ascending values.
            rising = -self.row_score[first:stop]
            before = first + np.searchsorted(rising, -score[mine], side="left")
            tied = first + np.searchsorted(rising, -score[mine], side="right") - before
            # Rows with equal scores keep input order. Few rows are tied, so a loop is fast enough.
            for n in np.flatnonzero(tied).tolist():
                equal = self.row_input[before[n] : before[n] + tied[n]]
                before[n] += np.searchsorted(equal, input_[mine][n])
            places[mine] = before
        return places

    def edited(self, removed: BoolArray, moved: BoolArray, **columns: Any) -> Self:
        """Remove some rows, and change and re-rank other rows.

        Parameters
        ----------
        removed, moved : (R,) bool array
            The rows to remove, and the rows to change.
        **columns
            New values of row columns for the moved rows, including ``row_class``.
        """
        kept = ~(removed | moved)
        movers = np.flatnonzero(moved)
        group = columns["row_class"]
        by_place = np.lexsort((self.row_input[movers], -self.row_score[movers], group))
        movers, group = movers[by_place], group[by_place]
        # Convert indices into all rows to indices into the remaining rows.
        before = np.append(0, np.cumsum(kept, dtype=np.int32))
        at = before[self.places(group, self.row_score[movers], self.row_input[movers])]
        source = np.insert(np.flatnonzero(kept), at, movers)
        # np.insert takes indices into the array before the insertions; each insertion shifts later
        # indices by one.
        at += np.arange(len(movers), dtype=np.int32)
        edited = self._rows_at(source)
        for name, values in columns.items():
            edited[name][at] = values[by_place]
        return replace(self, **edited)

    def ties_turned_round(self, before: Self) -> Self:
        """Order ties within an image as the published Diag-HOI code does after a repair.

        The published code appends the repaired triplets to their image in annotation order, sorts
        the image's triplets by ascending score and reverses the order, so the last appended triplet
        comes first. ``before`` is the ledger before the repair.
        """
        first = first_of_run(self.row_class) | first_of_run(self.row_score)
        new = np.append(first | first_of_run(self.row_image), True)
        tied = np.flatnonzero(~(new[1:] & new[:-1]))
        group = np.cumsum(new[:-1])[tied]
        wrong = before.row_input[~before.true]
        repaired = self.true[tied] & np.isin(self.row_input[tied], wrong)
        place = np.where(repaired, self.row_annotation[tied], self.row_input[tied])
        rows = np.arange(len(self.row_class))
        rows[tied] = tied[np.lexsort((-place, ~repaired, group))]
        return replace(self, **self._rows_at(rows))


def _dense(places: IntArray, image: IntArray | None = None) -> IntArray:
    """Renumber distinct positions from 0, in ascending order or, given images, image by image."""
    rank = np.empty(len(places), dtype=np.int64)
    order = np.argsort(places) if image is None else np.lexsort((places, image))
    rank[order] = np.arange(len(places))
    return rank


def up_to_last_true(row_class: IntArray, row_true: BoolArray) -> IntArray:
    """Find the rows up to the last true positive of each class.

    ``row_class`` and ``row_true``, (R,), are sorted by class and descending score.
    """
    true = np.flatnonzero(row_true)
    if not len(true):
        return true
    last = true[np.roll(first_of_run(row_class[true]), -1)]
    start = np.searchsorted(row_class, row_class[last])
    return expand(start, last + 1 - start)[1]


def deciding(ledger: Ledger, protocol: Protocol) -> Ledger:
    """Return a ledger without the rows that have no effect; see :func:`deciding_rows`."""
    rows = deciding_rows(ledger, protocol)
    return ledger if rows.all() else ledger.rows(rows)


def deciding_rows(ledger: Ledger, protocol: Protocol) -> BoolArray:
    """Return a mask, (R,), of the rows that may affect average precision, whatever is repaired.

    Most predictions are false positives that rank after all true positives of their class and
    change no average precision. A repair turns rows that are assigned to an annotated triplet, or
    attempt one, into true positives of that triplet's class. In each class, rows that score below
    all actual and potential true positives are omitted. All rows are kept if the protocol checks
    whether classes have any rows, or gives all rows one rank.
    """
    if not counts_only_found(protocol) or protocol.ranking != "by score":
        return np.ones(len(ledger.row_class), dtype=bool)
    lowest, possible = np.full(ledger.classes, np.inf), np.zeros(len(ledger.row_class), dtype=bool)
    for meant in (ledger.row_annotation, ledger.row_attempt):
        some = meant >= 0
        possible |= some
        np.minimum.at(lowest, ledger.annotation_class[meant[some]], ledger.row_score[some])
    # Not `>=`, which would drop rows of unknown score (NaN).
    return np.asarray(possible | ~(ledger.row_score < lowest[ledger.row_class]))


def counts_only_found(protocol: Protocol) -> bool:
    """Check that a class without true positives counts the same with or without predictions."""
    found_alone = protocol.class_without_true_positive != "left out"
    return found_alone and protocol.class_without_prediction == "counted"
