"""Boxes of COCO images, processed as in the official V-COCO evaluator."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.vocabulary import object_numberings
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import EXACT, LARGEST, shown, whole_number
from diaghoi.formats.content import load


@dataclass(frozen=True, kw_only=True, eq=False)
class CocoBoxes:
    """Annotated boxes of some COCO images, sorted by image.

    Parameters
    ----------
    file : str
        The instances file, for messages.
    sizes : (N, 2) int array
        Width and height of each image.
    image : (B,) int array
        Image of each box.
    annotation : (B,) int array
        COCO's id of each box.
    label : (B,) int array
        Object category, in COCO-80 order.
    xyxy : (B, 4) float64 array
        Left, top, right, bottom in pixels counted from zero, rounded to float32.
    known : (A,) int array
        Ids of all annotations in the file, also of those without a usable box.
    """

    file: str
    sizes: IntArray
    image: IntArray
    annotation: IntArray
    label: IntArray
    xyxy: FloatArray
    known: IntArray

    def rows(self, ids: IntArray) -> IntArray:
        """Return the row of each annotation id, -1 if there is no box with it."""
        return _places(self.annotation, ids)


def read_coco_boxes(path: str | os.PathLike[str], ids: IntArray) -> CocoBoxes:
    """Read the valid boxes of some images from a COCO instances file.

    As in the official evaluator: annotations marked ``ignore`` are left out; ``x2 = x1 + max(0, w -
    1)``, and ``y2`` likewise; boxes are clipped to the image and kept where the segment has an area
    and the box is more than one pixel wide and high. The order is that of pycocotools.

    Parameters
    ----------
    path : path
        ``instances_vcoco_all_2014.json``, or any instances file that holds the images.
    ids : (N,) int array
        COCO ids of the images.

    Returns
    -------
    CocoBoxes
        Images in the order of ``ids``.

    Raises
    ------
    InputError
        If the file does not hold COCO instances, or lacks an image.
    """
    file = str(path)
    images, annotations = _lists(path)
    # Sorted arrays instead of dicts: Python's hash of numbers can be foreseen, and many ids with
    # one hash would take hours.
    place = _places(_column(file, images, "id"), ids)
    missing = ids[place < 0]
    if len(missing):
        raise InputError(
            f"{file}: image {missing[0]} is not in it, and {len(missing)} of {len(ids)} images are "
            "missing; give the COCO instances that belong to the split"
        )
    sizes = np.array([_size(file, images[row]) for row in place.tolist()], dtype=np.int64)
    sizes = sizes.reshape(-1, 2)
    known = _column(file, annotations, "id")
    _check_different(file, known)
    of_image = _places(ids, _column(file, annotations, "image_id"))
    used = np.array([row.get("ignore") != 1 for row in annotations], dtype=bool) & (of_image >= 0)
    order = np.flatnonzero(used)[np.argsort(of_image[used], kind="stable")]
    of_image, annotation = of_image[order], known[order]
    rows = [annotations[row] for row in order.tolist()]
    label = _labels(file, rows)
    xyxy = _clipped(_numbers(file, rows), sizes[of_image])
    area = np.array([_area(row) for row in rows], dtype=np.float64)
    kept = (area > 0) & (xyxy[:, 2] > xyxy[:, 0]) & (xyxy[:, 3] > xyxy[:, 1])
    return CocoBoxes(
        file=file,
        sizes=sizes,
        image=of_image[kept],
        annotation=annotation[kept],
        label=label[kept],
        xyxy=xyxy[kept].astype(np.float32).astype(np.float64),
        known=known,
    )


def _lists(path: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Load the file, and return its images and its annotations."""
    value = load(path).value
    keys = ("images", "annotations", "categories")
    if not (isinstance(value, dict) and all(isinstance(value.get(key), list) for key in keys)):
        raise InputError(
            f"{path}: is not a COCO instances file (lists {', '.join(keys)}); give "
            "instances_vcoco_all_2014.json with --read instances=FILE"
        )
    return value["images"], value["annotations"]


def _column(file: str, rows: list[dict[str, Any]], key: str) -> IntArray:
    """Return the ids under a key of each image or annotation."""
    try:
        values = [row[key] for row in rows]
        if not set(map(type, values)) <= {int}:
            values = list(map(whole_number, values))
        found = np.array(values, dtype=np.int64)
        if (np.abs(found) <= EXACT).all():
            return found
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{file}: an image or annotation has no usable '{key}'; write it again")


def _places(values: IntArray, sought: IntArray) -> IntArray:
    """Find the last place of each id among some; -1 where it is not among them."""
    order = np.argsort(values, kind="stable")
    place = np.searchsorted(values[order], sought, side="right") - 1
    found = np.append(order, -1)[place]
    return np.where((found >= 0) & (np.append(values, 0)[found] == sought), found, -1)


def _check_different(file: str, ids: IntArray) -> None:
    ordered = np.sort(ids)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise InputError(
            f"{file}: two annotations have the id {twice[0]}; give each annotation its own"
        )


def _size(file: str, info: dict[str, Any]) -> tuple[int, int]:
    width, height = info.get("width"), info.get("height")
    if not all(isinstance(length, int) and 0 < length <= EXACT for length in (width, height)):
        raise InputError(
            f"{file}: image {shown(info['id'])}: width {shown(width)}, height {shown(height)}; the "
            "size of every image is needed in pixels"
        )
    return info["width"], info["height"]


def _where(file: str, row: dict[str, Any]) -> str:
    return f"{file}: image {shown(row['image_id'])}: annotation {shown(row['id'])}"


def _labels(file: str, rows: list[dict[str, Any]]) -> IntArray:
    table = object_numberings()["coco91"]
    for row in rows:
        category = row.get("category_id")
        if not isinstance(category, int) or category not in table:
            raise InputError(
                f"{_where(file, row)}: category_id: {shown(category)} is not a COCO category; they "
                "are 1 to 90"
            )
    return np.array([table[row["category_id"]] for row in rows], dtype=np.int64)


def _numbers(file: str, rows: list[dict[str, Any]]) -> FloatArray:
    try:
        boxes = [row["bbox"] for row in rows]
        if set(map(len, boxes)) <= {4}:
            flat = np.fromiter(chain.from_iterable(boxes), dtype=np.float64, count=4 * len(boxes))
            if (np.abs(flat) <= LARGEST).all():
                return flat.reshape(-1, 4)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    for row in rows:
        box: Any = row.get("bbox")
        try:
            numbers = np.fromiter(box, dtype=np.float64, count=4)
            if len(box) == 4 and (np.abs(numbers) <= LARGEST).all():
                continue
        except (TypeError, ValueError, OverflowError):
            pass
        raise InputError(
            f"{_where(file, row)}: bbox: {shown(box)} is not four numbers of pixels (x, y, width, "
            "height)"
        )
    raise InputError(f"{file}: bbox: boxes are not four numbers (x, y, width, height)")


def _area(row: dict[str, Any]) -> float:
    area = row.get("area", 1.0)
    return float(area) if isinstance(area, int | float) and abs(area) <= EXACT else 0.0


def _clipped(xywh: FloatArray, sizes: IntArray) -> FloatArray:
    """Convert x, y, width, height to corners clipped to the image."""
    corners = np.concatenate([xywh[:, :2], xywh[:, :2] + np.maximum(0, xywh[:, 2:] - 1)], axis=1)
    last = np.tile(sizes - 1.0, (1, 2))
    return np.asarray(np.minimum(last, np.maximum(0, corners)))
