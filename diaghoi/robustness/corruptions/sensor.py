"""Noise of sensors (paper, appendix A.3.2).

The parameters of each function are the rows of ``strengths.csv``. Images are (H, W, C) uint8 with
one or three channels; noise is drawn for each channel, but for salt and pepper, which are whole
pixels.
"""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.robustness.corruptions.arrays import Image


def gaussian_noise(image: Image, rng: np.random.Generator, *, deviation: float) -> Array:
    """Add normally distributed noise."""
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    noise *= np.float32(255 * deviation)
    noise += image
    return noise


def shot_noise(image: Image, rng: np.random.Generator, *, photons: float) -> Array:
    """Count photons: the fewer a white pixel collects, the more the counts vary (Poisson)."""
    counts = rng.poisson(image * (photons / 255))
    return np.multiply(counts, 255 / photons, dtype=np.float32)


def salt_and_pepper_noise(image: Image, rng: np.random.Generator, *, share: float) -> Array:
    """Turn pixels black or white, each with the same probability."""
    drawn = rng.random(image.shape[:2], dtype=np.float32)
    result: Array = image.copy()
    result[drawn < share / 2] = 0
    result[drawn > 1 - share / 2] = 255
    return result


def speckle_noise(image: Image, rng: np.random.Generator, *, deviation: float) -> Array:
    """Multiply with normally distributed factors: grain that is strongest where it is bright."""
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    noise *= np.float32(deviation)
    noise += 1
    noise *= image
    return noise
