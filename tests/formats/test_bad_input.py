"""What a user can get wrong, and the one line that they read."""

import json
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_annotations, read_predictions, reading, recognise


def message(function, *args, **kwargs):
    with pytest.raises(InputError) as error:
        function(*args, **kwargs)
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


def box(row, **changes):
    return lambda file: file[0]["predictions"][row].update(changes)


def triplet(row, **changes):
    return lambda file: file[0]["hoi_prediction"][row].update(changes)


def image(number, **changes):
    return lambda file: file[number].update(changes)


def without(*path):
    def change(file):
        for key in path[:-1]:
            file = file[key]
        del file[path[-1]]

    return change


BAD = {
    "box of three": (
        box(1, bbox=[1, 2, 3]),
        "image 'one.jpg': predictions[1].bbox: [1, 2, 3] is not four numbers (x1, y1, x2, y2)",
    ),
    "box of text": (box(1, bbox=["a", 2, 3, 4]), "predictions[1].bbox: ['a', 2, 3, 4] is not four"),
    "no box": (box(1, bbox=None), "predictions[1].bbox: None is not four numbers"),
    "nested box": (box(0, bbox=[[1, 2, 3, 4]]), "predictions[0].bbox: [[1, 2, 3, 4]] is not four"),
    "NaN in a box": (
        box(2, bbox=[1, float("nan"), 3, 4]),
        "image 'one.jpg': predictions[2].bbox: the box [1.0, nan, 3.0, 4.0] is not finite",
    ),
    "infinite box": (box(2, bbox=[1, 2, float("inf"), 4]), "predictions[2].bbox: the box"),
    "NaN action score": (triplet(0, action_score=float("nan")), "action_score: the score is nan"),
    "turned box": (
        box(0, bbox=[5, 2, 3, 4]),
        "predictions[0].bbox: the box [5.0, 2.0, 3.0, 4.0] ends before it begins; boxes are left, "
        "top, right, bottom",
    ),
    "upside down box": (box(0, bbox=[1, 5, 3, 4]), "[1.0, 5.0, 3.0, 4.0] ends before it begins"),
    "unknown object": (
        box(1, category_id=80),
        "predictions[1].category_id: unknown object category 80; hico-det objects are numbered 0 "
        "to 79 as coco80; if the file numbers objects differently, give `objects=",
    ),
    "negative object": (box(1, category_id=-1), "unknown object category -1"),
    "object in halves": (box(1, category_id=1.5), "category_id: 1.5 is not a whole number"),
    "object by name": (box(1, category_id="dog"), "category_id: 'dog' is not a number"),
    "no object": (box(1, category_id=None), "category_id: nan is not a whole number"),
    "box score": (
        lambda file: [b.update(score=float("nan")) for i in file for b in i["predictions"]],
        "predictions[0].score: the score is nan; give a finite number",
    ),
    "subject out of range": (
        triplet(1, subject_id=3),
        "image 'one.jpg': hoi_prediction[1].subject_id: there is no box in 'predictions' 3; there "
        "are: 0 to 2",
    ),
    "negative subject": (triplet(1, subject_id=-1), "there is no box in 'predictions' -1"),
    "object out of range": (triplet(2, object_id=99), "hoi_prediction[2].object_id: there is no"),
    "no boxes at all": (
        image(2, predictions=[]),
        "image 'two.jpg': hoi_prediction[0].subject_id: there is no box in 'predictions' 0; there "
        "are: none",
    ),
    "unknown verb": (
        triplet(0, category_id=117),
        "hoi_prediction[0].category_id: unknown verb 117; verbs of hico-det are numbered 0 to 116",
    ),
    "NaN score": (
        triplet(2, score=float("nan")),
        "image 'one.jpg': hoi_prediction[2].score: the score is nan; give a finite number",
    ),
    "infinite score": (triplet(0, score=float("-inf")), "the score is -inf"),
    "infinite action score": (triplet(0, action_score=float("inf")), ".action_score: the score is"),
    "score is a list": (triplet(0, score=[0.5, 0.6]), "score: [0.5, 0.6] is not a number"),
    "score is a text": (triplet(0, score="high"), "score: 'high' is not a number"),
    "missing score": (
        without(0, "hoi_prediction", 1, "score"),
        "image 'one.jpg': hoi_prediction[1]: the key 'score' is missing",
    ),
    "misspelt key": (
        lambda file: file[0]["predictions"][1].update(box=file[0]["predictions"][1].pop("bbox")),
        "predictions[1]: the key 'bbox' is missing (did you mean 'box'?); has: category_id, box",
    ),
    "empty row": (
        lambda file: file[0]["predictions"].append({}),
        "predictions[3]: the key 'bbox' is missing; is empty",
    ),
    "row is no dict": (
        lambda file: file[0]["predictions"].append([1, 2]),
        "predictions[3]: is [1, 2]; give a dict",
    ),
    "triplets missing": (
        without(1, "hoi_prediction"),
        "image 'none.jpg': the key 'hoi_prediction' is missing (did you mean 'predictions'?)",
    ),
    "triplets are a number": (image(1, hoi_prediction=7), "hoi_prediction: is 7; give a list"),
    "image is no dict": (
        lambda file: file.append("x"),
        "image 3 (counted from 0): is 'x'; give a dict",
    ),
    "name twice": (
        image(2, filename="one.jpg"),
        "image 'one.jpg': filename: used for two images, numbers 0 and 2 (counted from 0)",
    ),
    "name is a fraction": (image(1, filename=0.5), "1 (counted from 0): filename: 0.5 is not"),
    "empty name": (image(1, filename=""), "image 1 (counted from 0): filename: '' is not the name"),
    "one name missing": (
        without(1, "filename"),
        "image 1 (counted from 0): the key 'filename' is missing; has: predictions, hoi_prediction",
    ),
    "unreadable number": (box(0, category_id=10**5000), "category_id: "),
    "names on two lines": (
        lambda file: file[0].update(filename="a\nb", predictions=[{}]),
        r"image 'a\nb': predictions[0]: the key 'bbox'",
    ),
}


