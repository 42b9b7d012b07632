"""Find the verbs, objects, classes and images in which the mAP of two detectors differs.

mAP is a mean over classes, so each class has a share of the difference, and the shares of verbs and
objects are sums over their classes. The shares of all verbs sum to the difference, and so do the
shares of all objects and of all classes.

Random exchanges of the detectors (approximate randomisation, see
:mod:`diaghoi.statistics.significance`) test whether a share stands out, for all verbs, objects and
classes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratios
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.alignment import aligned_ledger, check_same_annotations
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import Evaluated
from diaghoi.evaluation.ledger import Ledger, counts_only_found, up_to_last_true
from diaghoi.evaluation.means import counts_in_mean
from diaghoi.evaluation.weighted_ap import WeightedRanking
from diaghoi.statistics.bootstrap import check_settings, tails
from diaghoi.statistics.significance import level_of, resampled_alone, sample_pair, step_down

KINDS = ("verb", "object", "class")
SPLIT = "full"
IMAGES = 100  # of the JSON
LEAST = 10  # minimum number of annotated images for an interval
RESAMPLES = 200


@dataclass(frozen=True, kw_only=True)
class Share:
    """Share that a verb, an object or a class has in the mAP difference.

    Parameters
    ----------
    name : str
        The verb, the object or the class.
    classes : int
        Number of annotated classes with the verb or object; 1 for a class.
    share : float
        Contribution to the difference; a fraction, like mAP.
    interval : tuple of float or None
        Bounds of the share by the centred paired bootstrap. None without tests, or if the classes
        are annotated in fewer than :data:`LEAST` images, too few for resampling.
    p : float or None
        Probability that the share is at least as large if the detectors are exchanged at random,
        corrected for all verbs, objects and classes together
        (:func:`diaghoi.statistics.significance.step_down`).
    """

    name: str
    classes: int
    share: float
    interval: tuple[float, float] | None = None
    p: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python."""
        return asdict(self) | {"interval": None if self.interval is None else list(self.interval)}


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Where the mAP difference between two detectors lies.

    Parameters
    ----------
    labels : tuple of two str
        The detectors. Differences are second minus first.
    of : dict of tuple of Share
        Shares by kind (:data:`KINDS`), with the largest absolute share first.
    images : tuple of (str, float)
        Name of each image, and by how much the difference shrinks without this image; largest
        absolute value first. The values do not sum to the difference.
    confidence : float or None
        Confidence of the intervals; None if nothing was tested.
    """

    labels: tuple[str, str]
    of: dict[str, tuple[Share, ...]]
    images: tuple[tuple[str, float], ...]
    confidence: float | None = None

    @property
    def tested(self) -> int:
        """Number of shares tested together."""
        return sum(each.p is not None for kind in KINDS for each in self.of[kind])

    @property
    def roles(self) -> bool:
        """Whether the verbs are roles of V-COCO, which are classes without an object."""
        return not self.of["class"]

    def standing_out(self, kind: str) -> tuple[Share, ...]:
        """Return the shares of a kind whose corrected p is below one minus the confidence."""
        level = level_of(self.confidence or 1)
        return tuple(each for each in self.of[kind] if each.p is not None and each.p < level)

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python, with the first :data:`IMAGES` images."""
        return {
            "confidence": self.confidence,
            "tested": self.tested,
            **{kind: [each.to_dict() for each in self.of[kind]] for kind in KINDS},
            "images": [{"image": name, "share": share} for name, share in self.images[:IMAGES]],
        }


