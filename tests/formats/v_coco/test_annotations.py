import copy
import json
import sys

import numpy as np
import pytest
from support import vcoco

from diaghoi.data.vocabulary import v_coco
from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_annotations, recognise, write
from diaghoi.formats.v_coco import ACTION, KEYS, LISTED, ROLES, image_number


def names(scenes):
    return [v_coco().verbs[verb] for verb in scenes.triplet_verb]


def test_everything(tmp_path, capsys):
    path = vcoco.write_annotations(tmp_path)
    scenes = read_annotations(path)
    assert scenes.names.tolist() == ["7", "5"]
    assert scenes.sizes.tolist() == [[100, 80], [50, 50]]
    assert scenes.box_image.tolist() == [0, 0, 0, 0, 1]
    expected = np.float32([[10.1, 20, 39.1, 39], [0, 0, 19, 79], [40, 40, 59, 59], [2, 2, 5, 5]])
    np.testing.assert_array_equal(scenes.box_xyxy[:4], expected.astype(np.float64))
    assert scenes.box_xyxy.dtype == np.float64
    assert scenes.box_label.tolist() == [16, 0, 0, 79, 0]
    assert scenes.box_ignored.tolist() == [False, False, True, False, False]
    assert names(scenes) == ["hold agent", "hold obj", "stand agent"] + [
        f"cut {role}" for role in ("agent", "instr", "obj")
    ]
    assert scenes.pair_human.tolist() == [1, 1, 1]
    assert scenes.pair_object.tolist() == [-1, 0, 3]
    assert scenes.triplet_pair.tolist() == [0, 1, 0, 0, 2, 0]
    assert scenes.triplet_score is None
    assert scenes.notes == (
        f"{path}: 1 person has no action annotations; predicted triplets on them are ignored, "
        "but predicted pairs count",
    )
    assert capsys.readouterr() == ("", "")
    found = recognise(path)
    assert (found.format, found.kind, found.dataset) == ("v-coco", "annotations", "v-coco")


def test_columns_keep_it(tmp_path, equal):
    scenes = read_annotations(vcoco.write_annotations(tmp_path))
    write(tmp_path / "x.npz", scenes)
    other = read_annotations(tmp_path / "x.npz")
    assert equal(other, scenes)
    assert other.notes == scenes.notes
    assert recognise(tmp_path / "x.npz").dataset == "v-coco"


def test_two_people_are_sorted_by_box(tmp_path):
    content = vcoco.actions()
    # Person 72 comes before 71 in the file, after it among the boxes.
    for row in content:
        row["image_id"] = [7, 7]
        row["ann_id"] = [72, 71]
        row["label"] = [int(row["action_name"] in ("run", "ride")), int(row["label"][0])]
        roles_of = np.reshape(row["role_object_id"], (-1, 2))[:, ::-1].copy()
        roles_of[0] = [72, 71]
        roles_of[1:, 0] = 0
        row["role_object_id"] = roles_of.reshape(-1).tolist()
    scenes = read_annotations(vcoco.write_annotations(tmp_path, content, ids=[7]))
    assert names(scenes)[-3:] == ["ride agent", "ride instr", "run agent"]
    assert scenes.pair_human[scenes.triplet_pair].tolist() == [1] * 6 + [2] * 3
    assert not scenes.box_ignored.any()


@pytest.mark.parametrize(
    "places", [("..", "../splits"), ("annotations", "splits"), ("../annotations", "..")]
)
def test_customary_places(tmp_path, places):
    path = vcoco.write_annotations(tmp_path / "data" / "vcoco", places=places)
    assert len(read_annotations(path)) == 2


