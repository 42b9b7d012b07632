"""The results of iCAN, TIN, DRG and VCL: what is read, how objects are numbered, and refusals."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import InputError, Scenes, read_predictions
from diaghoi.data.vocabulary import hico_det, object_numberings
from diaghoi.formats import recognise

WORDS = hico_det()
BICYCLE, DOG = (WORDS.objects.index(name) for name in ("bicycle", "dog"))
RIDE, HOLD = (WORDS.verbs.index(name) for name in ("ride", "hold"))
HUMAN, OTHER, THING = [1.0, 2.0, 30.0, 40.0], [5.0, 6.0, 50.0, 60.0], [10.0, 20.0, 60.0, 70.5]
Save = Callable[[Any], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def saved(value: Any) -> Path:
        path = tmp_path / "results.pkl"
        path.write_bytes(pickle.dumps(value, protocol=2))
        return path

    return saved


def number(label: int, order: str = "coco80") -> int:
    return 1 + next(n for n, place in object_numberings()[order].items() if place == label)


def of_classes(label: int, scores: dict[int, float], rest: float = 0.01) -> Any:
    """The 600 scores of a pair, with those of some verbs with its object."""
    values = np.full(600, rest, dtype=np.float32)
    for verb, score in scores.items():
        values[WORDS.class_of[label, verb]] = score
    return values


def of_verbs(scores: dict[int, float], rest: float = 0.01) -> Any:
    values = np.full(117, rest, dtype=np.float32)
    values[list(scores)] = list(scores.values())
    return values


def pair(
    human: list[float],
    thing: list[float],
    label: Any,
    scores: Any,
    sure: tuple[Any, Any] = (0.5, 0.25),
) -> list[Any]:
    boxes = [np.array(box, dtype=np.float32) for box in (human, thing)]
    return [*boxes, label, scores, *sure]


@pytest.fixture
def ican() -> dict[int, Any]:
    riding = of_classes(BICYCLE, {RIDE: 0.75, HOLD: 0.5})
    return {
        683: [
            pair(HUMAN, THING, number(BICYCLE), riding),
            pair(OTHER, THING, number(BICYCLE), of_classes(BICYCLE, {HOLD: 0.25}), (1.0, 0.25)),
            pair(HUMAN, OTHER, number(DOG), of_classes(DOG, {HOLD: 0.125}), (0.5, 0.75)),
        ],
        7: [],
    }


def check(scenes: Scenes) -> None:
    assert scenes.names.tolist() == ["683", "7"]
    assert scenes.box_xyxy.tolist() == [HUMAN, THING, OTHER, OTHER]  # a person and a dog
    assert scenes.box_label.tolist() == [0, BICYCLE, 0, DOG]
    assert scenes.box_score is not None
    assert scenes.box_score.tolist() == [0.5, 0.25, 1.0, 0.75]
    assert scenes.pair_human.tolist() == [0, 2, 0]
    assert scenes.pair_object.tolist() == [1, 1, 3]
    assert scenes.pair_score is not None
    assert scenes.pair_score.tolist() == [0.75 / 8, 0.0625, 0.125 * 0.375]
    assert scenes.triplet_score is not None
    assert scenes.triplet_action_score is not None
    assert scenes.triplet_pair[:4].tolist() == [0, 0, 1, 2]
    assert scenes.triplet_verb[:4].tolist() == [RIDE, HOLD, HOLD, HOLD]
    assert scenes.triplet_score[:4].tolist() == [0.75 / 8, 0.0625, 0.0625, 0.125 * 0.375]
    assert scenes.triplet_action_score[:4].tolist() == [0.75, 0.5, 0.25, 0.125]
    assert (scenes.triplet_class >= 0).all()
    assert scenes.top == 100


def test_scores_of_classes(ican: dict[int, Any], save: Save) -> None:
    """Every class of the object is a triplet, those of other objects are not."""
    scenes = read_predictions(save(ican))
    check(scenes)
    assert len(scenes.triplet_pair) == sum(
        int((WORDS.class_object == label).sum()) for label in (BICYCLE, BICYCLE, DOG)
    )
    found = recognise(save(ican))
    assert (found.format, found.kind, found.dataset) == ("ican", "predictions", "hico-det")
    assert "cut to the 100 best triplets of each image" in scenes.notes[-1]


def test_scores_of_verbs(ican: dict[int, Any], save: Save) -> None:
    """DRG: arrays of one as class and object score."""
    scores = ({RIDE: 0.75, HOLD: 0.5}, {HOLD: 0.25}, {HOLD: 0.125})
    for row, verbs in zip(ican[683], scores, strict=True):
        row[2:4] = [np.array([float(row[2])]), of_verbs(verbs)]
        row[5] = np.array([row[5]])
    check(read_predictions(save(ican)))


def test_binary_scores_of_tin_are_left_out(ican: dict[int, Any], save: Save) -> None:
    for row in ican[683]:
        row.append(np.array([0.9, 0.1], dtype=np.float32))
    check(read_predictions(save(ican)))


@pytest.mark.parametrize("fused", ["spv", "spho"])
def test_branches_of_vcl(ican: dict[int, Any], save: Save, fused: str) -> None:
    """VCL: images and classes are scalars of NumPy, and the scores those of its branches."""
    for row in ican[683]:
        scores, box = row[3], row[0]
        half, rest = np.full(600, 0.5, dtype=np.float32), np.full(600, 0.75, dtype=np.float32)
        branches = [half / 2, half / 2, scores * 2, half, np.zeros(600, dtype=np.float32)]
        if fused == "spho":
            branches[3] = box
        else:
            branches[:2] = [rest, rest]
        row[2:6] = [np.float32(row[2]), 0, np.float32(row[4]), np.float32(row[5])]
        row += branches
    scenes = read_predictions(save({np.int32(key): rows for key, rows in ican.items()}))
    check(scenes)
    assert f"the scores of VCL's branches are fused as '{fused}'" in scenes.notes[0]


def test_lists_in_json(ican: dict[int, Any], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(ican, default=lambda value: value.tolist()))
    check(read_predictions(path))


def test_written_by_python_2(ican: dict[int, Any], tmp_path: Path) -> None:
    path = tmp_path / "results.pkl"
    path.write_bytes(pickle.dumps(ican, protocol=0))
    check(read_predictions(path))


def test_top(ican: dict[int, Any], save: Save) -> None:
    ican[683] *= 10
    assert len(read_predictions(save(ican)).triplet_pair) == 100
    assert len(read_predictions(save(ican), top=150).triplet_pair) == 150


@pytest.mark.parametrize("width", [600, 117])
@pytest.mark.parametrize("order", ["coco80", "hico80"])
def test_the_order_of_objects_shows_in_the_scores(save: Save, width: int, order: str) -> None:
    rng = np.random.default_rng(17)
    rows = []
    for _ in range(60):
        hoi = int(rng.choice(np.flatnonzero(WORDS.class_verb != WORDS.no_interaction)))
        label, verb = int(WORDS.class_object[hoi]), int(WORDS.class_verb[hoi])
        scores = of_classes(label, {verb: 0.9}) if width == 600 else of_verbs({verb: 0.9})
        rows.append(pair(HUMAN, THING, number(label, order), scores))
    scenes = read_predictions(save({1: rows}))
    other = read_predictions(save({1: rows}), objects=order)
    assert scenes.box_label.tolist() == other.box_label.tolist()
    assert scenes.triplet_verb.tolist() == other.triplet_verb.tolist()
    noted = any("numbered from 1 in HICO's order" in note for note in scenes.notes)
    assert noted == (order == "hico80")


def test_one_pair_is_enough_where_only_its_object_has_scores(save: Save) -> None:
    row = pair(HUMAN, THING, number(DOG, "hico80"), of_classes(DOG, {HOLD: 0.5}, 0.0))
    assert read_predictions(save({1: [row]})).box_label.tolist() == [0, DOG]


def test_objects_in_doubt(save: Save) -> None:
    rows = [
        pair(HUMAN, THING, number(DOG, order), of_classes(DOG, {HOLD: 0.5}))
        for order in ("hico80",) * 9 + ("coco80",) * 5
    ]
    rows += [pair(HUMAN, THING, number(BICYCLE), of_classes(DOG, {HOLD: 0.5}))] * 6
    with pytest.raises(InputError, match=r"give `objects=\"coco80\"` or `objects=\"hico80\"`$"):
        read_predictions(save({1: rows}))
    assert read_predictions(save({1: rows}), objects="coco80").box_label[1] != DOG


REFUSED = {
    "box": (0, [1, 2, 3], r"human box\[1\]: \[1, 2, 3\] is not four numbers"),
    "turned": (1, [5, 5, 1, 1], r"object box\[1\]: the box .* ends before it begins"),
    "class": (2, 81, r"object class\[1\]: unknown object category 81; .* 1 to 80"),
    "half": (2, 1.5, r"object class\[1\]: 1.5 is not a whole number$"),
    "word": (2, "dog", r"object class\[1\]: 'dog' is not a number$"),
    "fewer": (3, np.zeros(117), r"pair\[1\].scores: .*; give 600 numbers, like the first pair$"),
    "nan": (3, np.full(600, np.nan), r"scores\[1\]: score 0 is nan; give a finite number$"),
    "score": (4, None, r"human score\[1\]: the score is nan; give a"),
    "infinite": (5, np.inf, r"object score\[1\]: the score is inf; give a finite number$"),
}


@pytest.mark.parametrize(("place", "value", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_values(ican, save, place, value, message) -> None:
    ican[683][1][place] = value
    with pytest.raises(InputError, match=r"image '683': " + message):
        read_predictions(save(ican))


def test_refused_structure(ican: dict[int, Any], save: Save) -> None:
    changed = copy.deepcopy(ican)
    changed[683][2] = [1, 2]
    with pytest.raises(InputError, match=r"image '683': pair\[2\]: is \[1, 2\]; give a list: hum"):
        read_predictions(save(changed))
    with pytest.raises(InputError, match=r"image '8': is 5; give a list of pairs$"):
        read_predictions(save(ican | {8: 5}))
    with pytest.raises(InputError, match=r"image '683': image: used for two images"):
        read_predictions(save(ican | {"683": []}))
    ican[683][0][3] = np.zeros(222)
    with pytest.raises(
        InputError, match=r"give 600 scores \(one per HOI class\), 117 scores \(one per"
    ):
        read_predictions(save(ican))
    ican[683][0][3] = 0
    with pytest.raises(InputError, match=r"or 0 if the scores of VCL's branches follow"):
        read_predictions(save(ican))