def shares(
    first: Diagnosis,
    second: Diagnosis,
    resamples: int = 0,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    of_images: bool = True,
    progress: Callable[[int], Any] | None = None,
) -> Shares:
    """Locate the mAP difference between two detectors.

    Parameters
    ----------
    first, second : Diagnosis
        Diagnoses on the same annotations under the same protocol.
    resamples : int
        Number of bootstrap resamples and of exchanges; with 0 there are neither intervals nor
        tests.
    seed, confidence, progress
        As in :func:`diaghoi.statistics.significance.compare_pair`.
    of_images : bool
        Whether to also compute the contribution of each image, which takes most of the time.

    Raises
    ------
    InputError
        If protocols or annotated triplets differ, or the settings do not allow intervals.
    """
    check_same_annotations(first, second)
    images = len(first.names)
    ledgers = first.ledger, aligned_ledger(second, first)
    members = _members(first.vocabulary, first.splits[SPLIT] & (first.ledger.positives > 0))
    one, other = (_ClassShares(each, images, first, members) for each in ledgers)
    whole = np.ones((images, 1), dtype=np.int32)
    before, after = one.figures(whole), other.figures(whole)
    found = {
        key: Share(
            name=key.partition(":")[2],
            classes=len(hois),
            share=float((after[key] - before[key])[0]),
        )
        for key, hois in members.items()
    }
    if resamples:
        check_settings(images, resamples, confidence)
        both = Ledger.concatenate(ledgers, [images, images])
        mixed = _ClassShares(both, 2 * images, first, members)
        sampled = sample_pair(
            resampled_alone(one.figures, images, resamples, seed),
            resampled_alone(other.figures, images, resamples, seed, progress),
            mixed.figures,
            members,
            progress,
        )
        p = step_down(
            np.array([each.share for each in found.values()]),
            np.stack([sampled[key][1] for key in found]),
        )
        for (key, share), own in zip(list(found.items()), p.tolist(), strict=True):
            low, high = share.share + np.quantile(sampled[key][0], tails(confidence))
            enough = _images_of(first.ledger, members[key]) >= LEAST
            interval = (float(low), float(high)) if enough else None
            found[key] = replace(share, interval=interval, p=own)
    gone = other.influence() - one.influence() if of_images else np.zeros(images)
    return Shares(
        labels=(first.label, second.label),
        of={
            kind: tuple(
                sorted(
                    (each for key, each in found.items() if key.startswith(f"{kind}:")),
                    key=lambda each: -abs(each.share),
                )
            )
            for kind in KINDS
        },
        images=tuple(
            (str(first.names[image]), float(gone[image]))
            for image in np.argsort(-np.abs(gone), kind="stable").tolist()
            if gone[image]
        ),
        confidence=confidence if resamples else None,
    )


class SampledShares(NamedTuple):
    """Contributions of verbs, objects or classes to the mAP of a detector, also in resamples.

    Two detectors are resampled alike, so their values may be subtracted.

    Parameters
    ----------
    names : tuple of str
        K verbs, objects or classes.
    images : (K,) int array
        Number of images in which each verb, object or class is annotated.
    share : (K,) float64 array
        Contribution of each verb, object or class to mAP, as a fraction.
    drawn : (K, B) float64 array
        Contributions in B resamples of the images.
    left_out : (K, G) float64 array
        Contributions without each of G groups of images.
    """

    names: tuple[str, ...]
    images: IntArray
    share: FloatArray
    drawn: FloatArray
    left_out: FloatArray


def sampled_shares(
    diagnosis: Diagnosis, kind: str = "verb", resamples: int = RESAMPLES, seed: int = 0
) -> SampledShares:
    """Resample the contribution of each verb, object or class to mAP, drawing images by name.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis of the detector.
    kind : str
        One of :data:`KINDS`.
    resamples, seed
        As in :func:`shares`.
    """
    images, split = len(diagnosis.names), diagnosis.splits[SPLIT]
    check_settings(images, resamples, 0.95)
    members = _members(diagnosis.vocabulary, split & (diagnosis.ledger.positives > 0))
    members = {key: hois for key, hois in members.items() if key.startswith(f"{kind}:")}
    found = _ClassShares(diagnosis.ledger, images, diagnosis, members)
    # The sort is stable: images without names keep their order.
    place = np.argsort(np.argsort(diagnosis.names, kind="stable"), kind="stable")

    def figures(weights: IntArray) -> dict[str, FloatArray]:
        return found.figures(weights[place])

    sampled = resampled_alone(figures, images, resamples, seed)
    return SampledShares(
        tuple(key.partition(":")[2] for key in members),
        np.array([_images_of(diagnosis.ledger, hois) for hois in members.values()], dtype=int),
        np.array([sampled.whole[key][0] for key in members]),
        np.array([sampled.drawn[key] for key in members]),
        np.array([sampled.left_out[key] for key in members]),
    )


