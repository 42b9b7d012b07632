"""Registry of the corruptions: names, abbreviations and groups of the paper, in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from diaghoi.data.arrays import Array
from diaghoi.exceptions import InputError, close_matches
from diaghoi.robustness.corruptions import (
    cracks,
    environment,
    optical,
    scene,
    sensor,
    transmission,
)

SEVERITIES = (1, 2, 3, 4, 5)


@dataclass(frozen=True, kw_only=True)
class CorruptionGroup:
    """One of the four groups of the paper.

    Parameters
    ----------
    name : str
        For files and options, such as ``optical``.
    abbreviation : str
        Of the paper, such as ``OS``.
    label : str
        For tables and figures.
    """

    name: str
    abbreviation: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Corruption:
    """One way to corrupt pictures.

    Parameters
    ----------
    name : str
        For folders, files and options, such as ``motion_blur``.
    abbreviation : str
        Of the paper, such as ``MB``.
    label : str
        For tables and figures.
    group : str
        Name of its :class:`CorruptionGroup`.
    function : callable
        Takes a (H, W, C) uint8 array with one or three channels, a generator, and the strengths of
        a severity as keywords; returns an array of the same shape, or of three channels.
    """

    name: str
    abbreviation: str
    label: str
    group: str
    function: Callable[..., Array]


def _corruption(
    group: str, abbreviation: str, function: Callable[..., Array], label: str
) -> Corruption:
    name = function.__name__
    return Corruption(
        name=name, abbreviation=abbreviation, label=label, group=group, function=function
    )


GROUPS = {
    group.name: group
    for group in (
        CorruptionGroup(name="optical", abbreviation="OS", label="Optical system"),
        CorruptionGroup(
            name="sensor", abbreviation="SCT", label="Sensor, compression, transmission"
        ),
        CorruptionGroup(name="environment", abbreviation="EI", label="Environment"),
        CorruptionGroup(name="geometry", abbreviation="G&S", label="Geometry and scene"),
    )
}

CORRUPTIONS = {
    corruption.name: corruption
    for corruption in (
        _corruption("optical", "MB", optical.motion_blur, "Motion blur"),
        _corruption("optical", "DB", optical.defocus_blur, "Defocus blur"),
        _corruption("optical", "GauB", optical.gaussian_blur, "Gaussian blur"),
        _corruption("optical", "GB", optical.glass_blur, "Glass blur"),
        _corruption("sensor", "GauN", sensor.gaussian_noise, "Gaussian noise"),
        _corruption("sensor", "ShN", sensor.shot_noise, "Shot noise"),
        _corruption("sensor", "S&P", sensor.salt_and_pepper_noise, "Salt-and-pepper noise"),
        _corruption("sensor", "JPEG", transmission.jpeg_artifacts, "JPEG artifacts"),
        _corruption("sensor", "SN", sensor.speckle_noise, "Speckle noise"),
        _corruption("sensor", "PL", transmission.packet_loss, "Packet loss"),
        _corruption("environment", "EXP", environment.exposure, "Exposure"),
        _corruption("environment", "RE", environment.rainbow_effect, "Rainbow effect"),
        _corruption("environment", "OCC", environment.occlusion, "Occlusion"),
        _corruption("environment", "VE", environment.vignette_effect, "Vignette effect"),
        _corruption("geometry", "MP", scene.moire_pattern, "Moiré pattern"),
        _corruption("geometry", "SC", cracks.screen_crack, "Screen crack"),
        _corruption("geometry", "ET", scene.elastic_transform, "Elastic transform"),
        _corruption("geometry", "PD", scene.perspective_distortion, "Perspective distortion"),
        _corruption("geometry", "PIX", scene.pixelation, "Pixelation"),
        _corruption("geometry", "ZB", scene.zoom_blur, "Zoom blur"),
    )
}


def find(names: Iterable[str]) -> tuple[Corruption, ...]:
    """Find corruptions by name, abbreviation, or the name or abbreviation of their group.

    Parameters
    ----------
    names : iterable of str
        Case does not matter, and hyphens and spaces are as good as underscores.

    Returns
    -------
    tuple of Corruption
        Each once, in the order of the registry.

    Raises
    ------
    InputError
        For an unknown name.
    """
    known: dict[str, set[str]] = {}
    for each in CORRUPTIONS.values():
        group = GROUPS[each.group]
        for word in (each.name, each.abbreviation, group.name, group.abbreviation):
            known.setdefault(word.lower(), set()).add(each.name)
    selected: set[str] = set()
    for name in names:
        plain = "_".join(name.lower().replace("-", " ").split())
        if plain not in known:
            raise InputError(
                f"unknown corruption '{name}'{close_matches(plain, known)}; known: "
                f"{', '.join(CORRUPTIONS)}, and the groups {', '.join(GROUPS)}"
            )
        selected |= known[plain]
    return tuple(each for each in CORRUPTIONS.values() if each.name in selected)
