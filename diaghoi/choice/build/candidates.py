"""Targets of questions, people and images, with their annotated interactions and candidates.

Section 2.2 of the paper (002), *Negative Choice Construction*: the pool of a question is all
actions of the objects that the person interacts with, without the annotated ones. Here it is also
without what a still picture cannot distinguish from these (appendix A), whatever judges say later.

Annotators label one interaction after the other and box the same person again, so boxes that reach
IoU 0.5 are one person, as in :mod:`diaghoi.choice.people`. Of the thresholds from 0.3 to 1, the
annotations of a person agree with the published questions most often at 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from diaghoi.choice.build.time_sensitive import indistinct_from
from diaghoi.choice.classes import (
    NO_INTERACTION,
    Interaction,
    interactions_of,
    normalised,
    object_names,
)
from diaghoi.choice.people import distinct_people, same_person, shows_several_people
from diaghoi.choice.questions import Box
from diaghoi.data.arrays import FloatArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.language.open_vocabulary import verb_names


@dataclass(frozen=True, kw_only=True)
class Target:
    """The target of one question: an image (setting 1), or a person (settings 2 and 3).

    Parameters
    ----------
    image : str
        Its name in the annotations.
    person : int or None
        Index of the person, from 0, by left edge; None for the whole image.
    box : tuple of float or None
        Box of the person, zero-based.
    right : tuple of Interaction
        The annotated interactions that may be options.
    annotated : frozenset of Interaction
        These and what else is annotated there, none of which is a candidate.
    candidates : tuple of Interaction
        The pool of negatives, in the order of the classes.
    """

    image: str
    person: int | None = None
    box: Box | None = None
    right: tuple[Interaction, ...]
    annotated: frozenset[Interaction]
    candidates: tuple[Interaction, ...]


@dataclass(frozen=True, kw_only=True)
class ImageTargets:
    """The targets of questions in one image.

    Parameters
    ----------
    image : str
        Its name.
    size : (int, int) or None
        Width and height in pixels, where known.
    multi_person : bool
        Whether several people are annotated, those who are acted upon included.
    scene : Target
        The whole image.
    people : tuple of Target
        Each annotated person, by left edge.
    """

    image: str
    size: tuple[int, int] | None
    multi_person: bool
    scene: Target
    people: tuple[Target, ...]


def targets_in_images(annotations: Scenes) -> list[ImageTargets]:
    """Find the targets of questions in each image.

    Images without an annotated interaction that has an object and is a class of the data set are
    left out.

    Parameters
    ----------
    annotations : Scenes
        Annotations of any data set. Where classes hold for every object (V-COCO), the actions of an
        object are those that are annotated with it anywhere in the file.

    Returns
    -------
    list of ImageTargets
        In the order of the images; independent of the order of boxes and triplets.
    """
    named = _named(annotations)
    pool = _pool(annotations.vocabulary, (each for each in named if each is not None))
    human = annotations.pair_human[annotations.triplet_pair]
    found = []
    bounds = np.searchsorted(annotations.triplet_image, np.arange(len(annotations) + 1))
    boxes = np.searchsorted(annotations.box_image, np.arange(len(annotations) + 1))
    for image, (start, stop) in enumerate(pairwise(bounds.tolist())):
        rows = [row for row in range(start, stop) if named[row] is not None]
        if rows:
            mine = slice(boxes[image], boxes[image + 1])
            done = [(int(human[row]), each) for row in rows if (each := named[row]) is not None]
            found.append(_subject(annotations, image, mine, done, pool))
    return found


def _named(annotations: Scenes) -> list[Interaction | None]:
    """Name the interaction of each triplet; None without an object or a class."""
    verbs = verb_names(annotations.vocabulary)
    objects = object_names(annotations.vocabulary)
    label = annotations.pair_label[annotations.triplet_pair]
    is_class = annotations.triplet_class >= 0
    return [
        None if verb is None or category < 0 or not known else Interaction(verb, objects[category])
        for verb, category, known in zip(
            (verbs[number] for number in annotations.triplet_verb.tolist()),
            label.tolist(),
            is_class.tolist(),
            strict=True,
        )
    ]


def _pool(
    vocabulary: Vocabulary, annotated: Iterable[Interaction]
) -> dict[str, tuple[Interaction, ...]]:
    """Find the actions of each object, in an order that does not depend on the annotations."""
    classes = list(dict.fromkeys(interactions_of(vocabulary))) or sorted(set(annotated))
    pool: dict[str, list[Interaction]] = {}
    for each in classes:
        pool.setdefault(each.object, []).append(each)
    return {name: tuple(actions) for name, actions in pool.items()}


def _subject(
    annotations: Scenes,
    image: int,
    boxes: slice,
    done: Sequence[tuple[int, Interaction]],
    pool: Mapping[str, Sequence[Interaction]],
) -> ImageTargets:
    vocabulary, name = annotations.vocabulary, str(annotations.names[image])
    margin = vocabulary.protocol.margin
    all_people = annotations.box_xyxy[boxes][annotations.box_label[boxes] == vocabulary.person]
    size = None if annotations.sizes is None else annotations.sizes[image].tolist()
    annotated = [each for _, each in done]
    people = tuple(_people(annotations.box_xyxy, name, done, pool, margin))
    return ImageTargets(
        image=name,
        size=(size[0], size[1]) if size and min(size) > 0 else None,
        multi_person=shows_several_people(all_people, margin),
        scene=_target(name, pool, annotated, annotated),
        people=people,
    )


def _people(
    xyxy: FloatArray,
    image: str,
    done: Sequence[tuple[int, Interaction]],
    pool: Mapping[str, Sequence[Interaction]],
    margin: float,
) -> Iterator[Target]:
    """Yield the people of an image with their interactions."""
    boxes = xyxy[[row for row, _ in done]]
    people = distinct_people(boxes, margin)
    reached = same_person(people, boxes, margin)
    # A triplet is right for one person, but a candidate of nobody whose box it overlaps.
    owner = reached.argmax(axis=0).tolist()
    for number, (person, on) in enumerate(zip(people.tolist(), reached.tolist(), strict=True)):
        mine = [each for (_, each), which in zip(done, owner, strict=True) if which == number]
        also = [each for (_, each), reaches in zip(done, on, strict=True) if reaches]
        yield _target(image, pool, _consistent(mine), also, number, tuple(person))


def _consistent(done: Sequence[Interaction]) -> list[Interaction]:
    """Drop "no interaction" with one object where the person uses another of the same category.

    Options name categories, so they could not distinguish the two objects.
    """
    used = {each.object for each in done if each.verb != NO_INTERACTION}
    return [each for each in done if each.verb != NO_INTERACTION or each.object not in used]


def _target(
    image: str,
    pool: Mapping[str, Sequence[Interaction]],
    right: Iterable[Interaction],
    annotated: Iterable[Interaction],
    person: int | None = None,
    box: Box | None = None,
) -> Target:
    right, annotated = sorted(set(right)), frozenset(annotated)
    excluded = {normalised(each) for each in annotated} | indistinct_from(annotated)
    objects = dict.fromkeys(each.object for each in right)
    return Target(
        image=image,
        person=person,
        box=box,
        right=tuple(right),
        annotated=annotated,
        candidates=tuple(
            each
            for name in objects
            for each in pool.get(name, ())
            if normalised(each) not in excluded
        ),
    )
