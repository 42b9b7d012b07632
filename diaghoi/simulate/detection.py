"""Simulate what a detector sees in annotated scenes, and what it predicts."""

from __future__ import annotations

from typing import NamedTuple

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

IMAGES_AT_ONCE = 512  # limits memory; another number changes the random draws

# Logits of verb scores for right and wrong verbs of pairs that are taken for an interaction, and
# reductions of the logits for a wrong verb taken for a right verb, for a pair joined by mistake,
# and for a pair that is not taken for an interaction.
RIGHT, WRONG = 0.6, -1.9
LESS_CONFUSED, LESS_MISTAKEN, LESS_IDLE = 0.4, 0.4, 0.9
LEAST_PAIR_SCORE = 1e-4  # score of a pair whose object occurs only with no_interaction
OWN_JITTER = 0.5  # relative jitter of a pair's own boxes, added to the sighting's jitter
OWN_NOISE = 0.4  # relative noise of a query's own scores, added to the candidate pair's noise
# Weights with which queries draw pairs that do not interact, with 0, 1 and 2 background boxes.
APPEAL = (1.0, 0.65, 0.13)
FAR_OFF = 0.6  # shift of a misplaced box, in widths and heights
MOST_OF_A_KIND = 15  # maximum number of persons, and of other objects, kept per image

# Logits of box scores, for instances and for background.
INSTANCE_LOGIT = 1.8
BACKGROUND_LOGIT = -1.0
# Shares of background boxes labelled as a person, and as the category of an instance in the image;
# the rest get a random category.
BACKGROUND_PERSONS, BACKGROUND_FAMILIAR = 0.17, 0.5


def _sigmoid(logit: FloatArray) -> FloatArray:
    """Turn logits into scores strictly between 0 and 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -12.0, 12.0))))


def detect(annotations: Scenes, detector: Detector, rng: np.random.Generator) -> Scenes:
    """Simulate the predictions of a detector on simulated or real annotated scenes.

    Boxes, labels, pairs and verbs are wrong at the detector's rates. Each wrong triplet arises as
    it would in a real detector (from a misplaced box, an object joined with the wrong person, a
    pair found twice, ...) and has a plausible score.

    Parameters
    ----------
    annotations : Scenes
        The ground truth. Boxes of a category with an IoU of 0.6 or more count as one instance,
        because data sets that annotate every triplet separately draw one person several times.
    detector : Detector
        Error rates, for example :data:`~diaghoi.simulate.TWO_STAGE`.
    rng : numpy.random.Generator
        The only source of randomness: equal seeds give equal scenes.

    Returns
    -------
    Scenes
        Predictions on the same images. All pairs are listed, with the highest score of a verb other
        than `no_interaction` as ``pair_score``. The triplets are the best of each image in
        descending order of score (human score x object score x verb score), and belong to HOI
        classes only. All scores lie in (0, 1), and all boxes lie inside their images.
    """
    return Scenes.concatenate(
        _detect(annotations.between(part.start, part.stop), detector, rng)
        for part in slices(len(annotations), IMAGES_AT_ONCE)
    )


def _detect(scenes: Scenes, detector: Detector, rng: np.random.Generator) -> Scenes:
    """Simulate the predictions for a block of images."""
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
    """Score every possible verb for the object of each chosen pair.

    Return rows of ``chosen``, HOI classes, and verb scores in (0, 1).
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
    """Return boxes (shared, or two for each pair), and the rows of each pair's two boxes."""
    if detector.shared_boxes:
        return seen, human, object_box
    own = seen.take(np.stack([human, object_box], axis=1).ravel())
    number = np.arange(len(own.image))
    noise = rng.normal(0, OWN_NOISE * detector.score_noise, len(number))
    amount = OWN_JITTER * detector.localisation
    xyxy = jitter(own.xyxy, sizes[own.image], amount, rng)
    return own._replace(xyxy=xyxy, logit=own.logit + noise), number[0::2], number[1::2]


def _sizes(scenes: Scenes) -> IntArray:
    """Return the width and height of each image; if unknown, the extent of its boxes."""
    reach = np.ones((len(scenes), 2), dtype=np.int64)
    corners = np.ceil(scenes.box_xyxy[:, 2:]).astype(np.int64) + 1
    np.maximum.at(reach, scenes.box_image, corners)
    if scenes.sizes is None:
        return reach
    return np.where(scenes.sizes > 0, scenes.sizes, reach)


