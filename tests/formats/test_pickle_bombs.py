"""Pickles that call nothing forbidden, and would yet crash, block or fill the machine."""

import io
import pickle
import pickletools
import re
import signal
import struct
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats import pickle as restricted
from diaghoi.formats import read
from diaghoi.formats.pickle import load_first, load_pickle

START, STOP = b"\x80\x04", b"."


def load(body):
    return load_pickle(io.BytesIO(START + body + STOP), "file.pkl")


def refused(body):
    with pytest.raises(InputError) as error:
        load(body)
    message = str(error.value)
    assert message.startswith("file.pkl: ")
    assert "\n" not in message
    return message


def text(value):
    return b"\x8c" + bytes([len(value)]) + value.encode()


def name(module, attribute):
    return text(module) + text(attribute) + b"\x93"


def number(value):
    return b"\x8a\x08" + struct.pack("<q", value)


def dtype(code):
    state = b"(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    return name("numpy", "dtype") + text(code) + b"\x89\x88\x87R" + state


START_OF_ARRAY = (
    name("numpy.core.multiarray", "_reconstruct")
    + name("numpy", "ndarray")
    + b"K\x00\x85C\x01b\x87R"
)


def array(shape, code, data):
    return START_OF_ARRAY + b"(K\x01" + shape + dtype(code) + b"\x89" + data + b"tb"


KEY_OF = {
    "a dict": (b"}", b"K\x01s"),
    "several": (b"}(", b"K\x01u"),
    "a set": (b"\x8f(", b"\x90"),
    "a frozen set": (b"(", b"\x91"),
    "a dict of protocol 0": (b"(", b"K\x01d"),
}
NESTED = {
    "deep": b")" + b"\x85" * 200_000,
    "deep and memorised": b")" + b"\x85\x94" * 200_000,
    "deep by marks": b"(" * 200_000 + b"t" * 200_000,
    "twice in itself": b")" + b"2\x86" * 100,
    "twice from the memo": b")" + b"".join(b"\x94h" + bytes([n]) + b"\x86" for n in range(100)),
    "wide in wide": b"(" + b"K\x01" * 3000 + b"t\x94(" + b"h\x00" * 3000 + b"t",
    "through an empty state": b")" + b"2\x86" * 20 + b"N}\x86b" + b"2\x86" * 30,
    "behind a long text": b"X" + struct.pack("<I", 3_000_000) + b"x" * 3_000_000 + b"0)"
    + b"2\x86" * 60,
}  # fmt: skip


@pytest.mark.parametrize(
    ("nested", "key"),
    [*((nested, "a dict") for nested in NESTED), *(("twice in itself", key) for key in KEY_OF)],
)
def test_tuples_that_cannot_be_hashed_in_time_are_refused(nested, key):
    start, end = KEY_OF[key]
    message = refused(start + NESTED[nested] + end)
    assert "tuples hold tuples too deep or too often" in message


def test_the_first_items_are_checked_as_the_whole_is():
    """Text that is a number to the unpickler but not to Python ends no check."""
    bomb = b"F0.5\x00x\n0)" + b"2\x86" * 100
    stream = io.BytesIO(START + b"]\x94(" + KEY_OF["a dict"][0] + bomb + KEY_OF["a dict"][1] + b"e")
    stream.write(stream.read() + b"(" + b"K\x01" * 300 + b"ee.")
    stream.seek(0)
    assert load_first(stream, "file.pkl", 300) is None


def test_one_tuple_is_not_hashed_again_and_again():
    wide = b"(" + b"K\x01" * 2000 + b"t\x940"
    assert "too often" in refused(wide + b"}(" + b"h\x00N" * 100_000 + b"u")


def get(index):
    return b"h" + bytes([index])


def tower(bottom, inside, first=0):
    """Return a value of 60 levels, each of which holds the one below it twice, through the memo."""
    return bottom + b"".join(b"\x940" + inside(get(n)) for n in range(first, first + 60))


def frozen_tower(first):
    return tower(b"(K\x00\x91", lambda below: b"(" + below + b"(" + below + b"K\x01\x91\x91", first)


