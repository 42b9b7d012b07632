"""Batch by batch gives exactly what all images at once give."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from support import v_coco
from support.scenes import BICYCLE, EAT, PERSON, RIDE, WASH, image, scenes

import diaghoi
from diaghoi import Accumulator, Diagnosis, InputError, Scenes, plots, simulate
from diaghoi.formats import write_dense_arrays, write_triplet_lists
from diaghoi.formats.hico_mat import ImageLabels

BOXES = np.array([[10.0, 10, 60, 120], [40, 60, 110, 130]])
PAIR = {"boxes": BOXES, "labels": [0, 1], "sub_ids": [0], "obj_ids": [1]}
ANNOTATION = PAIR | {"verbs": [76]}
PREDICTION = ANNOTATION | {"scores": [0.9], "action_scores": [0.8]}

Batch = list[dict[str, Any]]


class Tensor:
    """What the tensors of deep learning libraries share, and nothing else."""

    def __init__(self, values: Any, narrow: bool = False) -> None:
        self.values, self.narrow, self.steps = np.asarray(values), narrow, ""

    def detach(self) -> Tensor:
        self.steps += "d"
        return self

    def cpu(self) -> Tensor:
        assert self.steps == "d"
        self.steps += "c"
        return self

    def float(self) -> Tensor:
        self.narrow = False
        return self

    def numpy(self) -> np.ndarray:
        assert self.steps == "dc"
        if self.narrow:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("can't convert a tensor that requires grad")


def lists(scenes: Scenes) -> Batch:
    """Give each image as the arrays that a training loop has."""
    images = []
    for number in range(len(scenes)):
        one = scenes.between(number, number + 1)
        pair = one.triplet_pair
        row = {
            "boxes": one.box_xyxy,
            "labels": one.box_label,
            "sub_ids": one.pair_human[pair],
            "obj_ids": one.pair_object[pair],
            "verbs": one.triplet_verb,
        }
        if one.triplet_score is not None:
            row |= {"scores": one.triplet_score, "action_scores": one.triplet_action_score}
        images.append(row)
    return images


@pytest.fixture(scope="module")
def truth() -> Scenes:
    return simulate.annotations(24, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(truth: Scenes, tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    """Predictions whose predicted pairs come from the triplets, one image of them empty."""
    scenes = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(0))
    order = np.arange(len(scenes))
    order[5] = -1
    path = tmp_path_factory.mktemp("found") / "preds.pkl"
    write_triplet_lists(path, replace(scenes.take(order), names=scenes.names))
    return diaghoi.read_predictions(path)


@pytest.fixture(scope="module")
def batches(truth: Scenes, found: Scenes) -> list[tuple[list[str], Batch, Batch]]:
    names, annotations, predictions = truth.names.tolist(), lists(truth), lists(found)
    cuts = [(0, 1), (1, 8), (8, 8), (8, 24)]
    return [(names[a:b], predictions[a:b], annotations[a:b]) for a, b in cuts]


def assert_same(one: Diagnosis, other: Diagnosis) -> None:
    """Compare all figures exactly; notes name their sources."""
    assert {**one.to_dict(), "notes": []} == {**other.to_dict(), "notes": []}
    for name in ("classes", "images"):
        for key, column in getattr(one, name).items():
            np.testing.assert_array_equal(column, getattr(other, name)[key], err_msg=key)


@pytest.mark.parametrize("protocol", ["hico-det", "hico-det-520", "diag-hoi"])
def test_triplets_equal_all_at_once(truth, found, batches, protocol: str) -> None:
    accumulator = Accumulator(protocol, label="model")
    for batch in batches:
        accumulator.update(*batch)
    expected = diaghoi.diagnose(truth, found, protocol, label="model")
    assert expected.mean_ap["full"] > 0.2
    assert_same(accumulator.compute(), expected)


def test_tensors_equal_arrays(truth, found, batches) -> None:
    accumulator = Accumulator()
    for names, *sides in batches:
        tensors = [
            [{key: Tensor(value) for key, value in row.items()} for row in side] for side in sides
        ]
        accumulator.update(names, *tensors)
    assert_same(accumulator.compute(), diaghoi.diagnose(truth, found))


def test_tensors_that_numpy_does_not_know() -> None:
    accumulator = Accumulator()
    scores = Tensor([0.9], narrow=True)
    accumulator.update(["a"], [PREDICTION | {"scores": scores}], [ANNOTATION])
    assert accumulator.compute().mean_ap["full"] == 1.0


def test_dense_equals_all_at_once(truth, tmp_path: Path) -> None:
    scenes = simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(0))
    write_dense_arrays(tmp_path / "dense.pkl", scenes)
    dense = pickle.loads((tmp_path / "dense.pkl").read_bytes())
    expected = diaghoi.diagnose(
        truth,
        diaghoi.read_predictions(tmp_path / "dense.pkl"),
        diaghoi.protocol("hico-det", top=20),
    )
    accumulator = Accumulator("hico-det", top=20)
    annotations = lists(truth)
    for first in range(0, len(truth), 5):
        part = slice(first, first + 5)
        rows = [{k: v for k, v in row.items() if k != "filename"} for row in dense[part]]
        accumulator.update(truth.names[part].tolist(), rows, annotations[part])
    assert_same(accumulator.compute(), expected)
    assert accumulator.compute().pair_source == "pairs"


def test_parts_of_other_processes_add_up(truth, found, batches) -> None:
    """Each process of a distributed run diagnoses its share; pickled diagnoses add."""
    parts = []
    for names, predictions, truths in batches:
        if names:
            accumulator = Accumulator()
            accumulator.update(names, predictions, truths)
            parts.append(pickle.loads(pickle.dumps(accumulator.compute())))
    assert_same(Diagnosis.sum(parts), diaghoi.diagnose(truth, found))


def test_equal_scores_of_parts_stay_in_order_when_they_are_repaired() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (0, 20, 9, 29)), (BICYCLE, (90, 90, 99, 99))]
    truth = [image("a", boxes[:2], [(0, 1, RIDE)]), image("b", boxes[:2], [(0, 1, WASH)])]
    # Repaired, "ride" of the second image becomes a true positive of "wash", of which the first
    # image has a false positive with the same score, which comes first.
    # What is no class takes places in the input of the first.
    found = [
        image("a", boxes, [(0, 2, EAT, 0.9, 0.9)] * 3 + [(0, 2, WASH, 0.5, 0.5)]),
        image("b", boxes, [(0, 1, RIDE, 0.5, 0.5)]),
    ]
    sides = scenes(truth, scored=False), scenes(found, scored=True)
    whole = diaghoi.diagnose(*sides)
    parts = [diaghoi.diagnose(*(side.between(n, n + 1) for side in sides)) for n in range(2)]
    assert_same(Diagnosis.sum(parts), whole)
    wash = whole.vocabulary.class_of[BICYCLE, WASH]
    for result in (whole, Diagnosis.sum(parts)):
        assert result.repaired_scores["action"].average_precision[wash] == pytest.approx(0.5)


def test_without_action_scores() -> None:
    accumulator = Accumulator()
    bare = {key: value for key, value in PREDICTION.items() if key != "action_scores"}
    accumulator.update(["a"], [bare], [ANNOTATION])
    undefined = {"map": None, "max_recall": None}
    actions = accumulator.compute().actions
    assert actions == undefined | {"rare": undefined, "non_rare": undefined}


def test_reset_forgets(batches) -> None:
    accumulator = Accumulator()
    accumulator.update(["a"], [PREDICTION], [ANNOTATION])
    accumulator.reset()
    with pytest.raises(InputError, match="nothing to diagnose"):
        accumulator.compute()
    accumulator.update(["a"], [PREDICTION], [ANNOTATION])
    assert accumulator.compute().counts["images"] == 1


def test_inputs_are_not_changed() -> None:
    boxes = BOXES.copy()
    prediction, annotation = PREDICTION | {"boxes": boxes}, ANNOTATION | {"boxes": boxes}
    Accumulator().update(["a"], [prediction], [annotation])
    np.testing.assert_array_equal(boxes, BOXES)
    assert prediction["labels"] == [0, 1]


def test_numbering_is_decided_by_the_first_boxes() -> None:
    """HICO-DET's own numbering is alphabetical: person 49, bicycle 9."""
    own = {"labels": [49, 9]}
    accumulator = Accumulator()
    accumulator.update(["a"], [PREDICTION | own], [ANNOTATION | own])
    nothing = {key: np.zeros((0, 4)) if key == "boxes" else [] for key in PREDICTION}
    accumulator.update(["b"], [nothing], [ANNOTATION | own])
    # All human boxes of this batch are called what is a person in another numbering.
    accumulator.update(["c"], [PREDICTION | {"labels": [0, 9]}], [ANNOTATION | own])
    diagnosis = accumulator.compute()
    assert diagnosis.errors["true_positive"] == 1
    assert diagnosis.counts["annotated_triplets"] == 3


