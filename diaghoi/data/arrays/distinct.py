"""Equal rows become one: for boxes that a file repeats, and pairs that it does not number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diaghoi.data.arrays.ragged import first_of_run
from diaghoi.data.arrays.types import Array, BoolArray, FloatArray, IntArray

# Boxes that are sorted at a time.
_ROWS = 1 << 17
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


def distinct(keys: Array) -> tuple[IntArray, IntArray]:
    """Find equal keys and number them in the order in which they first occur.

    Parameters
    ----------
    keys : (N,) array
        Anything that sorts.

    Returns
    -------
    first : (K,) int array
        Row at which each distinct key first occurs; ascending.
    number : (N,) int array
        Which of the K keys each row has.
    """
    # An unstable sort does: _number takes the first row of each run by its number.
    order = np.argsort(keys)
    return _number(order, first_of_run(keys[order]))


def distinct_boxes(image: IntArray, label: IntArray, xyxy: FloatArray) -> tuple[IntArray, IntArray]:
    """Find boxes with equal image, label and four coordinates (to the last bit), and number them.

    Rows are sorted by a hash; that equal hashes are equal rows is then verified.

    Parameters
    ----------
    image, label : (N,) int array
        Image and category.
    xyxy : (N, 4) float64 array
        Coordinates.

    Returns
    -------
    first, number : (K,) and (N,) int array
        As in :func:`distinct`.
    """
    parts = [_distinct_boxes(image[a:b], label[a:b], xyxy[a:b]) for a, b in runs_of_images(image)]
    ends = np.cumsum([0, *(len(number) for _, number in parts)])
    boxes = np.cumsum([0, *(len(first) for first, _ in parts)])
    return (
        np.concatenate([first + end for (first, _), end in zip(parts, ends, strict=False)]),
        np.concatenate(
            [number + before for (_, number), before in zip(parts, boxes, strict=False)]
        ),
    )


def runs_of_images(image: IntArray) -> Iterator[tuple[int, int]]:
    """Cut a long table between images, where these ascend: equal boxes are of one image.

    Parameters
    ----------
    image : (N,) int array
        Image of each row.

    Yields
    ------
    start, stop : int
        Rows of some images.
    """
    total = len(image)
    if (image[1:] < image[:-1]).any():
        yield 0, total
        return
    start = 0
    while total - start > _ROWS:
        stop = int(np.searchsorted(image, image[start + _ROWS]))
        stop = stop if stop > start else int(np.searchsorted(image, image[start], side="right"))
        yield start, stop
        start = stop
    yield start, total


def _distinct_boxes(
    image: IntArray, label: IntArray, xyxy: FloatArray
) -> tuple[IntArray, IntArray]:
    # Bits, not values: -0.0 is not 0.0 and NaN equals itself, so that nothing is merged that a file
    # wrote in two ways.
    bits = np.ascontiguousarray(xyxy, dtype=np.float64).view(np.uint64)
    hashed = image.astype(np.uint64) * np.uint64(_MIX[0])
    hashed ^= label.astype(np.uint64) * np.uint64(_MIX[1])
    for column in range(4):
        hashed ^= bits[:, column]
        hashed *= np.uint64(_MIX[column])
        hashed ^= hashed >> np.uint64(29)
    first, number = distinct(hashed)
    same = first[number]
    if (
        np.array_equal(image, image[same])
        and np.array_equal(label, label[same])
        and np.array_equal(bits, bits[same])
    ):
        return first, number
    # Two different boxes with one hash: hardly ever, but then it must not matter.
    return _distinct_exactly(image, label, bits)


def _distinct_exactly(
    image: IntArray, label: IntArray, bits: IntArray
) -> tuple[IntArray, IntArray]:
    columns = [image, label, *bits.T]
    order = np.lexsort(columns)
    starts = np.zeros(len(order), dtype=bool)
    for column in columns:
        starts |= first_of_run(column[order])
    return _number(order, starts)


def _number(order: IntArray, starts: BoolArray) -> tuple[IntArray, IntArray]:
    """Turn sorted runs of equal rows into numbers by first occurrence."""
    if len(order) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    first = np.minimum.reduceat(order, np.flatnonzero(starts))
    rank = np.argsort(first)
    renumber = np.empty(len(first), dtype=np.int64)
    renumber[rank] = np.arange(len(first))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = renumber[np.cumsum(starts) - 1]
    return first[rank], number
