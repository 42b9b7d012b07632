"""A simulated annotated test set with the statistics of HICO-DET."""

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, expand, place_in_group, runs
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det
from diaghoi.exceptions import InputError

MOST_TRIPLETS = 10
SMALLEST_BOX = 10

# Shares of images with 1, 2, 3 and 4 persons, and with 1, 2, 3 and 4 objects.
PERSONS = (0.42, 0.30, 0.18, 0.10)
OBJECTS = (0.44, 0.30, 0.16, 0.10)
# Widths and heights of the photographs in HICO-DET, and the share of photographs with each size.
SIZES = ((640, 480), (640, 427), (640, 360), (500, 375), (480, 640), (427, 640))
SIZE_SHARES = (0.34, 0.30, 0.06, 0.08, 0.13, 0.09)

JOINED = 0.9  # share of an image's objects, after the first, with which their own person interacts
ALSO_JOINED = 0.3  # share of the other persons that interact with a person's object
FURTHER_VERBS = (0.6, 0.28, 0.12)  # shares of interacting pairs with 1, 2 and 3 verbs
BYSTANDERS = 0.25  # share of images with an object of another category that is in no triplet
QUIET = 0.012  # share of images without any triplet

# Height of an object as a share of the height of a person. Each row gives the position in the
# COCO-80 list at which a range of categories ends, and the size in that range. Similar categories
# are neighbours in the COCO-80 list, so a few rows suffice.
RELATIVE_SIZE = (
    (1, 0.9), (4, 0.8), (9, 1.6), (14, 0.6), (16, 0.35), (24, 0.8), (29, 0.3), (39, 0.25),
    (46, 0.16), (56, 0.2), (62, 0.75), (68, 0.3), (73, 0.55), (80, 0.2),
)  # fmt: skip


class _Instances(NamedTuple):
    """Planned boxes, ordered by image: the image, label and role of each box."""

    image: IntArray
    label: IntArray
    place: IntArray
    """Number of earlier boxes of the same role in the image."""
    role: IntArray
    """0 person, 1 object of the image's category, 2 bystander."""


def annotations(
    images: int, rng: np.random.Generator, vocabulary: Vocabulary | None = None
) -> Scenes:
    """Draw a simulated annotated test set.

    An image shows one to four persons and one to four objects of one category, like the images of
    HICO-DET, and sometimes a bystander: an annotated object in no triplet. HOI classes follow the
    long-tailed distribution of the real test set, including `no_interaction`. An image has 1 to 10
    triplets, about 3.5 on average; about one image in a hundred has boxes but no triplet.

    Parameters
    ----------
    images : int
        Number of images; the HICO-DET test set has 9658.
    rng : numpy.random.Generator
        The only source of randomness: equal seeds give equal scenes.
    vocabulary : Vocabulary, optional
        The data set; HICO-DET by default.

    Returns
    -------
    Scenes
        Zero-based boxes in whole pixels, inside their images. The images are named
        ``demo_000001.jpg`` and so on.

    Raises
    ------
    InputError
        If ``images`` is less than one.
    """
    if images < 1:
        raise InputError(f"images: {images} images cannot be simulated; give 1 or more")
    vocabulary = hico_det() if vocabulary is None else vocabulary
    frequency = np.ones(len(vocabulary))
    if vocabulary.test_instances is not None:
        frequency = np.maximum(vocabulary.test_instances, 1).astype(np.float64)
    sizes = np.array(SIZES)[rng.choice(len(SIZES), size=images, p=SIZE_SHARES)]
    theme = vocabulary.class_object[
        rng.choice(len(frequency), size=images, p=frequency / frequency.sum())
    ]
    instances = _instances(theme, vocabulary, rng)
    boxes = _boxes(instances, sizes, rng)
    human, object_box = _pairs(instances, images, rng)
    pair, verb = _verbs(instances.label[object_box], vocabulary, frequency, rng)

    kept = place_in_group(instances.image[object_box[pair]]) < MOST_TRIPLETS
    pair, verb = pair[kept], verb[kept]
    used, pair = np.unique(pair, return_inverse=True)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array([f"demo_{number:06d}.jpg" for number in range(1, images + 1)]),
        sizes=sizes.astype(np.int32),
        box_image=instances.image.astype(np.int32),
        box_xyxy=boxes,
        box_label=instances.label.astype(np.int32),
        pair_human=human[used].astype(np.int32),
        pair_object=object_box[used].astype(np.int32),
        triplet_pair=pair.astype(np.int32),
        triplet_verb=verb.astype(np.int32),
        source="simulated annotations",
    )


