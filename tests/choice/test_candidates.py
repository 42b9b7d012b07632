"""What questions can be about, and which negatives are impossible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import (
    BICYCLE,
    CAR,
    HOLD,
    HUG,
    NO_INTERACTION,
    PERSON,
    RIDE,
    VOCABULARY,
    WASH,
    image,
    problems,
    scenes,
)

from diaghoi.choice.build import OPTIONS, options_of
from diaghoi.choice.candidates import ImageTargets, Target, targets_in_images
from diaghoi.choice.classes import (
    Interaction,
    indistinct_from,
    interactions_of,
    normalised,
    option_text,
    parse_option,
    time_sensitive_classes,
)
from diaghoi.data.vocabulary import hico_det, swig_hoi

FRISBEE = VOCABULARY.objects.index("frisbee")
CATCH, THROW, BLOCK = (VOCABULARY.verbs.index(verb) for verb in ("catch", "throw", "block"))
LEFT, NEAR, RIGHT = (0, 0, 19, 39), (1, 0, 20, 39), (100, 0, 119, 39)
THING, OTHER = (30, 30, 49, 49), (60, 30, 79, 49)


def one(*triplets: tuple[int, int, int], boxes: list[tuple] | None = None) -> ImageTargets:
    """The subject of an image with two people at the left, one at the right, and two bicycles."""
    boxes = boxes or [
        (PERSON, LEFT),
        (PERSON, NEAR),
        (PERSON, RIGHT),
        (BICYCLE, THING),
        (BICYCLE, OTHER),
        (CAR, OTHER),
    ]
    (found,) = targets_in_images(scenes([image("a.jpg", boxes, list(triplets))], scored=False))
    return found


def verbs(target: Target) -> set[str]:
    return {each.verb for each in target.candidates}


def actions(thing: str) -> set[str]:
    return {each.verb for each in interactions_of(hico_det()) if each.object == thing}


def test_candidates_are_the_other_actions_of_all_objects() -> None:
    found = one((0, 3, WASH))
    assert found.scene.right == (Interaction("wash", "bicycle"),)
    assert verbs(found.scene) == actions("bicycle") - {"wash"}
    assert {each.object for each in found.scene.candidates} == {"bicycle"}
    found = one((0, 3, WASH), (0, 5, WASH))
    assert {each.object for each in found.people[0].candidates} == {"bicycle", "car"}


def test_boxes_that_overlap_by_half_are_one_person() -> None:
    found = one((0, 3, WASH), (1, 3, HOLD), (2, 3, RIDE))
    assert [each.box for each in found.people] == [LEFT, RIGHT]
    assert [{e.verb for e in each.right} for each in found.people] == [{"wash", "hold"}, {"ride"}]
    assert {each.verb for each in found.scene.right} == {"wash", "hold", "ride"}
    # People are counted from the left.
    found = one((2, 3, WASH), (0, 3, RIDE))
    assert [(each.person, each.box) for each in found.people] == [(0, LEFT), (1, RIGHT)]


def test_what_is_annotated_on_an_overlapping_box_is_no_candidate() -> None:
    # The middle box reaches 0.5 with both others, which are two people.
    boxes = [
        (PERSON, (0, 0, 29, 9)),
        (PERSON, (10, 0, 39, 9)),
        (PERSON, (20, 0, 49, 9)),
        (BICYCLE, THING),
    ]
    found = one((0, 3, WASH), (1, 3, HOLD), (2, 3, RIDE), boxes=boxes)
    left, right = found.people
    assert {each.verb for each in left.right} == {"wash", "hold"}
    assert {each.verb for each in right.right} == {"ride"}
    assert "hold" not in verbs(right)
    assert "wash" in verbs(right)


def test_people_whose_boxes_have_no_area_keep_their_actions() -> None:
    protocol = replace(VOCABULARY.protocol, boxes="continuous")
    boxes = [(PERSON, LEFT), (PERSON, (50, 5, 50, 5)), (BICYCLE, THING)]
    flat = scenes([image("a.jpg", boxes, [(0, 2, WASH), (1, 2, RIDE)])], scored=False)
    (found,) = targets_in_images(replace(flat, vocabulary=replace(VOCABULARY, protocol=protocol)))
    assert [[each.verb for each in one.right] for one in found.people] == [["wash"], ["ride"]]


def test_no_interaction_with_one_bicycle_and_an_action_with_another_is_left_open() -> None:
    found = one((0, 3, WASH), (0, 4, NO_INTERACTION), (0, 5, NO_INTERACTION))
    (person,) = found.people
    named = {(each.verb, each.object) for each in person.right}
    assert named == {("wash", "bicycle"), ("no_interaction", "car")}
    assert "no_interaction" not in {e.verb for e in person.candidates if e.object == "bicycle"}
    # A scene may have both.
    found = one((0, 3, WASH), (2, 4, NO_INTERACTION))
    assert {each.verb for each in found.scene.right} == {"wash", "no_interaction"}


@pytest.mark.parametrize(
    ("boxes", "triplet", "several"),
    [
        ([(PERSON, LEFT), (PERSON, NEAR), (BICYCLE, THING)], (0, 2, RIDE), False),
        ([(PERSON, LEFT), (PERSON, RIGHT), (BICYCLE, THING)], (0, 2, RIDE), True),
        ([(PERSON, LEFT), (PERSON, RIGHT)], (0, 1, HUG), True),
    ],
)
def test_several_people_are_annotated_boxes_apart(boxes, triplet, several) -> None:
    assert one(triplet, boxes=boxes).multi_person is several


def test_images_without_an_interaction_with_an_object_are_no_subject() -> None:
    empty = image("b.jpg", [(PERSON, LEFT)], [])
    no_class = image("c.jpg", [(PERSON, LEFT), (CAR, THING)], [(0, 1, HUG)])
    assert targets_in_images(scenes([empty, no_class], scored=False)) == []


def test_time_sensitive_classes_are_the_68_of_the_paper() -> None:
    named = {normalised(each) for each in interactions_of(hico_det())}
    assert len(time_sensitive_classes()) == 68
    assert time_sensitive_classes() <= named


def test_throwing_is_no_negative_of_catching_and_the_other_way_round() -> None:
    boxes = [(PERSON, LEFT), (FRISBEE, THING)]
    for done, other in ((CATCH, "throw"), (THROW, "catch")):
        found = one((0, 1, done), boxes=boxes)
        assert other not in verbs(found.scene) | verbs(found.people[0])
        assert verbs(found.scene)


def test_each_counterpart_bars_the_other_in_any_data_set() -> None:
    pairs = {
        (each, other) for each in interactions_of(hico_det()) for other in indistinct_from([each])
    }
    assert pairs
    assert pairs == {(other, each) for each, other in pairs}
    for each, other in (
        (Interaction("ride", "bicycle"), Interaction("hop_on", "bicycle")),
        (Interaction("Catch", "sports__ball"), Interaction("throw", "sports_ball")),
    ):
        assert other in indistinct_from([each])


@given(problems(), st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_of_images(drawn: tuple, random) -> None:
    annotations, _ = drawn
    order = list(range(len(annotations)))
    random.shuffle(order)
    before = {each.image: each for each in targets_in_images(annotations)}
    after = targets_in_images(annotations.take(np.array(order)))
    assert {each.image: each for each in after} == before


@given(st.permutations([(0, 3, WASH), (1, 3, HOLD), (2, 4, RIDE), (2, 5, WASH)]))
def test_nothing_depends_on_the_order_of_triplets(triplets: list[tuple]) -> None:
    assert one(*triplets) == one(*sorted(triplets))


@pytest.mark.parametrize("words", [hico_det(), swig_hoi()], ids=lambda words: words.name)
def test_options_are_read_as_what_they_were_made_of(words) -> None:
    for each in set(interactions_of(words)):
        assert parse_option(option_text(each)) == each


def target(right: int, image: str = "a.jpg") -> Target:
    named = tuple(Interaction(f"verb{number}", "cup") for number in range(right))
    return Target(image=image, right=named, annotated=frozenset(named), candidates=())


NEGATIVES = tuple(Interaction(f"other{number}", "cup") for number in range(9))


@pytest.mark.parametrize("right", range(1, 8))
def test_a_question_has_four_options_or_there_is_none(right: int) -> None:
    found = options_of(target(right), NEGATIVES, seed=0)
    assert found is not None
    assert (len(found[0]), len(found[1])) == (min(right, 4), 4 - min(right, 4))
    assert len(set(found[0] + found[1])) == OPTIONS
    needed = len(found[1])
    assert options_of(target(right), NEGATIVES[:needed], seed=0) is not None
    assert not needed or options_of(target(right), NEGATIVES[: needed - 1], seed=0) is None


def test_options_depend_on_seed_and_image_alone() -> None:
    drawn = [options_of(target(1), NEGATIVES, seed=seed) for seed in range(12)]
    assert drawn == [options_of(target(1), NEGATIVES, seed=seed) for seed in range(12)]
    assert len(set(drawn)) > 6
    images = {options_of(target(1, f"{n}.jpg"), NEGATIVES, seed=0) for n in range(12)}
    assert len(images) > 6
