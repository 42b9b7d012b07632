"""Files that hold the annotations beside the predictions, as training code leaves them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from diaghoi.data.vocabulary import hico_det

NAME = "HICO_test2015_00000001.jpg"
HUMAN, THING = [10.0, 20.0, 50.0, 80.0], [30.5, 40.0, 90.0, 95.0]
WORDS = hico_det()
CLASSES = [WORDS.class_name(hoi) for hoi in range(len(WORDS))]
RIDE, HOLD = (WORDS.verbs.index(verb) for verb in ("ride", "hold"))
FILE: dict[str, Any] = {
    "preds": [
        {
            "filename": NAME,
            "predictions": [{"bbox": HUMAN}, {"bbox": THING}],
            "hoi_prediction": [
                {
                    "subject_id": 0,
                    "object_id": 1,
                    "category_id": CLASSES.index("ride bicycle"),
                    "score": 0.5,
                }
            ],
        }
    ],
    "gts": [
        {
            "filename": NAME,
            "annotations": [{"bbox": HUMAN, "category_id": 0}, {"bbox": THING, "category_id": 1}],
            "hoi_annotation": [{"subject_id": 0, "object_id": 1, "category_id": RIDE}],
        }
    ],
}


@pytest.fixture
def results(alone: Path) -> Path:
    """GEN-VLKT's file: a JSON string of what Python prints."""
    path = alone / "results.json"
    path.write_text(json.dumps(str(FILE)))
    return path


def written(alone: Path, gts: list[dict[str, Any]]) -> Path:
    path = alone / "gts.json"
    path.write_text(json.dumps(gts))
    return path


def test_they_are_used_and_said_to_be_used(run, results: Path) -> None:
    done = run("report", results, "--json", "-")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["map"]["full"] == 1
    assert f"annotations: read from {results}" in result["notes"]


def test_those_given_count_and_differences_are_told(run, results: Path, alone: Path) -> None:
    gts = copy.deepcopy(FILE["gts"])
    given = written(alone, gts)
    same = json.loads(run("report", results, "--annotations", given, "--json", "-").out)
    assert not any("annotations:" in note for note in same["notes"])
    gts[0]["hoi_annotation"][0]["category_id"] = HOLD
    gts.append({**gts[0], "filename": "HICO_test2015_00000002.jpg"})
    written(alone, gts)
    other = json.loads(run("report", results, "--annotations", given, "--json", "-").out)
    assert other["map"]["full"] == 0
    (note,) = [note for note in other["notes"] if note.startswith("annotations: ")]
    assert note == (
        f"annotations: the given file is used, not the annotations in {results}, which differ: "
        "2 triplets and 1 image are only in the given file, "
        "1 triplet and 0 images only in the other annotations"
    )
    screen = " ".join(run("report", results, "--annotations", given).out.split())
    assert "! annotations: the given file is used" in screen
