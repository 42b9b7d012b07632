"""The package's own file: the columns of :class:`~diaghoi.scenes.Scenes` in an ``.npz``.

``diaghoi_format`` holds the version of the layout, ``vocabulary`` the name of the data set,
``fingerprint`` that of its names and classes, ``notes`` the notes, and ``top`` how many triplets of
each image a reader kept (0: all); every other array is the column of that name. Nothing is
compressed, so that a file is read as fast as it is copied. Coordinates and scores are float64,
other numbers as small as they fit; pairs and triplets refer to rows of the box and pair table of
the whole file.
``box_ignored`` is there where people can be ignored (V-COCO annotations); ``box_label`` may be -1
for V-COCO, whose files do not name the category, and ``pair_object`` -1 where there is no object.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError
from diaghoi.formats.atomic import replacing
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_boxes, check_names, check_range, check_scores
from diaghoi.formats.content import Content
from diaghoi.formats.numbering import check_verbs
from diaghoi.scenes import COLUMNS, Scenes
from diaghoi.vocabulary import Vocabulary

Array = npt.NDArray[Any]

VERSION = 1
_HEADER = ("diaghoi_format", "vocabulary", "notes", "top")
_OPTIONAL = (
    "sizes",
    "box_ignored",
    "box_score",
    "pair_score",
    "triplet_score",
    "triplet_action_score",
)
_WIDE = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
_TABLES = {"box": "box_image", "pair": "pair_human", "triplet": "triplet_pair"}


def _recognise(content: Content) -> Kind | None:
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
    member = content.value.get("vocabulary")
    return None if member is None else str(member.read())


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Read and check the columns."""
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
    columns = {key: found[key].read() for key in COLUMNS if key in found}
    _check_vocabulary(file, found, options.vocabulary)
    _check_shapes(file, columns)
    notes, top = found["notes"].read(), found["top"].read()
    if top.shape != () or top.dtype.kind not in "iu" or top < 0:
        raise InputError(f"{file}: top: is {str(top)!r:.40}; convert the original file again")
    return Scenes(
        vocabulary=options.vocabulary,
        top=int(top) or None,
        source=file,
        notes=tuple(map(str, notes.reshape(-1).tolist())),
        **_check_values(file, columns, options),
    )


def _check_vocabulary(file: str, found: Mapping[str, Any], vocabulary: Vocabulary) -> None:
    """Refuse a file of another data set, or of one that was described otherwise."""
    dataset = str(found["vocabulary"].read())
    if dataset != vocabulary.name:
        raise InputError(
            f"{file}: vocabulary: is for the data set {dataset!r:.40}, not for "
            f"{vocabulary.name!r}; say which with --dataset"
        )
    written = str(found["fingerprint"].read()) if "fingerprint" in found else ""
    if written not in ("", vocabulary.fingerprint):
        raise InputError(
            f"{file}: fingerprint: was written when {dataset!r:.40} had other objects, verbs or "
            "classes; convert the original file again"
        )


def _check_shapes(file: str, columns: dict[str, Array]) -> None:
    """Check type and shape of every column."""
    for key, column in columns.items():
        table = key.split("_")[0]
        width = {"box_xyxy": (4,), "sizes": (2,)}.get(key, ())
        # A column without a dimension fails its own check, which comes before that of the others.
        length = (*columns[_TABLES.get(table, "names")].shape, 0)[0]
        kinds = "U" if key == "names" else "f" if key.endswith(("score", "xyxy")) else "iu"
        kinds = "b" if key == "box_ignored" else kinds
        if column.shape != (length, *width) or column.dtype.kind not in kinds:
            raise InputError(
                f"{file}: {key}: has shape {column.shape} and type {column.dtype}, where "
                f"{(length, *width)} of kind {kinds!r} is needed; convert the original file again"
            )