def test_options(tmp_path):
    path = vcoco.write_annotations(tmp_path / "a", places=("far", "far"))
    instances = tmp_path / "a" / "far" / "instances_vcoco_all_2014.json"
    ids = tmp_path / "a" / "far" / "vcoco_test.ids"
    with pytest.raises(InputError, match=r"instances_vcoco_all_2014\.json belongs to this file"):
        read_annotations(path)
    with pytest.raises(InputError, match=r"vcoco_test\.ids belongs .* give it with `ids=FILE`"):
        read_annotations(path, instances=instances)
    assert len(read_annotations(path, instances=str(instances), ids=ids)) == 2
    with pytest.raises(InputError, match="No such file or directory; check the path"):
        read_annotations(path, instances=instances, ids=tmp_path / "no.ids")
    other = tmp_path / "x.npz"
    write(other, read_annotations(path, instances=instances, ids=ids))
    with pytest.raises(InputError, match="`ids` is for V-COCO annotations, official layout, but"):
        read_annotations(other, ids=ids)


def test_part_of_the_images(tmp_path):
    scenes = read_annotations(vcoco.write_annotations(tmp_path, ids=[5]))
    assert scenes.names.tolist() == ["5"]
    assert len(scenes.triplet_pair) == 0
    assert scenes.notes == (
        f"{tmp_path / 'vcoco_test.json'}: 1 annotated images are not in the split and are omitted",
    )


def test_data_set_is_the_one_given(tmp_path):
    path = vcoco.write_annotations(tmp_path)
    assert len(read_annotations(path, dataset="v-coco")) == 2
    with pytest.raises(InputError) as error:
        read_annotations(path, dataset="hico-det")
    assert str(error.value) == (
        f"{path}: is for v-coco (v-coco), but hico-det is expected here; give a file for hico-det, "
        "or give `dataset` for the data set of this file"
    )


def action(number, **changes):
    return lambda content: content[number].update(changes)


def drop(number, key):
    return lambda content: content[number].pop(key)


BAD = {
    "no dict": (lambda c: c.__setitem__(3, 1), "action 3 (counted from 0): 1 is not an action of"),
    "no key": (drop(2, "ann_id"), "action 'sit': the key 'ann_id' is missing"),
    "unknown action": (
        action(0, action_name="holds"),
        "action 0 (counted from 0): 'holds' is not an action of V-COCO (did you mean 'hold'",
    ),
    "action twice": (action(1, action_name="hold", role_name=["agent", "obj"]),
                     "action 1 (counted from 0): 'hold' is listed twice"),
    "action missing": (lambda c: c.pop(4), "the actions walk are missing; V-COCO has 26"),
    "roles": (action(0, role_name=["agent", "instr"]),
              "action 'hold': role_name: is ['agent', 'instr']; V-COCO has agent, obj"),
    "role names": (action(0, role_name=3), "action 'hold': role_name: is 3; V-COCO has agent, obj"),
    "short": (action(0, label=[1]), "action 'hold': label: is [1]; give a list of length 2"),
    "short roles": (action(0, role_object_id=[71, 50, 70]),
                    "action 'hold': role_object_id: is [71, 50, 70]; give a list of length 4"),
    "text": (action(0, label=["a", 0]), "action 'hold': label[0]: 'a' is not a number"),
    "halves": (action(0, label=[0.5, 0]), "action 'hold': label[0]: 0.5 is not a whole number"),
    "rows by person": (action(0, role_object_id=[71, 70, 50, 0], label=[1, 1]),
                       "action 'hold': role_object_id: the agents are not the people in 'ann_id'"),
    "person twice": (action(1, image_id=[7, 7], ann_id=[71, 71], label=[1, 1],
                            role_object_id=[71, 71]),
                     "action 'stand': ann_id: person 71 has label 1 twice"),
    "unknown person": (action(1, ann_id=[171, 50], role_object_id=[171, 50]),
                       "image 7: action 'stand': ann_id: annotation 171 is not in "),
    "unknown object": (action(0, role_object_id=[71, 50, 170, 0]),
                       "image 7: action 'hold': role_object_id: annotation 170 is not in "),
    "object elsewhere": (action(0, role_object_id=[71, 50, 50, 0]),
                         "action 'hold': role_object_id: annotation 50 belongs to another image"),
    "object without a box": (action(0, role_object_id=[71, 50, 74, 0]),
                             "action 'hold': role_object_id: annotation 74 has no usable box in"),
}  # fmt: skip


