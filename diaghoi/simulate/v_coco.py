"""Simulated V-COCO: people with actions, and a detector that scores every action of each pair."""

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, distinct, place_in_group
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import v_coco

WIDTH, HEIGHT = 640, 480
PEOPLE = (0.45, 0.30, 0.15, 0.10)  # shares of images with 1, 2, 3 and 4 people
OBJECTS = (0.20, 0.30, 0.30, 0.20)  # shares of images with 1, 2, 3 and 4 objects
ACTIONS = (0.05, 0.40, 0.35, 0.20)  # shares of people who perform 0, 1, 2 and 3 actions
IGNORED = 0.1  # share of people whose actions are not annotated
WITHOUT_BOX = 0.25  # share of roles without an annotated box


def v_coco_annotations(images: int, rng: np.random.Generator) -> Scenes:
    """Draw a simulated annotated test set of V-COCO.

    Parameters
    ----------
    images : int
        Number of images; the real test set has 4,946.
    rng : numpy.random.Generator
        Source of randomness.
    """
    vocabulary = v_coco()
    people = 1 + rng.choice(len(PEOPLE), images, p=PEOPLE)
    objects = 1 + rng.choice(len(OBJECTS), images, p=OBJECTS)
    box_image = np.repeat(np.arange(images), people + objects)
    place = place_in_group(box_image)
    person = place < people[box_image]
    label = np.where(
        person, vocabulary.person, rng.integers(1, len(vocabulary.objects), len(place))
    )
    ignored = person & (rng.random(len(place)) < IGNORED)

    actor = np.flatnonzero(person & ~ignored)
    doing = rng.choice(len(ACTIONS), len(actor), p=ACTIONS)
    deed_actor = np.repeat(actor, doing)
    agents = np.flatnonzero(np.asarray(vocabulary.agents))
    # Actions early in the list are more frequent, and no person has the same action twice.
    order = np.argsort(rng.gumbel(size=(len(actor), len(agents))) - 0.1 * np.arange(len(agents)))
    action = order[np.repeat(np.arange(len(actor)), doing), -1 - place_in_group(deed_actor)]
    roles = np.diff(np.append(agents, len(vocabulary.verbs)))
    row_deed = np.repeat(np.arange(len(deed_actor)), roles[action])
    role = place_in_group(row_deed)
    verb = agents[action[row_deed]] + role
    human = deed_actor[row_deed]
    image = box_image[human]
    first_object = (np.cumsum(people + objects) - objects)[image]
    object_box = first_object + rng.integers(0, objects[image])
    object_box = np.where((role == 0) | (rng.random(len(object_box)) < WITHOUT_BOX), -1, object_box)
    first, pair = distinct(human * np.int64(len(box_image) + 1) + object_box + 1)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array([str(number) for number in range(1, images + 1)]),
        sizes=np.full((images, 2), (WIDTH, HEIGHT)),
        box_image=box_image,
        box_xyxy=_boxes(len(box_image), rng),
        box_label=label,
        box_ignored=ignored,
        pair_human=human[first],
        pair_object=object_box[first],
        triplet_pair=pair,
        triplet_verb=verb,
        source="simulated V-COCO",
    )


@dataclass(frozen=True, kw_only=True)
class PairDetector:
    """Simulated detector that scores all actions and roles of its pairs.

    Parameters
    ----------
    pairs : int
        Number of pairs per image.
    noise : float
        Standard deviation of the positions of box edges, as a share of box size.
    misplaced : float
        Share of boxes whose edges have five times the ``noise``.
    alone : float
        Share of pairs without an object.
    sharpness : float
        Amount by which the logits of a person's annotated actions exceed those of other actions.
    """

    pairs: int = 64
    noise: float = 0.06
    misplaced: float = 0.3
    alone: float = 0.15
    sharpness: float = 3.0


def v_coco_detect(
    annotations: Scenes, rng: np.random.Generator, detector: PairDetector | None = None
) -> Scenes:
    """Simulate the predictions of a detector on V-COCO annotations.

    Every pair has one person box, at most one object box, and a score for each of the 51 actions
    and roles.
    """
    detector = detector or PairDetector()
    vocabulary = annotations.vocabulary
    images, pairs = len(annotations), len(annotations) * detector.pairs
    image = np.repeat(np.arange(images), detector.pairs)
    human = _pick(annotations, image, annotations.box_label == vocabulary.person, rng)
    object_box = _pick(annotations, image, np.ones(len(annotations.box_label), dtype=bool), rng)
    alone = rng.random(pairs) < detector.alone
    source = np.stack([human, object_box], axis=1).ravel()
    xyxy = annotations.box_xyxy[source]
    size = np.tile(xyxy[:, 2:] - xyxy[:, :2], 2)
    noise = detector.noise * np.where(rng.random(len(xyxy)) < detector.misplaced, 5, 1)
    xyxy = xyxy + rng.normal(0, 1, xyxy.shape) * noise[:, None] * size
    xyxy = np.concatenate(
        [np.minimum(xyxy[:, :2], xyxy[:, 2:]), np.maximum(xyxy[:, :2], xyxy[:, 2:])], 1
    )

    # Each pair fills two rows: the person alone, and the person with the object (-1 without an
    # object).
    row = 2 * np.arange(pairs)
    pair_human = np.repeat(row, 2)
    pair_object = np.stack([np.full(pairs, -1), np.where(alone, -1, row + 1)], axis=1).ravel()
    verbs = np.arange(len(vocabulary.verbs))
    agent = np.asarray(vocabulary.agents, dtype=bool)
    does = np.zeros((len(annotations.box_label), len(verbs)), dtype=bool)
    does[annotations.pair_human[annotations.triplet_pair], annotations.triplet_verb] = True
    logit = rng.normal(-3, 1.2, (pairs, len(verbs))) + detector.sharpness * does[human]
    score = 1 / (1 + np.exp(-logit))
    agent_of = np.maximum.accumulate(np.where(agent, verbs, 0))
    return Scenes(
        vocabulary=vocabulary,
        names=annotations.names,
        box_image=np.repeat(image, 2).astype(np.int32),
        box_xyxy=xyxy,
        box_label=np.tile(np.array([vocabulary.person, -1], dtype=np.int16), pairs),
        pair_human=pair_human.astype(np.int32),
        pair_object=pair_object.astype(np.int32),
        triplet_pair=(row[:, None] + ~agent).ravel().astype(np.int32),
        triplet_verb=np.tile(verbs.astype(np.int16), pairs),
        triplet_score=score.ravel(),
        triplet_action_score=score[:, agent_of].ravel(),
        source="simulated pairs",
    )


def _pick(
    annotations: Scenes, image: IntArray, eligible: BoolArray, rng: np.random.Generator
) -> IntArray:
    """Pick an eligible annotated box at random for each image number in ``image``."""
    boxes = np.flatnonzero(eligible)
    count = np.bincount(annotations.box_image[boxes], minlength=len(annotations))
    start = np.cumsum(count) - count
    return np.asarray(boxes[start[image] + rng.integers(0, count[image])])


def _boxes(count: int, rng: np.random.Generator) -> FloatArray:
    size = rng.uniform(0.1, 0.6, (count, 2)) * (WIDTH, HEIGHT)
    corner = rng.random((count, 2)) * ((WIDTH - 1, HEIGHT - 1) - size)
    return np.concatenate([corner, corner + size], axis=1).astype(np.float32).astype(np.float64)
