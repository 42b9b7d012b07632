"""Artifacts of lenses, sensors, compression and transmission (paper, appendices A.3.1 and A.3.2).

The parameters of each function are the rows of ``strengths.csv``. Images are (H, W, C) uint8 with
one or three channels; noise is drawn for each channel, but for salt and pepper, which are whole
pixels.
"""

from __future__ import annotations

import math

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.robustness.pixels import (
    Image,
    blurred,
    coordinates,
    fetched,
    filtered,
    opencv,
    with_channels,
)

# Samples per pixel of a motion line: enough for an even kernel at any angle.
DENSITY = 8
# Side of the blocks in which pictures are coded and sent, in pixels.
BLOCK = 16
# Value of a block that was lost.
GREY = 128
# Greatest distance, in blocks, of a block that a decoder repeats.
FARTHEST = 8


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


def jpeg_artifacts(image: Image, rng: np.random.Generator, *, quality: float) -> Array:
    """Write the picture as JPEG of a low quality and read it again."""
    cv2 = opencv()
    # OpenCV expects blue first; the order matters because JPEG weighs the channels differently.
    _, coded = cv2.imencode(
        ".jpg", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, int(quality)]
    )
    return with_channels(cv2.imdecode(coded, cv2.IMREAD_UNCHANGED))[..., ::-1]


def packet_loss(
    image: Image, rng: np.random.Generator, *, packets: float, length: float, rows: float
) -> Array:
    """Lose runs of coded blocks, and conceal them as decoders do.

    Each lost packet is grey, repeats the blocks of another place, or extends the last row of pixels
    above it.
    """
    height, width = image.shape[:2]
    result: Array = image.copy()
    for column, row, size, kind, right, down in rng.random((int(packets), 6)):
        blocks = max(round(length * (0.5 + size) * width / BLOCK), 1)
        # A run may begin left of the picture, so that its edges lose as much as its middle.
        left = BLOCK * (math.floor(column * (math.ceil(width / BLOCK) + blocks - 1)) - blocks + 1)
        top = BLOCK * math.floor(row * math.ceil(height / BLOCK))
        x = np.arange(max(left, 0), min(left + BLOCK * blocks, width))
        y = np.arange(top, min(top + BLOCK * int(rows), height))
        area = np.ix_(y, x)
        if kind < 1 / 3:
            result[area] = GREY
        elif kind < 2 / 3:
            far = BLOCK * np.rint((2 * np.array([right, down]) - 1) * FARTHEST).astype(int)
            result[area] = image[np.ix_((y + far[1]) % height, (x + far[0]) % width)]
        else:
            result[area] = image[max(top - 1, 0), x]
    return result
