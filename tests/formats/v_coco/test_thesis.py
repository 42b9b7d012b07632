"""The mAP that QPIC's code prints of V-COCO during training: 29 actions, matched as HOI classes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import Diagnosis, InputError, diagnose, read_annotations, read_predictions
from diaghoi.data.vocabulary import v_coco_thesis

WORDS = v_coco_thesis()
PERSON, BIKE = [0, 0, 50, 100], [100, 0, 180, 60]
HOLD, STAND, POINT = 0, 1, 26
NAME = "COCO_val2014_{:012}.jpg"
Image = dict[str, Any]


def annotated(number: int, *triplets: tuple[int, int, int]) -> Image:
    """An image with a person, 0, a bicycle, 1, and (subject, object, verb)."""
    return {
        "file_name": NAME.format(number),
        "annotations": [
            {"bbox": PERSON, "category_id": 1},
            {"bbox": BIKE, "category_id": 2},
        ],
        "hoi_annotation": [
            {"subject_id": subject, "object_id": object_, "category_id": verb}
            for subject, object_, verb in triplets
        ],
    }


def predicted(number: int, *pairs: dict[int, float], labels: tuple[int, int] = (0, 1)) -> Image:
    """Dense arrays of the same person and bicycle: the scores of some verbs for each pair."""
    scores = np.zeros((len(pairs), 29))
    for row, given in enumerate(pairs):
        scores[row, list(given)] = list(given.values())
    return {
        "filename": NAME.format(number),
        "boxes": np.array([PERSON, BIKE], dtype=float),
        "labels": np.array(labels),
        "verb_scores": scores,
        "sub_ids": np.zeros(len(pairs), dtype=int),
        "obj_ids": np.ones(len(pairs), dtype=int),
    }


def evaluated(folder: Path, truth: list[Image], found: list[Image]) -> Diagnosis:
    annotations, predictions = folder / "test_vcoco.json", folder / "preds.pkl"
    annotations.write_text(json.dumps(truth))
    predictions.write_bytes(pickle.dumps(found))
    return diagnose(
        read_annotations(annotations, dataset="v-coco-thesis"),
        read_predictions(predictions, dataset="v-coco-thesis", objects="coco80"),
    )


def test_the_classes() -> None:
    assert len(WORDS) == 29
    assert WORDS.verbs[HOLD : STAND + 2] == ("hold obj", "stand", "sit instr")
    left = np.flatnonzero(~WORDS.splits["thesis"]).tolist()
    assert [WORDS.verbs[verb] for verb in left] == ["stand", "walk", "run", "smile", "point instr"]
    assert left[-1] == POINT
    assert pickle.loads(pickle.dumps(WORDS)) is WORDS


def test_a_case_by_hand(tmp_path: Path) -> None:
    """Of `stand` the first pair hits, of `hold` the second; 23 classes of the thesis count 0."""
    truth = [annotated(7, (0, 1, HOLD), (0, -1, STAND)), annotated(8)]
    found = [predicted(8, {HOLD: 0.9}), predicted(7, {HOLD: 0.8, STAND: 0.7}, {STAND: 0.9})]
    means = evaluated(tmp_path, truth, found).mean_ap
    assert means["full"] == pytest.approx((1 / 2 + 1) / 2, abs=1e-15)
    assert means["thesis"] == pytest.approx(1 / 2 / 24, abs=1e-15)


def test_categories_count_but_not_where_no_object_is_annotated(tmp_path: Path) -> None:
    truth = [annotated(7, (0, 1, HOLD), (0, -1, 2), (0, -1, STAND))]
    scores = {HOLD: 0.8, 2: 0.8, STAND: 0.8}
    diagnosis = evaluated(tmp_path, truth, [predicted(7, scores, labels=(0, 3))])
    ap = dict(zip(diagnosis.classes["name"], diagnosis.classes["ap"], strict=True))
    assert (ap["hold obj"], ap["sit instr"], ap["stand"]) == (0, 1, 1)


@pytest.mark.parametrize("label", [80, -1])
def test_an_object_that_is_none_fits_no_category(tmp_path: Path, label: int) -> None:
    """80 is QPIC's label of no object; its box may be NaN."""
    truth = [annotated(7, (0, 1, HOLD)), annotated(8, (0, 1, HOLD), (0, -1, STAND))]
    truth[0]["annotations"][1]["category_id"] = 90  # the last category: a toothbrush
    found = [predicted(n, {HOLD: 0.8, STAND: 0.7}, labels=(0, label)) for n in (7, 8)]
    for box in (BIKE, [np.nan] * 4):
        if label == 80:
            found[1]["boxes"][1] = box
        diagnosis = evaluated(tmp_path, truth, found)
        assert diagnosis.mean_ap["full"] == pytest.approx((0 + 1 / 2) / 2, abs=1e-15)
        # In no image does a box lie on the toothbrush of the one before.
        assert diagnosis.errors["object_box"] == 2 * 29 - 1


