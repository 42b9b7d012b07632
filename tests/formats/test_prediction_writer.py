"""Predictions streamed from an evaluation loop come back as they were, killed or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diaghoi
from diaghoi import InputError, PredictionWriter, Scenes, formats
from diaghoi.data.scenes import COLUMNS
from diaghoi.data.vocabulary import v_coco

BOXES = np.array([[10.0, 10, 60, 120], [40, 60, 110, 130], [5, 6, 7, 8]])
PAIR = {"boxes": BOXES, "labels": [0, 1, 2], "sub_ids": [0, 0], "obj_ids": [1, 2]}
SINGLE = PAIR | {"verbs": [76, 36], "scores": [0.9, 0.25], "action_scores": [0.8, 0.5]}
NOTHING = {key: np.zeros((0, 4)) if key == "boxes" else [] for key in SINGLE}
# Each line names an image, writes it, and says so when it is flushed.
LOOP = """
import itertools, sys
import numpy as np
import diaghoi
boxes = np.array([[10.0, 10, 60, 120], [40, 60, 110, 130]])
pair = dict(boxes=boxes, labels=[0, 1], sub_ids=[0], obj_ids=[1], verbs=[76])
with diaghoi.PredictionWriter(sys.argv[1], every=3) as writer:
    for number in itertools.count():
        writer.update([f"{number}.jpg"], [pair | dict(scores=[1 / (number + 2)])])
        if number % 3 == 2:
            print(number + 1, flush=True)
"""


def dense(image: int) -> dict[str, Any]:
    """Give the scores of all verbs of two pairs, different in each image."""
    scores = np.random.default_rng(image).random((2, 117))
    return PAIR | {"verb_scores": scores / 2, "action_scores": scores, "scores": [0.9, 0.8, 0.7]}


def images(count: int, kind: str) -> tuple[list[str], list[dict[str, Any]]]:
    names = [f"{number}.jpg" for number in range(count)]
    if kind == "dense":
        return names, [dense(number) for number in range(count)]
    scored = [SINGLE | {"scores": [0.5, 1 / (number + 1)]} for number in range(count)]
    return names, [NOTHING if number % 4 == 0 else scored[number] for number in range(count)]


def write(path: Path, names: list[str], rows: list[dict[str, Any]], step: int, **more: Any) -> None:
    with PredictionWriter(path, **more) as writer:
        for first in range(0, len(names), step):
            writer.update(names[first : first + step], rows[first : first + step])


def assert_equal(one: Scenes, other: Scenes) -> None:
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)


@pytest.mark.parametrize(
    ("kind", "step", "every"),
    [("single", 1, 1), ("single", 3, 4), ("dense", 1, 4), ("dense", 11, 2)],
)
def test_any_batches_give_the_same_file(tmp_path: Path, kind: str, step: int, every: int) -> None:
    names, rows = images(11, kind)
    write(tmp_path / "once.npz", names, rows, len(names), every=1000)
    write(tmp_path / "parts.npz", names, rows, step, every=every)
    one, other = (diaghoi.read_predictions(tmp_path / f"{n}.npz") for n in ("once", "parts"))
    assert_equal(one, other)
    assert one.notes == other.notes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["once.npz", "parts.npz"]


def test_what_comes_back_is_what_was_given(tmp_path: Path) -> None:
    write(tmp_path / "preds.npz", ["a", "b"], [NOTHING, SINGLE], 1)
    read = diaghoi.read_predictions(tmp_path / "preds.npz")
    assert read.names.tolist() == ["a", "b"]
    np.testing.assert_array_equal(read.box_xyxy, BOXES)
    assert read.box_label.tolist() == [0, 1, 2]
    assert read.box_image.tolist() == [1, 1, 1]
    assert (read.pair_human.tolist(), read.pair_object.tolist()) == ([0, 0], [1, 2])
    assert read.triplet_verb.tolist() == [76, 36]
    assert read.scores.tolist() == [0.9, 0.25]
    assert read.triplet_action_score is not None
    assert read.triplet_action_score.tolist() == [0.8, 0.5]
    assert read.pair_score is None


def test_dense_scores_keep_all_pairs(tmp_path: Path) -> None:
    write(tmp_path / "preds.npz", ["a"], [dense(0)], 1)
    read = diaghoi.read_predictions(tmp_path / "preds.npz")
    assert read.pair_score is not None
    assert len(read.pair_score) == 2
    np.testing.assert_array_equal(read.triplet_action_score, 2 * read.scores)


def test_more_triplets_can_be_kept(tmp_path: Path) -> None:
    pairs = {"sub_ids": [0] * 60, "obj_ids": [1, 2] * 30}
    row = dense(0) | pairs | {"verb_scores": np.full((60, 117), 0.5)}
    del row["action_scores"]
    for top, kept in ((None, 100), (200, 200)):
        write(tmp_path / "preds.npz", ["a"], [row], 1, top=top)
        assert len(diaghoi.read_predictions(tmp_path / "preds.npz").triplet_verb) == kept


def test_numbering_is_decided_once(tmp_path: Path) -> None:
    """HICO-DET's own numbering is alphabetical: person 49, bicycle 9."""
    rows = [SINGLE | {"labels": labels} for labels in ([49, 9, 9], [0, 9, 9])]
    write(tmp_path / "preds.npz", ["a", "b"], rows, 1)
    labels = diaghoi.read_predictions(tmp_path / "preds.npz").box_label.tolist()
    assert labels[:3] == [0, 1, 1]
    assert labels[3] != 0


