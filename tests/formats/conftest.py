import copy
import pickle
from functools import partial

import numpy as np
import pytest
from support.described import write_description

from diaghoi.data.scenes import COLUMNS


@pytest.fixture
def saved(tmp_path):
    def save(value, name="file.pkl", protocol=4):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(value, protocol=protocol))
        return path

    return save


@pytest.fixture
def describe(tmp_path):
    """Return a function that writes the description of a data set and gives its path."""
    return partial(write_description, tmp_path)


_PREDICTIONS = [
    {
        "filename": "one.jpg",
        "predictions": [
            {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
            {"bbox": [30.5, 40.0, 90.0, 95.0], "category_id": 1},
            {"bbox": [0.0, 0.0, 5.0, 5.0], "category_id": 0},
        ],
        "hoi_prediction": [
            {"subject_id": 2, "object_id": 1, "category_id": 76, "score": 0.5, "action_score": 0.7},
            {"subject_id": 0, "object_id": 1, "category_id": 76, "score": 0.9, "action_score": 0.8},
            {"subject_id": 2, "object_id": 1, "category_id": 36, "score": 0.1, "action_score": 0.2},
        ],
    },
    {"filename": "none.jpg", "predictions": [], "hoi_prediction": []},
    {
        "filename": "two.jpg",
        "predictions": [
            {"bbox": [1.0, 2.0, 3.0, 4.0], "category_id": 0},
            {"bbox": [5.0, 6.0, 7.0, 8.0], "category_id": 17},
        ],
        "hoi_prediction": [
            {"subject_id": 0, "object_id": 1, "category_id": 57, "score": 0.3, "action_score": 0.3},
        ],
    },
]


@pytest.fixture
def predictions():
    return copy.deepcopy(_PREDICTIONS)


@pytest.fixture
def annotations():
    return [
        {
            "filename": image["filename"],
            "annotations": copy.deepcopy(image["predictions"]),
            "hoi_annotation": [
                {key: row[key] for key in ("subject_id", "object_id", "category_id")}
                for row in image["hoi_prediction"]
            ],
        }
        for image in _PREDICTIONS
    ]


@pytest.fixture
def pair_file():
    one, _, two = copy.deepcopy(_PREDICTIONS)
    boxes = [box["bbox"] for box in one["predictions"]]
    return [
        {
            "filename": two["filename"],
            "box_pairs": [
                {
                    "h_box": [0.0, 0.0, 9.0, 9.0],
                    "o_box": two["predictions"][1]["bbox"],
                    "o_label": 17,
                    "hoi_score_inter": 0.25,
                }
            ],
        },
        {
            "filename": one["filename"],
            "box_pairs": [
                {"h_box": boxes[0], "o_box": boxes[1], "o_label": 1, "hoi_score_inter": 0.8},
                {"h_box": boxes[0], "o_box": boxes[1], "o_label": 1, "hoi_score_inter": 0.6},
                {"h_box": boxes[0], "o_box": boxes[1], "o_label": 3, "hoi_score_inter": 0.4},
            ],
        },
        {"filename": "new.jpg", "box_pairs": []},
    ]


@pytest.fixture
def dense():
    verb_scores = np.zeros((2, 117), dtype=np.float32)
    verb_scores[0, [76, 36, 57, 0]] = [0.5, 0.5, 0.9, 0.95]  # verb 0 does not go with a bicycle
    verb_scores[1, [76, 36]] = [0.7, 0.5]
    image = {
        "filename": "one.jpg",
        "boxes": np.array([[10, 20, 50, 80], [30, 40, 90, 95], [0, 0, 5, 5]], dtype=np.float32),
        "labels": np.array([0, 1, 0]),
        "verb_scores": verb_scores,
        "sub_ids": np.array([0, 2]),
        "obj_ids": np.array([1, 1]),
    }
    empty = {
        "filename": "none.jpg",
        "boxes": np.zeros((0, 4)),
        "labels": np.zeros(0),
        "verb_scores": np.zeros((0, 117)),
        "sub_ids": np.zeros(0, dtype=int),
        "obj_ids": [],
    }
    return [image, empty]


@pytest.fixture(scope="session")
def equal():
    def compare(one, other, leave_out=()):
        for key in COLUMNS:
            if key in leave_out:
                continue
            a, b = getattr(one, key), getattr(other, key)
            assert (a is None) == (b is None), key
            if a is not None:
                np.testing.assert_array_equal(a, b, err_msg=key)
        return True

    return compare
