"""How long each corruption takes."""

from __future__ import annotations

import time

import numpy as np

from diaghoi.robustness.corruptions.apply import corrupt, generator
from diaghoi.robustness.corruptions.arrays import Image
from diaghoi.robustness.corruptions.registry import CORRUPTIONS, SEVERITIES


def seconds_per_picture(
    size: tuple[int, int] = (480, 640), *, repeats: int = 3, rng: np.random.Generator
) -> dict[str, float]:
    """Time all corruptions in this process, without reading and writing files.

    Parameters
    ----------
    size : (height, width)
        Of a colour picture of noise.
    repeats : int
        The fastest of so many counts, after one that is not timed.
    rng : numpy.random.Generator
        Draws the picture.

    Returns
    -------
    dict of float
        Seconds for one picture, the mean over the severities, by the name of the corruption.
    """
    image = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
    return {
        name: float(np.mean([_fastest(image, name, severity, repeats) for severity in SEVERITIES]))
        for name in CORRUPTIONS
    }


def _fastest(image: Image, name: str, severity: int, repeats: int) -> float:
    corrupt(image, name, severity, rng=generator(0, "", name))
    times = []
    for _ in range(repeats):
        rng = generator(0, "", name)
        start = time.perf_counter()
        corrupt(image, name, severity, rng=rng)
        times.append(time.perf_counter() - start)
    return min(times)
