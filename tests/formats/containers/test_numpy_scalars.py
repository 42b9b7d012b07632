"""NumPy's scalars in long pickles become Python's numbers before they are checked and loaded."""

import io
import pickle
import struct

import numpy as np
import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats.containers import numpy_scalars, opcodes
from diaghoi.formats.containers.pickles import load_pickle

NUMBERS = np.random.default_rng(0)


def values(kind, count=6000):
    if np.issubdtype(kind, np.integer):
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        drawn = NUMBERS.integers(least, most, count, dtype=kind, endpoint=True)
        return list(drawn // kind(2 ** (8 * drawn.itemsize - 8)) if drawn.itemsize > 4 else drawn)
    found = NUMBERS.normal(size=count).astype(kind)
    found[:4] = np.nan, np.inf, -np.inf, -0.0
    return list(found)


def loaded(value, protocol):
    stream = io.BytesIO(pickle.dumps(value, protocol) + b"rest")
    found = load_pickle(stream, "file.pkl")
    assert stream.read() == b"rest"
    return found


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "kind", [np.float32, np.float64, np.int64, np.int32, np.uint8, np.float16, np.int16]
)
def test_numbers_are_the_same(kind, protocol):
    given = [{"value": value, "again": [value, 7]} for value in values(kind)]
    found = loaded(given, protocol)
    for one, other in zip(found, given, strict=True):
        number = one["value"]
        assert number == other["value"] or number != number
        # NaN is equal to itself only where it is the same object.
        assert one["again"] == [number, 7]
    if kind in (np.float32, np.float64, np.int64):
        python = sum(type(each["value"]) in (float, int) for each in found[1000:])
        assert python > 0.99 * len(found[1000:])  # but for those in which a frame ends


def test_mixed_types_and_large_numbers():
    given = [[a, b, np.int64(2**40), np.uint64(2**63), "text"] for a, b in
             zip(values(np.float32), values(np.float64), strict=True)]  # fmt: skip
    for protocol in (2, 4):
        np.testing.assert_array_equal(
            np.array([row[:4] for row in loaded(given, protocol)], dtype=np.float64),
            np.array([row[:4] for row in given], dtype=np.float64),
        )


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_as_quick_to_check_as_floats(protocol, monkeypatch):
    """The check goes through the pickle in long runs, and no call is made for a number."""
    steps, made = [], []
    step = opcodes._Scan.step
    monkeypatch.setattr(opcodes._Scan, "step", lambda self: steps.append(0) or step(self))
    call = numpy_scalars.Scalar.__call__
    monkeypatch.setattr(
        numpy_scalars.Scalar, "__call__", lambda *given: made.append(0) or call(*given)
    )
    loaded([{"box": values(np.float32, 5)} for _ in range(6000)], protocol)
    assert len(steps) < 3000
    assert len(made) < 6000


@pytest.mark.parametrize("cut", [20, 70_000])
def test_cut_off_and_damaged(cut):
    data = pickle.dumps(values(np.float32, 20_000), 4)
    with pytest.raises(InputError, match=r"cut off|exhausted"):
        load_pickle(io.BytesIO(data[:-cut]), "file.pkl")


def test_what_imitates_a_scalar_is_checked_as_it_is_loaded():
    """Inside a text the bytes of a call are replaced, too; what follows stays checked."""
    start = pickle.dumps(values(np.float32, 20_000), 4)
    call = b"h\x03h\x09C\x04abcd\x94\x86\x94R\x94"
    assert start.count(call[:6]) > 10_000
    deep = b"N" + b"\x85" * 5000
    for offset in range(len(call)):
        text = call[:offset] if offset else call
        rest = call[offset:]
        body = start[:-2] + b"X" + struct.pack("<I", len(text)) + text + rest + deep + b"0ae."
        with pytest.raises(InputError):
            load_pickle(io.BytesIO(body), "file.pkl")


def test_blocks_and_pieces_do_not_matter(monkeypatch):
    given = [values(np.float32, 7) for _ in range(3000)]
    for block in (4096, 5001):
        monkeypatch.setattr(numpy_scalars, "_BLOCK", block)
        for kept in (0, 128):
            monkeypatch.setattr(numpy_scalars, "_KEPT", kept)
            for protocol in (2, 4):
                np.testing.assert_array_equal(loaded(given, protocol), given)


def test_a_pickle_that_refers_to_the_bytes_of_a_number_is_loaded_as_it_is():
    data = pickle.dumps(values(np.float32, 20_000), 3)
    bytes_, tuple_ = data[-19:-14], data[-14:-13]
    assert (bytes_[:1], tuple_) == (b"r", b"\x86")
    found = load_pickle(io.BytesIO(data[:-2] + b"j" + bytes_[1:] + b"e."), "file.pkl")
    assert len(found) == 20_001
    assert isinstance(found[-1], bytes)
