"""Which pairs of sightings a simulated detector puts forward, and what is true about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, expand, place_in_group
from diaghoi.data.scenes import Scenes
from diaghoi.simulate.detector import Detector
from diaghoi.simulate.sightings import Sightings

# How much queries are drawn to pairs that do not interact, with 0, 1 and 2 boxes of background.
APPEAL = (1.0, 0.65, 0.13)


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidatePairs:
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


def candidates(scenes: Scenes, instance_of: IntArray, seen: Sightings) -> CandidatePairs:
    """Pair every person with everything else in its image, and look the truth up."""
    persons = np.flatnonzero(seen.label == scenes.vocabulary.person)
    start = np.searchsorted(seen.image, seen.image[persons])
    count = np.searchsorted(seen.image, seen.image[persons], side="right") - start
    owner, other = expand(start, count)
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
    return CandidatePairs(
        human=human,
        object=other,
        image=seen.image[human],
        joined=joined,
        verbs=np.where(joined, row, len(keys) + 1 + borrowed),
        verb_sets=np.concatenate([pair_sets, object_sets, human_sets]),
    )


def queries(
    pool: CandidatePairs, seen: Sightings, detector: Detector, rng: np.random.Generator
) -> IntArray:
    """Choose the pairs that the detector puts forward: rows of the candidates, by image."""
    if not detector.shared_boxes:
        return _drawn(pool, seen, detector, rng)
    order = np.lexsort((-(seen.logit[pool.human] + seen.logit[pool.object]), pool.image))
    return np.sort(order[place_in_group(pool.image[order]) < detector.pairs])


def _drawn(
    pool: CandidatePairs, seen: Sightings, detector: Detector, rng: np.random.Generator
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
    first = np.searchsorted(image, np.arange(len(draws)))
    last = np.searchsorted(image, np.arange(len(draws)), side="right")
    owner, place = expand(np.zeros(len(draws), dtype=np.int64), np.where(last > first, draws, 0))
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
    row = np.searchsorted(keys, wanted)
    present = np.concatenate([keys, [-2]])[row] == wanted
    return np.where(present, row, len(keys))
