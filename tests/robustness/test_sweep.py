"""Sweeps: the same digits however the work is shared out, gaps, damage, and finished work."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import vcoco
from support.described import write_description
from support.robustness import FEW, RUNS

from diaghoi import diagnose, read_annotations, read_predictions
from diaghoi.engines.engine import LocalEngine
from diaghoi.exceptions import InputError
from diaghoi.robustness import sweep as module
from diaghoi.robustness.study import CLEAN, Condition, RobustnessStudy, read_robustness_study
from diaghoi.robustness.sweep import Outcomes, Store, sweep

BLURRED = Condition("motion_blur", 5)


def study_of(folder: Path) -> RobustnessStudy:
    return read_robustness_study(folder / "study.toml")


def small(folder: Path) -> RobustnessStudy:
    """The study with one corruption alone: 6 runs."""
    return replace(study_of(folder), corruptions=("occlusion",))


def swept(study: RobustnessStudy, workers: int = 1, **choices: Any) -> Outcomes:
    with LocalEngine(workers) as engine:
        return sweep(study, engine, **choices)


def digits(outcomes: Outcomes) -> str:
    return json.dumps([[*place, result] for place, result in outcomes.results.items()])


class _Counting(LocalEngine):
    def __init__(self) -> None:
        super().__init__(1)
        self.tasks = 0

    def run(self, tasks):
        self.tasks += len(tasks)
        return super().run(tasks)


@pytest.fixture(scope="module")
def whole(written: Path) -> Outcomes:
    return swept(study_of(written))


@pytest.fixture(scope="module")
def few(written: Path) -> Outcomes:
    return swept(small(written))


def alone(folder: Path, **changed: Any) -> RobustnessStudy:
    """The first model, under one corruption in one severity: 2 runs."""
    study = study_of(folder)
    return replace(
        study, models=study.models[:1], corruptions=("occlusion",), severities=(5,), **changed
    )


@pytest.mark.slow
def test_each_run_is_the_report_of_its_file(written: Path, whole: Outcomes) -> None:
    truth = read_annotations(written / "gt.npz")
    assert len(whole.results) == RUNS
    for condition, name in ((CLEAN, "clean"), (Condition("occlusion", 5), "occlusion_5")):
        predictions = read_predictions(written / "B" / f"{name}.npz")
        assert whole.results["B", condition] == diagnose(truth, predictions).to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 5, FEW, 1000])
def test_blocks_of_images_add_up_to_the_same_digits(written, whole, block) -> None:
    parts = swept(replace(small(written), severities=(5,)), block=block)
    assert len(parts.results) == 4
    assert all(result == whole.results[place] for place, result in parts.results.items())


@pytest.mark.slow
def test_processes_give_the_same_digits(written: Path, whole: Outcomes) -> None:
    assert digits(swept(study_of(written), workers=2, block=5)) == digits(whole)


def test_images_of_one_side_alone_are_noted_in_blocks_too(folder: Path) -> None:
    """Half the images have no predictions, and some predictions no annotations."""
    from diaghoi.formats import write

    truth = read_annotations(folder / "gt.npz")
    found = read_predictions(folder / "A" / "clean.npz")
    half = FEW // 2
    cut = (("gt.npz", truth.between(3, FEW)), ("A/clean.npz", found.between(0, half)))
    for name, scenes in cut:
        (folder / name).unlink()
        write(folder / name, scenes)
    study = alone(folder)
    one, parts = swept(study), swept(study, block=4)
    assert digits(one) == digits(parts)
    notes = " ".join(one.results["A", CLEAN]["notes"])
    assert f"{half} annotated images" in notes or f"{half} images" in notes


@pytest.mark.slow
def test_intervals_are_those_of_the_report(written: Path) -> None:
    from diaghoi.statistics.bootstrap import bootstrap

    outcomes = swept(alone(written), resamples=20, seed=3, confidence=0.9, block=5)
    predictions = read_predictions(written / "A" / "clean.npz")
    diagnosis = diagnose(read_annotations(written / "gt.npz"), predictions)
    expected = bootstrap(diagnosis, 20, seed=3, confidence=0.9).to_dict()
    assert outcomes.results["A", CLEAN]["intervals"] == expected["intervals"]


def test_missing_files_are_named(folder: Path) -> None:
    (folder / "A" / "occlusion_5.npz").unlink()
    (folder / "B" / "clean.npz").unlink()
    outcomes = swept(small(folder))
    assert [(run.label, run.condition, file) for run, file in outcomes.missing] == [
        ("A", Condition("occlusion", 5), str(folder / "A" / "occlusion_5.npz")),
        ("B", CLEAN, str(folder / "B" / "clean.npz")),
    ]
    assert len(outcomes.results) == 6 - 2
    assert outcomes.failed == ()


def test_missing_pairs_are_what_is_missing(folder: Path) -> None:
    study = small(folder)
    models = tuple(
        replace(model, clean_pairs="none.pkl", pairs="{corruption}_{severity}.pkl")
        for model in study.models
    )
    with pytest.raises(InputError, match=r"none of its 6 runs .* is missing is none\.pkl"):
        swept(replace(study, models=models))
    outcomes = swept(replace(study, models=(models[0], study.models[1])))
    assert outcomes.missing[0][1] == "none.pkl"


def test_tables_of_similarity_are_looked_at_first(folder: Path) -> None:
    study = replace(study_of(folder), similarity=(folder / "v.csv", folder / "o.csv"))
    engine = _Counting()
    with pytest.raises(InputError, match=r"v\.csv: no such file; give a table of similarity"):
        sweep(study, engine)
    assert engine.tasks == 0


@pytest.mark.slow
@pytest.mark.parametrize("block", [None, 5])
def test_a_damaged_file_does_not_stop_the_rest(folder, few, block) -> None:
    bad = folder / "A" / "occlusion_5.npz"
    bad.unlink()
    bad.write_bytes(b"PK\x03\x04 cut off")
    outcomes = swept(small(folder), block=block)
    ((run, why),) = outcomes.failed
    assert (run.file, run.condition) == (str(bad), Condition("occlusion", 5))
    assert str(bad) in why
    rest = {place: result for place, result in few.results.items() if place != run.place}
    assert outcomes.results == rest


def test_nothing_to_evaluate(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "x").mkdir()
    study = study_of(folder)
    for path in folder.glob("?/*.npz"):
        path.unlink()
    with pytest.raises(InputError, match=r"none of its 14 runs has its files; the first"):
        swept(study)
    (folder / "A" / "clean.npz").write_bytes(b"")
    with pytest.raises(InputError, match=r"no file of the study can be used: .*the file is empty"):
        swept(study)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"annotations": None}, r"study\.toml: annotations: missing; name the file"),
        ({"dataset": "v-coco"}, r"gt\.npz: is for hico-det"),
    ],
)
def test_annotations_are_needed_and_must_fit(folder: Path, changed, message: str) -> None:
    with pytest.raises(InputError, match=message):
        swept(replace(study_of(folder), **changed))


def test_saved_results_are_of_the_choices_that_are_asked_for(folder: Path) -> None:
    truth = read_annotations(folder / "gt.npz")
    for file in sorted((folder / "A").glob("*.npz")):
        result = diagnose(truth, read_predictions(file), "hico-det-520,iou=0.75").to_dict()
        file.with_suffix(".json").write_text(json.dumps(result))
    study = small(folder)
    model = replace(
        study.models[0],
        clean=study.models[0].clean.replace(".npz", ".json"),
        files=study.models[0].files.replace(".npz", ".json"),
    )
    study = replace(study, models=(model,), annotations=None)
    for protocol in (
        None,
        "iou=0.75",
        "hico-det-520,iou=0.75",
        "hico-det-520|11pt|zero|iou.75|rare.train",
    ):
        assert len(swept(replace(study, protocol=protocol)).results) == 3
    for protocol in ("hico-det-520", "hico-det", "iou=0.75,ap=area"):
        with pytest.raises(InputError, match=f"but the study asks for {protocol}; give the pred"):
            swept(replace(study, protocol=protocol))


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_and_a_further_one_works_on_nothing(folder, few) -> None:
    study, cache = small(folder), folder / "cache"
    steps = iter(range(1, 100))

    def stop(_: int) -> None:
        if next(steps) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        swept(study, store=Store(cache), advance=stop)
    for tasks in (6 - 4, 0):
        with _Counting() as engine:
            assert digits(sweep(study, engine, store=Store(cache))) == digits(few)
            assert engine.tasks == tasks


@pytest.mark.slow
def test_what_changes_a_result_is_computed_again(written: Path, tmp_path: Path) -> None:
    study = replace(small(written), corruptions=("occlusion",))
    swept(study, store=Store(tmp_path))
    for changed, resamples, tasks in (
        (study, None, 0),
        (replace(study, protocol="hico-det"), None, 6),
        (replace(study, protocol="iou=0.75"), None, 6),
        (replace(study, reading={"top": 100}), None, 6),
        (replace(study, severities=(5,)), None, 0),
        (study, 2, 6),
    ):
        with _Counting() as engine:
            sweep(changed, engine, store=Store(tmp_path), resamples=resamples)
            assert engine.tasks == tasks


def test_a_file_with_other_content_is_computed_again(folder: Path) -> None:
    study, cache = small(folder), folder / "cache"
    swept(study, store=Store(cache))
    (folder / "A" / "clean.npz").unlink()
    (folder / "A" / "clean.npz").symlink_to((folder / "A" / "occlusion_5.npz").resolve())
    with _Counting() as engine:
        outcomes = sweep(study, engine, store=Store(cache))
        # The content has been seen under another name.
        assert engine.tasks == 0
    assert outcomes.results["A", CLEAN] == outcomes.results["A", Condition("occlusion", 5)]
    (folder / "gt.npz").unlink()
    (folder / "gt.npz").symlink_to((folder / "A" / "clean.npz").resolve())
    with pytest.raises(InputError, match="annotations"):
        swept(study, store=Store(cache))


def test_files_found_beside_annotations_of_v_coco_are_known_by_their_content(tmp_path) -> None:
    vcoco.write_annotations(tmp_path / "anno", places=("../annotations", ""))
    row = vcoco.result(person=(0.0, 0.0, 19.0, 79.0), hold_agent=0.9, stand_agent=0.8)
    (tmp_path / "clean.pkl").write_bytes(pickle.dumps([row]))
    (tmp_path / "study.toml").write_text(
        'annotations = "anno/vcoco_test.json"\n'
        '[[model]]\nlabel = "A"\nclean = "clean.pkl"\nfiles = "{corruption}{severity}"\n'
    )
    found = []
    for change, tasks in ((None, 1), (None, 0), ("instances", 1), ("ids", 1), (None, 0)):
        if change == "instances":
            moved = copy.deepcopy(vcoco.INSTANCES)
            moved["annotations"][1]["bbox"] = [60, 0, 25, 60]  # the person with the dog
            path = tmp_path / "annotations" / "instances_vcoco_all_2014.json"
            path.write_text(json.dumps(moved))
        elif change == "ids":
            (tmp_path / "anno" / "vcoco_test.ids").write_text("7\n")
        with _Counting() as engine:
            outcomes = sweep(study_of(tmp_path), engine, store=Store(tmp_path / "cache"))
            assert engine.tasks == tasks
        found.append(outcomes.results["A", CLEAN])
    assert found[0] == found[1] != found[2]
    assert [each["counts"]["images"] for each in found] == [2, 2, 2, 1, 1]


def test_the_first_result_is_checked_before_the_rest(written: Path) -> None:
    seen: list[Any] = []

    def check(result: Any) -> None:
        seen.append(result)
        raise InputError("no such metric")

    with pytest.raises(InputError, match="no such metric"):
        swept(study_of(written), check=check)
    assert len(seen) == 1


@pytest.mark.slow
def test_each_corruption_is_tested_at_its_highest_severity(folder: Path) -> None:
    (folder / "A" / "occlusion_5.npz").unlink()
    (folder / "B" / "clean.npz").unlink()
    study, cache = study_of(folder), folder / "cache"
    outcomes = swept(study, exchanges=4, store=Store(cache))
    assert list(outcomes.tests) == [
        ("A", BLURRED),
        ("A", Condition("gaussian_noise", 5)),
        ("A", Condition("occlusion", 1)),
    ]
    found = outcomes.tests["A", BLURRED][0]
    assert found.path == "map.full"
    assert found.labels == ("A, clean", "A, Motion blur 5")
    maps = [outcomes.results["A", each]["map"]["full"] for each in (CLEAN, BLURRED)]
    assert (found.first, found.second) == pytest.approx(maps, rel=1e-12)
    with _Counting() as engine:
        again = sweep(study, engine, exchanges=4, store=Store(cache))
        assert engine.tasks == 0
    assert again.tests == outcomes.tests


def test_a_test_that_cannot_be_made_is_a_note(written: Path, monkeypatch) -> None:
    def refuse(*_: Any) -> None:
        raise InputError("other images")

    monkeypatch.setattr(module, "compare_to_clean", refuse)
    outcomes = swept(alone(written), exchanges=20)
    assert outcomes.tests == {}
    assert outcomes.notes[0] == "A, Occlusion 5: not tested: other images"


def test_predictions_on_another_file_system(folder: Path, few: Outcomes) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://preds/clean.npz", "wb") as stream:
        stream.write((folder / "A" / "clean.npz").read_bytes())
    study = small(folder)
    model = replace(study.models[0], clean="memory://preds/clean.npz")
    outcomes = swept(replace(study, models=(model,)), store=Store(folder / "cache"))
    assert outcomes.results["A", CLEAN] == few.results["A", CLEAN]


def test_pairs_are_read_with_their_triplets(folder: Path) -> None:
    from diaghoi.formats import write_pair_lists, write_triplet_lists

    found = read_predictions(folder / "A" / "clean.npz")
    write_triplet_lists(folder / "t.pkl", found)
    write_pair_lists(folder / "p.pkl", found)
    study = replace(small(folder), severities=(5,))
    model = replace(study.models[0], clean=str(folder / "t.pkl"))
    for pairs, source in ((None, "triplets"), (str(folder / "p.pkl"), "pairs")):
        models = (replace(model, clean_pairs=pairs),)
        outcomes = swept(replace(study, models=models))
        assert outcomes.results["A", CLEAN]["pairs"]["source"] == source


def test_soft_map_by_tables_of_similarity(folder: Path) -> None:
    from diaghoi.semantic import evaluate, read_similarity

    tables = (folder / "v.csv", folder / "o.csv")
    tables[0].write_text("a,b,score\nride,sit_on,0.5\n")
    tables[1].write_text("a,b,score\nbicycle,motorcycle,0.5\n")
    result = swept(alone(folder, similarity=tables), block=5).results["A", CLEAN]
    truth = read_annotations(folder / "gt.npz")
    predictions = read_predictions(folder / "A" / "clean.npz")
    similarities = [read_similarity(path) for path in tables]
    protocol = truth.vocabulary.protocol  # that of the sweep
    expected = evaluate(truth, predictions, *similarities, protocol=protocol)
    assert (result["soft_map"], result["mf1"]) == (expected.soft_map, expected.mf1)


def test_a_described_data_set_is_known_by_its_content(tmp_path: Path) -> None:
    boxes = [
        {"bbox": [0.0, 0, 9, 9], "category_id": 0},
        {"bbox": [5.0, 5, 30, 30], "category_id": 2},
    ]
    hoi = {"subject_id": 0, "object_id": 1, "category_id": 1}
    truth = [{"filename": "a.jpg", "annotations": boxes, "hoi_annotation": [hoi]}]
    found = [{"filename": "a.jpg", "predictions": boxes, "hoi_prediction": [hoi | {"score": 0.5}]}]
    (tmp_path / "gt.pkl").write_bytes(pickle.dumps(truth))
    (tmp_path / "clean.pkl").write_bytes(pickle.dumps(found))
    np.save(tmp_path / "classes.npy", np.ones((2, 3), dtype=int))
    write_description(tmp_path, 'classes = "classes.npy"\n')
    (tmp_path / "study.toml").write_text(
        'annotations = "gt.pkl"\ndataset = "zoo.toml"\n'
        '[[model]]\nlabel = "A"\nclean = "clean.pkl"\nfiles = "{corruption}{severity}"\n'
    )
    for matrix, tasks in ((None, 1), (None, 0), ([[1, 1, 0], [1, 1, 1]], 1)):
        if matrix is not None:
            np.save(tmp_path / "classes.npy", np.array(matrix))
        with _Counting() as engine:
            outcomes = sweep(study_of(tmp_path), engine, store=Store(tmp_path / "cache"))
            assert engine.tasks == tasks
        assert outcomes.results["A", CLEAN]["map"]["full"] == 1
