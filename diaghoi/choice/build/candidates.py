"""What questions can be about: people and images, with their annotated and other interactions.

Section 2.2 of the paper (002), *Negative Choice Construction*: the pool of a question are all
actions of the objects that the person interacts with, less those that are annotated. Here it is
also less what a still picture cannot tell from these (appendix A), whatever judges say later.

People annotate one interaction after the other and box the same person again, so boxes that reach
IoU 0.5 are one person, as :mod:`diaghoi.choice.people` has it. Of the thresholds from 0.3 to 1 this
is the one under which the annotations of a person agree with the published questions most often.
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
    matching_name,
    predicted_interactions,
    thing_names,
    verb_names,
)
from diaghoi.choice.people import apart, same_person, shows_several
from diaghoi.choice.questions import Box
from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Target:
    """What one question is about: an image (setting 1), or a person (settings 2 and 3).

    Parameters
    ----------
    image : str
        Its name in the annotations.
    person : int or None
        Number of the person, from 0, in the order of left edges; None for the whole image.
    box : tuple of float or None
        The person, counted from zero.
    right : tuple of Interaction
        What is annotated and may be an option.
    annotated : frozenset of Interaction
        These and what else is annotated there: no candidate.
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
class Subject:
    """An image with what can be asked about it.

    Parameters
    ----------
    image : str
        Its name.
    size : (int, int) or None
        Width and height in pixels, where known.
    several : bool
        Whether several people are annotated, those that something is done to among them.
    scene : Target
        All of it.
    people : tuple of Target
        Each annotated person, from the left.
    """

    image: str
    size: tuple[int, int] | None
    several: bool
    scene: Target
    people: tuple[Target, ...]


def subjects_of(annotations: Scenes) -> list[Subject]:
    """Find what can be asked about each image.

    Images without an annotated interaction that has an object and is a class of the data set are
    left out.

    Parameters
    ----------
    annotations : Scenes
        Of any data set. Where its classes hold for every object (V-COCO), the actions of an object
        are those that are annotated with it anywhere in the file.

    Returns
    -------
    list of Subject
        In the order of the images; nothing in them depends on the order of boxes and triplets.
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
    """Name the interaction of each triplet; None where it has no object or is no class."""
    words = annotations.vocabulary
    verbs = verb_names(words)
    things = thing_names(words)
    label = annotations.pair_label[annotations.triplet_pair]
    known = annotations.triplet_class >= 0
    return [
        None if word is None or thing < 0 or not fits else Interaction(word, things[thing])
        for word, thing, fits in zip(
            (verbs[verb] for verb in annotations.triplet_verb.tolist()),
            label.tolist(),
            known.tolist(),
            strict=True,
        )
    ]


def _pool(
    vocabulary: Vocabulary, annotated: Iterable[Interaction]
) -> dict[str, tuple[Interaction, ...]]:
    """Find the actions of each object, in an order that does not depend on the annotations."""
    classes = list(dict.fromkeys(predicted_interactions(vocabulary))) or sorted(set(annotated))
    pool: dict[str, list[Interaction]] = {}
    for each in classes:
        pool.setdefault(each.thing, []).append(each)
    return {thing: tuple(actions) for thing, actions in pool.items()}


def _subject(
    annotations: Scenes,
    image: int,
    boxes: slice,
    done: Sequence[tuple[int, Interaction]],
    pool: Mapping[str, Sequence[Interaction]],
) -> Subject:
    words, name = annotations.vocabulary, str(annotations.names[image])
    margin = words.protocol.margin
    everybody = annotations.box_xyxy[boxes][annotations.box_label[boxes] == words.person]
    size = None if annotations.sizes is None else annotations.sizes[image].tolist()
    annotated = [each for _, each in done]
    people = tuple(_people(annotations.box_xyxy, name, done, pool, margin))
    return Subject(
        image=name,
        size=(size[0], size[1]) if size and min(size) > 0 else None,
        several=shows_several(everybody, margin),
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
    """Give the people of an image with what they do."""
    boxes = xyxy[[row for row, _ in done]]
    people = apart(boxes, margin)
    reached = same_person(people, boxes, margin)
    owner = reached.argmax(axis=0).tolist()
    for number, (person, on) in enumerate(zip(people.tolist(), reached.tolist(), strict=True)):
        mine = [each for (_, each), which in zip(done, owner, strict=True) if which == number]
        also = [each for (_, each), reaches in zip(done, on, strict=True) if reaches]
        yield _target(image, pool, _consistent(mine), also, number, tuple(person))


def _consistent(done: Sequence[Interaction]) -> list[Interaction]:
    """Leave out that a person does nothing with one object while doing something with another.

    Of one category, that is: the options could not tell the two objects apart.
    """
    used = {each.thing for each in done if each.verb != NO_INTERACTION}
    return [each for each in done if each.verb != NO_INTERACTION or each.thing not in used]


def _target(
    image: str,
    pool: Mapping[str, Sequence[Interaction]],
    right: Iterable[Interaction],
    annotated: Iterable[Interaction],
    person: int | None = None,
    box: Box | None = None,
) -> Target:
    right, annotated = sorted(set(right)), frozenset(annotated)
    barred = {matching_name(each) for each in annotated} | indistinct_from(annotated)
    things = dict.fromkeys(each.thing for each in right)
    return Target(
        image=image,
        person=person,
        box=box,
        right=tuple(right),
        annotated=annotated,
        candidates=tuple(
            each
            for thing in things
            for each in pool.get(thing, ())
            if matching_name(each) not in barred
        ),
    )
