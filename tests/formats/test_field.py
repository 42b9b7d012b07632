"""Files that people had who asked, and that code bases write: read as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import diaghoi


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "conformance" / "field"


def numbers(annotations: Path, predictions: Path) -> dict[str, Any]:
    result = diaghoi.diagnose(
        diaghoi.read_annotations(annotations),
        diaghoi.read_predictions(predictions, dataset="hico-det"),
    ).to_dict()
    return {key: part for key, part in result.items() if key not in ("label", "notes")}


@pytest.fixture(scope="module")
def canonical(folder: Path) -> dict[str, Any]:
    return numbers(folder / "test_hico.json", folder / "canonical.pkl")


def test_rows_by_image_number(folder: Path, canonical: dict[str, Any]) -> None:
    results = folder / "thid_hico_interaction_results.pkl"
    # The file has no scores of verbs, and the canonical one has.
    result = numbers(folder / "test_hico.json", results)
    for key in ("map", "errors", "official"):
        assert result.get(key) == canonical.get(key)


def test_annotations_of_no_frills(folder: Path, canonical: dict[str, Any]) -> None:
    result = numbers(folder / "anno_list.json", folder / "canonical.pkl")
    assert result["map"] == canonical["map"]


def test_arrays_by_path_of_the_picture(folder: Path) -> None:
    predictions = diaghoi.read_predictions(folder / "rlip_custom_imgs.pickle")
    assert len(predictions) == 25
    assert predictions.names[0] == "HICO_test2015_00004128.jpg"


def test_scores_of_some_boxes_are_noted(folder: Path) -> None:
    path = folder / "muren_ko_partial_score.json"
    predictions = diaghoi.read_predictions(path)
    assert predictions.box_score is None
    assert predictions.scored
    note = "boxes have a score, so these scores are ignored"
    assert any(f"{path}: only " in text and note in text for text in predictions.notes)
