"""What a simulated detector predicts on annotated scenes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, expand, place_in_group
from diaghoi.data.boxes import instances
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.simulate.candidates import CandidatePairs, candidates, queries
from diaghoi.simulate.detector import Detector
from diaghoi.simulate.sightings import Sightings, jitter, sight

Columns = dict[str, Any]

IMAGES_AT_ONCE = 512  # bounds the memory; another number gives other random draws

# Logits of verb scores: for right and wrong verbs of pairs that are taken for an interaction, and
# how much less a wrong verb that is believed, a pair that is joined by mistake and a pair that is
# not taken for an interaction get.
RIGHT, WRONG = 0.6, -1.9
LESS_CONFUSED, LESS_MISTAKEN, LESS_IDLE = 0.4, 0.4, 0.9
LEAST_PAIR_SCORE = 1e-4  # where the object is of no HOI class with a real verb
OWN_JITTER = 0.5  # of a pair's own boxes, besides that of the sighting
OWN_NOISE = 0.4  # of a query's own scores, besides that of the candidate pair


def sigmoid(logit: FloatArray) -> FloatArray:
    """Turn logits into scores that lie strictly between 0 and 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -12.0, 12.0))))


def detect(annotations: Scenes, detector: Detector, rng: np.random.Generator) -> Scenes:
    """Simulate the predictions of a detector on annotated scenes, simulated or real ones.

    Boxes, labels, pairs and verbs go wrong as the detector says; every wrong triplet arises
    the way it does in a real detector (a box far off, an object joined with the wrong
    person, a pair found twice, ...) and carries a plausible score.

    Parameters
    ----------
    annotations : Scenes
        The truth. Boxes of a category that overlap by 0.6 or more count as one instance, as
        data sets that annotate every triplet apart draw one person several times.
    detector : Detector
        How often what goes wrong, for example :data:`~diaghoi.simulate.TWO_STAGE`.
    rng : numpy.random.Generator
        The only source of randomness: equal seeds give equal scenes.

    Returns
    -------
    Scenes
        The same images. All pairs are listed, with the highest score of a real verb as
        ``pair_score``; the triplets are the best of each image in descending order of their score
        (human score x object score x verb score), of HOI classes only. All scores lie in (0, 1),
        all boxes inside their images.
    """
    sizes = _sizes(annotations)
    bounds = [*range(0, max(len(annotations), 1), IMAGES_AT_ONCE), len(annotations)]
    parts = [
        _detect(annotations.between(first, stop), sizes[first:stop], detector, rng)
        for first, stop in pairwise(bounds)
    ]
    return Scenes(
        vocabulary=annotations.vocabulary,
        names=annotations.names,
        sizes=annotations.sizes,
        source=f"simulated detector '{detector.name}'",
        **_chain(parts, np.diff(bounds).tolist()),
    )


def _detect(
    scenes: Scenes, sizes: IntArray, detector: Detector, rng: np.random.Generator
) -> Columns:
    """Simulate the predictions on some images, as columns of scenes."""
    instance_of = instances(scenes)
    seen = sight(scenes, instance_of, sizes, detector, rng)
    pool = candidates(scenes, instance_of, seen)
    chosen = queries(pool, seen, detector, rng)
    pair, hoi, verb_score = _verb_scores(scenes.vocabulary, seen, pool, chosen, detector, rng)
    columns = _boxes(seen, pool.human[chosen], pool.object[chosen], sizes, detector, rng)

    verb = scenes.vocabulary.class_verb[hoi]
    human, object_box = columns["pair_human"], columns["pair_object"]
    together = columns["box_score"][human] * columns["box_score"][object_box]
    score = together[pair] * verb_score
    image = pool.image[chosen]
    order = np.lexsort((-score, image[pair]))
    order = order[place_in_group(image[pair[order]]) < detector.triplets]
    return columns | {
        "pair_score": _pair_scores(pair, verb, verb_score, len(chosen), scenes.vocabulary),
        "triplet_pair": pair[order].astype(np.int32),
        "triplet_verb": verb[order].astype(np.int32),
        "triplet_score": score[order],
        "triplet_action_score": verb_score[order],
    }