def short_integer(value):
    return number(value) if abs(value) >= 1 << 31 else b"J" + struct.pack("<i", value)


def tuples_that_hash_alike(count):
    """Return pickles of pairs of 64-bit integers, which Python hashes with xxHash."""
    first, second, start = 11400714785074694791, 14029467366897019727, 2870177450012600261
    inverse, pairs, value = pow(second, -1, 1 << 64), [], 0
    while len(pairs) < count:
        value += 1
        lane = (start + value * second) % (1 << 64)
        lane = (lane << 31 | lane >> 33) * first
        match = -lane * inverse % (1 << 64)
        match -= (match >> 63) << 64
        if abs(match) < (1 << 61) - 1:
            pairs.append((value, match))
    assert len(set(map(hash, pairs))) == 1
    return [b"".join(map(short_integer, pair)) + b"\x86" for pair in pairs]


def floats(*values):
    return b"".join(b"G" + struct.pack(">d", value) for value in values)


COMPLEX = name("builtins", "complex") + b"\x940"


def complex_that_hash_alike(count):
    return [get(0) + floats(-1000003.0 * n, n) + b"\x86R" for n in range(count)]


def as_keys(parts, at_once):
    """Return a dict of keys, which Python's unpickler gets all at once or a thousand a time."""
    step = len(parts) if at_once else 1000
    return b"}" + b"".join(
        b"(" + b"N".join(parts[start : start + step]) + b"Nu"
        for start in range(0, len(parts), step)
    )


FROZEN = {
    "towers": b"}(" + frozen_tower(0) + b"N" + frozen_tower(60) + b"Nu",
    "a frozenset": b"((K\x01\x91\x91",
    "a tuple": b"(K\x01\x85\x91",
    "a tuple of a frozenset": b"((K\x01\x91\x85\x91",
}


@pytest.mark.parametrize("body", FROZEN.values(), ids=FROZEN)
def test_frozensets_hold_only_numbers_and_texts(body):
    assert "a frozenset holds tuples or frozensets" in refused(body)


@pytest.mark.parametrize("protocol", range(6))
def test_equal_frozensets_in_frozensets_are_not_compared(protocol):
    towers = []
    for _ in range(2):
        value = frozenset([0])
        for _ in range(60):
            value = frozenset([value, frozenset([value, 1])])
        towers.append(value)
    towers = pickle.dumps(towers, protocol)  # a dict would keep this process busy for ever
    with pytest.raises(InputError):
        load_pickle(io.BytesIO(towers), "file.pkl")


@pytest.mark.parametrize("at_once", [True, False])
def test_keys_that_hash_alike_take_no_quadratic_time(at_once, monkeypatch):
    monkeypatch.setattr(restricted, "SECONDS", 0.2)
    monkeypatch.setattr(restricted, "SECONDS_PER_BYTE", 0)
    for build, keys in (
        (b"", tuples_that_hash_alike(40_000)),
        (COMPLEX, complex_that_hash_alike(40_000)),
    ):
        message = refused(build + as_keys(keys, at_once))
        assert "a tuple is too long" in message if at_once else "takes far too long" in message


@pytest.mark.parametrize("opcode", [b"X", b"B"])
@pytest.mark.parametrize("at_once", [True, False])
def test_long_keys_are_not_compared_again_and_again(opcode, at_once, monkeypatch):
    monkeypatch.setattr(restricted, "SECONDS", 0.2)
    monkeypatch.setattr(restricted, "SECONDS_PER_BYTE", 0)
    long = opcode + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"\x940"
    message = refused(long + long + as_keys([get(0)] + [get(1)] * 200_000, at_once))
    assert "a tuple is too long" in message if at_once else "takes far too long" in message


@pytest.mark.parametrize("kind", ["set", "frozenset", "dict"])
def test_sets_and_dicts_by_name_hold_only_numbers_and_texts(kind):
    make = name("builtins", kind) + b"]("
    keys = [*complex_that_hash_alike(3), b"K\x01K\x02\x86"]
    for key in keys if kind != "dict" else [b"](" + key + b"Ne" for key in keys]:
        assert f"a {kind} is made with " in refused(COMPLEX + make + key + b"e\x85R")
    assert load(make + (b"K\x01" if kind != "dict" else b"](K\x01Ne") + b"e\x85R")


