import json
import pickle

import numpy as np
import pytest

from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions, recognise, write, write_dense_arrays


def check(scenes):
    assert scenes.names.tolist() == ["one.jpg", "none.jpg"]
    assert scenes.box_image.tolist() == [0, 0, 0]
    assert scenes.box_xyxy[1].tolist() == [30, 40, 90, 95]
    assert scenes.pair_human.tolist() == [0, 2]
    assert scenes.pair_object.tolist() == [1, 1]
    # Verb 0 is not possible with a bicycle, yet it counts for the score of the pair.
    np.testing.assert_allclose(scenes.pair_score, np.float32([0.95, 0.7]), rtol=0)
    np.testing.assert_allclose(
        scenes.triplet_score[:5], np.float32([0.9, 0.7, 0.5, 0.5, 0.5]), rtol=0
    )
    assert scenes.triplet_pair[:5].tolist() == [0, 1, 0, 0, 1]
    assert scenes.triplet_verb[:5].tolist() == [57, 76, 36, 76, 36]  # equal scores: row by row
    assert (scenes.triplet_class >= 0).all()
    bicycle = (hico_det().class_of[1] >= 0).sum()
    assert len(scenes.triplet_pair) == 2 * bicycle


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickle(saved, dense, protocol):
    path = saved(dense, protocol=protocol)
    scenes = read_predictions(path)
    check(scenes)
    assert scenes.triplet_action_score.tolist() == scenes.triplet_score.tolist()
    assert scenes.box_score is None
    assert "cut to the 100 best triplets of each image" in scenes.notes[0]
    assert "no 'action_scores'; the triplet scores replace them" in scenes.notes[1]
    assert recognise(path).format == "dense-arrays"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8])
def test_numbers_of_any_type(dtype, saved, dense):
    """Also those of fewer bits than the largest whole number that is allowed."""
    for image in dense:
        image |= {
            key: np.asarray(image[key]).astype(dtype)
            for key in ("boxes", "labels", "sub_ids", "obj_ids")
        }
    check(read_predictions(saved(dense)))


def test_lists_instead_of_arrays(tmp_path, saved, dense):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(dense, default=np.ndarray.tolist))
    for each in (path, saved(json.loads(path.read_text()))):
        assert read_predictions(each).triplet_verb[:5].tolist() == [57, 76, 36, 76, 36]


