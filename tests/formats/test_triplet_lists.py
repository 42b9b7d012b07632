import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import (
    read,
    read_annotations,
    read_predictions,
    recognise,
    write_triplet_lists,
)


def check(scenes):
    assert scenes.names.tolist() == ["one.jpg", "none.jpg", "two.jpg"]
    assert scenes.box_image.tolist() == [0, 0, 0, 2, 2]
    assert scenes.box_xyxy[1].tolist() == [30.5, 40.0, 90.0, 95.0]
    assert scenes.box_label.tolist() == [0, 1, 0, 0, 17]
    assert scenes.pair_human.tolist() == [2, 0, 3]  # in the order of first use
    assert scenes.pair_object.tolist() == [1, 1, 4]
    assert scenes.triplet_pair.tolist() == [0, 1, 0, 2]
    assert scenes.triplet_verb.tolist() == [76, 76, 36, 57]
    assert (scenes.triplet_class >= 0).all()
    assert scenes.pair_score is None
    assert scenes.sizes is None


def test_predictions(saved, predictions):
    path = saved(predictions)
    scenes = read_predictions(path)
    check(scenes)
    assert scenes.triplet_score.tolist() == [0.5, 0.9, 0.1, 0.3]
    assert scenes.triplet_action_score.tolist() == [0.7, 0.8, 0.2, 0.3]
    assert scenes.box_score is None
    assert scenes.box_xyxy.dtype == np.float64
    assert scenes.source == str(path)
    assert scenes.notes == ()
    found = recognise(path)
    assert (found.format, found.kind) == ("triplet-lists", "predictions")


def test_annotations(saved, annotations):
    scenes = read_annotations(saved(annotations))
    check(scenes)
    assert scenes.triplet_score is None
    assert scenes.triplet_action_score is None


def test_optional_scores(saved, predictions):
    for image in predictions:
        for row in image["hoi_prediction"]:
            del row["action_score"]
        for box in image["predictions"]:
            box["score"] = np.float32(0.5)
    scenes = read_predictions(saved(predictions))
    assert scenes.triplet_action_score is None
    assert scenes.box_score.tolist() == [0.5] * 5


@pytest.mark.parametrize("boxes", [[1], [0, 2]])
def test_scores_of_some_boxes_are_no_box_scores(boxes, saved, predictions):
    """MUREN scores the objects alone."""
    for n in boxes:
        predictions[0]["predictions"][n]["score"] = np.float32(0.5)
    path = saved(predictions)
    scenes = read_predictions(path)
    assert scenes.box_score is None
    assert scenes.triplet_score.tolist() == [0.5, 0.9, 0.1, 0.3]
    assert (
        f"{path}: only {len(boxes)} of 5 boxes have a score, so these scores are ignored"
    ) in scenes.notes


def test_json(tmp_path, predictions):
    path = tmp_path / "x.data"
    path.write_text(json.dumps(predictions), encoding="utf-8-sig")
    check(read_predictions(path))


NUMPY = {
    "scalars": lambda value: np.float32(value) if isinstance(value, float) else np.int64(value),
    "arrays without dimension": np.array,
    "float64 for all": float,
}


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("whole", [list, np.array, tuple])
def test_numpy_numbers(kind, whole, saved, predictions):
    convert = NUMPY[kind]
    for image in predictions:
        for box in image["predictions"]:
            box["bbox"] = whole([convert(edge) for edge in box["bbox"]])
            box["category_id"] = convert(box["category_id"])
        for row in image["hoi_prediction"]:
            row.update({key: convert(value) for key, value in row.items()})
        image["predictions"] = tuple(image["predictions"])
    scenes = read_predictions(saved(predictions))
    check(scenes)
    np.testing.assert_allclose(scenes.triplet_score, [0.5, 0.9, 0.1, 0.3], rtol=1e-7)


def test_equal_boxes_stay_as_listed(saved, predictions):
    predictions[0]["predictions"][2] = predictions[0]["predictions"][0]
    scenes = read_predictions(saved(predictions))
    assert len(scenes.box_image) == 5
    assert len(scenes.pair_human) == 3


