import json
import math
import pickle
import sys
import types
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import vcoco

from diaghoi.data.scenes import filled_in
from diaghoi.data.vocabulary import hico_det, v_coco
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions, recognise, write, write_v_coco
from diaghoi.formats import v_coco_results as module
from diaghoi.formats.content import load
from diaghoi.formats.v_coco import KEYS, ROLES, image_number

NAN = float("nan")
DOG, CAT = [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 2.0, 2.0]
NOTE = "V-COCO files have no separate verb scores; the agent scores replace them"


def rows_of(scenes):
    """Each triplet as image, verb, boxes, score and action score."""
    boxes = scenes.box_xyxy.tolist()
    things = scenes.pair_object[scenes.triplet_pair].tolist()
    return list(
        zip(
            scenes.names[scenes.triplet_image].tolist(),
            [v_coco().verbs[verb] for verb in scenes.triplet_verb],
            [boxes[row] for row in scenes.pair_human[scenes.triplet_pair]],
            [boxes[row] if row >= 0 else None for row in things],
            scenes.triplet_score.tolist(),
            scenes.triplet_action_score.tolist(),
            strict=True,
        )
    )


def slowly(dicts):
    """Read dicts value by value; the tables too, as lists of rows."""
    names = list(dict.fromkeys(image_number(row["image_id"]) for row in dicts))
    boxes, pairs, triplets = [], [], []
    for name in names:
        for row in dicts:
            if image_number(row["image_id"]) != name:
                continue
            person = len(boxes)
            boxes.append((name, row["person_box"], 0))
            own, used = {}, {}
            for key in vcoco.KEYS:
                action, role = key.rsplit("_", 1)
                agent, thing = row[f"{action}_agent"], None
                if role == "agent":
                    score, box = agent, None
                else:
                    *box, score = row[key]
                if math.isnan(score):
                    continue
                if box is not None and any(box) and not math.isnan(box[0]):
                    if tuple(box) not in own:
                        own[tuple(box)] = len(boxes)
                        boxes.append((name, box, -1))
                    thing = own[tuple(box)]
                if thing not in used:
                    used[thing] = len(pairs)
                    pairs.append((person, -1 if thing is None else thing))
                verb = vcoco.KEYS.index(key)
                triplets.append((used[thing], verb, score, score if math.isnan(agent) else agent))
    return names, boxes, pairs, triplets


def same(scenes, dicts):
    names, boxes, pairs, triplets = slowly(dicts)
    assert scenes.names.tolist() == names
    found = zip(
        scenes.names[scenes.box_image].tolist(),
        scenes.box_xyxy.tolist(),
        scenes.box_label.tolist(),
        strict=True,
    )
    assert list(found) == boxes
    assert list(zip(scenes.pair_human, scenes.pair_object, strict=True)) == pairs
    columns = ("pair", "verb", "score", "action_score")
    found = zip(*(getattr(scenes, f"triplet_{key}").tolist() for key in columns), strict=True)
    assert list(found) == triplets
    return True


def test_one_dict(saved):
    row = vcoco.result(
        hold_agent=0.9,
        hold_obj=[*DOG, 0.8],
        stand_agent=0.7,
        cut_obj=[*DOG, 0.3],
        cut_instr=[*CAT, 0.4],
        eat_obj=[0, 0, 0, 0, 0.2],
        eat_agent=0.25,
        eat_instr=[NAN, NAN, NAN, NAN, 0.1],
        look_obj=[*CAT, NAN],
    )
    scenes = read_predictions(saved([row]))
    person = [1.0, 2.0, 30.0, 40.0]
    assert rows_of(scenes) == [
        ("7", "hold agent", person, None, 0.9, 0.9),
        ("7", "hold obj", person, DOG, 0.8, 0.9),
        ("7", "stand agent", person, None, 0.7, 0.7),
        ("7", "eat agent", person, None, 0.25, 0.25),
        ("7", "eat obj", person, None, 0.2, 0.25),
        ("7", "eat instr", person, None, 0.1, 0.25),
        ("7", "cut instr", person, CAT, 0.4, 0.4),
        ("7", "cut obj", person, DOG, 0.3, 0.3),
    ]
    assert scenes.box_xyxy.tolist() == [person, DOG, CAT]
    assert scenes.box_label.tolist() == [0, -1, -1]
    assert scenes.pair_object.tolist() == [-1, 1, 2]
    assert scenes.pair_score is None
    assert scenes.sizes is None
    assert (scenes.triplet_verb.dtype, scenes.triplet_pair.dtype) == (np.int8, np.int32)
    assert len(scenes.notes) == 1
    assert scenes.notes[0].endswith(NOTE)
    found = recognise(saved([row]))
    assert (found.format, found.kind, found.dataset) == (
        "v-coco-results",
        "predictions",
        "v-coco",
    )


