"""Describe in a sentence what is right and wrong about a prediction or a missed annotation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diaghoi.cases.annotation_faults import are_one
from diaghoi.cases.matched_images import MatchedImages, NearestBox
from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.data.boxes import reaches
from diaghoi.data.groups import counted_classes
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import some_of

LACKING = "no object box is predicted where one is annotated for this role"


def sentence(view: MatchedImages, triplet: int, label: int) -> str:
    """Describe the error of a predicted triplet, with the decisive IoU or score.

    Parameters
    ----------
    view : MatchedImages
        Scenes that include the image of the triplet.
    triplet : int
        Row of the predicted triplet in these scenes.
    label : int
        Error of the prediction, as a position in :data:`diaghoi.evaluation.errors.LABELS`.

    Returns
    -------
    str
        The sentence. IoU values have two decimals, or three if rounding to two would suggest that
        0.499 reaches 0.5.
    """
    describe = (BY_PERSON if view.protocol.pairing == "person" else BY_TRIPLET)[LABELS[label]]
    text = describe(view, triplet)
    return f"{text[0].upper()}{text[1:]}."


def sentence_of_missed(view: MatchedImages, triplet: int) -> str:
    """Describe how close predictions come to a missed annotated triplet."""
    image = view.annotations.triplet_image[triplet]
    start = "Nothing finds this triplet, and no wrong prediction is assigned to it"
    if not (view.predictions.triplet_image == image).any():
        return f"{start}: the image has no predicted triplet."
    best = []
    for role, box, predicted in zip(
        ("human", "object"),
        view.boxes(view.annotations, triplet),
        (view.predictions.pair_human, view.predictions.pair_object),
        strict=True,
    ):
        if box >= 0:
            name = _category(view.annotations, box, view) or role
            near = view.closest_predicted(box, predicted)
            best.append(_best_predicted(view, name, near))
    return f"{start}: {' and '.join(best)}."


def _best_predicted(view: MatchedImages, name: str, near: NearestBox) -> str:
    # Only boxes in pairs are compared: a box outside all pairs could not have found the triplet.
    if near.box < 0:
        return f"no {name} box is in a predicted pair"
    if near.iou == 0:
        return f"no {name} box of a predicted pair overlaps the annotated box"
    if near.iou < 0.01:
        return f"the best {name} box of a predicted pair reaches less than IoU 0.01"
    return f"the best {name} box of a predicted pair reaches IoU {shown_iou(view, near.iou)}"


# HICO-DET and all data sets with pairs: a box is right if it reaches an annotated box of its
# category.


def _both_right(view: MatchedImages, triplet: int) -> str:
    human, obj = view.boxes(view.predictions, triplet)
    candidate = int(view.matched.candidates.claimed[triplet])
    theirs = view.boxes(view.annotations, candidate)
    return f"both boxes are right ({ious(view, (human, obj), theirs)})"


def _found(view: MatchedImages, triplet: int) -> str:
    return f"{_both_right(view, triplet)}, and '{_class(view, triplet)}' is annotated for this pair"


def _duplicate(view: MatchedImages, triplet: int) -> str:
    candidate = view.matched.candidates.claimed
    first = np.flatnonzero(view.matched.found & (candidate == candidate[triplet]))[0]
    rank = f"ranks higher (score {shown_score(view.predictions.scores[first])})"
    rank = rank if view.predictions.ranked else "is listed earlier"
    return f"a prediction that {rank} has already found '{_class(view, triplet)}' for this pair"


def _action(view: MatchedImages, triplet: int) -> str:
    annotations, pairs = view.annotations, joined_pairs(view, triplet)
    best = int(annotations.pair_human[pairs[0]]), int(annotations.pair_object[pairs[0]])
    overlap = ious(view, view.boxes(view.predictions, triplet), best)
    verb = _verb(view, triplet)
    reached = _counted(view) & np.isin(annotations.triplet_pair, pairs)
    annotated = _verbs(view, reached)
    if len(pairs) == 1:
        return (
            f"the boxes match an annotated pair ({overlap}), but '{verb}' is not annotated "
            f"for it{annotated}"
        )
    return (
        f"the boxes match {reached.sum()} annotated triplets (the best with {overlap}), "
        f"but '{verb}' is annotated in none of them{annotated}"
    )


def joined_pairs(view: MatchedImages, triplet: int) -> IntArray:
    """Find the counted annotated pairs that a predicted triplet localises.

    HICO-DET redraws the boxes of a pair for every verb, so a prediction may localise many pairs.

    Returns
    -------
    (K,) int array
        Rows of the annotated pairs, best overlap first.
    """
    hits, annotations = view.matched.hits, view.annotations
    pairs = annotations.triplet_pair[_counted(view)]
    mine = hits.predicted == view.predictions.triplet_pair[triplet]
    mine &= np.isin(hits.annotated, pairs)
    best = np.argsort(-hits.value[mine], kind="stable")
    return np.asarray(hits.annotated[mine][best])


def _association(view: MatchedImages, triplet: int) -> str:
    near = [view.closest(box) for box in view.boxes(view.predictions, triplet)]
    overlap = "IoU " + " and ".join(shown_iou(view, each.iou) for each in near)
    if _one_person(view, *near):
        return (
            f"both boxes are those of one annotated person ({overlap}), who is paired with himself "
            "or herself"
        )
    return f"both boxes are right ({overlap}), but no annotated triplet joins them"


def _one_person(view: MatchedImages, one: NearestBox, other: NearestBox) -> bool:
    boxes = np.array([one.box]), np.array([other.box])
    return bool(are_one(view.annotations, *boxes, view.protocol)[0])


def _object_box(view: MatchedImages, triplet: int) -> str:
    human, obj = view.boxes(view.predictions, triplet)
    return f"{_right(view, 'human', view.closest(human))}, but {_wrong(view, 'object', obj)}"


def _human_box(view: MatchedImages, triplet: int) -> str:
    human, obj = view.boxes(view.predictions, triplet)
    return f"{_right(view, 'object', view.closest(obj))}, but {_wrong(view, 'human', human)}"


def _both_boxes(view: MatchedImages, triplet: int) -> str:
    human, obj = view.boxes(view.predictions, triplet)
    image = view.predictions.triplet_image[triplet]
    if not (view.annotations.box_image == image).any():
        return "nothing is annotated in this image"
    return f"{_wrong(view, 'human', human)}, and {_wrong(view, 'object', obj)}"


BY_TRIPLET: dict[str, Callable[[MatchedImages, int], str]] = {
    "true_positive": _found,
    "human_box": _human_box,
    "object_box": _object_box,
    "both_boxes": _both_boxes,
    "association": _association,
    "action": _action,
    "duplicate": _duplicate,
}


# V-COCO: a prediction belongs to the person that it overlaps most, and categories are ignored.


def closest_person(view: MatchedImages, box: int) -> NearestBox:
    """Find the annotated person that a predicted human box overlaps most."""
    people = view.annotations.box_label == view.annotations.vocabulary.person
    return view.closest(box, people)


def _done(view: MatchedImages, triplet: int, person: int) -> int:
    """Return a person's annotated triplet with the predicted verb; -1 if there is none."""
    annotations = view.annotations
    done = (annotations.pair_human[annotations.triplet_pair] == person) & (
        annotations.triplet_verb == view.predictions.triplet_verb[triplet]
    )
    # Of several triplets, the last is taken, as in diaghoi.evaluation.matching.by_person.
    return int(np.flatnonzero(done)[-1]) if done.any() else -1


