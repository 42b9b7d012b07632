"""Data sets beside HICO-DET and V-COCO through the command line: SWIG-HOI, and one described."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.swig import CAR, CLASSES, WORDS

from diaghoi import diagnose, read_annotations, read_predictions, simulate
from diaghoi.formats import write_pair_lists, write_triplet_lists
from diaghoi.formats.description import vocabulary
from diaghoi.oracles import ORACLES

HOI_A = """
name = "mine"
objects = [
    "person", "cellphone", "cigarette", "drink", "food", "bike", "motorbike", "horse", "ball",
    "computer", "document",
]
verbs = [
    "smoke", "call", "play (cellphone)", "eat", "drink", "ride", "hold", "kick", "read",
    "play (computer)",
]
numbers = { objects = 1, verbs = 1 }
classes = "corre_hoia.npy"
annotations = "test_hoia.json"
"""
IMAGES = 120
MATRIX = "data/hoi_a/corre_hoia.npy"
CLASSES_OF_HOI_A = {
    "smoke cigarette", "call cellphone", "play (cellphone) cellphone", "eat food", "drink drink",
    "ride bike", "ride motorbike", "ride horse", "hold cellphone", "hold cigarette", "hold drink",
    "hold food", "hold document", "kick ball", "read computer", "read document",
    "play (computer) computer",
}  # fmt: skip


@dataclass(frozen=True)
class Files:
    """A description beside what it names, and what simulated detectors wrote."""

    description: Path
    predictions: dict[str, Path]
    pairs: dict[str, Path]


@pytest.fixture(scope="module")
def hoi_a(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Write a description of HOI-A, some of its images, and the predictions of two detectors."""
    if not (shared / MATRIX).is_file():
        pytest.skip("HOI-A (../shared/data/hoi_a) is not on this machine")
    folder = tmp_path_factory.mktemp("hoi_a")
    (folder / "corre_hoia.npy").write_bytes((shared / MATRIX).read_bytes())
    images = json.loads((shared / "data/hoi_a/test_hoia.json").read_text())
    (folder / "test_hoia.json").write_text(json.dumps(images[:IMAGES]))
    description = folder / "hoi_a.toml"
    description.write_text(HOI_A)
    truth = read_annotations(folder / "test_hoia.json", dataset=str(description))
    files = Files(description, {}, {})
    for seed, detector in enumerate((simulate.ONE_STAGE, simulate.TWO_STAGE)):
        name = detector.name
        found = simulate.detect(truth, detector, np.random.default_rng(seed))
        files.predictions[name] = folder / f"{name}.pkl"
        files.pairs[name] = folder / f"{name}_pairs.pkl"
        write_triplet_lists(files.predictions[name], found)
        write_pair_lists(files.pairs[name], found)
    return files


def leaves(value: Any) -> list[Any]:
    """All figures and words of a result."""
    if isinstance(value, dict):
        return list(chain(*map(leaves, value.values())))
    return [value]


@pytest.mark.slow
def test_the_whole_of_hoi_a_is_understood(hoi_a: Files, shared: Path) -> None:
    words = vocabulary(str(hoi_a.description))
    assert {words.class_name(hoi) for hoi in range(len(words))} == CLASSES_OF_HOI_A
    assert len(words) == 17
    truth = read_annotations(shared / "data/hoi_a/test_hoia.json", dataset=words)
    assert len(truth) == 8787
    images = json.loads((shared / "data/hoi_a/test_hoia.json").read_text())
    assert len(truth.triplet_verb) == sum(len(image["hoi_annotation"]) for image in images)
    # The first image: a person who smokes and holds a cigarette.
    named = [words.class_name(hoi) for hoi in truth.triplet_class[:2].tolist()]
    assert named == ["smoke cigarette", "hold cigarette"]
    assert truth.box_xyxy[:2].tolist() == [[273, 93, 458, 480], [354, 149, 364, 156]]