def test_numbering_can_be_given() -> None:
    accumulator = Accumulator(objects="coco91")
    labels = {"labels": [1, 2]}
    accumulator.update(["a"], [PREDICTION | labels], [ANNOTATION | labels])
    assert accumulator.compute().mean_ap["full"] == 1.0


def test_image_labels() -> None:
    positive = np.zeros((600, 1), dtype=bool)
    labels = ImageLabels(names=np.array(["a"]), positive=positive, source="anno.mat")
    accumulator = Accumulator(image_labels=labels)
    accumulator.update(["a"], [PREDICTION], [ANNOTATION])
    known = accumulator.compute().official["known_object"]
    assert known["source"] == "image labels"
    assert known["full"] is None


def bad(change: dict[str, Any], *, annotation: bool = False) -> tuple[Any, Batch, Batch]:
    prediction, truth = dict(PREDICTION), dict(ANNOTATION)
    (truth if annotation else prediction).update(change)
    return ["a"], [prediction], [truth]


BATCHES: dict[str, tuple[tuple[Any, Any, Any], str]] = {
    "lengths of the batch": (
        (["a", "b"], [PREDICTION], [ANNOTATION]),
        "a batch needs one entry per image: 2 images, 1 predictions, 1 annotations",
    ),
    "name": (([7], [PREDICTION], [ANNOTATION]), "images of the batch: 7 is not a name"),
    "same name": (
        (["a", "a"], [PREDICTION] * 2, [ANNOTATION] * 2),
        "annotations of the batch: image 'a': filename: used for two images, numbers 0 and 1",
    ),
    "no dict": ((["a"], [[1]], [ANNOTATION]), "predictions of the batch: image 'a': is a list"),
    "no key": (
        (["a"], [PAIR], [ANNOTATION]),
        "predictions of the batch: image 'a': no verbs, scores",
    ),
    "no verbs": ((["a"], [PREDICTION], [PAIR]), "annotations of the batch: image 'a': no verbs"),
    "ragged": (
        bad({"boxes": [[1, 2, 3, 4], [1, 2]]}),
        "predictions of the batch: image 'a': boxes: is not an array",
    ),
    "single value": (
        bad({"labels": 0}),
        "predictions of the batch: image 'a': labels: is a single value; give an array",
    ),
    "lengths": (
        bad({"scores": [0.9, 0.8]}),
        "predictions of the batch: image 'a': lengths differ: sub_ids 1, obj_ids 1, verbs 1, "
        "scores 2, action_scores 1; give one value per triplet",
    ),
    "labels": (
        bad({"labels": [0]}, annotation=True),
        "lengths differ: boxes 2, labels 1; give one value per box",
    ),
    "index": (
        bad({"obj_ids": [2]}),
        "predictions of the batch: image 'a': obj_ids[0]: there is no box in 'boxes' 2; there are: "
        "0 to 1",
    ),
    "annotated index": (
        bad({"sub_ids": [-1]}, annotation=True),
        "annotations of the batch: image 'a': sub_ids[0]: there is no box in 'boxes' -1",
    ),
    "score": (
        bad({"scores": [np.nan]}),
        "predictions of the batch: image 'a': scores[0]: the score is nan",
    ),
    "box": (
        bad({"boxes": [[1, 2, 3, 4], [9, 2, 3, 4]]}),
        "predictions of the batch: image 'a': boxes[1]: the box [9.0, 2.0, 3.0, 4.0] ends before",
    ),
    "label": (
        bad({"labels": [0, 80]}, annotation=True),
        "annotations of the batch: image 'a': labels[1]: unknown object category 80",
    ),
    "verb": (
        bad({"verbs": [117]}),
        "predictions of the batch: image 'a': verbs[0]: unknown verb 117",
    ),
    "dense shape": (
        (["a"], [PAIR | {"verb_scores": np.zeros((1, 5))}], [ANNOTATION]),
        "predictions of the batch: image 'a': verb_scores: has shape (1, 5)",
    ),
    "half dense": (
        (["a", "b"], [PAIR | {"verb_scores": np.zeros((1, 117))}, PREDICTION], [ANNOTATION] * 2),
        "predictions of the batch: image 'b': the key 'verb_scores' is missing",
    ),
}


