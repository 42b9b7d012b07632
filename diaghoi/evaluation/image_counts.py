"""Counts of images, added up under many weightings of the images at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray, first_of_run


@dataclass(frozen=True, eq=False)
class ImageCounts:
    """How often each of R kinds of things is found in each of N images.

    Parameters
    ----------
    table : (R, N) sparse int array
        The counts, none negative.
    """

    table: Any

    @classmethod
    def of(cls, row: IntArray, image: IntArray, shape: tuple[int, int]) -> ImageCounts:
        """Count the entries of each row and image, see :func:`image_counts`."""
        return cls(image_counts(row, image, shape))

    @cached_property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.table.data.sum(dtype=np.int64))

    def under(self, weights: IntArray) -> IntArray:
        """Add up the counts of images under weights.

        Parameters
        ----------
        weights : (N, B) int32 array
            How often each image counts.

        Returns
        -------
        (R, B) int64 array
            The product of both.
        """
        return np.asarray(self.product(weights).astype(np.int64))

    def product(self, weights: IntArray) -> Any:
        """Work out :meth:`under` in the smallest type of integers that holds every sum exactly."""
        if not all(self.table.shape):
            return np.zeros((self.table.shape[0], weights.shape[1]), dtype=np.int64)
        most = self._most * int(weights.max(initial=0))
        # 16 bits take a third of the time of 32.
        if most < 2**15:
            return self._small @ weights.astype(np.int16)
        if most < 2**24:
            return (self.table.astype(np.float32) @ weights.astype(np.float32)).astype(np.int32)
        return self.table.astype(np.int64) @ weights

    # Both are the same for all weightings, and take as long as the product.
    @cached_property
    def _most(self) -> int:
        """The largest sum of a row."""
        return int(self.table.sum(axis=1, dtype=np.int64).max())

    @cached_property
    def _small(self) -> Any:
        return self.table.astype(np.int16)


def image_counts(row: IntArray, image: IntArray, shape: tuple[int, int]) -> Any:
    """Count the entries of each row and image: a sparse (R, N) int32 array.

    Parameters
    ----------
    row, image : (K,) int array
        Row and image of each entry.
    shape : (R, N)
        The number of rows and of images.
    """
    from scipy.sparse import csr_array

    # Sorted and counted here, so that SciPy is given no duplicate entries to add up.
    key = row.astype(np.int64) * shape[1] + image
    key.sort()
    first = np.flatnonzero(first_of_run(key))
    count = np.diff(np.append(first, len(key))).astype(np.int32)
    row, image = np.divmod(key[first], shape[1])
    pointer = np.searchsorted(row, np.arange(shape[0] + 1))
    return csr_array((count, image, pointer), shape=shape)
