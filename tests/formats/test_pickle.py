import copyreg
import gc
import io
import os
import pickle
import struct
import sys
from collections import OrderedDict, defaultdict

import numpy as np
import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions, recognise
from diaghoi.formats.pickle import AHEAD, load_pickle


def load(data):
    return load_pickle(io.BytesIO(data), "file.pkl")


def text(value):
    """Opcode for a short string."""
    return b"\x8c" + bytes([len(value)]) + value.encode()


def name(module, attribute):
    return text(module) + text(attribute) + b"\x93"


class Reduces:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.arange(6.0, dtype=np.float32).reshape(2, 3).T,
    np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)[::-1],
    np.array(3.5),
    np.zeros((0, 4)),
    np.array([True, False]),
    np.array(["one.jpg", "b"]),
    np.array([b"bytes"]),
    np.arange(3, dtype=">f4"),
    np.arange(3, dtype=np.float16),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_of_every_protocol(array):
    for protocol in range(6):
        found = load(pickle.dumps([array, array], protocol=protocol))
        assert np.asarray(found[0]).dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[0], array)
        assert found[0] is found[1]


@pytest.mark.parametrize("protocol", range(6))
def test_containers_and_scalars_of_every_protocol(protocol):
    value = [
        {"a": (1, 2.5, None, True, "text", b"bytes", b"")},
        OrderedDict([("z", 1), ("a", 2)]),
        defaultdict(list, {"x": [1]}),
        {1, 2},
        frozenset([3]),
        [np.float32(0.5), np.float64(0.25), np.int64(7), np.bool_(True)],
        1 << 70,
        1 + 2j,
    ]
    found = load(pickle.dumps(value, protocol=protocol))
    assert found == value
    assert list(found[1]) == ["z", "a"]
    assert found[2]["missing"] == []
    assert [type(number) for number in found[5]] == [float, float, int, bool]


def test_a_defaultdict_without_a_factory_lacks_keys():
    found = load(pickle.dumps(defaultdict(None, {"x": 1})))
    assert found == {"x": 1}
    with pytest.raises(KeyError, match="missing"):
        found["missing"]


def test_the_buffer_of_an_array_in_an_order_of_its_own():
    body = name("numpy.core.numeric", "_frombuffer") + b"(C\x30" + struct.pack("<6d", *range(6))
    axes = b"K\x02K\x03K\x01\x87" + text("K") + b"K\x02K\x00K\x01\x87"
    found = load(b"\x80\x05" + body + DTYPE + STATE + axes + b"tR.")
    expected = np.arange(6.0).reshape(2, 3, 1).transpose(2, 0, 1)
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("core", ["core", "_core"])
def test_old_and_new_names_of_numpy(core):
    data = pickle.dumps(np.arange(3.0), protocol=2)
    data = data.replace(b"cnumpy._core.", b"cnumpy." + core.encode() + b".")
    np.testing.assert_array_equal(load(data), np.arange(3.0))


def test_array_of_objects():
    value = np.empty(2, dtype=object)
    value[:] = [{"a": 1}, np.arange(2)]
    found = load(pickle.dumps(value))
    assert found[0] == {"a": 1}
    np.testing.assert_array_equal(found[1], [0, 1])


def test_python_2_array():
    data = (
        b"cnumpy.core.multiarray\n_reconstruct\np1\n(cnumpy\nndarray\np2\n(I0\ntS'b'\ntR(I1\n(I2\nt"
    )
    data += b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\n"
    data += b"S'" + b"\\x00" * 6 + b"\\xf0?" + b"\\x00" * 6 + b"\\x00@'\ntb."
    np.testing.assert_array_equal(load(data), [1.0, 2.0])


@pytest.mark.parametrize("module", ["utils", "__main__", "some.where"])
def test_cache_template_keeps_its_defaults(module):
    data = b"\x80\x04" + name(module, "CacheTemplate") + b")R(" + text("a") + b"K\x07u."
    found = load(data)
    assert found["a"] == 7
    assert found["hold_agent"] == 0.0
    assert found["hold_obj"] == [0.0, 0.0, 0.1, 0.1, 0.0]
    assert set(found) == {"a"}


@pytest.fixture
def canary(tmp_path):
    path = tmp_path / "executed"
    yield path
    assert not path.exists(), "the pickle was executed"


