"""The description of a data set as it was understood, and what its annotations hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.described import write_description

FEED = {"subject_id": 0, "object_id": 1, "category_id": 0}


@pytest.fixture
def annotated(alone: Path) -> Path:
    """Write annotations of one image beside a description that names them."""
    boxes = [
        {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
        {"bbox": [30.0, 40.0, 90.0, 95.0], "category_id": 1},
    ]
    image: dict[str, Any] = {"file_name": "a.jpg", "annotations": boxes, "hoi_annotation": [FEED]}
    (alone / "gt.json").write_text(json.dumps([image]))
    return write_description(alone, 'annotations = "gt.json"\nnumbers = { objects = 0, verbs = 0 }')


def test_a_description_is_shown_with_its_annotations(run, annotated: Path) -> None:
    done = run("dataset", "check", annotated)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("zoo: ")
    assert "objects         3: person 0, cat 1, ball 2" in done.out
    assert "boxes in files  left, top, right, bottom, counted from 0" in done.out
    assert "Annotations: " in done.out


def test_json_on_stdout_is_alone(run, annotated: Path) -> None:
    done = run("dataset", "check", annotated, "--json", "-")
    found = json.loads(done.out)
    assert found["name"] == "zoo"
    assert found["annotations"]["images"] == 1


def test_a_known_data_set_is_numbered_as_formats_do(run) -> None:
    done = run("dataset", "check", "hico-det")
    assert (done.code, done.err) == (0, "")
    assert "objects         80, numbered as each format does" in done.out
    assert "boxes in files  as each format has them" in done.out
    assert "The description names no annotations; give them with --annotations" in done.out


def test_notes_and_warnings_are_shown(run, alone: Path) -> None:
    boxes = [
        {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
        {"bbox": [30.0, 40.0, 90.0, 95.0], "category_id": 17},
    ]
    repair = FEED | {"category_id": 76}  # no class of horses
    image: dict[str, Any] = {"file_name": "a.jpg", "annotations": boxes, "hoi_annotation": [repair]}
    (alone / "gt.json").write_text(json.dumps([image]))
    words = ("dataset", "check", "hico-det", "--annotations", "gt.json")
    found = json.loads(run(*words, "--json", "-").out)
    note = "gt.json: all human boxes have label 0: objects are numbered as coco80"
    assert found["notes"] == [note]
    (warning,) = found["warnings"]
    assert "repair horse" in warning
    assert run(*words).out.endswith(f"Note: {note}\nWarning: {warning}\n")
