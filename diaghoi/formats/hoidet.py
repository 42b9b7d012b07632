"""The results of HOIDet: lists of boxes, and columns of triplets that count them.

A list of one dict per image: ``image_id`` (the number at the end of the file name), ``boxes``
(xyxy counted from zero), and the columns ``h_idx``, ``o_idx`` (positions in ``boxes``),
``hoi_score`` and ``hoi_class`` (0-599 in the official order). Boxes have no category: subjects are
people, and the category of an object is that of the class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import EXACT, check_amount, shown
from diaghoi.formats.content import Content
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import TripletNumbers

_COLUMNS = {
    "subject_id": "h_idx",
    "object_id": "o_idx",
    "category_id": "hoi_class",
    "score": "hoi_score",
}
_LISTS = ("boxes", *_COLUMNS.values())
_LAYOUT = ListLayout(
    name="image_id",
    boxes="boxes",
    triplets="triplets",
    scored=True,
    objects="coco80",
    numbers=TripletNumbers("class", 0),
    labelled=False,
    box_arrays={"bbox": "boxes"},
    triplet_arrays=_COLUMNS,
)


def _recognise(content: Content) -> Kind | None:
    first = content.first
    return "predictions" if {"boxes", "h_idx", "o_idx", "hoi_class"} <= first.keys() else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    parts = [image.get(key) for image in content.value if isinstance(image, dict) for key in _LISTS]
    amount = sum(len(part) for part in parts if isinstance(part, list | tuple))
    check_amount(content.file, "boxes", amount, content.size)
    value = [_listed(content.file, number, image) for number, image in enumerate(content.value)]
    return read_listed(replace(content, value=value), _LAYOUT, options)


def _listed(file: str, number: int, image: Any) -> dict[str, Any]:
    """Bring the columns of an image to lists of boxes and triplets."""
    where = f"{file}: image {number} (counted from 0)"
    if not isinstance(image, dict):
        raise InputError(f"{where}: is {shown(image)}; give a dict")
    columns: dict[str, Any] = {}
    for key in ("image_id", *_LISTS):
        if key not in image:
            raise InputError(
                f"{where}: the key {key!r} is missing{close_matches(key, map(str, image))}"
            )
        columns[key] = image[key]
        if key != "image_id" and not isinstance(image[key], list | tuple):
            raise InputError(f"{where}: {key}: is {shown(image[key])}; give a list")
    lengths = {key: len(columns[key]) for key in _COLUMNS.values()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise InputError(f"{where}: lengths do not fit: {told}; give one value per triplet")
    rows = zip(*(columns[key] for key in _COLUMNS.values()), strict=True)
    name = columns["image_id"]
    return {
        # Numbers are valid names; images are joined by the number at the end of theirs.
        "image_id": str(name) if type(name) is int and 0 <= name <= EXACT else name,
        "boxes": [{"bbox": box} for box in columns["boxes"]],
        "triplets": [dict(zip(_COLUMNS, row, strict=True)) for row in rows],
    }


FORMAT = Format(
    name="hoidet",
    title="lists of boxes and columns of triplets (HOIDet)",
    kinds=("predictions",),
    keys=("image_id", "boxes", "h_idx", "o_idx", "hoi_score", "hoi_class"),
    recognise=_recognise,
    read=_read,
)
