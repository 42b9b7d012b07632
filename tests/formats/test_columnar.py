import os
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import problems

from diaghoi.exceptions import InputError
from diaghoi.formats import (
    read,
    read_annotations,
    read_predictions,
    recognise,
    write,
    write_triplet_lists,
)
from diaghoi.formats.output import replacing


@pytest.fixture
def scenes(saved, predictions, pair_file):
    for image in predictions:
        for box in image["predictions"]:
            box["score"] = 0.5
    return read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))


def test_round_trip(scenes, tmp_path, equal):
    path = tmp_path / "x.npz"
    write(path, scenes)
    found = recognise(path)
    assert (found.format, found.kind, found.container) == ("diaghoi", "predictions", "npz")
    other = read_predictions(path)
    assert equal(other, scenes)
    assert other.source == str(path)
    assert other.notes == scenes.notes
    for column in ("box_image", "pair_human", "triplet_verb"):
        assert getattr(other, column).dtype == np.int64
        with np.load(path) as arrays:
            assert arrays[column].dtype == np.int16
    np.testing.assert_array_equal(read_predictions(path, origin=1).box_xyxy, scenes.box_xyxy - 1)


def test_annotations_pairs_and_nothing(saved, annotations, pair_file, tmp_path, equal):
    path = tmp_path / "x.npz"
    write(path, read_annotations(saved(annotations)))
    assert recognise(path).kind == "annotations"
    assert equal(read_annotations(path), read_annotations(saved(annotations)))
    with pytest.raises(InputError, match=r"holds annotations \(diaghoi\), but predicted triplets"):
        read_predictions(path)
    write(path, read(saved(pair_file))[1])
    assert recognise(path).kind == "pairs"
    write(path, read_predictions(saved([])))
    assert len(read_predictions(path)) == 0


def test_pairs_come_from_any_file(saved, predictions, pair_file, tmp_path, equal):
    triplets, pairs = tmp_path / "t.npz", tmp_path / "p.npz"
    write(triplets, read_predictions(saved(predictions)))
    write(pairs, read(saved(pair_file))[1])
    merged = read_predictions(triplets, pairs=pairs)
    other = read_predictions(saved(predictions), pairs=saved(pair_file, "pairs.pkl"))
    assert equal(merged, other)


def changed(scenes, tmp_path, **changes):
    path = tmp_path / "x.npz"
    write(path, scenes)
    with np.load(path) as arrays:
        columns = {**arrays, **changes}
    np.savez(path, **{key: column for key, column in columns.items() if column is not None})
    return path


def cell(column, row, value):
    def change(scenes):
        array = np.array(getattr(scenes, column))
        array[row] = value
        return {column: array}

    return change


def column(**changes):
    return lambda scenes: changes


