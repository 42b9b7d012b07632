"""The annotation formats other than the triplet lists."""

import copy
import json

import numpy as np
import pytest
from scipy.io import savemat

from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_annotations, recognise

V = hico_det()


def hoi(verb, thing):
    return int(V.class_of[V.objects.index(thing), V.verbs.index(verb)])


RIDE, SIT, PET = hoi("ride", "bicycle"), hoi("sit_on", "bicycle"), hoi("pet", "dog")


@pytest.fixture
def instances():
    objects, verbs = sorted(V.objects), list(V.verbs)
    return {
        "filenames": ["one.jpg", "empty.jpg", "two.jpg"],
        "size": [[640, 480], [0, 0], [100, 200]],
        "objects": objects,
        "verbs": verbs,
        "correspondence": [
            [n, objects.index(V.objects[thing]), int(verb)]
            for n, (thing, verb) in enumerate(zip(V.class_object, V.class_verb, strict=True))
        ],
        "annotation": [
            {
                "boxes_h": [[1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8]],
                "boxes_o": [[11, 12, 13, 14], [11, 12, 13, 14], [11, 12, 13, 14]],
                "hoi": [RIDE, SIT, RIDE],
            },
            {"boxes_h": [], "boxes_o": [], "hoi": []},
            {"boxes_h": [[1, 1, 9, 9]], "boxes_o": [[1, 1, 9, 9]], "hoi": [PET]},
        ],
    }


def check(scenes):
    assert scenes.names.tolist() == ["one.jpg", "empty.jpg", "two.jpg"]
    assert scenes.sizes.tolist() == [[640, 480], [0, 0], [100, 200]]
    assert scenes.box_image.tolist() == [0, 0, 0, 2, 2]
    assert scenes.box_xyxy[:3].tolist() == [[0, 1, 2, 3], [10, 11, 12, 13], [4, 5, 6, 7]]
    labels = ["person", "bicycle", "person", "person", "dog"]
    assert [V.objects[label] for label in scenes.box_label] == labels
    assert scenes.pair_human.tolist() == [0, 2, 3]
    assert scenes.pair_object.tolist() == [1, 1, 4]
    assert scenes.triplet_pair.tolist() == [0, 0, 1, 2]
    assert scenes.triplet_class.tolist() == [RIDE, SIT, RIDE, PET]
    assert scenes.triplet_score is None
    assert scenes.pair_score is None


def put(tmp_path, value):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(value))
    return path


def test_instances(tmp_path, instances):
    path = put(tmp_path, instances)
    scenes = read_annotations(path)
    check(scenes)
    assert scenes.notes == ()
    found = recognise(path)
    assert (found.format, found.kind, found.container) == ("hico-instances", "annotations", "json")
    np.testing.assert_array_equal(read_annotations(path, origin=0).box_xyxy, scenes.box_xyxy + 1)
    del instances["size"]
    assert read_annotations(put(tmp_path, instances)).sizes is None


def test_instances_are_numbered_by_their_names(tmp_path, instances):
    other = copy.deepcopy(instances)
    other["objects"].reverse()
    other["verbs"].reverse()
    other["correspondence"] = [[n, 79 - o, 116 - v] for n, o, v in instances["correspondence"]]
    check(read_annotations(put(tmp_path, other)))


