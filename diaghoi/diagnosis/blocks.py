"""Turn scenes into the evidence of a diagnosis, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, FloatArray, IntArray, batches, marked
from diaghoi.data.groups import annotated_objects, counted_classes, split_classes
from diaghoi.data.memory import BudgetError, Scratch, check_budget, threads
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource, filled_in
from diaghoi.diagnosis.evidence import BlockEvidence, Evidence, Sorted, collected
from diaghoi.evaluation.errors import Errors, explain
from diaghoi.evaluation.listing import Answers
from diaghoi.evaluation.matching import Match, match
from diaghoi.evaluation.pairs import COUNTED, PairMatch

# Number of triplets, pairs and boxes per block: small enough for the arrays to stay in the cache.
BLOCK = 50_000
# Number of triplets beyond which the results of blocks are kept on disk.
LARGE = 2_000_000
# Bytes that a triplet, a pair or a box takes while its image is processed.
ROW = 100


def examine(
    annotations: SceneSource,
    predictions: SceneSource,
    protocol: Protocol,
    benchmarks: Sequence[Protocol] = (),
    progress: Callable[[int], Any] | None = None,
) -> Evidence:
    """Match, label and count predictions.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        Annotations and predictions of the same images (see :func:`diaghoi.data.joining.join`).
    protocol : Protocol
        The evaluation protocol.
    benchmarks : sequence of Protocol
        Protocols of the data set's benchmark, and further protocols for which to compute mAP.
    progress : callable, optional
        Called with the number of images processed since the last call.
    """

    def evidence(bounds: tuple[int, int]) -> BlockEvidence:
        first = bounds[0]
        try:
            return Block(
                annotations=annotations.between(*bounds),
                predictions=predictions.between(*bounds),
                protocol=protocol,
                benchmarks=benchmarks,
                first_image=first,
                first_annotation=int(annotations.bounds["triplet"][first]),
                first_input=int(predictions.bounds["triplet"][first]),
            ).evidence()
        except BudgetError as error:
            fullest = first + int(rows[slice(*bounds)].argmax())
            raise BudgetError(f"{_named(predictions, fullest)}: {error}") from None

    rows = np.diff(_rows(annotations)) + np.diff(_rows(predictions))
    if len(rows):
        fullest = int(rows.argmax())
        what = f"{_named(predictions, fullest)}: {rows[fullest]:,} triplets, pairs and boxes"
        check_budget(int(rows[fullest]) * ROW, what)
    blocks = []
    large = int(predictions.bounds["triplet"][-1]) > LARGE
    with threads() as pool, closing(Scratch(on_disk=large)) as scratch:
        for done in pool.map(evidence, block_bounds(predictions)):
            blocks.append(done.kept(scratch))
            if progress is not None:
                progress(len(done.objects))
        return collected(blocks, tuple(benchmarks), pool, scratch)


def block_bounds(predictions: SceneSource) -> list[tuple[int, int]]:
    """Split the images into runs of about ``BLOCK`` rows; return first image and last image + 1."""
    runs = batches(_rows(predictions), BLOCK)
    return [(run.start, run.stop) for run in runs] or [(0, 0)]


def _rows(scenes: SceneSource) -> IntArray:
    """Count triplets, pairs and boxes before each image, (N + 1,); the last entry counts all."""
    return scenes.bounds["triplet"] + scenes.bounds["pair"] + scenes.bounds["box"]


def _named(scenes: SceneSource, image: int) -> str:
    return f"image {scenes.names[image] if scenes.named else image}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Consecutive images: their match, their errors, and masks of what counts under the protocol.

    Parameters
    ----------
    annotations, predictions : Scenes
        Scenes of the same N images, with A annotated triplets, T predicted triplets and P predicted
        pairs.
    protocol : Protocol
        The evaluation protocol.
    benchmarks : sequence of Protocol
        Protocols of the data set's benchmark, and further protocols for which to compute mAP.
    first_image, first_annotation, first_input : int
        Global indices of the first image, annotated triplet and predicted triplet.
    """

    annotations: Scenes
    predictions: Scenes
    protocol: Protocol
    benchmarks: Sequence[Protocol]
    first_image: int
    first_annotation: int
    first_input: int

    @cached_property
    def matched(self) -> Match:
        """The match of predictions and annotations under the protocol."""
        return match(self.annotations, self.predictions, self.protocol)

    @cached_property
    def images_count(self) -> BoolArray:
        """(N,) mask of the images whose predictions count."""
        return counted_images(self.annotations, self.protocol)

    @cached_property
    def annotations_count(self) -> BoolArray:
        """(A,) mask of the annotated triplets whose class counts."""
        return self._classes_count[self.annotations.triplet_class]

    @cached_property
    def predictions_count(self) -> BoolArray:
        """(T,) mask of the predicted triplets that count by class, image and rank."""
        counts = self._classes_count[self.predictions.triplet_class] & self._best
        counts &= self.images_count[self.predictions.triplet_image]
        return counts

    @cached_property
    def pairs_listed(self) -> BoolArray:
        """(P,) mask of the pairs that the detector lists: see :func:`listed_pairs`."""
        return listed_pairs(self.predictions, self._best, self.images_count)

    @cached_property
    def errors(self) -> Errors:
        """Labels of the predictions, and the triplets that they should have found."""
        return explain(
            self.annotations,
            self.predictions,
            self.matched,
            self.annotations_count,
            self.predictions_count,
            self.protocol,
        )

    def evidence(self) -> BlockEvidence:
        """Collect the evidence of the images in the block."""
        rows, labelled = self._by_class()
        return BlockEvidence(
            objects=annotated_objects(self.annotations),
            pairs={"counts": self._pair_counts()},
            object_boxes=self._object_boxes(),
            rows=rows,
            labelled=labelled,
            annotations=self._annotated(),
            negatives=self._negatives(),
            ignored=int((self.predictions_count & self.matched.candidates.ignored).sum()),
            unknown_annotated=int((self.annotations.triplet_class < 0).sum()),
            unknown_predicted=int((self.predictions.triplet_class < 0).sum()),
            other_subjects=self._other_subjects(),
            answers=self._answers(),
        )

    def _other_subjects(self) -> IntArray:
        """Count the evaluated triplets whose subject is not a person: (2, objects) array."""
        vocabulary = self.annotations.vocabulary
        counts = np.zeros((2, len(vocabulary.objects)), dtype=np.int64)
        if self.protocol.categories_count:
            sides = (
                (self.annotations, self.annotations_count),
                (self.predictions, self.predictions_count),
            )
            for row, (scenes, counted) in enumerate(sides):
                subject = scenes.box_label[scenes.pair_human[scenes.triplet_pair[counted]]]
                counts[row] = np.bincount(subject, minlength=counts.shape[1])
            counts[:, vocabulary.person] = 0
        return counts

    def _answers(self) -> Answers | None:
        """Count a scoreless detector's answers that cannot be evaluated as given."""
        unread, sizes = self.predictions.unread, self.annotations.sizes
        if unread is None:
            return None
        sizes = self.predictions.sizes if sizes is None else sizes
        answers, triplets, names = unread[self.images_count].sum(axis=0).tolist()
        counted = self.images_count[self.predictions.triplet_image]
        return Answers(
            unreadable=answers,
            unreadable_triplets=triplets,
            unknown_names=names,
            no_class=int((counted & (self.predictions.triplet_class < 0)).sum()),
            boxes_outside=0 if sizes is None else int(self.predictions.outside(sizes).sum()),
        )

    @cached_property
    def _classes_count(self) -> BoolArray:
        # The extra last entry is False, for triplets without an HOI class (-1).
        return np.append(counted_classes(self.protocol, self.annotations.vocabulary), False)

    @cached_property
    def _best(self) -> BoolArray:
        return self.matched.among_best(self.protocol.top)

    def _by_class(self) -> tuple[Sorted, Sorted]:
        """Sort all predictions by class, and also the counted predictions with their labels."""
        predictions, given = self._filled_in
        # Ignored predictions are in no ledger, even if an annotation was assigned to them.
        ignored = self._matched_filled_in.candidates.ignored
        of_class = np.flatnonzero((predictions.triplet_class >= 0) & ~ignored)
        hoi = predictions.triplet_class[of_class].astype(np.int16)
        # The sort is stable, so that the rows of a class keep their input order, which breaks ties.
        by_class = np.argsort(hoi, kind="stable")
        row, hoi = of_class[by_class], hoi[by_class]
        classes = np.arange(len(predictions.vocabulary) + 1, dtype=np.int16)
        counted = marked(given[self.predictions_count], len(predictions.triplet_pair))
        counts = counted[row]
        # Numbers of images, rows and annotations have 32 bits to save memory with large files.
        rows = Sorted(
            bounds=np.searchsorted(hoi, classes),
            columns={
                "image": (predictions.triplet_image[row] + self.first_image).astype(np.int32),
                "score": predictions.scores[row],
                "verdict": self._verdicts()[row],
                "counts": counts,
            },
        )
        # Filled-in predictions never count, so they are dropped here.
        place = np.empty(len(counted), dtype=np.int64)
        place[given] = np.arange(len(given))
        row, hoi = place[row[counts]], hoi[counts]
        action_score = self.predictions.triplet_action_score

        def among_all(annotation: IntArray) -> IntArray:
            of_row = annotation[row]
            return np.where(of_row < 0, -1, of_row + self.first_annotation).astype(np.int32)

        labelled = Sorted(
            bounds=np.searchsorted(hoi, classes),
            columns={
                "input": (row + self.first_input).astype(np.int32),
                "label": self.errors.label[row],
                "annotation": among_all(self.errors.annotation),
                "attempt": among_all(self.errors.attempt),
                "on_pair": self.matched.candidates.on_pair[row],
                "action_score": np.full(len(row), np.nan)
                if action_score is None
                else action_score[row],
            },
        )
        return rows, labelled

    @cached_property
    def _filled_in(self) -> tuple[Scenes, IntArray]:
        """Predictions with filled-in values, and the new row of each prediction of the file."""
        return filled_in(self.predictions)

    @cached_property
    def _matched_filled_in(self) -> Match:
        predictions = self._filled_in[0]
        if predictions is self.predictions:
            return self.matched
        return match(self.annotations, predictions, self.protocol)

    @cached_property
    def _official(self) -> list[tuple[Match, BoolArray]]:
        """Match and rank the predictions, including filled-in values, under each benchmark."""
        predictions = self._filled_in[0]
        matches, ranked = [self._matched_filled_in], []
        for benchmark in self.benchmarks:
            official = match(self.annotations, predictions, benchmark, matches)
            matches.append(official)
            best = official.among_best(benchmark.top)
            best &= counted_images(self.annotations, benchmark)[predictions.triplet_image]
            ranked.append(best)
        return list(zip(matches[1:], ranked, strict=True))

    def _verdicts(self) -> IntArray:
        """Return (T, benchmarks) verdicts, see :class:`~diaghoi.evaluation.ledger.Benchmark`."""
        shape = (len(self._filled_in[0].triplet_pair), len(self.benchmarks))
        verdicts = np.full(shape, -1, dtype=np.int8)
        for column, (official, ranked) in enumerate(self._official):
            verdicts[ranked, column] = official.found[ranked]
        return verdicts

    def _claims(self) -> IntArray:
        """Count the predictions that claim each annotated triplet: (A, 1 + benchmarks).

        The first column counts the predictions that the protocol counts; each other column counts
        the predictions that one benchmark ranks.
        """
        claims = np.empty((len(self.annotations.triplet_pair), 1 + len(self.benchmarks)), np.int32)
        counted = (self.matched, self.predictions_count & ~self.matched.candidates.ignored)
        for column, (found, ranked) in enumerate((counted, *self._official)):
            claimed = found.candidates.claimed[ranked]
            claims[:, column] = np.bincount(claimed[claimed >= 0], minlength=len(claims))
        return claims

    def _annotated(self) -> dict[str, Array]:
        """Record the outcome of each annotated triplet."""
        hoi, image = self.annotations.triplet_class, self.annotations.triplet_image
        with_rows = self.predictions.triplet_image[self.predictions_count]
        has_rows = marked(with_rows, len(self.predictions))
        # The published Diag-HOI code skips images without predictions: their annotated triplets are
        # neither found nor missed.
        examined = has_rows | (self.protocol.images_without_predictions == "counted")
        assigned = self.errors.annotation
        wrong = (assigned >= 0) & ~self.matched.found
        return {
            "class": hoi.astype(np.int16),
            "image": (image + self.first_image).astype(np.int32),
            "counts": self.annotations_count,
            "examined": examined[image],
            "attempted": marked(assigned[wrong], len(hoi)),
            "reachable": self._localised_by(self._pairs_of_triplets) | ~has_rows[image],
            "pair_found": self._localised_by(self.pairs_listed),
            "claims": self._claims(),
        }

    @property
    def _pairs_of_triplets(self) -> BoolArray:
        """Return a mask, (P,), of the pairs of counted predictions."""
        of_triplets = self.predictions.triplet_pair[self.predictions_count]
        return marked(of_triplets, len(self.predictions.pair_human))

    def _localised_by(self, pairs: BoolArray) -> BoolArray:
        """Return a mask of the annotated triplets whose pair is localised by a predicted pair."""
        hits = self.matched.hits
        localised = marked(hits.annotated[pairs[hits.predicted]], len(self.annotations.pair_human))
        return np.asarray(localised[self.annotations.triplet_pair])

    @cached_property
    def _pair_match(self) -> PairMatch:
        return PairMatch(
            annotations=self.annotations,
            predictions=self.predictions,
            overlap=self.matched.overlap,
            hits=self.matched.hits,
            listed=self.pairs_listed,
            images=self.images_count,
        )

    def _object_boxes(self) -> dict[str, Array]:
        """Return the object boxes of the annotated pairs that count."""
        wanted = annotated_pairs(self.annotations, self.annotations_count)
        boxes = self._pair_match.object_boxes(wanted)
        return {
            "image": (boxes.image + self.first_image).astype(np.int32),
            "category": boxes.category.astype(np.int16),
            "found": boxes.found,
        }

    def _pair_counts(self) -> Array:
        """Return the counts of :class:`~diaghoi.evaluation.pairs.ImagePairs`, by split."""
        splits = split_classes(self.protocol, self.annotations.vocabulary)
        record = [(name, np.int32) for name in COUNTED]
        counts = np.empty(len(self.annotations), dtype=[(split, record) for split in splits])
        for split, classes in splits.items():
            in_split = np.append(classes, False)[self.annotations.triplet_class]
            of_split = self._pair_match.count(annotated_pairs(self.annotations, in_split))
            for name, column in of_split.columns.items():
                counts[split][name] = column
        return counts

    def _negatives(self) -> dict[str, Array]:
        """Return the listed pairs; a negative pair localises no counted annotated pair."""
        listed, hits = self.pairs_listed, self.matched.hits
        wanted = annotated_pairs(self.annotations, self.annotations_count)
        positive = marked(hits.predicted[wanted[hits.annotated]], len(listed))
        score = self.predictions.pair_score
        if score is None:
            score = _pair_score_of_triplets(self.predictions)
        return {
            "score": 1 - score[listed],
            "negative": ~positive[listed],
            "image": (self.predictions.pair_image[listed] + self.first_image).astype(np.int32),
        }


