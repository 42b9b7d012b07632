"""The frame of a picture: which part of the image plane is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from diaghoi.cases.cases import Box, Case

Image = npt.NDArray[np.uint8]

UNKNOWN = 0.1  # margin around the boxes of an image of unknown size, as a share of their extent
# A picture shows a part of an image where that makes its boxes at least this many times as large:
ENLARGED, MOST = 2.0, 8.0  # and at most so many times
ROOM = 0.5  # the share of the picture that all boxes may then span
NOTHING = (-0.5, -0.5, 639.5, 479.5)  # of a case without boxes, in an image of unknown size
BESIDE = 0.12  # margin beside the boxes of a crop, as a share of their extent
TINY, TINY_ROOM = 1 / 16, 0.25  # the same of a pair that is tiny although its annotation is not


class PictureFrame(NamedTuple):
    """The part of the image plane that a picture shows, in pixels of the image.

    Parameters
    ----------
    left, top, right, bottom : float
        Its edges. Coordinates are those of pixel centres, so an image begins at -0.5.
    """

    left: float
    top: float
    right: float
    bottom: float

    @property
    def ratio(self) -> float:
        """Height over width."""
        return (self.bottom - self.top) / (self.right - self.left)

    def inside(self, box: Box, inset: float) -> Box:
        """Clip a box to the frame, so that its edges show."""
        across = np.clip((box[0], box[2]), self.left + inset, self.right - inset)
        down = np.clip((box[1], box[3]), self.top + inset, self.bottom - inset)
        return float(across[0]), float(down[0]), float(across[1]), float(down[1])


def whole_of(case: Case, image: Image | None = None) -> PictureFrame | None:
    """Return the frame of the whole image of a case; None if its size is unknown.

    Parameters
    ----------
    case : Case
        The case to draw.
    image : (H, W, 3) uint8 array, optional
        Its picture, for an image of unknown size.
    """
    if case.size is None and image is None:
        return None
    return frame_of_boxes((), case.size, image)


def frame_of_boxes(
    boxes: Sequence[Box], size: tuple[int, int] | None, image: Image | None = None
) -> PictureFrame:
    """Return the frame of a whole image, or that of boxes where its size is unknown.

    Parameters
    ----------
    boxes : sequence of boxes
        On the image.
    size : (width, height) or None
        In pixels, where known.
    image : (H, W, 3) uint8 array, optional
        Its picture, for an image of unknown size.
    """
    if size is None and image is not None:
        size = (image.shape[1], image.shape[0])
    if size is not None:
        return PictureFrame(-0.5, -0.5, size[0] - 0.5, size[1] - 0.5)
    usable = _usable(*boxes)
    if not usable:
        return PictureFrame(*NOTHING)
    left, top, right, bottom = _around(usable)
    margin = max(1.0, UNKNOWN * max(right - left, bottom - top))
    return PictureFrame(left - margin, top - margin, right + margin, bottom + margin)


def frame_of(case: Case, image: Image | None = None) -> PictureFrame:
    """Return the frame of a case: the image, or the part with the boxes if these are small.

    A part has the shape of the image. If the size of the image is unknown, the frame is that of all
    boxes, with a margin.

    Parameters
    ----------
    case, image
        As for :func:`whole_of`.
    """
    whole = whole_of(case, image)
    predicted = _usable(case.human, case.object)
    annotated = _usable(case.annotated_human, case.annotated_object)
    boxes = [*predicted, *annotated]
    if not boxes:
        return whole or PictureFrame(*NOTHING)
    if whole is None:
        return frame_of_boxes(boxes, None)
    part = _part(whole, _around(boxes), ROOM)
    pair = _around(predicted or annotated)
    if part == whole and _span(whole, pair) <= TINY:
        return _part(whole, pair, TINY_ROOM)
    return part


def enlargement(case: Case, image: Image | None = None) -> float:
    """Return how many times as large as the whole image would show it a picture shows a case."""
    whole, frame = whole_of(case, image), frame_of(case, image)
    return 1.0 if whole is None else (whole.right - whole.left) / (frame.right - frame.left)


def crop(boxes: Sequence[Box], whole: PictureFrame, ratio: float) -> PictureFrame:
    """Return the part of an image that shows some boxes as large as a shape allows.

    Parameters
    ----------
    boxes : sequence of boxes
        What has to be seen; the whole image is shown without any.
    whole : PictureFrame
        The image. A part is never enlarged more than eight times, nor larger than the image, so
        that it can have another shape.
    ratio : float
        Height over width.
    """
    usable = _usable(*boxes)
    if not usable:
        return whole
    box = _around(usable)
    margin = BESIDE * max(box[2] - box[0], box[3] - box[1])
    width = max(
        box[2] - box[0] + 2 * margin,
        (box[3] - box[1] + 2 * margin) / ratio,
        (whole.right - whole.left) / MOST,
    )
    height = min(width * ratio, whole.bottom - whole.top)
    width = min(width, whole.right - whole.left)
    left = _start((box[0] + box[2]) / 2, width, whole.left, whole.right)
    top = _start((box[1] + box[3]) / 2, height, whole.top, whole.bottom)
    return PictureFrame(left, top, left + width, top + height)


def _usable(*boxes: Box | None) -> list[Box]:
    return [box for box in boxes if box is not None and np.isfinite(box).all()]


def _around(boxes: Sequence[Box]) -> Box:
    corners = np.array(boxes).reshape(-1, 2)
    left, top = corners.min(axis=0).tolist()
    right, bottom = corners.max(axis=0).tolist()
    return left, top, right, bottom


def _span(whole: PictureFrame, box: Box) -> float:
    """Return the greater of the shares of width and height of an image that a box spans."""
    across = (box[2] - box[0]) / (whole.right - whole.left)
    return max(across, (box[3] - box[1]) / (whole.bottom - whole.top))


def _part(whole: PictureFrame, box: Box, room: float) -> PictureFrame:
    """Return the part of an image of which a box spans a share, or the image if that is more."""
    factor = room / max(_span(whole, box), room / MOST)
    if factor < ENLARGED:
        return whole
    width, height = (whole.right - whole.left) / factor, (whole.bottom - whole.top) / factor
    left = _start((box[0] + box[2]) / 2, width, whole.left, whole.right)
    top = _start((box[1] + box[3]) / 2, height, whole.top, whole.bottom)
    return PictureFrame(left, top, left + width, top + height)


def _start(centre: float, side: float, first: float, last: float) -> float:
    """Begin a side at its centre, or as near to it as the image allows."""
    return min(max(centre - side / 2, first), last - side)
