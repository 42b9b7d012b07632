"""Boxes of COCO images, processed as in the official V-COCO evaluator."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.data.vocabulary import object_numberings
from diaghoi.exceptions import InputError
from diaghoi.formats.columns.checks import EXACT, shown
from diaghoi.formats.containers.content import load


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
    known : frozenset of int
        Ids of all annotations in the file, also of those without a usable box.
    """

    file: str
    sizes: IntArray
    image: IntArray
    annotation: IntArray
    label: IntArray
    xyxy: FloatArray
    known: frozenset[int]

    def rows(self, ids: IntArray) -> IntArray:
        """Return the row of each annotation id, -1 if there is no box with it."""
        order = np.argsort(self.annotation, kind="stable")
        ordered = np.append(self.annotation[order], np.iinfo(np.int64).max)
        place = np.searchsorted(ordered, ids)
        found = ordered[place] == ids
        return np.where(found, np.append(order, -1)[place], -1)


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
    coco = _index(path)
    file = str(path)
    missing = [image for image in ids.tolist() if image not in coco.imgs]
    if missing:
        raise InputError(
            f"{file}: image {missing[0]} is not in it, and {len(missing)} of {len(ids)} images are "
            "missing; give the COCO instances that belong to the split"
        )
    infos = coco.loadImgs(ids.tolist())
    sizes = np.array([_size(file, info) for info in infos], dtype=np.int64).reshape(-1, 2)
    found = [coco.loadAnns(coco.getAnnIds(imgIds=image, iscrowd=None)) for image in ids.tolist()]
    rows = [row for image in found for row in image if row.get("ignore") != 1]
    of_image = np.repeat(
        np.arange(len(ids)), [sum(row.get("ignore") != 1 for row in image) for image in found]
    )
    label = _labels(file, rows)
    xyxy = _clipped(_numbers(file, rows), sizes[of_image])
    area = np.array([_area(row) for row in rows], dtype=np.float64)
    kept = (area > 0) & (xyxy[:, 2] > xyxy[:, 0]) & (xyxy[:, 3] > xyxy[:, 1])
    annotation = np.array([_id(file, row) for row in rows], dtype=np.int64)
    return CocoBoxes(
        file=file,
        sizes=sizes,
        image=of_image[kept],
        annotation=annotation[kept],
        label=label[kept],
        xyxy=xyxy[kept].astype(np.float32).astype(np.float64),
        known=frozenset(coco.anns),
    )


def _index(path: str | os.PathLike[str]) -> Any:
    """Load the file with clear error messages, and index it with pycocotools."""
    from pycocotools.coco import COCO

    value = load(path).value
    keys = ("images", "annotations", "categories")
    if not (isinstance(value, dict) and all(isinstance(value.get(key), list) for key in keys)):
        raise InputError(
            f"{path}: is not a COCO instances file (lists {', '.join(keys)}); give "
            "instances_vcoco_all_2014.json with --instances"
        )
    coco = COCO()
    coco.dataset = value
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            coco.createIndex()
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path}: an image, annotation or category has no usable {error}; write it again"
        ) from error
    return coco


def _size(file: str, info: dict[str, Any]) -> tuple[int, int]:
    width, height = info.get("width"), info.get("height")
    if not all(isinstance(length, int) and 0 < length <= EXACT for length in (width, height)):
        raise InputError(
            f"{file}: image {shown(info['id'])}: width {shown(width)}, height {shown(height)}; the "
            "size of every image is needed in pixels"
        )
    return info["width"], info["height"]


def _id(file: str, row: dict[str, Any]) -> int:
    if type(row["id"]) is not int or abs(row["id"]) > EXACT:
        raise InputError(f"{_where(file, row)}: id: is not a valid COCO id")
    return int(row["id"])


def _where(file: str, row: dict[str, Any]) -> str:
    return f"{file}: image {shown(row['image_id'])}: annotation {shown(row['id'])}"


def _labels(file: str, rows: list[dict[str, Any]]) -> IntArray:
    table = object_numberings()["coco91"]
    for row in rows:
        if row.get("category_id") not in table:
            raise InputError(
                f"{_where(file, row)}: category_id: {shown(row.get('category_id'))} is not a COCO "
                "category; they are 1 to 90"
            )
    return np.array([table[row["category_id"]] for row in rows], dtype=np.int64)


def _numbers(file: str, rows: list[dict[str, Any]]) -> FloatArray:
    try:
        boxes = [row["bbox"] for row in rows]
        if set(map(len, boxes)) <= {4}:
            flat = np.fromiter(chain.from_iterable(boxes), dtype=np.float64, count=4 * len(boxes))
            if np.isfinite(flat).all():
                return flat.reshape(-1, 4)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    for row in rows:
        box: Any = row.get("bbox")
        try:
            if len(box) == 4 and np.isfinite(np.fromiter(box, dtype=np.float64, count=4)).all():
                continue
        except (TypeError, ValueError, OverflowError):
            pass
        raise InputError(
            f"{_where(file, row)}: bbox: {shown(box)} is not four finite numbers (x, y, width, "
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