def _instances(theme: IntArray, vocabulary: Vocabulary, rng: np.random.Generator) -> _Instances:
    """Choose the content of each image."""
    images = len(theme)
    counts = np.stack(
        [
            rng.choice([1, 2, 3, 4], size=images, p=PERSONS),
            rng.choice([1, 2, 3, 4], size=images, p=OBJECTS),
            rng.random(images) < BYSTANDERS,
        ],
        axis=1,
    ).astype(np.int64)
    group, place = expand(np.zeros(counts.size, dtype=np.int64), counts.ravel())
    image, role = np.divmod(group, 3)
    other = rng.integers(len(vocabulary.objects), size=images)
    label = np.stack([np.full(images, vocabulary.person), theme, other], axis=1)[image, role]
    return _Instances(image=image, label=label, place=place, role=role)


def _boxes(instances: _Instances, sizes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Place persons side by side, objects near persons; return (B, 4) whole pixels in images."""
    count = len(instances.image)
    width, height = sizes[instances.image].T.astype(np.float64)
    in_image = np.bincount(instances.image[instances.role == 0], minlength=len(sizes))
    persons = in_image[instances.image]
    start = np.searchsorted(instances.image, instances.image)
    beside = start + instances.place % persons

    tall = height * np.exp(rng.normal(np.log(0.62), 0.35, count)) / persons**0.35
    tall = np.clip(tall, 0.12 * height, 0.94 * height)
    wide = np.minimum(tall / np.exp(rng.normal(np.log(2.1), 0.3, count)), 0.8 * width)
    centre_x = width * (instances.place % persons + rng.uniform(0.2, 0.8, count)) / persons
    centre_y = height * rng.uniform(0.72, 1.0, count) - tall / 2

    ends, relative = map(np.array, zip(*RELATIVE_SIZE, strict=True))
    row = np.minimum(np.searchsorted(ends, instances.label, side="right"), len(relative) - 1)
    size = relative[row] * tall[beside] * np.exp(rng.normal(0, 0.3, count))
    stretch = np.exp(rng.normal(0.1, 0.4, count))
    near_x = centre_x[beside] + wide[beside] * rng.uniform(-0.7, 0.7, count)
    near_y = centre_y[beside] + tall[beside] * rng.uniform(-0.3, 0.4, count)

    person = instances.role == 0
    half_x = np.where(person, wide, np.clip(size * stretch, SMALLEST_BOX, 0.9 * width)) / 2
    half_y = np.where(person, tall, np.clip(size / stretch, SMALLEST_BOX, 0.9 * height)) / 2
    half_x = np.maximum(half_x, SMALLEST_BOX / 2)
    x = np.clip(np.where(person, centre_x, near_x), half_x, width - 1 - half_x)
    y = np.clip(np.where(person, centre_y, near_y), half_y, height - 1 - half_y)
    return np.round(np.stack([x - half_x, y - half_y, x + half_x, y + half_y], axis=1))


def _pairs(
    instances: _Instances, images: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Join persons with objects of the image's category; return rows of human and object boxes."""
    persons = np.bincount(instances.image[instances.role == 0], minlength=images)
    quiet = rng.random(images) < QUIET
    quiet[0] = False
    object_box = np.flatnonzero((instances.role == 1) & ~quiet[instances.image])
    image = instances.image[object_box]
    owner, human = expand(np.searchsorted(instances.image, image), persons[image])
    object_box, image = object_box[owner], image[owner]

    partner = instances.place[human] == instances.place[object_box] % persons[image]
    first_object = instances.place[object_box] == 0
    chance = np.where(partner, np.where(first_object, 1.0, JOINED), ALSO_JOINED)
    joined = rng.random(len(owner)) < chance
    return human[joined], object_box[joined]


def _verbs(
    label: IntArray, vocabulary: Vocabulary, frequency: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw the verbs of each pair; return pair numbers and verb numbers, ordered by pair."""
    by_object = np.argsort(vocabulary.class_object, kind="stable")
    pair, row = expand(*runs(vocabulary.class_object[by_object], label))
    verb, weight = vocabulary.class_verb[by_object][row], frequency[by_object][row]

    idle = verb == vocabulary.no_interaction
    total = np.bincount(pair, weights=weight, minlength=len(label))
    share = np.bincount(pair, weights=weight * idle, minlength=len(label)) / np.maximum(total, 1)
    # A pair can have several verbs but only one no_interaction, which is therefore less frequent
    # among triplets than among pairs.
    several = 1 + np.dot(FURTHER_VERBS, [0, 1, 2])
    share = share * several / (1 - share + share * several)
    is_idle = rng.random(len(label)) < share
    wanted = np.where(is_idle, 1, rng.choice([1, 2, 3], size=len(label), p=FURTHER_VERBS))

    # The verbs with the largest log(weight) + Gumbel noise are a draw without replacement, in
    # proportion to weight.
    key = np.log(weight) + rng.gumbel(size=len(pair))
    key[idle != is_idle[pair]] = -np.inf
    order = np.lexsort((-key, pair))
    chosen = place_in_group(pair[order]) < wanted[pair[order]]
    rows = np.sort(order[chosen & np.isfinite(key[order])])
    return pair[rows], verb[rows]