@pytest.mark.parametrize("detector", ["one_stage", "two_stage"])
def test_hoi_a_from_its_description_alone(detector, hoi_a, run) -> None:
    predictions, pairs = hoi_a.predictions[detector], hoi_a.pairs[detector]
    done = run(
        *("report", predictions, "--pairs", pairs, "--dataset", hoi_a.description, "--json", "-")
    )
    assert done.code == 0, done.err
    result = json.loads(done.out)

    words = vocabulary(str(hoi_a.description))
    assert words.annotations is not None
    diagnosis = diagnose(
        read_annotations(words.annotations, dataset=words),
        read_predictions(predictions, pairs=pairs, dataset=words),
        label=detector,
    )
    expected = json.loads(json.dumps(diagnosis.to_dict()))
    assert result.pop("notes")[0] == f"annotations: {words.annotations}"
    del expected["notes"]
    assert result == expected

    assert len(diagnosis.classes["ap"]) == 17
    assert result["dataset"] == result["protocol"]["name"] == "mine"
    assert result["counts"]["images"] == IMAGES
    assert result["official"] == {}
    assert list(result["map"]) == ["full"]
    assert list(result["oracles"]) == list(ORACLES)
    assert result["pairs"]["source"] == "pairs"
    # Every error is made, every figure is there, and the detector is no chance.
    assert min(result["errors"].values()) > 0
    assert None not in leaves(result)
    assert 0.1 < result["map"]["full"] < 0.9
    assert result["negatives"]["ap"] > 0.5
    assert result["actions"]["map"] > 0.2


def test_what_a_simulated_detector_found_is_what_is_read(hoi_a: Files) -> None:
    words = vocabulary(str(hoi_a.description))
    assert words.annotations is not None
    truth = read_annotations(words.annotations, dataset=words)
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(0))
    read = read_predictions(
        hoi_a.predictions["one_stage"], pairs=hoi_a.pairs["one_stage"], dataset=words
    )
    one, other = (diagnose(truth, scenes).to_dict() for scenes in (found, read))
    assert one == other


@pytest.mark.slow
def test_hoi_a_in_all_outputs(hoi_a: Files, run: Callable[..., Any], alone: Path) -> None:
    npz = alone / "x.npz"
    words = (hoi_a.predictions["one_stage"], npz, "--pairs", hoi_a.pairs["one_stage"])
    assert run("convert", *words, "--dataset", hoi_a.description).code == 0
    done = run("report", npz, "--dataset", hoi_a.description, "--out", "out", "--label", "one")
    assert done.code == 0, done.err
    assert {"one.json", "one.pdf", "one.txt"} <= {path.name for path in Path("out").iterdir()}
    text = Path("out/one.txt").read_text()
    assert text.startswith("one on mine (mine)\n")
    assert "Protocol mine" in text
    assert "Official" not in text
    assert "Rare" not in text
    result = json.loads(Path("out/one.json").read_text())
    done = run("report", *words[:1], *words[2:], "--dataset", hoi_a.description, "--json", "-")
    direct = json.loads(done.out)
    for figures in (result, direct):
        del figures["notes"], figures["label"]
    assert result == direct

    assert run("report", npz).err == (
        f"diaghoi: error: {npz}: is for the data set 'mine', which is not known; known: hico-det, "
        "v-coco, v-coco-thesis, hoi-a-verbs, swig-hoi, hoi-a; give the description of any other "
        "with --dataset FILE.toml\n"
    )
    done = run("inspect", words[0], "--dataset", hoi_a.description, "--json", "-")
    assert done.code == 0, done.err
    assert str(hoi_a.predictions["one_stage"]) in done.out


def test_descriptions_are_refused_in_one_line(hoi_a, refuse, run, alone) -> None:
    predictions = hoi_a.predictions["one_stage"]
    done = run("report", predictions, "--dataset", "nowhere.toml")
    assert (done.code, done.out) == (2, "")
    assert done.err == ("diaghoi: error: nowhere.toml: No such file or directory; check the path\n")
    path = alone / "mine.toml"
    path.write_text(HOI_A.replace("annotations", "anotations"))
    assert refuse(
        "report", predictions, "--dataset", "mine.toml", "--json", "result.json"
    ).startswith("mine.toml: anotations: unknown key (did you mean 'annotations' or ")
    lines = [line for line in HOI_A.splitlines() if not line.startswith(("annotations", "classes"))]
    path.write_text("\n".join(lines))
    done = run("report", predictions, "--dataset", "mine.toml", "--json", "result.json")
    assert done.code == 2
    assert done.err == (
        "diaghoi: error: mine: the description names no annotations; add 'annotations = "
        '"FILE"\' to the description, or give --annotations FILE\n'
    )
    done = run("report", predictions, "--dataset", "mine.toml", "--annotations", alone)
    assert done.err == f"diaghoi: error: {alone}: is a folder; give the annotation file in it\n"
    assert [entry.name for entry in alone.iterdir()] == ["mine.toml"]


