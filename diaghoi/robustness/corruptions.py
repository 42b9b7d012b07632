"""The twenty corruptions of the RoHOI benchmark in four groups, each in five severities.

The paper describes the parameters that grow with severity (appendix A.3), but gives no values. The
values in ``strengths.csv`` are customary values that were then tuned by eye: severity 1 is clearly
visible, and a person still recognises the scene at severity 5. The values are stronger for
corruptions that cost detectors a lot according to table 3 of the paper (glass, defocus and motion
blur, pixelation), and weaker for corruptions that cost little (vignette, exposure, shot noise).
Perspective distortion moves objects, but not the annotated boxes. At the strengths of the table, a
V-COCO detector whose boxes move with the objects keeps 78 to 79 % of its role AP; the models of
table 3 keep 75 to 78 %. Results with other strengths are not comparable, so an output folder stores
a digest of the table.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import Array, seeded
from diaghoi.exceptions import InputError, close_matches
from diaghoi.robustness import effects
from diaghoi.robustness.effects import Image

SEVERITIES = (1, 2, 3, 4, 5)
# Shorter side, in pixels, of pictures to which the lengths in the table apply unscaled.
REFERENCE = 480
# Weights of red, green and blue in luma (ITU-R BT.601, as in JPEG files).
LUMA = (0.299, 0.587, 0.114)


class CorruptionGroup(NamedTuple):
    """A group of corruptions: name, abbreviation in the paper, and label in tables."""

    name: str
    abbreviation: str
    label: str


class Corruption(NamedTuple):
    """A corruption of pictures.

    A corruption has the name of its group, the paper's abbreviation, a label for tables and
    figures, and a function (:mod:`diaghoi.robustness.effects`) that takes an (H, W, C) uint8 array,
    a generator and the strengths of a severity as keywords, and returns an array of the same shape
    or with three channels.
    """

    group: str
    abbreviation: str
    label: str
    function: Callable[..., Array]

    @property
    def name(self) -> str:
        """Name in folders, files and options, such as ``motion_blur``."""
        return self.function.__name__


GROUPS = {
    group.name: group
    for group in (
        CorruptionGroup("optical", "OS", "Optical system"),
        CorruptionGroup("sensor", "SCT", "Sensor, compression, transmission"),
        CorruptionGroup("environment", "EI", "Environment"),
        CorruptionGroup("geometry", "G&S", "Geometry and scene"),
    )
}
# Corruptions by name, in the order of the paper.
CORRUPTIONS = {
    corruption.name: corruption
    for corruption in (
        Corruption("optical", "MB", "Motion blur", effects.motion_blur),
        Corruption("optical", "DB", "Defocus blur", effects.defocus_blur),
        Corruption("optical", "GauB", "Gaussian blur", effects.gaussian_blur),
        Corruption("optical", "GB", "Glass blur", effects.glass_blur),
        Corruption("sensor", "GauN", "Gaussian noise", effects.gaussian_noise),
        Corruption("sensor", "ShN", "Shot noise", effects.shot_noise),
        Corruption("sensor", "S&P", "Salt-and-pepper noise", effects.salt_and_pepper_noise),
        Corruption("sensor", "JPEG", "JPEG artifacts", effects.jpeg_artifacts),
        Corruption("sensor", "SN", "Speckle noise", effects.speckle_noise),
        Corruption("sensor", "PL", "Packet loss", effects.packet_loss),
        Corruption("environment", "EXP", "Exposure", effects.exposure),
        Corruption("environment", "RE", "Rainbow effect", effects.rainbow_effect),
        Corruption("environment", "OCC", "Occlusion", effects.occlusion),
        Corruption("environment", "VE", "Vignette effect", effects.vignette_effect),
        Corruption("geometry", "MP", "Moiré pattern", effects.moire_pattern),
        Corruption("geometry", "SC", "Screen crack", effects.screen_crack),
        Corruption("geometry", "ET", "Elastic transform", effects.elastic_transform),
        Corruption("geometry", "PD", "Perspective distortion", effects.perspective_distortion),
        Corruption("geometry", "PIX", "Pixelation", effects.pixelation),
        Corruption("geometry", "ZB", "Zoom blur", effects.zoom_blur),
    )
}


def find(names: Iterable[str]) -> tuple[Corruption, ...]:
    """Find corruptions by the name or abbreviation of the corruption or of its group.

    Case is ignored, and hyphens and spaces are equivalent to underscores. Each corruption is
    returned once, in the order of :data:`CORRUPTIONS`.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    meant: dict[str, set[str]] = {}
    for name, corruption in CORRUPTIONS.items():
        group = GROUPS[corruption.group]
        for word in (name, corruption.abbreviation, group.name, group.abbreviation):
            meant.setdefault(word.lower(), set()).add(name)
    selected: set[str] = set()
    for word in names:
        plain = "_".join(word.lower().replace("-", " ").split())
        if plain not in meant:
            raise InputError(
                f"unknown corruption '{word}'{close_matches(plain, meant)}; known: "
                f"{', '.join(CORRUPTIONS)}, and the groups {', '.join(GROUPS)}"
            )
        selected |= meant[plain]
    return tuple(corruption for name, corruption in CORRUPTIONS.items() if name in selected)


