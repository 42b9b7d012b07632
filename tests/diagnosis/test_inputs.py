"""Paths that are diagnosed are read and checked as ``diaghoi report`` reads them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import outcome
from support.described import KITCHEN, annotated, by_class, predicted
from support.desk import hico_instances

import diaghoi
from diaghoi import InputError, diagnose, simulate
from diaghoi.formats import write, write_pair_lists, write_triplet_lists
from diaghoi.formats.description import vocabulary

SHARED = Path(__file__).resolve().parents[3] / "shared" / "conformance"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in the forms of code bases, also of a data set of its own."""
    folder = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(1)
    truth = simulate.annotations(20, rng)
    (folder / "gt.json").write_text(json.dumps(hico_instances(truth)))
    found = simulate.detect(truth, simulate.ONE_STAGE, rng)
    write_triplet_lists(folder / "preds.pkl", found)
    write_pair_lists(folder / "pairs.pkl", found)
    write(folder / "preds.npz", found)
    write(folder / "small.npz", replace(found, box_xyxy=found.box_xyxy / 5))
    (folder / "office.json").write_text(json.dumps(annotated(first=1)))
    (folder / "office.pkl").write_bytes(pickle.dumps(predicted(first=0)))
    (folder / "numbered.pkl").write_bytes(pickle.dumps(by_class(predicted(first=0))))
    both = {"preds": predicted(first=0), "gts": annotated(first=0)[1:]}
    (folder / "both.pkl").write_bytes(pickle.dumps(both))
    (folder / "own.toml").write_text(KITCHEN.replace("gt.json", "office.json"))
    return folder


@pytest.fixture(autouse=True)
def at_the_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)


def by_command(truth: object, found: object, *words: object) -> Any:
    """Return the result of a command; its message where it refuses the files."""
    done = outcome("report", found, "--annotations", truth, *words, "--json", "-")
    return json.loads(done.out) if done.code == 0 else done.err.splitlines()[0]


def in_python(truth: Any, found: Any, **more: Any) -> Any:
    try:
        return json.loads(json.dumps(diagnose(truth, found, **more).to_dict()))
    except InputError as error:
        return f"diaghoi: error: {error}"


def test_numbers_label_and_notes_are_those_of_the_command() -> None:
    expected = by_command("gt.json", "preds.pkl")
    assert in_python("gt.json", "preds.pkl") == expected
    assert in_python(Path("gt.json"), Path("preds.pkl")) == expected
    truth, found = diaghoi.read_annotations("gt.json"), diaghoi.read_predictions("preds.pkl")
    assert in_python(truth, "preds.pkl") == expected
    assert in_python("gt.json", found, label="preds") == expected
    assert diagnose("gt.json", "preds.pkl", label="mine").label == "mine"
    assert diagnose("gt.json", "preds.pkl", "diag-hoi").protocol.name == "diag-hoi"
    expected = by_command("gt.json", "preds.pkl", "--pairs", "pairs.pkl")
    assert in_python("gt.json", "preds.pkl", pairs="pairs.pkl") == expected