def _verb_scores(
    vocabulary: Vocabulary,
    seen: Sightings,
    pool: CandidatePairs,
    chosen: IntArray,
    detector: Detector,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Score every verb that is possible with the object of each chosen pair.

    Returns
    -------
    pair, hoi : (K,) int array
        Row of ``chosen``, and HOI class.
    score : (K,) float64 array
        Verb score in (0, 1).
    """
    by_object = np.argsort(vocabulary.class_object, kind="stable")
    in_order = vocabulary.class_object[by_object]
    label = seen.label[pool.object]
    start = np.searchsorted(in_order, label)
    count = np.searchsorted(in_order, label, side="right") - start
    candidate, row = expand(start, count)
    hoi = by_object[row]

    background = (seen.instance[pool.human] < 0) | (seen.instance[pool.object] < 0)
    rate = np.where(background, detector.false_pairs, detector.association)
    mistaken = ~pool.joined & (rng.random(len(label)) < rate)
    right = pool.verb_sets[pool.verbs[candidate], vocabulary.class_verb[hoi]]
    confused = ~right & (rng.random(len(hoi)) < detector.confused_verbs)
    logit = np.where(right, RIGHT, np.where(confused, RIGHT - LESS_CONFUSED, WRONG))
    if vocabulary.rare is not None:
        logit -= detector.rare_penalty * (right & vocabulary.rare[hoi])
    logit -= (np.where(mistaken, LESS_MISTAKEN, LESS_IDLE) * ~pool.joined)[candidate]
    logit += rng.normal(0, detector.score_noise, len(hoi))

    pair, row = expand((np.cumsum(count) - count)[chosen], count[chosen])
    noise = rng.normal(0, OWN_NOISE * detector.score_noise, len(row))
    return pair, hoi[row], sigmoid(logit[row] + noise)


def _pair_scores(
    pair: IntArray, verb: IntArray, score: FloatArray, pairs: int, vocabulary: Vocabulary
) -> FloatArray:
    """Take the highest score of a real verb of each pair."""
    best = np.full(pairs, LEAST_PAIR_SCORE)
    real = verb != vocabulary.no_interaction
    np.maximum.at(best, pair[real], score[real])
    return best


def _boxes(
    seen: Sightings,
    human: IntArray,
    object_box: IntArray,
    sizes: IntArray,
    detector: Detector,
    rng: np.random.Generator,
) -> Columns:
    """Make the box and pair columns: one list of boxes, or two boxes of its own for every pair."""
    if not detector.shared_boxes:
        seen = seen.take(np.stack([human, object_box], axis=1).ravel())
        number = np.arange(len(seen.image))
        human, object_box = number[0::2], number[1::2]
        noise = rng.normal(0, OWN_NOISE * detector.score_noise, len(number))
        amount = OWN_JITTER * detector.localisation
        xyxy = jitter(seen.xyxy, sizes[seen.image], amount, rng)
        seen = replace(seen, xyxy=xyxy, logit=seen.logit + noise)
    return {
        "box_image": seen.image.astype(np.int32),
        "box_xyxy": seen.xyxy,
        "box_label": seen.label.astype(np.int32),
        "box_score": sigmoid(seen.logit),
        "pair_human": human.astype(np.int32),
        "pair_object": object_box.astype(np.int32),
    }


def _sizes(scenes: Scenes) -> IntArray:
    """Width and height of each image, at least as large as its boxes reach."""
    reach = np.ones((len(scenes), 2), dtype=np.int64)
    corners = np.ceil(scenes.box_xyxy[:, 2:]).astype(np.int64) + 1
    np.maximum.at(reach, scenes.box_image, corners)
    if scenes.sizes is None:
        return reach
    return np.where(scenes.sizes > 0, scenes.sizes, reach)


def _chain(parts: list[Columns], images: list[int]) -> Columns:
    """Put the columns of consecutive images together; references are raised accordingly."""
    sizes_of_tables = {
        "box_image": images,
        "pair_human": [len(part["box_image"]) for part in parts],
        "pair_object": [len(part["box_image"]) for part in parts],
        "triplet_pair": [len(part["pair_human"]) for part in parts],
    }
    chained: Columns = {}
    for column in parts[0]:
        values = [part[column] for part in parts]
        if column in sizes_of_tables:
            shifts = np.cumsum([0, *sizes_of_tables[column][:-1]])
            values = [value + np.int32(by) for value, by in zip(values, shifts, strict=True)]
        chained[column] = np.concatenate(values)
    return chained