def test_an_error_in_the_loop_keeps_the_parts(tmp_path: Path) -> None:
    path = tmp_path / "preds.npz"
    names, rows = images(5, "single")

    def loop(writer: PredictionWriter) -> None:
        for name, row in zip(names, rows, strict=True):
            writer.update([name], [row])
        raise ArithmeticError("the loss is not finite")

    with pytest.raises(ArithmeticError), PredictionWriter(path, every=2) as writer:
        loop(writer)
    assert not path.exists()
    read = diaghoi.read_predictions(f"{path}.parts")
    assert read.names.tolist() == names
    assert "3 parts with 5 images of an unfinished run" in read.notes[-1]
    with pytest.raises(InputError, match=r"parts: holds 3 parts of an unfinished run; remove the"):
        PredictionWriter(path)


def test_flushed_images_can_be_read_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "preds.npz"
    writer = PredictionWriter(path)
    writer.update(["a"], [SINGLE])
    with pytest.raises(InputError, match="a folder without"):
        diaghoi.read_predictions(f"{path}.parts")
    writer.flush()
    writer.flush()
    assert diaghoi.read_predictions(f"{path}.parts").names.tolist() == ["a"]
    writer.update(["b"], [SINGLE])
    writer.close()
    writer.close()
    assert diaghoi.read_predictions(path).names.tolist() == ["a", "b"]
    with pytest.raises(InputError, match="the writer is closed"):
        writer.update(["c"], [SINGLE])


def test_a_lost_part_is_not_passed_over(tmp_path: Path) -> None:
    writer = PredictionWriter(tmp_path / "preds.npz", every=1)
    for name in "abc":
        writer.update([name], [SINGLE])
    (writer.parts / "000002.npz").unlink()
    for read in (lambda: diaghoi.read_predictions(writer.parts), writer.close):
        with pytest.raises(InputError, match=r"preds.npz.parts: 000002.npz is missing; copy"):
            read()


def test_an_image_in_two_parts_is_refused(tmp_path: Path) -> None:
    writer = PredictionWriter(tmp_path / "preds.npz", every=1)
    writer.update(["a"], [SINGLE])
    (writer.parts / "000002.npz").write_bytes((writer.parts / "000001.npz").read_bytes())
    with pytest.raises(InputError, match="used for two images"):
        diaghoi.read_predictions(writer.parts)