@pytest.mark.parametrize("case", BATCHES)
def test_bad_batches_are_refused_and_not_added(case: str) -> None:
    batch, message = BATCHES[case]
    accumulator = Accumulator()
    accumulator.update(["before"], [PREDICTION], [ANNOTATION])
    with pytest.raises(InputError) as error:
        accumulator.update(*batch)
    assert str(error.value).startswith(message) or message in str(error.value)
    assert "\n" not in str(error.value)
    assert accumulator.compute().counts["images"] == 1
    accumulator.update(["a"], [PREDICTION], [ANNOTATION])


def test_no_image_twice() -> None:
    accumulator = Accumulator()
    accumulator.update(["a"], [PREDICTION], [ANNOTATION])
    with pytest.raises(InputError, match="came in an earlier batch: a; give every image once, and"):
        accumulator.update(["a"], [PREDICTION], [ANNOTATION])
    assert accumulator.compute().counts["images"] == 1


def test_one_form_of_predictions() -> None:
    accumulator = Accumulator()
    accumulator.update(["a"], [PREDICTION], [ANNOTATION])
    dense = PAIR | {"verb_scores": np.full((1, 117), 0.5)}
    with pytest.raises(InputError, match="have verb_scores, unlike earlier batches"):
        accumulator.update(["b"], [dense], [ANNOTATION])
    accumulator.reset()
    accumulator.update(["b"], [dense], [ANNOTATION])
    with pytest.raises(InputError, match="have single triplets, unlike earlier batches"):
        accumulator.update(["a"], [PREDICTION], [ANNOTATION])