class _ClassShares:
    """Contributions of classes to a detector's mAP, as functions of image weights."""

    def __init__(
        self, ledger: Ledger, images: int, like: Diagnosis, members: dict[str, IntArray]
    ) -> None:
        self.ledger, self.images, self.members = ledger, images, members
        self.protocol, self.split = like.protocol, like.splits[SPLIT]
        ranked = ledger.evaluated.ranked_by(self.protocol)
        if counts_only_found(self.protocol):
            # Rows past the last true positive of their class change no precision.
            ranked = ranked.reordered(up_to_last_true(ranked.row_class, ranked.row_true))
        self.ranking = WeightedRanking.of(ranked, ledger.classes, images)

    def figures(self, weights: IntArray) -> dict[str, FloatArray]:
        """Return the contribution of each verb, object and class to mAP under B weightings."""
        scores = self.ranking.scores(weights, self.protocol.levels, self.protocol.top_of_class)
        counted = counts_in_mean(scores, self.protocol, SPLIT, self.split[:, None])
        values = np.where(counted, np.nan_to_num(scores.average_precision), 0.0)
        values = ratios(values, counted.sum(axis=0), undefined=0.0)
        return {key: values[hois].sum(axis=0) for key, hois in self.members.items()}

    def influence(self) -> FloatArray:
        """Return, for each of the N images, the loss in mAP if the image is left out.

        A class that is annotated only in this image leaves the mean.
        """
        whole = np.ones((self.images, 1), dtype=np.int32)
        levels, top = self.protocol.levels, self.protocol.top_of_class
        scores = self.ranking.scores(whole, levels, top)
        counted = counts_in_mean(scores, self.protocol, SPLIT, self.split[:, None])[:, 0]
        before = np.nan_to_num(scores.average_precision[:, 0])
        ranked = self.ledger.evaluated.ranked_by(self.protocol)
        rows = np.searchsorted(ranked.row_class, np.arange(self.ledger.classes + 1))
        order = np.argsort(ranked.annotation_class, kind="stable")
        annotated = np.searchsorted(
            ranked.annotation_class[order], np.arange(self.ledger.classes + 1)
        )
        change, classes = np.zeros(self.images), np.full(self.images, counted.sum())
        for hoi in np.flatnonzero(self.split & (annotated[1:] > annotated[:-1])).tolist():
            mine = slice(rows[hoi], rows[hoi + 1])
            truth = order[annotated[hoi] : annotated[hoi + 1]]
            image, number = np.unique(
                np.concatenate([ranked.row_image[mine], ranked.annotation_image[truth]]),
                return_inverse=True,
            )
            split = mine.stop - mine.start
            alone = Evaluated(
                np.zeros(split, dtype=np.int16),
                ranked.row_true[mine],
                number[:split],
                np.zeros(len(truth), dtype=np.int16),
                number[split:],
            )
            without = 1 - np.eye(len(image), dtype=np.int32)
            left = WeightedRanking.of(alone, 1, len(image)).scores(without, levels, top)
            stays = counts_in_mean(left, self.protocol, SPLIT, np.ones((1, 1), dtype=bool))[0]
            after = np.where(stays, np.nan_to_num(left.average_precision[0]), 0.0)
            change[image] += after - before[hoi] * counted[hoi]
            classes[image] += stays.astype(np.int64) - counted[hoi]
        total = before[counted].sum()
        return np.asarray(total / max(1, counted.sum()) - (total + change) / np.maximum(1, classes))


def _images_of(ledger: Ledger, hois: IntArray) -> int:
    """Count the images in which the given classes are annotated."""
    some = ledger.annotation_counts & np.isin(ledger.annotation_class, hois)
    return len(np.unique(ledger.annotation_image[some]))


def _members(vocabulary: Vocabulary, annotated: BoolArray) -> dict[str, IntArray]:
    """Collect the annotated classes under ``verb:NAME``, ``object:NAME`` and ``class:NAME``."""
    found: dict[str, list[int]] = {}
    for hoi in np.flatnonzero(annotated).tolist():
        verb, label = vocabulary.class_verb[hoi], vocabulary.class_object[hoi]
        found.setdefault(f"verb:{vocabulary.verbs[verb].replace('_', ' ')}", []).append(hoi)
        # The roles of V-COCO have no object, and are both verbs and classes.
        if label >= 0:
            name = vocabulary.objects[label].replace("_", " ")
            found.setdefault(f"object:{name}", []).append(hoi)
            found.setdefault(f"class:{vocabulary.class_name(hoi)}", []).append(hoi)
    return {key: np.array(hois) for key, hois in found.items()}