INSTANCES = {
    "no names": (lambda f: f.pop("filenames"), "the key 'filenames' is missing"),
    "names are no list": (lambda f: f.update(filenames="a"), "filenames: is 'a'; give a list"),
    "few names": (
        lambda f: f["filenames"].pop(),
        "lengths differ: filenames 2, annotation 3, size 3; give one value per image",
    ),
    "unknown object": (
        lambda f: f["objects"].__setitem__(0, "aeroplane"),
        "objects[0]: unknown name 'aeroplane' (did you mean 'airplane'?)",
    ),
    "huge correspondence": (
        lambda f: f["correspondence"].append([2**70, 0, 0]),
        "correspondence[600]: [1.1805916207174113e+21, 0.0, 0.0] are too large",
    ),
    "correspondence in halves": (
        lambda f: f["correspondence"].append([1.5, 0, 0]),
        "correspondence[600]: [1.5, 0.0, 0.0] are not whole numbers",
    ),
    "odd correspondence": (
        lambda f: f["correspondence"].append([600, 80, 0]),
        "correspondence[600]: there is no object 80; there are: 0 to 79",
    ),
    "short correspondence": (
        lambda f: f["correspondence"].append([600]),
        "correspondence[600]: [600] is not an HOI id, an object id and a verb id",
    ),
    "impossible class": (
        lambda f: f["correspondence"].append([600, 0, 0]),
        "correspondence[600]: hico-det has no class 'adjust' 'airplane'",
    ),
    "unknown HOI": (
        lambda f: f["annotation"][0]["hoi"].__setitem__(1, 600),
        "image 'one.jpg': hoi[1]: unknown HOI id 600; it is not in 'correspondence'",
    ),
    "few boxes": (
        lambda f: f["annotation"][0]["boxes_h"].pop(),
        "image 'one.jpg': lengths differ: boxes_h 2, boxes_o 3, hoi 3; give one value per",
    ),
    "no triplets": (
        lambda f: f["annotation"][1].pop("hoi"),
        "image 'empty.jpg': the key 'hoi' is missing; has: boxes_h, boxes_o",
    ),
    "image is no dict": (
        lambda f: f["annotation"].__setitem__(1, []),
        "image 'empty.jpg': is []; give a dict",
    ),
    "few sizes": (lambda f: f["size"].pop(), "filenames 3, annotation 3, size 2; give one value"),
    "odd size": (
        lambda f: f["size"].__setitem__(2, 5),
        "image 'two.jpg': size[0]: 5 is not [width, height]",
    ),
    "negative size": (
        lambda f: f["size"].__setitem__(2, [640, -480]),
        "image 'two.jpg': size[0]: [640.0, -480.0] are not whole numbers from 0",
    ),
    "no images": (
        lambda f: f.update(filenames=[], annotation=[], size=[]),
        "no images; give a file with annotations",
    ),
}


@pytest.mark.parametrize(("change", "expected"), INSTANCES.values(), ids=INSTANCES)
def test_bad_instances(change, expected, tmp_path, instances):
    change(instances)
    path = put(tmp_path, instances)
    with pytest.raises(InputError) as error:
        read_annotations(path)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)


def test_real_instances(shared):
    path = shared / "data/hico_det/instances_test2015.json"
    raw = json.loads(path.read_text())
    scenes = read_annotations(path)
    assert len(scenes) == 9658
    assert scenes.sizes.tolist() == raw["size"]
    assert scenes.triplet_class.tolist() == [hoi for a in raw["annotation"] for hoi in a["hoi"]]
    np.testing.assert_array_equal(
        np.bincount(scenes.triplet_class, minlength=600), V.test_instances
    )
    human = scenes.box_xyxy[scenes.pair_human[scenes.triplet_pair]]
    boxes = [box for a in raw["annotation"] for box in a["boxes_h"]]
    np.testing.assert_array_equal(human, np.array(boxes) - 1)
    keys = np.column_stack([scenes.box_image, scenes.box_label, scenes.box_xyxy])
    assert len(np.unique(keys, axis=0)) == len(keys)
    assert len(keys) < 2 * len(boxes)
    few = read_annotations(shared / "conformance/hico_det_official/annotations.json")
    assert len(few) == 200


@pytest.fixture
def cdn():
    return [
        {
            "file_name": "one.jpg",
            "img_id": 1,
            "annotations": [
                {"bbox": [1, 2, 3, 4], "category_id": 1},
                {"bbox": [5, 6, 7, 8], "category_id": 18},
            ],
            "hoi_annotation": [
                {
                    "subject_id": 0,
                    "object_id": 1,
                    "category_id": V.verbs.index("pet") + 1,
                    "hoi_category_id": PET + 1,
                }
            ],
        }
    ]


def test_cdn(tmp_path, cdn):
    path = put(tmp_path, cdn)
    assert recognise(path).format == "cdn-json"
    scenes = read_annotations(path)
    assert scenes.names.tolist() == ["one.jpg"]
    assert scenes.box_xyxy[0].tolist() == [1, 2, 3, 4]
    assert scenes.triplet_class.tolist() == [PET]
    del cdn[0]["img_id"], cdn[0]["hoi_annotation"][0]["hoi_category_id"]
    assert read_annotations(put(tmp_path, cdn)).triplet_class.tolist() == [PET]


