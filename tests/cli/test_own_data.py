"""Own data that happen to have the numbers of a known data set: a stop, and a draft to go on."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.described import CLASSES, KITCHEN, annotated, by_class, predicted


def as_arrays(images: list[dict[str, Any]]) -> list[dict[str, Any]]:
    dense = []
    for image in images:
        rows = image["hoi_prediction"]
        scores = np.zeros((len(rows), 3))
        scores[np.arange(len(rows)), [row["category_id"] for row in rows]] = [
            row["score"] for row in rows
        ]
        dense.append(
            {
                "filename": image["filename"],
                "boxes": np.array([box["bbox"] for box in image["predictions"]]),
                "labels": np.array([box["category_id"] for box in image["predictions"]]),
                "verb_scores": scores,
                "sub_ids": np.array([row["subject_id"] for row in rows]),
                "obj_ids": np.array([row["object_id"] for row in rows]),
            }
        )
    return dense


PREDICTIONS: dict[str, Callable[[], Any]] = {
    "PPDM": lambda: predicted(first=1, name="file_name"),
    "QPIC": lambda: predicted(first=0),
    "QPIC, from 1": lambda: predicted(first=1),
    "arrays": lambda: as_arrays(predicted(first=0)),
    "CDN, with annotations": lambda: {"preds": predicted(first=0), "gts": annotated(first=0)},
    "GEN-VLKT": lambda: by_class(predicted(first=0)),
}
ANNOTATIONS: dict[str, Callable[[], Any]] = {
    "lists from 1": lambda: annotated(first=1),
    "pickled lists from 0": lambda: annotated(first=0, name="filename"),
}


def saved(path: Path, content: Any) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def mean_ap(run: Any, *words: object) -> float:
    done = run("report", *words, "--json", "-")
    assert done.code == 0, done.err
    return float(json.loads(done.out)["map"]["full"])


@pytest.mark.parametrize(
    ("predictions", "annotations"), [*zip(PREDICTIONS, [*ANNOTATIONS] * 3, strict=True)]
)
def test_own_data_stop_and_the_draft_goes_on(predictions, annotations, run, alone) -> None:
    found = saved(alone / "found.pkl", PREDICTIONS[predictions]())
    truth = saved(alone / "gt.json", ANNOTATIONS[annotations]())
    done = run("report", found, "--annotations", truth)
    assert (done.code, done.out) == (2, "")
    message, draft = done.err.split("\n\n", 1)
    assert "\n" not in message
    assert "--dataset own.toml" in message
    (alone / "printed.toml").write_text(draft)
    done = run("inspect", found, "--annotations", truth, "--to-description", "own.toml")
    assert done.code == 0, done.err
    text = (alone / "own.toml").read_text()
    assert text.splitlines()[3:] == draft.splitlines()[3:]

    (alone / "kitchen.toml").write_text(KITCHEN)
    expected = mean_ap(run, found, "--annotations", truth, "--dataset", "kitchen.toml")
    for name in ("printed.toml", "own.toml"):
        drafted = mean_ap(run, found, "--annotations", truth, "--dataset", name)
        assert drafted == pytest.approx(expected, abs=1e-12)


def test_a_file_alone_is_refused_and_drafted(run: Any, alone: Path) -> None:
    for name in ("PPDM", "QPIC", "QPIC, from 1", "arrays", "CDN, with annotations"):
        found = saved(alone / "found.pkl", PREDICTIONS[name]())
        done = run("inspect", found)
        assert done.code == 2, name
        assert 'name = "own"' in done.err, name
    both = alone / "found.pkl"
    saved(both, PREDICTIONS["CDN, with annotations"]())
    assert run("report", both).code == 2
    assert run("inspect", both, "--to-description", "own.toml").code == 0
    (alone / "kitchen.toml").write_text(KITCHEN)
    expected = mean_ap(run, both, "--dataset", "kitchen.toml")
    assert mean_ap(run, both, "--dataset", "own.toml") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("first", [0, 1])
def test_a_draft_asks_for_classes_that_nothing_shows(run: Any, alone: Path, first: int) -> None:
    truth = saved(alone / "truth.pkl", annotated(first=1))
    drafts = []
    for more in ((), ((0, 0), (1, 0), (2, 0))):
        numbered = by_class(predicted(first=0), first=first, classes=(*more, *CLASSES))
        found = saved(alone / "found.pkl", numbered)
        draft = alone / f"draft_{len(more)}.toml"
        done = run("inspect", found, "--annotations", truth, "--to-description", draft)
        assert done.code == 0, done.err
        drafts.append("in a table [classes] of verb = [objects]" in draft.read_text())
    assert drafts == [False, True]


def test_classes_of_a_file_with_its_annotations(run: Any, alone: Path) -> None:
    """GEN-VLKT's string: the numbers of annotated triplets are those of HOI classes."""
    gts = by_class(annotated(first=0), bare=False)
    found = saved(alone / "all.pkl", {"preds": by_class(predicted(first=0)), "gts": gts})
    done = run("report", found)
    assert (done.code, 'name = "own"' in done.err) == (2, True)
    assert run("inspect", found, "--to-description", "own.toml").code == 0
    (alone / "kitchen.toml").write_text(KITCHEN)
    expected = mean_ap(run, found, "--dataset", "kitchen.toml")
    assert mean_ap(run, found, "--dataset", "own.toml") == pytest.approx(expected, abs=1e-12)


