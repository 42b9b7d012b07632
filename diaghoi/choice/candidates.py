"""The subjects of questions, images or people, with their annotations and candidates.

Section 2.2 of the CrossHOI-Bench paper, *Negative Choice Construction*: the pool of a question
consists of all actions of the objects that the person interacts with, except the annotated actions.
Interactions that a still picture cannot distinguish from annotated interactions (appendix A) are
removed, too, whatever judges say later.

Annotators redraw the person for each interaction, so boxes that reach IoU 0.5 are one person, as in
:mod:`diaghoi.choice.people`. Of the thresholds from 0.3 to 1, 0.5 makes a person's annotations
agree best with the published questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diaghoi.choice.classes import (
    NO_INTERACTION,
    Interaction,
    indistinct_from,
    interactions_of,
    normalised,
    object_names,
)
from diaghoi.choice.people import distinct_people, same_person, shows_several_people
from diaghoi.choice.questions import Box
from diaghoi.data.scenes import Scenes
from diaghoi.language.open_vocabulary import verb_names

Pool = Mapping[str, Sequence[Interaction]]
"""The actions of each object."""
Verdicts = dict[Interaction, bool]
"""Whether each candidate is consistent with the picture; undecided candidates are missing."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of one question: an image (setting 1), or a person (settings 2 and 3).

    Parameters
    ----------
    image : str
        Name in the annotations.
    person, box : int, tuple of float or None
        Index of the person from 0, by left edge, and zero-based box; None for the whole image.
    right, annotated : tuple, frozenset of Interaction
        The annotated interactions that may be options, and all annotated interactions of the
        target.
    candidates : tuple of Interaction
        The pool of negatives, in class order.
    """

    image: str
    person: int | None = None
    box: Box | None = None
    right: tuple[Interaction, ...]
    annotated: frozenset[Interaction]
    candidates: tuple[Interaction, ...]


@dataclass(frozen=True, kw_only=True)
class ImageTargets:
    """The targets of questions in one image: the scene, and each annotated person who acts.

    People are ordered by left edge. Width and height are in pixels, if known. Multi-person images
    have several annotated people, including people who are only acted upon.
    """

    image: str
    size: tuple[int, int] | None
    multi_person: bool
    scene: Target
    people: tuple[Target, ...]


def targets_in_images(annotations: Scenes) -> list[ImageTargets]:
    """Find the targets of questions in each image with an interaction.

    An interaction counts if it has an object and is a class of the data set.

    Parameters
    ----------
    annotations : Scenes
        Annotations of any data set. If a class covers every object (V-COCO), an object has all
        actions annotated with it anywhere in the file.

    Returns
    -------
    list of ImageTargets
        The targets in image order, independent of the order of boxes and triplets.
    """
    vocabulary = annotations.vocabulary
    verbs, objects = verb_names(vocabulary), object_names(vocabulary)
    done: dict[int, list[tuple[int, Interaction]]] = defaultdict(list)
    columns = (
        annotations.triplet_image,
        annotations.pair_human[annotations.triplet_pair],
        annotations.triplet_verb,
        annotations.pair_label[annotations.triplet_pair],
        annotations.triplet_class >= 0,
    )
    for image, human, number, category, is_class in zip(
        *map(np.ndarray.tolist, columns), strict=True
    ):
        verb = verbs[number]
        if verb is not None and category >= 0 and is_class:
            done[image].append((human, Interaction(verb, objects[category])))
    # The actions of each object, in an order that does not depend on the annotations.
    annotated = {each for of_image in done.values() for _, each in of_image}
    pool: dict[str, list[Interaction]] = defaultdict(list)
    for each in dict.fromkeys(interactions_of(vocabulary)) or sorted(annotated):
        pool[each.object].append(each)
    targets = []
    for image, of_image in sorted(done.items()):
        name = str(annotations.names[image])
        width, height = (0, 0) if annotations.sizes is None else annotations.sizes[image].tolist()
        interactions = [each for _, each in of_image]
        targets.append(
            ImageTargets(
                image=name,
                size=(width, height) if min(width, height) > 0 else None,
                multi_person=shows_several_people(annotations, image),
                scene=_target(name, pool, interactions, interactions),
                people=tuple(_people(annotations, name, of_image, pool)),
            )
        )
    return targets


def _people(
    annotations: Scenes, image: str, done: Sequence[tuple[int, Interaction]], pool: Pool
) -> Iterator[Target]:
    """Yield the people of an image with their interactions."""
    boxes = annotations.box_xyxy[[row for row, _ in done]]
    margin = annotations.vocabulary.protocol.margin
    people = distinct_people(boxes, margin)
    reached = same_person(people, boxes, margin)
    # A triplet is right for one person, but is no candidate for any person whose box overlaps the
    # triplet's human box.
    owner = reached.argmax(axis=0).tolist()
    for number, (person, on) in enumerate(zip(people.tolist(), reached.tolist(), strict=True)):
        own = [each for (_, each), which in zip(done, owner, strict=True) if which == number]
        also = [each for (_, each), reaches in zip(done, on, strict=True) if reaches]
        # Options name categories, so "no interaction" with one object could not be distinguished
        # from an interaction with another object of that category.
        used = {each.object for each in own if each.verb != NO_INTERACTION}
        right = [each for each in own if each.verb != NO_INTERACTION or each.object not in used]
        yield _target(image, pool, right, also, number, tuple(person))


def _target(
    image: str,
    pool: Pool,
    right: Iterable[Interaction],
    annotated: Iterable[Interaction],
    person: int | None = None,
    box: Box | None = None,
) -> Target:
    right, annotated = sorted(set(right)), frozenset(annotated)
    excluded = {normalised(each) for each in annotated} | indistinct_from(annotated)
    objects = dict.fromkeys(each.object for each in right)
    pooled = (each for name in objects for each in pool.get(name, ()))
    return Target(
        image=image,
        person=person,
        box=box,
        right=tuple(right),
        annotated=annotated,
        candidates=tuple(each for each in pooled if normalised(each) not in excluded),
    )