def test_dicts_of_an_image_come_together(saved):
    rows = [
        vcoco.result(image, hold_agent=score)
        for image, score in ((7, 0.1), ("5", 0.2), ("007", 0.3), (5, 0.4))
    ]
    scenes = read_predictions(saved(rows))
    assert scenes.names.tolist() == ["7", "5"]
    assert scenes.triplet_score.tolist() == [0.1, 0.3, 0.2, 0.4]
    same(scenes, rows)


@pytest.mark.parametrize("kind", [list, tuple, np.array, np.float32])
def test_numpy_numbers(kind, saved):
    row = vcoco.result(hold_agent=0.5, hold_obj=[*DOG, 0.25])
    rows = [
        {
            key: np.int64(value)
            if key == "image_id"
            else kind(value)
            if isinstance(value, list)
            else np.float32(value)
            for key, value in row.items()
        },
        row | {"image_id": np.array(7)},
        row | {"image_id": "COCO_val2014_000000000007.jpg"},
    ]
    scenes = read_predictions(saved(rows))
    assert scenes.names.tolist() == ["7"]
    assert scenes.triplet_score.tolist() == [0.5, 0.25] * 3


@pytest.mark.parametrize("nothing", ["NaN", "null"])
def test_json(tmp_path, nothing):
    rows = [vcoco.result("7", hold_agent=0.5, hold_obj=[NAN, NAN, NAN, NAN, 0.25])]
    path = tmp_path / "x"
    path.write_text(json.dumps(rows).replace("NaN", nothing))
    assert recognise(path).container == "json"
    same(read_predictions(path), rows)


def test_origin(saved):
    row = vcoco.result(hold_obj=[*DOG, 0.8], eat_obj=[0, 0, 0, 0, 0.2])
    zero, one = (read_predictions(saved([row]), origin=origin) for origin in (0, 1))
    np.testing.assert_array_equal(one.box_xyxy, zero.box_xyxy - 1)
    assert one.pair_object.tolist() == zero.pair_object.tolist() == [1, -1]


def test_empty_files_hold_no_predictions(saved):
    scenes = read_predictions(saved([]), dataset="v-coco")
    assert len(scenes) == 0
    assert scenes.vocabulary is v_coco()


def test_data_set(saved):
    path = saved([vcoco.result()])
    assert read_predictions(path, dataset="v-coco").vocabulary is v_coco()
    with pytest.raises(InputError, match=r"is for v-coco \(v-coco-results\), but hico-det is exp"):
        read_predictions(path, dataset="hico-det")
    with pytest.raises(InputError, match=r"holds predictions \(v-coco-results\), but annotations"):
        read_annotations(path)


def template(rows, module="utils"):
    """Pickle dicts as UPT does, without the class being known here."""
    CacheTemplate = type("CacheTemplate", (defaultdict,), {"__module__": module})
    holder = types.SimpleNamespace(CacheTemplate=CacheTemplate)
    before = sys.modules.get(module)
    sys.modules[module] = holder
    try:
        made = []
        for row in rows:
            each = CacheTemplate()
            each.update(row)
            made.append(each)
        return pickle.dumps(made)
    finally:
        del sys.modules[module]
        if before is not None:
            sys.modules[module] = before


SITS = {"image_id": 7, "person_box": [1.0, 2.0, 3.0, 4.0], "sit_agent": 0.5}
SITS["sit_instr"] = [*DOG, 0.5]


@pytest.mark.parametrize("module", ["utils", "cache", "__main__", "utils_tip_cache_and_union"])
def test_cache_template(tmp_path, module):
    path = tmp_path / "cache.pkl"
    path.write_bytes(template([SITS], module))
    scenes = read_predictions(path)
    person = SITS["person_box"]
    assert rows_of(scenes) == [
        ("7", "sit agent", person, None, 0.5, 0.5),
        ("7", "sit instr", person, DOG, 0.5, 0.5),
    ]
    assert scenes.box_xyxy.tolist() == [person, DOG]
    assert scenes.notes[1] == (
        f"{path}: 1 of 1 dicts omit actions, which are read as not predicted; the official "
        f"agent AP and scenario 2 count omitted actions with score 0, as if a CacheTemplate had "
        f"filled them in"
    )
    path.write_bytes(template([{key: SITS[key] for key in SITS if key != "image_id"}], module))
    with pytest.raises(InputError, match="have no 'image_id'"):
        read_predictions(path)


