"""What the code bases of the field write is read as it is, and gives the same figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import diaghoi
from diaghoi.formats import open_both, recognise

# Format and file of the conformance cases, all of one detector.
FILES = {
    "gen_vlkt_results.json": "gen-vlkt",
    "gen_vlkt_results_numpy2.json": "gen-vlkt",
    "gen_vlkt_dict.json": "gen-vlkt",
    "gen_vlkt_list.json": "gen-vlkt",
    "cdn_results.json": "triplet-lists",
    "cdn_results_numpy2.json": "triplet-lists",
    "ppdm_predictions.json": "ppdm",
    "cmd_se_preds.pkl": "cmd-se",
    "cmd_se_dets.pkl": "cmd-se",
    "cmd_se_by_image.pkl": "swig-hoi",
    "cmd_se_by_image.json": "swig-hoi",
    "hoidet.json": "hoidet",
    "official_mat": "hico-converted-mat",
    "hoitransformer.json": "hoi-transformer",
}
WITH_ANNOTATIONS = [
    name for name in FILES if "results" in name or name.endswith(("dict.json", "dets.pkl"))
]
# Action scores, which only the file of HoiTransformer has.
OF_ACTION_SCORES = ("negatives", "actions")


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "conformance" / "code_bases"


def figures(annotations: Any, predictions: Any) -> dict[str, Any]:
    found = diaghoi.diagnose(annotations, predictions).to_dict()
    return {key: part for key, part in found.items() if key not in ("label", "notes")}


@pytest.fixture(scope="module")
def truth(folder: Path) -> diaghoi.Scenes:
    return diaghoi.read_annotations(folder / "canonical_gts.pkl")


@pytest.fixture(scope="module")
def expected(folder: Path, truth: diaghoi.Scenes) -> dict[str, dict[str, Any]]:
    return {
        name: figures(truth, diaghoi.read_predictions(folder / f"canonical_{name}.pkl"))
        for name in ("preds", "hoitransformer")
    }


@pytest.mark.parametrize("name", FILES)
def test_every_figure_is_that_of_the_canonical_file(name, folder, truth, expected) -> None:
    dataset = "hico-det" if "by_image" in name else None
    if dataset:
        with pytest.raises(diaghoi.InputError, match="`dataset` hico-det or `dataset` swig-hoi"):
            recognise(folder / name)
    else:
        assert recognise(folder / name).format == FILES[name]
    predictions, annotations = open_both(folder / name, dataset=dataset)
    assert (annotations is not None) == (name in WITH_ANNOTATIONS)
    found = figures(annotations or truth, predictions)
    wanted = dict(expected["hoitransformer" if name.startswith("hoit") else "preds"])
    if name.startswith("hoit"):
        for key in OF_ACTION_SCORES:
            found.pop(key), wanted.pop(key)
    assert found == wanted


def test_annotations_of_ppdm(folder, truth, expected) -> None:
    annotations = diaghoi.read_annotations(folder / "test_hico.json")
    found = diaghoi.read_predictions(folder / "ppdm_predictions.json")
    assert figures(annotations, found)["map"] == expected["preds"]["map"]
