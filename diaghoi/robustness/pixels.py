"""Blurs, coordinates and remapping of pixels with OpenCV, which is loaded where it is used."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import Array
from diaghoi.exceptions import InputError

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating]


def opencv() -> Any:
    """Import ``cv2`` of the extra ``robustness``.

    Raises
    ------
    InputError
        Where it is missing, with how to install it.
    """
    try:
        return importlib.import_module("cv2")
    except ModuleNotFoundError:
        raise InputError(
            "this needs opencv-python-headless, which is not installed: "
            "pip install 'diaghoi[robustness]'"
        ) from None


def with_channels(image: Array) -> Array:
    """(H, W, C) view of an image from OpenCV, which drops a single channel."""
    return image if image.ndim == 3 else image[..., None]


def blurred(image: Array, deviation: float) -> Array:
    """Blur with a Gaussian whose standard deviation is in pixels; 0 changes nothing."""
    cv2 = opencv()
    if deviation <= 0:
        return image
    return with_channels(cv2.GaussianBlur(image, (0, 0), deviation, borderType=cv2.BORDER_REFLECT))


def filtered(image: Image, kernel: Floats) -> Array:
    """Filter an image with a kernel, normalised to sum 1."""
    cv2 = opencv()
    weights = (kernel / kernel.sum()).astype(np.float32)
    return with_channels(cv2.filter2D(image, -1, weights, borderType=cv2.BORDER_REFLECT))


def coordinates(image: Array) -> tuple[Floats, Floats]:
    """Return x as (1, W) and y as (H, 1), in pixels from the centre of the picture."""
    height, width = image.shape[:2]
    x = np.arange(width, dtype=np.float32)[None, :] - np.float32((width - 1) / 2)
    y = np.arange(height, dtype=np.float32)[:, None] - np.float32((height - 1) / 2)
    return x, y


def half_diagonal(image: Array) -> float:
    """Return the pixels from the centre of the picture to its corners, at least 1."""
    height, width = image.shape[:2]
    return max(float(np.hypot(width, height)) / 2, 1.0)


def fetched(
    image: Image, x: Floats, y: Floats, *, nearest: bool = False, black: bool = False
) -> Array:
    """Take each pixel from another position of the picture.

    Parameters
    ----------
    image : (H, W, C) uint8 array
        The picture.
    x, y : arrays that broadcast to (H, W)
        Source of each pixel, in pixels from the centre of the picture.
    nearest : bool
        Take the nearest pixel instead of interpolating.
    black : bool
        Pixels from outside are black instead of reflected.
    """
    cv2 = opencv()
    height, width = image.shape[:2]
    columns = np.broadcast_to(x + np.float32((width - 1) / 2), (height, width))
    rows = np.broadcast_to(y + np.float32((height - 1) / 2), (height, width))
    moved = cv2.remap(
        image,
        np.ascontiguousarray(columns, dtype=np.float32),
        np.ascontiguousarray(rows, dtype=np.float32),
        cv2.INTER_NEAREST if nearest else cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT if black else cv2.BORDER_REFLECT,
    )
    return with_channels(moved)