BAD = {
    "newer version": (
        column(diaghoi_format=2),
        "diaghoi_format: is '2', and this release reads 1; convert the original file again",
    ),
    "no version": (column(diaghoi_format="x"), "diaghoi_format: is 'x', and this release reads 1"),
    "other data set": (
        column(vocabulary="v-coco"),
        "fingerprint: was written when 'v-coco' had other objects, verbs or classes; convert the",
    ),
    "other data set, in a file without fingerprint": (
        column(vocabulary="v-coco", fingerprint=None),
        "there is no verb 76; there are: 0 to 50",
    ),
    "other names or classes": (
        column(fingerprint="0123abcd"),
        "fingerprint: was written when 'hico-det' had other objects, verbs or classes; convert the",
    ),
    "unknown data set": (
        column(vocabulary="my-data"),
        "x.npz: is for the data set 'my-data', which is not known; known: hico-det, v-coco",
    ),
    "ignored as numbers": (
        column(box_ignored=np.zeros(7)),
        "box_ignored: has shape (7,) and type float64, where (7,) of kind 'b' is needed",
    ),
    "missing columns": (
        column(box_label=None, pair_human=None),
        "the columns box_label, pair_human are missing; convert the original file again",
    ),
    "short column": (
        column(box_label=np.zeros(2, dtype=int)),
        "box_label: has shape (2,) and type",
    ),
    "flat boxes": (column(box_xyxy=np.zeros(28)), "box_xyxy: has shape (28,) and type float64"),
    "text as numbers": (
        column(triplet_verb=np.array(["a"] * 4)),
        "triplet_verb: has shape (4,) an",
    ),
    "numbers as names": (column(names=np.arange(4)), "names: has shape (4,) and type int64"),
    "name twice": (cell("names", 1, "one.jpg"), "image 'one.jpg': names: used for two images"),
    "image out of range": (cell("box_image", 6, 4), "box[6].box_image: there is no image 4"),
    "image order": (
        cell("box_image", 0, 2),
        "box[1].box_image: rows are not in the order of the",
    ),
    "unknown object": (cell("box_label", 1, 80), "box[1].box_label: there is no object 80"),
    "NaN": (cell("box_xyxy", (4, 0), np.nan), "image 'two.jpg': box[0].box_xyxy: the box [nan, 2"),
    "turned box": (cell("box_xyxy", (0, 2), 3), "box[0].box_xyxy: the box [10.0, 20.0, 3.0, 80.0]"),
    "human out of range": (cell("pair_human", 2, 7), "pair[2].pair_human: there is no box 7"),
    "object out of range": (cell("pair_object", 2, -2), "pair[2].pair_object: there is no box (co"),
    "object elsewhere": (cell("pair_object", 0, 5), "image 'one.jpg': pair[0].pair_object: is a b"),
    "pair order": (cell("pair_human", 0, 4), "pair[1].pair_human: rows are not in the order"),
    "pair out of range": (cell("triplet_pair", 0, 6), "[0].triplet_pair: there is no pair 6"),
    "triplet order": (cell("triplet_pair", 0, 5), "triplet[1].triplet_pair: rows are not in the o"),
    "unknown verb": (cell("triplet_verb", 3, 117), "triplet[0].triplet_verb: there is no verb 117"),
    "NaN score": (cell("triplet_score", 2, np.nan), "triplet[2].triplet_score: the score is nan"),
    "uncounted answers": (
        column(unread=np.array([[0, 0, 0], [1, 0, 0], [0, -1, 0], [0, 0, 0]])),
        "image 'two.jpg': image[0].unread: holds numbers that are not counts; convert the original",
    ),
    "negative size": (
        column(sizes=np.array([[9, 9], [9, 9], [9, -9], [9, 9]])),
        "image 'two.jpg': image[0].sizes: holds numbers that are not counts; convert the original",
    ),
    "negative set of classes": (
        column(triplet_filled=np.array([0, 1, -1, 0])),
        "image 'one.jpg': triplet[2].triplet_filled: there is no set of classes -1; there are: 0 ",
    ),
    "infinite pair score": (
        cell("pair_score", 1, np.inf),
        "pair[1].pair_score: the score is infin",
    ),
}


@pytest.mark.parametrize(("change", "expected"), BAD.values(), ids=BAD)
def test_bad_input(change, expected, scenes, tmp_path):
    path = changed(scenes, tmp_path, **change(scenes))
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)


def test_cut_off_files(scenes, tmp_path):
    path = tmp_path / "x.npz"
    write(path, scenes)
    whole = path.read_bytes()
    for size in range(4, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"a truncated or damaged zip archive"):
            read_predictions(path)


