"""Files with odd values anywhere end in a result or in an InputError, never in another error."""

import copy
import pickle
from contextlib import suppress

import numpy as np
import pytest
from scipy.io import savemat

from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_predictions, write

pytestmark = pytest.mark.slow

MUTATIONS = 100
BELOW = 6
ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    10**6,
    2**63,
    2**70,
    10**400,
    1e300,
    -1e308,
    float("nan"),
    float("inf"),
    1j,
    "",
    "x",
    "12",
    b"x",
    (),
    [],
    {},
    [1],
    ["x"],
    [[1, 2], [3]],
    {"a": 1},
    np.array(1.0),
    np.array([0.5]),
    np.float32(2.5),
    np.int8(-3),
    np.zeros((2, 0)),
    np.zeros((1, 2, 3)),
    np.array([1 + 1j]),
    np.array(["a", "b"]),
    np.array([None, {}], dtype=object),
    np.array([2**64 - 1], dtype=np.uint64),
    np.array("2020", dtype="datetime64[Y]"),
)
# MATLAB files cannot hold these.
NOT_IN_MATLAB = (None, 2**63, 2**70, 10**400, b"x")


def mutated(value, random, odd):
    """Return a deep copy with one value replaced, left out or added at random."""
    root = [copy.deepcopy(value)]
    parent, key = root, 0
    for _ in range(random.integers(1, BELOW)):
        child = parent[key]
        keys = (
            list(child)
            if isinstance(child, dict)
            else range(len(child))
            if list_like(child)
            else ()
        )
        if not len(keys):
            break
        parent, key = child, keys[random.integers(len(keys))]
    chosen = odd[random.integers(len(odd))]
    what = random.integers(8)
    if parent is not root and what == 0 and not isinstance(parent, np.ndarray):
        del parent[key]
    elif isinstance(parent, list) and what == 1:
        parent.append(chosen)
    elif isinstance(parent, np.ndarray):
        changed = parent.astype(object)
        changed[key] = [chosen] * len(changed[key]) if list_like(changed[key]) else chosen
        return replaced(root[0], parent, changed)
    else:
        parent[key] = chosen
    return root[0]


def list_like(value):
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)


def replaced(value, old, new):
    if value is old:
        return new
    if isinstance(value, dict):
        return {key: replaced(part, old, new) for key, part in value.items()}
    return [replaced(part, old, new) for part in value] if isinstance(value, list) else value


def survives(path, **options):
    """Whether the file could be read; the message of an error names it on one line."""
    try:
        read(path, **options)
    except InputError as error:
        text = str(error)
        assert str(path) in text
        assert "\n" not in text
        assert len(text.replace(str(path), "")) < 550
        return False
    return True


@pytest.fixture
def instances():
    vocabulary = hico_det()
    objects, verbs = sorted(vocabulary.objects), list(vocabulary.verbs)
    classes = zip(vocabulary.class_object, vocabulary.class_verb, strict=True)
    return {
        "filenames": ["one.jpg", "two.jpg"],
        "size": [[640, 480], [100, 200]],
        "objects": objects,
        "verbs": verbs,
        "correspondence": [
            [n, objects.index(vocabulary.objects[thing]), int(verb)]
            for n, (thing, verb) in enumerate(classes)
        ][:3],
        "annotation": [
            {"boxes_h": [[1, 2, 3, 4]], "boxes_o": [[11, 12, 13, 14]], "hoi": [0]},
            {"boxes_h": [[1, 1, 9, 9]] * 2, "boxes_o": [[1, 1, 9, 9]] * 2, "hoi": [1, 2]},
        ],
    }


@pytest.fixture
def cdn(annotations):
    for image in annotations:
        image["file_name"] = image.pop("filename")
        for box in image["annotations"]:
            box["category_id"] += 1
        for triplet in image["hoi_annotation"]:
            triplet["category_id"] += 1
    return annotations


@pytest.fixture
def dense_columns(dense):
    return {key: [image[key] for image in dense] for key in dense[0]}


@pytest.fixture
def v_coco_dense():
    image = {
        "filename": "COCO_val2014_000000000007.jpg",
        "boxes": np.array([[1, 2, 30, 40], [5, 6, 7, 8]], dtype=np.float32),
        "labels": np.array([0, 16]),
        "verb_scores": np.full((2, 25), 0.5),
        "sub_ids": np.array([0, 0]),
        "obj_ids": np.array([1, -1]),
    }
    return [image, image | {"filename": "COCO_val2014_000000000008.jpg"}]


FORMATS = {
    "predictions": {},
    "annotations": {},
    "pair_file": {},
    "dense": {"format": "dense-arrays"},
    "dense_columns": {},
    "v_coco_dense": {},
    "instances": {},
    "cdn": {},
}


@pytest.mark.parametrize("fixture", FORMATS)
def test_pickles(fixture, request, tmp_path):
    value = request.getfixturevalue(fixture)
    random = np.random.default_rng(sum(map(ord, fixture)))
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(value))
    assert survives(path)
    read_files = 0
    for _ in range(MUTATIONS):
        path.write_bytes(pickle.dumps(mutated(value, random, ODD)))
        read_files += survives(path)
    assert 0 < read_files < MUTATIONS


def test_anno_bbox(tmp_path):
    boxes = [{"x1": 1.0, "x2": 3.0, "y1": 2.0, "y2": 4.0}]
    hoi = {
        "id": 1.0,
        "bboxhuman": boxes,
        "bboxobject": boxes,
        "connection": np.array([[1.0, 1.0]]),
        "invis": 0.0,
    }
    size = {"width": 640.0, "height": 480.0, "depth": 3.0}
    images = [{"filename": name, "size": [size], "hoi": [hoi, hoi]} for name in ("a.jpg", "b.jpg")]
    odd = [value for value in ODD if not any(value is other for other in NOT_IN_MATLAB)]
    random = np.random.default_rng(5)
    path = tmp_path / "x.mat"
    savemat(path, {"bbox_test": cells(images)})
    assert survives(path)
    for _ in range(MUTATIONS):
        changed = {"bbox_test": cells(mutated(images, random, odd))}
        try:
            savemat(path, changed)
        except Exception:
            continue  # what MATLAB files cannot hold
        survives(path)


def cells(value):
    """Make MATLAB cell arrays of lists."""
    if isinstance(value, dict):
        return {key: cells(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    array = np.empty((1, len(value)), dtype=object)
    for n, part in enumerate(value):
        array[0, n] = cells(part)
    return array


def test_columnar(saved, predictions, pair_file, tmp_path):
    path = tmp_path / "x.npz"
    write(path, read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl")))
    with np.load(path) as arrays:
        columns = dict(arrays)
    random = np.random.default_rng(6)
    for _ in range(MUTATIONS):
        changed = dict(columns)
        key = list(changed)[random.integers(len(changed))]
        odd = ODD[random.integers(len(ODD))]
        what = random.integers(5)
        if what == 0:
            del changed[key]
        elif what == 1:
            kind = random.choice(["f2", "f8", "i8", "u8", "U5", "g"])
            with suppress(ValueError), np.errstate(all="ignore"):  # notes are no numbers
                changed[key] = changed[key].astype(kind)
        elif what == 2 and changed[key].ndim:
            changed[key] = changed[key][:-1]
        else:
            try:
                changed[key] = np.asarray(odd)
            except ValueError:
                changed[key] = np.zeros(())
        np.savez(path, **changed)
        survives(path)
