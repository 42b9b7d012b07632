"""Functions that implement the corruptions (paper, appendix A.3), with NumPy and OpenCV.

Images are (H, W, C) uint8 with one or three channels; the parameters of each function are the rows
of ``strengths.csv``. Noise is drawn for each channel, except for salt and pepper, which affects
whole pixels. Boxes do not move with the picture: the benchmark keeps the annotations.
"""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import Array
from diaghoi.exceptions import InputError

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating]

# Samples per pixel of a motion line: enough for a smooth kernel at any angle.
DENSITY = 8
# Side, in pixels, of the blocks in which pictures are coded and transmitted.
BLOCK = 16
# Pixel value of lost blocks that are filled with grey.
GREY = 128
# Largest distance, in blocks, from which a decoder repeats a block.
FARTHEST = 8
# Distance between rainbow bands, in band widths.
SPACING = 1.8
# Share of the hue circle, from red to violet, in a rainbow.
HUES = 0.8
# Relative frequency of the stripes in red, green and blue; it differs because subpixels lie side by
# side.
FINER = (1.0, 1.05, 1.1)
# Curvature of the stripes: phase, in stripes, added at the corners.
BEND = 3.0
# Angle between successive cracks; it distributes any number of cracks evenly.
GOLDEN = math.pi * (3 - math.sqrt(5))
# Number of straight segments of a crack, their change of direction, and the share of segments that
# branch.
PIECES, KINK, BRANCHING = 14, 0.13, 0.12
# Positions of rings, in segments from the impact, and the share of gaps between cracks that rings
# bridge.
RINGS, JOINED = (1, 2, 3, 5, 7), 0.55
# Number of fractional bits in the coordinates of drawn lines.
FRACTION = 4


def opencv() -> Any:
    """Import ``cv2`` of the extra ``robustness``.

    Raises
    ------
    InputError
        If OpenCV is missing; the message says how to install it.
    """
    try:
        return importlib.import_module("cv2")
    except ModuleNotFoundError:
        raise InputError(
            "corruptions and masks need opencv-python-headless, which is not installed: pip "
            "install 'diaghoi[robustness]'"
        ) from None


def blurred(image: Array, deviation: float) -> Array:
    """Blur with a Gaussian whose standard deviation is in pixels; 0 changes nothing."""
    cv2 = opencv()
    if deviation <= 0:
        return image
    result = cv2.GaussianBlur(image, (0, 0), deviation, borderType=cv2.BORDER_REFLECT)
    return np.reshape(result, image.shape)


def filtered(image: Image, kernel: Floats) -> Array:
    """Filter an image with a kernel after scaling the kernel to sum 1."""
    cv2 = opencv()
    weights = (kernel / kernel.sum()).astype(np.float32)
    result = cv2.filter2D(image, -1, weights, borderType=cv2.BORDER_REFLECT)
    return np.reshape(result, image.shape)


def coordinates(image: Array) -> tuple[Floats, Floats]:
    """Return pixel coordinates from the centre of the picture: x as (1, W) and y as (H, 1)."""
    height, width = image.shape[:2]
    x = np.arange(width, dtype=np.float32)[None, :] - np.float32((width - 1) / 2)
    y = np.arange(height, dtype=np.float32)[:, None] - np.float32((height - 1) / 2)
    return x, y


def half_diagonal(image: Array) -> float:
    """Return the distance in pixels from the centre of the picture to its corners, at least 1."""
    height, width = image.shape[:2]
    return max(float(np.hypot(width, height)) / 2, 1.0)


def fetched(
    image: Image, x: Floats, y: Floats, *, nearest: bool = False, black: bool = False
) -> Array:
    """Sample each pixel at another position, given as (H, W) arrays in pixels from the centre.

    Values are interpolated or taken from the nearest pixel; outside the picture, pixels are
    reflected or black.
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
    return np.reshape(moved, image.shape)


def motion_blur(image: Image, rng: np.random.Generator, *, length: float) -> Array:
    """Smear each point into a line, whose direction is random for each picture."""
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
    """Spread each point over a disc, the point spread function of a defocused lens."""
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
    """Displace pixels in small random steps, several times, between two slight blurs.

    All pixels move at once, each from a random nearby position; usual implementations swap one pair
    of pixels at a time.
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
    """Add the noise of photon counts: the fewer photons a white pixel collects, the more noise."""
    counts = rng.poisson(image * (photons / 255))
    return np.multiply(counts, 255 / photons, dtype=np.float32)


def salt_and_pepper_noise(image: Image, rng: np.random.Generator, *, share: float) -> Array:
    """Turn random pixels black or white; black and white are equally probable."""
    drawn = rng.random(image.shape[:2], dtype=np.float32)
    result: Array = image.copy()
    result[drawn < share / 2] = 0
    result[drawn > 1 - share / 2] = 255
    return result


def speckle_noise(image: Image, rng: np.random.Generator, *, deviation: float) -> Array:
    """Multiply pixels by normally distributed factors, so that bright regions get more grain."""
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    noise *= np.float32(deviation)
    noise += 1
    noise *= image
    return noise


def jpeg_artifacts(image: Image, rng: np.random.Generator, *, quality: float) -> Array:
    """Write the picture as JPEG of a low quality and read it again."""
    cv2 = opencv()
    # OpenCV expects BGR; the order matters because JPEG weights the channels differently.
    _, coded = cv2.imencode(
        ".jpg", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, int(quality)]
    )
    return np.reshape(cv2.imdecode(coded, cv2.IMREAD_UNCHANGED), image.shape)[..., ::-1]


