"""Measure how much of mAP the object alone explains, by replacing verb scores with a prior.

The detector keeps its pairs: its boxes, their categories and its confidence in them. On each pair,
whatever the picture shows, the prior predicts every verb that the category allows, scored by its
frequency with that category, P(verb | object), or by its overall frequency, P(verb). Each image
keeps as many triplets as the detector lists. The *lift*, the mAP of the detector minus the mAP of
the prior, is what the detector gains from the picture beyond the object.

**Which annotations.** The prior is counted from the training set if its annotations are available.
Without a training set, the prior of each test image is counted from all other test images. A prior
that leaves out the image underestimates a class exactly where the class is annotated, which is
worse than no information. The mAP of a prior from the test set is therefore too low, especially in
rare classes, and the lift is too high. On simulated images, the object prior counted from the test
set reaches half the mAP of a prior counted from a training set. The mAP of a prior that includes
the image itself is reported as ``map_all_images``, and is too high. Test images that are also in
the training set are left out of their own prior, too.

**How scores are formed.** The triplet score is the product of P and the confidence in the pair:

- ``"triplet score / action score"`` of the pair's triplet with the highest score, if the file has
  verb scores that differ from triplet scores: the prior replaces the verb score in the detector's
  own product;
- ``"detection scores"``: the product of the human and object scores, if the file has them;
- ``"highest triplet score"`` of the pair: all that remains if a file has only triplet scores. The
  most frequent verb gets the full confidence, and all other verbs get less, in proportion to their
  frequency. Unlike the first two confidences, the highest triplet score also contains the
  detector's certainty that something happens, so the lift is lower.

A detector that equals the prior has lift 0 under each of the three definitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    batches,
    expand,
    first_of_run,
    place_in_group,
    ranking,
    ratios,
)
from diaghoi.data.groups import counted_classes
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.saved import scenes_of
from diaghoi.diagnosis.verb_prior import VerbPrior, verb_prior
from diaghoi.evaluation.average_precision import ClassScores
from diaghoi.evaluation.matching import among_best, score_order
from diaghoi.evaluation.means import Split, ap_in_mean
from diaghoi.evaluation.overlap import box_overlap
from diaghoi.exceptions import InputError, number_of

PAIRS = 100_000
"""Number of pairs whose verbs are ranked at a time."""
NEVER = 1e-9
"""Probability of verbs without annotations; such verbs come last, ranked by the confidence in the
pair.
"""
RATIO, DETECTION, BEST = (
    "triplet score / action score",
    "detection scores",
    "highest triplet score",
)
TRAINING, LEFT_OUT = "given annotations", "these annotations without the image itself"


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorScores:
    """mAP of a prior on a detector's pairs.

    Parameters
    ----------
    mean_ap, lift : dict
        mAP of the prior for each split, and mAP of the detector minus mAP of the prior.
    classes : ClassScores
        AP of the prior for each class.
    all_images : dict or None
        mAP of the prior if each image also counts in its own prior; None for a prior from given
        annotations.
    """

    mean_ap: Split
    lift: Split
    classes: ClassScores
    all_images: Split | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Shortcuts:
    """A detector compared with priors on its own pairs.

    Parameters
    ----------
    annotations : str
        Source of the priors, :data:`TRAINING` or :data:`LEFT_OUT`.
    confidence : str
        Definition of the confidence in a pair: :data:`RATIO`, :data:`DETECTION` or :data:`BEST`.
    objects : str
        Source of the object categories: "predictions", or "annotated boxes" if predictions have
        none.
    shared : int
        Number of diagnosed images among the prior's annotations; each of these images is omitted
        from its own prior.
    mean_ap : dict
        mAP of the detector for each split.
    object, verb : PriorScores
        Scores of the prior of each verb given the object's category, and of the prior of each verb
        with any object.
    names : tuple of str
        The HOI classes that count.
    average_precision : dict of (K,) float64 array
        AP of each class in ``names``, for ``detector``, ``object`` and ``verb``; NaN if the mean
        omits the class.
    """

    annotations: str
    confidence: str
    objects: str
    shared: int
    mean_ap: Split
    object: PriorScores
    verb: PriorScores
    names: tuple[str, ...]
    average_precision: dict[str, FloatArray]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the lift."""
        notes = []
        if self.annotations == LEFT_OUT:
            notes.append(
                "shortcuts: the mAP of the prior is too low if each image is left out of its own "
                "prior, and too high otherwise; give the annotations of the training set: --also "
                "shortcuts=FILE"
            )
        if self.shared:
            notes.append(
                f"shortcuts: the prior's annotations include {number_of('image', self.shared)} of "
                "the evaluation; each is left out of its own prior, whose mAP is thus too low"
            )
        if self.objects != "predictions":
            notes.append(
                "shortcuts: the predictions do not name objects, so the object prior takes the "
                "category of the annotated box that each role box overlaps most"
            )
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python: the JSON key ``shortcuts``.

        ``annotations``, ``confidence``, ``objects`` and ``shared_images``; ``object`` and ``verb``,
        each with ``map`` and ``lift`` by split, and ``map_all_images`` if the priors come from the
        evaluated annotations; ``classes``: for each class name, ``ap`` of the detector, and ``ap``
        and ``lift`` of both priors.
        """
        columns = {name: _plain(column) for name, column in self.average_precision.items()}
        return {
            "annotations": self.annotations,
            "confidence": self.confidence,
            "objects": self.objects,
            "shared_images": self.shared,
            **{
                key: {
                    "map": prior.mean_ap,
                    "lift": prior.lift,
                    **({} if prior.all_images is None else {"map_all_images": prior.all_images}),
                }
                for key, prior in (("object", self.object), ("verb", self.verb))
            },
            "classes": {
                name: {
                    "ap": columns["detector"][n],
                    **{
                        key: {
                            "ap": columns[key][n],
                            "lift": _difference(columns["detector"][n], columns[key][n]),
                        }
                        for key in ("object", "verb")
                    },
                }
                for n, name in enumerate(self.names)
            },
        }


def shortcuts(diagnosis: Diagnosis, annotations: Scenes | None = None) -> Shortcuts:
    """Compare a detector with priors that know its pairs but not the pictures.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis of the detector, with its scenes.
    annotations : Scenes, optional
        Annotations from which the priors are counted, usually the training set. By default, the
        prior of each image is counted from all other annotated images of the diagnosis.

    Raises
    ------
    InputError
        If the detector has no scores, the diagnosis has no scenes, or the annotations belong to
        another data set or have no triplet that counts.
    """
    if diagnosis.answers is not None:
        raise InputError(
            "shortcuts: the detector gives no scores, so nothing can be ranked against a prior"
        )
    truth, predictions = scenes_of(diagnosis)
    counted = counted_classes(diagnosis.protocol, diagnosis.vocabulary)
    given = truth if annotations is None else annotations
    if given.vocabulary.fingerprint != truth.vocabulary.fingerprint:
        raise InputError(
            f"{given.source or 'annotations of the prior'}: are of {given.vocabulary.name}, but "
            f"the predictions are for {truth.vocabulary.name}; give annotations of the same data "
            "set"
        )
    if not np.append(counted, False)[given.triplet_class].any():
        raise InputError(
            f"{given.source or 'annotations of the prior'}: no annotated triplet is evaluated, so "
            "there is no prior; give the annotations of the training set"
        )
    pairs = _pairs(truth, predictions, diagnosis.protocol, counted)
    own = np.arange(len(truth)) if annotations is None else _places(given, truth)

    def scored(prior: VerbPrior, without: IntArray) -> Diagnosis:
        found = _predicted(prior, pairs, predictions, counted, without)
        return diagnose_images(truth, found, diagnosis.protocol)

    def of(*, by_object: bool) -> PriorScores:
        prior = verb_prior(given, counted, by_object=by_object)
        found = scored(prior, own)
        nothing = np.full(len(truth), -1)
        others = scored(prior, nothing).mean_ap if annotations is None else None
        return PriorScores(
            mean_ap=found.mean_ap,
            lift={
                split: _difference(mean, found.mean_ap[split])
                for split, mean in diagnosis.mean_ap.items()
            },
            classes=found.class_scores,
            all_images=others,
        )

    by_object, by_verb = of(by_object=True), of(by_object=False)
    shown = np.flatnonzero(counted)
    scores = {"detector": diagnosis.class_scores, "object": by_object.classes}
    scores["verb"] = by_verb.classes
    return Shortcuts(
        annotations=LEFT_OUT if annotations is None else TRAINING,
        confidence=pairs.source,
        objects=pairs.objects,
        shared=0 if annotations is None else int((own >= 0).sum()),
        mean_ap=diagnosis.mean_ap,
        object=by_object,
        verb=by_verb,
        names=tuple(map(diagnosis.vocabulary.class_name, shown.tolist())),
        average_precision={
            key: ap_in_mean(each, diagnosis.protocol, counted)[shown]
            for key, each in scores.items()
        },
    )


class _Pairs(NamedTuple):
    """The pairs of a detector that have counted triplets: rows of the pair table.

    ``triplets`` is the number of counted triplets in each image, and ``category`` is the object
    category that the prior uses.
    """

    rows: IntArray
    image: IntArray
    confidence: FloatArray
    category: IntArray
    triplets: IntArray
    source: str
    objects: str


def _pairs(truth: Scenes, predictions: Scenes, protocol: Protocol, counted: BoolArray) -> _Pairs:
    best = among_best(predictions.triplet_image, score_order(predictions), protocol.top)
    kept = np.flatnonzero(best & np.append(counted, False)[predictions.triplet_class])
    pair, score = predictions.triplet_pair[kept], predictions.scores[kept]
    order = np.lexsort((-score, pair))
    first = order[first_of_run(pair[order])]
    rows = pair[first]
    source, confidence = _confidence(predictions, rows, kept, kept[first])
    category, objects = predictions.pair_label[rows], "predictions"
    nameless = (category < 0) & (predictions.pair_object[rows] >= 0)
    if nameless.any() and not protocol.categories_count:
        # The data set does not require categories, so predictions often lack categories.
        objects = "annotated boxes"
        found = _annotated_categories(truth, predictions, protocol)
        category = np.where(nameless, found[predictions.pair_object[rows]], category)
    return _Pairs(
        rows=rows,
        image=predictions.pair_image[rows].astype(np.int64),
        confidence=confidence,
        category=category,
        triplets=np.bincount(predictions.triplet_image[kept], minlength=len(predictions)),
        source=source,
        objects=objects,
    )


def _confidence(
    predictions: Scenes, rows: IntArray, kept: IntArray, best: IntArray
) -> tuple[str, FloatArray]:
    """Return the confidence of the detector in each pair: see the module docstring.

    ``best`` is the highest-scoring triplet of each pair, and ``kept`` contains all counted
    triplets.
    """
    score, action = predictions.scores, predictions.triplet_action_score
    low = score[kept].min(initial=0)
    if action is not None and low >= 0:
        known = action[kept]
        # If a known score is NaN, `>= 0` is false, too.
        if (known >= 0).all() and (known != score[kept]).any():
            return RATIO, ratios(score[best], action[best], undefined=0.0)
    human, object_box = predictions.pair_human[rows], predictions.pair_object[rows]
    detected = predictions.box_score
    if detected is not None:
        product = detected[human] * np.where(object_box < 0, 1.0, detected[object_box])
        if not (np.isnan(product) | (product < 0)).any() and (product != product[:1]).any():
            return DETECTION, product
    # Scores below 0 are probably logarithms, or at least rank like logarithms.
    return BEST, np.exp(score[best] - score[best].max(initial=0)) if low < 0 else score[best]


def _annotated_categories(truth: Scenes, predictions: Scenes, protocol: Protocol) -> IntArray:
    """Return the category of the annotated box that each predicted box overlaps most, or -1."""
    boxes = box_overlap(truth, predictions, protocol)
    mine, theirs = boxes.reaching
    order = np.lexsort((-boxes.value[boxes.reached], mine))
    first = order[first_of_run(mine[order])]
    category = np.full(len(predictions.box_label), -1)
    category[mine[first]] = truth.box_label[theirs[first]]
    return category


def _predicted(
    prior: VerbPrior, pairs: _Pairs, predictions: Scenes, counted: BoolArray, without: IntArray
) -> Scenes:
    """Predict the verbs that the category of each pair allows; keep the best in each image.

    ``without`` contains the annotated image that the prior of each predicted image omits.
    """
    words = predictions.vocabulary
    # The last row is for category -1, because index -1 refers to the last row.
    possible = np.append(counted, False)[words.class_of]
    verbs, number = np.nonzero(possible)[1], possible.sum(axis=1)
    start, label = np.cumsum(number) - number, predictions.pair_label[pairs.rows]
    bounds = np.searchsorted(pairs.image, np.arange(len(predictions) + 1))
    found: list[tuple[IntArray, IntArray, FloatArray, FloatArray]] = []
    for images in batches(bounds, PAIRS):
        some = slice(*bounds[[images.start, images.stop]].tolist())
        owner, place = expand(start[label[some]], number[label[some]])
        verb, image = verbs[place], pairs.image[some][owner]
        share = prior.probability(pairs.category[some][owner], verb, without[image])
        share = np.maximum(share, NEVER)
        score = share
        if pairs.source == BEST:
            highest = np.zeros(some.stop - some.start)
            np.maximum.at(highest, owner, share)
            score = share / highest[owner]
        score = pairs.confidence[some][owner] * score
        order = ranking(image - images.start, score)
        kept = np.sort(order[place_in_group(image[order]) < pairs.triplets[image[order]]])
        found.append((pairs.rows[some][owner[kept]], verb[kept], score[kept], share[kept]))
    pair, verb, score, share = (np.concatenate(column) for column in zip(*found, strict=True))
    return replace(
        predictions,
        triplet_pair=pair,
        triplet_verb=verb,
        triplet_score=score,
        triplet_action_score=share,
        triplet_filled=None,
        notes=(),
    )


def _places(given: Scenes, truth: Scenes) -> IntArray:
    """Find the index of each image in other annotations; -1 if the image is missing."""
    place = {name: row for row, name in enumerate(given.names.tolist()) if name}
    return np.array([place.get(name, -1) for name in truth.names.tolist()], dtype=np.int64)


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _plain(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