def test_nothing_annotated() -> None:
    accumulator = Accumulator()
    nothing = {key: np.zeros((0, 4)) if key == "boxes" else [] for key in ANNOTATION}
    accumulator.update(["a"], [PREDICTION], [nothing])
    with pytest.raises(InputError, match="no annotated triplets in any batch"):
        accumulator.compute()


def v_coco_rows(scenes: Scenes) -> Batch:
    """Give images of V-COCO as arrays, with the people to ignore."""
    rows = lists(scenes)
    for number, row in enumerate(rows):
        one = scenes.between(number, number + 1)
        row["obj_ids"] = one.pair_object[one.triplet_pair]
        row.pop("action_scores", None)
        if one.box_ignored is not None:
            row["ignored"] = one.box_ignored
    return rows


@pytest.mark.slow
@settings(max_examples=20)
@given(v_coco.problems())
def test_v_coco_equals_all_at_once(problem: tuple[list[Any], list[Any]]) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    found = replace(found, triplet_action_score=None, pair_score=None, box_score=None)
    accumulator = Accumulator("v-coco-s1", "v-coco")
    for number in range(len(truth)):
        one = slice(number, number + 1)
        name = f"COCO_val2014_{number + 1:012}.jpg"
        accumulator.update([name], v_coco_rows(found)[one], v_coco_rows(truth)[one])
    if len(truth.triplet_verb) == 0:
        with pytest.raises(InputError, match="no annotated triplet"):
            accumulator.compute()
        return
    names = np.array([str(number + 1) for number in range(len(truth))])
    expected = diaghoi.diagnose(truth.with_names(names), found.with_names(names), "v-coco-s1")
    assert_same(accumulator.compute(), expected)