def _person_found(view: MatchedImages, triplet: int) -> str:
    human, _ = view.boxes(view.predictions, triplet)
    person = closest_person(view, human)
    return (
        f"{_right(view, 'human', person)}, {_fitting(view, triplet, person)}, and "
        f"'{_class(view, triplet)}' is annotated for this person"
    )


def _person_action(view: MatchedImages, triplet: int) -> str:
    person = closest_person(view, view.boxes(view.predictions, triplet)[0])
    annotations = view.annotations
    of_person = annotations.pair_human[annotations.triplet_pair] == person.box
    return (
        f"{_right(view, 'human', person)}, but '{_verb(view, triplet)}' is not annotated for this "
        f"person{_verbs(view, of_person)}"
    )


def _person_association(view: MatchedImages, triplet: int) -> str:
    human, obj = view.boxes(view.predictions, triplet)
    person = closest_person(view, human)
    if reaches(view.protocol, person.iou):
        other = view.closest(obj)
        same = f"the same person (IoU {shown_iou(view, other.iou)})"
        return (
            f"{_right(view, 'human', person)}, and the object box fits "
            f"{same if _one_person(view, person, other) else _a_box(view, other)}, but "
            f"{_not_the_role(view, triplet, person)}"
        )
    return (
        f"{_wrong_person(view, person)}, but fits {_a_box(view, view.closest(human))}; "
        f"{_fitting(view, triplet, person)}"
    )