class _Candidates(NamedTuple):
    """Pairs of a person and another sighting in the same image, ordered by image.

    ``human`` and ``object`` are rows of the sightings; ``joined`` tells whether the annotations
    join the two instances; ``verbs`` are rows of ``verb_sets`` (K, V), whose last row is empty. The
    row of a pair holds the verbs of the pair or, if the pair does not interact, the verbs that the
    detector could mistakenly take from the same object with another person, or from the same person
    with another object.
    """

    human: IntArray
    object: IntArray
    image: IntArray
    joined: BoolArray
    verbs: IntArray
    verb_sets: BoolArray


def _candidates(scenes: Scenes, instance_of: IntArray, seen: Sightings) -> _Candidates:
    """Pair every person with everything else in the image, and look up the true verbs."""
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
    """Choose the pairs that the detector proposes, as rows of the candidates ordered by image.

    With shared boxes, the detector proposes the best pairs. Otherwise, a fixed number of queries
    draw pairs with repetition, and the drawn pairs are in random order.
    """
    if detector.shared_boxes:
        order = np.lexsort((-(seen.logit[pool.human] + seen.logit[pool.object]), pool.image))
        return np.sort(order[place_in_group(pool.image[order]) < detector.pairs])
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
    """Draw rows of each image in proportion to their appeal, by systematic sampling."""
    total = np.concatenate([[0.0], np.cumsum(appeal)])
    first, count = runs(image, np.arange(len(draws)))
    last = first + count
    owner, place = expand(np.zeros(len(draws), dtype=np.int64), np.where(count > 0, draws, 0))
    share = (place + rng.random(len(place))) / np.maximum(draws[owner], 1)
    point = total[first[owner]] + share * (total[last] - total[first])[owner]
    row = np.searchsorted(total, point, side="right") - 1
    return np.asarray(np.clip(row, first[owner], last[owner] - 1))


def _sets(key_of_pair: IntArray, scenes: Scenes) -> tuple[IntArray, BoolArray]:
    """Return sorted distinct keys, and the set of verbs of each key, followed by an empty set."""
    whole = scenes.pair_object[scenes.triplet_pair] >= 0
    keys, row = np.unique(key_of_pair[scenes.triplet_pair[whole]], return_inverse=True)
    sets = np.zeros((len(keys) + 1, len(scenes.vocabulary.verbs)), dtype=bool)
    sets[row, scenes.triplet_verb[whole]] = True
    return keys, sets


def _look_up(keys: IntArray, wanted: IntArray) -> IntArray:
    """Return the row of each wanted key among sorted keys; ``len(keys)`` if it is absent."""
    row, count = runs(keys, wanted)
    return np.where(count > 0, row, len(keys))


class Sightings(NamedTuple):
    """Boxes that a detector sees, ordered by image.

    Parameters
    ----------
    image, label : (S,) int array
        Image, and the category that the detector assigns.
    instance : (S,) int array
        Index of the first annotated box of the instance; -1 for background.
    xyxy : (S, 4) float64 array
        Box in pixels.
    logit : (S,) float64 array
        Logit of the score.
    """

    image: IntArray
    label: IntArray
    instance: IntArray
    xyxy: FloatArray
    logit: FloatArray

    def take(self, rows: IntArray) -> Sightings:
        """Return a copy with the given rows."""
        return Sightings._make(column[rows] for column in self)


def sight(
    scenes: Scenes,
    instance_of: IntArray,
    sizes: IntArray,
    detector: Detector,
    rng: np.random.Generator,
) -> Sightings:
    """Simulate the boxes in each image: instances, some twice or misplaced, and background."""
    instance = np.flatnonzero(instance_of == np.arange(len(instance_of)))
    person = scenes.box_label[instance] == scenes.vocabulary.person
    missed = np.where(person, detector.missed_persons, detector.missed_objects)
    instance = instance[rng.random(len(instance)) >= missed]
    found = _found(scenes, instance, detector, rng)
    missing = detector.boxes - np.bincount(found.image, minlength=len(scenes))
    hidden = _background(scenes, np.maximum(missing, 0), sizes, rng)
    both = Sightings._make(map(np.concatenate, zip(found, hidden, strict=True)))
    logit = both.logit + rng.normal(0, 0.5 * detector.score_noise, len(both.logit))
    xyxy = jitter(both.xyxy, sizes[both.image], detector.localisation, rng)
    order = np.lexsort((-logit, both.image))
    seen = both._replace(xyxy=xyxy, logit=logit).take(order)
    # Detectors keep the best persons and the best other boxes of each image.
    kind = seen.image * 2 + (seen.label == scenes.vocabulary.person)
    order = np.argsort(kind, kind="stable")
    return seen.take(np.sort(order[place_in_group(kind[order]) < MOST_OF_A_KIND]))