def failing(function, *args, **kwargs):
    with pytest.raises(InputError) as error:
        function(*args, **kwargs)
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 600
    return text


@pytest.mark.parametrize("case", BAD)
def test_bad_actions(case, tmp_path):
    content = vcoco.actions()
    change, expected = BAD[case]
    change(content)
    path = vcoco.write_annotations(tmp_path, content)
    text = failing(read_annotations, path)
    assert text.startswith(f"{path}: ")
    assert expected in text


def box(number, **changes):
    return lambda content: content["annotations"][number].update(changes)


# So many numbers of one hash take Python minutes as the keys of a dict.
ONE_HASH = [n * sys.hash_info.modulus for n in range(1, 60_001)]
BAD_INSTANCES = {
    "ids of one hash": (
        lambda c: c["annotations"].extend({"id": n, "image_id": n} for n in ONE_HASH),
        "annotations[8].id: 2.305843009213694e+18 is too large",
    ),
    "one id twice": (
        box(1, id=70),
        "two annotations have the id 70; give each annotation a different id",
    ),
    "no images": (lambda c: c.pop("images"), "is not a COCO instances file (lists images, annotat"),
    "no image id": (
        lambda c: c["images"][0].pop("id"),
        "images[0]: the key 'id' is missing; has: ",
    ),
    "image missing": (
        lambda c: c["images"].pop(1),
        "1 of 2 images are missing (the first is image 5); give the COCO instances that belong",
    ),
    "size": (
        lambda c: c["images"][0].update(width=None),
        "images[0].width: nan is not a whole number",
    ),
    "no size": (
        lambda c: c["images"][0].update(width=0),
        "images[0]: the image is empty; give its width",
    ),
    "list as category": (box(0, category_id=[]), "annotations[0].category_id: [] is not a number"),
    "category": (box(0, category_id=12), "annotations[0].category_id: 12 is not a COCO cat"),
    "box of three": (box(1, bbox=[1, 2, 3]), "annotations[1].bbox: [1, 2, 3] is not four numbers"),
    "NaN": (box(1, bbox=[1, 2, 3, float("nan")]), "[1].bbox: [1.0, 2.0, 3.0, nan] is not a box in"),
    "beyond float32": (
        box(1, bbox=[1e308, 2, 1e308, 3]),
        "[1e+308, 2.0, 1e+308, 3.0] is not a box",
    ),
    "no box": (
        lambda c: c["annotations"][1].pop("bbox"),
        "annotations[1]: the key 'bbox' is missing",
    ),
}


@pytest.mark.parametrize("case", BAD_INSTANCES)
def test_bad_instances(case, tmp_path):
    content = copy.deepcopy(vcoco.INSTANCES)
    change, expected = BAD_INSTANCES[case]
    change(content)
    text = failing(read_annotations, vcoco.write_annotations(tmp_path, instances=content))
    assert text.startswith(f"{tmp_path / 'instances_vcoco_all_2014.json'}: ")
    assert expected in text


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], "no image ids in it; give the .ids file of the split, one id per line"),
        (["7.jpg"], "'7.jpg' is not an image id; give the .ids file"),
        ([7, 5, "05"], "image 5 is listed twice; list every image once"),
        ([7, 9], "1 of 2 images are not annotated in "),
        ([8, 9, 7], "first is image 8); give the .ids file of the same split"),
    ],
)
def test_bad_ids(ids, expected, tmp_path):
    text = failing(read_annotations, vcoco.write_annotations(tmp_path, ids=ids))
    assert text.startswith(f"{tmp_path / 'vcoco_test.ids'}: ")
    assert expected in text


