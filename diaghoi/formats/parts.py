"""Files of the package's own format in parts: what :class:`diaghoi.PredictionWriter` keeps.

A folder of ``000001.npz``, ``000002.npz`` and so on, each a complete file of
:mod:`diaghoi.formats.columnar` with the next images. When a run ends, its parts are joined into one
file; the folder of a run that was killed is read as it is, with the images that it has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np

from diaghoi.data.memory import StoredArray
from diaghoi.data.scenes import COLUMNS, Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.content import parts_in
from diaghoi.formats.output import replacing
from diaghoi.formats.zipped import Member, members

# What the rows of these columns refer to: images, or rows of a table given by one of its columns.
_REFERENCES = {
    "box_image": "names",
    "pair_human": "box_image",
    "pair_object": "box_image",
    "triplet_pair": "pair_human",
}
_COPIED = ("diaghoi_format", "vocabulary", "fingerprint", "top")


def joined(parts: Sequence[Scenes]) -> Scenes:
    """Join predictions in memory; at least one.

    Raises
    ------
    InputError
        If some parts have a column that others, which have rows in its table, do not.
    """
    empty: dict[str, Any] = {}
    for name in COLUMNS:
        columns = [getattr(part, name) for part in parts]
        found = next((column for column in columns if column is not None), None)
        for part, column in zip(parts, columns, strict=True):
            if found is not None and column is None:
                _check_empty(part, name)
                empty[name] = found[:0]
    alike = [
        replace(part, **{name: rows for name, rows in empty.items() if getattr(part, name) is None})
        for part in parts
    ]
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return replace(Scenes.concatenate(alike), notes=tuple(notes))


def _check_empty(part: Scenes, name: str) -> None:
    """Refuse a part without a column that it has rows for."""
    table = name.split("_")[0]
    if part.bounds[table][-1] if table in part.bounds else len(part):
        raise InputError(
            f"{part.source}: the column {name} is missing, and other parts have it; put only the "
            "parts of one run into the folder"
        )


def join(folder: Path, path: str | os.PathLike[str]) -> None:
    """Join the parts in a folder into one file, a part of a column in memory at a time.

    Parameters
    ----------
    folder : pathlib.Path
        With at least one part.
    path : path
        The file; it appears complete or not at all.

    Raises
    ------
    InputError
        If a part is missing or damaged, or the file cannot be written.
    """
    parts = [members(part) for part in in_order(str(folder), parts_in(folder))]
    with (
        replacing(path) as temporary,
        temporary.open("wb") as stream,
        ZipFile(stream, "w") as archive,
    ):
        notes = dict.fromkeys(note for part in parts for note in part["notes"].read().tolist())
        fixed = {name: parts[0][name].read() for name in _COPIED}
        for name, array in (fixed | {"notes": np.array(list(notes), dtype=np.str_)}).items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        for name in COLUMNS:
            columns = [part[name].column() for part in parts if name in part]
            if columns:
                # As numpy.savez does, because the size of an entry is not known before.
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    _write_column(entry, columns, _first_rows(parts, name))


def _write_column(
    entry: IO[bytes], columns: Sequence[StoredArray], first: Sequence[int] | None
) -> None:
    """Write one column; references are shifted by the rows ``first`` of each part."""
    kind = np.result_type(*[column.dtype for column in columns])
    if first is not None:
        kind = np.dtype(np.int32 if first[-1] <= np.iinfo(np.int32).max else np.int64)
    shape = (sum(column.shape[0] for column in columns), *columns[0].shape[1:])
    np.lib.format.write_array_header_1_0(
        entry, {"descr": kind.str, "fortran_order": False, "shape": shape}
    )
    for number, column in enumerate(columns):
        rows = column.rows(0, column.shape[0])
        if first is not None:
            rows = np.where(rows < 0, -1, rows.astype(np.int64) + first[number])
        entry.write(rows.astype(kind).tobytes())


def _first_rows(parts: Sequence[Mapping[str, Member]], name: str) -> list[int] | None:
    """Rows before each part, and of all, of what a column refers to; None for other columns."""
    if name not in _REFERENCES:
        return None
    return [0, *accumulate(part[_REFERENCES[name]].column().shape[0] for part in parts)]


def part_name(number: int) -> str:
    """Return the file name of a part, counted from 1."""
    return f"{number:06}.npz"


def remove(folder: Path) -> None:
    """Remove the parts in a folder, and the folder.

    The first part goes first: without it, what is left is never taken for all of a run.
    """
    for _, part in sorted(parts_in(folder).items()):
        part.unlink(missing_ok=True)
    # Something else may be in the folder; then it stays.
    with suppress(OSError):
        folder.rmdir()


def in_order(folder: str, parts: Mapping[int, Path]) -> list[Path]:
    """Return the parts of a folder, by number, in their order.

    Raises
    ------
    InputError
        If one is missing.
    """
    missing = sorted(set(range(1, max(parts) + 1)) - parts.keys())
    if missing:
        raise InputError(
            f"{folder}: {part_name(missing[0])} is missing; copy the folder again, or use the "
            ".npz file beside it if the run has ended"
        )
    return [parts[number] for number in sorted(parts)]
