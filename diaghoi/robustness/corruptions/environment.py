"""Environmentally induced artifacts (paper, appendix A.3.3).

The parameters of each function are the rows of ``strengths.csv``. Images are (H, W, C) uint8 with
one or three channels.
"""

from __future__ import annotations

import math

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.robustness.corruptions.arrays import Floats, Image, coordinates, fetched, half_diagonal

# Distance between rainbow bands, in widths of a band.
SPACING = 1.8
# Share of the circle of hues, from red to violet, that a rainbow shows.
HUES = 0.8


def exposure(image: Image, rng: np.random.Generator, *, stops: float) -> Array:
    """Overexpose or underexpose the picture, at random.

    Linear light is scaled, not pixel values: a picture file stores about the square root of the
    light (the sRGB curve). Values beyond white are clipped.
    """
    gain = 2.0 ** (stops if rng.random() < 0.5 else -stops)
    values = np.arange(256) / 255
    light = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    light = np.clip(gain * light, 0, 1)
    shown = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    table: Image = np.rint(255 * shown).astype(np.uint8)
    return np.take(table, image)


def rainbow_effect(
    image: Image, rng: np.random.Generator, *, shift: float, width: float, opacity: float
) -> Array:
    """Shift the colour channels apart, and overlay bands of rainbow colours.

    Grey pictures become coloured: three channels are returned.
    """
    angle, turn, phase = rng.uniform(0, [2 * math.pi, math.pi, 1])
    x, y = coordinates(image)
    right, down = shift * math.cos(angle), shift * math.sin(angle)
    colours = np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image
    parts = [
        fetched(
            np.ascontiguousarray(colours[..., channel, None]), x + side * right, y + side * down
        )
        for channel, side in enumerate((1, 0, -1))
    ]
    moved = np.concatenate(parts, axis=2).astype(np.float32)
    across = (x * math.cos(turn) + y * math.sin(turn)) / max(width, 1.0)
    place = np.mod(across / SPACING + phase, 1) * SPACING
    strength = opacity * np.sin(math.pi * np.clip(place, 0, 1))[..., None]
    result: Array = moved + strength * (255 * _hue(HUES * np.clip(place, 0, 1)) - moved)
    return result


def _hue(hue: Floats) -> Floats:
    """(..., 3) red, green and blue in [0, 1] of pure colours; 0 and 1 are red."""
    sixths = np.mod(6 * hue[..., None] + np.array([0, 4, 2], dtype=np.float32), 6)
    return np.asarray(np.clip(np.abs(sixths - 3) - 1, 0, 1))


def occlusion(image: Image, rng: np.random.Generator, *, rectangles: float, cover: float) -> Array:
    """Cover parts of the picture with black rectangles of different sizes and shapes."""
    height, width = image.shape[:2]
    drawn = rng.random((int(rectangles), 4))
    share = cover * (0.5 + drawn[:, 0]) / (0.5 + drawn[:, 0]).sum()
    # Aspect ratios between 1/2 and 2, relative to that of the picture.
    ratio = 2.0 ** (2 * drawn[:, 1] - 1)
    result: Array = image.copy()
    for part, shape, across, along in zip(share, ratio, drawn[:, 2], drawn[:, 3], strict=True):
        rows = min(max(round(height * math.sqrt(part * shape)), 1), height)
        columns = min(max(round(width * math.sqrt(part / shape)), 1), width)
        top, left = round(along * (height - rows)), round(across * (width - columns))
        result[top : top + rows, left : left + columns] = 0
    return result


def vignette_effect(
    image: Image, rng: np.random.Generator, *, darkening: float, clear: float
) -> Array:
    """Darken the picture towards its corners."""
    x, y = coordinates(image)
    radius = np.hypot(x, y) / np.float32(half_diagonal(image))
    outwards = np.clip((radius - clear) / (1 - clear), 0, 1)
    smooth = outwards * outwards * (3 - 2 * outwards)
    result: Array = image * (1 - np.float32(darkening) * smooth[..., None])
    return result
