"""Hold the result of a diagnosis, which is a sum over images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from diaghoi._version import __version__
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, StrArray, batches
from diaghoi.data.groups import split_classes
from diaghoi.data.memory import threads
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.benchmark import (
    KnownObjects,
    headlines,
    official_classes,
    official_figures,
)
from diaghoi.diagnosis.methods import DiagnosisMethods
from diaghoi.diagnosis.notes import (
    answer_notes,
    class_notes,
    few_notes,
    image_notes,
    no_interaction_notes,
    source_notes,
    subject_notes,
)
from diaghoi.diagnosis.omissions import other_split, split_warnings, verb_notes
from diaghoi.diagnosis.tables import Columns, class_table, image_table
from diaghoi.diagnosis.unscored import bounds
from diaghoi.evaluation.actions import action_rankings
from diaghoi.evaluation.average_precision import ClassScores, Evaluated, class_scores
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import PART, Benchmark, Ledger
from diaghoi.evaluation.listing import (
    Answers,
    best_ranking,
    best_threshold,
    detections,
    outranked,
)
from diaghoi.evaluation.means import Split, ap_in_mean, counted_classes, split_means
from diaghoi.evaluation.negatives import Negatives, negative_scores
from diaghoi.evaluation.pairs import ImagePairs, ObjectBoxes, PairCounts, pair_scores
from diaghoi.exceptions import InputError, some_of
from diaghoi.measures import MEASURES, Measure
from diaghoi.oracles import LOCALISED, ORACLES, Oracle, lost_triplets

PUBLIC = (
    *("vocabulary", "protocol", "label", "names", "counts", "notes", "coverage", "official"),
    *("mean_ap", "max_recall", "class_ap", "errors", "delta_map", "oracles", "localised", "lost"),
    *("ranking", "pairs", "negatives", "actions", "classes", "images", "detections"),
    *("best_threshold", "operating_points", "bootstrap", "shortcuts", "summary", "plot"),
    *("to_dict", "to_frame", "save", "load", "sum"),
)
"""Attributes that users of a diagnosis need; other attributes are for developers."""


class Costs(dict[Any, "float | None"]):
    """ΔmAP as a fraction; the key is an error (full mean), or an error and a group (group's mean).

    >>> diagnosis.delta_map["association"], diagnosis.delta_map["association", "rare"]
    ... # doctest: +SKIP
    """

    def __init__(self, oracles: Mapping[str, Mapping[str, Split]]) -> None:
        super().__init__((name, found["delta_map"]["full"]) for name, found in oracles.items())
        self._oracles = oracles

    def __missing__(self, key: Any) -> float | None:
        if not isinstance(key, tuple):
            raise KeyError(key)
        error, group = key
        return self._oracles[error]["delta_map"][group]


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnosis(DiagnosisMethods):
    """Errors of a detector, and the cost of each error.

    All numbers are fractions in [0, 1] or counts; ``print`` and figures show percent.

    Diagnoses of disjoint images under one protocol add up: ``a + b`` is exactly the diagnosis of
    all their images. A diagnosis stores rows and counts, and derives rates, means and deltas.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    protocol : Protocol
        The evaluation protocol of all numbers except ``official``.
    label : str
        Name of the detector.
    names : (N,) str array
        Names of the images.
    annotated, predicted : (N,) bool array
        Whether each image is in the annotation file, and whether it is in the prediction file.
    benchmark : Benchmark
        All predictions of all HOI classes, for the official numbers.
    ledger : Ledger
        The predictions that the protocol counts.
    ignored : int
        Number of predictions ignored because they are on people without annotated actions.
    known_objects : (N, objects) bool array
        The categories with which each image is labelled, for Known Object.
    known_object_source : str
        Source of ``known_objects``: "image labels" or "box annotations".
    image_pairs : dict of ImagePairs
        Counts of pairs, by split.
    object_boxes : ObjectBoxes
        Annotated pairs that count.
    pair_source : str
        "pairs" if the detector lists its pairs, "triplets" if they are taken from its triplets.
    negative_pairs : Negatives
        The predicted pairs with their scores.
    unknown_annotated, unknown_predicted : int
        Number of triplets that are omitted because their object and verb form no HOI class.
    other_subjects : (2, objects) int array
        Number of counted triplets, annotated and predicted, whose subject is not a person, by the
        subject's category.
    answers : Answers or None
        Counts of a scoreless detector's answers that cannot be evaluated as given.
    reading_notes : tuple of str
        Notes from reading the files.
    scenes : tuple of (SceneSource, SceneSource)
        The diagnosed annotations and predictions, one pair for each part of a sum. The scenes are
        saved with the diagnosis, and some figures need them. Empty if the scenes were not kept.
    counted : dict of two (N,) int arrays
        Contribution of each image to the numerator and the denominator of each registered ratio, by
        path. Present for sums, and if the scenes were not kept.
    """

    vocabulary: Vocabulary
    protocol: Protocol
    label: str
    names: StrArray
    annotated: BoolArray
    predicted: BoolArray
    benchmark: Benchmark
    ledger: Ledger
    ignored: int
    known_objects: BoolArray
    known_object_source: str
    image_pairs: dict[str, ImagePairs]
    object_boxes: ObjectBoxes
    pair_source: str
    negative_pairs: Negatives
    unknown_annotated: int
    unknown_predicted: int
    other_subjects: IntArray
    answers: Answers | None
    reading_notes: tuple[str, ...]
    scenes: tuple[tuple[SceneSource, SceneSource], ...] = ()
    counted: Mapping[str, tuple[IntArray, IntArray]] = field(default_factory=dict)

    def __repr__(self) -> str:
        name = f" of {self.label}" if self.label else ""
        mean_ap = self.mean_ap["full"]
        shown = "undefined" if mean_ap is None else f"{100 * mean_ap:.2f} %"
        return (
            f"<Diagnosis{name} on {self.vocabulary.name}, {len(self.names)} images, protocol "
            f"{self.protocol.name}: mAP {shown}>"
        )

    def __dir__(self) -> list[str]:
        return sorted(PUBLIC)

    def __add__(self, other: Diagnosis) -> Diagnosis:
        return Diagnosis.sum([self, other])

    @staticmethod
    def sum(parts: Iterable[Diagnosis]) -> Diagnosis:
        """Join the diagnoses of disjoint images, in order.

        Raises
        ------
        InputError
            If there are no parts, or if they differ in protocol or share an image.
        """
        parts = list(parts)
        if not parts:
            raise InputError("no diagnoses to add; give at least one")
        first = parts[0]
        for part in parts[1:]:
            if part.vocabulary.fingerprint != first.vocabulary.fingerprint:
                raise InputError(
                    f"diagnoses of different data sets cannot be added: {first.vocabulary.name}, "
                    f"{part.vocabulary.name}"
                )
            for name in ("protocol", "known_object_source", "pair_source"):
                mine, other = getattr(first, name), getattr(part, name)
                if mine != other:
                    raise InputError(
                        f"diagnoses with different {name} cannot be added: {mine}, {other}"
                    )
        names = np.concatenate([part.names for part in parts])
        # Images without names are joined by position, so images that diagnoses share cannot be
        # detected.
        unique, number = np.unique(names[names != ""], return_counts=True)
        if (number > 1).any():
            raise InputError(
                "diagnoses that share images cannot be added: "
                + some_of(unique[number > 1].tolist())
            )
        images = [len(part.names) for part in parts]
        return replace(
            first,
            names=names,
            benchmark=Benchmark.concatenate([p.benchmark for p in parts], images),
            ignored=sum(p.ignored for p in parts),
            ledger=Ledger.concatenate([p.ledger for p in parts], images),
            image_pairs={
                split: ImagePairs.concatenate([p.image_pairs[split] for p in parts])
                for split in first.image_pairs
            },
            object_boxes=ObjectBoxes.concatenate([p.object_boxes for p in parts], images),
            negative_pairs=Negatives.concatenate([p.negative_pairs for p in parts], images),
            unknown_annotated=sum(p.unknown_annotated for p in parts),
            unknown_predicted=sum(p.unknown_predicted for p in parts),
            other_subjects=np.sum([p.other_subjects for p in parts], axis=0),
            answers=Answers.sum(p.answers for p in parts),
            reading_notes=tuple(dict.fromkeys(note for p in parts for note in p.reading_notes)),
            annotated=np.concatenate([p.annotated for p in parts]),
            predicted=np.concatenate([p.predicted for p in parts]),
            known_objects=np.concatenate([p.known_objects for p in parts]),
            scenes=tuple(chain(*(p.scenes for p in parts))) if all(p.scenes for p in parts) else (),
            counted=_joined([part.all_counts() for part in parts]),
        )

    def without_scenes(self) -> Diagnosis:
        """Drop the scenes, keeping the counts that registered numbers need."""
        return replace(self, scenes=(), counted=self.all_counts())

    def all_counts(self) -> dict[str, tuple[IntArray, IntArray]]:
        """Return the counts of all registered ratios, by path: see :meth:`counts_of`."""
        return {
            measure.at(split): self.counts_of(measure, split)
            for measure in MEASURES.values()
            if measure.counts is not None
            for split in measure.splits(self.image_pairs)
        }

    def counts_of(self, measure: Measure, split: str) -> tuple[IntArray, IntArray]:
        """Return what each image adds to numerator and denominator of a registered ratio."""
        if measure.pairs:
            counted, whole = (self.image_pairs[split].columns[name] for name in measure.pairs)
            return counted, whole
        assert measure.counts is not None
        return self.counted.get(measure.at(split)) or measure.counts(self, split)

    @cached_property
    def splits(self) -> dict[str, BoolArray]:
        """(C,) masks of the classes of each split: see :mod:`diaghoi.data.groups`."""
        return split_classes(self.protocol, self.vocabulary)

    @cached_property
    def class_scores(self) -> ClassScores:
        """AP and max recall of each HOI class before any repair."""
        return self.ledger.scores(self.protocol)

    @property
    def class_ap(self) -> FloatArray:
        """(C,) AP of each HOI class; NaN if the mean omits the class."""
        return ap_in_mean(self.class_scores, self.protocol, self.splits["full"])

    @cached_property
    def mean_ap(self) -> Split:
        """Mean AP (mAP) of each split under the protocol."""
        return self._means(self.class_scores)[0]

    @cached_property
    def max_recall(self) -> Split:
        """Mean of the highest recall of each class, for each split."""
        return self._means(self.class_scores)[1]

    @cached_property
    def repaired_scores(self) -> dict[str, ClassScores]:
        """AP and max recall of each HOI class after each oracle."""
        return {name: self._repaired[oracle.name] for name, oracle in ORACLES.items()}

    @cached_property
    def _repaired(self) -> dict[str, ClassScores]:
        """AP and max recall of each HOI class after each oracle, including localised oracles."""
        oracles = (*ORACLES.values(), *LOCALISED.values())

        def repaired(task: tuple[Oracle, Ledger]) -> ClassScores:
            repair, part = task
            return repair(part, self.protocol).scores(self.protocol)

        scores: dict[str, list[tuple[range, ClassScores]]] = {each.name: [] for each in oracles}
        with threads() as pool:
            # All oracles run on one part before the next part is read, so that only one part is in
            # memory.
            for classes, part in self.ledger.repairable_parts():
                found = pool.map(repaired, [(oracle, part) for oracle in oracles])
                for oracle, each in zip(oracles, found, strict=True):
                    scores[oracle.name].append((classes, each))
        return {name: ClassScores.concatenate(parts) for name, parts in scores.items()}

    @cached_property
    def oracles(self) -> dict[str, dict[str, Split]]:
        """``map``, ``delta_map`` (signed) and ``max_recall`` of each split, for each oracle."""
        return {name: self._outcome(scores) for name, scores in self.repaired_scores.items()}

    @property
    def delta_map(self) -> Costs:
        """Gain in mAP from repairing each error, over all classes or a group of classes.

        ``delta_map["association"]`` is the gain in the full mean, and ``delta_map["association",
        "rare"]`` the gain in a group's mean. The gain is a signed fraction, or None if it is
        undefined; the screen shows percentage points.
        """
        return Costs(self.oracles)

    @cached_property
    def localised(self) -> dict[str, dict[str, Split]]:
        """Costs of wrong boxes, ``association``, ``action`` and ``missed_gt`` on found pairs.

        See :mod:`diaghoi.oracles.localised`.
        """
        return {
            name: self._outcome(self._repaired[oracle.name]) for name, oracle in LOCALISED.items()
        }

    @cached_property
    def coverage(self) -> dict[str, Any]:
        """How far the prediction file covers the annotated images; empty if it covers all images.

        ``annotated_images``, ``predicted_images`` and ``shared_images``: numbers of images;
        ``triplets_elsewhere``: number of counted annotated triplets in images missing from the
        prediction file; ``oracles`` and ``localised``: gains from repairing ``missed_gt`` in the
        shared images alone, in the form of :attr:`oracles` and :attr:`localised`. The dict is also
        empty if nothing is annotated in the images missing from the prediction file.
        """
        elsewhere = ~self.predicted[self.ledger.annotation_image] & self.ledger.annotation_counts
        if not elsewhere.any():
            return {}

        def held(oracle: Oracle) -> dict[str, dict[str, Split]]:
            repaired = oracle(self.ledger, self.protocol)
            counts = repaired.annotation_counts | elsewhere
            scores = replace(repaired, annotation_counts=counts).scores(self.protocol)
            return {"missed_gt": self._outcome(scores)}

        return {
            "annotated_images": int(self.annotated.sum()),
            "predicted_images": int(self.predicted.sum()),
            "shared_images": int((self.annotated & self.predicted).sum()),
            "triplets_elsewhere": int(elsewhere.sum()),
            "oracles": held(ORACLES["missed_gt"]),
            "localised": held(LOCALISED["missed_gt"]),
        }

    @cached_property
    def lost(self) -> dict[str, int]:
        """Number of triplets that are missed by the rule for found pairs.

        ``triplets``: number of all triplets missed by this rule; ``both_boxes``: number of triplets
        missed by this rule whose image has a prediction of the same class with both boxes wrong.
        """
        return lost_triplets(self.ledger)

    @cached_property
    def ranking(self) -> dict[str, Any]:
        """Quality of the ranking by score: see :mod:`diaghoi.evaluation.listing`.

        ``map_best_order``: mAP of each split if the true positives of each class were ranked before
        all other predictions; ``outranked``: the share of wrong predictions ranked below a right
        prediction.
        """
        return {
            "map_best_order": self._means(self.best_order_scores)[0],
            "outranked": outranked(self.ledger),
        }

    @cached_property
    def best_order_scores(self) -> ClassScores:
        """AP of each HOI class if its true positives were ranked before all other predictions."""
        return self.ledger.scored(lambda part: best_ranking(part.evaluated), self.protocol)

    def _outcome(self, scores: ClassScores) -> dict[str, Split]:
        mean_ap, max_recall = self._means(scores)
        delta = {split: _difference(mean_ap[split], self.mean_ap[split]) for split in mean_ap}
        return {"map": mean_ap, "delta_map": delta, "max_recall": max_recall}

    @cached_property
    def errors(self) -> dict[str, int]:
        """Number of predictions with each label, and of missed annotated triplets."""
        counts = [
            np.bincount(part.row_label, minlength=len(LABELS)) for _, part in self.ledger.parts()
        ]
        errors = dict(zip(LABELS, np.sum(counts, axis=0).tolist(), strict=True))
        errors["missed_gt"] = int(self.ledger.missed.sum())
        if self.protocol.pairing == "person":
            errors["ignored"] = self.ignored
        return errors

    @cached_property
    def official(self) -> dict[str, Any]:
        """The numbers of the benchmark; see :mod:`diaghoi.diagnosis.benchmark`."""
        known = KnownObjects(self.known_objects, self.known_object_source)
        return official_figures(self.vocabulary, self.benchmark, self.protocol.groups, known)

    @cached_property
    def pair_counts(self) -> dict[str, PairCounts]:
        """Pair counts of each split."""
        return {split: pairs.total() for split, pairs in self.image_pairs.items()}

    @cached_property
    def pairs(self) -> dict[str, Any]:
        """Pair recall and precision, pairs per image, and recall of human and object boxes."""
        single = self.protocol.single_precision_recall
        scores = {
            split: pair_scores(counts, single_precision=single)
            for split, counts in self.pair_counts.items()
        }
        full = scores["full"]
        return {
            "recall": full["recall"],
            "precision": full["precision"],
            "per_image": full["per_image"],
            "source": self.pair_source,
            "human_recall": full["human_recall"],
            "object_recall": full["object_recall"],
            "mean_object_recall": self.object_boxes.mean_recall,
        } | {
            split: {key: scores[split][key] for key in ("recall", "precision")}
            for split in scores
            if split != "full"
        }

    @cached_property
    def negatives(self) -> dict[str, Any]:
        """AP of rejecting pairs that localise no annotated pair."""
        return negative_scores(self.negative_pairs)

    @property
    def action_rankings(self) -> dict[str, Evaluated]:
        """Predictions on localised pairs, ranked within each verb, by split of HOI classes."""
        return action_rankings(
            self.ledger, self.vocabulary, self.splits, ties=self.protocol.action_ties
        )

    @cached_property
    def split_verb_scores(self) -> dict[str, ClassScores]:
        """AP and max recall of each verb over localised pairs, by split of the HOI classes."""
        protocol = self.protocol.of_verbs
        verb, verbs = self.vocabulary.class_verb, len(self.vocabulary.verbs)
        scores: dict[str, list[tuple[range, ClassScores]]] = {split: [] for split in self.splits}
        rows = np.bincount(verb, np.diff(self.ledger.bounds), verbs).astype(np.int64)
        for run in batches(np.append(0, np.cumsum(rows)), PART):
            rankings = action_rankings(
                self.ledger, self.vocabulary, self.splits, run, self.protocol.action_ties
            )
            for split, ranked in rankings.items():
                scores[split].append((run, class_scores(ranked, verbs, protocol)))
        return {split: ClassScores.concatenate(parts) for split, parts in scores.items()}

    @property
    def verb_scores(self) -> ClassScores:
        """AP and max recall of each verb over localised pairs, ranked by the action score."""
        return self.split_verb_scores["full"]

    @cached_property
    def actions(self) -> dict[str, Any]:
        """Action mAP and mean max recall, overall and for every other split.

        The values are None if the file has no action scores.
        """
        every_verb = np.ones(len(self.vocabulary.verbs), dtype=bool)
        actions: dict[str, Any] = {}
        for split, scores in self.split_verb_scores.items():
            mean_ap, max_recall = split_means(scores, self.protocol.of_verbs, {split: every_verb})
            means = {"map": mean_ap[split], "max_recall": max_recall[split]}
            if not self.ledger.scores_actions:
                means = dict.fromkeys(means)
            actions |= means if split == "full" else {split: means}
        return actions

    @cached_property
    def classes(self) -> Columns:
        """Table per HOI class: see :func:`diaghoi.diagnosis.tables.class_table`."""
        return class_table(
            self.vocabulary,
            self.ledger,
            self.protocol,
            self.splits,
            self.class_scores,
            self.best_order_scores,
            self.repaired_scores,
        )

    @cached_property
    def images(self) -> Columns:
        """Table per image: see :func:`diaghoi.diagnosis.tables.image_table`."""
        return image_table(self.names, self.ledger)

    @property
    def counts(self) -> dict[str, Any]:
        """Number of images and of counted triplets and pairs, annotated and predicted.

        ``classes_in_mean``: the number of classes in the mean, for each split;
        ``classes_in_official``: the number of classes in the official Default mAP of each split, if
        the data set has one; ``leave_mean``: the number of classes that an oracle removes from the
        mean of each split, for each oracle that removes classes; ``leave_mean_by_pair``: the same
        for the oracles on found pairs (``localised``).
        """
        before = counted_classes(self.class_scores, self.protocol, self.splits)

        def leave(repaired: Mapping[str, ClassScores]) -> dict[str, dict[str, int]]:
            after = {
                name: counted_classes(scores, self.protocol, self.splits)
                for name, scores in repaired.items()
            }
            return {
                name: {split: before[split] - left[split] for split in before}
                for name, left in after.items()
                if left["full"] < before["full"]
            }

        readings = {name: self._repaired[each.name] for name, each in LOCALISED.items()}
        official = official_classes(self.vocabulary, self.benchmark, self.protocol.groups)
        return {
            "images": len(self.names),
            "annotated_triplets": int(self.ledger.annotation_counts.sum()),
            "predicted_triplets": len(self.ledger.row_class),
            "predicted_pairs": self.pair_counts["full"].predicted,
            "classes_in_mean": before,
            **({"classes_in_official": official} if official else {}),
            "leave_mean": leave(self.repaired_scores),
            "leave_mean_by_pair": leave(readings),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the numbers."""
        unknown = {"annotated": self.unknown_annotated}
        if self.answers is None:
            unknown["predicted"] = self.unknown_predicted
        scored = {
            "negatives": self.negative_pairs.scored,
            "actions": self.ledger.scores_actions,
        }
        return (
            *self.reading_notes,
            *answer_notes(self.answers, int(self.predicted.sum())),
            *split_warnings(self.vocabulary, self.names[self.predicted]),
            *image_notes(self.names, self.annotated, self.predicted, self._empty, self.protocol),
            *class_notes(self.vocabulary, unknown),
            *subject_notes(self.vocabulary, self.other_subjects),
            *(verb_notes(self.vocabulary, self.ledger) if self.answers is None else ()),
            *source_notes(self.pair_source, scored),
            *no_interaction_notes(self.vocabulary, self.benchmark),
            *few_notes(self.splits, self.ledger.positives),
        )

    @property
    def _empty(self) -> BoolArray:
        """(N,) mask of the images in both files with annotated interactions but no predictions."""
        real = self.vocabulary.interacting[self.benchmark.annotation_class]
        empty = self.predicted & np.isin(
            np.arange(len(self.names)), self.benchmark.annotation_image[real]
        )
        for _, part in self.benchmark.parts():
            empty[part.row_image] = False
        return empty

    @property
    def best_threshold(self) -> float | None:
        """The score threshold with the highest F1; None if there is no true positive.

        F1 is computed over all classes together, as ``full`` in :meth:`detections`.
        """
        return best_threshold(self.ledger)

    def detections(self, threshold: float | None = None) -> dict[str, Any]:
        """Compute precision, recall and F1 of the predictions above a score threshold.

        Parameters
        ----------
        threshold : float, optional
            Minimum score of the predictions that count. By default, and for detectors without
            scores, all predictions count.

        Returns
        -------
        dict
            ``threshold``; ``full`` and every other split with ``precision``, ``recall``, ``f1``,
            ``predicted``, ``true_positive`` and ``annotated``; ``classes``: the same by the name of
            each class that is annotated or predicted. If a detector without scores lists triplets
            outside the classes of the data set, the triplets outside also count as wrong in
            ``full``.
        """
        counted = detections(self.ledger, threshold)
        outside = 0 if self.answers is None else self.answers.outside_classes
        known = self.splits["full"] & (counted.predicted + counted.annotated > 0)
        return {
            "threshold": threshold,
            **{
                split: counted.figures(members, outside if split == "full" else 0)
                for split, members in self.splits.items()
            },
            "classes": {
                self.vocabulary.class_name(hoi): counted.figures(hoi)
                for hoi in np.flatnonzero(known).tolist()
            },
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values: the JSON of ``diaghoi report --json``.

        If the prediction file lacks annotated images, :attr:`coverage` is included, and
        ``other_split`` counts the images outside the test split of the benchmark. A detector
        without scores also has ``detections`` and ``unscored``: the answers that cannot be
        evaluated as given, and bounds of mAP.
        """
        figures = self._figures()
        if self.answers is not None:
            figures["detections"] = self.detections()
            figures["unscored"] = {
                "answers": self.answers._asdict(),
                "bounds": bounds(
                    self.vocabulary, self.protocol, self.ledger, self.benchmark, self.known_objects
                ),
            }
        return figures

    def _figures(self) -> dict[str, Any]:
        elsewhere = other_split(self.vocabulary, self.names[self.predicted])
        figures = {
            "diaghoi": __version__,
            "dataset": self.vocabulary.name,
            "label": self.label,
            **({"other_split": elsewhere} if elsewhere else {}),
            **({"coverage": self.coverage} if self.coverage else {}),
            "headline": headlines(self.official),
            "protocol": {"name": self.protocol.name, "signature": self.protocol.signature},
            "counts": self.counts,
            "official": self.official,
            "map": self.mean_ap,
            "max_recall": self.max_recall,
            "errors": self.errors,
            "oracles": self.oracles,
            "localised": self.localised,
            "lost": self.lost,
            **({"ranking": self.ranking} if self.answers is None else {}),
            "pairs": self.pairs,
            "negatives": self.negatives,
            "actions": self.actions,
            "notes": list(self.notes),
        }
        for measure in MEASURES.values():
            measure.add(figures, self, self.image_pairs)
        return figures

    def _means(self, scores: ClassScores) -> tuple[Split, Split]:
        return split_means(scores, self.protocol, self.splits)


def _joined(
    parts: Sequence[Mapping[str, tuple[IntArray, IntArray]]],
) -> dict[str, tuple[IntArray, IntArray]]:
    """Join the counts of disjoint images, in order."""
    return {
        path: (
            np.concatenate([part[path][0] for part in parts]),
            np.concatenate([part[path][1] for part in parts]),
        )
        for path in parts[0]
    }


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
