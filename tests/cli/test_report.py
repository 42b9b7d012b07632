"""``diaghoi report``: the contract of its outputs and what its options do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

import diaghoi
from diaghoi.formats import write

SPLITS = ["full", "rare", "non_rare"]
ORACLES = [
    *("human_box", "object_box", "both_boxes", "association", "action", "duplicate"),
    *("missed_gt", "false_positive", "false_negative"),
]
CONTRACT: dict[str, Any] = {
    "diaghoi": None,
    "dataset": None,
    "label": None,
    "headline": None,
    "protocol": ["name", "signature"],
    "counts": [
        *("images", "annotated_triplets", "predicted_triplets", "predicted_pairs"),
        "classes_in_mean",
        "classes_in_official",
        *("leave_mean", "leave_mean_by_pair"),
    ],
    "official": ["default", "known_object"],
    "map": SPLITS,
    "max_recall": SPLITS,
    "errors": ["true_positive", *ORACLES[:7]],
    "oracles": ORACLES,
    "localised": ["human_box", "object_box", "association", "action", "missed_gt"],
    "lost": ["triplets", "both_boxes"],
    "ranking": ["map_best_order", "outranked"],
    "pairs": [
        *("recall", "precision", "per_image", "source", "human_recall", "object_recall"),
        "mean_object_recall",
        *("rare", "non_rare"),
    ],
    "negatives": ["ap", "ap_published", "pairs", "negatives"],
    "actions": ["map", "max_recall", "rare", "non_rare"],
    "notes": None,
}


@pytest.fixture
def report(run, data):
    """Return a function that reports on the small data set and gives the JSON."""

    def command(*words: object, predictions: Path = data.predictions) -> dict[str, Any]:
        done = run("report", predictions, "--annotations", data.annotations, "--json", "-", *words)
        assert done.code == 0, done.err
        return json.loads(done.out)

    return command


@pytest.fixture(scope="module")
def usual(run_once, data) -> dict[str, Any]:
    done = run_once("report", data.predictions, "--annotations", data.annotations, "--json", "-")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_json_has_the_keys_of_the_contract_in_order(usual) -> None:
    result = usual
    assert list(result) == list(CONTRACT)
    for key, wanted in CONTRACT.items():
        if wanted is not None:
            assert list(result[key]) == wanted, key
    official = result["official"]["default"]["full"]
    assert result["headline"] == [{"metric": "mAP", "setting": "Default, Full", "value": official}]
    assert list(result["official"]["default"]) == SPLITS
    assert list(result["official"]["known_object"]) == [*SPLITS, "source"]
    for outcome in result["oracles"].values():
        assert list(outcome) == ["map", "delta_map", "max_recall"]
        assert all(list(part) == SPLITS for part in outcome.values())
    assert result["diaghoi"] == diaghoi.__version__
    assert result["dataset"] == "hico-det"
    assert result["label"] == "preds"
    assert result["protocol"]["name"] == "hico-det-520"
    assert isinstance(result["notes"], list)


def test_figures_are_fractions(usual) -> None:
    result = usual
    means = [result["map"], result["max_recall"], result["official"]["default"]]
    means += [outcome["map"] for outcome in result["oracles"].values()]
    for mean in means:
        assert all(value is None or 0 <= value <= 1 for value in mean.values())
    assert result["map"]["full"] > 0.3
    for outcome in result["oracles"].values():
        gain = outcome["map"]["full"] - result["map"]["full"]
        assert outcome["delta_map"]["full"] == pytest.approx(gain, abs=1e-15)


def test_what_is_undefined_is_null(run, save, truth, found) -> None:
    """One class that is not rare, no action scores, no negative pair."""
    for image in found:
        del image["hoi_prediction"][0]["action_score"]
    words = ("--annotations", save("gt.pkl", truth), "--json", "-")
    done = run("report", save("preds.pkl", found), *words)
    result = json.loads(done.out)
    assert result["map"] == {"full": 1.0, "rare": None, "non_rare": 1.0}
    assert result["oracles"]["action"]["delta_map"]["rare"] is None
    assert result["pairs"]["rare"] == {"recall": None, "precision": 0.0}
    assert result["negatives"] == {"ap": None, "ap_published": None, "pairs": 2, "negatives": 0}
    undefined = {"map": None, "max_recall": None}
    assert result["actions"] == undefined | {"rare": undefined, "non_rare": undefined}
    assert "the file has no action scores: negatives and actions are undefined" in result["notes"]
    assert "NaN" not in done.out


def test_json_file_equals_stdout_and_api(report, run, data, alone: Path) -> None:
    on_stdout = report("--pairs", data.pairs)
    words = ("--annotations", data.annotations, "--pairs", data.pairs, "--json", "r.json", "-q")
    assert run("report", data.predictions, *words).code == 0
    assert json.loads((alone / "r.json").read_text()) == on_stdout
    predictions = diaghoi.read_predictions(data.predictions, pairs=data.pairs)
    api = diaghoi.diagnose(
        diaghoi.read_annotations(data.annotations), predictions, label="preds"
    ).to_dict()
    assert api == on_stdout
    assert on_stdout["pairs"]["source"] == "pairs"


def test_columnar_file_gives_the_same_figures(report, data) -> None:
    lists = report("--pairs", data.pairs, "--label", "same")
    columnar = report("--label", "same", predictions=data.columnar)
    assert columnar == lists


def test_results_and_notes_are_kept_apart(run, data) -> None:
    done = run("report", data.predictions, "--annotations", data.annotations, "--detail")
    assert done.code == 0
    assert "Note" not in done.out
    assert done.err == "Note: no pair file: the predicted pairs come from the triplets\n"
    assert "taken from the triplets" in done.out


def test_hopeless_predictions_are_said_to_be_so(refuse, run, data, alone: Path) -> None:
    found = diaghoi.read_predictions(data.predictions)
    write(alone / "p.npz", replace(found, box_xyxy=found.box_xyxy / 640))
    assert (
        "(instances_test2015.json, anno_bbox.mat); give --force to evaluate the predictions anyway"
        in refuse("report", "p.npz", "--annotations", data.annotations)
    )
    words = ("--annotations", data.annotations, "--force")
    forced = run("report", "p.npz", *words)
    assert forced.code == 0
    assert "! 0.0 % of the annotated boxes have a predicted box close to them: " in forced.out
    forced = run("report", "p.npz", *words, "--detail")
    assert "so boxes look divided by the image size" in forced.err.splitlines()[0]


def test_options_do_what_they_say(report, usual) -> None:
    strict, few = report("--protocol", "iou=0.95"), report("--protocol", "top=10")
    assert "IoU >= 0.95, inclusive boxes" in strict["protocol"]["signature"]
    assert "triplets: top 10 per image" in few["protocol"]["signature"]
    assert strict["errors"]["true_positive"] < usual["errors"]["true_positive"]
    # What nothing finds depends on the IoU.
    same = {"leave_mean": None, "leave_mean_by_pair": None}
    assert strict["counts"] | same == usual["counts"] | same
    assert strict["official"] == usual["official"]
    assert few["counts"]["predicted_triplets"] < usual["counts"]["predicted_triplets"]
    shifted = report("--read", "origin=1", "--protocol", "iou=0.95")
    assert shifted["errors"] != strict["errors"]
    tested = report("--protocol", "rare=test")
    assert "rare: < 10 test instances" in tested["protocol"]["signature"]
    assert tested["counts"]["classes_in_mean"] != usual["counts"]["classes_in_mean"]
    every_class = report("--protocol", "hico-det")
    assert every_class["map"] == usual["official"]["default"]
    assert every_class["counts"]["predicted_triplets"] >= usual["counts"]["predicted_triplets"]
    named = report("--dataset", "hico-det", "--read", "format=triplet-lists,objects=coco80")
    assert named["map"] == usual["map"]


@pytest.mark.parametrize("detector", ["one_stage", "two_stage", "weak"])
def test_published_diagnosis(run, shared: Path, detector: str) -> None:
    folder = shared / "conformance" / "hico_det_diagnosis"
    done = run(
        *("report", folder / f"{detector}_preds.pkl", "--protocol", "diag-hoi", "--json", "-"),
        *("--annotations", folder / "gt_wo_nointer.pkl"),
        *("--pairs", folder / f"{detector}_pairs.pkl"),
    )
    result = json.loads(done.out)
    expected = json.loads((folder / f"{detector}_expected.json").read_text())
    assert result["errors"] == expected["errors"]
    own = {"map": result["map"], "max_recall": result["max_recall"]}
    outcomes = {"baseline": own} | result["oracles"]
    assert set(expected["oracles"]) == set(outcomes)
    for name, wanted in expected["oracles"].items():
        figures = outcomes[name]["map"] | {"max_recall": outcomes[name]["max_recall"]["full"]}
        figures["map"] = figures.pop("full")
        assert figures == pytest.approx(wanted, abs=1e-9), name
    for part in ("actions", "pairs", "negatives"):
        for key, value in expected[part].items():
            assert result[part][key] == pytest.approx(value, abs=1e-9), (part, key)


def test_official_benchmark(run, shared: Path) -> None:
    folder = shared / "conformance" / "hico_det_official"
    done = run(
        *("report", folder / "one_stage_arrays.pkl", "--protocol", "hico-det", "--json", "-"),
        *("--annotations", folder / "annotations.json"),
    )
    result = json.loads(done.out)
    expected = json.loads((folder / "one_stage_expected.json").read_text())
    assert result["official"]["known_object"]["source"] == "box annotations"
    for setting in ("default", "known_object"):
        for split in SPLITS:
            wanted = pytest.approx(expected[setting][split], abs=1e-9)
            assert result["official"][setting][split] == wanted
    assert result["map"] == result["official"]["default"]
    assert result["max_recall"]["full"] == pytest.approx(expected["default"]["max_recall"], 1e-9)


@pytest.fixture(scope="module")
def labels(data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Label the images of the small data set, under names of HICO, as HICO's anno.mat does."""
    truth = diaghoi.read_annotations(data.annotations)
    positive = np.full((len(truth.vocabulary), len(truth)), -1.0)
    positive[truth.triplet_class, truth.triplet_image] = 1
    path = tmp_path_factory.mktemp("labels") / "anno.mat"
    listed = np.array(hico_names(len(truth)), dtype=object)[:, None]
    savemat(path, {"anno_test": positive, "list_test": listed})
    return path


