"""The annotations of no_frills and the code bases that build on it: ``anno_list.json``.

A list of one dict per image: ``global_id`` (the name of the image without its ending),
``image_size`` (height, width, channels) and ``hois``, one entry per annotated HOI class: ``id``
(from 1, as a number or with three digits), ``human_bboxes`` and ``object_bboxes`` (xyxy counted
from zero), and ``connections``, pairs of positions in these two lists. QAHOI, GGNet, PMN and VSGNet
read the same file. It holds both splits of HICO-DET; images of the training split are left out
where the file has others, as in the evaluators of these code bases. As in ``anno_bbox.mat``, from
which the file is made, boxes with the same coordinates and category in one image are one box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import check_boxes, image_name, key_names, shown, whole_number
from diaghoi.formats.content import Content, begins
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.numbering import hoi_classes
from diaghoi.formats.records import Images

_NAME, _HOIS, _SIZE, _PAIRS = "global_id", "hois", "image_size", "connections"
_BOXES = ("human_bboxes", "object_bboxes")
_TRAINING = "train2015"


def _recognise(content: Content) -> Kind | None:
    return "annotations" if content.plain and {_NAME, _HOIS} <= content.first.keys() else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    images, notes = _evaluated(Images.of(content, content.value, _NAME))
    hois = images.table(_HOIS)
    rows = [
        {_PAIRS: [pair for place, hoi in enumerate(part) for pair in _pairs(images, n, place, hoi)]}
        for n, part in enumerate(hois.lists)
    ]
    pairs = replace(images, rows=rows).table(_PAIRS)
    classes, read_as = hoi_classes(pairs.rows, pairs.integers("id"), None, options, "id", first=1)
    human, object_box = (
        check_boxes(pairs.rows, options.corners(boxes), key, origin=options.origin_or(0))
        for key, boxes in ((key, pairs.boxes(key)) for key in _BOXES)
    )
    return from_repeated(
        options.vocabulary,
        names=np.array(images.names, dtype=np.str_),
        sizes=_sizes(images),
        image=pairs.rows.image,
        human=human,
        object_box=object_box,
        hoi=classes,
        source=content.file,
        notes=notes + read_as,
    )


def _evaluated(images: Images) -> tuple[Images, tuple[str, ...]]:
    """Leave out the training images of a file that has others, with a note."""
    kept = [n for n, name in enumerate(images.names) if _TRAINING not in name]
    if len(kept) in (0, len(images.rows)):
        return images, ()
    note = f"{images.file}: {len(images.rows) - len(kept):,} training images are left out"
    rows, names = [images.rows[n] for n in kept], [images.names[n] for n in kept]
    return replace(images, rows=rows, names=names), (note,)


def _pairs(images: Images, image: int, place: int, hoi: Any) -> Iterator[dict[str, Any]]:
    """Give the class and both boxes of each annotated triplet of one class in an image."""
    where = f"{images.file}: {image_name(images.names, image)}: {_HOIS}[{place}]"
    if not isinstance(hoi, dict):
        raise InputError(f"{where}: is {shown(hoi)}; give a dict")
    for key in ("id", *_BOXES, _PAIRS):
        if key not in hoi:
            hint = close_matches(key, key_names(hoi))
            raise InputError(f"{where}: the key {key!r} is missing{hint}")
        if key != "id" and not isinstance(hoi[key], list | tuple):
            raise InputError(f"{where}: {key}: is {shown(hoi[key])}; give a list")
    number = hoi["id"]
    if isinstance(number, str) and number.isdecimal() and len(number) <= len("600"):
        number = int(number)
    for pair in hoi[_PAIRS]:
        try:
            human, object_box = map(whole_number, pair)
            if min(human, object_box) < 0:
                raise IndexError
            boxes = hoi[_BOXES[0]][human], hoi[_BOXES[1]][object_box]
        except (TypeError, ValueError, OverflowError, IndexError):
            counts = " and ".join(f"{len(hoi[key])} {key}" for key in _BOXES)
            raise InputError(
                f"{where}: {_PAIRS}: {shown(pair)} is not a human box and an object box, counted "
                f"from 0; there are {counts}"
            ) from None
        yield {"id": number, **dict(zip(_BOXES, boxes, strict=True))}


def _sizes(images: Images) -> IntArray | None:
    """(N, 2) width and height of each image, None where the file does not say."""
    sizes = [row.get(_SIZE) for row in images.rows]
    try:
        listed = [[whole_number(size[1]), whole_number(size[0])] for size in sizes if size]
    except (TypeError, ValueError, OverflowError, IndexError, KeyError):
        return None
    return np.array(listed, dtype=np.int64) if len(listed) == len(sizes) > 0 else None


FORMAT = Format(
    name="anno-list",
    title="HICO-DET annotations by HOI class (no_frills, QAHOI)",
    kinds=("annotations",),
    keys=(_NAME, _HOIS, *_BOXES, _PAIRS),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "hico-det" if begins(content.first[_NAME], "HICO_") else None,
)