def test_combinations_that_a_known_data_set_lacks(run: Any, alone: Path) -> None:
    """Numbers of HICO-DET, one combination in four is a class of it; the names say nothing."""
    images = annotated(first=0, classes=[(76, 1), (36, 1), (87, 1), (0, 1)], name="filename")
    found = predicted(first=0, classes=[(76, 1), (36, 1), (87, 1), (0, 1)])
    truth = saved(alone / "gt.pkl", images)
    done = run("report", saved(alone / "found.pkl", found), "--annotations", truth)
    assert done.code == 2
    assert "is read as hico-det, but only 45 of its 60 annotated triplets" in done.err
    done = run("report", alone / "found.pkl", "--annotations", truth, "--dataset", "hico-det")
    assert done.code == 0, done.err


def test_force_evaluates_own_data_as_a_known_data_set(run: Any, alone: Path) -> None:
    found = saved(alone / "found.pkl", PREDICTIONS["CDN, with annotations"]())
    assert run("report", found).code == 2
    done = run("report", found, "--force")
    assert (done.code, "· HICO-DET ·" in done.out) == (0, True), done.err


def test_own_data_with_missing_objects_are_not_of_v_coco(run: Any, alone: Path) -> None:
    images = annotated(first=0, classes=[(1, 1), (4, 2), (2, 3)])
    for number, image in enumerate(images):
        image["file_name"] = f"COCO_val2014_{number + 1:012}.jpg"
    done = run("inspect", saved(alone / "gt.json", images))
    assert (done.code, "33 % of the annotated triplets fit v-coco" in done.err) == (2, True), (
        done.err
    )


def test_as_many_verbs_as_v_coco_has_actions(run: Any, alone: Path) -> None:
    images = as_arrays(predicted(first=0))
    for image in images:
        image["verb_scores"] = np.pad(image["verb_scores"], ((0, 0), (0, 23)))
    found, truth = saved(alone / "found.pkl", images), alone / "gt.pkl"
    for first, name in ((0, "filename"), (1, "file_name")):
        saved(truth, annotated(first=first, name=name))
        done = run("report", found, "--annotations", truth)
        assert (done.code, 'name = "own"' in done.err) == (2, True), done.err


def test_a_few_numbers_that_no_known_data_set_has(run: Any, alone: Path) -> None:
    classes = [*[(0, 1), (0, 2), (0, 3)] * 3, (1, 95)]
    truth = saved(alone / "gt.json", annotated(first=1, classes=classes))
    done = run("inspect", truth)
    assert (done.code, "unknown object category 96" in done.err) == (2, True), done.err
    assert 'name = "own"' in done.err
    assert run("inspect", truth, "--to-description", "own.toml").code == 0


def test_the_draft_is_an_output_like_others(run: Any, alone: Path) -> None:
    truth = saved(alone / "gt.json", annotated(first=1))
    (alone / "own.toml").write_text("old")
    assert run("inspect", truth, "--to-description", "own.toml").code == 0
    assert "old" not in (alone / "own.toml").read_text()
    for path, problem in (
        ("gt.json", "would overwrite an input"),
        ("nowhere/own.toml", "does not exist"),
        ("own.json", "descriptions are read from .toml files"),
    ):
        done = run("inspect", truth, "--to-description", path)
        assert (done.code, problem in done.err) == (2, True), done.err
    done = run("inspect", truth, "--to-description", "own.toml", "--dataset", "hoi-a")
    assert (done.code, "leave out --dataset" in done.err) == (2, True)
    (alone / "sub").mkdir()
    assert run("inspect", "gt.json", "--to-description", "sub/own.toml").code == 0
    assert 'annotations = "../gt.json"' in (alone / "sub/own.toml").read_text()


CASES = {
    "own_predictions_from_1.json": 62.58,
    "own_predictions_from_0.pkl": 62.58,
    "own_cdn_results.json": 62.58,
    "own_gen_vlkt_list.json": 62.58,
}


@pytest.mark.parametrize("name", CASES)
def test_cases_from_the_field(name: str, run: Any, shared: Path) -> None:
    folder = shared / "conformance/field"
    if not (folder / name).is_file():
        pytest.skip("the cases from the field are not on this machine")
    found = mean_ap(run, folder / name, "--dataset", folder / "own.toml")
    assert round(100 * found, 2) == CASES[name]
    done = run("report", folder / name, "--annotations", folder / "own_annotations.json")
    assert (done.code, "own.toml" in done.err, 'name = "own"' in done.err) == (2, True, True)