@pytest.mark.parametrize(("change", "expected"), BAD.values(), ids=BAD)
def test_triplet_lists(change, expected, saved, predictions):
    change(predictions)
    path = saved(predictions, "preds.pkl")
    text = message(read_predictions, path)
    assert text.startswith(f"{path}: ")
    assert expected in text


PAIRS = {
    "missing label": (without(0, "box_pairs", 0, "o_label"), "box_pairs[0]: the key 'o_label'"),
    "unknown label": (
        lambda file: file[1]["box_pairs"][2].update(o_label=91),
        "image 'one.jpg': box_pairs[2].o_label: unknown object category 91",
    ),
    "turned box": (
        lambda file: file[1]["box_pairs"][0].update(o_box=[3, 2, 1, 4]),
        "box_pairs[0].o_box: the box [3.0, 2.0, 1.0, 4.0] ends before",
    ),
    "NaN": (
        lambda file: file[0]["box_pairs"][0].update(h_box=[np.nan] * 4),
        "image 'two.jpg': box_pairs[0].h_box: the box [nan, nan, nan, nan] is not finite",
    ),
    "score": (
        lambda file: file[1]["box_pairs"][1].update(hoi_score_inter=np.inf),
        "box_pairs[1].hoi_score_inter: the score is inf",
    ),
}


@pytest.mark.parametrize(("change", "expected"), PAIRS.values(), ids=PAIRS)
def test_pair_lists(change, expected, saved, predictions, pair_file):
    change(pair_file)
    triplets, pairs = saved(predictions), saved(pair_file, "pairs.pkl")
    text = message(read_predictions, triplets, pairs=pairs)
    assert text.startswith(f"{pairs}: ")
    assert expected in text


FILES = {
    "empty": (b"", "the file is empty; write or copy it again"),
    "text": (b"filename,score\n", "starts with 'filename,score\\n', which is not the start of a p"),
    "truncated JSON": (b'[{"filename": "a"', "cut off or damaged JSON (Expecting ',' delimiter: "),
    "broken JSON": (b'[{"filename" "a"}]', "cut off or damaged JSON (Expecting ':' delimiter: "),
    "JSON in latin1": ('[{"filename": "é"}]'.encode("latin1"), "not a readable JSON file"),
    "gzip": (b"\x1f\x8b123", "compressed with gzip; uncompress it first"),
    "HDF5": (b"\x89HDF\r\n", "in MATLAB, save it with '-v7'"),
    "MATLAB 7.3": (b"MATLAB 7.3 MAT-file, Platform", "in MATLAB, save it with '-v7'"),
    "broken .mat": (b"MATLAB 5.0 MAT-file" + b" " * 107 + b"\x01IM" + b"x" * 50, "a damaged or"),
    "single array": (b"\x93NUMPY\x01\x00", "a single .npy array; save all arrays"),
    "broken zip": (b"PK\x03\x04rest", "a truncated or damaged zip archive"),
    "number in JSON": (b"[1, 2]", "not a known format: a list of 2 int in json; known formats: di"),
    "JSON list of lists": (b"[[]]", "a list of 1 list in json"),
    "dict in JSON": (b'{"a": 1, "b": 2}', "a dict in json with the keys a, b; known formats"),
    "number in pickle": (b"\x80\x04K\x01.", "not a known format: int in pickle"),
    "misspelt key": (
        b'[{"filenam": "a.jpg", "hoi_predictions": []}]',
        "a list of 1 dicts in json with the keys filenam, hoi_predictions; nearest is gen-vlkt, "
        "lists of boxes and HOI classes (GEN-VLKT, HOICLIP), without 'filename' (here 'filenam'), ",
    ),
}


