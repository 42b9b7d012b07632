"""The reader of MATLAB files: it finds what SciPy writes, and no file ends the interpreter."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from diaghoi.exceptions import InputError
from diaghoi.formats import matlab
from diaghoi.formats.matlab import read_variable, variables

HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def matrix(kind, shape, content, name=b"", flags=0):
    beginning = element(6, struct.pack("<II", kind | flags, 0))
    beginning += element(5, struct.pack(f"<{len(shape)}i", *shape)) + element(1, name)
    return element(14, beginning + content)


def saved(folder, *elements):
    path = folder / "x.mat"
    path.write_bytes(HEADER + b"".join(elements))
    return path


def compressed(content):
    packed = zlib.compress(content)
    return struct.pack("<II", 15, len(packed)) + packed


VALUES = {
    "number": 3.5,
    "row": np.array([[1.0, 2.0, np.nan]]),
    "small": np.array([[1, -2], [3, 4]], dtype=np.int8),
    "large": np.arange(24, dtype=np.uint64).reshape(2, 3, 4),
    "single": np.array([[0.5], [1.5]], dtype=np.float32),
    "complex": np.array([[1 + 2j, 3 - 4j]]),
    "logical": np.array([[True, False]]),
    "empty": np.zeros((0, 4)),
    "text": "one.jpg",
    "letters": "käse ™",
    "lines": np.array(["one", "two"]),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_that_scipy_reads(name, packed, tmp_path):
    path = tmp_path / "x.mat"
    savemat(path, {"other": 1, "wanted": VALUES[name]}, do_compression=packed)
    expected = loadmat(path)["wanted"]
    found = read_variable(path, "wanted")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    told = variables(path)
    assert list(told) == ["other", "wanted"]
    if expected.dtype.kind != "U":
        assert told["wanted"].shape == expected.shape


def test_cells_and_structs(tmp_path):
    path = tmp_path / "x.mat"
    inner = np.empty((1, 2), dtype=object)
    inner[0] = [np.array([[1.0]]), "text"]
    cells = np.empty((2, 1), dtype=object)
    cells[:, 0] = [inner, np.zeros((0, 0))]
    savemat(path, {"cells": cells, "struct": {"a": [[1, 2]], "b": {"c": "d"}}})
    found = read_variable(path, "cells")
    assert found.shape == (2, 1)
    assert found[0, 0][0, 0] == 1.0
    assert found[0, 0][0, 1].tolist() == ["text"]
    assert found[1, 0].size == 0
    struct_array = read_variable(path, "struct")
    assert struct_array.shape == (1, 1)
    assert struct_array[0, 0]["a"].tolist() == [[1, 2]]
    assert struct_array[0, 0]["b"][0, 0]["c"].tolist() == ["d"]
    kinds = {name: each.kind for name, each in variables(path).items()}
    assert kinds == {"cells": "cell", "struct": "struct"}


def test_the_other_order_of_bytes(tmp_path):
    def big(kind, data):
        return struct.pack(">II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    body = big(6, struct.pack(">II", 6, 0)) + big(5, struct.pack(">ii", 1, 2)) + big(1, b"wanted")
    body += big(9, struct.pack(">dd", 1.5, 2.5))
    path = tmp_path / "x.mat"
    path.write_bytes(HEADER[:-2] + b"MI" + big(14, body))
    assert read_variable(path, "wanted").tolist() == [[1.5, 2.5]]


def deep(depth):
    content, length = [element(14, b"")], 8
    beginning = matrix(1, (1, 1), b"")[8:]
    for _ in range(depth):
        length += len(beginning)
        content += [beginning, struct.pack("<II", 14, length)]
        length += 8
    whole = b"".join(reversed(content))
    return matrix(1, (1, 1), whole, b"wanted")


NUMBERS = element(9, struct.pack("<d", 1.0))
HOSTILE = {
    "cells in cells": deep(200_000),
    "cells in cells, compressed": compressed(deep(200_000)),
    "a type of numbers that there is not": matrix(
        6, (1, 1), struct.pack("<II", 2048, 8) + b"x" * 8, b"wanted"
    ),
    "more cells than bytes": matrix(1, (30_000, 30_000), b"", b"wanted"),
    "more structs than bytes": matrix(
        2, (1 << 30, 1), element(5, struct.pack("<i", 8)) + element(1, b""), b"wanted"
    ),
    "more numbers than bytes": matrix(6, (1 << 30, 1 << 30), NUMBERS, b"wanted"),
    "negative dimensions": matrix(6, (-1, -8), NUMBERS, b"wanted"),
    "long and empty": matrix(6, (1 << 30, 0), element(9, b""), b"wanted"),
    "one dimension": matrix(6, (1,), NUMBERS, b"wanted"),
    "more letters than there are": matrix(4, (1, 1 << 30), element(16, b"abc"), b"wanted"),
    "letters in three dimensions": matrix(4, (1, 3, 1), element(16, b"abc"), b"wanted"),
    "letters that are none": matrix(4, (1, 1), element(16, b"\xff"), b"wanted"),
    "no letters for a field": matrix(
        2, (1, 1), element(5, struct.pack("<i", 0)) + element(1, b"abc"), b"wanted"
    ),
    "a sparse matrix": matrix(5, (1, 1), NUMBERS, b"wanted"),
    "an object": matrix(3, (1, 1), NUMBERS, b"wanted"),
    "no such class": matrix(99, (1, 1), NUMBERS, b"wanted"),
    "numbers behind the end": matrix(6, (1, 1), struct.pack("<II", 9, 1 << 31), b"wanted"),
    "a variable behind the end": struct.pack("<II", 14, 1 << 31) + b"x" * 40,
    "a compressed variable behind the end": struct.pack("<II", 15, 1 << 31) + b"x" * 40,
    "no variable": struct.pack("<II", 9, 8) + b"x" * 8,
    "not compressed": struct.pack("<II", 15, 8) + b"x" * 8,
    "compressed and cut off": struct.pack("<II", 15, 40) + zlib.compress(deep(100))[:40],
    "a number where a cell is": matrix(1, (1, 1), NUMBERS, b"wanted"),
    "no length of field names": matrix(2, (1, 1), element(5, b"") + element(1, b"a"), b"wanted"),
    "a value of a class of MATLAB's own": element(14, element(6, struct.pack("<II", 17, 0))),
    "another name": matrix(6, (1, 1), NUMBERS, b"other"),
}  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_input_errors(content, tmp_path):
    path = saved(tmp_path, content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as error:
            read_variable(path, "wanted")
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()
    assert str(error.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there_is_named(tmp_path):
    for read in (variables, lambda path: read_variable(path, "wanted")):
        with pytest.raises(InputError) as error:
            read(tmp_path / "no.mat")
        assert str(error.value) == (
            f"{tmp_path / 'no.mat'}: No such file or directory; check the path"
        )


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(matlab, "_INFLATED", 1 << 20)
    path = saved(tmp_path, compressed(matrix(6, (1, 1 << 22), element(9, b"\0" * (1 << 25)), b"x")))
    assert variables(path)["x"].shape == (1, 1 << 22)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="unpacks to more than"):
            read_variable(path, "x")
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