def hico_names(count: int) -> list[str]:
    return [f"HICO_test2015_{number:08}.jpg" for number in range(count)]


def test_image_labels(run, data, labels: Path, alone: Path) -> None:
    for name, scenes in (
        ("gt.npz", diaghoi.read_annotations(data.annotations)),
        ("preds.npz", diaghoi.read_predictions(data.predictions)),
    ):
        write(alone / name, replace(scenes, names=np.array(hico_names(len(scenes)))))
    words = ("report", "preds.npz", "--annotations", "gt.npz", "--json", "-")
    given = json.loads(run(*words, "--image-labels", labels).out)
    assert given["official"]["known_object"]["source"] == "image labels"
    Path("diaghoi.toml").write_text(f'[hico-det]\nimage-labels = "{labels}"')
    named = json.loads(run(*words).out)
    assert named["official"] == given["official"]
    assert named["notes"][0] == f"image labels: {labels}, from diaghoi.toml"
    Path("diaghoi.toml").unlink()
    Path("hicodet").mkdir()
    Path("hicodet/anno.mat").symlink_to(labels)
    usual = json.loads(run(*words).out)
    assert usual["official"] == given["official"]
    assert usual["notes"][0] == "image labels: hicodet/anno.mat, from a customary folder"


def test_image_labels_that_are_found_and_do_not_fit(run, data, labels: Path) -> None:
    Path("diaghoi.toml").write_text(f'[hico-det]\nimage-labels = "{labels}"')
    done = run("report", data.predictions, "--annotations", data.annotations, "--json", "-")
    result = json.loads(done.out)
    assert result["official"]["known_object"]["source"] == "box annotations"
    assert result["notes"][0] == (
        f"{labels}, from diaghoi.toml, does not label all images: Known Object uses the box "
        f"annotations"
    )


