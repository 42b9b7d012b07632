"""Detectors with exactly one fault: nearly perfect ones that are spoilt in one way.

The predictions are made from the annotations: every annotated pair once, with all verbs of its
object, the annotated ones with high scores and the others with low ones. A fault spoils a share of
the pairs (its strength), or all scores or boxes. In V-COCO, a pair is a person with the object of
some roles, and the verbs are roles; a person without an object has all verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from support.scenes import image, scenes

from diaghoi import simulate
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary

Box = tuple[float, float, float, float]
# The annotated and the predicted category of objects that are taken for others; motorcycles and
# bicycles in HICO-DET.
TAKEN = 3, 1


@dataclass
class Pair:
    """A predicted pair: boxes, category of the object, and the score of each of its verbs.

    ``thing`` is None where a role has no object, ``person`` the number of the annotated person.
    """

    person: int
    human: Box
    thing: Box | None
    label: int
    scores: dict[int, float]
    right: list[int]


@dataclass
class Image:
    """The predicted pairs of an image, and all that is annotated there: (label, box)."""

    name: str
    pairs: list[Pair] = field(default_factory=list)
    annotated: list[tuple[int, Box]] = field(default_factory=list)


FAINT = 0.2
"""The highest score of a verb that is not annotated."""

Fault = Callable[[list[Image], float, np.random.Generator], None]


def verbs_of(vocabulary: Vocabulary, label: int) -> list[int]:
    """Verbs of an object, or of a role without one (-1); in V-COCO all roles."""
    if vocabulary.agents is not None:
        return np.flatnonzero(~vocabulary.agents | (label < 0)).tolist()
    real = vocabulary.interacting & (vocabulary.class_object == label)
    return vocabulary.class_verb[real].tolist()


def annotations(vocabulary: Vocabulary, seed: int, images: int = 150) -> Scenes:
    """Annotations of simulated images, without `no_interaction`, with numbers far apart."""
    rng = np.random.default_rng(seed)
    if vocabulary.agents is not None:
        drawn = simulate.v_coco_annotations(images, rng)
        # Without sizes: boxes that are a little off may reach outside their image.
        names = np.array([str(10 * number) for number in range(1, images + 1)])
        return replace(drawn, names=names, sizes=None)
    drawn = simulate.annotations(images, rng, vocabulary)
    real = vocabulary.interacting[drawn.triplet_class]
    return replace(scenes(_described(drawn, real), scored=False), vocabulary=vocabulary)


def people_twice(truth: Scenes, strength: float) -> Scenes:
    """Annotate a share of the people again, a tenth shorter, with all that they do."""
    return _with_twins(truth, strength, 0, 0.1)


def objects_beside_each_other(truth: Scenes, strength: float) -> Scenes:
    """Annotate others that overlap a share of the objects by IoU 0.7, with what is done to them."""
    return _with_twins(truth, strength, 1, 0.3)


def _with_twins(truth: Scenes, strength: float, column: int, shorter: float) -> Scenes:
    """Annotate a share of the boxes in a column of the triplets again, and their triplets."""
    rng = np.random.default_rng(5)
    described = _described(truth, np.ones(len(truth.triplet_pair), dtype=bool))
    for one in described:
        boxes, triplets = one["boxes"], one["triplets"]
        for box in sorted({row[column] for row in triplets} - {-1}):
            if rng.random() < strength:
                label, (left, top, right, bottom) = boxes[box]
                boxes.append((label, (left, top, right, bottom - (bottom - top) * shorter)))
                again = [row for row in triplets if row[column] == box]
                triplets += [(*r[:column], len(boxes) - 1, *r[column + 1 :]) for r in again]
    return replace(scenes(described, scored=False), vocabulary=truth.vocabulary)


def verbs_left_out(truth: Scenes, strength: float) -> Scenes:
    """Leave out a share of the annotated verbs of pairs that have others."""
    rng = np.random.default_rng(5)
    pair = truth.triplet_pair
    several = (pair[1:] == pair[:-1]) & (truth.pair_object[pair[1:]] >= 0)
    kept = np.append(True, ~several | (rng.random(len(several)) >= strength))
    return replace(truth, triplet_pair=pair[kept], triplet_verb=truth.triplet_verb[kept])


def _described(drawn: Scenes, kept: Any) -> list[dict[str, Any]]:
    described = []
    for number, name in enumerate(drawn.names.tolist()):
        boxes = np.flatnonzero(drawn.box_image == number)
        first = int(boxes[0]) if len(boxes) else 0
        rows = np.flatnonzero(kept & (drawn.triplet_image == number))
        pairs = drawn.triplet_pair[rows]
        things = drawn.pair_object[pairs]
        triplets = zip(
            (drawn.pair_human[pairs] - first).tolist(),
            np.where(things < 0, -1, things - first).tolist(),
            drawn.triplet_verb[rows].tolist(),
            strict=True,
        )
        placed = [(int(drawn.box_label[box]), tuple(drawn.box_xyxy[box].tolist())) for box in boxes]
        described.append(image(name, placed, list(triplets)))
    return described


def detected(truth: Scenes, rng: np.random.Generator) -> list[Image]:
    """Predictions of a nearly perfect detector."""
    images = [Image(name) for name in truth.names.tolist()]
    anywhere = truth.vocabulary.agents is not None
    for label, box, number in zip(
        truth.box_label.tolist(), truth.box_xyxy.tolist(), truth.box_image.tolist(), strict=True
    ):
        images[number].annotated.append((label, tuple(box)))
    right: dict[tuple[int, int], list[int]] = {}
    for pair, verb in zip(truth.triplet_pair.tolist(), truth.triplet_verb.tolist(), strict=True):
        right.setdefault((truth.pair_human[pair], truth.pair_object[pair]), []).append(verb)
    for (human, thing), verbs in right.items():
        label = -1 if thing < 0 else int(truth.box_label[thing])
        scores = {
            verb: rng.uniform(0.4, 1.0) if verb in verbs else rng.uniform(0.0, FAINT)
            for verb in verbs_of(truth.vocabulary, label)
        }
        near = [None if box < 0 else _jittered(truth.box_xyxy[box], rng) for box in (human, thing)]
        pair = Pair(int(human), *near, -1 if anywhere else label, scores, verbs)
        images[truth.box_image[human]].pairs.append(pair)
    return images


def without_faint_verbs(images: list[Image]) -> None:
    """Keep what a detector is sure of: the verbs that are not annotated have low scores."""
    for one in images:
        for pair in one.pairs:
            pair.scores = {verb: score for verb, score in pair.scores.items() if score > FAINT}


def predictions(vocabulary: Vocabulary, images: list[Image]) -> Scenes:
    described = []
    for one in images:
        boxes: list[Any] = []
        triplets = []
        for pair in one.pairs:
            at = len(boxes)
            boxes.append((vocabulary.person, pair.human))
            boxes += [] if pair.thing is None else [(pair.label, pair.thing)]
            other = -1 if pair.thing is None else at + 1
            triplets += [(at, other, verb, score, score) for verb, score in pair.scores.items()]
        described.append(image(one.name, boxes, triplets))
    return replace(scenes(described, scored=True), vocabulary=vocabulary)


def _jittered(box: Any, rng: np.random.Generator) -> Box:
    left, top, right, bottom = np.asarray(box, dtype=float)
    size = np.array([right - left, bottom - top, right - left, bottom - top])
    return tuple((np.asarray(box) + rng.normal(0, 0.02, 4) * size).tolist())


def _away(box: Any) -> Any:
    if box is None:
        return None
    wide = box[2] - box[0] + 1
    return (box[0] + 3000 + wide, box[1], box[2] + 3000 + wide, box[3])


def _chosen(
    images: list[Image], strength: float, rng: np.random.Generator, *, boxed: bool = False
) -> list[Any]:
    found = [
        (one, pair) for one in images for pair in one.pairs if pair.thing is not None or not boxed
    ]
    return [each for each in found if rng.random() < strength]


def human_box(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, strength, rng):
        pair.human = _away(pair.human)


def object_box(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, strength, rng, boxed=True):
        pair.thing = _away(pair.thing)


def both_boxes(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, strength, rng):
        pair.human, pair.thing = _away(pair.human), _away(pair.thing)


def action(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """The right verbs are not there, and a wrong one is sure."""
    for _, pair in _chosen(images, strength, rng):
        wrong = [verb for verb in pair.scores if verb not in pair.right]
        if not wrong:
            continue
        score = max(pair.scores.values())
        pair.scores = {verb: pair.scores[verb] for verb in wrong}
        pair.scores[int(rng.choice(wrong))] = score


def duplicate(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """Pairs come three times, the copies surer than most others."""
    for one, pair in _chosen(images, strength, rng):
        for _ in range(2):
            sure = {
                verb: rng.uniform(0.7, 1.0)
                for verb, score in pair.scores.items()
                if verb in pair.right and score
            }
            near = [box and _jittered(box, rng) for box in (pair.human, pair.thing)]
            one.pairs.append(Pair(pair.person, *near, pair.label, sure, pair.right))


def association(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """The person does the same with another annotated object of the category (of any in V-COCO)."""
    for one, pair in _chosen(images, strength, rng, boxed=True):
        own = [each.thing for each in one.pairs if each.person == pair.person and each.thing]
        others = [
            box
            for label, box in one.annotated
            if pair.label in (label, -1) and all(_apart(box, each) for each in (*own, pair.human))
        ]
        if others:
            pair.thing = _jittered(others[int(rng.integers(len(others)))], rng)


def _apart(one: Box, other: Box) -> bool:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide <= 0 or high <= 0


def dropped_pairs(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for one, pair in _chosen(images, strength, rng):
        one.pairs.remove(pair)


def empty_images(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for one in images:
        if rng.random() < strength:
            one.pairs.clear()


def absent_images(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    images[:] = [one for one in images if rng.random() >= strength]


def inverted_scores(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, 1.0, rng):
        pair.scores = {verb: 1 - score for verb, score in pair.scores.items()}


def random_scores(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, 1.0, rng):
        pair.scores = {verb: rng.random() for verb in pair.scores}


def one_score_per_pair(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, 1.0, rng):
        pair.scores = dict.fromkeys(pair.scores, max(pair.scores.values()))


def narrow_people(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, 1.0, rng):
        left, top, right, bottom = pair.human
        less = strength * (right - left) / 2
        pair.human = (left + less, top, right - less, bottom)


def taken_category(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """Objects of one category are called by another."""
    for _, pair in _chosen(images, strength, rng):
        if pair.label == TAKEN[0]:
            pair.label = TAKEN[1]


def no_role_boxes(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, 1.0, rng):
        pair.thing = None


def person_and_object(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """Person and object are exchanged."""
    for _, pair in _chosen(images, 1.0, rng, boxed=True):
        pair.human, pair.thing = pair.thing, pair.human


def role_boxes_always(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """Roles without an object have a box on some annotated one."""
    for one, pair in _chosen(images, 1.0, rng):
        if pair.thing is None:
            pair.thing = _jittered(one.annotated[int(rng.integers(len(one.annotated)))][1], rng)


def lost_verb(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """The most frequent verb with an object is never predicted."""
    verbs = [verb for _, pair in _chosen(images, 1.0, rng, boxed=True) for verb in pair.right]
    often = int(np.bincount(verbs).argmax())
    for _, pair in _chosen(images, 1.0, rng):
        pair.scores.pop(often, None)


def image_numbers(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """One image keeps its number, the others are off by one."""
    for one in images[1:]:
        one.name = str(int(one.name) + 1)


def overconfident(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    _calibrated(images, rng, 1 - strength)


def underconfident(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    _calibrated(images, rng, 1 / (1 - strength))


def _calibrated(images: list[Image], rng: np.random.Generator, power: float) -> None:
    """One verb per pair, right as often as its score says, and then a power of this score."""
    for _, pair in _chosen(images, 1.0, rng, boxed=True):
        wrong = [verb for verb in pair.scores if verb not in pair.right]
        score = rng.random()
        verb = pair.right[0] if rng.random() < score or not wrong else int(rng.choice(wrong))
        pair.scores = {verb: score**power}
    for one in images:
        one.pairs = [pair for pair in one.pairs if pair.thing is not None]
