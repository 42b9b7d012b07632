"""Prepare a diagnosis once, and compute all its numbers under many image weightings.

Matching is never repeated: ledgers carry the image of each row
(:mod:`diaghoi.evaluation.weighted_ap`), and errors and pairs are counted per image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, descending, marked, ratios
from diaghoi.data.protocol import Protocol
from diaghoi.diagnosis.alignment import image_numbers
from diaghoi.diagnosis.benchmark import BenchmarkSetting, settings
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import Evaluated
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.means import column_means, weighted_split_means
from diaghoi.evaluation.negatives import PUBLISHED_LEVELS, Negatives
from diaghoi.evaluation.pairs import ObjectBoxes
from diaghoi.evaluation.weighted_ap import ImageCounts, WeightedRanking
from diaghoi.measures import MEASURES, Measure
from diaghoi.oracles import ORACLES

Figures = dict[str, FloatArray]


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanPrecisions:
    """Mean AP and mean max recall before repairs and after each oracle.

    Parameters
    ----------
    rankings : dict of WeightedRanking
        Rankings by oracle; "" before repairs.
    protocol : Protocol
        Defines AP and the classes that count.
    splits : dict of (C,) bool array
        The classes of each split.
    carriers : dict of int
        Number of predictions and annotated triplets that carry each ΔmAP, by path: see
        :func:`carriers_of`.
    """

    rankings: dict[str, WeightedRanking]
    protocol: Protocol
    splits: dict[str, BoolArray]
    carriers: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ledger: Ledger,
        images: int,
        protocol: Protocol,
        splits: dict[str, BoolArray],
        oracles: Iterable[str] = tuple(ORACLES),
    ) -> MeanPrecisions:
        """Prepare a ledger of the given number of images, and its repairs by the given oracles."""
        carriers: dict[str, int] = {}

        def ranked() -> Iterator[tuple[str, Evaluated]]:
            yield "", ledger.evaluated.ranked_by(protocol)
            for name in oracles:
                repaired = ORACLES[name](ledger, protocol)
                rows, triplets = carriers_of(ledger, repaired)
                hoi = np.append(ledger.row_class[rows], ledger.annotation_class[triplets])
                for split, classes in splits.items():
                    carriers[f"oracles.{name}.delta_map.{split}"] = int(classes[hoi].sum())
                yield name, repaired.evaluated.ranked_by(protocol)

        return cls(
            rankings=prepared(ranked(), ledger.classes, images),
            protocol=protocol,
            splits=splits,
            carriers=carriers,
        )

    def figures(self, weights: IntArray) -> Figures:
        """Compute numbers by path in a report's JSON, each under B weightings of N images.

        Parameters
        ----------
        weights : (N, B) int32 array
            Weight of each image.

        Returns
        -------
        dict of (B,) float64 array
            NaN if a number is undefined.
        """
        found: Figures = {}
        before: dict[str, FloatArray] = {}
        levels, top = self.protocol.levels, self.protocol.top_of_class
        unrepaired = self.rankings[""]
        curve = unrepaired.curve(weights, top)
        for name, ranking in self.rankings.items():
            same = ranking.rows is unrepaired.rows
            scores = ranking.scored(curve if same else ranking.curve(weights, top), levels)
            means = weighted_split_means(scores, self.protocol, self.splits)
            before = before or means[0]
            at = f"oracles.{name}." if name else ""
            for key, split_means in zip(("map", "max_recall"), means, strict=True):
                found |= {f"{at}{key}.{split}": mean for split, mean in split_means.items()}
            if name:
                found |= {
                    f"{at}delta_map.{split}": mean - before[split]
                    for split, mean in means[0].items()
                }
        return found


def carriers_of(before: Ledger, after: Ledger) -> tuple[IntArray, IntArray]:
    """Find what carries an error's cost: predictions and triplets whose repair can change AP.

    Among the many wrong predictions, only predictions that rank above a true positive of their
    class or become true positives carry a cost.

    Parameters
    ----------
    before, after : Ledger
        Ledger before the repair, and after it.

    Returns
    -------
    rows : (K,) int array
        Indices of the wrong predictions that are removed.
    triplets : (L,) int array
        Indices of the annotated triplets that are newly found, or no longer count.
    """
    lowest = np.full(before.classes, np.inf)
    np.minimum.at(lowest, before.row_class[before.true], before.row_score[before.true])
    kept = marked(after.row_input, int(before.row_input.max(initial=-1)) + 1)
    # Predictions with equal scores may be in any order.
    gone = ~before.true & ~kept[before.row_input]
    gone &= before.row_score >= lowest[before.row_class]
    triplets = (after.found & ~before.found) | (before.annotation_counts & ~after.annotation_counts)
    return np.flatnonzero(gone), np.flatnonzero(triplets)


def prepared(
    ranked: Iterable[tuple[str, Evaluated]], classes: int, images: int
) -> dict[str, WeightedRanking]:
    """Prepare ranked lists by name, starting with the unrepaired list.

    Repairs that only remove annotated triplets leave the rows unchanged, so the prepared rows of
    the first list also serve the lists after these repairs.
    """
    found: dict[str, WeightedRanking] = {}
    first: Evaluated | None = None
    for name, each in ranked:
        if first is not None and all(map(np.array_equal, each.rows, first.rows)):
            found[name] = found[""].asked_for(each)
        else:
            found[name] = WeightedRanking.of(each, classes, images)
        first = first or each
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratios:
    """Registered numbers that are ratios of per-image counts.

    Parameters
    ----------
    paths : tuple of str
        Path of each number in a result.
    counts : ImageCounts
        Two rows per number: numerator and denominator in each image.
    """

    paths: tuple[str, ...]
    counts: ImageCounts

    @classmethod
    def of(
        cls,
        measures: Iterable[Measure],
        splits: Iterable[str],
        *diagnoses: Diagnosis,
        like: Diagnosis | None = None,
    ) -> Ratios:
        """Prepare measures of diagnoses on the same images, with counts joined end to end.

        Parameters
        ----------
        measures : iterable of Measure
            Measures; only ratios are used.
        splits : iterable of str
            The groups of classes.
        *diagnoses : Diagnosis
            One or more.
        like : Diagnosis, optional
            Diagnosis whose image order is used; by default the first.
        """
        from scipy.sparse import csr_array

        counted = [measure for measure in measures if measure.is_ratio]
        wanted = [(each, split) for split in splits for each in counted if each.has(split)]
        orders = [np.argsort(image_numbers(each, like or diagnoses[0])) for each in diagnoses]
        rows = [
            np.concatenate([column[order] for column, order in zip(of_all, orders, strict=True)])
            for measure, split in wanted
            for of_all in zip(*(each.counts_of(measure, split) for each in diagnoses), strict=True)
        ]
        images = sum(map(len, orders))
        return cls(
            paths=tuple(measure.at(split) for measure, split in wanted),
            counts=ImageCounts(csr_array(np.reshape(rows, (len(rows), images)))),
        )

    def figures(self, weights: IntArray) -> Figures:
        """Compute the numbers by path, see :meth:`MeanPrecisions.figures`."""
        total = self.counts.under(weights)
        values = (ratios(*of) for of in zip(total[::2], total[1::2], strict=True))
        return dict(zip(self.paths, values, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Resampler:
    """A diagnosis, prepared for weightings of its N images.

    Parameters
    ----------
    means : MeanPrecisions
        Means under the protocol of the diagnosis.
    official : tuple of (BenchmarkSetting, WeightedRanking)
        The settings of the benchmark, with the ranking for each setting.
    errors : ImageCounts
        Number of predictions with each label, of missed annotated triplets, and of annotated
        triplets.
    ratios : Ratios
        Registered numbers that are ratios of counts, such as pair recall.
    objects : tuple of ImageCounts
        Number of annotated object boxes of each category, and how many of them are found.
    negatives : WeightedRanking or None
        The predicted pairs; None if the pairs have no scores.
    actions : dict of WeightedRanking
        Rankings of verbs on localised pairs, by split; empty without action scores.
    """

    means: MeanPrecisions
    official: tuple[tuple[BenchmarkSetting, WeightedRanking], ...]
    errors: ImageCounts
    ratios: Ratios
    objects: tuple[ImageCounts, ImageCounts]
    negatives: WeightedRanking | None
    actions: dict[str, WeightedRanking]

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> Resampler:
        """Prepare a diagnosis."""
        from scipy.sparse import csr_array

        images, ledger = len(diagnosis.names), diagnosis.ledger
        labels = len(LABELS)
        cell = ledger.row_image.astype(np.int64) * labels + ledger.row_label
        errors = np.bincount(cell, minlength=images * labels).reshape(images, labels)
        missed = np.bincount(ledger.annotation_image[ledger.missed], minlength=images)
        counted = ledger.annotation_image[ledger.annotation_counts]
        annotated = np.bincount(counted, minlength=images)
        return cls(
            means=MeanPrecisions.of(ledger, images, diagnosis.protocol, diagnosis.splits),
            official=tuple(
                (each, WeightedRanking.of(ranked, ledger.classes, images))
                for each in settings(
                    diagnosis.vocabulary,
                    diagnosis.benchmark,
                    diagnosis.protocol.groups,
                    diagnosis.known_objects,
                )
                for ranked in (each.of(diagnosis.benchmark).ranked_by(each.protocol),)
            ),
            errors=ImageCounts(csr_array(np.stack([*errors.T, missed, annotated]))),
            ratios=Ratios.of(MEASURES.values(), diagnosis.image_pairs, diagnosis),
            objects=_of_objects(diagnosis.object_boxes, len(diagnosis.vocabulary.objects), images),
            negatives=_of_negatives(diagnosis.negative_pairs, images)
            if diagnosis.negative_pairs.scored
            else None,
            actions=_of_actions(diagnosis, images),
        )

    def figures(self, weights: IntArray) -> Figures:
        """Compute all numbers of a report; see :meth:`MeanPrecisions.figures`.

        ``shares`` are the shares of errors among the predictions, and of missed triplets among the
        annotated triplets.
        """
        found = self.means.figures(weights)
        for setting, ranking in self.official:
            protocol = setting.protocol
            scores = ranking.scores(weights, protocol.levels, protocol.top_of_class)
            means, _ = weighted_split_means(scores, protocol, setting.splits)
            found |= {f"official.{setting.name}.{split}": mean for split, mean in means.items()}
        return (
            found
            | self._errors(weights)
            | self.ratios.figures(weights)
            | self._objects(weights)
            | self._negatives(weights)
            | self._actions(weights)
        )

    def _errors(self, weights: IntArray) -> Figures:
        *counts, annotated = self.errors.under(weights)
        predicted = np.sum(counts[: len(LABELS)], axis=0)
        found: Figures = {}
        for name, count in zip((*LABELS, "missed_gt"), counts, strict=True):
            # Missed triplets are a share of the annotated triplets; other errors are a share of the
            # predictions.
            whole = annotated if name == "missed_gt" else predicted
            found[f"errors.{name}"] = count.astype(np.float64)
            found[f"shares.{name}"] = ratios(count, whole)
        return found

    def _objects(self, weights: IntArray) -> Figures:
        annotated, reached = (boxes.under(weights) for boxes in self.objects)
        recall = column_means(ratios(reached, annotated), annotated > 0)
        return {"pairs.mean_object_recall": recall}

    def _negatives(self, weights: IntArray) -> Figures:
        if self.negatives is None:
            return {}
        levels = {"ap": None, "ap_published": PUBLISHED_LEVELS}
        curve = self.negatives.curve(weights)
        return {
            f"negatives.{key}": self.negatives.scored(curve, chosen).average_precision[0]
            for key, chosen in levels.items()
        }

    def _actions(self, weights: IntArray) -> Figures:
        found: Figures = {}
        protocol = self.means.protocol.of_verbs
        for split, ranking in self.actions.items():
            scores = ranking.scores(weights, protocol.levels)
            every_verb = {split: np.ones(len(scores.average_precision), dtype=bool)}
            means = weighted_split_means(scores, protocol, every_verb)
            at = "actions." if split == "full" else f"actions.{split}."
            for key, mean in zip(("map", "max_recall"), means, strict=True):
                found[f"{at}{key}"] = mean[split]
        return found


def _of_objects(
    boxes: ObjectBoxes, categories: int, images: int
) -> tuple[ImageCounts, ImageCounts]:
    shape, found = (categories, images), boxes.found
    return (
        ImageCounts.of(boxes.category, boxes.image, shape),
        ImageCounts.of(boxes.category[found], boxes.image[found], shape),
    )


def _of_negatives(pairs: Negatives, images: int) -> WeightedRanking:
    order = descending(pairs.score)
    negative = np.flatnonzero(pairs.negative)
    evaluated = Evaluated(
        np.zeros(len(order), dtype=np.int64),
        pairs.negative[order],
        pairs.image[order],
        np.zeros(len(negative), dtype=np.int64),
        pairs.image[negative],
    )
    return WeightedRanking.of(evaluated, 1, images)


def _of_actions(diagnosis: Diagnosis, images: int) -> dict[str, WeightedRanking]:
    if not diagnosis.ledger.scores_actions:
        return {}
    verbs = len(diagnosis.vocabulary.verbs)
    return {
        split: WeightedRanking.of(ranked, verbs, images)
        for split, ranked in diagnosis.action_rankings.items()
    }
