"""Equal scores are ranked in the order of the annotated images, whatever that of a file is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco
from support.scenes import BICYCLE, PERSON, RIDE, image, problems, scenes

from diaghoi import Diagnosis, Scenes, diagnose, open_predictions, protocol
from diaghoi.diagnosis.alignment import arranged
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.plausibility import doubts
from diaghoi.formats import write
from diaghoi.statistics.bootstrap import bootstrap

BOXES = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
ELSEWHERE = [(PERSON, (50, 50, 59, 59)), (BICYCLE, (60, 50, 69, 59))]
PROTOCOLS = ("hico-det-520", "diag-hoi", "upt", "cdn", "cmd-se", "qahoi")


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_equal_scores_of_two_images(order: str) -> None:
    # By name the images are in the other order, so that only the annotations can decide.
    names, boxes = {"A": "z.jpg", "B": "a.jpg"}, {"A": BOXES, "B": ELSEWHERE}
    truth = scenes([image(names[n], BOXES, [(0, 1, RIDE)]) for n in "AB"], scored=False)
    found = scenes([image(names[n], boxes[n], [(0, 1, RIDE, 0.5)]) for n in order], scored=True)
    diagnosis = diagnose(truth, found, "hico-det")
    assert diagnosis.names.tolist() == ["z.jpg", "a.jpg"]
    # As the official evaluator gives in either order; with B first it would be half of it.
    assert diagnosis.mean_ap["full"] == pytest.approx(6 / 11)


def test_images_that_are_not_annotated_follow_by_name() -> None:
    truth = scenes([image("m.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    found = [image(name, BOXES, [(0, 1, RIDE, 0.5)]) for name in ("c", "m.jpg", "a", "b")]
    assert diagnose(truth, scenes(found, scored=True)).names.tolist() == ["m.jpg", "a", "b", "c"]


@given(
    problem=problems(),
    name=st.sampled_from(PROTOCOLS),
    data=st.data(),
)
def test_the_order_of_the_predicted_images_changes_nothing(
    problem: tuple[Scenes, Scenes], name: str, data: st.DataObject
) -> None:
    truth, found = problem
    shuffled = found.take(data.draw(st.permutations(range(len(found)))))
    first, second = (diagnose_images(truth, each, protocol(name)) for each in (found, shuffled))
    assert_same(first, second)
    if len(first.names) > 1:
        assert bootstrap(first, 2) == bootstrap(second, 2)
    assert [each.text for each in doubts(truth, found)] == [
        each.text for each in doubts(truth, shuffled)
    ]


@given(problem=v_coco.problems(), scenario=st.sampled_from([1, 2]), data=st.data())
def test_nor_in_v_coco(
    problem: tuple[list[Any], list[Any]], scenario: int, data: st.DataObject
) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    names = np.array([str(number) for number in range(len(truth))])
    truth, found = replace(truth, names=names), replace(found, names=names)
    shuffled = found.take(data.draw(st.permutations(range(len(found)))))
    choices = protocol(f"v-coco-s{scenario}")
    assert_same(*(diagnose_images(truth, each, choices) for each in (found, shuffled)))


@given(problem=problems(max_images=6), data=st.data())
def test_nor_in_a_file_that_is_read_some_images_at_a_time(
    problem: tuple[Scenes, Scenes],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    truth, found = problem
    shuffled = found.take(data.draw(st.permutations(range(len(found)))))
    path = Path(tmp_path_factory.mktemp("stored")) / "predictions.npz"
    write(path, shuffled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diaghoi.diagnosis.blocks.BLOCK", 8)
        patch.setattr("diaghoi.diagnosis.blocks.LARGE", 1)
        patch.setattr("diaghoi.evaluation.ledger.PART", 4)
        second = diagnose(truth, open_predictions(path))
    assert_same(diagnose(truth, found), second)


@given(problem=problems(max_images=6), data=st.data())
def test_nor_in_several_files(problem: tuple[Scenes, Scenes], data: st.DataObject) -> None:
    truth, found = problem
    choices = protocol("hico-det")
    whole = diagnose_images(truth, found, choices)
    # Each image is a file of its own, with its annotations; what nothing is predicted in is one.
    parts = []
    for number in data.draw(st.permutations(range(len(found)))):
        some = np.flatnonzero(truth.names == found.names[number])
        parts.append(diagnose_images(truth.take(some), found.take([number]), choices))
    rest = truth.take(np.flatnonzero(~np.isin(truth.names, found.names)))
    empty = found.between(0, 0).with_names(rest.names)
    parts.append(
        replace(diagnose_images(rest, empty, choices), predicted=np.zeros(len(rest), bool))
    )
    assert_same(whole, arranged(Diagnosis.sum(parts), whole.names))


def assert_same(first: Diagnosis, second: Diagnosis) -> None:
    assert first.names.tolist() == second.names.tolist()
    assert first.to_dict() == second.to_dict()
    for name in ("row_image", "row_label", "row_annotation", "annotation_image"):
        mine, other = getattr(first.ledger, name), getattr(second.ledger, name)
        assert mine.tolist() == other.tolist(), name