@pytest.mark.parametrize(("content", "expected"), FILES.values(), ids=FILES)
def test_unusable_files(content, expected, tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(content)
    for function in (recognise, read, read_predictions, read_annotations):
        text = message(function, path)
        assert text.startswith(f"{path}: ")
        assert expected in text


def test_array_in_a_pickle(saved):
    assert "not a known format: array in pickle" in message(read, saved(np.arange(3)))


def test_files_that_are_not_there(tmp_path):
    assert "No such file or directory; check the path" in message(read, tmp_path / "no.pkl")
    assert "a folder without detections_01.mat" in message(read, tmp_path)
    (tmp_path / "a").touch()
    assert "... detections_80.mat (a); give a file" in message(read, tmp_path)


def test_zip_files_of_others(tmp_path):
    path = tmp_path / "x.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    assert "data.pkl: the pickle is cut off; copy or write it again" in message(read, path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", b"")
    assert "a zip archive without NumPy arrays" in message(read, path)
    np.savez(tmp_path / "x.npz", box=1, labels=2)
    text = message(read, tmp_path / "x.npz")
    assert "npz file with the keys box, labels; nearest is dense-arrays" in text
    assert "without 'filename', 'boxes' (here 'box'), 'verb_scores'" in text


def test_wrong_format_for_the_option(saved, predictions):
    path = saved(predictions)
    assert message(read_predictions, path, format="dense-arrays") == (
        f"{path}: is not in the format dense-arrays; it looks like triplet-lists (predictions); "
        "leave `format` out"
    )
    text = message(read_predictions, path, format="triplet-list")
    assert text.startswith("unknown format 'triplet-list' (did you mean 'triplet-lists'")
    text = message(read_predictions, path, format="dense")
    assert text.startswith("unknown format 'dense' (did you mean 'dense-arrays'?); known: diaghoi,")
    other = saved([{"a": 1}], "other.pkl")
    assert "nor in any other known one: a list of 1 dicts" in (
        message(read, other, format="pair-lists")
    )
    assert read_predictions(path, format="triplet-lists").names[0] == "one.jpg"


def test_files_beside_annotations(tmp_path):
    path = tmp_path / "instances_vcoco_all_2014.json"
    path.write_text(json.dumps({"info": {}, "images": [], "annotations": [], "categories": []}))
    told = {path: "holds boxes as COCO lists them, without interactions; if it belongs to V-COCO"}
    for key in ("anno_test", "anno_train"):
        path = tmp_path / f"{key}.mat"
        savemat(path, {key: np.zeros((2, 2)), "list_action": np.zeros(2)})
        told[path] = (
            "holds HICO's image labels instead of boxes; give it with `image_labels`, and "
            "anno_bbox.mat or instances_test2015.json with `annotations`"
        )
    for path, problem in told.items():
        for function in (read_annotations, recognise):
            assert message(function, path).startswith(f"{path}: {problem}")


def test_wrong_kind(saved, predictions, annotations, pair_file):
    preds, truth = saved(predictions, "p"), saved(annotations, "a")
    pairs = saved(pair_file, "q")
    assert message(read_predictions, truth) == (
        f"{truth}: holds annotations (triplet-lists), but predicted triplets are needed here; "
        "give it as `annotations`"
    )
    assert message(read_annotations, preds) == (
        f"{preds}: holds predictions (triplet-lists), but annotations are needed here; give it as "
        "the prediction file"
    )
    assert message(read_predictions, pairs) == (
        f"{pairs}: holds pairs (pair-lists), but predicted triplets are needed here; give it with "
        "`pairs`, beside the file with the triplets"
    )
    assert "but scored pairs are needed here" in message(read_predictions, preds, pairs=preds)


def test_annotations_without_images(saved):
    path = saved([])
    assert message(read_annotations, path) == (
        f"{path}: contains no images; give a file with annotations"
    )


def test_options(saved, predictions):
    path = saved(predictions)
    assert message(read, path, origin=2) == "`origin=2`: the numbers in a file start at 0 or at 1"
    assert message(read, path, top=0).startswith("`top=0`: the number of triplets")
    assert message(read, path, dataset="hico").startswith("unknown data set 'hico' (did you mean")
    assert message(read, path, objects="coco").startswith(
        "`objects`: unknown numbering 'coco'; known: "
    )


def test_more_items_than_any_data_set_has(saved, monkeypatch):
    monkeypatch.setattr(reading, "MOST_ITEMS", 2)
    text = message(read, saved([[], [], []]))
    assert text.endswith(
        "holds 3 images or triplets; at most 2 are read; write only the images of the data set"
    )
