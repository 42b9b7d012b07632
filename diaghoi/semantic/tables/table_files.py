"""Write tables of similarity in the layout that :mod:`diaghoi.semantic.tables.ratings` reads."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError
from diaghoi.formats.output import harmless, replacing


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file that a table can be written to, in lower case.

    Raises
    ------
    InputError
        For suffixes other than ``.csv`` and ``.npz``.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".npz"):
        raise InputError(f"{path}: tables of similarity are written as .csv or .npz")
    return suffix


def write_pairs(
    path: str | os.PathLike[str],
    names: Sequence[str],
    first: IntArray,
    second: IntArray,
    scores: FloatArray,
    raters: Sequence[str],
) -> None:
    """Write the scores of pairs of words; the file appears whole or not at all.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.npz``.
    names : sequence of str
        The words.
    first, second : (P,) int array
        Positions of both words of each pair.
    scores : (P,) or (P, R) float64 array
        NaN for none, an empty cell in CSV.
    raters : sequence of str
        Names of the R columns of scores.

    Raises
    ------
    InputError
        For another suffix, and a file that cannot be written.
    """
    if check_suffix(path) == ".npz":
        with replacing(path) as temporary:
            np.savez_compressed(
                temporary,
                names=np.array(names, dtype=np.str_),
                row=first,
                column=second,
                value=scores,
                raters=np.array(raters, dtype=np.str_),
            )
        return
    cells = [harmless(name) for name in names]
    columns = scores.reshape(len(first), len(raters)).tolist()
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("a", "b", *map(harmless, raters)))
        for a, b, row in zip(first.tolist(), second.tolist(), columns, strict=True):
            row_cells = ("" if score != score else repr(score) for score in row)
            writer.writerow((cells[a], cells[b], *row_cells))
