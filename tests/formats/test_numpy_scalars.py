"""NumPy's scalars in pickles become Python's numbers."""

import io
import pickle

import numpy as np
import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats.pickle import load_pickle

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
    assert {type(row["value"]) for row in found} <= {float, int}


def test_mixed_types_and_large_numbers():
    given = [[a, b, np.int64(2**40), np.uint64(2**63), "text"] for a, b in
             zip(values(np.float32), values(np.float64), strict=True)]  # fmt: skip
    for protocol in (2, 4):
        np.testing.assert_array_equal(
            np.array([row[:4] for row in loaded(given, protocol)], dtype=np.float64),
            np.array([row[:4] for row in given], dtype=np.float64),
        )


@pytest.mark.parametrize("cut", [20, 70_000])
def test_cut_off_and_damaged(cut):
    data = pickle.dumps(values(np.float32, 20_000), 4)
    with pytest.raises(InputError, match=r"cut off|exhausted"):
        load_pickle(io.BytesIO(data[:-cut]), "file.pkl")


def test_a_pickle_that_refers_to_the_bytes_of_a_number_is_loaded_as_it_is():
    data = pickle.dumps(values(np.float32, 20_000), 3)
    bytes_, tuple_ = data[-19:-14], data[-14:-13]
    assert (bytes_[:1], tuple_) == (b"r", b"\x86")
    found = load_pickle(io.BytesIO(data[:-2] + b"j" + bytes_[1:] + b"e."), "file.pkl")
    assert len(found) == 20_001
    assert isinstance(found[-1], bytes)
