"""Detectors with exactly one fault: nearly perfect ones that are spoilt in one way.

The predictions are made from the annotations: every annotated pair once, with all verbs of its
object, the annotated ones with high scores and the others with low ones. A fault spoils a share of
the pairs (its strength), or all scores or boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from support.scenes import VOCABULARY, image, scenes

from diaghoi import simulate
from diaghoi.data.scenes import Scenes

Box = tuple[float, float, float, float]
VERBS = [
    VOCABULARY.class_verb[(VOCABULARY.class_object == label) & VOCABULARY.interacting].tolist()
    for label in range(len(VOCABULARY.objects))
]


@dataclass
class Pair:
    """A predicted pair: boxes, category of the object, and the score of each of its verbs."""

    human: Box
    thing: Box
    label: int
    scores: dict[int, float]
    right: list[int]


@dataclass
class Image:
    """The predicted pairs of an image, and all that is annotated there: (label, box)."""

    name: str
    pairs: list[Pair] = field(default_factory=list)
    annotated: list[tuple[int, Box]] = field(default_factory=list)


Fault = Callable[[list[Image], float, np.random.Generator], None]


def annotations(seed: int, images: int = 150) -> Scenes:
    """Annotations of simulated images, without `no_interaction`."""
    drawn = simulate.annotations(images, np.random.default_rng(seed))
    real = VOCABULARY.interacting[drawn.triplet_class]
    described = []
    for number, name in enumerate(drawn.names.tolist()):
        boxes = np.flatnonzero(drawn.box_image == number)
        first = int(boxes[0]) if len(boxes) else 0
        rows = np.flatnonzero(real & (drawn.triplet_image == number))
        pairs = drawn.triplet_pair[rows]
        triplets = zip(
            (drawn.pair_human[pairs] - first).tolist(),
            (drawn.pair_object[pairs] - first).tolist(),
            drawn.triplet_verb[rows].tolist(),
            strict=True,
        )
        placed = [(int(drawn.box_label[box]), tuple(drawn.box_xyxy[box].tolist())) for box in boxes]
        described.append(image(name, placed, list(triplets)))
    return scenes(described, scored=False)


def detected(truth: Scenes, rng: np.random.Generator) -> list[Image]:
    """Predictions of a nearly perfect detector."""
    images = [Image(name) for name in truth.names.tolist()]
    for label, box, number in zip(
        truth.box_label.tolist(), truth.box_xyxy.tolist(), truth.box_image.tolist(), strict=True
    ):
        images[number].annotated.append((label, tuple(box)))
    right: dict[tuple[int, int], list[int]] = {}
    for pair, verb in zip(truth.triplet_pair.tolist(), truth.triplet_verb.tolist(), strict=True):
        right.setdefault((truth.pair_human[pair], truth.pair_object[pair]), []).append(verb)
    for (human, thing), verbs in right.items():
        label = int(truth.box_label[thing])
        scores = {
            verb: rng.uniform(0.4, 1.0) if verb in verbs else rng.uniform(0.0, 0.2)
            for verb in VERBS[label]
        }
        near = [_jittered(truth.box_xyxy[box], rng) for box in (human, thing)]
        images[truth.box_image[human]].pairs.append(Pair(*near, label, scores, verbs))
    return images


def predictions(images: list[Image]) -> Scenes:
    """Write predictions down."""
    described = []
    for one in images:
        boxes: list[Any] = []
        triplets = []
        for pair in one.pairs:
            boxes += [(VOCABULARY.person, pair.human), (pair.label, pair.thing)]
            at = len(boxes)
            triplets += [
                (at - 2, at - 1, verb, score, score) for verb, score in pair.scores.items()
            ]
        described.append(image(one.name, boxes, triplets))
    return scenes(described, scored=True)


def _jittered(box: Any, rng: np.random.Generator) -> Box:
    left, top, right, bottom = np.asarray(box, dtype=float)
    size = np.array([right - left, bottom - top, right - left, bottom - top])
    return tuple((np.asarray(box) + rng.normal(0, 0.02, 4) * size).tolist())


def _away(box: Box) -> Box:
    wide = box[2] - box[0] + 1
    return (box[0] + 3000 + wide, box[1], box[2] + 3000 + wide, box[3])


def _chosen(images: list[Image], strength: float, rng: np.random.Generator) -> list[Any]:
    found = [(one, pair) for one in images for pair in one.pairs]
    return [each for each in found if rng.random() < strength]


def human_box(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, strength, rng):
        pair.human = _away(pair.human)


def object_box(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    for _, pair in _chosen(images, strength, rng):
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
            near = [_jittered(box, rng) for box in (pair.human, pair.thing)]
            one.pairs.append(Pair(*near, pair.label, sure, pair.right))


def association(images: list[Image], strength: float, rng: np.random.Generator) -> None:
    """The person is joined with another annotated object, of the same category if there is one."""
    for one, pair in _chosen(images, strength, rng):
        others = [
            (label, box)
            for label, box in one.annotated
            if label != VOCABULARY.person and all(_apart(box, each.thing) for each in one.pairs)
        ]
        if not others:
            continue
        label, box = others[int(rng.integers(len(others)))]
        sure = sorted(pair.scores.values())[-len(pair.right) :]
        verbs = rng.permutation(VERBS[label])[: len(sure)].tolist()
        pair.thing, pair.label = _jittered(box, rng), label
        pair.scores = dict(zip(verbs, sure, strict=False))


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
    """Motorcycles are called bicycles; verbs that bicycles lack are gone."""
    motorcycle, bicycle = (VOCABULARY.objects.index(name) for name in ("motorcycle", "bicycle"))
    for _, pair in _chosen(images, strength, rng):
        if pair.label == motorcycle:
            pair.label = bicycle
            pair.scores = {v: s for v, s in pair.scores.items() if v in VERBS[bicycle]}
