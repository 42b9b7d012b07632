import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import vcoco

from diaghoi.data.vocabulary import v_coco
from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions, recognise, write_dense_arrays
from diaghoi.formats.v_coco import ACTIONS, LISTED, ROLES

NAN = float("nan")
DOG = [5.0, 6.0, 7.0, 8.0]
KEYS = vcoco.KEYS
HOLD, CUT_INSTR, CUT_OBJ = (KEYS.index(key) for key in ("hold_obj", "cut_instr", "cut_obj"))


def arrays(width, cells, **changes):
    """One image with two people and a dog: pairs (0, dog), (0, nothing), (1, dog)."""
    scores = np.full((3, width), NAN)
    for pair, column, score in cells:
        scores[pair, column] = score
    image = {
        "filename": "COCO_val2014_000000000007.jpg",
        "boxes": np.array([[1, 2, 30, 40], [5, 6, 7, 8], [9, 9, 20, 20]], dtype=np.float32),
        "labels": np.array([0, 16, 0]),
        "verb_scores": scores,
        "sub_ids": np.array([0, 0, 2]),
        "obj_ids": np.array([1, -1, 1]),
    }
    return [image | changes]


def rows_of(scenes):
    return sorted(
        zip(
            scenes.pair_human[scenes.triplet_pair].tolist(),
            scenes.pair_object[scenes.triplet_pair].tolist(),
            [KEYS[verb] for verb in scenes.triplet_verb],
            scenes.triplet_score.tolist(),
            strict=True,
        )
    )


def column(key, of):
    return of.tolist().index(KEYS.index(key))


def test_roles(saved):
    known = ROLES
    cells = [
        (0, column("cut_instr", known), 0.5),
        (0, column("cut_obj", known), 0.75),
        (1, column("cut_obj", known), 0.25),
        (2, column("hold_obj", known), 0.125),
    ]
    path = saved(arrays(25, cells))
    scenes = read_predictions(path)
    assert scenes.vocabulary is v_coco()
    assert scenes.names.tolist() == ["7"]
    assert rows_of(scenes) == [
        (0, -1, "cut_agent", 0.75),
        (0, -1, "cut_obj", 0.25),
        (0, 1, "cut_instr", 0.5),
        (0, 1, "cut_obj", 0.75),
        (2, -1, "hold_agent", 0.125),
        (2, 1, "hold_obj", 0.125),
    ]
    # The last pair is that of person 2 alone; pairs without an object are not listed.
    assert scenes.pair_human.tolist() == [0, 0, 2, 2]
    assert scenes.pair_object.tolist() == [1, -1, 1, -1]
    np.testing.assert_array_equal(scenes.pair_score, [0.75, NAN, 0.125, NAN])
    assert scenes.listed.tolist() == [True, False, True, False]
    assert scenes.box_label.tolist() == [0, 16, 0]
    assert scenes.notes == (f"{path}: no 'action_scores'; the triplet scores replace them",)
    assert recognise(path).dataset == "v-coco"


