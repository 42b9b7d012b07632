import json
import pickle

import numpy as np
import pytest

from diaghoi.data.arrays import distinct_boxes
from diaghoi.data.vocabulary import object_numberings
from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_predictions, recognise, write, write_pair_lists
from diaghoi.formats.merging import merge


def pairs_of(scenes, image):
    return [
        (scenes.box_xyxy[h].tolist(), int(scenes.box_label[o]), float(score))
        for h, o, score, where in zip(
            scenes.pair_human,
            scenes.pair_object,
            scenes.pair_score,
            scenes.pair_image,
            strict=True,
        )
        if where == image
    ]


def test_pairs_alone(saved, pair_file, tmp_path):
    path = saved(pair_file)
    found, scenes = read(path)
    assert (found.format, found.kind) == ("pair-lists", "pairs")
    assert scenes.names.tolist() == ["two.jpg", "one.jpg", "new.jpg"]
    assert scenes.box_image.tolist() == [0, 0, 1, 1, 1]  # equal boxes of one image are one box
    assert scenes.box_label.tolist() == [0, 17, 0, 1, 3]
    assert scenes.pair_human.tolist() == [0, 2, 2, 2]
    assert scenes.pair_object.tolist() == [1, 3, 3, 4]
    assert scenes.pair_score.tolist() == [0.25, 0.8, 0.6, 0.4]
    assert len(scenes.triplet_pair) == 0
    assert scenes.triplet_score is None
    other = tmp_path / "x.json"
    other.write_text(json.dumps(pair_file))
    assert recognise(other).container == "json"
    assert read(other)[1].pair_score.tolist() == scenes.pair_score.tolist()


def test_merged_with_triplets(saved, predictions, pair_file):
    alone = read_predictions(saved(predictions))
    scenes = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    assert scenes.names.tolist() == ["one.jpg", "none.jpg", "two.jpg", "new.jpg"]
    # The boxes of the triplets, then those that only the pairs have.
    assert scenes.box_image.tolist() == [0, 0, 0, 0, 2, 2, 2]
    assert scenes.box_label.tolist() == [0, 1, 0, 3, 0, 17, 0]
    first, second = [10.0, 20.0, 50.0, 80.0], [0.0, 0.0, 5.0, 5.0]
    # Listed pairs in stored order, two of them equal; then the pair that only triplets mention.
    assert pairs_of(scenes, 0)[:3] == [(first, 1, 0.8), (first, 1, 0.6), (first, 3, 0.4)]
    human, label, score = pairs_of(scenes, 0)[3]
    assert (human, label) == (second, 1)
    assert np.isnan(score)
    assert scenes.listed.tolist() == [True, True, True, False, True, False]
    # Triplets keep order, verbs, scores and boxes; the listed pair is the first of the two.
    assert scenes.triplet_pair.tolist() == [3, 0, 3, 5]
    assert scenes.triplet_verb.tolist() == alone.triplet_verb.tolist()
    assert scenes.triplet_score.tolist() == alone.triplet_score.tolist()
    for table in ("pair_human", "pair_object"):
        old = alone.box_xyxy[getattr(alone, table)[alone.triplet_pair]]
        new = scenes.box_xyxy[getattr(scenes, table)[scenes.triplet_pair]]
        np.testing.assert_array_equal(old, new)


def test_box_scores_of_listed_boxes_are_unknown(saved, predictions, pair_file):
    for image in predictions:
        for box in image["predictions"]:
            box["score"] = 0.5
    scenes = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    np.testing.assert_array_equal(scenes.box_score, [0.5, 0.5, 0.5, np.nan, 0.5, 0.5, np.nan])


def test_same_coordinates_and_another_label_are_another_box(saved, predictions, pair_file):
    pair_file[1]["box_pairs"][2]["o_box"] = pair_file[1]["box_pairs"][0]["o_box"]
    scenes = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    assert scenes.box_label[scenes.box_image == 0].tolist() == [0, 1, 0, 3]


def test_nearly_equal_boxes_stay_two(saved, predictions, pair_file):
    edge = predictions[0]["predictions"][0]["bbox"]
    edge[0] = float(np.nextafter(edge[0], 100))
    scenes = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    assert (scenes.box_image == 0).sum() == 5