def test_broken_image_labels_that_are_found(run, data, alone: Path) -> None:
    Path("diaghoi.toml").write_text('[hico-det]\nimage-labels = "other.mat"')
    done = run("report", data.predictions, "--annotations", data.annotations)
    assert done.code == 2
    where = "diaghoi.toml: [hico-det] image-labels"
    assert done.err.startswith(f"diaghoi: error: {where}: other.mat: no such file; correct the ")
    (alone / "other.mat").write_text("nothing")
    done = run("report", data.predictions, "--annotations", data.annotations)
    assert done.err == (
        "diaghoi: error: other.mat: not a MATLAB file; image labels are in HICO's anno.mat; the "
        "path comes from diaghoi.toml: correct or remove it there\n"
    )


def test_a_list_of_unseen_classes_from_zero(run: Any, shared: Path, tmp_path: Path) -> None:
    folder = shared / "conformance" / "field"
    if not folder.is_dir():
        pytest.skip("the cases from the field (../shared/conformance/field) are not here")
    unseen = json.loads((folder / "rfuc_from_zero.json").read_text())["unseen"]
    from_one = tmp_path / "from_one.json"
    from_one.write_text(json.dumps({"unseen": [number + 1 for number in unseen]}))
    for groups in (folder / "rfuc_from_zero.json", from_one):
        words = (folder / "canonical.pkl", "--annotations", folder / "test_hico.json")
        run("report", *words, "--groups", groups, "--json", tmp_path / "g.json")
        official = json.loads((tmp_path / "g.json").read_text())["official"]["default"]
        assert round(100 * official["unseen"], 2) == 94.32
        assert official["unseen"] == official["rare"]