def test_image_numbers():
    good = {165: "165", "165": "165", "000000000165": "165", np.int64(165): "165",
            "COCO_val2014_000000000165.jpg": "165", b"165": "165", " 165\n": "165",
            "val2014/000000000165.jpg": "165"}  # fmt: skip
    for value, number in good.items():
        assert image_number(value) == number
    assert image_number(165.0) == "165"
    for value in (None, "", "a", 1.5, -1, True, [1], float("nan"), float("inf"), "12a", "-3"):
        assert image_number(value) == ""


def test_qpic_numbers_its_verbs_by_the_roles():
    listed = [KEYS[n] for n in LISTED]
    assert len(listed) == 29
    assert listed[:8] == ["hold_obj", "stand_agent", "sit_instr", "ride_instr", "walk_agent",
                          "look_obj", "hit_instr", "hit_obj"]  # fmt: skip
    assert listed[-2:] == ["read_obj", "snowboard_instr"]


QPIC = [
    {
        "file_name": "COCO_val2014_000000000007.jpg",
        "annotations": [
            {"category_id": 18, "bbox": [10, 20, 40, 40]},
            {"category_id": 1, "bbox": [0, 0, 20, 80]},
            {"category_id": 1, "bbox": [40, 40, 60, 60]},
        ],
        "hoi_annotation": [
            {"subject_id": 1, "object_id": 0, "category_id": 16},
            {"subject_id": 1, "object_id": -1, "category_id": 17},
            {"subject_id": 1, "object_id": -1, "category_id": 1},
            {"subject_id": 1, "object_id": 0, "category_id": 0},
        ],
    },
    {"file_name": "COCO_train2014_000000000005.jpg", "annotations": [], "hoi_annotation": []},
]


@pytest.fixture
def qpic(tmp_path):
    def save(**changes):
        path = tmp_path / "test_vcoco.json"
        content = copy.deepcopy(QPIC)
        content[0].update(changes)
        path.write_text(json.dumps(content))
        return path

    return save


def test_qpic(qpic):
    scenes = read_annotations(qpic())
    assert scenes.names.tolist() == ["7", "5"]
    assert names(scenes) == ["hold agent", "hold obj", "stand agent"] + [
        f"cut {role}" for role in ("agent", "instr", "obj")
    ]
    assert scenes.pair_human.tolist() == [1, 1]
    assert scenes.pair_object.tolist() == [-1, 0]
    assert scenes.triplet_pair.tolist() == [0, 1, 0, 0, 1, 0]
    assert scenes.box_label.tolist() == [16, 0, 0]
    assert scenes.box_ignored.tolist() == [False, False, True]
    assert scenes.box_xyxy[0].tolist() == [10, 20, 40, 40]
    assert "a pixel larger than the official boxes" in scenes.notes[0]
    assert scenes.notes[1].endswith(
        "people without a 'hoi_annotation' (1) and predicted triplets on them are ignored, but "
        "predicted pairs count"
    )


def test_qpic_is_known_by_names_or_by_missing_objects(qpic):
    assert recognise(qpic()).dataset == "v-coco"
    assert recognise(qpic(file_name="7.jpg")).dataset == "v-coco"
    rows = QPIC[0]["hoi_annotation"][:1]
    assert recognise(qpic(file_name="7.jpg", hoi_annotation=rows)).dataset == "hico-det"
    path = qpic(file_name="7.jpg", hoi_annotation=rows)
    assert read(path, dataset="v-coco")[0].dataset == "v-coco"
    assert recognise(qpic(file_name="HICO_test2015_00000001.jpg")).dataset == "hico-det"


