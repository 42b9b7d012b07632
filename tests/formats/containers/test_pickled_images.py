"""Pickles of many images are read part by part, and hold what they hold when read as a whole."""

import copy
import io
import json
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_predictions
from diaghoi.formats.containers.packed_rows import PackedRows, pack, unpacked
from diaghoi.formats.containers.pickles import load_pickle

PARTS = 2500  # images: three parts


def keys(images):
    return ("rows",) if isinstance(images[0], dict) and "rows" in images[0] else ()


def both(data):
    """Load a pickle with packed rows, and as a whole."""
    stream = io.BytesIO(data + b"rest")
    packed = load_pickle(stream, "file.pkl", packed=keys)
    assert stream.read() == b"rest"
    return packed, load_pickle(io.BytesIO(data), "file.pkl")


def is_packed(images):
    return [isinstance(each.get("rows"), PackedRows) for each in images]


def same(one, other):
    """Whether values and their types are equal."""
    if isinstance(one, list | PackedRows):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


def image(number, rows=2):
    row = {"box": [number + 0.5, 1.0, 2.0, 3.0], "label": number % 80, "score": number / 7}
    return {"filename": f"{number}.jpg", "rows": [dict(row) for _ in range(rows)], "width": number}


@pytest.mark.parametrize("protocol", range(6))
def test_parts_hold_what_the_whole_holds(protocol):
    images = [image(number, rows=(number + 1) % 4) for number in range(PARTS)]
    packed, whole = both(pickle.dumps(images, protocol))
    assert same(packed, whole)
    assert whole == images
    # The first image stays as it is, for whoever finds out what the file holds.
    assert not is_packed(packed)[0]
    assert all(is_packed(packed)[1:])
    assert same(unpacked(packed), whole)


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: np.float32(n / 3), id="float32"),
        pytest.param(lambda n: np.int64(n), id="int64"),
        pytest.param(lambda n: np.array([n, 1, 2, 3], dtype=np.float32), id="array"),
    ],
)
def test_numbers_of_numpy_keep_their_type(protocol, make):
    images = [{"rows": [{"value": make(number)}]} for number in range(PARTS)]
    packed, whole = both(pickle.dumps(images, protocol))
    assert all(is_packed(packed)[1:])
    assert same(packed[2000]["rows"][0]["value"], make(2000))
    assert all(
        np.array_equal(one["rows"][0]["value"], other["rows"][0]["value"])
        for one, other in zip(packed, whole, strict=True)
    )


VALUES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.lists(st.integers(-300, 300) | st.floats(allow_nan=False), max_size=5),
)


@given(st.lists(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), max_size=4), max_size=5))
def test_rows_of_any_values_are_packed_as_they_are_or_not_at_all(lists):
    packed = pack(copy.deepcopy(lists))
    assert packed is None or all(map(same, packed, lists))
    images = [{"rows": rows} for rows in lists]
    loaded, whole = both(pickle.dumps(images, 4))
    assert same(loaded, whole)


def test_rows_read_like_a_list():
    lists = [
        [{"a": 1, "b": [2.0, 3.0]}],
        [],
        [{"a": 300, "b": [4.0, 5.0]}, {"a": 2, "b": [6.0, 7.0]}],
    ]
    packed = pack(lists)
    assert [list(rows) for rows in packed] == lists
    assert packed[2][-1] == {"a": 2, "b": [6.0, 7.0]}
    assert packed[2][:1] == lists[2][:1]
    with pytest.raises(IndexError):
        packed[1][0]
    assert packed[2].column("a").tolist() == [300, 2]
    with pytest.raises(KeyError):
        packed[2].column("c")


def test_keys_that_come_late():
    images = [
        image(number) | ({"late": number} if number > 1500 else {}) for number in range(PARTS)
    ]
    for each in images[1000:]:
        for row in each["rows"]:
            row["also"] = 1
    packed, whole = both(pickle.dumps(images, 4))
    assert same(packed, whole)
    assert all(is_packed(packed)[1:])


def test_a_later_part_may_refer_to_an_earlier_one():
    images = [image(number) for number in range(PARTS)]
    images[2000]["rows"] = images[3]["rows"]
    packed, whole = both(pickle.dumps(images, 4))
    assert packed == whole == images
    assert packed[2000]["rows"] is packed[3]["rows"]


def test_what_is_not_a_list_of_images():
    for value in ({"rows": [{"a": 1}]}, [], [1, 2], [[{"a": 1}]] * 3, "text", None):
        packed, whole = both(pickle.dumps(value, 4))
        assert packed == whole == value