def test_images_without_names_are_joined_by_position(saved, predictions):
    for image in predictions:
        del image["filename"]
    scenes = read_predictions(saved(predictions))
    assert scenes.names.tolist() == ["", "", ""]
    assert not scenes.named
    assert any("by index" in note for note in scenes.notes)


def test_origin(saved, predictions):
    path = saved(predictions)
    zero, one = read_predictions(path), read_predictions(path, origin=1)
    np.testing.assert_array_equal(one.box_xyxy, zero.box_xyxy - 1)
    np.testing.assert_array_equal(read_predictions(path, origin=0).box_xyxy, zero.box_xyxy)


@pytest.mark.parametrize(("numbering", "labels"), [("coco91", (1, 2, 18)), ("hico80", (49, 9, 25))])
def test_other_object_numbers_are_found_from_the_human_boxes(numbering, labels, saved, predictions):
    # 18 is the dog and 2 the bicycle of COCO; 25 and 9 are cow and bicycle of HICO's list.
    for image in predictions:
        for box in image["predictions"]:
            box["category_id"] = labels[(0, 1, 17).index(box["category_id"])]
    path = saved(predictions)
    scenes = read_predictions(path)
    names = [hico_det().objects[label] for label in scenes.box_label]
    last = {"coco91": "dog", "hico80": "cow"}[numbering]
    assert names == ["person", "bicycle", "person", "person", last]
    assert (
        f"all human boxes have label {labels[0]}: objects are numbered as {numbering}"
        in (scenes.notes[0])
    )
    given = read_predictions(path, objects=numbering)
    assert given.notes == ()
    assert given.box_label.tolist() == scenes.box_label.tolist()


def test_no_images_and_no_triplets(saved):
    scenes = read_predictions(saved([]))
    assert len(scenes) == len(scenes.box_image) == len(scenes.triplet_pair) == 0
    assert scenes.triplet_score is not None
    scenes = read_predictions(
        saved([{"filename": "a.jpg", "predictions": [], "hoi_prediction": []}])
    )
    assert len(scenes) == 1
    assert scenes.triplet_score.tolist() == []
    assert scenes.box_xyxy.shape == (0, 4)


def test_triplets_are_taken_as_they_are(saved, predictions):
    scenes = read_predictions(saved(predictions), top=1)
    assert len(scenes.triplet_pair) == 4
    assert scenes.top is None


def test_written_as_published(saved, predictions, annotations, tmp_path):
    out = tmp_path / "out.pkl"
    for value, reader in ((predictions, read_predictions), (annotations, read_annotations)):
        write_triplet_lists(out, reader(saved(value)))
        assert pickle.loads(out.read_bytes()) == value
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.pkl", "out.pkl"]


def test_written_without_names_and_with_box_scores(saved, predictions, tmp_path):
    for image in predictions:
        del image["filename"]
        for box in image["predictions"]:
            box["score"] = 0.25
    out = tmp_path / "out.pkl"
    write_triplet_lists(out, read_predictions(saved(predictions)))
    assert pickle.loads(out.read_bytes()) == predictions


NUMBER = st.floats(-1e6, 1e6)
BOX = st.tuples(NUMBER, NUMBER, st.floats(0, 1e6), st.floats(0, 1e6)).map(
    lambda box: [box[0], box[1], box[0] + box[2], box[1] + box[3]]
)


@st.composite
def files(draw):
    images = []
    for number in range(draw(st.integers(0, 4))):
        humans = [{"bbox": box, "category_id": 0} for box in draw(st.lists(BOX, max_size=3))]
        things = [
            {"bbox": box, "category_id": draw(st.integers(0, 79))}
            for box in draw(st.lists(BOX, max_size=3))
        ]
        row = st.fixed_dictionaries(
            {
                "subject_id": st.integers(0, max(len(humans) - 1, 0)),
                "object_id": st.integers(0, max(len(humans) + len(things) - 1, 0)),
                "category_id": st.integers(0, 116),
                "score": NUMBER,
                "action_score": NUMBER,
            }
        )
        rows = draw(st.lists(row, max_size=6)) if humans else []
        images.append(
            {"filename": f"{number}é.jpg", "predictions": humans + things, "hoi_prediction": rows}
        )
    return images