def jitter(
    xyxy: FloatArray, sizes: IntArray, amount: float, rng: np.random.Generator
) -> FloatArray:
    """Move box edges within the images by noise that is relative to width and height."""
    span = np.maximum(xyxy[:, 2:] - xyxy[:, :2], 1.0)
    edges = xyxy + rng.normal(size=xyxy.shape) * amount * np.tile(span, 2)
    return inside(edges, sizes)


def inside(xyxy: FloatArray, sizes: IntArray) -> FloatArray:
    """Clip boxes to their images, keeping each box at least one pixel wide and high."""
    largest = np.maximum(sizes - 1.0, 0.0)
    low = np.minimum(xyxy[:, :2], xyxy[:, 2:])
    high = np.maximum(xyxy[:, :2], xyxy[:, 2:])
    low = np.clip(low, 0, np.maximum(largest - 1, 0))
    high = np.clip(high, np.minimum(low + 1, largest), largest)
    return np.concatenate([low, high], axis=1)


def _found(
    scenes: Scenes, instance: IntArray, detector: Detector, rng: np.random.Generator
) -> Sightings:
    """Draw boxes for the given instances; with shared boxes, some instances get several boxes."""
    again = np.zeros(len(instance), dtype=np.int64)
    if detector.shared_boxes:
        again = rng.poisson(detector.duplicates, len(instance))
    owner = np.repeat(np.arange(len(instance)), 1 + again)
    repeated = place_in_group(owner) > 0
    label = _confused(scenes.box_label[instance], scenes.vocabulary, detector.confused_labels, rng)

    xyxy = np.asarray(scenes.box_xyxy[instance], dtype=np.float64)
    far = rng.random(len(instance)) < detector.misplaced
    shape = (len(instance), 2)
    shift = FAR_OFF * rng.uniform(0.7, 1.3, shape) * rng.choice([-1, 1], shape)
    step = shift * (xyxy[:, 2:] - xyxy[:, :2]) * far[:, None]
    return Sightings(
        image=scenes.box_image[instance][owner].astype(np.int64),
        label=label[owner],
        instance=instance[owner],
        xyxy=(xyxy + np.tile(step, 2))[owner],
        logit=INSTANCE_LOGIT - 0.8 * far[owner] - 0.7 * repeated,
    )


def _confused(
    label: IntArray, vocabulary: Vocabulary, rate: float, rng: np.random.Generator
) -> IntArray:
    """Give some objects the label of a neighbour in the category list, often a similar category."""
    others = np.setdiff1d(np.unique(vocabulary.class_object), [vocabulary.person])
    confused = (label != vocabulary.person) & (rng.random(len(label)) < rate) & (len(others) > 1)
    shift = rng.integers(1, 4, size=len(label)) * rng.choice([-1, 1], size=len(label))
    neighbour = others[(np.searchsorted(others, label) + shift) % len(others)]
    return np.where(confused, neighbour, label)


def _background(
    scenes: Scenes, boxes_an_image: IntArray, sizes: IntArray, rng: np.random.Generator
) -> Sightings:
    """Draw background boxes, half of them anywhere and half near an instance in the image."""
    image = np.repeat(np.arange(len(scenes)), rng.binomial(boxes_an_image, 0.9))
    size = sizes[image].astype(np.float64)
    vocabulary = scenes.vocabulary
    number = len(image)

    # Images without boxes use an extra row after the last box.
    labels = np.append(scenes.box_label, vocabulary.person)
    boxes = np.concatenate([scenes.box_xyxy, np.zeros((1, 4))])
    first, count = runs(scenes.box_image, image)
    some = first + (rng.random(number) * count).astype(np.int64)

    choice = rng.random(number)
    label = rng.choice(np.unique(vocabulary.class_object), size=number)
    familiar = (choice < BACKGROUND_PERSONS + BACKGROUND_FAMILIAR) & (count > 0)
    label = np.where(familiar, labels[some], label)
    label = np.where(choice < BACKGROUND_PERSONS, vocabulary.person, label)

    corner, width = boxes[some, :2], boxes[some, 2:] - boxes[some, :2]
    part = width * rng.uniform(0.25, 0.6, (number, 2))
    anything = size * np.exp(rng.normal(np.log(0.25), 0.6, (number, 2))).clip(0.03, 0.9)
    near = ((rng.random(number) < 0.5) & (count > 0))[:, None]
    span = np.where(near, part, anything)
    place = rng.random((number, 2))
    centre = np.where(near, corner + width * place, size * place)
    return Sightings(
        image=image,
        label=label,
        instance=np.full(number, -1),
        xyxy=inside(np.concatenate([centre - span / 2, centre + span / 2], axis=1), sizes[image]),
        logit=np.full(number, BACKGROUND_LOGIT),
    )