def test_what_a_cache_template_fills_in(tmp_path):
    """The official evaluator sees every key."""
    path = tmp_path / "cache.pkl"
    path.write_bytes(template([SITS, SITS | {"image_id": 5, "hold_obj": [NAN] * 5}]))
    scenes = read_predictions(path)
    full, row = filled_in(scenes)
    assert len(full.triplet_pair) == 51 + 50
    assert full.triplet_score.sum() == scenes.triplet_score.sum() == 2.0
    assert full.triplet_verb.tolist() == [
        *range(51),
        *(n for n in range(51) if vcoco.KEYS[n] != "hold_obj"),
    ]
    for column in ("triplet_verb", "triplet_score", "triplet_action_score", "triplet_image"):
        np.testing.assert_array_equal(getattr(full, column)[row], getattr(scenes, column))
    blank = np.setdiff1d(np.arange(101), row)
    role = np.isin(full.triplet_verb[blank], ROLES)
    boxes = full.pair_object[full.triplet_pair[blank]]
    assert (boxes[~role] == -1).all()
    np.testing.assert_array_equal(full.box_xyxy[boxes[role]][:, 2:], 0.1)
    np.testing.assert_array_equal(
        full.box_xyxy[full.pair_human[full.triplet_pair]], [SITS["person_box"]] * 101
    )
    # Nothing is lost on the way through columns, nor by images.
    write(tmp_path / "x.npz", scenes)
    stored = read_predictions(tmp_path / "x.npz")
    assert stored.triplet_filled.tolist() == scenes.triplet_filled.tolist()
    assert len(filled_in(scenes.take([1]))[0].triplet_pair) == 50
    # The official layout holds what the official evaluator sees.
    write_v_coco(tmp_path / "x.pkl", scenes)
    assert len(read_predictions(tmp_path / "x.pkl").triplet_pair) == 101


def test_cache_of_upt_as_json(shared, equal, tmp_path):
    """The class prints as plain dicts, each with one action."""
    path = shared / "conformance" / "field" / "upt_vcoco_cache_300.pkl"
    cache = read_predictions(path)
    dicts = load(path).value
    assert {len(row) for row in dicts} == {4}
    (tmp_path / "cache.json").write_text(json.dumps(dicts))
    scenes = read_predictions(tmp_path / "cache.json")
    assert equal(scenes, cache)
    assert [note.split(": ", 1)[1] for note in scenes.notes] == [
        note.split(": ", 1)[1] for note in cache.notes
    ]
    assert (len(scenes.triplet_pair), len(filled_in(scenes)[0].triplet_pair)) == (600, 300 * 51)


@pytest.mark.parametrize("dump", [lambda rows: json.dumps(rows).encode(), pickle.dumps])
def test_plain_dicts_without_some_actions(dump, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(dump([SITS | {"hold_ojb": 1}]))
    scenes = read_predictions(path)
    assert scenes.triplet_score.tolist() == [0.5, 0.5]
    assert len(filled_in(scenes)[0].triplet_pair) == 51


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            SITS | {"sitt_agent": 0.5},
            ".sitt_agent: is not an action with a role of V-COCO (did",
        ),
        ({"image_id": 7, "person_box": [1, 2, 3, 4]}, ": the key 'hold_agent' is missing"),
    ],
)
def test_a_misspelt_action_is_not_left_out(row, problem, saved):
    with pytest.raises(InputError) as error:
        read_predictions(saved([row]))
    assert f"dict[0]{problem}" in str(error.value)


def test_the_image_of_a_single_file(saved):
    path = saved([vcoco.result(None, hold_agent=0.5)])
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value) == (
        f"{path}: the dicts have no 'image_id', which QPIC omits for a single image; give the "
        "number of this image with `image_id=ID`"
    )
    for given_id in (7, "7", "COCO_val2014_000000000007.jpg"):
        assert read_predictions(path, image_id=given_id).names.tolist() == ["7"]
    with pytest.raises(InputError, match="'cat' is not the number of a COCO image"):
        read_predictions(path, image_id="cat")
    with pytest.raises(InputError, match=r"name their images \(the first is 7\); leave `image_id`"):
        read_predictions(saved([vcoco.result()]), image_id=7)
    with pytest.raises(InputError, match="`image_id` is for V-COCO predictions, official layout"):
        read_predictions(saved([]), image_id=7)


