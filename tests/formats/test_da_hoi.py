import json
import pickle

import numpy as np
import pytest
from support.torch_files import saved

from diaghoi.data.joining import join
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions, recognise

VOCABULARY = hico_det()
PHRASES = ["riding a bicycle", "sitting on a bicycle", "hopping on a bicycle"]
VERBS = ["ride", "sit_on", "hop_on"]


def image(**changes):
    return {
        "img_id": 683,
        "pred_object_names": ["bicycle", "traffic light"],
        "bboxes": [[0.0, 0.5, 0.25, 1.0, 0.5, 0.5, 1.0, 1.0], [0, 0, 1, 1, 0.25, 0, 0.5, 0.5]],
        "max_scores": [[0.5, 0.75, 1.0], [1.0, 1.0, 1.0]],
        "merge_potential_list": [PHRASES, ["standing under a traffic light"]],
        "merge_pred_logits": [
            (np.array([[0.5, 1, 0]], "f4"), np.array([[1, 1, 0]], "f4")),
            (np.array([[0.5]], "f2"), np.array([[9]], "f2"), np.array([[0.25]], "f2")),
        ],
        "width": 640,
        "height": 480,
    } | changes


def empty(**changes):
    lists = {key: [] for key in image() if key.startswith(("pred", "bb", "max", "merge"))}
    return {"img_id": 684, **lists, "width": 9, "height": 9} | changes


def test_predictions(tmp_path):
    path = saved(tmp_path / "answer0.pkl", [image(), empty()])
    assert recognise(path).format == "da-hoi"
    scenes = read_predictions(path)
    assert scenes.names.tolist() == ["683", "684"]
    assert scenes.sizes.tolist() == [[640, 480], [9, 9]]
    assert [VOCABULARY.verbs[n] for n in scenes.triplet_verb] == [*VERBS, "stand_under"]
    assert [VOCABULARY.objects[n] for n in scenes.box_label[scenes.pair_object]] == [
        "bicycle", "traffic_light"
    ]  # fmt: skip
    np.testing.assert_array_equal(
        scenes.box_xyxy[scenes.pair_human], [[0, 240, 160, 480], [0, 0, 640, 480]]
    )
    np.testing.assert_array_equal(
        scenes.box_xyxy[scenes.pair_object], [[320, 240, 640, 480], [160, 0, 320, 240]]
    )
    raised = [0.75**1.3 * 0.375**1.3, 0.375**1.3, 0, 0.375**1.3]
    np.testing.assert_allclose(scenes.triplet_score, raised, rtol=1e-3)
    np.testing.assert_array_equal(scenes.triplet_action_score, [0.75, 1, 0, 0.375])


def test_images_are_joined_by_number(tmp_path):
    annotated = [
        {"filename": f"HICO_test2015_{n:08}.jpg", "annotations": [], "hoi_annotation": []}
        for n in (683, 684)
    ]
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps(annotated))
    predictions = read_predictions(saved(tmp_path / "x.pkl", [image(), empty()]))
    joined = join(read_annotations(truth), predictions)[2]
    assert joined.annotated.all()
    assert joined.predicted.all()


@pytest.mark.parametrize(
    ("phrase", "verb", "thing"),
    [
        ("riding a horse", "ride", "horse"),
        ("hitting a sports ball", "hit", "sports_ball"),
        ("spining a sports ball", "spin", "sports_ball"),
        ("siping a wine glass", "sip", "wine_glass"),
        ("tieing a boat", "tie", "boat"),
        ("lying on a bench", "lie_on", "bench"),
        ("standing under a stop sign", "stand_under", "stop_sign"),
    ],
)
def test_phrases(phrase, verb, thing, tmp_path):
    one = empty(
        pred_object_names=[thing.replace("_", " ")],
        bboxes=[[0, 0, 1, 1] * 2],
        max_scores=[[1, 1, 1]],
        merge_potential_list=[[phrase]],
        merge_pred_logits=[(np.ones((1, 1), "f4"),)],
    )
    scenes = read_predictions(saved(tmp_path / "x.pkl", [one]))
    assert VOCABULARY.verbs[scenes.triplet_verb[0]] == verb
    assert VOCABULARY.objects[scenes.box_label[1]] == thing


BAD = {
    "no size": ({"width": None}, "width: nan is not a whole number from 1"),
    "a size of nothing": ({"height": 0}, "height: 0.0 is not a whole number from 1"),
    "pixels": ({"bboxes": [[0, 0, 9, 9] * 2] * 2}, "are not fractions of the image"),
    "four numbers": ({"bboxes": [[0, 0, 1, 1]] * 2}, "is not eight numbers"),
    "one name": ({"pred_object_names": ["bicycle"]}, "lengths differ: pred_object_names 1, bb"),
    "two scores": ({"max_scores": [[1, 1]] * 2}, "is not three numbers"),
    "another object": ({"pred_object_names": ["car"] * 2}, "does not name a class of 'car'"),
    "no phrases": ({"merge_potential_list": [None] * 2}, "is None; give a list"),
    "another phrase": ({"merge_potential_list": [["rides"]] * 2}, "'rides' does not name a class"),
    "no logits": ({"merge_pred_logits": [(), ()]}, "(1, 3), one per phrase"),
    "fewer logits": ({"merge_pred_logits": [(np.ones((1, 2), "f4"),)] * 2}, "(1, 3)"),
    "words": ({"merge_pred_logits": ["ab", "c"]}, "are not arrays"),
    "not a number": (
        {"merge_pred_logits": [(np.full((1, 3), np.nan, "f4"),), (np.ones((1, 1), "f4"),)]},
        "merge_pred_logits[0].score: the score is nan",
    ),
}


@pytest.mark.parametrize(("changes", "expected"), BAD.values(), ids=BAD)
def test_bad_values(changes, expected, tmp_path):
    path = saved(tmp_path / "x.pkl", [image(**changes)])
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value).startswith(f"{path}: image '683': ")
    assert expected in str(error.value)


def test_without_sizes_boxes_stay_fractions(tmp_path):
    without = image()
    del without["width"], without["height"]
    found = read_predictions(saved(tmp_path / "x.pkl", [without]))
    assert found.sizes is None
    assert found.box_xyxy.max() <= 1
    with pytest.raises(InputError, match="the key 'width' is missing"):
        read_predictions(saved(tmp_path / "y.pkl", [empty(), without]))


@pytest.mark.slow
def test_a_phrase_list_repeated_without_end(tmp_path):
    phrases = PHRASES * 1000
    many = image(
        pred_object_names=["bicycle"] * 1000,
        bboxes=[[0, 0, 1, 1] * 2] * 1000,
        max_scores=[[1, 1, 1]] * 1000,
        merge_potential_list=[phrases] * 1000,
        merge_pred_logits=[(np.ones((1, 3000), "f4"),)] * 1000,
    )
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps([many]))
    with pytest.raises(InputError, match="repeats the same lists"):
        read_predictions(path)