def test_what_a_message_names_is_not_written_out():
    lists = tower(b"]", lambda below: b"](" + below * 2 + b"e")
    assert "arrays of type list are not" in refused(name("numpy", "dtype") + lists + b"\x85R")


def test_no_item_of_an_array_is_set():
    lists = tower(b"]", lambda below: b"](" + below * 2 + b"e", 1)
    for made in (START_OF_ARRAY, array(b"K\x02\x85", "i1", b"C\x02ab")):
        body = b"N\x940" + made + lists + b"K\x01s"
        assert "read-only" in refused(body)
        assert "read-only" in refused(b"N\x940" + made + b"K\x01" + lists + b"s")


ORDINARY = {
    "tuples of numbers": [(640, 480)] * 300,
    "boxes": [{"bbox": (1.5, 2.5, 3.5, 4.5), "category_id": n} for n in range(300)],
    "long tuples": [tuple(range(100))] * 10 + [tuple(map(float, range(50)))],
    "tuples of tuples": tuple((n, (str(n), (n, n + 0.5))) for n in range(300)),
    "tuples of texts": [("one", "two", "one")] * 300,
    "tuples as keys": {(n, str(n)): (n,) for n in range(300)},
    "arrays": [np.arange(6.0).reshape(2, 3), np.zeros((0, 4)), np.float32(0.5)] * 100,
    "arrays in tuples": tuple((np.arange(n), np.float64(n), f"{n}.jpg") for n in range(300)),
    "numbers of any width": [2**n for n in range(0, 900, 7)] + [-(10**400), 10**5000],
    "all that is empty": [(), [], {}, set(), frozenset(), "", b"", np.zeros(0)],
}


@pytest.mark.parametrize("key", ORDINARY)
def test_ordinary_pickles_are_read_as_python_reads_them(key):
    for protocol in range(6):
        value = ORDINARY[key]
        if protocol < 2 and key == "numbers of any width":
            value = value[:-1]  # Python does not write longer numbers as text
        found = load_pickle(io.BytesIO(pickle.dumps(value, protocol)), "file.pkl")
        assert comparable(found) == comparable(value)