def test_v_coco_takes_dense_scores() -> None:
    """The first role of a pair that QPIC lists is 'hold obj': the person holds the box."""
    person = PAIR | {"labels": [0, -1]}
    truth = PAIR | {"sub_ids": [0, 0], "obj_ids": [-1, 1], "verbs": [0, 1], "ignored": [0, 0]}
    accumulator = Accumulator(dataset="v-coco")
    scores = np.full((1, 29), np.nan)
    scores[0, 0] = 0.5
    accumulator.update(
        ["COCO_val2014_000000000042.jpg"], [person | {"verb_scores": scores}], [truth]
    )
    diagnosis = accumulator.compute()
    assert diagnosis.mean_ap["full"] == 1.0
    assert diagnosis.names.tolist() == ["42"]
    with pytest.raises(InputError, match="came in an earlier batch: 42"):
        accumulator.update(["42"], [person | {"verb_scores": scores}], [truth])
    with pytest.raises(InputError, match="'43': ignored: has shape"):
        accumulator.update(
            ["43"], [person | {"verb_scores": scores}], [truth | {"ignored": [True] * 3}]
        )


def test_numbers_do_not_depend_on_the_batch() -> None:
    """A batch with the verb 117, and without 0, is not taken to count verbs from one."""
    accumulator = Accumulator()
    with pytest.raises(InputError, match="unknown verb 117"):
        accumulator.update(["a"], [PREDICTION | {"verbs": [117]}], [ANNOTATION])
    wide = {"boxes": np.repeat([[100.0, 100, 50, 50]], 30, axis=0), "labels": [0] * 30}
    with pytest.raises(InputError, match="ends before it begins"):
        accumulator.update(["a"], [PREDICTION | wide], [ANNOTATION])


def test_bad_choices() -> None:
    with pytest.raises(InputError, match="unknown protocol 'x'"):
        Accumulator("x")
    with pytest.raises(InputError, match="unknown data set 'x'"):
        Accumulator(dataset="x")


class Run:
    """A run of Weights & Biases, as far as it is used."""

    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, float], int | None]] = []

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        self.logged.append((data, step))


@pytest.fixture
def filled(batches) -> Accumulator:
    """Give an accumulator with all batches."""
    accumulator = Accumulator(label="model")
    for batch in batches:
        accumulator.update(*batch)
    return accumulator


def main_numbers(diagnosis: Diagnosis) -> dict[str, float]:
    oracles = diagnosis.oracles.items()
    found = {f"delta_map/{name}": each["delta_map"]["full"] for name, each in oracles}
    found |= {f"map/{split}": value for split, value in diagnosis.mean_ap.items()}
    for setting, means in diagnosis.official.items():
        found |= {f"official/{setting}/{k}": v for k, v in means.items() if k != "source"}
    found |= {"pairs/recall": diagnosis.pairs["recall"], "actions/map": diagnosis.actions["map"]}
    return {f"diaghoi/{name}": value for name, value in found.items() if value is not None}


def test_the_main_numbers_are_logged_to_weights_and_biases(filled: Accumulator) -> None:
    run = Run()
    diagnosis = filled.log_to(run, step=3)
    assert run.logged == [(main_numbers(diagnosis), 3)]
    assert diagnosis.to_dict() == filled.compute().to_dict()
    assert {"diaghoi/official/default/full", "diaghoi/map/non_rare"} <= run.logged[0][0].keys()


def test_the_main_numbers_are_logged_to_tensorboard(filled: Accumulator, tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        diagnosis = filled.log_to(writer, step=7)
    (file,) = tmp_path.iterdir()
    data, logged = file.read_bytes(), {}
    while data:  # TFRecords: length, checksum, event, checksum
        length = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + length])
        logged |= {each.tag: (each.simple_value, event.step) for each in event.summary.value}
        data = data[16 + length :]
    wanted = main_numbers(diagnosis)
    assert logged == {name: (pytest.approx(value, rel=1e-6), 7) for name, value in wanted.items()}


def test_other_writers_are_refused(filled: Accumulator) -> None:
    with pytest.raises(InputError, match="writer: a dict has neither add_scalar nor log; give a"):
        filled.log_to({})


def test_what_was_accumulated_is_saved_with_all_its_batches(filled, tmp_path: Path) -> None:
    diagnosis = filled.compute()
    diagnosis.save(tmp_path / "d.npz")
    assert Diagnosis.load(tmp_path / "d.npz").to_dict() == diagnosis.to_dict()
    assert plots.annotation_causes(diagnosis) is not None
    assert plots.pair_recall(diagnosis) is not None
