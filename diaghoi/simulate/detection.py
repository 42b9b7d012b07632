"""What a simulated detector predicts on annotated scenes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    expand,
    place_in_group,
    runs,
    slices,
)
from diaghoi.data.boxes import instances
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.simulate.detector import Detector
from diaghoi.simulate.sightings import Sightings, jitter, sight

IMAGES_AT_ONCE = 512  # bounds the memory; another number gives other random draws

# Logits of verb scores: for right and wrong verbs of pairs that are taken for an interaction, and
# how much less a wrong verb that is believed, a pair that is joined by mistake and a pair that is
# not taken for an interaction get.
RIGHT, WRONG = 0.6, -1.9
LESS_CONFUSED, LESS_MISTAKEN, LESS_IDLE = 0.4, 0.4, 0.9
LEAST_PAIR_SCORE = 1e-4  # where the object is of no HOI class with a real verb
OWN_JITTER = 0.5  # of a pair's own boxes, besides that of the sighting
OWN_NOISE = 0.4  # of a query's own scores, besides that of the candidate pair
# How much queries are drawn to pairs that do not interact, with 0, 1 and 2 boxes of background.
APPEAL = (1.0, 0.65, 0.13)


def _sigmoid(logit: FloatArray) -> FloatArray:
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
    return Scenes.concatenate(
        _detect(annotations.between(part.start, part.stop), detector, rng)
        for part in slices(len(annotations), IMAGES_AT_ONCE)
    )


def _detect(scenes: Scenes, detector: Detector, rng: np.random.Generator) -> Scenes:
    """Simulate the predictions on some images."""
    sizes = _sizes(scenes)
    instance_of = instances(scenes)
    seen = sight(scenes, instance_of, sizes, detector, rng)
    pool = _candidates(scenes, instance_of, seen)
    chosen = _queries(pool, seen, detector, rng)
    pair, hoi, verb_score = _verb_scores(scenes.vocabulary, seen, pool, chosen, detector, rng)
    boxes, human, object_box = _boxes(
        seen, pool.human[chosen], pool.object[chosen], sizes, detector, rng
    )

    verb = scenes.vocabulary.class_verb[hoi]
    box_score = _sigmoid(boxes.logit)
    score = (box_score[human] * box_score[object_box])[pair] * verb_score
    image = pool.image[chosen]
    order = np.lexsort((-score, image[pair]))
    order = order[place_in_group(image[pair[order]]) < detector.triplets]
    pair_score = np.full(len(chosen), LEAST_PAIR_SCORE)
    real = verb != scenes.vocabulary.no_interaction
    np.maximum.at(pair_score, pair[real], verb_score[real])
    return Scenes(
        vocabulary=scenes.vocabulary,
        names=scenes.names,
        sizes=scenes.sizes,
        source=f"simulated detector '{detector.name}'",
        box_image=boxes.image.astype(np.int32),
        box_xyxy=boxes.xyxy,
        box_label=boxes.label.astype(np.int32),
        box_score=box_score,
        pair_human=human.astype(np.int32),
        pair_object=object_box.astype(np.int32),
        pair_score=pair_score,
        triplet_pair=pair[order].astype(np.int32),
        triplet_verb=verb[order].astype(np.int32),
        triplet_score=score[order],
        triplet_action_score=verb_score[order],
    )


def _verb_scores(
    vocabulary: Vocabulary,
    seen: Sightings,
    pool: _Candidates,
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
    label = seen.label[pool.object]
    start, count = runs(vocabulary.class_object[by_object], label)
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
    return pair, hoi[row], _sigmoid(logit[row] + noise)


def _boxes(
    seen: Sightings,
    human: IntArray,
    object_box: IntArray,
    sizes: IntArray,
    detector: Detector,
    rng: np.random.Generator,
) -> tuple[Sightings, IntArray, IntArray]:
    """Give one list of boxes, or two boxes of its own for every pair, and the rows of each pair."""
    if detector.shared_boxes:
        return seen, human, object_box
    own = seen.take(np.stack([human, object_box], axis=1).ravel())
    number = np.arange(len(own.image))
    noise = rng.normal(0, OWN_NOISE * detector.score_noise, len(number))
    amount = OWN_JITTER * detector.localisation
    xyxy = jitter(own.xyxy, sizes[own.image], amount, rng)
    return own._replace(xyxy=xyxy, logit=own.logit + noise), number[0::2], number[1::2]


def _sizes(scenes: Scenes) -> IntArray:
    """Width and height of each image, at least as large as its boxes reach."""
    reach = np.ones((len(scenes), 2), dtype=np.int64)
    corners = np.ceil(scenes.box_xyxy[:, 2:]).astype(np.int64) + 1
    np.maximum.at(reach, scenes.box_image, corners)
    if scenes.sizes is None:
        return reach
    return np.where(scenes.sizes > 0, scenes.sizes, reach)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Candidates:
    """Pairs of a person and another sighting of the same image, ordered by image.

    Parameters
    ----------
    human, object : (C,) int array
        Rows of the sightings.
    image : (C,) int array
        Image of each pair.
    joined : (C,) bool array
        Whether the annotations join the two instances.
    verbs : (C,) int array
        Row of ``verb_sets``: the verbs of the pair, or, where it does not interact, those that
        the detector could mistakenly take from the same object with another person, or from the
        same person with another object.
    verb_sets : (K, V) bool array
        Sets of verbs; the last is empty.
    """

    human: IntArray
    object: IntArray
    image: IntArray
    joined: BoolArray
    verbs: IntArray
    verb_sets: BoolArray


def _candidates(scenes: Scenes, instance_of: IntArray, seen: Sightings) -> _Candidates:
    """Pair every person with everything else in its image, and look the truth up."""
    persons = np.flatnonzero(seen.label == scenes.vocabulary.person)
    owner, other = expand(*runs(seen.image, seen.image[persons]))
    human = persons[owner]
    same_instance = (seen.instance[human] == seen.instance[other]) & (seen.instance[other] >= 0)
    different = (human != other) & ~same_instance
    human, other = human[different], other[different]

    boxes = np.int64(len(scenes.box_image))
    pair_key = instance_of[scenes.pair_human] * boxes + instance_of[scenes.pair_object]
    keys, pair_sets = _sets(pair_key, scenes)
    wanted = seen.instance[human] * boxes + seen.instance[other]
    wanted[(seen.instance[human] < 0) | (seen.instance[other] < 0)] = -1
    row = _look_up(keys, wanted)
    joined = row < len(keys)

    objects, object_sets = _sets(instance_of[scenes.pair_object], scenes)
    humans, human_sets = _sets(instance_of[scenes.pair_human], scenes)
    of_object = _look_up(objects, seen.instance[other])
    of_human = _look_up(humans, seen.instance[human])
    borrowed = np.where(of_object < len(objects), of_object, len(objects) + 1 + of_human)
    return _Candidates(
        human=human,
        object=other,
        image=seen.image[human],
        joined=joined,
        verbs=np.where(joined, row, len(keys) + 1 + borrowed),
        verb_sets=np.concatenate([pair_sets, object_sets, human_sets]),
    )


def _queries(
    pool: _Candidates, seen: Sightings, detector: Detector, rng: np.random.Generator
) -> IntArray:
    """Choose the pairs that the detector puts forward: rows of the candidates, by image."""
    if not detector.shared_boxes:
        return _drawn(pool, seen, detector, rng)
    order = np.lexsort((-(seen.logit[pool.human] + seen.logit[pool.object]), pool.image))
    return np.sort(order[place_in_group(pool.image[order]) < detector.pairs])


def _drawn(
    pool: _Candidates, seen: Sightings, detector: Detector, rng: np.random.Generator
) -> IntArray:
    """Draw the answers of a fixed number of queries, with repetition, in random order."""
    real = np.flatnonzero(pool.joined)
    real = np.repeat(real, 1 + rng.poisson(detector.duplicates, len(real)))
    copy = place_in_group(real)
    real = real[np.lexsort((copy, pool.image[real]))]
    real = real[place_in_group(pool.image[real]) < detector.pairs]

    others = np.flatnonzero(~pool.joined)
    background = (seen.instance[pool.human] < 0).astype(int) + (seen.instance[pool.object] < 0)
    appeal = np.array(APPEAL)[background]
    images = 1 + int(pool.image.max(initial=-1))
    left = detector.pairs - np.bincount(pool.image[real], minlength=images)
    chosen = np.concatenate([real, others[_spread(pool.image[others], appeal[others], left, rng)]])
    return chosen[np.lexsort((rng.random(len(chosen)), pool.image[chosen]))]


def _spread(
    image: IntArray, appeal: FloatArray, draws: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw rows of each image in proportion to their appeal, spread evenly over them."""
    total = np.concatenate([[0.0], np.cumsum(appeal)])
    first, count = runs(image, np.arange(len(draws)))
    last = first + count
    owner, place = expand(np.zeros(len(draws), dtype=np.int64), np.where(count > 0, draws, 0))
    share = (place + rng.random(len(place))) / np.maximum(draws[owner], 1)
    point = total[first[owner]] + share * (total[last] - total[first])[owner]
    row = np.searchsorted(total, point, side="right") - 1
    return np.asarray(np.clip(row, first[owner], last[owner] - 1))


def _sets(key_of_pair: IntArray, scenes: Scenes) -> tuple[IntArray, BoolArray]:
    """Collect the verbs of the pairs with equal keys: sorted keys, sets and an empty set."""
    whole = scenes.pair_object[scenes.triplet_pair] >= 0
    keys, row = np.unique(key_of_pair[scenes.triplet_pair[whole]], return_inverse=True)
    sets = np.zeros((len(keys) + 1, len(scenes.vocabulary.verbs)), dtype=bool)
    sets[row, scenes.triplet_verb[whole]] = True
    return keys, sets


def _look_up(keys: IntArray, wanted: IntArray) -> IntArray:
    """Row of each wanted key among sorted keys; ``len(keys)`` where it is absent."""
    row, count = runs(keys, wanted)
    return np.where(count > 0, row, len(keys))
