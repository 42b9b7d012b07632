"""Simulated detectors on simulated corrupted pictures: faults that grow with the severity."""

from __future__ import annotations

from dataclasses import replace

from diaghoi.robustness.corruptions import CORRUPTIONS
from diaghoi.simulate.detector import Detector

# Increase of a detector's faults per severity, by group of corruptions: blur hides people and
# objects, noise and compression confuse labels and verbs, occlusions hide parts of the scene, and
# distortions move boxes.
FAULTS = {
    "optical": {"missed_persons": 0.04, "missed_objects": 0.06, "localisation": 0.008},
    "sensor": {"confused_labels": 0.06, "confused_verbs": 0.05},
    "environment": {"missed_persons": 0.03, "missed_objects": 0.05, "confused_verbs": 0.03},
    "geometry": {"misplaced": 0.05, "localisation": 0.02},
}
# Each corruption of a group multiplies the increases of FAULTS by a factor; the factors of a group
# are evenly spaced from MILDEST to MILDEST + 1.
MILDEST = 0.5


def under_corruption(detector: Detector, corruption: str, severity: int) -> Detector:
    """Return the version of a detector for corrupted pictures.

    Parameters
    ----------
    detector : Detector
        The detector on clean pictures.
    corruption : str
        Name in the registry (:mod:`diaghoi.robustness.corruptions`).
    severity : int
        1 to 5.

    Returns
    -------
    Detector
        The detector with increased faults of the corruption's group; rates are at most 1.
    """
    group = CORRUPTIONS[corruption].group
    members = [name for name, each in CORRUPTIONS.items() if each.group == group]
    strength = MILDEST + members.index(corruption) / (len(members) - 1)
    raised = {
        fault: min(1.0, getattr(detector, fault) + strength * severity * step)
        for fault, step in FAULTS[group].items()
    }
    return replace(detector, **raised)