def test_the_hundred_best_of_all_actions_count(tmp_path: Path) -> None:
    better = [dict.fromkeys(range(2, 29), 0.9) for _ in range(4)]
    truth = [annotated(7, (0, 1, HOLD))]
    for more, found in ((better[:3], 1.0), (better, 0.0)):
        means = evaluated(tmp_path, truth, [predicted(7, *more, {HOLD: 0.1})]).mean_ap
        assert means["full"] == found


def made_up() -> tuple[list[Image], list[Image]]:
    """Twelve images whose people, objects and scores follow from their numbers alone."""
    truth, found = [], []
    for n in range(12):
        boxes = [[90 * k, 7 * k, 90 * k + 60 + 3 * n, 100 + 5 * k] for k in range(6)]
        kinds = [0, 0, 0, 1, 2 + n % 3, 40]
        coco91 = {0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 40: 46}
        hois = [(k, 3 + (k + n) % 3, (5 * n + 7 * k) % 29) for k in range(3)]
        hois += [(n % 3, -1, verb) for verb in (STAND, 4, (3 * n) % 29)]
        truth.append(
            {
                "file_name": NAME.format(n + 1),
                "annotations": [
                    {"bbox": box, "category_id": coco91[kind]}
                    for box, kind in zip(boxes, kinds, strict=True)
                ],
                "hoi_annotation": [
                    {"subject_id": s, "object_id": o, "category_id": v} for s, o, v in hois
                ],
            }
        )
        pairs = [(k % 3, 3 + (k + n) % 3) for k in range(9)]
        scores = np.array(
            [[(37 * n + 101 * q + 53 * v) % 1009 for v in range(29)] for q in range(9)]
        )
        scores = scores / 2018
        for q, (subject, thing) in enumerate(pairs):
            for s, o, v in hois:
                if s == subject and o in (thing, -1) and (n + q + v) % 4:
                    scores[q, v] += 0.4
        moved = np.array(boxes, dtype=float) + np.array([n % 4, 5, -4 * (n % 5), 9])
        found.append(
            {
                "filename": NAME.format(n + 1),
                "boxes": moved,
                "labels": np.array([*kinds[:4], kinds[4] if n % 4 else 7, kinds[5]]),
                "verb_scores": scores,
                "sub_ids": np.array([subject for subject, _ in pairs]),
                "obj_ids": np.array([thing for _, thing in pairs]),
            }
        )
    return truth, found


def test_the_figures_are_those_of_qpics_evaluator(tmp_path: Path) -> None:
    means = evaluated(tmp_path, *made_up()).mean_ap
    # `mAP_all` and `mAP_thesis` of datasets/vcoco_eval.py, run on these images.
    assert means["full"] == pytest.approx(0.8589970253835801, abs=1e-12)
    assert means["thesis"] == pytest.approx(0.816919191919192, abs=1e-12)


def test_files_without_categories_are_refused(tmp_path: Path) -> None:
    row = {"image_id": 7, "person_box": PERSON, "hold_agent": 0.5, "hold_obj": [*BIKE, 0.5]}
    (tmp_path / "official.pkl").write_bytes(pickle.dumps([row]))
    with pytest.raises(InputError, match=r"is for v-coco .v-coco-results., but v-coco-thesis is"):
        read_predictions(tmp_path / "official.pkl", dataset="v-coco-thesis")


def test_the_protocol_names_its_data_set(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps([annotated(7, (0, 1, HOLD))]))
    (tmp_path / "p.pkl").write_bytes(pickle.dumps([predicted(7, {HOLD: 0.5})]))
    given = read_annotations(tmp_path / "t.json"), read_predictions(tmp_path / "p.pkl")
    with pytest.raises(InputError, match=r"not for v-coco; give .dataset. v-coco-thesis, or"):
        diagnose(*given, "v-coco-thesis")
