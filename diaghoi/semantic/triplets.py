"""Triplets that SHOE's algorithms compare; a triplet has a verb, an object and two boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, expand, expand_in_parts, runs
from diaghoi.data.boxes import iou_of
from diaghoi.data.groups import counted_classes
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.evaluation.matching import among_best, closest_person, match, score_order
from diaghoi.evaluation.overlap import CROWDED, box_overlap


@dataclass(frozen=True, kw_only=True, eq=False)
class EvaluatedTriplets:
    """Evaluated triplets of scenes, in stored order, image by image.

    Parameters
    ----------
    scenes : Scenes
        Scenes with boxes and pairs.
    rows : (T,) int array
        Rows of the evaluated triplets among the triplets of the scenes.
    image, pair, verb, object : (T,) int array
        Image, row of the pair table, verb and object category; the object is -1 if objects are not
        compared.
    left_out : int
        Number of triplets of counted classes that are not evaluated, because they have no object
        box, or belong to people whose actions are not annotated.
    """

    scenes: Scenes
    rows: IntArray
    image: IntArray
    pair: IntArray
    verb: IntArray
    object: IntArray
    left_out: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def interaction(self) -> IntArray:
        """(T,) int64 key of each interaction: verb and object as one number."""
        return interaction_keys(self.scenes.vocabulary, self.verb, self.object)


def interaction_keys(vocabulary: Vocabulary, verb: IntArray, object_: IntArray) -> IntArray:
    """Encode verbs and objects (-1 if objects are not compared) as numbers from 0."""
    return (object_.astype(np.int64) + 1) * len(vocabulary.verbs) + verb


def interactions(scenes: Scenes, triplet: IntArray, *, objects: bool) -> IntArray:
    """Return the keys of the given triplets, with or without objects."""
    label = scenes.pair_label[scenes.triplet_pair[triplet]]
    label = label if objects else np.full_like(label, -1)
    return interaction_keys(scenes.vocabulary, scenes.triplet_verb[triplet], label)


def of_interactions(vocabulary: Vocabulary, key: IntArray) -> tuple[IntArray, IntArray]:
    """Return verbs and objects of keys."""
    object_, verb = np.divmod(key, len(vocabulary.verbs))
    return verb, object_ - 1


def compares_objects(predictions: Scenes) -> bool:
    """Check whether predictions name object categories, which V-COCO does not require."""
    objects = predictions.pair_object[predictions.pair_object >= 0]
    return bool((predictions.box_label[objects] >= 0).all())


def select_triplets(
    annotations: Scenes, predictions: Scenes, protocol: Protocol
) -> tuple[EvaluatedTriplets, EvaluatedTriplets]:
    """Choose the evaluated triplets of annotations and predictions of the same images.

    Classes that the protocol does not count, such as `no_interaction`, are omitted; combinations of
    verb and object that are not a class of the data set are kept. On V-COCO, only roles with an
    object box are evaluated.
    """
    # The last entry is for triplets of no class, -1.
    counted = np.append(counted_classes(protocol, annotations.vocabulary), True)
    best = _best(predictions, protocol.top)
    if annotations.vocabulary.no_interaction >= 0 and protocol.classes == "interactions":
        no_interaction = annotations.vocabulary.no_interaction
    else:
        no_interaction = -1
    objects = compares_objects(predictions)
    chosen = []
    for scenes, ignored in (
        (annotations, None),
        (predictions, _ignored(annotations, predictions, protocol)),
    ):
        classes = counted[scenes.triplet_class] & (scenes.triplet_verb != no_interaction)
        if scenes is predictions:
            classes &= best
        taken = classes & (scenes.pair_object[scenes.triplet_pair] >= 0)
        if ignored is not None:
            taken &= ~ignored
        rows = np.flatnonzero(taken)
        pair = scenes.triplet_pair[rows]
        label = scenes.pair_label[pair]
        chosen.append(
            EvaluatedTriplets(
                scenes=scenes,
                rows=rows,
                image=scenes.triplet_image[rows],
                pair=pair,
                verb=scenes.triplet_verb[rows],
                object=label if objects else np.full_like(label, -1),
                left_out=int(classes.sum()) - len(rows),
            )
        )
    return chosen[0], chosen[1]


def interactions_of(annotated: EvaluatedTriplets, protocol: Protocol) -> IntArray:
    """List the keys of the interactions of a data set.

    The interactions are the counted classes, in order, followed by annotated combinations of verb
    and object that are not a class. If classes hold for any object, as in V-COCO, and objects are
    compared, only annotated interactions count.
    """
    vocabulary = annotated.scenes.vocabulary
    counted = counted_classes(protocol, vocabulary)
    verb, object_ = vocabulary.class_verb[counted], vocabulary.class_object[counted]
    if (annotated.object < 0).all():
        object_ = np.full_like(object_, -1)
    else:
        verb, object_ = verb[object_ >= 0], object_[object_ >= 0]
    keys = np.append(interaction_keys(vocabulary, verb, object_), annotated.interaction)
    return np.asarray(keys[np.sort(np.unique(keys, return_index=True)[1])])


def _best(predictions: Scenes, top: int | None) -> BoolArray:
    """Return a mask of each image's best-scored predictions; without scores, of all predictions."""
    if predictions.triplet_score is None:
        return np.ones(len(predictions.triplet_pair), dtype=bool)
    return among_best(predictions.triplet_image, score_order(predictions), top)


