"""How a file numbers objects: the labels of its boxes show it, or a message says what to give."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi import Accumulator, InputError, PredictionWriter
from diaghoi.data.vocabulary import hico_det, object_numberings
from diaghoi.formats import read_annotations, read_predictions

V = hico_det()
NUMBERS = {
    name: {place: number for number, place in table.items()}
    for name, table in object_numberings().items()
}
SHOWN = {
    "coco80": "",
    "coco91": "all human boxes have label 1",
    "hico80": "all human boxes have label 49",
    "coco80-1": "all human boxes have label 1, and label 71 does not exist in coco91",
    "coco91-0": "all human boxes have label 0, and label 89 does not exist in coco80",
}
CHAIR, TOILET, SINK, TOOTHBRUSH = (
    V.objects.index(name) for name in ("chair", "toilet", "sink", "toothbrush")
)
EVERY = range(80)
Saved = Callable[..., Path]


def things(labels: Any, numbering: str) -> dict[str, Any]:
    """Give an image with a person and an object of each label, each a pair, as arrays."""
    labels = [V.person, *labels]
    corner = np.array(labels)[:, None] * 10.0
    return {
        "filename": "one.jpg",
        "boxes": corner + np.array([0.0, 0.0, 50.0, 50.0]),
        "labels": np.array([NUMBERS[numbering][label] for label in labels]),
        "sub_ids": np.zeros(len(labels) - 1, dtype=np.int64),
        "obj_ids": np.arange(1, len(labels)),
    }


def verbs(labels: Any) -> list[int]:
    return [int(V.class_verb[V.class_object == label][0]) for label in labels]


def dense(labels: Any, numbering: str) -> list[dict[str, Any]]:
    scores = np.zeros((len(labels), 117))
    scores[np.arange(len(labels)), verbs(labels)] = 0.5
    return [things(labels, numbering) | {"verb_scores": scores}]


def single(labels: Any, numbering: str) -> dict[str, Any]:
    """Give the image as a batch has it."""
    found = things(labels, numbering) | {"verbs": verbs(labels), "scores": [0.5] * len(labels)}
    del found["filename"]
    return found


def listed(
    labels: Any, numbering: str, name: str = "filename", verb: int = 0
) -> list[dict[str, Any]]:
    found = things(labels, numbering)
    boxes = [
        {"bbox": box, "category_id": label}
        for box, label in zip(found["boxes"].tolist(), found["labels"].tolist(), strict=True)
    ]
    triplets = [
        {"subject_id": 0, "object_id": row, "category_id": each + verb, "score": 0.5}
        for row, each in enumerate(verbs(labels), start=1)
    ]
    return [{name: "one.jpg", "predictions": boxes, "hoi_prediction": triplets}]


def ppdm(labels: Any, numbering: str) -> list[dict[str, Any]]:
    return listed(labels, numbering, "file_name", 1)


def annotated(labels: Any, numbering: str) -> list[dict[str, Any]]:
    (found,) = ppdm(labels, numbering)
    triplets = [row for row in found["hoi_prediction"] if row.pop("score")]
    return [
        {"file_name": "one.jpg", "annotations": found["predictions"], "hoi_annotation": triplets}
    ]


@given(order=st.permutations(EVERY))
@pytest.mark.parametrize("numbering", NUMBERS)
@pytest.mark.parametrize(
    ("layout", "own"),
    [(listed, "coco80"), (dense, "coco80"), (ppdm, "coco91"), (annotated, "coco91")],
)
def test_every_numbering_is_read_the_same(tmp_path_factory, layout, own, numbering, order) -> None:
    path = tmp_path_factory.mktemp("numbers") / "file.pkl"
    path.write_bytes(pickle.dumps(layout(order, numbering)))
    read = read_annotations if layout is annotated else read_predictions
    scenes = read(path)
    assert scenes.box_label.tolist() == [V.person, *order]
    expected = SHOWN[numbering] or "all human boxes have label 0"
    note = f"{path}: {expected}: objects are numbered as {numbering}"
    assert [each for each in scenes.notes if "numbered" in each] == [note] * (numbering != own)
    given_too = read(path, objects=numbering)
    assert given_too.box_label.tolist() == scenes.box_label.tolist()
    assert not any("numbered" in each for each in given_too.notes)


@pytest.mark.parametrize("layout", [listed, dense])
def test_what_fits_the_usual_numbering_is_read_in_it(saved: Saved, layout: Any) -> None:
    for numbering, usual in (("coco91-0", "coco80"), ("coco80-1", "coco91")):
        path = saved(layout([CHAIR], numbering))
        expected = object_numberings()[usual][NUMBERS[numbering][CHAIR]]
        assert read_predictions(path).box_label.tolist() == [V.person, expected]
        given_too = read_predictions(path, objects=numbering)
        assert given_too.box_label.tolist() == [V.person, CHAIR]


@pytest.mark.parametrize("bad", [85, 10**9, -2])
def test_a_label_of_no_numbering(saved: Saved, bad: int) -> None:
    (image,) = listed([CHAIR, TOOTHBRUSH], "coco91-0")
    image["predictions"][1]["category_id"] = 11  # a gap: only coco80 has it
    image["predictions"].append({"bbox": [1.0, 2.0, 3.0, 4.0], "category_id": bad})
    with pytest.raises(InputError) as error:
        read_predictions(saved([image]))
    assert str(error.value).endswith(
        "image 'one.jpg': predictions[2].category_id: unknown object category 89; hico-det objects "
        "are numbered 0 to 79 as coco80; if the file numbers objects differently, give "
        "`objects=NUMBERING`"
    )


def test_a_label_that_may_mean_no_object_shows_nothing(saved: Saved) -> None:
    (image,) = listed([CHAIR, SINK], "coco91-0")
    message = (
        "predictions[2].category_id: unknown object category 80; hico-det objects are numbered 0 "
        "to 79 as coco80; if the file numbers objects differently, give "
        '`objects="coco91-0"`, which contains all labels of the file'
    )
    with pytest.raises(InputError) as error:
        read_predictions(saved([image]))
    assert str(error.value).endswith(message)
    labels = read_predictions(saved([image]), objects="coco91-0").box_label.tolist()
    assert labels == [V.person, CHAIR, SINK]


def test_a_numbering_that_was_given_wrongly(saved: Saved) -> None:
    path = saved(listed(EVERY, "coco80-1"))
    with pytest.raises(
        InputError, match=r"category 12; .* as coco91; .* `objects=\"coco80-1\"`, which"
    ):
        read_predictions(path, objects="coco91")


def pairs(labels: Any, numbering: str) -> list[dict[str, Any]]:
    found = things(labels, numbering)
    boxes = found["boxes"].tolist()
    rows = [
        {"h_box": boxes[0], "o_box": box, "o_label": label, "hoi_score_inter": 0.5}
        for box, label in zip(boxes[1:], found["labels"].tolist()[1:], strict=True)
    ]
    return [{"filename": "one.jpg", "box_pairs": rows}]


@pytest.mark.parametrize("numbering", NUMBERS)
def test_pair_files_are_numbered_like_the_triplets(saved: Saved, numbering: str) -> None:
    triplets = saved(listed(EVERY, numbering))
    listing = saved(pairs([TOILET, CHAIR], numbering), "pairs.pkl")
    scenes = read_predictions(triplets, pairs=listing)
    assert scenes.pair_label[scenes.listed].tolist() == [TOILET, CHAIR]


def test_a_pair_file_alone_that_shows_another_numbering(saved: Saved) -> None:
    triplets = saved(listed([CHAIR], "coco91-0"))
    listing = saved(pairs([CHAIR, TOOTHBRUSH], "coco91-0"), "pairs.pkl")
    with pytest.raises(InputError, match=r"o_label: unknown .* 89; .* `objects=\"coco91-0\"`, whi"):
        read_predictions(triplets, pairs=listing)
    scenes = read_predictions(triplets, pairs=listing, objects="coco91-0")
    assert scenes.pair_label[scenes.listed].tolist() == [CHAIR, TOOTHBRUSH]


def test_v_coco_is_numbered_by_its_labels(saved: Saved) -> None:
    image = things([CHAIR, TOOTHBRUSH], "coco91-0")
    path = saved([image | {"verb_scores": np.full((2, 25), 0.5)}])
    scenes = read_predictions(path)
    assert scenes.vocabulary.name == "v-coco"
    assert scenes.box_label.tolist() == [V.person, CHAIR, TOOTHBRUSH]
    assert f"{path}: {SHOWN['coco91-0']}: objects are numbered as coco91-0" in scenes.notes


def test_batches_are_numbered_as_the_first_one_shows(tmp_path: Path) -> None:
    accumulator = Accumulator()
    with PredictionWriter(tmp_path / "out.npz") as writer:
        for name, labels in (("a", EVERY), ("b", [CHAIR]), ("c", [TOILET])):
            found = single(labels, "coco80-1")
            accumulator.update([name], [found], [single(labels, "coco80")])
            writer.update([name], [found])
    assert accumulator.compute().errors["true_positive"] == 82
    labels = read_predictions(tmp_path / "out.npz").box_label.tolist()
    assert labels == [V.person, *EVERY, V.person, CHAIR, V.person, TOILET]


def test_a_later_batch_that_shows_another_numbering(tmp_path: Path) -> None:
    batch = [single([TOOTHBRUSH], "coco91-0")]
    writer = PredictionWriter(tmp_path / "out.npz")
    writer.update(["a"], [single([CHAIR], "coco91-0")])
    message = r"image 'b': labels\[1\]: unknown .* 89; .* as coco80; .* `objects=\"coco91-0\"`, "
    with pytest.raises(InputError, match=message):
        writer.update(["b"], batch)
    with PredictionWriter(tmp_path / "new.npz", objects="coco91-0") as writer:
        writer.update(["a"], [single([CHAIR], "coco91-0")])
        writer.update(["b"], batch)
    labels = read_predictions(tmp_path / "new.npz").box_label.tolist()
    assert labels == [V.person, CHAIR, V.person, TOOTHBRUSH]


def test_later_batches_of_v_coco(tmp_path: Path) -> None:
    image = things([CHAIR], "hico80") | {"verb_scores": np.full((1, 25), 0.5)}
    del image["filename"]
    own = image | {"labels": [0, CHAIR]}  # in hico80 an airplane and another object
    with PredictionWriter(tmp_path / "out.npz", dataset="v-coco") as writer:
        writer.update(["1"], [image])
        writer.update(["2"], [own])
    labels = read_predictions(tmp_path / "out.npz").box_label.tolist()
    assert labels == [V.person, CHAIR, *(object_numberings()["hico80"][n] for n in (0, CHAIR))]
