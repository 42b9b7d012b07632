import json

import numpy as np
import pytest
from support import vcoco

import diaghoi
from diaghoi.exceptions import InputError
from diaghoi.formats import (
    read,
    read_annotations,
    read_predictions,
    recognise,
    write,
)

PERSON, DOG, CAT = [1.0, 2.0, 30.0, 40.0], [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 2.0, 2.0]


@pytest.fixture
def results():
    return [
        vcoco.result(hold_agent=0.5, hold_obj=[*DOG, 0.9], look_agent=0.25),
        vcoco.result(hold_agent=0.75, hold_obj=[*DOG, 0.1]),
        vcoco.result(5, look_agent=0.5, look_obj=[*DOG, 0.9]),
    ]


@pytest.fixture
def pair_rows():
    rows = [(PERSON, DOG), (PERSON, CAT), (PERSON, DOG)]
    return [
        {
            "image_id": 7,
            "box_pairs": [{"h_box": [h], "o_box": [o], "o_label": 80} for h, o in rows],
        },
        {"image_id": "000009", "box_pairs": [{"h_box": PERSON, "o_box": DOG}]},
    ]


def test_recognised(saved, pair_rows):
    found, scenes = read(saved(pair_rows))
    assert (found.format, found.kind, found.dataset) == ("pair-lists", "pairs", "v-coco")
    assert scenes.names.tolist() == ["7", "9"]
    assert scenes.pair_score is None
    assert scenes.box_label.tolist() == [0, -1, -1, 0, -1]
    with pytest.raises(InputError, match=r"is for v-coco \(pair-lists\), but hico-det is expected"):
        read(saved(pair_rows), dataset="hico-det")


def test_the_triplets_score_the_pairs(saved, results, pair_rows):
    scenes = read_predictions(saved(results), pairs=saved(pair_rows, "pairs.pkl"))
    assert scenes.names.tolist() == ["7", "5", "9"]
    # Boxes of the two dicts of image 7 are one; its two equal listed pairs stay two.
    assert scenes.box_image.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert scenes.box_label.tolist() == [0, -1, -1, 0, -1, 0, -1]
    np.testing.assert_array_equal(scenes.pair_score, [0.75, 0.0, 0.75, np.nan, np.nan, np.nan, 0.0])
    assert scenes.listed.tolist() == [True, True, True, False, False, False, True]
    things = scenes.pair_object[scenes.triplet_pair]
    assert things.tolist() == [-1, 1, -1, -1, 1, -1, 4]
    assert scenes.triplet_score.tolist() == [0.5, 0.9, 0.25, 0.75, 0.1, 0.5, 0.9]
    assert "pairs.pkl: pairs without scores; the score of a pair is the highest" in scenes.notes[1]


def test_columns_hold_pairs_without_scores(saved, results, pair_rows, tmp_path, equal):
    path = tmp_path / "pairs.npz"
    write(path, read(saved(pair_rows))[1])
    assert recognise(path).kind == "pairs"
    merged = read_predictions(saved(results), pairs=path)
    assert equal(merged, read_predictions(saved(results), pairs=saved(pair_rows, "pairs.pkl")))


def test_scores_of_the_file(saved, results, pair_rows):
    for image in pair_rows:
        for n, row in enumerate(image["box_pairs"]):
            row["hoi_score_inter"] = 0.1 * n
    scenes = read_predictions(saved(results), pairs=saved(pair_rows, "pairs.pkl"))
    assert scenes.pair_score[:3].tolist() == [0.0, 0.1, 0.2]
    assert len(scenes.notes) == 1


def test_categories_where_the_user_says_how(saved, pair_rows):
    for image in pair_rows:
        for row in image["box_pairs"]:
            row["o_label"] = 18
    _, scenes = read(saved(pair_rows), objects="coco91")
    assert scenes.box_label.tolist() == [0, 16, 16, 0, 16]


def test_file_names(saved, results, pair_rows):
    for image in pair_rows:
        image["filename"] = str(int(image.pop("image_id")))
    scenes = read_predictions(saved(results), pairs=saved(pair_rows, "pairs.pkl"))
    assert scenes.pair_score[0] == 0.75


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda rows: rows[0].update(image_id="dog9x"), "none"),
        (lambda rows: rows[1].update(image_id=7), "image '7': image_id: used for two images"),
        (lambda rows: rows[1].update(image_id=None), "image_id: None is not the name of an image"),
        (lambda rows: rows[1].pop("image_id"), "image 1 (counted from 0): the key 'image_id' is"),
        (
            lambda rows: rows[0]["box_pairs"][1].update(h_box=[DOG, DOG]),
            "image '7': box_pairs[1].h_box: [[5.0, 6.0, 7.0, 8.0], [5.0, 6.0, 7.0, 8.0]] is not fo",
        ),
        (
            lambda rows: rows[0]["box_pairs"][1].update(hoi_score_inter=1.0),
            "box_pairs[0]: the key 'hoi_score_inter' is missing",
        ),
        (lambda rows: rows[0]["box_pairs"][1].pop("o_box"), "the key 'o_box' is missing"),
        (lambda rows: rows[0]["box_pairs"].append(3), "box_pairs[3]: is 3; give a dict"),
    ],
)
def test_bad_input(change, expected, saved, pair_rows):
    change(pair_rows)
    path = saved(pair_rows)
    if expected == "none":
        assert read(path)[1].names[0] == "dog9x"
        return
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)


def test_scores_are_needed_elsewhere(saved, predictions, pair_file):
    for image in pair_file:
        for row in image["box_pairs"]:
            del row["hoi_score_inter"]
    with pytest.raises(InputError, match="the key 'hoi_score_inter' is missing"):
        read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "conformance" / "v_coco"


@pytest.fixture(scope="module")
def truth(folder):
    return read_annotations(folder / "vcoco_test.json")


@pytest.mark.parametrize(
    ("detector", "with_pairs"),
    [
        ("one_stage", False),
        ("two_stage", True),
        pytest.param("one_stage", True, marks=pytest.mark.slow),
        pytest.param("two_stage", False, marks=pytest.mark.slow),
    ],
)
def test_expected_figures(detector, with_pairs, folder, truth):
    expected = json.loads((folder / f"{detector}_expected.json").read_text())
    pairs = folder / f"{detector}_pairs.pkl" if with_pairs else None
    found = read_predictions(folder / f"{detector}.pkl", pairs=pairs)
    result = diaghoi.diagnose(truth, found, protocol="v-coco-s1").to_dict()
    for part, official in expected["official"].items():
        assert result["official"][part]["ap"] == pytest.approx(official["ap"], abs=1e-6)
        assert result["official"][part]["classes"] == pytest.approx(official["classes"], abs=1e-6)
    assert {key: result["errors"][key] for key in expected["errors"]} == expected["errors"]
    after = {name: result["oracles"][name]["map"]["full"] for name in result["oracles"]}
    after["baseline"] = result["map"]["full"]
    for name, oracle in expected["oracles"].items():
        assert after[name] == pytest.approx(oracle["role_ap"], abs=1e-6)


def test_classes_that_name_no_object_are_refused(tmp_path):
    path = tmp_path / "x.json"
    image = {"image_id": "a.jpg", "boxes": [PERSON, DOG], "h_idx": [0], "o_idx": [1]}
    path.write_text(json.dumps([image | {"hoi_class": [3], "hoi_score": [0.5]}]))
    with pytest.raises(InputError) as refusal:
        read_predictions(path, dataset="v-coco")
    assert "has HOI classes instead of objects, but the classes of v-coco do not determine" in str(
        refusal.value
    )