def test_the_files_show_the_data_set(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = simulate.v_coco_annotations(8, rng)
    write(tmp_path / "truth.npz", truth)
    write(tmp_path / "found.npz", simulate.v_coco_detect(truth, rng))
    d = diagnose(tmp_path / "truth.npz", tmp_path / "found.npz")
    assert (d.vocabulary.name, d.protocol.name, d.label) == ("v-coco", "v-coco-s1", "found")


@pytest.mark.parametrize("found", ["office.pkl", "numbered.pkl", "both.pkl"])
def test_a_description_makes_own_data_known(found: str) -> None:
    expected = by_command("office.json", found, "--dataset", "own.toml")
    assert expected["dataset"] == "kitchen"
    for own in ("own.toml", Path("own.toml"), vocabulary("own.toml")):
        assert in_python("office.json", found, dataset=own) == expected
    differ = "the given file is used, not the annotations in both.pkl"
    assert any(differ in note for note in expected["notes"]) == (found == "both.pkl")


def test_errors_speak_of_parameters() -> None:
    for truth, found, more, message in (
        ("office.json", "office.pkl", {}, "fill in the names, and give `dataset` own.toml"),
        (
            "gt.json",
            "small.npz",
            {},
            "small.npz: .*; give `force` to evaluate the predictions anyway",
        ),
        ("nowhere.json", "preds.pkl", {}, r"^nowhere\.json: No such file"),
        ("gt.json", "nowhere.pkl", {}, r"^nowhere\.pkl: No such file"),
        ("gt.json", "preds.pkl", {"pairs": "nowhere"}, "^nowhere: No such file"),
        ("gt.json", "preds.pkl", {"origin": 2}, "^`origin=2`: the numbers in a file start at 0 or"),
        ("gt.json", "preds.pkl", {"instances": "gt.json"}, "^gt.json: `instances` is for"),
        (
            "gt.json",
            "preds.pkl",
            {"datset": 1},
            r"`datset`: is not a parameter \(did you mean 'dat",
        ),
        ("gt.json", "preds.pkl", {"protocol": "hico"}, "protocol 'hico'"),
        ("preds.pkl", "preds.pkl", {}, "holds predictions .*, but annotations are needed here"),
        ("gt.json", "gt.json", {}, "holds annotations .*, but predicted triplets are needed"),
    ):
        with pytest.raises(InputError, match=message):
            diagnose(truth, found, **more)
    truth, found = diaghoi.read_annotations("gt.json"), diaghoi.read_predictions("preds.pkl")
    for given, more in (
        ((truth, found), {"dataset": "hico-det"}),
        (("gt.json", found), {"pairs": "pairs.pkl"}),
        (("gt.json", found), {"origin": 0}),
        ((truth, "preds.pkl"), {"ids": "gt.json"}),
    ):
        name = next(iter(more))
        with pytest.raises(InputError, match=f"^`{name}`: is for files, but Scenes are given"):
            diagnose(*given, **more)


def test_results_are_no_input(tmp_path: Path) -> None:
    d = diagnose("gt.json", "preds.pkl")
    d.save(tmp_path / "d.npz")
    (tmp_path / "d.json").write_text(json.dumps(d.to_dict()))
    for name, what in (("d.npz", "saved diagnosis"), ("d.json", "saved result of 'diaghoi report")):
        with pytest.raises(InputError, match=f"is a {what}.*; give the predictions themselves"):
            diagnose("gt.json", tmp_path / name)
        with pytest.raises(InputError, match=f"is a {what}.*; give the annotations themselves"):
            diagnose(tmp_path / name, "preds.pkl")


def test_force_goes_on() -> None:
    assert in_python("gt.json", "small.npz", force=True) == by_command(
        "gt.json", "small.npz", "--force"
    )
    assert diagnose("office.json", "office.pkl", force=True).vocabulary.name == "hico-det"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the conformance inputs are not there")
@pytest.mark.parametrize(
    ("truth", "found", "more"),
    [
        *(
            ("hico_det_diagnosis/gt_wo_nointer.pkl", f"hico_det_diagnosis/{name}_preds.pkl", {})
            for name in ("one_stage", "weak")
        ),
        ("hico_det_official/annotations.json", "hico_det_official/one_stage_arrays.pkl", {}),
        *(
            ("code_bases/test_hico.json", f"code_bases/{name}", {})
            for name in ("canonical_preds.pkl", "cdn_results.json", "gen_vlkt_list.json")
        ),
        ("v_coco/vcoco_test.json", "v_coco/one_stage.pkl", {"pairs": "v_coco/one_stage_pairs.pkl"}),
        (
            "v_coco/vcoco_test.json",
            "v_coco/one_stage.pkl",
            {"instances": "v_coco/instances_vcoco_all_2014.json"},
        ),
        ("field/own_annotations.json", "field/own_cdn_results.json", {"dataset": "field/own.toml"}),
        ("field/own_annotations.json", "field/own_cdn_results.json", {}),
        ("field/test_hico.json", "field/rlip_custom_imgs.pickle", {}),
    ],
)
def test_conformance_inputs_are_read_alike(truth: str, found: str, more: dict[str, str]) -> None:
    places = {name: SHARED / path for name, path in more.items()}
    words = [
        word
        for name, path in places.items()
        for word in (("--read", f"{name}={path}") if name == "instances" else (f"--{name}", path))
    ]
    expected = by_command(SHARED / truth, SHARED / found, *words)
    mine = in_python(SHARED / truth, SHARED / found, **places)
    if isinstance(expected, str):
        assert expected.split("--")[0] == mine.split("`")[0]
    else:
        assert mine == expected
