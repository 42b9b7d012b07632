"""Apply one corruption to one picture, reproducibly."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays import Array, seeded
from diaghoi.exceptions import InputError
from diaghoi.robustness.corruptions.arrays import Image
from diaghoi.robustness.corruptions.registry import SEVERITIES, find
from diaghoi.robustness.corruptions.strengths import strength

# Weights of red, green and blue in luma (ITU-R BT.601, as in JPEG files).
LUMA = (0.299, 0.587, 0.114)


def corrupt(
    image: Image, corruption: str, severity: int, *, rng: np.random.Generator | None = None
) -> Image:
    """Corrupt a picture.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) uint8 array
        Grey, or red, green and blue. It is not changed.
    corruption : str
        Name or abbreviation, such as ``motion_blur`` or ``MB``.
    severity : int
        1 (mild) to 5 (strong); ``strengths.csv`` gives the parameters.
    rng : numpy.random.Generator, optional
        Source of directions, places and noise; use :func:`generator` of the picture for
        reproducible results. By default :func:`generator` of an empty name.

    Returns
    -------
    array
        Of the shape and type of ``image``. Boxes are not moved: the benchmark evaluates geometric
        distortions with the annotations of the clean picture.

    Raises
    ------
    InputError
        For an image that is not of 8 bits or of another shape, an unknown corruption or severity,
        or where OpenCV is missing.
    """
    _check(image, severity)
    found = find([corruption])
    if len(found) > 1:
        raise InputError(f"'{corruption}' is a group of corruptions; give one of them")
    name = found[0].name
    rng = generator(0, "", name) if rng is None else rng
    parameters = strength(name, severity, min(image.shape[:2]))
    channels = image[..., None] if image.ndim == 2 else image
    result = _rounded(found[0].function(channels, rng, **parameters))
    if image.ndim == 3:
        return result
    return result[..., 0] if result.shape[2] == 1 else _rounded(result @ np.array(LUMA))


def generator(seed: int, picture: str, corruption: str) -> np.random.Generator:
    """Return the random generator of a corruption of a picture.

    Its state is a hash of the three parameters, so that neither the order nor the number of workers
    matters. The severities share their draws: motion blur has the same direction at all severities,
    and the rectangles of severity 2 lie where those of severity 1 lie. Only the strength differs.

    Parameters
    ----------
    seed : int
        Of the whole run.
    picture : str
        Name of the file, without folders.
    corruption : str
        Name of the corruption.
    """
    return seeded(seed, picture, corruption)


def _rounded(values: Array) -> Image:
    if values.dtype == np.uint8:
        return np.asarray(values)
    rounded: Image = np.rint(np.clip(values, 0, 255)).astype(np.uint8)
    return rounded


def _check(image: Image, severity: int) -> None:
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
        what = getattr(image, "dtype", type(image).__name__)
        raise InputError(f"the image is {what}; give an array of 8 bits (uint8)")
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3) or not image.size:
        raise InputError(
            f"the image has shape {image.shape}; give (height, width) or (height, width, 3)"
        )
    if severity not in SEVERITIES:
        raise InputError(f"severity {severity}: not known; give 1, 2, 3, 4 or 5")