def corrupt(
    image: Image, corruption: str, severity: int, *, rng: np.random.Generator | None = None
) -> Image:
    """Corrupt a picture; annotated boxes do not move with the picture.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) uint8 array
        Grey or RGB picture. The image itself is not changed.
    corruption : str
        Name or abbreviation, such as ``motion_blur`` or ``MB``.
    severity : int
        1 (mild) to 5 (strong); ``strengths.csv`` gives the parameters.
    rng : numpy.random.Generator, optional
        Source of directions, positions and noise. For reproducible results, use the
        :func:`generator` of the picture. The default is the :func:`generator` for an empty file
        name.

    Returns
    -------
    array
        The corrupted picture, with the shape and type of ``image``.

    Raises
    ------
    InputError
        If the image is not 8-bit or has an unsupported shape, the corruption or severity is
        unknown, or OpenCV is missing.
    """
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
        what = getattr(image, "dtype", type(image).__name__)
        raise InputError(f"the image is {what}; give an 8-bit array (uint8)")
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3) or not image.size:
        raise InputError(
            f"the image has shape {image.shape}; give (height, width) or (height, width, 3)"
        )
    if severity not in SEVERITIES:
        raise InputError(f"severity {severity}: not known; give 1, 2, 3, 4 or 5")
    chosen, *others = find([corruption])
    if others:
        raise InputError(f"'{corruption}' is a group of corruptions; give a single corruption")
    rng = generator(0, "", chosen.name) if rng is None else rng
    channels = image[..., None] if image.ndim == 2 else image
    parameters = strength(chosen.name, severity, min(image.shape[:2]))
    result = _rounded(chosen.function(channels, rng, **parameters))
    if image.ndim == 3:
        return result
    return result[..., 0] if result.shape[2] == 1 else _rounded(result @ np.array(LUMA))


def generator(seed: int, picture: str, corruption: str) -> np.random.Generator:
    """Return the random generator for a corruption of a picture.

    The state of the generator is a hash of the seed of the run, the file name without folders, and
    the corruption, so neither the order of pictures nor the number of workers matters. All
    severities share the same random draws and differ only in strength: the black rectangles of an
    occlusion have the same positions at severity 2 as at severity 1.
    """
    return seeded(seed, picture, corruption)


def _rounded(values: Array) -> Image:
    if values.dtype == np.uint8:
        return np.asarray(values)
    rounded: Image = np.rint(np.clip(values, 0, 255)).astype(np.uint8)
    return rounded


def strength(corruption: str, severity: int, shorter: int) -> dict[str, float]:
    """Return the parameters of a corruption for a picture of the given shorter side in pixels.

    Lengths in pixels scale with the shorter side, so that a severity looks the same in small and
    large pictures.
    """
    return {
        parameter: values[severity - 1] * (shorter / REFERENCE if unit == "pixels" else 1)
        for parameter, (unit, values) in strengths()[corruption].items()
    }


@cache
def strengths() -> dict[str, dict[str, tuple[str, tuple[float, ...]]]]:
    """Read the unit and the five values of each parameter of each corruption."""
    table: dict[str, dict[str, tuple[str, tuple[float, ...]]]] = {}
    for row in csv.DictReader(_text().splitlines()):
        values = tuple(float(row[str(severity)]) for severity in SEVERITIES)
        table.setdefault(row["corruption"], {})[row["parameter"]] = (row["unit"], values)
    return table


def strengths_digest() -> str:
    """Return a digest that changes if any value in ``strengths.csv`` changes."""
    return hashlib.sha256(_text().encode()).hexdigest()[:16]


def _text() -> str:
    return (resources.files("diaghoi.robustness") / "strengths.csv").read_text(encoding="utf-8")
