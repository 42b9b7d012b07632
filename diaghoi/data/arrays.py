"""Array types, index arithmetic, ranking, division, equal rows and random generators."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from itertools import pairwise, starmap
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.integer]
StrArray: TypeAlias = npt.NDArray[np.str_]


def expand(start: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Expand N runs of positions; return the run and the position of each element, in order."""
    owner = np.repeat(np.arange(len(count)), count)
    shift = np.asarray(start) - (np.cumsum(count) - count)
    return owner, np.arange(len(owner)) + shift[owner]


# Number of positions expanded at once: small enough for the arrays to stay in the cache.
EXPANDED = 200_000


def expand_in_parts(start: IntArray, count: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the result of :func:`expand` in parts that end where a run ends; a part may be empty.

    Comparing each row with every other row, for example all boxes of an image, may exceed memory. A
    part has about :data:`EXPANDED` positions; a run with more positions forms a part alone, or ends
    a part.
    """
    bounds = np.append(0, np.cumsum(count))
    for part in batches(bounds, EXPANDED) or [range(0)]:
        some = slice(part.start, part.stop)
        owner, position = expand(start[some], count[some])
        yield owner + part.start, position


def runs(sorted_keys: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Find where each wanted key starts among sorted keys, and how often it occurs."""
    start = np.searchsorted(sorted_keys, wanted, side="left")
    return start, np.searchsorted(sorted_keys, wanted, side="right") - start


def first_of_run(keys: Array) -> BoolArray:
    """Return a mask of the first row of each run of equal neighbours."""
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def batches(bounds: IntArray, size: int, groups: range | None = None) -> list[range]:
    """Split groups of rows into runs of groups with about ``size`` rows each.

    ``bounds``, (N + 1,), contains the first row of each group, followed by the number of rows. A
    group with more than ``size`` rows is a run of its own, or the last group of a run. If
    consecutive ``groups`` are given, only the rows of these groups are split.
    """
    groups = range(len(bounds) - 1) if groups is None else groups
    # Groups whose first rows lie in the same stretch of `size` rows stay together.
    number = bounds[groups.start : groups.stop] // size
    first = (np.flatnonzero(first_of_run(number)) + groups.start).tolist()
    return list(starmap(range, pairwise([*first, groups.stop])))


def slices(rows: int, size: int) -> list[slice]:
    """Split rows into runs of ``size``, the last possibly shorter; no rows give one empty run."""
    return [slice(first, first + size) for first in range(0, max(rows, 1), size)]


def place_in_group(groups: IntArray) -> IntArray:
    """Return the number of each row in its group, from zero; groups must be adjacent rows."""
    start = np.flatnonzero(first_of_run(groups))
    return np.arange(len(groups)) - np.repeat(start, np.diff(np.append(start, len(groups))))


def marked(positions: IntArray, length: int) -> BoolArray:
    """Return a (length,) mask that is true at the given positions."""
    marks = np.zeros(length, dtype=bool)
    marks[positions] = True
    return marks


def ranking(groups: IntArray, scores: FloatArray) -> IntArray:
    """Sort (R,) rows by group and, in a group, by descending score; equal scores keep their order.

    Groups, such as HOI classes or images, are counted from zero.
    """
    if len(groups) and groups.max() < 2**16:
        groups = groups.astype(np.uint16)  # a stable sort of 16-bit numbers is a radix sort
    order = np.argsort(groups, kind="stable")
    ranked = scores[order]
    first = 0
    for last in np.cumsum(np.bincount(groups)).tolist():
        if last - first > 1:
            order[first:last] = order[first:last][descending(ranked[first:last])]
        first = last
    return order


def descending(scores: FloatArray) -> IntArray:
    """Order scores from high to low; equal scores keep their order.

    The result equals a stable ``argsort(-scores)``; it uses the faster unstable sort and a second
    sort among equal scores.
    """
    order = np.argsort(-scores)
    ranked = scores[order]
    tied = np.zeros(len(order) + 1, dtype=bool)
    tied[1:-1] = ranked[1:] == ranked[:-1]
    in_run = np.flatnonzero(tied[1:] | tied[:-1])
    if len(in_run):
        order[in_run] = order[in_run][np.lexsort((order[in_run], -ranked[in_run]))]
    return order


def ratios(part: npt.ArrayLike, whole: npt.ArrayLike, *, undefined: float = np.nan) -> FloatArray:
    """Divide arrays that broadcast; the result is ``undefined`` where ``whole`` is 0."""
    part, whole = np.asarray(part), np.asarray(whole)
    quotient = np.full(np.broadcast_shapes(part.shape, whole.shape), undefined, dtype=np.float64)
    # Without `where`, NumPy would warn of every empty class, and warnings are errors in the tests.
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient


def less(value: float | None, other: float | None) -> float | None:
    """Subtract one number from another; None if either number is undefined."""
    return None if value is None or other is None else value - other


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return ``part / whole``; None if a number is undefined or ``whole`` is 0."""
    return None if part is None or not whole else part / whole


# Number of boxes sorted at once.
_ROWS = 1 << 17
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


def distinct(keys: Array) -> tuple[IntArray, IntArray]:
    """Group N keys by equality; groups are numbered in order of first occurrence.

    Returns
    -------
    first : (K,) int array
        Row at which each distinct key first occurs; ascending.
    number : (N,) int array
        Key of each row, as an index into the K keys.
    """
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # An unstable sort is enough: the smallest row index of each run is taken.
    order = np.argsort(keys)
    starts = first_of_run(keys[order])
    first = np.minimum.reduceat(order, np.flatnonzero(starts))
    rank = np.argsort(first)
    renumber = np.empty(len(first), dtype=np.int64)
    renumber[rank] = np.arange(len(first))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = renumber[np.cumsum(starts) - 1]
    return first[rank], number


def distinct_boxes(image: IntArray, label: IntArray, xyxy: FloatArray) -> tuple[IntArray, IntArray]:
    """Find boxes with equal image, label and coordinates (to the last bit); see :func:`distinct`.

    Rows are sorted by a hash, and rows with equal hashes are then checked for equality. Images and
    labels are (N,) integers, ``xyxy`` is an (N, 4) float64 array.
    """
    firsts, numbers, boxes = [], [], 0
    for start, stop in runs_of_images(image):
        first, number = _distinct_boxes(image[start:stop], label[start:stop], xyxy[start:stop])
        firsts.append(first + start)
        numbers.append(number + boxes)
        boxes += len(first)
    return np.concatenate(firsts), np.concatenate(numbers)


def runs_of_images(image: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the first row and the end row of a few images at a time.

    Equal boxes belong to one image, so a long table can be split between images. A table in which
    images do not ascend is not split.
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
    # Bits are compared, not values: -0.0 differs from 0.0 and NaN equals itself, so rows that a
    # file stores differently are not merged.
    bits = np.ascontiguousarray(xyxy, dtype=np.float64).view(np.uint64)
    mix: tuple[int, ...] = _MIX
    while True:
        hashed = image.astype(np.uint64) * np.uint64(mix[0])
        hashed ^= label.astype(np.uint64) * np.uint64(mix[1])
        for column in range(4):
            hashed ^= bits[:, column]
            hashed *= np.uint64(mix[column])
            hashed ^= hashed >> np.uint64(29)
        first, number = distinct(hashed)
        same = first[number]
        if all(np.array_equal(values, values[same]) for values in (image, label, bits)):
            return first, number
        # Different boxes rarely share a hash, and almost never do so again when the factors are
        # changed.
        mix = tuple(secrets.randbits(64) | 1 for _ in mix)


def seeded(seed: int, *names: object) -> np.random.Generator:
    """Return a random generator whose state is the hash of the seed and the names.

    The names identify the draw and its image, so the numbers depend neither on the order of the
    images nor on the number of workers.
    """
    return hashed("\0".join(map(str, (seed, *names))))


def hashed(key: str) -> np.random.Generator:
    """Return a random generator whose state is the SHA-256 hash of the given text."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