@pytest.mark.parametrize("folders", [("pictures",) * 2, ("train", "test")])
def test_a_dict_by_path_of_the_picture(folders, saved, dense):
    """As RLIP writes what it finds in pictures of one's own."""
    names = [image.pop("filename") for image in dense]
    keys = [f"{folder}/{name}" for folder, name in zip(folders, names, strict=True)]
    path = saved(dict(zip(keys, dense, strict=True)))
    assert recognise(path).format == "dense-arrays"
    check(read_predictions(path))
    # Pictures of one name keep their folders.
    scenes = read_predictions(saved({"train/one.jpg": dense[0], "test/one.jpg": dense[1]}))
    assert scenes.names.tolist() == ["train/one.jpg", "test/one.jpg"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("by_key", [True, False])
def test_npz(tmp_path, dense, save, by_key):
    path, columns = tmp_path / "x.npz", {"images": np.array(dense, dtype=object)}
    if by_key:
        columns = {key: np.empty(2, dtype=object) for key in dense[0]}
        for key, column in columns.items():
            column[:] = [image[key] for image in dense]
        columns["filename"] = columns["filename"].astype(str)
    save(path, **columns)
    assert (recognise(path).format, recognise(path).container) == ("dense-arrays", "npz")
    check(read_predictions(path))


def test_stacked_arrays(tmp_path, saved, dense):
    columns = {key: np.stack([dense[0][key]] * 2) for key in dense[0] if key != "filename"}
    np.savez(tmp_path / "x.npz", filename=["a.jpg", "b.jpg"], **columns)
    scenes = read_predictions(tmp_path / "x.npz")
    assert scenes.names.tolist() == ["a.jpg", "b.jpg"]
    assert scenes.triplet_verb[:5].tolist() == [57, 76, 36, 76, 36]
    other = read_predictions(saved({"filename": ["a.jpg", "b.jpg"], **columns}))
    np.testing.assert_array_equal(other.triplet_score, scenes.triplet_score)
    with pytest.raises(InputError, match="lengths differ: filename 1, boxes 2"):
        read_predictions(saved({"filename": ["a.jpg"], **columns}))


@pytest.mark.parametrize("make", [list, tuple])
def test_columns_of_images_that_differ_in_size(make, saved, dense):
    columns = {key: make(image[key] for image in dense) for key in dense[0]}
    check(read_predictions(saved(columns)))
    with pytest.raises(InputError, match=r"filename: is 'one\.jpg'; give a list"):
        read_predictions(saved({**columns, "filename": "one.jpg"}))


def test_npz_is_unpickled_with_the_same_restrictions(tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "executed"), "w")

    array = np.empty(1, dtype=object)
    array[0] = Evil()
    np.savez(tmp_path / "x.npz", array)
    with pytest.raises(
        InputError, match=r"arr_0\.npy: the pickle asks for '(_?io|builtins)\.open'"
    ):
        read_predictions(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", verb_scores=array, boxes=np.zeros((1, 0, 4)))
    with pytest.raises(InputError, match=r"verb_scores\.npy: the pickle asks for"):
        read_predictions(tmp_path / "x.npz")
    assert not (tmp_path / "executed").exists()


def test_top(saved, dense, tmp_path):
    dense[0] |= {key: np.repeat(dense[0][key], 40, axis=0) for key in ("sub_ids", "obj_ids")}
    dense[0]["verb_scores"] = np.repeat(dense[0]["verb_scores"], 40, axis=0)
    scenes = read_predictions(saved(dense), top=120)
    assert len(scenes.triplet_verb) == 120
    assert len(scenes.pair_human) == 80  # all pairs are listed
    assert scenes.notes[0].endswith("cut to the 120 best triplets of each image")
    assert scenes.top == 120
    write(tmp_path / "x.npz", scenes)
    assert read_predictions(tmp_path / "x.npz").top == 120


def test_at_least_what_the_official_figures_use(saved, dense, equal):
    scenes = read_predictions(saved(dense), top=3)
    assert scenes.top == 100
    assert scenes.notes[0].endswith(
        "cut to the 100 best triplets of each image, the fewest that are read; the protocol uses "
        "only the best 3"
    )
    assert equal(scenes, read_predictions(saved(dense)))


def test_boxes_in_float32_are_shifted_in_float64(saved, dense):
    dense[0]["boxes"] = dense[0]["boxes"] + np.float32(1000.1)
    scenes = read_predictions(saved(dense), origin=1)
    expected = dense[0]["boxes"].astype(np.float64) - 1
    np.testing.assert_array_equal(scenes.box_xyxy, expected)


def test_action_and_box_scores(saved, dense):
    for image in dense:
        image["action_scores"] = image["verb_scores"] / 2
        image["scores"] = np.full(len(image["boxes"]), 0.25)
    scenes = read_predictions(saved(dense))
    np.testing.assert_array_equal(scenes.triplet_action_score, scenes.triplet_score / 2)
    assert scenes.box_score.tolist() == [0.25] * 3
    assert len(scenes.notes) == 1


def test_object_numbers(saved, dense):
    dense[0]["labels"] = np.array([49, 9, 49])
    scenes = read_predictions(saved(dense))
    assert scenes.box_label.tolist() == [0, 1, 0]
    assert "objects are numbered as hico80" in scenes.notes[0]
    dense[0]["labels"] = np.array([49, 9, 1])
    with pytest.raises(
        InputError, match="have labels 1, 49, but a person is 0 in coco80 and coco91-0, 1"
    ):
        read_predictions(saved(dense))
    assert len(read_predictions(saved(dense), objects="hico80")) == 2


def change(key, value):
    return lambda image: image.update({key: value})


def put(key, place, value):
    return lambda image: image[key].__setitem__(place, value)


BAD = {
    "flat boxes": (change("boxes", np.zeros(12)), "boxes: has shape (12,); give (rows, 4)"),
    "ragged boxes": (change("boxes", [[1, 2, 3, 4], [1, 2]]), "is not an array of numbers"),
    "text": (change("boxes", "none"), "boxes: 'none' is not an array of numbers"),
    "NaN box": (put("boxes", (2, 1), np.nan), "boxes[2]: the box [0.0, nan, 5.0, 5.0] is not fin"),
    "turned box": (put("boxes", (1, 2), 3), "boxes[1]: the box [30.0, 40.0, 3.0, 95.0] ends"),
    "few labels": (
        change("labels", [0, 1]),
        "labels: has 2 rows, but 'boxes' has 3; both keys need",
    ),
    "unknown label": (put("labels", 1, 80), "labels[1]: unknown object category 80"),
    "label in halves": (change("labels", [0, 1.5, 0]), "labels[1]: 1.5 is not a whole number"),
    "label NaN": (change("labels", [0, np.nan, 0]), "labels[1]: nan is not a whole number"),
    "few verbs": (
        change("verb_scores", np.zeros((2, 116))),
        "has shape (2, 116); give (rows, 117)",
    ),
    "huge label": (change("labels", [0, 1e300, 0]), "labels[1]: 1e+300 is too large"),
    "huge integer": (change("labels", [0, 10**400, 0]), "labels: [0, 1000000"),
    "complex": (change("labels", np.array([0j, 0, 0])), "is not an array of numbers"),
    "complex object": (
        change("labels", np.array([0, np.complex128(1), 0], dtype=object)),
        "is not an array of numbers",
    ),
    "few pairs": (change("sub_ids", [0]), "obj_ids: has 2 rows, but 'sub_ids' has 1"),
    "subject": (put("sub_ids", 1, 3), "sub_ids[1]: there is no box in 'boxes' 3; there are: 0 to"),
    "object": (put("obj_ids", 0, -1), "obj_ids[0]: there is no box in 'boxes' -1"),
    "NaN score": (put("verb_scores", (1, 36), np.nan), "verb_scores[1]: score 36 is nan; give a f"),
    "infinite score": (put("verb_scores", (0, 0), np.inf), "verb_scores[0]: score 0 is inf"),
    "infinite box score": (change("scores", [1, 2, np.inf]), "scores[2]: the score is inf"),
    "missing key": (lambda image: image.pop("obj_ids"), "the key 'obj_ids' is missing (did you"),
}


@pytest.mark.parametrize(("change", "expected"), BAD.values(), ids=BAD)
def test_bad_input(change, expected, saved, dense):
    change(dense[0])
    if "scores" in dense[0]:
        dense[1]["scores"] = []
    path = saved(dense)
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value).startswith(f"{path}: image 'one.jpg': ")
    assert expected in str(error.value)


