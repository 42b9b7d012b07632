"""What a simulated detector sees in each image: boxes with labels, right and wrong ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, place_in_group, runs
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.simulate.detector import Detector

FAR_OFF = 0.6  # shift of a misplaced box, in widths and heights
MOST_OF_A_KIND = 15  # persons, and objects of other categories, that are kept per image

# Logits of box scores: instances, and background by what it is taken for.
INSTANCE_LOGIT = 1.8
BACKGROUND_LOGIT = -1.0
# What background is taken for: shares of persons, of an instance that the image shows, of anything.
BACKGROUND_PERSONS, BACKGROUND_FAMILIAR = 0.17, 0.5


class Sightings(NamedTuple):
    """Boxes as a detector sees them, ordered by image.

    Parameters
    ----------
    image, label : (S,) int array
        Image and believed category.
    instance : (S,) int array
        The annotated instance that is seen, as the first annotated box that shows it; -1 for
        background.
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
        """Return the given rows."""
        return Sightings._make(column[rows] for column in self)


def sight(
    scenes: Scenes,
    instance_of: IntArray,
    sizes: IntArray,
    detector: Detector,
    rng: np.random.Generator,
) -> Sightings:
    """Look at every image: instances that are found, some twice or misplaced, and background.

    Parameters
    ----------
    scenes : Scenes
        The annotations.
    instance_of : (B,) int array
        The instance that each annotated box shows, see :func:`diaghoi.data.boxes.instances`.
    sizes : (N, 2) int array
        Width and height of every image.
    detector : Detector
        How often what goes wrong.
    rng : numpy.random.Generator
        Source of randomness.
    """
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
    return _best_of_each_kind(seen, scenes.vocabulary.person)


def jitter(
    xyxy: FloatArray, sizes: IntArray, amount: float, rng: np.random.Generator
) -> FloatArray:
    """Move the edges of boxes by normal noise; the boxes stay inside images of the given sizes.

    Parameters
    ----------
    xyxy : (N, 4) float64 array
        Boxes in pixels.
    sizes : (N, 2) int array
        Width and height of the image of each box.
    amount : float
        Standard deviation, as a share of the box's width and height.
    """
    span = np.maximum(xyxy[:, 2:] - xyxy[:, :2], 1.0)
    edges = xyxy + rng.normal(size=xyxy.shape) * amount * np.tile(span, 2)
    return inside(edges, sizes)


def inside(xyxy: FloatArray, sizes: IntArray) -> FloatArray:
    """Cut boxes to their images; each keeps at least one pixel of width and height."""
    largest = np.maximum(sizes - 1.0, 0.0)
    low = np.minimum(xyxy[:, :2], xyxy[:, 2:])
    high = np.maximum(xyxy[:, :2], xyxy[:, 2:])
    low = np.clip(low, 0, np.maximum(largest - 1, 0))
    high = np.clip(high, np.minimum(low + 1, largest), largest)
    return np.concatenate([low, high], axis=1)


def _found(
    scenes: Scenes, instance: IntArray, detector: Detector, rng: np.random.Generator
) -> Sightings:
    """See the given instances; with shared boxes, some of them more than once."""
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
    """Give some objects the label of a neighbour in the list, which is often similar."""
    others = np.setdiff1d(np.unique(vocabulary.class_object), [vocabulary.person])
    confused = (label != vocabulary.person) & (rng.random(len(label)) < rate) & (len(others) > 1)
    shift = rng.integers(1, 4, size=len(label)) * rng.choice([-1, 1], size=len(label))
    neighbour = others[(np.searchsorted(others, label) + shift) % len(others)]
    return np.where(confused, neighbour, label)


def _background(
    scenes: Scenes, boxes_an_image: IntArray, sizes: IntArray, rng: np.random.Generator
) -> Sightings:
    """See boxes that show nothing annotated: half anywhere, half near an instance of the image."""
    image = np.repeat(np.arange(len(scenes)), rng.binomial(boxes_an_image, 0.9))
    size = sizes[image].astype(np.float64)
    vocabulary = scenes.vocabulary
    number = len(image)

    # Images without boxes use a row after the last box.
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


def _best_of_each_kind(sightings: Sightings, person: int) -> Sightings:
    """Keep the best persons and the best other boxes of every image, as detectors do."""
    kind = sightings.image * 2 + (sightings.label == person)
    order = np.argsort(kind, kind="stable")
    kept = np.sort(order[place_in_group(kind[order]) < MOST_OF_A_KIND])
    return sightings.take(kept)