def test_groups_of_classes_are_columns(data, refuse, run: Any, tmp_path: Path) -> None:
    files = [data.predictions, "--annotations", data.annotations]
    done = run("report", *files, "--zero-shot", "RF-UC", "--json", tmp_path / "z.json")
    assert done.code == 0
    for words in ("Unseen", "Seen", "Harmonic"):
        assert words in done.out
    result = json.loads((tmp_path / "z.json").read_text())
    assert list(result["map"]) == [*SPLITS, "unseen", "seen", "harmonic"]
    assert list(result["official"]["default"]) == list(result["map"])
    groups = tmp_path / "groups.json"
    groups.write_text('{"wheels": ["ride bicycle", "ride motorcycle"]}')
    done = run("report", *files, "--groups", groups, "--json", tmp_path / "g.json")
    assert "wheels" in done.out
    assert "wheels" in json.loads((tmp_path / "g.json").read_text())["oracles"]["action"]["map"]
    groups.write_text('{"mine": [7, 8]}')
    assert "from 0, 'mine' begins with 'sit on airplane', 'wash airplane'; from 1" in refuse(
        "report", *files, "--groups", groups
    )
    groups.write_text('{"mine": [0, 8]}')
    done = run("report", *files, "--groups", groups)
    assert f"! {groups.name}: " in done.out
    assert "from 0, because one class number is 0" in " ".join(done.out.split())
    done = run("report", *files, "--groups", groups, "--zero-shot", "UO")
    assert done.code == 2
    assert done.err == "diaghoi: error: --zero-shot and --groups: give only one of them\n"