def packet_loss(
    image: Image, rng: np.random.Generator, *, packets: float, length: float, rows: float
) -> Array:
    """Drop runs of coded blocks, and conceal the loss as decoders do.

    A lost packet is filled with grey, blocks from elsewhere, or the last pixel row above it.
    """
    height, width = image.shape[:2]
    result: Array = image.copy()
    for column, row, size, kind, right, down in rng.random((int(packets), 6)):
        blocks = max(round(length * (0.5 + size) * width / BLOCK), 1)
        # A run may begin to the left of the picture, so that edges lose as much as the middle.
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


def exposure(image: Image, rng: np.random.Generator, *, stops: float) -> Array:
    """Overexpose or underexpose the picture, at random.

    Linear light is scaled, not pixel values, because a picture file stores roughly the square root
    of the light (the sRGB curve). Values above white are clipped.
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
    """Return the RGB values of pure hues, (..., 3) in [0, 1]; hues 0 and 1 are red."""
    sixths = np.mod(6 * hue[..., None] + np.array([0, 4, 2], dtype=np.float32), 6)
    return np.asarray(np.clip(np.abs(sixths - 3) - 1, 0, 1))


def occlusion(image: Image, rng: np.random.Generator, *, rectangles: float, cover: float) -> Array:
    """Cover parts of the picture with black rectangles of different sizes and shapes."""
    height, width = image.shape[:2]
    drawn = rng.random((int(rectangles), 4))
    share = cover * (0.5 + drawn[:, 0]) / (0.5 + drawn[:, 0]).sum()
    # Aspect ratios are between 1/2 and 2 times that of the picture.
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


def moire_pattern(
    image: Image, rng: np.random.Generator, *, contrast: float, period: float
) -> Array:
    """Overlay the interference pattern of two fine grids; the pattern differs between channels.

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
    """Warp the picture like rubber: a smooth field of random displacements."""
    x, y = coordinates(image)
    steps = blurred(rng.standard_normal((*image.shape[:2], 2), dtype=np.float32), scale)
    steps = steps * np.float32(displacement / max(math.sqrt((steps**2).sum(axis=2).mean()), 1e-9))
    return fetched(image, x + steps[..., 0], y + steps[..., 1])


def perspective_distortion(
    image: Image, rng: np.random.Generator, *, tilt: float, curvature: float
) -> Array:
    """View the picture at an angle, through a lens that bends straight lines.

    One random side lies farther away and looks shorter; the lens bends lines outwards (barrel) or
    inwards (pincushion). Outside the picture, pixels are black.
    """
    cv2 = opencv()
    far, bends = int(rng.integers(4)), 1 if rng.random() < 0.5 else -1
    x, y = coordinates(image)
    half = np.array([max(image.shape[1], 2), max(image.shape[0], 2)], dtype=np.float32) / 2
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=np.float32)
    seen = corners.copy()
    for corner in (far, (far + 1) % 4):
        # The corners of the far side move towards its middle, and slightly towards the opposite
        # side.
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
    large = cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST)
    return np.reshape(large, image.shape)


def zoom_blur(image: Image, rng: np.random.Generator, *, zoom: float, layers: float) -> Array:
    """Average copies of the picture, each slightly larger than the last."""
    cv2 = opencv()
    height, width = image.shape[:2]
    middle = np.array([[(width - 1) / 2], [(height - 1) / 2]])
    total = np.zeros(image.shape, dtype=np.float32)
    for factor in np.linspace(1, 1 + zoom, int(layers)):
        larger = np.hstack([np.eye(2) * factor, middle * (1 - factor)])
        moved = cv2.warpAffine(image, larger, (width, height), borderMode=cv2.BORDER_REFLECT)
        total += np.reshape(moved, image.shape)
    return np.divide(total, int(layers), dtype=np.float32)


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
    """Crack the glass at some points: dark fissures with bright edges, surrounded by glare."""
    half = half_diagonal(image)
    x, y = coordinates(image)
    light = np.zeros(image.shape[:2], dtype=np.float32)
    lines: list[tuple[Floats, float]] = []
    # Each impact has its own generator, so that a higher severity only adds impacts to those of a
    # lower severity.
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
    """Return the points of a crack and its branches, (N, 2), in pixels from the image centre."""
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
    """Return the points, (N + 1, 2), of a path of equal steps whose direction varies."""
    steps = step * np.column_stack([np.cos(heading), np.sin(heading)])
    return start + np.vstack([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def _rings(rng: np.random.Generator, cracks: list[Floats]) -> list[Floats]:
    """Connect neighbouring cracks by random pieces of rings around the impact."""
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
    """Draw tapering lines, shifted by ``aside`` pixels, in an (H, W, 1) float32 array in [0, 1]."""
    cv2 = opencv()
    middle = (np.array(image.shape[1::-1]) - 1) / 2 + aside
    canvas = np.zeros(image.shape[:2], dtype=np.uint8)
    for points, width in lines:
        fixed = np.rint((points + middle) * 2**FRACTION).astype(np.int32)
        for at, (start, end) in enumerate(itertools.pairwise(fixed)):
            thickness = max(round(width * (1 - at / PIECES)), 1)
            cv2.line(canvas, start.tolist(), end.tolist(), 255, thickness, cv2.LINE_AA, FRACTION)
    return (canvas.astype(np.float32) / 255)[..., None]
