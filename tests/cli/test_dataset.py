"""``inspect`` of a description: how it was understood, and what its annotations hold."""

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
    done = run("inspect", annotated)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("zoo: ")
    assert "  object numbers  0 person, 1 cat, 2 ball\n" in done.out
    assert "  boxes           origin 0, layout xyxy\n" in done.out
    assert f"\nAnnotations\n  file                     {Path('gt.json').absolute()}\n" in done.out
    assert done.out.endswith("Nothing looks wrong.\n")


def test_json_on_stdout_is_alone(run, annotated: Path) -> None:
    done = run("inspect", annotated, "--json", "-")
    found = json.loads(done.out)
    assert found["name"] == "zoo"
    assert found["annotations"]["images"] == 1


def test_a_known_data_set_is_numbered_as_formats_do(run) -> None:
    done = run("inspect", "hico-det")
    assert (done.code, done.err) == (0, "")
    assert "  objects         80\n" in done.out
    assert "  object numbers  not given\n" in done.out
    assert done.out.endswith("as well, give --annotations FILE.\n")


def test_notes_and_warnings_are_shown(run, alone: Path) -> None:
    boxes = [
        {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
        {"bbox": [30.0, 40.0, 90.0, 95.0], "category_id": 17},
    ]
    repair = FEED | {"category_id": 76}  # no class of horses
    image: dict[str, Any] = {"file_name": "a.jpg", "annotations": boxes, "hoi_annotation": [repair]}
    (alone / "gt.json").write_text(json.dumps([image]))
    words = ("inspect", "hico-det", "--annotations", "gt.json")
    found = json.loads(run(*words, "--json", "-").out)
    note = "gt.json: all human boxes have label 0: objects are numbered as coco80"
    assert found["notes"] == [note]
    (warning,) = found["warnings"]
    assert "repair horse" in warning
    assert run(*words).out.endswith(f"Note: {note}\nWarning: {warning}\n")


def test_what_a_description_cannot_have_is_refused(refuse, run, annotated: Path) -> None:
    for words in (("--pairs", "gt.json"), ("--dataset", "v-coco"), ("--to-description", "x.toml")):
        assert f"{annotated}: describes a data set; leave out " in refuse(
            "inspect", annotated, *words
        )
    done = run("inspect", annotated, "--json", annotated)
    assert "would overwrite an input file" in done.err
    assert "gt.json: would overwrite" in run("inspect", annotated, "--json", "gt.json").err
    assert "x.toml: No such file or directory" in run("inspect", "x.toml").err


def test_words_of_read_are_for_the_annotations(refuse, run, annotated: Path) -> None:
    assert "unknown format 'x'" in refuse("inspect", annotated, "--read", "format=x")
    assert run("inspect", annotated, "--read", "origin=1").code == 0
    assert "--read top: does not apply" in run("inspect", annotated, "--read", "top=1").err