def test_without_names_by_position(saved, predictions, pair_file):
    for image in predictions + pair_file:
        del image["filename"]
    triplets, pairs = saved(predictions), saved(pair_file, "pairs.pkl")
    scenes = read_predictions(triplets, pairs=pairs)
    assert np.bincount(scenes.pair_image[scenes.listed]).tolist() == [1, 3]
    with pytest.raises(InputError, match=r"has 2 images and .* has 3; without image names in both"):
        read_predictions(triplets, pairs=saved(pair_file[:2], "pairs.pkl"))


def test_names_of_one_file_serve_for_both(saved, predictions, pair_file):
    for image in predictions:
        del image["filename"]
    scenes = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    assert scenes.names.tolist() == ["two.jpg", "one.jpg", "new.jpg"]


def test_pairs_of_other_images(saved, predictions, pair_file):
    for image in pair_file:
        image["filename"] = "train_" + image["filename"]
    with pytest.raises(
        InputError, match=r"none of its images is in .*'train_two\.jpg' in the former and"
    ):
        read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))


def test_pairs_for_a_file_that_lists_them(saved, dense, pair_file):
    with pytest.raises(InputError, match="already lists scored pairs; leave out the pair file"):
        read_predictions(saved(dense), pairs=saved(pair_file, "pairs.pkl"))


@pytest.mark.parametrize("numbering", ["coco91", "hico80"])
def test_numbered_like_the_triplets(saved, predictions, pair_file, numbering):
    numbers = {coco80: n for n, coco80 in object_numberings()[numbering].items()}
    expected = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    for image in predictions:
        for box in image["predictions"]:
            box["category_id"] = numbers[box["category_id"]]
    for image in pair_file:
        for pair in image["box_pairs"]:
            pair["o_label"] = numbers[pair["o_label"]]
    triplets, pairs = saved(predictions), saved(pair_file, "pairs.pkl")
    scenes = read_predictions(triplets, pairs=pairs)
    assert scenes.notes[0] == (
        f"{triplets}: all human boxes have label {numbers[0]}: objects are numbered as {numbering}"
    )
    assert scenes.notes[1:] == expected.notes
    assert scenes.box_label.tolist() == expected.box_label.tolist()
    assert scenes.triplet_pair.tolist() == expected.triplet_pair.tolist()
    other = read_predictions(triplets, pairs=pairs, objects=numbering)
    assert other.box_label.tolist() == expected.box_label.tolist()
    assert other.notes == expected.notes


def test_pairs_of_a_columnar_file_keep_their_own_numbers(saved, predictions, pair_file, tmp_path):
    for image in predictions:
        for box in image["predictions"]:
            box["category_id"] += 1
    write(tmp_path / "x.npz", read_predictions(saved(predictions)))
    scenes = read_predictions(tmp_path / "x.npz", pairs=saved(pair_file, "pairs.pkl"))
    assert scenes.listed[scenes.triplet_pair].tolist() == [False, True, False, False]


def test_pairs_of_another_detector(saved, predictions, pair_file):
    pairs = saved(pair_file, "pairs.pkl")
    scenes = read_predictions(saved(predictions), pairs=pairs)
    assert scenes.notes == (
        f"only 33 % of the pairs of the triplets are in {pairs}; do both files belong to the same "
        f"detector?",
    )
    boxes = [box["bbox"] for box in predictions[0]["predictions"]]
    pair_file[1]["box_pairs"][2] |= {"h_box": boxes[2], "o_box": boxes[1], "o_label": 1}
    assert read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl")).notes == ()


def test_a_list_of_no_images(saved, predictions):
    pairs = saved([], "pairs.pkl")
    for _ in range(2):
        scenes = read_predictions(saved(predictions), pairs=pairs)
        assert not scenes.listed.any()
        assert len(scenes.triplet_pair) == 4
        assert scenes.notes[-1] == f"{pairs}: lists no pairs"
        for image in predictions:
            image.pop("filename", None)