@pytest.mark.parametrize("verb", [0, 118])
def test_cdn_verbs_count_from_one(tmp_path, cdn, verb):
    cdn[0]["hoi_annotation"][0]["category_id"] = verb
    with pytest.raises(InputError, match=f"unknown verb {verb}; .* numbered 1 to 117 in this form"):
        read_annotations(put(tmp_path, cdn))


@pytest.mark.parametrize("label", [0, 91, 10**9])
def test_cdn_objects_have_gaps(tmp_path, cdn, label):
    cdn[0]["annotations"][1]["category_id"] = label
    with pytest.raises(InputError, match=f"unknown object category {label}; .* 1 to 90 as coco91"):
        read_annotations(put(tmp_path, cdn))


def test_real_cdn(shared):
    path = shared / "data/hico_det/test_hico_sg1.json"
    raw = json.loads(path.read_text())
    scenes = read_annotations(path)
    assert len(scenes) == 8515
    assert scenes.notes == ()
    # Where the file says which HOI class it is (counted from one), names and numbers must agree.
    ids = [row.get("hoi_category_id") for image in raw for row in image["hoi_annotation"]]
    said = np.array([-1 if number is None else number - 1 for number in ids])
    assert (said >= 0).sum() > 10_000
    np.testing.assert_array_equal(scenes.triplet_class[said >= 0], said[said >= 0])


def boxes(*rows):
    return [{"x1": r[0], "x2": r[2], "y1": r[1], "y2": r[3]} for r in rows]


def records(rows):
    keys = list(rows[0]) if rows else ["id"]
    array = np.zeros((1, len(rows)), dtype=[(key, object) for key in keys])
    for n, row in enumerate(rows):
        array[0, n] = tuple(nested(row[key]) for key in keys)
    return array


def cells(rows):
    array = np.empty((1, len(rows)), dtype=object)
    for n, row in enumerate(rows):
        array[0, n] = {key: nested(value, cells) for key, value in row.items()}
    return array


def nested(value, make=records):
    if isinstance(value, list):
        return make(value) if value else np.zeros((0, 0))
    return value


@pytest.fixture
def mat():
    size = {"width": 640, "height": 480, "depth": 3}
    return [
        {
            "filename": "one.jpg",
            "size": [size],
            "hoi": [
                {
                    "id": RIDE + 1,
                    "bboxhuman": boxes((1, 2, 3, 4), (5, 6, 7, 8)),
                    "bboxobject": boxes((11, 12, 13, 14)),
                    "connection": np.array([[1, 1]]),
                    "invis": 0,
                },
                {
                    "id": SIT + 1,
                    "bboxhuman": boxes((1, 2, 3, 4)),
                    "bboxobject": boxes((11, 12, 13, 14)),
                    "connection": np.array([[1, 1]]),
                    "invis": 0,
                },
                {
                    "id": PET + 1,
                    "bboxhuman": [],
                    "bboxobject": [],
                    "connection": np.zeros((0, 0)),
                    "invis": 1,
                },
                {
                    "id": RIDE + 1,
                    "bboxhuman": boxes((9, 9, 9, 9), (5, 6, 7, 8)),
                    "bboxobject": boxes((11, 12, 13, 14)),
                    "connection": np.array([[2, 1]]),
                    "invis": 0,
                },
            ],
        },
        {"filename": "empty.jpg", "size": [{**size, "width": 0, "height": 0}], "hoi": []},
        {
            "filename": "two.jpg",
            "size": [{**size, "width": 100, "height": 200}],
            "hoi": [
                {
                    "id": PET + 1,
                    "bboxhuman": boxes((1, 1, 9, 9)),
                    "bboxobject": boxes((1, 1, 9, 9)),
                    "connection": np.array([[1, 1]]),
                    "invis": 0,
                }
            ],
        },
    ]


@pytest.mark.parametrize("make", [records, cells])
@pytest.mark.parametrize("compressed", [False, True])
def test_anno_bbox(tmp_path, mat, make, compressed):
    path = tmp_path / "anno.mat"
    savemat(path, {"bbox_test": make(mat), "bbox_train": make(mat[:1])}, do_compression=compressed)
    found = recognise(path)
    assert (found.format, found.kind, found.container) == ("anno-bbox-mat", "annotations", "mat")
    scenes = read_annotations(path)
    check(scenes)
    assert scenes.notes == (f"{path}: 1 HOIs marked invisible have no boxes and are omitted",)
    np.testing.assert_array_equal(read_annotations(path, origin=0).box_xyxy, scenes.box_xyxy + 1)


