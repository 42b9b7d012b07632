"""Geometric and scene distortions (paper, appendix A.3.4), except cracks.

The parameters of each function are the rows of ``strengths.csv``. Images are (H, W, C) uint8 with
one or three channels. Boxes are not moved with the picture: the benchmark keeps the annotations.
"""

from __future__ import annotations

import math

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.robustness.corruptions.arrays import (
    Image,
    blurred,
    coordinates,
    fetched,
    half_diagonal,
    with_channels,
)
from diaghoi.robustness.libraries import opencv

# Relative frequency of the stripes in red, green and blue: subpixels lie side by side.
FINER = (1.0, 1.05, 1.1)
# How strongly stripes bend: the phase, in stripes, that is added at the corners.
BEND = 3.0


def moire_pattern(
    image: Image, rng: np.random.Generator, *, contrast: float, period: float
) -> Array:
    """Overlay the interference of two fine grids, different in each colour channel.

    Two sets of bent stripes of about the same period cross at a small angle.
    """
    angle, tilt, phase, bend = rng.uniform(
        [0, 0.15, 0, 0.5], [math.pi, 0.5, 2 * math.pi, 1.0]
    ).astype(np.float32)
    x, y = coordinates(image)
    centre = (x * x + y * y) / np.float32(half_diagonal(image) ** 2)
    waves = np.float32(2 * math.pi / max(period, 2.0))
    pattern = np.zeros(image.shape, dtype=np.float32)
    for channel in range(image.shape[2]):
        for turn, sign in ((angle, 1), (angle + tilt, -1)):
            along = x * np.cos(turn) + y * np.sin(turn)
            stripes = waves * along + sign * 2 * np.pi * BEND * bend * centre
            pattern[..., channel] += np.cos(np.float32(FINER[channel]) * stripes + phase) / 2
    result: Array = image + np.float32(255 * contrast) * pattern
    return result


def elastic_transform(
    image: Image, rng: np.random.Generator, *, displacement: float, scale: float
) -> Array:
    """Warp the picture as if it were printed on rubber: a smooth field of random movements."""
    x, y = coordinates(image)
    steps = blurred(rng.standard_normal((*image.shape[:2], 2), dtype=np.float32), scale)
    steps = steps * np.float32(displacement / max(math.sqrt((steps**2).sum(axis=2).mean()), 1e-9))
    return fetched(image, x + steps[..., 0], y + steps[..., 1])


def perspective_distortion(
    image: Image, rng: np.random.Generator, *, tilt: float, curvature: float
) -> Array:
    """View the picture at an angle, through a lens that bends straight lines.

    One side, drawn for the picture, lies farther away and looks shorter; the lens bends outwards
    (barrel) or inwards (pincushion). What lies outside the picture is black.
    """
    cv2 = opencv()
    far, bends = int(rng.integers(4)), 1 if rng.random() < 0.5 else -1
    x, y = coordinates(image)
    half = np.array([max(image.shape[1], 2), max(image.shape[0], 2)], dtype=np.float32) / 2
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=np.float32)
    seen = corners.copy()
    for corner in (far, (far + 1) % 4):
        # Along the side towards its middle, and a little towards the opposite side.
        sideways = corners[far] != corners[(far + 1) % 4]
        seen[corner] *= np.where(sideways, 1 - tilt, 1 - tilt / 2)
    matrix = cv2.getPerspectiveTransform(seen * half, corners * half).astype(np.float32)
    radius = (x * x + y * y) / np.float32(half_diagonal(image) ** 2)
    bent = 1 + np.float32(bends * curvature) * radius
    x, y = x * bent, y * bent
    depth = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2]
    return fetched(
        image,
        (matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]) / depth,
        (matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]) / depth,
        black=True,
    )


def pixelation(image: Image, rng: np.random.Generator, *, block: float) -> Array:
    """Shrink the picture, and enlarge it again without interpolation."""
    cv2 = opencv()
    height, width = image.shape[:2]
    block = max(block, 1.0)
    small = cv2.resize(
        image,
        (max(round(width / block), 1), max(round(height / block), 1)),
        interpolation=cv2.INTER_AREA,
    )
    return with_channels(cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST))


def zoom_blur(image: Image, rng: np.random.Generator, *, zoom: float, layers: float) -> Array:
    """Average layers of the picture, each a little larger than the one before."""
    cv2 = opencv()
    height, width = image.shape[:2]
    middle = np.array([[(width - 1) / 2], [(height - 1) / 2]])
    total = np.zeros(image.shape, dtype=np.float32)
    for factor in np.linspace(1, 1 + zoom, int(layers)):
        larger = np.hstack([np.eye(2) * factor, middle * (1 - factor)])
        moved = cv2.warpAffine(image, larger, (width, height), borderMode=cv2.BORDER_REFLECT)
        total += with_channels(moved)
    return np.divide(total, int(layers), dtype=np.float32)