def counted_images(annotations: Scenes, protocol: Protocol) -> BoolArray:
    """Return a mask of the images whose predictions count: all or only annotated images."""
    if protocol.images_without_annotations == "left out":
        return marked(annotations.triplet_image, len(annotations))
    if protocol.pairing == "person":
        # The official evaluator of V-COCO visits only the images of the split.
        return marked(annotations.box_image, len(annotations))
    return np.ones(len(annotations), dtype=bool)


def listed_pairs(predictions: Scenes, best: BoolArray, images: BoolArray) -> BoolArray:
    """Return a mask of the pairs that a detector lists in the counted images.

    If the detector lists no pairs, its triplets (or only the best ones) provide the pairs.

    Parameters
    ----------
    predictions : Scenes
        Predictions with P pairs.
    best : (T,) bool array
        Mask of the triplets that the protocol uses from each image.
    images : (N,) bool array
        The images that count.
    """
    listed = predictions.listed & images[predictions.pair_image]
    if predictions.pair_score is None:
        listed &= marked(predictions.triplet_pair[best], len(listed))
    return listed


def annotated_pairs(annotations: Scenes, triplets: BoolArray) -> BoolArray:
    """Return a mask of the person-object pairs that belong to the given annotated triplets."""
    pairs = marked(annotations.triplet_pair[triplets], len(annotations.pair_human))
    return pairs & (annotations.pair_object >= 0)


def _pair_score_of_triplets(predictions: Scenes) -> FloatArray:
    """Return the highest action score of a real verb in each pair; NaN without action scores.

    A pair whose triplets are all `no_interaction` gets 0.
    """
    score = np.zeros(len(predictions.pair_human))
    if predictions.triplet_action_score is None:
        score[:] = np.nan
        return score
    real = predictions.triplet_verb != predictions.vocabulary.no_interaction
    np.maximum.at(score, predictions.triplet_pair[real], predictions.triplet_action_score[real])
    return score