def comparable(value):
    """Write arrays as lists, which compare as a whole."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return type(value)(map(comparable, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("protocol", range(6))
def test_only_the_pickle_itself_is_read(protocol):
    value = [ORDINARY[key] for key in ("boxes", "tuples of texts", "arrays", "long tuples")]
    data = pickle.dumps(value, protocol)
    stream = io.BytesIO(b"before" + data + b"behind")
    stream.seek(6)
    assert comparable(load_pickle(stream, "file.pkl")[0]) == comparable(value[0])
    assert stream.read() == b"behind"
    hostile = b"(" + data[: data.rindex(b".")] + KEY_OF["a dict"][0] + NESTED[
        "twice in itself"
    ] + KEY_OF["a dict"][1] + b"l"  # fmt: skip
    assert "too often" in refused(hostile)


QUICK = {
    **{key: ORDINARY[key] for key in ("tuples of numbers", "boxes", "arrays")},
    "few floats": [(0.5,), (0.5, 1), (1, 0.5, 2), (1, 2, 3.5, 4), {"a": (0.5,), "b": (1.5, 2.5)}],
    "sizes": {"size": (640, 480), "shape": (1, 2, 3), "box": [0.5, 1.5, 2.5, 3.5]},
    "scalars of NumPy": [{"score": np.float32(n), "label": np.int64(n)} for n in range(300)],
}


@pytest.mark.parametrize("value", QUICK.values(), ids=QUICK)
def test_lists_of_numbers_and_arrays_are_passed_over_at_once(value, monkeypatch):
    steps, opcodes = [], pickletools.genops

    def counted(stream):
        for step in opcodes(stream):
            steps.append(step[0].name)
            yield step

    monkeypatch.setattr(pickletools, "genops", counted)
    for protocol in (2, 3, 4, 5):
        data = pickle.dumps([value] * 2, protocol)
        load_pickle(io.BytesIO(data), "file.pkl")
        assert not {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"} & set(steps)
        assert len(steps) < sum(1 for _ in opcodes(data)) / 3 + 10
        steps.clear()


@pytest.mark.parametrize(
    "body", [b"N" + code.code.encode("latin1") for code in pickletools.opcodes]
)
def test_every_opcode_cut_off_is_an_input_error(body):
    for behind in (b"", b"\xff", b"\xff" * 8, b"\n", b"1\n", b"x\ny\n"):
        if body != b"N.":
            with pytest.raises(InputError):
                load_pickle(io.BytesIO(START + body + behind), "file.pkl")


ANNOUNCED = {
    "a text": b"\x8d" + struct.pack("<Q", 1 << 40) + b"x",
    "bytes": b"\x8e" + struct.pack("<Q", 1 << 62) + b"x",
    "a byte array": b"\x96" + struct.pack("<Q", 1 << 33) + b"x",
    "a frame": b"\x95" + struct.pack("<Q", 1 << 33) + b"N",
    "a text of protocol 2": b"X" + b"\xff" * 4 + b"x",
    "a place in the memo": b"Nr" + struct.pack("<I", 1 << 30),
    "a place in the memo of protocol 0": b"Np1000000000\n",
    "a place in the memo behind which there is more": b"Np777777777\x0b\0\0x\n",
    "a whole number": b"\x8b" + struct.pack("<I", 1 << 30) + b"x",
    "a whole number as text": b"L" + b"9" * 10_000 + b"L\n",
    "an array": array(number(10**12) + b"\x85", "f8", b"C\x08" + b"x" * 8),
    "an array of objects": array(number(10**9) + b"\x85", "O8", b"]"),
    "an array that holds nothing": array(number(10**12) + b"K\x00\x86", "f8", b"C\x00"),
    "an array of empty texts": array(number(10**12) + b"\x85", "S0", b"C\x00"),
    "an array of 100 dimensions": array(b"(" + b"K\x01" * 100 + b"t", "f8", b"C\x08" + b"x" * 8),
    "an array of negative length": array(b"J\xff\xff\xff\xff\x85", "f8", b"C\x00"),
    "an array of a wide type": array(b"K\x01\x85", "U999999999", b"C\x04abcd"),
    "a scalar of a wide type": name("numpy.core.multiarray", "scalar") + dtype("S999999999")
    + b"C\x01x\x86R",
}  # fmt: skip


@pytest.mark.parametrize("body", ANNOUNCED.values(), ids=ANNOUNCED)
def test_announced_lengths_take_no_memory(body):
    tracemalloc.start()
    try:
        for before in (b"", b")\x85\x850", b"(NNt0"):
            refused(before + body)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


LONG = (b"(" + b"K\x01" * 1000 + b"e") * 100
REPEATED = {
    "arrays": b"B" + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"\x940"
    + dtype("i1") + b"\x940"
    + (START_OF_ARRAY + b"(K\x01J\x00\x00\x10\x00\x85h\x01\x89h\x00tb0") * 50 + b"N",
    "sets": b"]" + LONG + b"\x940" + name("builtins", "set") + b"\x940"
    + b"h\x01h\x00\x85R0" * 1000 + b"N",
    "lists": b"]" + LONG + b"\x940" + name("builtins", "list") + b"\x940"
    + b"h\x01h\x00\x85R0" * 1000 + b"N",
    "bytes": b"X" + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"\x940"
    + name("_codecs", "encode") + b"\x940" + (b"h\x01h\x00" + text("latin1") + b"\x86R0") * 50
    + b"N",
}  # fmt: skip


@pytest.mark.parametrize("body", REPEATED.values(), ids=REPEATED)
def test_what_stands_there_once_is_not_built_again_and_again(body):
    assert "would hold more data than a file" in refused(body)


TINY = {
    "empty sets": b"\x8f" * 1000,
    "empty lists": b"]" * 1000,
    "memorised lists": b"]\x94" * 1000,
    "dicts of one": b"}K\x01Ns" * 1000,
    "sets of one": b"\x8f(K\x01\x90" * 1000,
    "sets by name": b"h\x00)R" * 1000,
}


@pytest.mark.parametrize("items", TINY.values(), ids=TINY)
def test_bytes_do_not_become_many_times_as_many(items, monkeypatch):
    monkeypatch.setattr(restricted, "MEMORY", 1 << 20)
    parts = (b"(" + items + b"e") * 2000
    message = refused(name("builtins", "set") + b"\x940]" + parts)
    assert "lists, dicts or sets" in message
    # 128 MB of another test may have been free.
    assert float(re.search(r"first ([0-9.]+) MB", message)[1]) < 7


def test_marks_without_end_take_no_memory():
    assert "opens millions of lists" in refused(b"(" * 1_000_000)


def test_real_files_take_little_memory_per_byte(shared, monkeypatch):
    monkeypatch.setattr(restricted, "MEMORY", 1 << 18)
    files = sorted(path for path in shared.rglob("*.p*kl*") if path.stat().st_size > 1000)
    for path in files:
        with path.open("rb") as stream:
            load_pickle(stream, path.name)
    assert len(files) > 20


def test_arrays_of_objects_take_no_more_than_their_list_holds():
    for held in (0, 1, 3):
        body = array(b"K\x02\x85", "O8", b"](" + b"K\x07" * held + b"e")
        assert "no list of as many" in refused(body)
    found = load(array(b"K\x02\x85", "O8", b"](K\x07K\x08e"))
    assert found.tolist() == [7, 8]


def test_arrays_of_text_hold_characters():
    assert "invalid characters" in refused(array(b"K\x01\x85", "U1", b"C\x04\xff\xff\xff\xff"))
    assert load(array(b"K\x01\x85", "U1", b"C\x04\xff\xff\x10\x00")).tolist() == ["\U0010ffff"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["defaultdict", "CacheTemplate", "arrays", "lists", "dicts"])
def test_a_million_values_in_one_another_end_well(kind):
    made = {
        "defaultdict": (name("collections", "defaultdict"), b"q\x010h\x00)RK\x00h\x01s"),
        "CacheTemplate": (name("x", "CacheTemplate"), b"q\x010h\x00)RK\x00h\x01s"),
        "arrays": (
            START_OF_ARRAY.replace(b"K\x00\x85C\x01b\x87R", b"0"),
            b"q\x010" + array(b"K\x01\x85", "O8", b"]h\x01a"),
        ),
        "lists": (b"N", b"q\x010]h\x01a"),
        "dicts": (b"N", b"q\x010}K\x00h\x01s"),
    }[kind]
    times = 3000 if kind == "arrays" else 300_000
    load(made[0] + b"\x940N" + made[1] * times)


def test_names_of_modules_in_collections_are_not_followed():
    for body in (
        name("collections", "defaultdict") + name("numpy", "dtype") + b"\x85R",
        name("builtins", "tuple") + b"]\x85R",
        name("builtins", "set") + b"](K\x01K\x01\x86e\x85R",
        name("builtins", "int") + b"X" + struct.pack("<I", 4000) + b"9" * 4000 + b"\x85R",
        name("builtins", "bool") + b")\x85\x85R",
        name("collections", "OrderedDict") + b"](](K\x01K\x02\x86K\x03ee\x85R",
        name("builtins", "list") + b")\x81",
        name("builtins", "dict") + b")}\x92",
    ):
        refused(body)


def nested_twice(depth):
    value = [0.5, 0.5]
    for _ in range(depth):
        value = [value, value]
    return value


def images(count, **shared):
    return [{"filename": f"{n}.jpg"} | shared for n in range(count)]


def dense(**changes):
    image = {"filename": "a.jpg", "boxes": [[1, 2, 3, 4]], "labels": [0], "sub_ids": [0]}
    return [image | {"obj_ids": [0], "verb_scores": [[0.5] * 117]} | changes]


BOX = {"bbox": [1.0, 2.0, 3.0, 4.0], "category_id": 0}
HOI = {"subject_id": 0, "object_id": 0, "category_id": 0, "score": 0.5}
ROW = [1, 0.5] + [1.0] * 8
SHARING = {
    "lists of rows": images(3000, predictions=[BOX] * 3000, hoi_prediction=[HOI] * 3000),
    "boxes in boxes": dense(boxes=nested_twice(60)),
    "scores in scores": dense(verb_scores=nested_twice(60)),
    "equal rows of scores": dense(verb_scores=[[0.5] * 117] * 100_000),
    "equal scores": images(3000, **dense(verb_scores=[[0.5] * 117] * 100)[0] | {"filename": ""}),
    "rows of SWIG-HOI": dict.fromkeys(map(str, range(3000)), [ROW] * 3000),
    "rows in rows of SWIG-HOI": {"a.jpg": [ROW, [nested_twice(60)] * 10]},
    "dicts of V-COCO": [
        dict.fromkeys(map(str, range(100)), 0.5) | {"image_id": 7, "person_box": [1, 2, 3, 4]}
    ]
    * 100_000,
    "annotations of CDN": [
        {"file_name": str(n), "annotations": []} | {"hoi_annotation": rows}
        for rows in [[{}] * 3000]
        for n in range(3000)
    ],
}


@pytest.mark.parametrize("value", SHARING.values(), ids=SHARING)
def test_lists_that_are_named_again_and_again_are_not_written_out(value, tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(value, protocol=4))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as error:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert str(error.value).startswith(f"{path}: ")


def frame(length, content):
    return b"\x95" + struct.pack("<Q", length) + content


CROSSING = {
    "a number": (4, b"G" + b"\0" * 8),
    "a text": (4, text("a longer text")),
    "a run of opcodes": (5, b"K\x01K\x02K\x03K\x04000"),
    "a line": (3, b"I12345\n"),
    "nothing": (0, b"]"),
}


@pytest.mark.parametrize(("length", "body"), CROSSING.values(), ids=CROSSING)
def test_frames_do_not_change_what_is_read(length, body):
    plain = load(body)
    assert load(frame(length, body)) == plain
    assert load(frame(0, b"") + frame(length, frame(1, body))) == plain


@pytest.mark.parametrize("kind", ["defaultdict", "CacheTemplate", "objects"])
def test_dicts_and_arrays_that_repeat_themselves_are_shown_in_short(kind, tmp_path):
    make = name("collections", kind) + b")R"
    value = tower(make, lambda below: make + b"(" + b"K\x00" + below + b"K\x01" + below + b"u")
    if kind == "objects":
        value = tower(b"]", lambda below: b"](" + below * 2 + b"e")
        value = array(b"K\x01\x85", "O8", b"]" + value + b"a")
    path = tmp_path / "x.pkl"
    path.write_bytes(
        START + b"]}(" + text("predictions") + value + text("hoi_prediction") + b"]ua."
    )
    with pytest.raises(InputError) as error:
        read(path)
    assert " at 0x" not in str(error.value)
    assert "pickle." not in str(error.value)


def test_hundred_thousand_wrong_keys_are_not_all_compared(tmp_path):
    path = tmp_path / "x.pkl"
    keys = {f"prediction{n}": n for n in range(100_000)}
    for value in (keys, [keys], {10**9000: 1}):
        path.write_bytes(pickle.dumps(value, protocol=4))
        start = time.process_time()
        with pytest.raises(InputError, match="not a known format"):
            read(path)
        assert time.process_time() - start < 5


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_what_takes_long(number, tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(START + as_keys(tuples_that_hash_alike(100_000), at_once=False) + STOP)
    code = (
        "import sys; from diaghoi.formats import pickle; from diaghoi.cli import main;"
        "pickle.SECONDS = 1000; sys.argv = ['diaghoi', 'inspect', sys.argv[1]];"
        "print('starts', flush=True); main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout.readline() == b"starts\n"
        time.sleep(8)
        assert running.poll() is None
        running.send_signal(number)
        start = time.monotonic()
        running.wait(timeout=20)
        assert time.monotonic() - start < 5
        assert running.returncode == 128 + number