def _check_values(file: str, columns: dict[str, Array], options: Options) -> dict[str, Any]:
    """Check the values of every column, and give them their types in memory."""
    vocabulary, origin = options.vocabulary, options.origin or 0
    # V-COCO has one row for every class of every pair, 16 million in the test set.
    lean = ("triplet_pair", "box_image") if vocabulary.agents is not None else ()
    checked: dict[str, Any] = {
        key: column.astype(
            np.result_type(column.dtype, np.int32)
            if key in lean and column.dtype.kind == "i"
            else _WIDE[column.dtype.kind],
            copy=False,
        )
        for key, column in columns.items()
        if key not in ("names", "triplet_verb")
    }
    verbs = columns["triplet_verb"]
    checked["triplet_verb"] = verbs if lean else verbs.astype(np.int64, copy=False)
    names = columns["names"].tolist()
    checked["names"] = columns["names"] if not any(names) else check_names(file, names, "names")

    def table(name: str, image: Array) -> Rows:
        """Say of which image each row of a table is; the rows must be sorted by image."""
        whole = Rows(file, ["the whole file"], name, np.array([len(image)]))
        check_range(whole, image, len(names), "image", "image")
        if (image[1:] < image[:-1]).any():
            bad = int(np.argmax(image[1:] < image[:-1])) + 1
            raise whole.error(bad, "image", "rows do not stand in the order of the images")
        return Rows(file, names, name, np.bincount(image, minlength=len(names)))

    boxes = table("box", checked["box_image"])
    checked["box_xyxy"] = _unchanged_or_shifted(boxes, checked["box_xyxy"], origin)
    label = checked["box_label"]
    known = label if vocabulary.agents is None else label[label != -1]
    if (known < 0).any() or (known >= len(vocabulary.objects)).any():
        check_range(boxes, label, len(vocabulary.objects), "box_label", "object")

    human, thing = checked["pair_human"], checked["pair_object"]
    whole = Rows(file, ["the whole file"], "pair", np.array([len(human)]))
    check_range(whole, human, len(boxes), "pair_human", "box")
    check_range(whole, thing + 1, len(boxes) + 1, "pair_object", "box (counted from 1)")
    image = checked["box_image"][human]
    pairs = table("pair", image)
    apart = (thing >= 0) & (np.append(checked["box_image"], -1)[thing] != image)
    if apart.any():
        raise pairs.error(int(np.argmax(apart)), "pair_object", "is a box of another image")

    pair = checked["triplet_pair"]
    whole = Rows(file, ["the whole file"], "triplet", np.array([len(pair)]))
    check_range(whole, pair, len(human), "triplet_pair", "pair")
    triplets = table("triplet", image[pair])
    check_verbs(triplets, checked["triplet_verb"], vocabulary, "triplet_verb")
    for key in ("triplet_score", "triplet_action_score"):
        if key in checked:
            check_scores(triplets, checked[key], key)
    # NaN marks boxes and pairs that the file with the scores does not have.
    for key, rows in (("box_score", boxes), ("pair_score", pairs)):
        if key in checked and np.isinf(checked[key]).any():
            bad = int(np.argmax(np.isinf(checked[key])))
            raise rows.error(bad, key, "the score is infinite; give a finite number")
    return checked


def _unchanged_or_shifted(boxes: Rows, xyxy: Array, origin: int) -> Array:
    shifted = check_boxes(boxes, xyxy, "box_xyxy", origin=origin, least=-1.0)
    return shifted if origin else xyxy


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
    """Write the package's columnar ``.npz``; it loads in milliseconds.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Annotations or predictions.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
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
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _small(column: Array) -> Array:
    """Give whole numbers the smallest type that holds them, and scores float64."""
    if column.dtype.kind == "f":
        return column.astype(np.float64, copy=False)
    if column.dtype.kind not in "iu" or len(column) == 0:
        return column
    for kind in (np.int16, np.int32):
        if np.iinfo(kind).min <= column.min() and column.max() <= np.iinfo(kind).max:
            return column.astype(kind)
    return column