def test_a_list_that_refers_to_itself():
    images = [image(number) for number in range(3)]
    images.append(images)
    loaded = load_pickle(io.BytesIO(pickle.dumps(images, 4)), "file.pkl", packed=keys)
    assert len(loaded) == 4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        # The state of the list at the top, another persistent id, a call of the list.
        (b"\x80\x04]\x94}\x8c\x03foo\x8c\x03barsb.", "not a readable pickle"),
        (b"\x80\x04]\x94(NQe.", "refers to objects outside the file"),
        (b"\x80\x04]\x94)R.", "not a readable pickle"),
        (b"\x80\x04]\x94(\x8c\x02os\x8c\x06system\x93e.", "asks for 'os.system'"),
        (b"\x80\x04]\x94(h\x05e.", "not a readable pickle"),
        (b"\x80\x04]\x94(", "cut off"),
    ],
)
def test_spoilt_pickles_end_in_the_message_of_the_whole(data, message):
    found = []
    for packed in (keys, None):
        with pytest.raises(InputError, match=message) as error:
            load_pickle(io.BytesIO(data), "file.pkl", packed=packed)
        found.append(str(error.value))
    assert found[0] == found[1]


def test_rows_that_many_images_share_do_not_fill_the_memory():
    rows = [{"label": 1, "score": 0.5} for _ in range(50_000)]
    data = pickle.dumps([{"rows": rows} for _ in range(900)], 4)
    tracemalloc.start()
    loaded = load_pickle(io.BytesIO(data), "file.pkl", packed=keys)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded[1]["rows"] is loaded[899]["rows"]
    assert peak < 60e6  # packed, each of the 45 million rows would take 9 bytes


def test_only_a_part_is_in_memory_as_lists_and_dicts():
    data = pickle.dumps([image(number, rows=20) for number in range(8000)], 4)
    peaks = []
    for packed in (keys, None):
        tracemalloc.start()
        load_pickle(io.BytesIO(data), "file.pkl", packed=packed)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 0.55 * peaks[1]


def triplets(number):
    boxes = [[10, 10, 50, 60], [40, 20, 90, 70]]
    return {
        "filename": f"HICO_test2015_{number:08}.jpg",
        "predictions": [
            {"bbox": [x + 0.25 for x in box], "category_id": label}
            for box, label in zip(boxes, (0, 3), strict=True)
        ],
        "hoi_prediction": [
            {"subject_id": 0, "object_id": 1, "category_id": 76, "score": 1 / (number + 2)}
        ],
    }


def test_a_mistake_is_named_where_it_is(tmp_path):
    path = tmp_path / "preds.pkl"
    images = [triplets(number) for number in range(2200)]
    images[2100]["hoi_prediction"][0]["object_id"] = 2
    path.write_bytes(pickle.dumps(images))
    with pytest.raises(
        InputError, match=r"image 'HICO_test2015_00002100.jpg': hoi_prediction\[0\]"
    ):
        read_predictions(path)
    images[2100] = triplets(2100)
    images[1500]["predictions"][1]["bbox"] = [1, 2, 3]
    path.write_bytes(pickle.dumps(images))
    with pytest.raises(
        InputError, match=r"00001500.jpg': predictions\[1\].bbox: \[1, 2, 3\] is not"
    ):
        read_predictions(path)


def test_scenes_are_the_same_whether_rows_are_packed_or_not(tmp_path):
    images = [triplets(number) for number in range(2200)]
    path = tmp_path / "preds.pkl"
    path.write_bytes(pickle.dumps(images))
    packed = read_predictions(path)
    images[1]["predictions"].append({"bbox": [1, 2, 3.5, 4], "category_id": np.int8(3)})
    images[2100]["hoi_prediction"][0]["score"] = np.float32(0.5)
    path.write_bytes(pickle.dumps(images))
    other = read_predictions(path)
    assert len(other.box_label) == len(packed.box_label) + 1
    assert other.triplet_score[2100] == 0.5
    keep = np.arange(2200) != 2100
    np.testing.assert_array_equal(packed.triplet_score[keep], other.triplet_score[keep])
    np.testing.assert_array_equal(packed.triplet_verb, other.triplet_verb)


@pytest.mark.parametrize("empty", [0, 1, 3, 1100])
def test_an_empty_first_image_does_not_hide_the_format(tmp_path, empty):
    """Boxes without a category are GEN-VLKT's; an image without boxes looks like another format."""
    images = [triplets(number) for number in range(empty + 2)]
    for number, each in enumerate(images):
        for box in each["predictions"]:
            del box["category_id"]
        each["hoi_prediction"][0]["category_id"] = 4  # an HOI class
        if number < empty:
            each["predictions"], each["hoi_prediction"] = [], []
    found = []
    for name, write in (
        ("a.pkl", pickle.dumps),
        ("a.json", lambda value: json.dumps(value).encode()),
    ):
        path = tmp_path / name
        path.write_bytes(write(images))
        recognised, scenes = read(path)
        found.append((recognised.format, scenes.triplet_verb.tolist(), scenes.box_label.tolist()))
    assert found[0] == found[1]
    assert found[0][0] == "gen-vlkt"


@pytest.mark.parametrize("value", [np.int64(7), np.float32(0.5), np.arange(3), [1], {"a": 1}, b"x"])
def test_what_an_image_holds_beside_its_rows_stays_as_it_is(value):
    images = [
        image(number) | {"also": pickle.loads(pickle.dumps(value))} for number in range(PARTS)
    ]
    packed, _ = both(pickle.dumps(images, 4))
    assert all(is_packed(packed)[1:])
    assert same(np.asarray(packed[1200]["also"]), np.asarray(value))
    assert isinstance(packed[1200]["also"], type(value))