FOREIGN = [
    ("os", "system"),
    ("posix", "system"),
    ("subprocess", "Popen"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("builtins", "getattr"),
    ("builtins", "__import__"),
    ("builtins", "open"),
    ("__builtin__", "eval"),
    ("builtins", "object"),
    ("operator", "attrgetter"),
    ("functools", "partial"),
    ("copyreg", "_reconstructor"),
    ("copy_reg", "_reconstructor"),
    ("pickle", "loads"),
    ("numpy", "load"),
    ("numpy", "core.multiarray._reconstruct"),
    ("numpy.core", "multiarray.scalar"),
    ("numpy", "ndarray.tofile"),
    ("numpy", "dtype.__class__"),
    ("builtins", "list.__class__.__subclasses__"),
    ("builtins", "dict.fromkeys"),
    ("collections", "OrderedDict.fromkeys"),
    ("collections.abc", "OrderedDict"),
    ("numpy.dtypes", "StringDType"),
    ("numpy.ma.core", "_mareconstruct"),
    ("datetime", "datetime"),
    ("diaghoi.formats.pickle", "_Reconstruct"),
    ("no_such_module_anywhere", "thing"),
    ("utils", "CacheTemplate.__class__"),
]


@pytest.mark.parametrize(("module", "attribute"), FOREIGN, ids=".".join)
def test_foreign_names_are_refused(module, attribute, canary):
    command, line = text(f"touch {canary}"), f"{module}\n{attribute}\n".encode()
    for data in (
        b"\x80\x04" + name(module, attribute) + command + b"\x85R.",
        b"\x80\x02c" + line + command + b"\x85R.",
        b"(" + command + b"i" + line + b".",
        b"\x80\x04(" + name(module, attribute) + b"\x94" + command + b"o.",
    ):
        with pytest.raises(InputError) as error:
            load(data)
        assert f"'{module}.{attribute}'" in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("protocol", range(6))
def test_reduce_and_reduce_ex_execute_nothing(protocol, canary):
    for value in (
        Reduces(os.system, (f"touch {canary}",)),
        [Reduces(eval, (f"open({str(canary)!r}, 'w')",))],
        {"filename": Reduces(exec, (f"open({str(canary)!r}, 'w')",))},
    ):
        with pytest.raises(InputError, match="not on the list of harmless types"):
            load(pickle.dumps(value, protocol=protocol))


def test_a_module_is_not_imported(tmp_path, monkeypatch, canary):
    (tmp_path / "trojan.py").write_text(f"open({str(canary)!r}, 'w')\nCacheTemplate = dict\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"'trojan\.thing'"):
        load(b"\x80\x04" + name("trojan", "thing") + b".")
    load(b"\x80\x04" + name("trojan", "CacheTemplate") + b")R.")
    assert "trojan" not in sys.modules


def test_extension_codes_are_refused(canary):
    copyreg.add_extension("os", "system", 231)
    try:
        pickle.loads(b"\x80\x02\x82\xe7.")  # now resolved, and cached by pickle
        data = b"\x80\x02\x82\xe7" + text(f"touch {canary}") + b"\x85R."
        with pytest.raises(InputError, match=r"'os\.system'"):
            load(data)
    finally:
        copyreg.remove_extension("os", "system", 231)
        copyreg.clear_extension_cache()
    with pytest.raises(InputError, match="not a readable pickle"):
        load(b"\x80\x02\x82\xe7.")


def test_persistent_ids_are_refused():
    for data in (b"\x80\x04" + text("storage") + b"Q.", b"Pstorage\n."):
        with pytest.raises(InputError, match="persistent id"):
            load(data)


@pytest.mark.parametrize("protocol", [2, 4])
def test_tensors_say_what_to_do(protocol):
    data = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R."
    with pytest.raises(InputError, match=r"torch\._utils\._rebuild_tensor_v2.*tensor\.numpy\(\)"):
        load(data)


DTYPE = name("numpy", "dtype") + text("f8") + b"\x89\x88\x87R"
STATE = b"(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
ARRAY = (
    name("numpy.core.multiarray", "_reconstruct")
    + name("numpy", "ndarray")
    + b"K\x00\x85C\x01b\x87R"
)
INERT = {
    "state of a function": name("numpy.core.multiarray", "scalar") + b"}" + text("x") + b"K\x01sb",
    "slots of a function": name("numpy.core.multiarray", "_reconstruct")
    + b"N}" + text("__code__") + b"K\x01s\x86b",
    "state of a class": name("collections", "OrderedDict") + b"N}" + text("x") + b"K\x01s\x86b",
    "state of a dict": name("collections", "OrderedDict") + b")R}" + text("x") + b"K\x01sb",
    "state of a template": name("utils", "CacheTemplate") + b")R}" + text("x") + b"K\x01sb",
    "a template with arguments": name("utils", "CacheTemplate") + b"K\x01\x85R",
    "new object of ndarray": name("numpy", "ndarray") + b")\x81",
    "call of ndarray": name("numpy", "ndarray") + b"K\x09\x85R",
    "factory that is a function": name("collections", "defaultdict")
    + name("numpy", "dtype") + b"\x85R",
    "subclass of an array": name("numpy.core.multiarray", "_reconstruct")
    + name("builtins", "list") + b"K\x00\x85C\x01b\x87R",
    "record type": name("numpy", "dtype") + text("f8,O") + b"\x85R",
    "void type": name("numpy", "dtype") + text("V8") + b"\x85R",
    "type from a list": name("numpy", "dtype") + b"]\x85R",
    "fields in the state of a type": DTYPE + b"(K\x03" + text("|") + b"N)}K\x08K\x01K\x00tb",
    "no state of a type": DTYPE + b"K\x01b",
    "no state of an array": ARRAY + b"K\x01b",
    "foreign type in an array": ARRAY + b"(K\x01K\x01\x85" + text("f8") + b"\x89C\x08" + b"x" * 8
    + b"tb",
    "numbers without bytes": ARRAY + b"(K\x01K\x01\x85" + DTYPE + STATE + b"\x89]tb",
    "numbers with too few bytes": ARRAY + b"(K\x01K\x05\x85" + DTYPE + STATE + b"\x89C\x01xtb",
    "objects from bytes": ARRAY + b"(K\x01K\x01\x85" + DTYPE.replace(b"f8", b"O8") + b"\x89C\x08"
    + b"x" * 8 + b"tb",
    "object as a scalar": name("numpy.core.multiarray", "scalar")
    + DTYPE.replace(b"f8", b"O8") + b"K\x01\x86R",
    "objects from a buffer": name("numpy.core.numeric", "_frombuffer")
    + b"(C\x08" + b"x" * 8 + DTYPE.replace(b"f8", b"O8") + b"K\x01\x85" + text("C") + b"tR",
    "flag of an array": ARRAY + b"(K\x01K\x01\x85" + DTYPE + STATE + b"]C\x08" + b"x" * 8 + b"tb",
    "order of a buffer": name("numpy.core.numeric", "_frombuffer")
    + b"(C\x08" + b"x" * 8 + DTYPE + STATE + b"K\x01\x85" + text("A") + b"tR",
    "state of a dict with defaults": name("collections", "defaultdict")
    + b")R}" + text("x") + b"K\x01sb",
    "codec that is a program": name("_codecs", "encode") + text("x") + text("zlib") + b"\x86R",
    "next buffer": b"\x97",
    "very deep names": name("a" * 200, "b" * 200),
}  # fmt: skip


@pytest.mark.parametrize("body", INERT.values(), ids=INERT)
def test_nothing_but_plain_data_is_built(body):
    with pytest.raises(InputError) as error:
        load(b"\x80\x04" + body + b".")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_what_is_inert_is_shown_without_its_class():
    found = load(pickle.dumps([np.dtype("f4"), np.ndarray]))
    assert repr(found) == "[an object without content, an object without content]"


def test_the_hand_made_array_is_right():
    body = (
        ARRAY + b"(K\x01K\x01\x85" + DTYPE + STATE + b"\x89C\x08" + struct.pack("<d", 2.5) + b"tb"
    )
    np.testing.assert_array_equal(load(b"\x80\x04" + body + b"."), [2.5])


def test_damaged_pickles(saved, predictions, tmp_path):
    whole = saved(predictions).read_bytes()
    path = tmp_path / "cut.pkl"
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"cut\.pkl: "):
            recognise(path)
    path.write_bytes(whole + whole)
    with pytest.raises(InputError, match="more data after the first pickle"):
        recognise(path)


def test_deep_nesting_is_an_input_error(tmp_path):
    path = tmp_path / "deep.pkl"
    path.write_bytes(b"\x80\x04" + b"]" * 200_000 + b"a" * 199_999 + b".")
    with pytest.raises(InputError, match="nests lists too deep"):
        recognise(path)
    path.write_bytes(b"[" * 200_000)
    with pytest.raises(InputError, match="not a readable JSON"):
        recognise(path)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_restored(enabled, saved, predictions):
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        read_predictions(saved(predictions))
        assert gc.isenabled() == enabled
        with pytest.raises(InputError):
            load(b"\x80\x04")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()


@pytest.mark.parametrize("protocol", range(6))
def test_many_arrays_at_the_start_of_a_large_file(tmp_path, protocol):
    """The unpickler has read little when it builds what its buffer holds: older protocols twice."""
    path = tmp_path / "many.pkl"
    path.write_bytes(pickle.dumps([np.zeros(600) for _ in range(400)], protocol=protocol))
    with path.open("rb", buffering=AHEAD) as stream:
        assert len(load_pickle(stream, str(path))) == 400


NUMBERS = np.random.default_rng(0)


def values(kind, count=6000):
    if np.issubdtype(kind, np.integer):
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        drawn = NUMBERS.integers(least, most, count, dtype=kind, endpoint=True)
        return list(drawn // kind(2 ** (8 * drawn.itemsize - 8)) if drawn.itemsize > 4 else drawn)
    found = NUMBERS.normal(size=count).astype(kind)
    found[:4] = np.nan, np.inf, -np.inf, -0.0
    return list(found)


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [
        *((kind, 4) for kind in (np.float32, np.float64, np.int32, np.uint8, np.float16, np.int16)),
        *((np.int64, protocol) for protocol in (2, 3, 5)),
    ],
)
def test_numbers_are_the_same(kind, protocol):
    given = [{"value": value, "again": [value, 7]} for value in values(kind)]
    found = load(pickle.dumps(given, protocol))
    for one, other in zip(found, given, strict=True):
        number = one["value"]
        assert number == other["value"] or number != number
        # NaN is equal to itself only where it is the same object.
        assert one["again"] == [number, 7]
    assert {type(row["value"]) for row in found} <= {float, int}


@pytest.mark.parametrize("cut", [20, 70_000])
def test_cut_off_and_damaged(cut):
    data = pickle.dumps(values(np.float32, 20_000), 4)
    with pytest.raises(InputError, match=r"cut off|exhausted"):
        load(data[:-cut])