def test_changed_files_never_end_in_another_error(scenes, tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "x.npz"
    write(path, scenes)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for _ in range(150):
        broken = whole.copy()
        broken[random.integers(0, len(whole), 3)] = random.integers(0, 256, 3)
        path.write_bytes(broken.tobytes())
        with suppress(InputError):
            read_predictions(path)


def test_arrays_longer_than_their_entry(scenes, tmp_path):
    path = changed(scenes, tmp_path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("triplet_score.npy")
    at = data.index(b"(4,)", entry.header_offset)
    path.write_bytes(data[:at] + b"(9,)" + data[at + 4 :])
    with pytest.raises(InputError, match=r"triplet_score\.npy: not a readable array \(Bad CRC"):
        read_predictions(path)


def test_objects_in_a_column_are_not_unpickled_freely(scenes, tmp_path):
    class Evil:
        def __reduce__(self):
            return eval, (f"open({str(tmp_path / 'executed')!r}, 'w')",)

    array = np.empty(4, dtype=object)
    array[:] = [Evil()] * 4
    path = changed(scenes, tmp_path, triplet_score=array)
    with pytest.raises(InputError, match=r"asks for 'builtins\.eval'"):
        read_predictions(path)
    assert not (tmp_path / "executed").exists()


def test_writing_is_all_or_nothing(scenes, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"old")

    def failing():
        with replacing(path) as temporary:
            temporary.write_bytes(b"half")
            assert temporary.parent == path.parent
            assert temporary.suffix == ".npz"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert path.read_bytes() == b"old"
    write(path, scenes)
    assert {entry.name for entry in tmp_path.iterdir()} == {"x.npz", "file.pkl", "pairs.pkl"}
    with pytest.raises(InputError, match="cannot be written: it is a folder; give the name of a f"):
        write(tmp_path, scenes)
    with pytest.raises(
        InputError, match="cannot be written: No such file or directory; give anoth"
    ):
        write_triplet_lists(tmp_path / "no" / "x.pkl", scenes)


def test_links_stay_and_their_target_is_written(scenes, tmp_path):
    (tmp_path / "there").mkdir()
    for target in ("there/x.npz", "there/y.npz"):
        link = tmp_path / "link.npz"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write(link, scenes)
        assert link.is_symlink()
        assert len(read_predictions(tmp_path / target)) == len(scenes)
    assert {entry.name for entry in (tmp_path / "there").iterdir()} == {"x.npz", "y.npz"}


def test_special_files_are_not_replaced(scenes, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    for path in (tmp_path / "pipe", tmp_path / "link"):
        with pytest.raises(InputError, match="is a device or another special file; give the name"):
            write(path, scenes)
        assert path.exists()
        assert not path.is_file()


@pytest.mark.parametrize("key", ["names", "box_image", "pair_human", "triplet_pair"])
def test_columns_without_a_dimension(key, scenes, tmp_path):
    value = np.array("a.jpg" if key == "names" else 0)
    with pytest.raises(InputError, match=rf"x\.npz: {key}: has shape \(\) and type"):
        read_predictions(changed(scenes, tmp_path, **{key: value}))


@given(
    problem=problems(),
    scale=st.floats(1e-3, 1e9),
    notes=st.lists(st.text("aé\n", min_size=1), max_size=2),
    data=st.data(),
)
def test_every_scene_survives(problem, scale, notes, data, tmp_path_factory, equal):
    path = tmp_path_factory.mktemp("columns") / "x.npz"
    for scenes in problem:
        unknown = st.none() | st.sampled_from([0.5, -2e9, np.nan]).map(float)
        scores = {
            column: None if (score := data.draw(unknown)) is None else np.full(count, score)
            for column, count in (
                ("box_score", len(scenes.box_label)),
                ("pair_score", len(scenes.pair_human)),
            )
        }
        names = np.array([f"{name}ü" for name in scenes.names.tolist()], dtype=np.str_)
        sizes = data.draw(st.none() | st.just(np.full((len(names), 2), 70_000)))
        changed = {"box_xyxy": scenes.box_xyxy * scale, "notes": tuple(notes)}
        scenes = replace(scenes, names=names, sizes=sizes, **changed, **scores)
        write(path, scenes)
        _, other = read(path)
        assert equal(other, scenes)
        assert other.notes == scenes.notes