def test_options_of_hico_det_are_refused(hoi_a: Files, run: Callable[..., Any]) -> None:
    words = ("report", hoi_a.predictions["one_stage"], "--dataset", hoi_a.description)
    for more, problem in (
        (("--zero-shot", "RF-UC"), "unknown zero-shot split 'RF-UC'; known for mine: none; give"),
        (("--protocol", "mine,rare=test"), "mine has no counts of test instances, so rare cla"),
        (("--protocol", "v-coco-s1"), "protocol v-coco-s1 is not for mine; choose hico-det, "),
        (("--read", "objects=coco91"), "--read objects: unknown numbering 'coco91'; known: mine"),
    ):
        done = run(*words, *more)
        assert done.code == 2, more
        assert done.err.startswith(f"diaghoi: error: {problem}"), more
        assert done.err.count("\n") == 1


@pytest.fixture
def swig(alone: Path) -> tuple[Path, Path]:
    """Write small SWIG-HOI files: two cars of which one is found."""
    hoi = CLASSES[0]
    boxes = [[0, 0, 9, 9], [20, 0, 29, 9]]
    images = [
        {
            "img_id": name,
            "box_annotations": [
                {"bbox": boxes[0], "category_id": 0},
                {"bbox": boxes[1], "category_id": CAR},
            ],
            "hoi_annotations": [
                {"subject_id": 0, "object_id": 1, "action_id": int(WORDS.class_verb[hoi])}
            ],
        }
        for name in ("one.jpg", "two.jpg")
    ]
    folder = alone / "data" / "swig_hoi"
    folder.mkdir(parents=True)
    (folder / "swig_test_1000.json").write_text(json.dumps(images))
    predictions = alone / "swig.pkl"
    predictions.write_bytes(pickle.dumps({"one.jpg": [[hoi, 0.5, *boxes[0], *boxes[1]]]}))
    return predictions, folder / "swig_test_1000.json"


def test_swig_hoi_is_recognised_and_its_annotations_are_found(swig, run) -> None:
    done = run("report", swig[0], "--json", "-")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["notes"][0].startswith("annotations: data/swig_hoi/swig_test_1000.json, from ")
    assert result["dataset"] == result["protocol"]["name"] == "swig-hoi"
    assert list(result["map"]) == ["full", "zero_shot", "rare", "non_rare"]
    # Recall levels 0 to 5/10 are reached.
    assert result["map"]["full"] == pytest.approx(6 / 11, abs=1e-15)
    assert result["official"] == {"default": result["map"]}
    assert result["actions"]["map"] is None  # the files have no scores of the verb alone
    for where in (swig[1], swig[1].parent):
        other = json.loads(run("report", swig[0], "--annotations", where, "--json", "-").out)
        assert other["map"] == result["map"]


def test_swig_hoi_as_text(swig: tuple[Path, Path], run: Callable[..., Any]) -> None:
    done = run("report", swig[0], "--detail")
    assert done.code == 0, done.err
    head = next(line for line in done.out.splitlines() if line.startswith("mAP, %"))
    assert head.split() == ["mAP,", "%", "Full", "Zero-shot", "Rare", "Non-rare"]
    line = next(line for line in done.out.splitlines() if line.startswith("Official, Default"))
    assert line.split()[2:].count("54.55") == 2
    assert "AP by the best 19999 of a class" in " ".join(done.out.split())


def test_other_evaluators_are_those_of_hico_det(swig, run) -> None:
    done = run("report", swig[0], "--also", "rosetta", "--json", "x.json")
    assert done.code == 2
    assert done.err.endswith(
        "--also rosetta: compares evaluators of HICO-DET, but the data belong to swig-hoi; leave "
        "the option out\n"
    )
    assert not Path("x.json").exists()


def test_where_annotations_of_swig_hoi_are_looked_for(swig, run) -> None:
    swig[1].unlink()
    done = run("report", swig[0])
    assert done.code == 2
    assert done.err == (
        "diaghoi: error: no swig-hoi annotations found in "
        "data/swig_hoi, data/swig_hoi/annotations, swig_hoi; get swig_test_1000.json (SWIG-HOI "
        "itself) and give it with --annotations FILE, or permanently in diaghoi.toml, here or in "
        'a folder above: the line [swig-hoi], and below it the line annotations = "FILE"\n'
    )
