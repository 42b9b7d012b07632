"""Semantic evaluation of a detector: soft mAP, mF1 and miss rates (SHOE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from diaghoi._version import __version__
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratio
from diaghoi.data.groups import counted_classes, split_classes
from diaghoi.data.joining import Joined
from diaghoi.data.protocol import Protocol
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.tables import Columns
from diaghoi.exceptions import some_of
from diaghoi.language.open_vocabulary import OpenVocabulary
from diaghoi.language.words import verb_words
from diaghoi.semantic.matching import (
    MatchCandidates,
    Matched,
    SimilarityTables,
    match_candidates,
)
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.soft_map import SoftF1, soft_average_precision, soft_f1
from diaghoi.semantic.tables.similarity import FittedSimilarity, exact
from diaghoi.semantic.triplets import EvaluatedTriplets, class_names, of_interactions

Split = dict[str, float | None]
FREE = ("word", "predictions", "sense", "closest", "similarity")
"""Keys that describe each free word of the predictions in a result."""
NOT_PREDICTED = "annotated images are not in the prediction file; their triplets count as missed"
"""Text of the note on images without predictions; the number of these images precedes the text."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SemanticEvaluation:
    """Metrics of a detector that give graded credit for meaning.

    Parameters
    ----------
    label : str
        Name of the detector.
    measure : Measure
        The parameters.
    protocol : Protocol
        Protocol that defines the classes and the standard mAP.
    verbs, objects : FittedSimilarity
        The tables, fitted to the vocabulary of the data set.
    annotated, predicted : EvaluatedTriplets
        The evaluated triplets.
    joined : Joined
        The joined images of annotations and predictions.
    score : (T,) float64 array or None
        Ranking scores of the predictions; None in confidence-free mode.
    counted : (T,) bool array or None
        Mask of the predictions that count in mF1; None for all.
    candidates : MatchCandidates
        Annotated triplets with the predictions that match their boxes.
    diagnosis : Diagnosis or None
        Diagnosis by exact matching; None without scores.
    """

    label: str
    measure: Measure
    protocol: Protocol
    verbs: FittedSimilarity
    objects: FittedSimilarity
    annotated: EvaluatedTriplets
    predicted: EvaluatedTriplets
    joined: Joined
    score: FloatArray | None
    counted: BoolArray | None
    candidates: MatchCandidates
    diagnosis: Diagnosis | None

    def __repr__(self) -> str:
        name = f" of {self.label}" if self.label else ""
        soft = "undefined" if self.soft_map is None else f"{100 * self.soft_map:.2f} %"
        return (
            f"<SemanticEvaluation{name} by {self.verbs.similarity.name} and "
            f"{self.objects.similarity.name}: soft mAP {soft}, mF1 {100 * (self.mf1 or 0):.2f} %>"
        )

    @cached_property
    def matched(self) -> Matched:
        """Match of each annotated triplet among all predictions."""
        return self.candidates.matched()

    @cached_property
    def matched_counted(self) -> Matched:
        """Match of each annotated triplet among the predictions of mF1."""
        return self.matched if self.counted is None else self.candidates.matched(self.counted)

    @cached_property
    def _classes(self) -> tuple[IntArray, IntArray]:
        """Keys of the K annotated interactions, and the interaction of each annotated triplet."""
        keys, of_triplet = np.unique(self.annotated.interaction, return_inverse=True)
        return keys, of_triplet.ravel()

    @property
    def tables(self) -> SimilarityTables:
        """Similarity of interactions by the indices of their verbs and objects."""
        return SimilarityTables(
            verbs=self.verbs.similarity, objects=self.objects.similarity, measure=self.measure
        )

    def sigma(self, annotated: IntArray, predicted: IntArray) -> FloatArray:
        """Compute the similarity of pairs of interactions; the interactions are given as keys."""
        vocabulary = self.annotated.scenes.vocabulary
        pairs = (of_interactions(vocabulary, keys) for keys in (annotated, predicted))
        return self.tables.sigma(*next(pairs), *next(pairs))

    @cached_property
    def class_number(self) -> IntArray:
        """(K,) HOI class of each annotated interaction, -1 if it is no class of the data set."""
        vocabulary = self.annotated.scenes.vocabulary
        verb, object_ = of_interactions(vocabulary, self._classes[0])
        return vocabulary.class_of[object_, verb]

    @cached_property
    def positives(self) -> IntArray:
        """(K,) number of annotated triplets of each interaction."""
        return np.bincount(self._classes[1], minlength=len(self._classes[0]))

    def _charged(self, free: BoolArray) -> tuple[IntArray, IntArray]:
        """Predictions that count as errors, and the annotated interaction of each error."""
        keys, nearest = self._classes[0], self.candidates.nearest
        place = np.minimum(np.searchsorted(keys, nearest), len(keys) - 1)
        # A class of the data set without annotations has no AP that false positives could lower.
        close = (keys[place] == nearest) & (self.candidates.nearest_sigma >= self.measure.delta)
        charged = np.flatnonzero(free & close)
        return charged, place[charged]

    def free(self, matched: Matched, counted: BoolArray | None = None) -> BoolArray:
        """(T,) mask of the predictions without a match."""
        free = np.ones(len(self.predicted), dtype=bool) if counted is None else counted.copy()
        free[matched.prediction[matched.prediction >= 0]] = False
        return free

    @cached_property
    def class_soft_ap(self) -> FloatArray | None:
        """(K,) soft average precision of each annotated interaction; None without scores."""
        if self.score is None:
            return None
        matched, counted = self.matched, None
        if self.measure.tau_before_map:
            matched, counted = self.matched_counted, self.counted
        of_class, found = self._classes[1], matched.prediction
        extra, against = self._charged(self.free(matched, counted))
        # Algorithm 1 lists a missed annotated triplet with score 0 and no credit. If scores are
        # below 0, such as logarithms, a score of 0 would rank first instead of last.
        missed_score = -np.inf if (self.score < 0).any() else 0.0
        score = np.append(self.score, missed_score)[found]
        # Algorithm 1 lists the annotated triplets of an image and then its unmatched predictions;
        # that order decides between equal scores.
        place = np.concatenate([2 * self.annotated.image, 2 * self.predicted.image[extra] + 1])
        order = np.argsort(place, kind="stable")
        rows = (
            np.concatenate([of_class, against]),
            np.concatenate([score, self.score[extra]]),
            np.concatenate([matched.sigma, np.zeros(len(extra))]),
        )
        row_class, row_score, row_credit = (row[order] for row in rows)
        return soft_average_precision(
            row_class, row_score, row_credit, self.positives, self.measure.integrator
        )

    @cached_property
    def class_exact_ap(self) -> FloatArray | None:
        """(K,) soft AP if no verb or object were similar to any other; None without scores.

        A prediction with only the right verb or object still gets the credit for the right part,
        and false positives count as in soft AP. The difference from soft AP is therefore due to the
        tables. The difference between soft AP and AP has other causes, too.
        """
        if self.score is None:
            return None
        vocabulary = self.base_vocabulary
        other = replace(
            self,
            verbs=exact(self.verbs, verb_words(vocabulary)),
            objects=exact(self.objects, vocabulary.objects),
        )
        candidates = match_candidates(
            self.annotated, self.predicted, self.score, other.tables, self.protocol
        )
        return replace(other, candidates=candidates).class_soft_ap

    @cached_property
    def class_f1(self) -> SoftF1:
        """(K,) precision, recall and F1 of each annotated interaction."""
        _, against = self._charged(self.free(self.matched_counted, self.counted))
        return soft_f1(
            self._classes[1],
            self.matched_counted.prediction >= 0,
            self.matched_counted.sigma,
            np.bincount(against, minlength=len(self.positives)),
        )

    @cached_property
    def splits(self) -> dict[str, BoolArray]:
        """Return a mask, (K,), of the interactions in each split; "full" contains all."""
        everything = np.ones(len(self.positives), dtype=bool)
        # Interactions that are no class of the data set count only in "full".
        masks = split_classes(self.protocol, self.annotated.scenes.vocabulary)
        return {
            name: everything if name == "full" else np.append(mask, False)[self.class_number]
            for name, mask in masks.items()
        }

    @cached_property
    def split_figures(self) -> dict[str, Split]:
        """Soft mAP (also without similarity), mF1 and mAP of each split; None if undefined."""
        columns = {
            "soft_map": self.class_soft_ap,
            "soft_map_exact": self.class_exact_ap,
            "mf1": self.class_f1.f1,
        }
        figures: dict[str, Split] = {
            name: {split: _mean(values, mask) for split, mask in self.splits.items()}
            for name, values in columns.items()
        }
        standard: Split = {} if self.diagnosis is None else self.diagnosis.mean_ap
        figures["map"] = {split: standard.get(split) for split in self.splits}
        return figures

    @property
    def soft_map(self) -> float | None:
        """Mean soft average precision; None without scores."""
        return self.split_figures["soft_map"]["full"]

    @property
    def mf1(self) -> float | None:
        """Mean soft F1."""
        return self.split_figures["mf1"]["full"]

    @property
    def standard_map(self) -> float | None:
        """The mAP of the protocol, by exact matching; None without scores."""
        return self.split_figures["map"]["full"]

    @cached_property
    def miss_rates(self) -> dict[str, float | None]:
        """Shares of annotated triplets and of predictions without a match.

        The shares refer to the predictions that count in mF1 or, with the suffix
        ``_all_predictions``, to all predictions.
        """
        rates: dict[str, float | None] = {}
        for suffix, matched, counted in (
            ("", self.matched_counted, self.counted),
            ("_all_predictions", self.matched, None),
        ):
            number = len(self.predicted) if counted is None else int(counted.sum())
            free = int(self.free(matched, counted).sum())
            rates[f"gt_miss_rate{suffix}"] = float((matched.prediction < 0).mean())
            rates[f"prediction_miss_rate{suffix}"] = ratio(free, number)
        return rates

    @property
    def map_differs(self) -> list[str]:
        """Return the settings of the standard mAP if they differ from the settings of soft mAP."""
        if self.diagnosis is None:
            return []
        found = []
        if self.measure.theta != self.protocol.iou:
            found.append(f"IoU >= {self.protocol.iou:g}")
        if self.measure.tau_before_map:
            found.append("all predictions")
        return found

    @cached_property
    def classes(self) -> Columns:
        """Table per annotated interaction.

        Returns
        -------
        dict of (K,) arrays
            ``class`` (official number, one-based; 0 if no class of the data set), ``name``,
            ``annotated`` (triplets), ``soft_ap``, ``soft_ap_exact`` (if nothing were similar) and
            ``ap`` (NaN without scores), ``precision``, ``recall`` and ``f1``.
        """
        vocabulary = self.annotated.scenes.vocabulary
        undefined = np.full(len(self.positives), np.nan)
        standard = undefined
        if self.diagnosis is not None:
            standard = np.append(self.diagnosis.class_ap, np.nan)
            standard = standard[self.class_number]
        return {
            "class": self.class_number + 1,
            "name": np.array(class_names(vocabulary, self._classes[0]), dtype=str),
            "annotated": self.positives,
            "soft_ap": undefined if self.class_soft_ap is None else self.class_soft_ap,
            "soft_ap_exact": undefined if self.class_exact_ap is None else self.class_exact_ap,
            "ap": standard,
            "precision": self.class_f1.precision,
            "recall": self.class_f1.recall,
            "f1": self.class_f1.f1,
        }

    @property
    def _tables(self) -> dict[str, tuple[FittedSimilarity, Sequence[str]]]:
        """Verb and object tables, with the words that each should cover."""
        vocabulary = self.base_vocabulary
        return {
            "verbs": (self.verbs, verb_words(vocabulary)),
            "objects": (self.objects, vocabulary.objects),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """List notes on what the tables and files imply for the numbers."""
        notes = [*dict.fromkeys(self.annotated.scenes.notes + self.predicted.scenes.notes)]
        for what, (fitted, words) in self._tables.items():
            if what == "verbs" or self.compares_objects:
                notes += [*fitted.similarity.notes, *_uncovered(what, fitted, words)]
        joined, names = self.joined, self.annotated.scenes.names
        for mask, what in (
            (
                joined.annotated & ~joined.predicted,
                NOT_PREDICTED,
            ),
            (
                joined.predicted & ~joined.annotated,
                "predicted images are not in the annotation file; their predictions match nothing",
            ),
        ):
            if mask.any():
                notes.append(f"{int(mask.sum())} {what}: {some_of(names[mask].tolist())}")
        notes += [
            f"{of.left_out} {side} triplets are omitted: they have no object box, or belong to "
            "people without annotated actions"
            for side, of in (("annotated", self.annotated), ("predicted", self.predicted))
            if of.left_out
        ]
        if not self.compares_objects:
            notes.append("the predictions do not name their objects: only verbs are compared")
        if self.score is None:
            notes.append("without scores: every prediction counts, and mAP is undefined")
        return tuple(notes)

    @property
    def base_vocabulary(self) -> Vocabulary:
        """Vocabulary of the data set, without the free words of predictions."""
        vocabulary = self.annotated.scenes.vocabulary
        return vocabulary.base if isinstance(vocabulary, OpenVocabulary) else vocabulary

    @property
    def compares_objects(self) -> bool:
        """Whether the predictions name their objects."""
        return bool((self.annotated.object >= 0).any())

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values: the JSON of ``diaghoi semantic --json``.

        Returns
        -------
        dict
            ``soft_map``, ``mf1``, the miss rates (``..._all_predictions``: without tau) and
            ``map``, the standard mAP, each over all classes; ``splits`` (the means of each split,
            and ``soft_map_exact``, soft mAP if no word were similar to another), ``classes``,
            ``similarity`` (name, source and coverage of both tables; ``free_words`` of predictions,
            each with its sense and the closest word of the data set; and ``not_understood``),
            ``measure``, ``protocol``, ``class_set`` (the counted classes, and their number),
            ``counts`` and ``notes``; ``map_differs`` (settings of ``map`` if soft mAP has another
            IoU or fewer predictions). None if undefined.
        """
        scored, measure = self.score is not None, self.measure
        columns = {name: values.tolist() for name, values in self.classes.items()}
        rows = zip(*columns.values(), strict=True)
        return {
            "diaghoi": __version__,
            "dataset": self.annotated.scenes.vocabulary.name,
            "label": self.label,
            "protocol": {"name": self.protocol.name, "signature": self.protocol.signature},
            "class_set": {
                "name": self.protocol.choices["classes"],
                "number": int(counted_classes(self.protocol, self.base_vocabulary).sum()),
            },
            "measure": {
                **{k: v for k, v in asdict(measure).items() if (k, v) != ("matching", "boxes")},
                "scores": scored,
                "threshold": measure.threshold if scored else None,
                "soft_ap": measure.soft_ap if scored else None,
                "signature": measure.signature if scored else measure.signature_without_scores,
            },
            "similarity": {
                what: _coverage(*table) | self._free_words(what)
                for what, table in self._tables.items()
            },
            "counts": {
                "images": len(self.joined.annotated),
                "annotated_triplets": len(self.annotated),
                "predicted_triplets": len(self.predicted),
                "predicted_triplets_of_mf1": len(self.predicted)
                if self.counted is None
                else int(self.counted.sum()),
                "classes": len(self.positives),
            },
            "soft_map": self.soft_map,
            "mf1": self.mf1,
            **self.miss_rates,
            "map": self.standard_map,
            "map_differs": self.map_differs,
            "splits": self.split_figures,
            "classes": [
                {
                    key: None if cell != cell else cell
                    for key, cell in zip(columns, row, strict=True)
                }
                for row in rows
            ],
            "notes": list(self.notes),
        }

    def _free_words(self, what: str) -> dict[str, Any]:
        """List predicted words that the data set lacks, the most frequent first."""
        fitted, column = (
            (self.verbs, self.predicted.verb)
            if what == "verbs"
            else (self.objects, self.predicted.object)
        )
        if not fitted.free:
            return {}
        count = np.bincount(column[column >= 0], minlength=len(fitted.similarity)).tolist()
        rows = [word._asdict() | {"predictions": count[word.number]} for word in fitted.free]
        rows.sort(key=lambda row: -row["predictions"])
        return {
            "free_words": [{key: row[key] for key in FREE} for row in rows],
            "not_understood": [row["word"] for row in rows if not row["known"]],
        }


def _mean(values: FloatArray | None, mask: BoolArray) -> float | None:
    return None if values is None or not mask.any() else float(values[mask].mean())


def _coverage(fitted: FittedSimilarity, names: Sequence[str]) -> dict[str, Any]:
    """Return the name and source of a table, and the data set's words that it lacks."""
    number, missing = len(set(names)), _missing(fitted)
    return {
        "name": fitted.similarity.name,
        "source": fitted.similarity.source,
        "words": number,
        "covered": number - len(missing),
        "missing": missing,
    }


def _missing(fitted: FittedSimilarity) -> list[str]:
    """List the words that a table does not cover, without repetition."""
    return list(dict.fromkeys(fitted.missing))


def _uncovered(what: str, fitted: FittedSimilarity, names: Sequence[str]) -> list[str]:
    """List notes on the words that a table does not cover."""
    name, missing = fitted.similarity.name, _missing(fitted)
    notes = []
    if missing:
        notes.append(
            f"{len(missing)} of {len(set(names))} {what} are not in the table '{name}' and are "
            f"similar only to themselves: {some_of(missing)}"
        )
    ambiguous = list(dict.fromkeys(fitted.ambiguous))
    if ambiguous:
        notes.append(
            f"{what} with several senses in the table '{name}', of which none is specified "
            f"({len(ambiguous)}): {some_of(ambiguous)}"
        )
    return notes
