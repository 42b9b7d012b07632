"""SWIG-HOI: its facts, and its choices one by one."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.swig import CAR, CLASSES, WORDS

from diaghoi import InputError, Scenes, diagnose, protocol
from diaghoi.data.groups import find_class, split_classes
from diaghoi.data.vocabulary import swig_hoi
from diaghoi.formats.description import vocabulary

FIRST = CLASSES[0]
VERB = int(WORDS.class_verb[FIRST])
HUMAN, THING = [0, 0, 9, 9], [20, 0, 29, 9]


def test_sizes_and_landmarks() -> None:
    assert (len(WORDS.objects), len(WORDS.verbs), len(WORDS)) == (1000, 407, 14_130)
    assert WORDS.objects[WORDS.person] == "person"
    assert (WORDS.no_interaction, WORDS.interacting.all()) == (-1, True)
    splits = split_classes(protocol("swig-hoi"), WORDS)
    sizes = {name: int(members.sum()) for name, members in splits.items()}
    assert sizes == {"full": 5539, "zero_shot": 1391, "rare": 2841, "non_rare": 1307}
    assert vocabulary("swig-hoi") is WORDS
    assert pickle.loads(pickle.dumps(WORDS)) is swig_hoi()
    assert WORDS.protocol == protocol("swig-hoi")
    assert WORDS.benchmarks == (protocol("swig-hoi"),)


def test_equals_the_published_interactions(shared: Path) -> None:
    facts = json.loads((shared / "data" / "swig_hoi" / "interactions.json").read_text())
    assert [one["name"] if isinstance(one, dict) else one for one in facts["objects"]] == list(
        WORDS.objects
    )
    assert [one["name"] if isinstance(one, dict) else one for one in facts["actions"]] == list(
        WORDS.verbs
    )
    rows = facts["interactions"]
    assert [row["id"] for row in rows] == list(range(len(WORDS)))
    assert [row["object_id"] for row in rows] == WORDS.class_object.tolist()
    assert [row["action_id"] for row in rows] == WORDS.class_verb.tolist()
    for frequency, name in enumerate(("zero_shot", "rare", "non_rare")):
        of_kind = [row["frequency"] == frequency for row in rows]
        assert WORDS.splits[name].tolist() == of_kind
    assert WORDS.evaluated is not None
    assert WORDS.evaluated.tolist() == [row["evaluation"] == 1 for row in rows]


def test_every_class_has_a_number_though_some_share_a_name() -> None:
    assert find_class("here", 14_130, WORDS) == 14_129
    with pytest.raises(
        InputError, match="here: unknown class 14131; give a number from 1 to 14130"
    ):
        find_class("here", 14_131, WORDS)


def ranked(hits: list[bool], missed: int) -> tuple[Scenes, Scenes]:
    """Scenes of one class: an image for each annotation, predictions that hit it or nothing."""
    positives = sum(hits) + missed
    images = len(hits) + missed
    wanted = [n for n, hit in enumerate(hits) if hit] + list(range(len(hits), images))
    both = np.array([HUMAN, THING], dtype=float)

    def scenes(image: Any, boxes: Any, **scores: Any) -> Scenes:
        rows = np.arange(len(image))
        return Scenes(
            vocabulary=WORDS,
            names=np.array([f"{n}.jpg" for n in range(images)]),
            box_image=np.repeat(image, 2),
            box_xyxy=np.concatenate(boxes),
            box_label=np.tile([0, CAR], len(image)),
            pair_human=2 * rows,
            pair_object=2 * rows + 1,
            triplet_pair=rows,
            triplet_verb=np.full(len(image), VERB),
            **scores,
        )

    score = np.linspace(0.9, 0.1, len(hits))
    found = [both if hit else both + 500 for hit in hits]
    assert positives == len(wanted)
    return (
        scenes(np.array(wanted), [both] * positives),
        scenes(np.arange(len(hits)), found, triplet_score=score, triplet_action_score=score),
    )


def test_the_best_of_each_class_alone_count() -> None:
    problem = ranked([True, False, False, True], missed=0)
    whole = diagnose(*problem)
    assert whole.mean_ap["full"] == pytest.approx((6 * 1 + 5 * 0.5) / 11, abs=1e-15)
    cut = diagnose(*problem, protocol("swig-hoi", top_of_class=3))
    # The second true positive is the fourth row: recall stays at 1/2.
    assert cut.mean_ap["full"] == pytest.approx(6 / 11, abs=1e-15)
    assert cut.max_recall["full"] == 0.5
    # With the false positives gone, it is the second row.
    assert cut.oracles["false_positive"]["map"]["full"] == 1.0
    assert cut.errors == whole.errors
    assert cut.counts == whole.counts
    assert "AP by the best 3 of a class" in cut.protocol.signature
    assert cut.official["default"] == whole.mean_ap  # the benchmark keeps 19,999


def test_the_benchmark_takes_19999_of_each_class() -> None:
    for before, recall in ((19_998, 1.0), (19_999, 0.0)):
        problem = ranked([False] * before + [True], missed=0)
        assert diagnose(*problem).max_recall["full"] == recall


def test_a_recall_of_three_tenths_reaches_the_fourth_level() -> None:
    problem = ranked([True] * 3, missed=7)
    assert diagnose(*problem).mean_ap["full"] == pytest.approx(4 / 11, abs=1e-15)
    as_hico = protocol("swig-hoi", levels_from="zero")
    assert diagnose(*problem, as_hico).mean_ap["full"] == pytest.approx(3 / 11, abs=1e-15)


def test_classes_that_are_not_evaluated_do_not_count() -> None:
    assert WORDS.evaluated is not None
    other = int(np.flatnonzero((WORDS.class_object == CAR) & ~WORDS.evaluated)[0])
    truth, found = ranked([True, True, True], missed=2)
    verbs = WORDS.class_verb[[FIRST, other, FIRST, FIRST, other]]
    truth, found = replace(truth, triplet_verb=verbs), replace(found, triplet_verb=verbs[:3])
    diagnosis = diagnose(truth, found)
    assert diagnosis.counts["annotated_triplets"] == 3
    assert diagnosis.counts["predicted_triplets"] == 2
    assert diagnosis.max_recall["full"] == pytest.approx(2 / 3)


def test_boxes_are_continuous() -> None:
    truth, found = ranked([True], missed=0)
    # 6 of 12 without the last pixel, 7 of 13 with it.
    for moved, hit in ((3, 1), (3.01, 0)):
        boxes = found.box_xyxy + np.array([[moved, 0, moved, 0], [0, 0, 0, 0]])
        assert diagnose(truth, replace(found, box_xyxy=boxes)).errors["true_positive"] == hit
