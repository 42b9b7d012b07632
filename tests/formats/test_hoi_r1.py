"""The answers of language models: what is read of them, and what is counted as unreadable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import alone_in, outcome

from diaghoi import read_predictions
from diaghoi.data.scenes import UNREAD, Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import recognise

WORDS = hico_det()
HUMAN, THING = [10, 20, 50, 80], [30.5, 40, 90, 95]


def triplet(category: Any = "bicycle", verbs: Any = "ride, sit on", **changed: Any) -> dict:
    given = {"human": HUMAN, "object": THING, "object class": category, "verb class": verbs}
    return given | changed


def answers(*found: Any, outputs: list[str] | None = None) -> dict[str, Any]:
    images = [{"file_name": f"HICO_test2015_{n:08d}"} for n in range(1, len(found) + 1)]
    replies = {} if outputs is None else {"outputs": outputs}
    return {**replies, "preds": list(found), "gt_paths": images}


def read(tmp_path: Path, value: Any, **reading: Any) -> Scenes:
    path = tmp_path / "merged_output.json"
    path.write_text(json.dumps(value))
    return read_predictions(path, **reading)


def names_of(found: Scenes) -> list[str]:
    return [WORDS.class_name(hoi) for hoi in found.triplet_class.tolist()]


def unread(found: Scenes) -> list[dict[str, int]]:
    assert found.unread is not None
    return [dict(zip(UNREAD, row, strict=True)) for row in found.unread.tolist()]


def test_an_answer_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, answers([triplet(), triplet("dining table", "eat at")]))
    assert names_of(found) == ["ride bicycle", "sit on bicycle", "eat at dining table"]
    assert found.box_xyxy.tolist() == [HUMAN, THING, THING]
    assert found.names.tolist() == ["HICO_test2015_00000001"]
    assert not found.ranked
    assert found.triplet_score is not None
    assert set(found.triplet_score.tolist()) == {1.0}
    assert unread(found) == [dict.fromkeys(UNREAD, 0)]


@pytest.mark.parametrize(
    "verbs",
    ["ride, sit on", "ride,sit_on", ["ride", "sit on"], "['ride', 'sit on']", " Ride ,  SIT ON , "],
)
def test_verbs_are_a_list_however_it_is_written(tmp_path: Path, verbs: Any) -> None:
    assert names_of(read(tmp_path, answers([triplet(verbs=verbs)]))) == [
        "ride bicycle",
        "sit on bicycle",
    ]


@pytest.mark.parametrize(
    "bad",
    [
        "ride bicycle",
        None,
        {},
        triplet(human=[1, 2, 3]),
        triplet(human=["1", 2, 3, 4]),
        triplet(object=[1, 2, True, 4]),
        triplet(object=[30, 40, 20, 95]),
        triplet(human=[0, 0, 1e12, 5]),
        triplet(category=7),
        triplet(category=[]),
        triplet(verbs=""),
        triplet(verbs=[3]),
        triplet(verbs={"ride": 1}),
    ],
)
def test_triplets_that_cannot_be_read_are_counted(tmp_path: Path, bad: Any) -> None:
    found = read(tmp_path, answers([triplet(verbs="ride"), bad]))
    assert names_of(found) == ["ride bicycle"]
    assert unread(found)[0]["triplets"] == 1


def test_names_outside_the_data_set_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, answers([triplet(verbs="ride, juggle"), triplet("unicorn", "ride")]))
    assert names_of(found) == ["ride bicycle"]
    assert unread(found) == [{"answers": 0, "triplets": 0, "names": 2}]


def test_answers_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    """An empty list is what the code base writes for broken JSON; the reply tells."""
    replies = ["I see", "<answer>[ ]</answer>", "<answer>[{</answer>", "[]"]
    value = answers(None, [], [], {"human": 3}, outputs=replies)
    assert [row["answers"] for row in unread(read(tmp_path, value))] == [1, 0, 1, 1]
    del value["outputs"]
    assert [row["answers"] for row in unread(read(tmp_path, value))] == [1, 0, 0, 1]


def test_boxes_as_sizes_are_found_and_may_be_asked_for(tmp_path: Path) -> None:
    sizes = {"human": [210, 20, 40, 60], "object": [130, 40, 60, 55]}
    found = read(tmp_path, answers(*([triplet(verbs="ride", **sizes)] for _ in range(20))))
    assert found.box_xyxy[:2].tolist() == [[210, 20, 250, 80], [130, 40, 190, 95]]
    negative = triplet(verbs="ride, hold", **sizes | {"object": [130, 40, -60, 55]})
    found = read(tmp_path, answers([triplet(**sizes), negative]), boxes="xywh")
    assert names_of(found) == ["ride bicycle", "sit on bicycle"]
    assert unread(found) == [{"answers": 0, "triplets": 1, "names": 0}]


def test_it_is_recognised(tmp_path: Path) -> None:
    read(tmp_path, answers([triplet()], outputs=["..."]))
    found = recognise(tmp_path / "merged_output.json")
    assert (found.format, found.kind, found.dataset) == ("hoi-r1", "predictions", "hico-det")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preds": 3}, "preds: is 3; give a list"),
        ({"gt_paths": {}}, "gt_paths: is .*; give a list"),
        ({"gt_paths": ["a.jpg"]}, r"image 0 \(counted from 0\): is 'a.jpg'; give a dict"),
        ({"gt_paths": [{"file_name": 3.5}]}, "file_name: 3.5 is not the name of an image"),
        ({"preds": []}, "lengths differ: preds 0, gt_paths 1; give one value per image"),
        ({"outputs": ["a", "b"]}, "lengths differ: preds 1, gt_paths 1, outputs 2"),
    ],
)
def test_files_that_are_no_answers(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, answers([triplet()]) | change)


def annotations(tmp_path: Path) -> Path:
    path = tmp_path / "test_hico.json"
    boxes = [{"bbox": HUMAN, "category_id": 1}, {"bbox": THING, "category_id": 2}]
    ride = {"subject_id": 0, "object_id": 1, "category_id": WORDS.verbs.index("ride") + 1}
    images = [
        {
            "file_name": f"HICO_test2015_{n:08d}.jpg",
            "annotations": boxes,
            "hoi_annotation": [ride],
        }
        for n in (1, 2)
    ]
    path.write_text(json.dumps(images))
    return path


def test_the_report_of_a_language_model(tmp_path: Path) -> None:
    """From the answers to precision, recall, F1 and bounds, in one command."""
    read(tmp_path, answers([triplet(verbs="ride, juggle")], None))
    path, out = tmp_path / "merged_output.json", tmp_path / "out.json"
    truth = annotations(tmp_path)
    with alone_in(tmp_path):
        done = outcome("report", path, "--annotations", truth, "--json", out, "--detail")
        refused = outcome("report", path, "--annotations", truth, "--also", "score-threshold=0.5")
    assert done.code == 0, done.err
    result = json.loads(out.read_text())
    full = result["detections"]["full"]
    assert (full["precision"], full["recall"], full["f1"]) == (0.5, 0.5, 0.5)
    assert result["unscored"]["answers"]["unreadable"] == 1
    assert result["unscored"]["bounds"]["default"]["best"]["full"] == pytest.approx(6 / 11)
    assert "Triplets with the right class and boxes, %" in done.out
    assert "Bounds of mAP without scores, %" in done.out
    assert "1 of 2 answers could not be read" in done.err
    assert refused.code == 2
    assert "--also score-threshold: the detector gives no scores, so none" in refused.err


def test_lists_without_scores(tmp_path: Path) -> None:
    """The usual layout without scores is read as one; with any other key a score is missing."""
    row = {"subject_id": 0, "object_id": 1, "category_id": WORDS.verbs.index("ride")}
    boxes = [{"bbox": HUMAN, "category_id": 0}, {"bbox": THING, "category_id": 1}]
    value = [{"filename": "1.jpg", "predictions": boxes, "hoi_prediction": [row]}]
    found = read(tmp_path, value)
    assert names_of(found) == ["ride bicycle"]
    assert not found.ranked
    row["scores"] = 0.5
    with pytest.raises(InputError, match=r"the key 'score' is missing .*did you mean 'scores'"):
        read(tmp_path, value)
    row["score"] = row.pop("scores")
    assert read(tmp_path, value).ranked
