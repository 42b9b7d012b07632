"""A saved diagnosis is loaded with all its numbers, and draws what the original draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.described import write_description
from support.scenes import image, scenes

from diaghoi import Diagnosis, InputError, diagnose, plots, protocol, read_predictions, simulate
from diaghoi.data.protocol import PROTOCOLS, Group
from diaghoi.formats import write
from diaghoi.formats.description import vocabulary
from diaghoi.formats.hico_mat import ImageLabels


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(30, rng)
    found = simulate.detect(truth, simulate.ONE_STAGE, rng)
    # An image without predictions, and one without annotations.
    return diagnose(truth.take(range(29)), found.take(range(1, 30)), label="mine \udcff")


@pytest.fixture(scope="module")
def loaded(diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """Give the diagnosis as saved and loaded, which keeps what one figure computes for others."""
    return again(diagnosis, tmp_path_factory.mktemp("loaded"))


@pytest.fixture
def path(diagnosis: Diagnosis, tmp_path: Path) -> Path:
    diagnosis.save(tmp_path / "d.npz")
    return tmp_path / "d.npz"


def again(diagnosis: Diagnosis, folder: Path, **options: Any) -> Diagnosis:
    diagnosis.save(folder / "again.npz")
    return Diagnosis.load(folder / "again.npz", **options)


def assert_same(one: Diagnosis, other: Diagnosis) -> None:
    assert one.to_dict() == other.to_dict()
    for table in ("classes", "images"):
        for key, column in getattr(one, table).items():
            np.testing.assert_array_equal(column, getattr(other, table)[key], err_msg=key)


def test_all_numbers_are_those_of_the_original(diagnosis: Diagnosis, path: Path) -> None:
    loaded = Diagnosis.load(path)
    assert_same(loaded, diagnosis)
    assert (loaded.annotated.sum(), loaded.predicted.sum()) == (29, 29)
    assert_same(again(loaded, path.parent), diagnosis)


def test_it_adds_up_like_the_original(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(20, rng)
    found = simulate.detect(truth, simulate.ONE_STAGE, rng)
    one, two = (diagnose(truth.take(part), found.take(part)) for part in (range(9), range(9, 20)))
    assert_same(again(one, tmp_path) + again(two, tmp_path), one + two)
    assert_same(again(one + two, tmp_path), one + two)


def test_the_choices_are_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(20, rng)
    found = simulate.detect(truth, simulate.TWO_STAGE, rng)
    chosen = protocol("hico-det", iou=0.6, top=50, groups=(Group("wheels", (18, 44)),))
    labelled = ImageLabels(names=truth.names, positive=np.arange(12000).reshape(600, 20) % 3 == 0)
    diagnosis = diagnose(
        truth, found, chosen, image_labels=labelled, also=[PROTOCOLS["qahoi"], PROTOCOLS["upt"]]
    )
    loaded = again(diagnosis, tmp_path)
    assert_same(loaded, diagnosis)
    assert loaded.protocol == diagnosis.protocol
    assert loaded.benchmark.protocols == diagnosis.benchmark.protocols
    assert loaded.official["known_object"]["source"] == "image labels"


def test_v_coco(tmp_path: Path) -> None:
    truth = simulate.v_coco_annotations(12, np.random.default_rng(0))
    found = simulate.v_coco_detect(truth, np.random.default_rng(1))
    diagnosis = diagnose(truth, found, "v-coco-s2")
    assert_same(again(diagnosis, tmp_path), diagnosis)


@pytest.mark.parametrize("name", plots.FIGURES)
def test_it_draws_all_figures(loaded: Diagnosis, diagnosis: Diagnosis, name: str) -> None:
    kind = plots.FIGURES[name]
    if name in ("difference", "transitions"):
        plots.figure_of(kind, [diagnosis, loaded], plots.DOUBLE_COLUMN)
        return
    if name == "delta_map_backbone":
        with pytest.raises(plots.NotApplicable, match="different backbones"):
            plots.figure_of(kind, [loaded], plots.DOUBLE_COLUMN)
    else:
        plots.figure_of(kind, [loaded], plots.DOUBLE_COLUMN)


# Bad input


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"diaghoi_diagnosis": 9}, "diaghoi_diagnosis: is '9', and this release reads 1; save"),
        (
            {"diaghoi_diagnosis": None},
            "is not a saved diagnosis; give a file that Diagnosis.save wrote",
        ),
        ({"settings": None}, "settings: is missing; the file is damaged: save the diagnosis again"),
        ({"settings": "{"}, "settings: is not a JSON object"),
        ({"settings": '{"label": 3}'}, "settings.label: is 3; the file is damaged"),
        ({"annotated": np.ones(3, dtype=bool)}, "annotated: has shape"),
        ({"predicted": np.ones(30)}, "predicted: has shape"),
        ({"annotations.diaghoi_format": None}, "annotations: are missing"),
        ({"annotations.vocabulary": "zoo"}, "is for the data set 'zoo', which is not known; give"),
        ({"annotations.names": None}, "the columns names are missing"),
        ({"annotations.box_label": np.array([-7])}, "box_label: has shape"),
        ({"predictions.names": np.array([f"{n}" for n in range(30)])}, "predictions do not match"),
        ({"predictions.triplet_score": None}, "predictions do not match"),
    ],
)
def test_damaged_files_are_refused(path: Path, changes: dict[str, Any], problem: str) -> None:
    with np.load(path) as file:
        arrays = dict(file) | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(InputError) as error:
        Diagnosis.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"iou": 0.5', '"iou": 5.0', "protocol.iou: is 5.0; give a number above 0"),
        ('"iou": 0.5', '"iou": "x"', "protocol.iou: is 'x'; give a number"),
        ('"pairing": "triplet"', '"pairing": "dance"', "pairing: is 'dance'; give 'triplet' or"),
        ('"pairing": "triplet"', '"pairing": "person"', "is not for hico-det"),
        ('"iou": 0.5', '"iuo": 0.5', "protocol: has other choices than this release"),
        ('"groups": []', '"groups": [["a", [600]]]', "name classes that do not exist"),
        ('"groups": []', '"groups": [3]', "groups: is [3]"),
    ],
)
def test_unusable_protocols_are_refused(path: Path, old: str, new: str, problem: str) -> None:
    with np.load(path) as file:
        arrays = dict(file)
    settings = str(arrays["settings"])
    assert old in settings
    np.savez(path, **arrays | {"settings": settings.replace(old, new)})
    with pytest.raises(InputError) as error:
        Diagnosis.load(path)
    assert problem in str(error.value)


def test_other_files_are_refused(diagnosis: Diagnosis, tmp_path: Path) -> None:
    write(tmp_path / "p.npz", diagnosis.scenes[0][1].load())
    with pytest.raises(InputError, match="is not a saved diagnosis"):
        Diagnosis.load(tmp_path / "p.npz")
    with pytest.raises(InputError, match="No such file"):
        Diagnosis.load(tmp_path / "none.npz")
    with pytest.raises(InputError, match="diagnosis does not include its annotations"):
        replace(diagnosis, scenes=()).save(tmp_path / "d.npz")


def test_it_is_not_taken_for_predictions(path: Path) -> None:
    with pytest.raises(InputError, match="not a known format"):
        read_predictions(path)


def test_a_described_data_set_needs_its_description(tmp_path: Path) -> None:
    description = str(write_description(tmp_path))
    boxes = [(0, (0, 0, 9, 9)), (1, (10, 0, 19, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, 0)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, 0, 0.9), (0, 1, 1, 0.4)])], scored=True)
    words = vocabulary(description)
    diagnosis = diagnose(replace(truth, vocabulary=words), replace(found, vocabulary=words))
    assert_same(again(diagnosis, tmp_path, dataset=description), diagnosis)
    with pytest.raises(InputError, match="'zoo', which is not known; give its description with `d"):
        Diagnosis.load(tmp_path / "again.npz")
    with pytest.raises(InputError, match="is for the data set 'zoo', not for 'hico-det'"):
        Diagnosis.load(tmp_path / "again.npz", dataset="hico-det")