def _person_object(view: MatchedImages, triplet: int) -> str:
    human, obj = view.boxes(view.predictions, triplet)
    person = closest_person(view, human)
    if obj < 0:
        return f"{_right(view, 'human', person)}, but {LACKING}"
    return f"{_right(view, 'human', person)}, but {_wrong(view, 'object', obj)}"


def _person_human(view: MatchedImages, triplet: int) -> str:
    human, _ = view.boxes(view.predictions, triplet)
    person = closest_person(view, human)
    return f"{_wrong_person(view, person)}; {_fitting(view, triplet, person)}"


def _person_both(view: MatchedImages, triplet: int) -> str:
    human, _ = view.boxes(view.predictions, triplet)
    person = closest_person(view, human)
    if person.iou == 0:
        return f"{_wrong_person(view, person)}, so no object box can be right"
    return f"{_wrong_person(view, person)}, and {_not_the_role(view, triplet, person)}"


def _fitting(view: MatchedImages, triplet: int, person: NearestBox) -> str:
    """Describe why the predicted object box is right for an annotated person."""
    _, obj = view.boxes(view.predictions, triplet)
    done = _done(view, triplet, person.box)
    role = view.boxes(view.annotations, done)[1] if done >= 0 else -1
    if role >= 0:
        return f"the object box fits (IoU {shown_iou(view, view.iou(obj, role))})"
    return "no object box is annotated" if done >= 0 else "there is no object box"


def _not_the_role(view: MatchedImages, triplet: int, person: NearestBox) -> str:
    """Describe why the predicted object box is wrong for an annotated person."""
    _, obj = view.boxes(view.predictions, triplet)
    done = _done(view, triplet, person.box)
    if done < 0:
        return f"'{_verb(view, triplet)}' is not annotated for this person"
    _, role = view.boxes(view.annotations, done)
    if role < 0:
        return "the annotation has no object box"
    if obj < 0:
        return LACKING
    return f"the annotated object is a different one (IoU {shown_iou(view, view.iou(obj, role))})"


BY_PERSON: dict[str, Callable[[MatchedImages, int], str]] = {
    "true_positive": _person_found,
    "human_box": _person_human,
    "object_box": _person_object,
    "both_boxes": _person_both,
    "association": _person_association,
    "action": _person_action,
    "duplicate": _duplicate,
}


# Shared phrases.


def _right(view: MatchedImages, role: str, near: NearestBox) -> str:
    return f"the {role} box is right (IoU {shown_iou(view, near.iou)})"


def _wrong_person(view: MatchedImages, person: NearestBox) -> str:
    if person.iou == 0:
        return "the human box overlaps no annotated person"
    return f"the human box does not match the closest person (IoU {shown_iou(view, person.iou)})"


