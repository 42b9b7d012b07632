"""Cracks in the glass that a picture is taken through (paper, appendix A.3.4).

From each impact jagged cracks run outwards, branch and are joined by pieces of rings; the glass
around them glares. The parameters are the rows of ``strengths.csv``.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from diaghoi.robustness.corruptions.arrays import (
    Floats,
    Image,
    blurred,
    coordinates,
    half_diagonal,
)
from diaghoi.robustness.libraries import opencv

# Successive cracks leave at this angle, which spreads any number of them evenly.
GOLDEN = math.pi * (3 - math.sqrt(5))
# Straight pieces of a crack, their change of direction, and how many of them branch.
PIECES, KINK, BRANCHING = 14, 0.13, 0.12
# Where rings lie, in pieces from the impact, and how many of the gaps between cracks they join.
RINGS, JOINED = (1, 2, 3, 5, 7), 0.55
# Fixed-point digits of coordinates when drawing.
FRACTION = 4


def screen_crack(
    image: Image,
    rng: np.random.Generator,
    *,
    impacts: float,
    rays: float,
    reach: float,
    width: float,
    glare: float,
) -> Floats:
    """Break the glass at some points: dark fissures with bright edges, and glare around them."""
    half = half_diagonal(image)
    x, y = coordinates(image)
    light = np.zeros(image.shape[:2], dtype=np.float32)
    lines: list[tuple[Floats, float]] = []
    # A generator for each impact, so that a stronger severity only adds to a weaker one.
    for child in rng.spawn(int(impacts)):
        centre = child.uniform(-0.35, 0.35, 2) * image.shape[1::-1]
        cracks = [
            _crack(one, centre, index * GOLDEN, 2 * reach * half)
            for index, one in enumerate(child.spawn(int(rays)))
        ]
        lines += [(points, width) for crack in cracks for points in crack]
        lines += [(points, width / 2) for points in _rings(child, [crack[0] for crack in cracks])]
        distance = np.hypot(x - np.float32(centre[0]), y - np.float32(centre[1]))
        light = np.maximum(light, np.exp(-4 * distance / np.float32(reach * half)))
    fissures = _drawn(image, lines, 0.0)
    edges = _drawn(image, lines, max(width, 1.0))
    haze = blurred(edges, 4 * width)[..., 0]
    bright = np.clip(0.75 * edges + glare * (light + haze)[..., None], 0, 1)
    return (image + bright * (255 - image)) * (1 - 0.8 * fissures)


def _crack(rng: np.random.Generator, centre: Floats, angle: float, length: float) -> list[Floats]:
    """(N, 2) points of one crack and of its branches, in pixels from the middle."""
    step = length * rng.uniform(0.5, 1.5) / PIECES
    heading = angle + rng.normal(0, 0.1) + np.cumsum(rng.normal(0, KINK, PIECES))
    branching = rng.random(PIECES) < BRANCHING
    sides = rng.choice([-1, 1], PIECES) * rng.uniform(0.4, 0.9, PIECES)
    main = _path(centre, heading, step)
    branches = [
        _path(main[at], heading[at:] + sides[at], 0.6 * step)
        for at in np.flatnonzero(branching).tolist()
    ]
    return [main, *branches]


def _path(start: Floats, heading: Floats, step: float) -> Floats:
    """(N + 1, 2) points that are reached by steps of one length in changing directions."""
    steps = step * np.column_stack([np.cos(heading), np.sin(heading)])
    return start + np.vstack([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def _rings(rng: np.random.Generator, cracks: list[Floats]) -> list[Floats]:
    """Join neighbouring cracks at some distances from the impact."""
    angles = [math.atan2(*(crack[1] - crack[0])[::-1]) for crack in cracks]
    order = np.argsort(angles)
    pairs = zip(order.tolist(), np.roll(order, -1).tolist(), strict=True)
    return [
        np.array([cracks[one][ring], cracks[other][ring]])
        for one, other in pairs
        for ring in RINGS
        if rng.random() < JOINED
    ]


def _drawn(image: Image, lines: list[tuple[Floats, float]], aside: float) -> Floats:
    """(H, W, 1) float32 in [0, 1]: lines that grow thinner, drawn some pixels aside."""
    cv2 = opencv()
    middle = (np.array(image.shape[1::-1]) - 1) / 2 + aside
    canvas = np.zeros(image.shape[:2], dtype=np.uint8)
    for points, width in lines:
        fixed = np.rint((points + middle) * 2**FRACTION).astype(np.int32)
        for at, (start, end) in enumerate(itertools.pairwise(fixed)):
            thickness = max(round(width * (1 - at / PIECES)), 1)
            cv2.line(canvas, start.tolist(), end.tolist(), 255, thickness, cv2.LINE_AA, FRACTION)
    return (canvas.astype(np.float32) / 255)[..., None]