QPIC_BAD = {
    "verb": ({"hoi_annotation": [{"subject_id": 1, "object_id": 0, "category_id": 29}]},
             "hoi_annotation[0].category_id: there is no verb 29; there are: 0 to 28"),
    "object": ({"hoi_annotation": [{"subject_id": 1, "object_id": -2, "category_id": 1}]},
               "hoi_annotation[0].object_id: there is no box in 'annotations' -2; there are: 0 to"),
    "subject": ({"hoi_annotation": [{"subject_id": -1, "object_id": 0, "category_id": 1}]},
                "hoi_annotation[0].subject_id: there is no box in 'annotations' -1"),
    "name": ({"file_name": "COCO_x.jpg"}, "image 'COCO_x.jpg': file_name: does not end in the"),
    "name twice": ({"file_name": "COCO_val2014_5.jpg"},
                   "image '5': file_name: used for two images"),
}  # fmt: skip


@pytest.mark.parametrize("case", QPIC_BAD)
def test_bad_qpic(case, qpic):
    changes, expected = QPIC_BAD[case]
    assert expected in failing(read_annotations, qpic(**changes))


def test_real_qpic(shared):
    scenes = read_annotations(shared / "data" / "v_coco" / "test_vcoco_sg1.json")
    assert len(scenes) == 2850
    assert scenes.names[0] == "226162"
    role = np.isin(scenes.triplet_verb, ROLES)
    assert role.sum() == 3872  # no row of this file is of an action without a role
    doing = scenes.pair_human[scenes.triplet_pair] * 26 + ACTION[scenes.triplet_verb]
    np.testing.assert_array_equal(np.sort(doing[~role]), np.unique(doing))
    assert (scenes.pair_object[scenes.triplet_pair[~role]] == -1).all()
    assert not scenes.box_ignored[scenes.pair_human].any()


def official_boxes(coco, image):
    """The boxes of one image, one after the other."""
    for row in coco["annotations"]:
        if row["image_id"] != image["id"] or row.get("ignore"):
            continue
        x, y, width, height = row["bbox"]
        right, bottom = x + max(0.0, width - 1), y + max(0.0, height - 1)
        x, right = (min(max(edge, 0), image["width"] - 1) for edge in (x, right))
        y, bottom = (min(max(edge, 0), image["height"] - 1) for edge in (y, bottom))
        if row["area"] > 0 and right > x and bottom > y:
            yield row["id"], row["category_id"], np.float32([x, y, right, bottom]).tolist()


def test_real_official_person_by_person(shared):
    folder = shared / "conformance" / "v_coco"
    vcoco_file = json.loads((folder / "vcoco_test.json").read_text())
    coco = json.loads((folder / "instances_vcoco_all_2014.json").read_text())
    sizes = {image["id"]: image for image in coco["images"]}
    expected, ignored = [], 0
    for word in (folder / "vcoco_test.ids").read_text().split():
        boxes = list(official_boxes(coco, sizes[int(word)]))
        box_of = {number: box for number, _, box in boxes}
        for number, category, box in boxes:
            if category == 1 and number not in vcoco_file[0]["ann_id"]:
                ignored += 1
            for row in vcoco_file:
                people = len(row["ann_id"])
                for n in range(people):
                    if row["ann_id"][n] != number or row["label"][n] != 1:
                        continue
                    for place, role in enumerate(row["role_name"]):
                        thing = row["role_object_id"][place * people + n] if place else 0
                        verb = f"{row['action_name']} {role}"
                        expected.append((word, verb, box, box_of[thing] if thing else None))
    scenes = read_annotations(folder / "vcoco_test.json")
    rows = zip(
        scenes.names[scenes.triplet_image].tolist(),
        names(scenes),
        scenes.pair_human[scenes.triplet_pair].tolist(),
        scenes.pair_object[scenes.triplet_pair].tolist(),
        strict=True,
    )
    boxes = scenes.box_xyxy.tolist()
    found = [(name, verb, boxes[h], boxes[o] if o >= 0 else None) for name, verb, h, o in rows]
    assert found == expected
    assert scenes.box_ignored.sum() == ignored