def _wrong(view: MatchedImages, role: str, box: int) -> str:
    """Describe why a predicted box is wrong."""
    near = view.closest(box)
    category = _category(view.predictions, box, view)
    people = view.predictions.vocabulary
    if role == "human" and category and view.predictions.box_label[box] != people.person:
        text = f"the subject is called {category}, not {people.objects[people.person]}"
        there = view.closest_of_all(box)
        fits = reaches(view.protocol, there.iou)
        return f"{text}; its box fits {_a_box(view, there)}" if fits else text
    other = view.closest_of_all(box)
    fits = reaches(view.protocol, other.iou) & view.protocol.categories_count
    if near.box < 0 and fits:
        return f"the {role} box fits {_a_box(view, other)}; no box is annotated as {category}"
    if near.box < 0:
        return f"no box is annotated as {category}" if category else "no box is annotated"
    if near.iou == 0:
        text = f"the {role} box overlaps no annotated {category or 'box'}"
    else:
        than = "more than " if view.protocol.strict else ""
        reached = (
            f"at most IoU {shown_iou(view, near.iou)}" if near.iou >= 0.01 else "less than IoU 0.01"
        )
        text = (
            f"the {role} box reaches {reached} with any annotated "
            f"{category or 'box'} ({than}{view.protocol.iou:g} is needed)"
        )
    return f"{text}; it fits {_a_box(view, other)}" if fits else text


def _category(scenes: Scenes, box: int, view: MatchedImages) -> str:
    """Name the category of a box; empty if categories are ignored."""
    label = int(scenes.box_label[box])
    if label < 0 or not view.protocol.categories_count:
        return ""
    return scenes.vocabulary.objects[label].replace("_", " ")


def _a_box(view: MatchedImages, near: NearestBox) -> str:
    name = view.annotations.vocabulary.objects[int(view.annotations.box_label[near.box])]
    return f"a box annotated as {name.replace('_', ' ')} (IoU {shown_iou(view, near.iou)})"


def _class(view: MatchedImages, triplet: int) -> str:
    scenes = view.predictions
    return scenes.vocabulary.class_name(int(scenes.triplet_class[triplet]))


def _verb(view: MatchedImages, triplet: int) -> str:
    scenes = view.predictions
    return scenes.vocabulary.verbs[int(scenes.triplet_verb[triplet])].replace("_", " ")


def _counted(view: MatchedImages) -> BoolArray:
    """Return a mask of the annotated triplets whose classes count."""
    counted = np.append(counted_classes(view.protocol, view.annotations.vocabulary), False)
    return np.asarray(counted[view.annotations.triplet_class])


def _verbs(view: MatchedImages, of: BoolArray) -> str:
    """List the verbs of those given annotated triplets that count."""
    annotations = view.annotations
    verbs = dict.fromkeys(annotations.triplet_verb[of & _counted(view)].tolist())
    names = [repr(annotations.vocabulary.verbs[verb].replace("_", " ")) for verb in verbs]
    return f", only {some_of(names, len(names))}" if names else ""


def ious(view: MatchedImages, mine: tuple[int, int], theirs: tuple[int, int]) -> str:
    """Format the IoU of a prediction's human and object boxes with annotated boxes."""
    values = [
        shown_iou(view, view.iou(*boxes))
        for boxes in zip(mine, theirs, strict=True)
        if min(boxes) >= 0
    ]
    return f"IoU {' and '.join(values)}"


def shown_score(score: float) -> str:
    """Format a score with two decimals, or with one significant digit if it is below 0.01."""
    return f"{score:.2f}" if abs(score) >= 0.01 or score == 0 else f"{score:.1g}"


def shown_iou(view: MatchedImages, value: float) -> str:
    """Format an IoU with two decimals, or with three if rounding would cross the threshold."""
    enough = reaches(view.protocol, value)
    if reaches(view.protocol, round(value, 2)) == enough:
        return f"{value:.2f}"
    return f"{(math.ceil if enough else math.floor)(1000 * value) / 1000:.3f}"