def change(**values):
    return lambda rows: rows[2].update(values)


BAD = {
    "no dict": (lambda rows: rows.__setitem__(1, 3), "dict 1 (counted from 0): is 3; give a dict"),
    "no image": (lambda rows: rows[2].pop("image_id"),
                 "dict 2 (counted from 0): image_id: None is not the number of a COCO image"),
    "image": (change(image_id="dog"), "dict 2 (counted from 0): image_id: 'dog' is not the number"),
    "list of images": (change(image_id=[1, 2]), "image_id: [1, 2] is not the number of a COCO"),
    "complex image": (change(image_id=np.array([1 + 1j])), "is not the number of a COCO image"),
    "negative image": (change(image_id=-7), "image_id: -7 is not the number of a COCO image"),
    "no person": (lambda rows: rows[2].pop("person_box"),
                  "image '5': dict[1]: the key 'person_box' is missing; has: "),
    "no key": (lambda rows: rows[2].pop("hold_obj"),
               "image '5': dict[1]: the key 'hold_obj' is missing (did you mean"),
    "no agent": (lambda rows: rows[2].pop("stand_agent"), "the key 'stand_agent' is missing"),
    "person of three": (change(person_box=[1, 2, 3]),
                        "person_box: [1, 2, 3] is not four numbers (x1, y1, x2, y2)"),
    "person of text": (change(person_box="abcd"), "person_box: 'abcd' is not four numbers"),
    "person of none": (change(person_box=None), "person_box: None is not four numbers"),
    "person is NaN": (change(person_box=[NAN] * 4),
                      "person_box: the box [nan, nan, nan, nan] is not finite"),
    "person turned": (change(person_box=[5, 2, 3, 4]),
                      "person_box: the box [5.0, 2.0, 3.0, 4.0] ends before it begins"),
    "agent list": (change(hold_agent=[1, 2]), "hold_agent: [1, 2] is not a number"),
    "agent text": (change(hold_agent="high"), "hold_agent: 'high' is not a number"),
    "role none": (change(hold_obj=None), "hold_obj: None is not five numbers"),
    "agent infinite": (change(hold_agent=float("inf")),
                       "image '5': dict[1].hold_agent: the score is inf"),
    "role of four": (change(hold_obj=DOG),
                     "hold_obj: [5.0, 6.0, 7.0, 8.0] is not five numbers (x1, y1, x2, y2, score)"),
    "role number": (change(hold_obj=0.5), "hold_obj: 0.5 is not five numbers"),
    "nested role": (change(hold_obj=[DOG, 1, 2, 3, 4]), "hold_obj: [[5.0, 6.0, 7.0, 8.0], 1, 2, 3"),
    "role partly NaN": (change(hold_obj=[NAN, 6, 7, 8, 0.5]),
                        "hold_obj: the box [nan, 6.0, 7.0, 8.0] is not finite"),
    "role infinite": (change(read_obj=[1, 6, float("inf"), 8, 0.5]),
                      "read_obj: the box [1.0, 6.0, inf, 8.0] is not finite"),
    "role beyond float32": (change(read_obj=[1, 6, 1e200, 8, 0.5]),
                            "read_obj: the box [1.0, 6.0, 1e+200, 8.0] is larger than any image"),
    "role turned": (change(cut_instr=[1, 6, 3, 2, 0.5]),
                    "cut_instr: the box [1.0, 6.0, 3.0, 2.0] ends before it begins; boxes are"),
    "role score infinite": (change(cut_instr=[1, 1, 3, 2, -float("inf")]),
                            "cut_instr: the score is -inf; give a finite number"),
}  # fmt: skip