def test_parts_of_other_files_are_refused(tmp_path: Path) -> None:
    writer = PredictionWriter(tmp_path / "preds.npz", every=1)
    writer.update(["a"], [SINGLE])
    other = writer.parts / "000002.npz"
    read = diaghoi.read_predictions(writer.parts).with_names(np.array(["b"]))
    for wrong, message in (
        (replace(read, triplet_score=None), "000002.npz: the column triplet_score is missing, but"),
        (replace(read, box_label=read.box_label + 80), "box_label: there is no object 80"),
        (replace(read, vocabulary=v_coco()), "is for the data set 'v-coco', not for 'hico-det'"),
        (replace(read, triplet_action_score=None), "the column triplet_action_score is missing"),
    ):
        formats.write(other, wrong)
        with pytest.raises(InputError, match=message):
            diaghoi.read_predictions(writer.parts)
    other.write_bytes(other.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"000002.npz: a truncated or damaged zip archive"):
        diaghoi.read_predictions(writer.parts)
    np.savez(other, names=read.names)
    with pytest.raises(InputError, match=r"000002.npz: diaghoi_format: is missing, so this is not"):
        diaghoi.read_predictions(writer.parts)
    formats.write(other, read)
    assert len(diaghoi.read_predictions(writer.parts)) == 2


BATCHES: dict[str, tuple[tuple[Any, Any], str]] = {
    "lengths": ((["a", "b"], [SINGLE]), "one entry per image: 2 images, 1 predictions"),
    "name": (([7], [SINGLE]), "images of the batch: 7 is not a name"),
    "again": ((["first"], [SINGLE]), "earlier batch: first; give every image to one update"),
    "verb": ((["a"], [SINGLE | {"verbs": [76, 117]}]), "verbs[1]: unknown verb 117"),
    "form": ((["a"], [dense(0)]), "predictions of the batch: have scores of boxes, but earlier"),
    "pairs": (
        (["a"], [{k: v for k, v in dense(0).items() if k != "scores"}]),
        "have verb_scores, but earlier batches did not; give all images in the same form",
    ),
    "actions": (
        (["a"], [{k: v for k, v in SINGLE.items() if k != "action_scores"}]),
        "have no action_scores, but earlier batches did; give all images",
    ),
}


@pytest.mark.parametrize("case", BATCHES)
def test_bad_batches_are_refused_and_not_added(tmp_path: Path, case: str) -> None:
    batch, message = BATCHES[case]
    with PredictionWriter(tmp_path / "preds.npz") as writer:
        writer.update(["first"], [SINGLE])
        with pytest.raises(InputError) as error:
            writer.update(*batch)
        assert message in str(error.value)
        writer.update([], [])
    assert diaghoi.read_predictions(tmp_path / "preds.npz").names.tolist() == ["first"]


def test_bad_places(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: it is a folder"):
        PredictionWriter(tmp_path)
    with pytest.raises(InputError, match="cannot be created: No such file"):
        PredictionWriter(tmp_path / "none" / "preds.npz")
    with pytest.raises(InputError, match="unknown data set 'x'"):
        PredictionWriter(tmp_path / "preds.npz", "x")
    with pytest.raises(InputError, match="give at least 1 image"):
        PredictionWriter(tmp_path / "preds.npz", every=0)
    with pytest.raises(InputError, match="no batch was added"):
        PredictionWriter(tmp_path / "preds.npz").close()
    assert list(tmp_path.iterdir()) == []


def test_v_coco(tmp_path: Path) -> None:
    row = PAIR | {"verb_scores": np.full((2, 29), 0.5), "labels": [0, -1, 3]}
    write(tmp_path / "preds.npz", ["COCO_val2014_000000000042.jpg"], [row], 1, dataset="v-coco")
    read = diaghoi.read_predictions(tmp_path / "preds.npz")
    assert (read.vocabulary.name, read.names.tolist()) == ("v-coco", ["42"])


@pytest.mark.slow
@pytest.mark.parametrize("flushed", [1, 4])
def test_what_was_flushed_survives_sigkill(tmp_path: Path, flushed: int) -> None:
    path = tmp_path / "preds.npz"
    with subprocess.Popen(
        [sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE, text=True
    ) as loop:
        assert loop.stdout is not None
        said = [int(loop.stdout.readline()) for _ in range(flushed)]
        os.kill(loop.pid, signal.SIGKILL)
    assert not path.exists()
    read = diaghoi.read_predictions(f"{path}.parts")
    assert len(read) >= said[-1]
    assert len(read) % 3 == 0
    assert read.names.tolist() == [f"{number}.jpg" for number in range(len(read))]
    assert read.scores.tolist() == [1 / (number + 2) for number in range(len(read))]