@given(files())
def test_round_trip(tmp_path_factory, images):
    folder = tmp_path_factory.mktemp("trip")
    path, out = folder / "in.pkl", folder / "out.pkl"
    path.write_bytes(pickle.dumps(images))
    # Verbs at random may look as if they were counted from one.
    scenes = read_predictions(path, verbs=0, objects="coco80", boxes="xyxy")
    write_triplet_lists(out, scenes)
    written = pickle.loads(out.read_bytes())
    if not any(image["hoi_prediction"] for image in images):  # then no row has an action score
        assert [image["filename"] for image in written] == [image["filename"] for image in images]
    assert len(written) == len(images)
    for image, other in zip(images, written, strict=True):
        assert other["predictions"] == image["predictions"]
        assert other["hoi_prediction"] == image["hoi_prediction"]
    assert (np.diff(scenes.triplet_image) >= 0).all()
    assert (np.diff(scenes.pair_image) >= 0).all()


def test_real_files(shared):
    folder = shared / "conformance/hico_det_diagnosis"
    found, scenes = read(folder / "gt_wo_nointer.pkl")
    assert (found.format, found.kind, len(scenes)) == ("triplet-lists", "annotations", 400)
    raw = pickle.loads((folder / "one_stage_preds.pkl").read_bytes())
    scenes = read_predictions(folder / "one_stage_preds.pkl")
    assert len(scenes.box_image) == sum(len(image["predictions"]) for image in raw)
    row = 0
    for number, image in enumerate(raw):
        for triplet in image["hoi_prediction"]:
            pair = scenes.triplet_pair[row]
            assert scenes.triplet_image[row] == number
            assert scenes.triplet_verb[row] == triplet["category_id"]
            assert scenes.triplet_score[row] == triplet["score"]
            human = image["predictions"][triplet["subject_id"]]["bbox"]
            assert scenes.box_xyxy[scenes.pair_human[pair]].tolist() == human
            row += 1
    assert row == len(scenes.triplet_pair)


def test_data_set_by_file_names(saved, annotations):
    path = saved(annotations)
    assert recognise(path).dataset == "hico-det"  # where nothing tells
    with pytest.raises(InputError, match="unknown verb 76; verbs of v-coco are numbered 0 to 50"):
        read(path, dataset="v-coco")
    annotations[0]["filename"] = "HICO_test2015_00000001.jpg"
    assert recognise(saved(annotations)).dataset == "hico-det"
    with pytest.raises(InputError, match=r"is for hico-det \(triplet-lists\), but v-coco is expec"):
        read(saved(annotations), dataset="v-coco")


def test_v_coco_people_without_an_object(saved, annotations, tmp_path, equal):
    for row in annotations[0]["hoi_annotation"]:
        row["category_id"] = 2
    annotations[0]["hoi_annotation"][1]["object_id"] = -1
    annotations[2]["hoi_annotation"][0].update(object_id=-1, category_id=0)
    scenes = read_annotations(saved(annotations), dataset="v-coco")
    assert scenes.pair_object.tolist() == [1, -1, -1]
    assert read(saved(annotations), dataset="v-coco")[0].dataset == "v-coco"
    write_triplet_lists(tmp_path / "x.pkl", scenes)
    assert equal(read_annotations(tmp_path / "x.pkl", dataset="v-coco"), scenes)


def test_images_may_be_named_as_in_coco(saved, predictions) -> None:
    renamed = [{**row, "file_name": row["filename"]} for row in predictions]
    for row in renamed:
        del row["filename"]
    assert read(saved(renamed))[1].names.tolist() == [row["filename"] for row in predictions]