def _ignored(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> BoolArray | None:
    """Return a mask of the predictions on people whose actions are not annotated."""
    if annotations.box_ignored is None or not annotations.box_ignored.any():
        return None
    if predictions.triplet_score is None:
        predictions = replace(predictions, triplet_score=np.zeros(len(predictions.triplet_pair)))
    return match(annotations, predictions, protocol).candidates.ignored


def class_names(vocabulary: Vocabulary, keys: IntArray) -> tuple[str, ...]:
    """Return display names of interactions: ``ride bicycle``, or ``ride`` if the object is -1."""
    verbs, objects = of_interactions(vocabulary, keys)
    names = []
    for verb, thing in zip(verbs.tolist(), objects.tolist(), strict=True):
        words = [vocabulary.verbs[verb]] + [vocabulary.objects[thing]] * (thing >= 0)
        names.append(" ".join(words).replace("_", " "))
    return tuple(names)


def overlapping(
    truth: Scenes,
    truth_pair: IntArray,
    found: Scenes,
    found_pair: IntArray,
    theta: float,
    margin: float,
) -> tuple[IntArray, IntArray]:
    """List annotated and predicted triplets of an image that match: both boxes reach IoU theta.

    Parameters
    ----------
    truth, found : Scenes
        Annotations and predictions of the same images.
    truth_pair, found_pair : (A,) and (T,) int array
        The pair of each triplet, a row of the pair table of its scenes.
    theta : float
        The threshold.
    margin : float
        1 if boxes cover whole pixels, otherwise 0.

    Returns
    -------
    annotated, predicted : (K,) int array
        Indices into ``truth_pair`` and ``found_pair``.
    """
    # Boxes are compared once for two pairs, because many triplets share a pair.
    truth_pairs, truth_row = np.unique(truth_pair, return_inverse=True)
    found_pairs, found_row = np.unique(found_pair, return_inverse=True)
    start, count = runs(truth.pair_image[truth_pairs], found.pair_image[found_pairs])

    def meeting() -> Iterator[tuple[IntArray, IntArray]]:
        for owner, position in expand_in_parts(start, count):
            for role in ("pair_human", "pair_object"):
                one = getattr(found, role)[found_pairs[owner]]
                other = getattr(truth, role)[truth_pairs[position]]
                reached = iou_of(found.box_xyxy, one, truth.box_xyxy, other, margin) >= theta
                owner, position = owner[reached], position[reached]
            yield owner, position

    owner, position = gathered(meeting(), CROWDED)
    # Go from matching pairs to all triplets of the pairs.
    by_found = np.argsort(found_row, kind="stable")
    by_truth = np.argsort(truth_row, kind="stable")
    hit, candidate = expand(*runs(found_row[by_found], owner))
    again, triplet = expand(*runs(truth_row[by_truth], position[hit]))
    return by_truth[triplet], by_found[candidate[again]]


def at_both_boxes(
    annotated: EvaluatedTriplets, found: Scenes, triplet: IntArray, theta: float, margin: float
) -> tuple[IntArray, IntArray]:
    """List the annotated triplets whose boxes a prediction reaches.

    Parameters
    ----------
    annotated : EvaluatedTriplets
        The annotated triplets.
    found : Scenes
        The predictions on the same images.
    triplet : (E,) int array
        The predicted triplets; a triplet without an object box reaches nothing.
    theta, margin
        See :func:`overlapping`.

    Returns
    -------
    owner, annotated : (K,) int array
        Index into ``triplet``, and row of the annotated triplet in its scenes.
    """
    pair = found.triplet_pair[triplet]
    boxed = np.flatnonzero(found.pair_object[pair] >= 0)
    there, owner = overlapping(annotated.scenes, annotated.pair, found, pair[boxed], theta, margin)
    return boxed[owner], annotated.rows[there]


def of_the_person(
    truth: Scenes, found: Scenes, triplet: IntArray, protocol: Protocol
) -> tuple[IntArray, IntArray]:
    """List the annotated triplets of the person that a prediction reaches.

    Parameters
    ----------
    truth, found : Scenes
        Annotations and predictions of the same images.
    triplet : (E,) int array
        The predicted triplets.
    protocol : Protocol
        Protocol for the classes and the boxes.

    Returns
    -------
    owner, annotated : (K,) int array
        Index into ``triplet``, and row of the annotated triplet.
    """
    person, _ = closest_person(truth, box_overlap(truth, found, protocol))
    counted = counted_classes(protocol, truth.vocabulary)[truth.triplet_class]
    actor = truth.pair_human[truth.triplet_pair]
    by_actor = np.flatnonzero(counted)
    by_actor = by_actor[np.argsort(actor[by_actor], kind="stable")]
    owner, place = expand(
        *runs(actor[by_actor], person[found.pair_human[found.triplet_pair[triplet]]])
    )
    return owner, by_actor[place]
