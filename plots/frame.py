"""The frame of a picture: which part of the image plane is drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from diaghoi.cases.cases import Box, Case

Image = npt.NDArray[np.uint8]

UNKNOWN = 0.1  # margin around the boxes of an image of unknown size, as a share of their extent


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


def frame_of(case: Case, image: Image | None = None) -> PictureFrame:
    """Return the frame of a case: the image, or all boxes with a margin if its size is unknown.

    Parameters
    ----------
    case : Case
        The case to draw.
    image : (H, W, 3) uint8 array, optional
        Its picture, for an image of unknown size.
    """
    size = case.size
    if size is None and image is not None:
        size = (image.shape[1], image.shape[0])
    if size is not None:
        return PictureFrame(-0.5, -0.5, size[0] - 0.5, size[1] - 0.5)
    boxes = (case.human, case.object, case.annotated_human, case.annotated_object)
    corners = np.array([box for box in boxes if box is not None]).reshape(-1, 2)
    first, last = corners.min(axis=0), corners.max(axis=0)
    around = max(1.0, UNKNOWN * float((last - first).max()))
    left, top = (first - around).tolist()
    right, bottom = (last + around).tolist()
    return PictureFrame(left, top, right, bottom)