def test_empty_files(saved, predictions, pair_file):
    empty = [{**image, "box_pairs": []} for image in pair_file]
    scenes = read_predictions(saved(predictions), pairs=saved(empty, "pairs.pkl"))
    assert np.isnan(scenes.pair_score).all()
    assert not scenes.listed.any()
    scenes = read_predictions(saved([]), pairs=saved(pair_file, "pairs.pkl"))
    assert len(scenes.pair_human) == 4
    assert len(scenes) == 3


def test_written_as_published(saved, predictions, pair_file, tmp_path):
    out = tmp_path / "out.pkl"
    write_pair_lists(out, read(saved(pair_file))[1])
    assert pickle.loads(out.read_bytes()) == pair_file
    merged = read_predictions(saved(predictions), pairs=out)
    write_pair_lists(out, merged)
    written = {image["filename"]: image["box_pairs"] for image in pickle.loads(out.read_bytes())}
    assert written["one.jpg"] == pair_file[1]["box_pairs"]
    assert written["none.jpg"] == []
    with pytest.raises(InputError, match="no list of pairs, so there is no pair file to write"):
        write_pair_lists(out, read_predictions(saved(predictions)))


@pytest.mark.parametrize("collide", [False, True])
def test_equal_boxes_are_found_whatever_the_hash(collide, monkeypatch):
    if collide:
        monkeypatch.setattr("diaghoi.data.arrays._MIX", (0, 0, 0, 0))
    random = np.random.default_rng(3)
    image = np.sort(random.integers(0, 20, 2000))
    label = random.integers(0, 3, 2000)
    xyxy = random.integers(0, 3, (2000, 4)).astype(np.float64)
    first, number = distinct_boxes(image, label, xyxy)
    rows = [(i, k, *box) for i, k, box in zip(image, label, xyxy.tolist(), strict=True)]
    order = {row: n for n, row in enumerate(dict.fromkeys(rows))}
    assert number.tolist() == [order[row] for row in rows]
    assert first.tolist() == [rows.index(row) for row in order]


@pytest.mark.parametrize(
    "detector",
    [
        "one_stage",
        pytest.param("two_stage", marks=pytest.mark.slow),
        pytest.param("weak", marks=pytest.mark.slow),
    ],
)
def test_real_files(shared, detector):
    folder = shared / "conformance/hico_det_diagnosis"
    raw = pickle.loads((folder / f"{detector}_pairs.pkl").read_bytes())
    alone = read_predictions(folder / f"{detector}_preds.pkl")
    scenes = read_predictions(
        folder / f"{detector}_preds.pkl", pairs=folder / f"{detector}_pairs.pkl"
    )
    listed = np.flatnonzero(scenes.listed)
    pairs = [pair for image in raw for pair in image["box_pairs"]]
    assert len(listed) == len(pairs)
    for table, key in (("pair_human", "h_box"), ("pair_object", "o_box")):
        found = scenes.box_xyxy[getattr(scenes, table)[listed]]
        np.testing.assert_array_equal(found, [pair[key] for pair in pairs])
    assert scenes.pair_score[listed].tolist() == [pair["hoi_score_inter"] for pair in pairs]
    old = alone.box_xyxy[alone.pair_object[alone.triplet_pair]]
    new = scenes.box_xyxy[scenes.pair_object[scenes.triplet_pair]]
    np.testing.assert_array_equal(old, new)
    assert (np.diff(scenes.pair_image) >= 0).all()
    assert (np.diff(scenes.triplet_image) >= 0).all()


def test_merge_keeps_a_pair_without_object(saved, predictions, pair_file):
    from dataclasses import replace

    triplets, pairs = read_predictions(saved(predictions)), read(saved(pair_file))[1]
    lonely = np.where(np.arange(len(triplets.pair_human)) == 1, -1, triplets.pair_object)
    scenes = merge(replace(triplets, pair_object=lonely), pairs)
    assert scenes.pair_object[scenes.triplet_pair[1]] == -1
    assert scenes.box_xyxy[scenes.pair_human[scenes.triplet_pair[1]]].tolist() == [10, 20, 50, 80]
