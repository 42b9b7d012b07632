"""The package's own format: the columns of :class:`~diaghoi.data.scenes.Scenes` in an ``.npz``.

``diaghoi_format`` holds the version of the layout, ``vocabulary`` the name of the data set,
``fingerprint`` that of its names and classes, ``notes`` the notes, and ``top`` how many triplets of
each image a reader kept (0: all); every other array is the column of that name. Nothing is
compressed, so that a file is read as fast as it is copied. Coordinates and scores are float64,
other numbers as small as they fit; pairs and triplets refer to rows of the box and pair table of
the whole file.
``box_ignored`` is there where people can be ignored (V-COCO annotations); ``box_label`` may be -1
for V-COCO, whose files do not name the category, and ``pair_object`` -1 if there is no object.

A folder of such files with the next images each is read, too (:mod:`diaghoi.formats.parts`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.data.memory import StoredArray
from diaghoi.data.scenes import COLUMNS, UNREAD, Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import check_names
from diaghoi.formats.content import Content
from diaghoi.formats.output import replacing
from diaghoi.formats.parts import in_order, joined
from diaghoi.formats.stored import StoredScenes
from diaghoi.formats.zipped import members

VERSION = 1
_HEADER = ("diaghoi_format", "vocabulary", "notes", "top")
_OPTIONAL = (
    "sizes",
    "unread",
    "box_ignored",
    "box_score",
    "pair_score",
    "triplet_score",
    "triplet_action_score",
    "triplet_filled",
)
_TABLES = {"box": "box_image", "pair": "pair_human", "triplet": "triplet_pair"}


def _recognise(content: Content) -> Kind | None:
    if content.container == "parts":
        return "predictions"
    if content.container != "npz" or "diaghoi_format" not in content.value:
        return None
    if "triplet_score" in content.value:
        return "predictions"
    if "pair_score" in content.value or _only_pairs(content):
        return "pairs"
    return "annotations"


def _only_pairs(content: Content) -> bool:
    """Whether there are pairs without triplets: those of a file of pairs without scores."""
    size = {
        key: content.value[key].read().size
        for key in ("triplet_pair", "pair_human")
        if key in content.value
    }
    return size.get("triplet_pair") == 0 and size.get("pair_human", 0) > 0


def _dataset(content: Content) -> str | None:
    if content.container == "parts":
        content = _part(content.value[min(content.value)])
    member = content.value.get("vocabulary")
    return None if member is None else str(member.read())


def _part(path: Path) -> Content:
    found = members(path)
    if "diaghoi_format" not in found:
        raise InputError(
            f"{path}: diaghoi_format: is missing, so this is not a part of a run; take the file "
            "out of the folder, or copy the folder again"
        )
    return Content(path, "npz", found)


def _read_parts(content: Content, options: Options) -> Scenes:
    """Read the parts of a file into memory."""
    file = content.file
    read = [stored_scenes(_part(path), options).load() for path in in_order(file, content.value)]
    scenes = joined(read)
    check_names(file, scenes.names.tolist(), "names")
    note = f"{file}: {len(read)} parts with {len(scenes)} images of a run that did not end"
    return replace(scenes, source=file, notes=(*scenes.notes, note))


def _read(content: Content, kind: Kind, options: Options) -> SceneSource:
    if content.container == "parts":
        return _read_parts(content, options)
    return stored_scenes(content, options)


def stored_scenes(content: Content, options: Options) -> StoredScenes:
    """Open the scenes in the arrays of an ``.npz`` file.

    Parameters
    ----------
    content : Content
        The arrays by name, as :func:`arrays_of` gives them.
    options : Options
        How to read them.

    Raises
    ------
    InputError
        Where a column is missing or of the wrong shape or data set. Values are checked as they are
        read.
    """
    file, found = content.file, content.value
    version = found["diaghoi_format"].read()
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != VERSION:
        raise InputError(
            f"{file}: diaghoi_format: is {str(version)!r:.40}, and this release reads {VERSION}; "
            "convert the original file again"
        )
    missing = [key for key in (*_HEADER, *COLUMNS) if key not in found and key not in _OPTIONAL]
    if missing:
        raise InputError(f"{file}: the columns {', '.join(missing)} are missing; convert it again")
    columns = {key: found[key].column() for key in COLUMNS if key in found}
    _check_vocabulary(file, found, options.vocabulary)
    _check_shapes(file, columns)
    notes, top = found["notes"].read(), found["top"].read()
    if top.shape != () or top.dtype.kind not in "iu" or top < 0:
        raise InputError(f"{file}: top: is {str(top)!r:.40}; convert the original file again")
    stored = columns.pop("names")
    names = stored.rows(0, stored.shape[0])
    if names.size and any(names.tolist()):
        check_names(file, names.tolist(), "names")
    return StoredScenes(
        vocabulary=options.vocabulary,
        names=names,
        top=int(top) or None,
        source=file,
        notes=tuple(map(str, notes.reshape(-1).tolist())),
        columns=columns,
        origin=options.origin or 0,
        stored=len(names),
        order=np.arange(len(names)),
    )


def _check_vocabulary(file: str, found: Mapping[str, Any], vocabulary: Vocabulary) -> None:
    """Refuse a file of another data set, or of one whose description has changed."""
    dataset = str(found["vocabulary"].read())
    if dataset != vocabulary.name:
        raise InputError(
            f"{file}: vocabulary: is for the data set {dataset!r:.40}, not for "
            f"{vocabulary.name!r}; give the right one with --dataset"
        )
    written = str(found["fingerprint"].read()) if "fingerprint" in found else ""
    if written not in ("", vocabulary.fingerprint):
        raise InputError(
            f"{file}: fingerprint: was written when {dataset!r:.40} had other objects, verbs or "
            "classes; convert the original file again"
        )


def _check_shapes(file: str, columns: dict[str, StoredArray]) -> None:
    """Check type and shape of every column."""
    for key, column in columns.items():
        table = key.split("_")[0]
        width = {"box_xyxy": (4,), "sizes": (2,), "unread": (len(UNREAD),)}.get(key, ())
        # A column without dimensions counts as empty here; the check of its own shape refuses it,
        # and comes before that of the columns that depend on it.
        length = (*columns[_TABLES.get(table, "names")].shape, 0)[0]
        kinds = "U" if key == "names" else "f" if key.endswith(("score", "xyxy")) else "iu"
        kinds = "b" if key == "box_ignored" else kinds
        if column.shape != (length, *width) or column.dtype.kind not in kinds:
            raise InputError(
                f"{file}: {key}: has shape {column.shape} and type {column.dtype}, where "
                f"{(length, *width)} of kind {kinds!r} is needed; convert the original file again"
            )


FORMAT = Format(
    name="diaghoi",
    title="columns of this package",
    kinds=("annotations", "predictions", "pairs"),
    keys=("diaghoi_format",),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)


def write(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the package's columnar ``.npz``, which loads in milliseconds.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Annotations or predictions.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays_of(scenes))


def arrays_of(scenes: Scenes) -> dict[str, Array]:
    """Return the arrays of a file of scenes by name; :func:`stored_scenes` reads them back."""
    arrays: dict[str, Array] = {
        "diaghoi_format": np.array(VERSION),
        "vocabulary": np.array(scenes.vocabulary.name),
        "fingerprint": np.array(scenes.vocabulary.fingerprint),
        "notes": np.array(scenes.notes, dtype=np.str_),
        "top": np.array(scenes.top or 0),
    }
    for key in COLUMNS:
        column = getattr(scenes, key)
        if column is not None:
            arrays[key] = _small(column)
    return arrays


def _small(column: Array) -> Array:
    """Store integers in the smallest type that holds them, and scores as float64."""
    if column.dtype.kind == "f":
        return column.astype(np.float64, copy=False)
    if column.dtype.kind not in "iu" or len(column) == 0:
        return column
    for kind in (np.int16, np.int32):
        if np.iinfo(kind).min <= column.min() and column.max() <= np.iinfo(kind).max:
            return column.astype(kind)
    return column
