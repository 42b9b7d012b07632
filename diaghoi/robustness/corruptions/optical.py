"""Optical system-induced artifacts (paper, appendix A.3.1): blur of four kinds.

The parameters of each function are the rows of ``strengths.csv``. Images are (H, W, C) uint8 with
one or three channels.
"""

from __future__ import annotations

import math

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.robustness.corruptions.arrays import Image, blurred, coordinates, fetched, filtered

# Samples per pixel of a motion line: enough for an even kernel at any angle.
DENSITY = 8


def motion_blur(image: Image, rng: np.random.Generator, *, length: float) -> Array:
    """Smear every point into a line; the direction is random for each picture."""
    angle = rng.uniform(0, math.pi)
    reach = math.ceil(max(length - 1, 0) / 2) + 1
    along = np.linspace(-0.5, 0.5, max(int(length * DENSITY), 1)) * max(length - 1, 0)
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    x, y = reach + along * math.cos(angle), reach + along * math.sin(angle)
    column, row = np.floor(x).astype(int), np.floor(y).astype(int)
    for right in (0, 1):
        for down in (0, 1):
            share = abs(1 - right - (x - column)) * abs(1 - down - (y - row))
            np.add.at(kernel, (row + down, column + right), share)
    return filtered(image, kernel)


def defocus_blur(image: Image, rng: np.random.Generator, *, radius: float) -> Array:
    """Spread every point over a disc, the point spread function of a lens out of focus."""
    reach = math.ceil(radius)
    offsets = np.arange(-reach, reach + 1)
    distance = np.hypot(offsets[:, None], offsets[None, :])
    return filtered(image, np.clip(radius + 0.5 - distance, 0, 1))


def gaussian_blur(image: Image, rng: np.random.Generator, *, deviation: float) -> Array:
    """Blur with a Gaussian kernel, as scattered light does."""
    return blurred(image, deviation)


def glass_blur(
    image: Image,
    rng: np.random.Generator,
    *,
    displacement: float,
    passes: float,
    deviation: float,
) -> Array:
    """Displace pixels in small random steps, several times, between two light blurs.

    All pixels move at once, each fetched from a random place nearby; the customary loop swaps one
    pair of pixels after the other.
    """
    x, y = coordinates(image)
    result = blurred(image, deviation)
    for _ in range(int(passes)):
        steps = rng.uniform(-1, 1, (2, *image.shape[:2])).astype(np.float32) * displacement
        result = fetched(result.astype(np.uint8), x + steps[0], y + steps[1], nearest=True)
    return blurred(result, deviation)