def test_anno_bbox_of_the_training_images(tmp_path, mat):
    savemat(tmp_path / "anno.mat", {"bbox_train": records(mat[2:])})
    scenes = read_annotations(tmp_path / "anno.mat")
    assert scenes.names.tolist() == ["two.jpg"]
    assert "has no 'bbox_test'; the training images ('bbox_train') are read" in scenes.notes[0]


def test_anno_bbox_of_one_image(tmp_path, mat):
    savemat(tmp_path / "anno.mat", {"bbox_test": mat[2] | {"size": mat[2]["size"][0]}})
    assert read_annotations(tmp_path / "anno.mat").triplet_class.tolist() == [PET]


def first_hoi(**changes):
    return lambda mat: mat[0]["hoi"][0].update(changes)


MAT = {
    "human out of range": (
        first_hoi(connection=np.array([[3, 1]])),
        "image 'one.jpg': hoi[0].connection: array([3, 1]) is not a human box and an object box, ",
    ),
    "object out of range": (
        first_hoi(connection=np.array([[1, 0]])),
        "counted from 1; there are 2 bboxhuman and 1 bboxobject",
    ),
    "odd connection": (
        first_hoi(connection=np.array([[1, 1, 1]])),
        "array([1, 1, 1]) is not a human box",
    ),
    "pair in halves": (
        first_hoi(connection=np.array([[1.5, 1]])),
        "image 'one.jpg': hoi[0].connection: array([1.5, 1. ]) is not a human box",
    ),
    "HOI in halves": (first_hoi(id=1.5), "connection[0].id: 1.5 is not a whole number"),
    "complex HOI": (first_hoi(id=1 + 1j), "connection[0].id: (1+1j) is not a number"),
    "unknown HOI": (first_hoi(id=601), "connection[0].id: there is no HOI class (id - 1) 600; the"),
    "no id": (first_hoi(id=[]), "connection[0].id: [] is not a number"),
    "box by name": (
        lambda mat: mat[2]["hoi"][0]["bboxhuman"][0].update(x1="left"),
        "image 'two.jpg': connection[0].bboxhuman: ('left', 1, 9, 9) is not four numbers",
    ),
    "missing field": (
        lambda mat: [hoi.pop("invis") for image in mat for hoi in image["hoi"]],
        "image 'one.jpg': hoi[0]: the key 'invis' is missing; has: id, bboxhuman, bboxobject, co",
    ),
    "name twice": (lambda mat: mat[1].update(filename="one.jpg"), "filename: used for two images"),
    "no name": (
        lambda mat: mat[1].update(filename=[]),
        "image 1 (counted from 0): filename: '' is",
    ),
    "negative size": (
        lambda mat: mat[2]["size"][0].update(width=-100),
        "image 'two.jpg': size[0].width: -100.0 is not a whole number from 0",
    ),
    "several names": (
        lambda mat: mat[1].update(filename=np.array([np.array([1.0, 2.0]), "x"], dtype=object)),
        "image 1 (counted from 0): filename: array([[1., 2.]]) is",
    ),
}


@pytest.mark.parametrize(("change", "expected"), MAT.values(), ids=MAT)
def test_bad_anno_bbox(change, expected, tmp_path, mat):
    change(mat)
    path = tmp_path / "anno.mat"
    savemat(path, {"bbox_test": records(mat)})
    with pytest.raises(InputError) as error:
        read_annotations(path)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)


def test_other_mat_files(tmp_path, mat):
    path = tmp_path / "x.mat"
    savemat(path, {"anno_test": np.zeros((2, 2)), "bbox_tes": 1})
    with pytest.raises(
        InputError,
        match=r"mat file with the keys anno_test, bbox_tes; nearest is anno-bbox-mat.*'bbox_tes'",
    ):
        read(path)
    savemat(path, {"bbox_test": records(mat)})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"damaged or unreadable \.mat file"):
        read(path)