STAND, READ = (column(key, LISTED) for key in ("stand_agent", "read_obj"))
AGENT, CUT = KEYS.index("hold_agent"), ACTIONS.index("cut")
CASES = {
    "actions": (
        26,
        [(0, CUT, 0.5), (2, CUT, 0.25)],
        [(human, thing, f"cut_{role}", score) for human, score in ((0, 0.5), (2, 0.25))
         for thing, role in ((-1, "agent"), (1, "instr"), (1, "obj"))],
    ),
    "verbs of QPIC": (
        29,
        [(0, STAND, 0.5), (1, STAND, 0.75), (2, READ, 0.25)],
        [(0, -1, "stand_agent", 0.75), (2, -1, "read_agent", 0.25), (2, 1, "read_obj", 0.25)],
    ),
    "all classes": (
        51,
        [(0, AGENT, 0.5), (2, AGENT, 0.25), (2, HOLD, 0.125), (1, HOLD, 0.0)],
        [(0, -1, "hold_agent", 0.5), (0, -1, "hold_obj", 0.0), (2, -1, "hold_agent", 0.25),
         (2, 1, "hold_obj", 0.125)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_columns_of_scores(case, saved):
    width, cells, expected = CASES[case]
    scenes = read_predictions(saved(arrays(width, cells)))
    assert rows_of(scenes) == expected
    path = saved(arrays(width, cells, action_scores=np.full((3, width), 0.5)))
    scenes = read_predictions(path)
    assert rows_of(scenes) == expected
    assert scenes.triplet_action_score.tolist() == [0.5] * len(expected)
    assert scenes.notes == ()


def test_action_scores_stand_in_where_they_are_missing(saved):
    actions = np.full((3, 51), NAN)
    path = saved(arrays(51, [(0, HOLD, 0.5)], action_scores=actions))
    assert read_predictions(path).triplet_action_score.tolist() == [0.5]


def test_unknown_labels_and_other_numberings(saved):
    scenes = read_predictions(saved(arrays(25, [], labels=[1, -1, 1])))
    assert scenes.box_label.tolist() == [0, -1, 0]
    assert len(scenes.triplet_pair) == 0
    assert scenes.pair_score[[0, 2]].tolist() == [0.0, 0.0]


def test_the_layout_of_boxes_is_the_one_given(saved):
    scenes = read_predictions(saved(arrays(25, [])), boxes="xywh")
    assert scenes.box_xyxy[1].tolist() == [5, 6, 12, 14]


BAD = {
    "width": ({"verb_scores": np.zeros((3, 24))},
              "verb_scores: has shape (3, 24); give (rows, 25) or (rows, 26) or (rows, 29) or"),
    "flat": ({"verb_scores": np.zeros(25)}, "verb_scores: has shape (25,); give (rows, 25)"),
    "infinite": ({"verb_scores": np.full((3, 25), np.inf)},
                 "verb_scores[0]: score 0 is inf; give a finite number or NaN"),
    "object": ({"obj_ids": [1, -2, 1]}, "obj_ids[1]: there is no box in 'boxes' -2"),
    "object out of range": ({"obj_ids": [1, 3, 1]}, "obj_ids[1]: there is no box in 'boxes' 3"),
    "human": ({"sub_ids": [-1, 0, 1]}, "sub_ids[0]: there is no box in 'boxes' -1; there are: 0"),
    "rows": ({"verb_scores": np.zeros((2, 25))}, "verb_scores: has 2 rows, but 'sub_ids' has 3"),
    "label": ({"labels": [0, 95, 0]}, "labels[1]: unknown object category 95"),
    "box": ({"boxes": [[5, 2, 1, 4]] * 3}, "the box [5.0, 2.0, 1.0, 4.0] ends before it begins"),
    "NaN": ({"boxes": [[NAN, 2, 1, 4]] * 3}, "the box [nan, 2.0, 1.0, 4.0] is not finite"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, saved):
    changes, expected = BAD[case]
    path = saved(arrays(25, [], **changes))
    with pytest.raises(InputError) as error:
        read_predictions(path, dataset="v-coco")
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)


def test_data_sets_differ_in_width(saved):
    with pytest.raises(
        InputError, match=r"is for v-coco \(dense-arrays\), but hico-det is expecte"
    ):
        read_predictions(saved(arrays(25, [])), dataset="hico-det")
    assert recognise(saved(arrays(24, []))).dataset == "hico-det"


score = st.sampled_from([NAN, 0.0, 0.25, 0.5, 1.0])


@given(st.lists(st.lists(score, min_size=51, max_size=51), min_size=3, max_size=3))
def test_written_and_read_again(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("dense")
    content = arrays(51, [], verb_scores=np.array(drawn))
    np.savez(folder / "x.npz", images=np.array(content, dtype=object))
    scenes = read_predictions(folder / "x.npz")
    write_dense_arrays(folder / "y.pkl", scenes)
    again = read_predictions(folder / "y.pkl")
    assert rows_of(again) == rows_of(scenes)
    np.testing.assert_array_equal(again.pair_object, scenes.pair_object)
    np.testing.assert_array_equal(again.pair_score, scenes.pair_score)


@pytest.mark.parametrize("missing", [DOG, [NAN] * 4])
def test_the_label_after_the_last_is_no_object(saved, missing):
    """QPIC has an 81st category for roles without a box, and writes NaN for their boxes."""
    [image] = arrays(29, [(0, 0, 0.5), (2, 0, 0.25)])
    image["boxes"] = np.array([[1, 2, 30, 40], missing, [9, 9, 20, 20], DOG])
    image |= {"labels": np.array([0, 80, 0, 16]), "obj_ids": np.array([1, -1, 3])}
    path = saved([image])
    scenes = read_predictions(path)
    assert rows_of(scenes) == [
        (0, -1, "hold_agent", 0.5),
        (0, -1, "hold_obj", 0.5),
        (1, -1, "hold_agent", 0.25),
        (1, 2, "hold_obj", 0.25),
    ]
    assert scenes.box_label.tolist() == [0, 0, 16]
    assert scenes.box_xyxy.tolist() == [[1, 2, 30, 40], [9, 9, 20, 20], DOG]
    assert scenes.notes[0] == (
        f"{path}: 1 object boxes have the label 80 or are NaN: their pairs have no object"
    )


def test_a_box_of_nan_is_no_object_but_never_a_person(saved):
    [image] = arrays(29, [(0, 0, 0.5)])
    image["boxes"] = np.array([[1, 2, 30, 40], [NAN] * 4, [9, 9, 20, 20]])
    assert read_predictions(saved([image])).pair_object.max() == -1
    image["boxes"] = np.array([[NAN] * 4, DOG, [9, 9, 20, 20]])
    with pytest.raises(InputError, match=r"boxes\[0\].*not finite"):
        read_predictions(saved([image]))
    for labels in ([0, 81, 0], [80, 16, 0]):
        image |= {"boxes": np.array([[1, 2, 3, 4], DOG, DOG]), "labels": np.array(labels)}
        with pytest.raises(InputError):
            read_predictions(saved([image]), objects="coco80")


@pytest.mark.parametrize("nan", [False, True])
def test_file_of_qpic_with_label_80(nan, shared, saved, equal):
    """It is read like the same file in which those pairs name no object."""
    path = shared / "conformance" / "field" / "qpic_vcoco_label80.pkl"
    [image] = pickle.loads(path.read_bytes())
    kept = image["labels"] != 80
    assert (~kept).sum() == 2
    place = np.where(kept, np.cumsum(kept) - 1, -1)
    without = image | {key: place[image[key]] for key in ("sub_ids", "obj_ids")}
    expected = read_predictions(
        saved([without | {key: image[key][kept] for key in ("boxes", "labels")}])
    )
    assert (expected.pair_object == -1).any()
    if nan:
        image["boxes"][~kept] = NAN
        path = saved([image])
    scenes = read_predictions(path)
    assert equal(scenes, expected)
    assert scenes.notes[0] == (
        f"{path}: 2 object boxes have the label 80 or are NaN: their pairs have no object"
    )