def test_image_numbers_of_one_hash(tmp_path):
    """As the keys of a dict, so many take Python minutes."""
    ids = [n * sys.hash_info.modulus for n in range(60_000)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps([{"image_id": n, "person_box": [1, 2, 3, 4]} for n in ids]))
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value) == (
        f"{path}: dict 1 (counted from 0): image_id: {ids[1]} is not the number of a COCO image; "
        "give 165 or '165'"
    )


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, saved):
    rows = [vcoco.result(image, hold_agent=0.5) for image in (5, 7, 5, 7)]
    make, expected = BAD[case]
    make(rows)
    path = saved(rows)
    with pytest.raises(InputError) as error:
        read_predictions(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert expected in text
    assert "\n" not in text
    assert len(text) < 500


def test_a_box_without_a_score_is_not_looked_at(saved):
    row = vcoco.result(hold_obj=[9, 9, 1, NAN, NAN], sit_instr=[*DOG, 0.5])
    assert len(read_predictions(saved([row])).box_label) == 2


score = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, NAN])
box = st.sampled_from([DOG, CAT, [0.0] * 4, [NAN] * 4, [0.0, 0.0, 0.1, 0.1]])
value = {key: score if key.endswith("_agent") else st.tuples(box, score) for key in vcoco.KEYS}
some = st.lists(
    st.tuples(
        st.sampled_from([7, "7", 5, 9]),
        st.sampled_from([DOG, CAT, [1.0, 2.0, 30.0, 40.0]]),
        st.fixed_dictionaries({}, optional=value),
    ),
    min_size=1,
    max_size=6,
)


@given(some, st.integers(1, 4))
def test_any_file_equals_the_slow_reading(tmp_path_factory, drawn, chunk):
    rows = [
        vcoco.result(image, person)
        | {key: [*one[0], one[1]] if isinstance(one, tuple) else one for key, one in values.items()}
        for image, person, values in drawn
    ]
    folder = tmp_path_factory.mktemp("drawn")
    path = folder / "x.pkl"
    path.write_bytes(pickle.dumps(rows))
    usual = module._CHUNK
    module._CHUNK = chunk
    try:
        scenes = read_predictions(path)
    finally:
        module._CHUNK = usual
    same(scenes, rows)
    # Written and read again, by the official layout and by columns, nothing changes.
    write_v_coco(folder / "again.pkl", scenes)
    again = read_predictions(folder / "again.pkl")
    assert rows_of(again) == rows_of(scenes)
    assert again.box_xyxy.tolist() == scenes.box_xyxy.tolist()
    write(folder / "again.npz", scenes)
    assert rows_of(read_predictions(folder / "again.npz")) == rows_of(scenes)


@pytest.mark.slow
def test_real_layout(shared, equal, tmp_path):
    path = shared / "conformance" / "v_coco" / "one_stage.pkl"
    scenes = read_predictions(path)
    assert same(scenes, pickle.loads(path.read_bytes()))
    write_v_coco(tmp_path / "x.pkl", scenes)
    assert equal(read_predictions(tmp_path / "x.pkl"), scenes)
    write(tmp_path / "x.npz", scenes)
    assert equal(read_predictions(tmp_path / "x.npz"), scenes)


def test_real_file_of_qpic(shared):
    path = shared / "data" / "v_coco" / "qpic_one_image.pickle"
    with pytest.raises(InputError, match="no 'image_id', which QPIC omits for a single image"):
        read_predictions(path)
    scenes = read_predictions(path, image_id=165)
    rows = [row | {"image_id": 165} for row in pickle.loads(path.read_bytes(), encoding="latin1")]
    assert same(scenes, rows)
    assert len(scenes.triplet_pair) == 100 * 51


def test_several_predictions_of_a_class_go_to_several_dicts(saved, tmp_path):
    rows = [vcoco.result(hold_agent=0.1 * n, hold_obj=[*DOG, 0.2 * n]) for n in (1, 2, 3)]
    pairs = [{"image_id": 7, "box_pairs": [{"h_box": rows[0]["person_box"], "o_box": DOG}]}]
    merged = read_predictions(saved(rows), pairs=saved(pairs, "pairs.pkl"))
    assert len(merged.box_label) == 2
    write_v_coco(tmp_path / "x.pkl", merged)
    assert rows_of(read_predictions(tmp_path / "x.pkl")) == rows_of(read_predictions(saved(rows)))


def test_writing_needs_v_coco_predictions(saved, predictions, tmp_path):
    out = tmp_path / "out.pkl"
    with pytest.raises(InputError, match="are for hico-det; the official V-COCO layout holds pred"):
        write_v_coco(out, read_predictions(saved(predictions)))
    with pytest.raises(InputError, match="triplets have no scores; the layout is for predictions"):
        write_v_coco(out, read_annotations(vcoco.write_annotations(tmp_path)))
    scenes = read_predictions(saved([vcoco.result(hold_agent=0.5)]))
    unnamed = replace(scenes, names=np.array(["a.jpg"]))
    with pytest.raises(
        InputError, match=r"image 'a\.jpg' has no COCO number; the layout needs one"
    ):
        write_v_coco(out, unnamed)
    assert not out.exists()
    assert len(hico_det().verbs) != len(KEYS)
