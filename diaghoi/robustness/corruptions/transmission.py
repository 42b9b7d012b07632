"""Artifacts of compression and transmission (paper, appendix A.3.2).

The parameters of each function are the rows of ``strengths.csv``. Images are (H, W, C) uint8 with
one or three channels.
"""

from __future__ import annotations

import math

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.robustness.corruptions.arrays import Image, with_channels
from diaghoi.robustness.libraries import opencv

# Side of the blocks in which pictures are coded and sent, in pixels.
BLOCK = 16
# Value of a block that was lost.
GREY = 128
# Greatest distance, in blocks, of a block that a decoder repeats.
FARTHEST = 8


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
