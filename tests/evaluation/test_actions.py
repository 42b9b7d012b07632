"""Action mAP in the splits of the HOI classes."""

from __future__ import annotations

import pytest
from support.scenes import BICYCLE, CAR, PERSON, WASH, image, scenes

from diaghoi import diagnose
from diaghoi.evaluation.actions import action_rankings
from diaghoi.formats.description import vocabulary

ANN, ANNS = (0, 0, 9, 19), (10, 10, 29, 29)
HICO = vocabulary("hico-det")
# The same verb is rare with one object and not with the other.
assert HICO.rare is not None
assert HICO.rare[HICO.class_of[BICYCLE, WASH]]
assert not HICO.rare[HICO.class_of[CAR, WASH]]


def picture(name: str, thing: int, verb: int, *score: float) -> dict:
    return image(name, [(PERSON, ANN), (thing, ANNS)], [(0, 1, verb, *score)])


def test_a_split_ranks_its_own_classes_and_counts_its_own_annotations() -> None:
    annotations = scenes(
        [
            picture("a.jpg", BICYCLE, WASH),
            picture("b.jpg", CAR, HICO.verbs.index("drive")),
            picture("c.jpg", CAR, WASH),
        ],
        scored=False,
    )
    predictions = scenes(
        [
            picture("a.jpg", BICYCLE, WASH, 0.1, 0.9),  # true, rare
            picture("b.jpg", CAR, WASH, 0.2, 0.7),  # action error, not rare
            picture("c.jpg", CAR, WASH, 0.3, 0.5),  # true, not rare
        ],
        scored=True,
    )
    actions = diagnose(annotations, predictions).actions
    # Wash: true, false, true of two; drive: nothing of one.
    wash = (6 * 1 + 5 * 2 / 3) / 11
    assert actions["map"] == pytest.approx((wash + 0) / 2)
    assert actions["max_recall"] == pytest.approx((1 + 0) / 2)
    assert actions["rare"] == {"map": 1, "max_recall": 1}
    # Wash: false, true of one; drive: nothing of one.
    assert actions["non_rare"] == {"map": pytest.approx(0.5 / 2), "max_recall": 0.5}


def test_a_split_without_annotations_is_undefined() -> None:
    annotations = scenes([picture("a.jpg", CAR, WASH)], scored=False)
    predictions = scenes([picture("a.jpg", CAR, WASH, 0.5, 0.5)], scored=True)
    actions = diagnose(annotations, predictions).actions
    assert actions["rare"] == {"map": None, "max_recall": None}
    assert actions["map"] == actions["non_rare"]["map"] == 1


def test_a_run_of_verbs_ranks_these_alone() -> None:
    verbs = [HICO.verbs.index("wash") + step for step in (-1, 0, 1)]
    objects = [HICO.class_object[HICO.class_verb == verb][0] for verb in verbs]
    pictures = [
        picture(f"{verb}.jpg", int(thing), verb, 0.5, 0.5)
        for verb, thing in zip(verbs, objects, strict=True)
    ]
    annotations = [{**one, "triplets": [one["triplets"][0][:3]]} for one in pictures]
    diagnosis = diagnose(scenes(annotations, scored=False), scenes(pictures, scored=True))
    run = range(verbs[1], verbs[2])
    ranked = action_rankings(diagnosis.ledger, HICO, diagnosis.splits, run)["full"]
    assert ranked.row_class.tolist() == [verbs[1]]