def test_scores_of_boxes_in_some_images(saved, dense):
    dense[0]["scores"] = [1, 1, 1]
    with pytest.raises(InputError, match=r"image 'none\.jpg': the key 'scores' is missing"):
        read_predictions(saved(dense))


def test_round_trip(saved, dense, tmp_path, equal):
    dense[0]["action_scores"] = dense[0]["verb_scores"] / 2
    dense[1]["action_scores"] = dense[1]["verb_scores"]
    for image in dense:
        image["scores"] = np.full(len(image["boxes"]), 0.25)
    image = dense[0]
    image["verb_scores"][:, hico_det().class_of[1] < 0] = 0  # else the score of a pair is lost
    scenes = read_predictions(saved(dense))
    write_dense_arrays(tmp_path / "out.pkl", scenes)
    assert equal(read_predictions(tmp_path / "out.pkl"), scenes)
    written = pickle.loads((tmp_path / "out.pkl").read_bytes())
    np.testing.assert_array_equal(written[0]["verb_scores"], image["verb_scores"])


def test_triplet_lists_as_dense_arrays(saved, predictions, annotations, tmp_path):
    from diaghoi.formats import read_annotations

    scenes = read_predictions(saved(predictions))
    write_dense_arrays(tmp_path / "out.pkl", scenes)
    other = read_predictions(tmp_path / "out.pkl")
    assert other.triplet_score[:3].tolist() == [0.9, 0.5, 0.1]
    assert other.triplet_action_score[:3].tolist() == [0.8, 0.7, 0.2]
    with pytest.raises(InputError, match="triplets have no scores; dense arrays hold predictions"):
        write_dense_arrays(tmp_path / "out.pkl", read_annotations(saved(annotations)))


def test_real_file(shared):
    path = shared / "conformance/hico_det_official/one_stage_arrays.pkl"
    raw = pickle.loads(path.read_bytes())
    scenes = read_predictions(path)
    assert len(scenes) == 200
    assert len(scenes.pair_human) == sum(len(image["sub_ids"]) for image in raw)
    assert np.bincount(scenes.triplet_image).max() == 100
    vocabulary = hico_det()
    for number in range(0, 200, 17):
        image, rows = raw[number], np.flatnonzero(scenes.triplet_image == number)
        labels = image["labels"][image["obj_ids"]]
        found = [
            (-float(score), pair, verb)
            for pair, line in enumerate(image["verb_scores"])
            for verb, score in enumerate(line)
            if vocabulary.class_of[labels[pair], verb] >= 0
        ]
        best = sorted(found)[:100]
        assert scenes.triplet_score[rows].tolist() == [-score for score, _, _ in best]
        assert scenes.triplet_verb[rows].tolist() == [verb for _, _, verb in best]
        real = np.delete(image["verb_scores"], vocabulary.no_interaction, axis=1).max(axis=1)
        np.testing.assert_array_equal(scenes.pair_score[scenes.pair_image == number], real)
