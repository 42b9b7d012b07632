"""Simulated detectors, defined by error rates, with three presets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from diaghoi.exceptions import InputError


@dataclass(frozen=True, kw_only=True)
class Detector:
    """Behaviour and error rates of a simulated detector.

    Rates are probabilities in [0, 1]. If all rates, noises and ``duplicates`` are 0, the detector
    finds everything, and wrong predictions score lower than right ones. If only ``score_noise`` and
    ``rare_penalty`` are 0, the verb scores of pairs joined by mistake and of verbs chosen by
    mistake are still lower than those of right ones.

    Parameters
    ----------
    name : str
        Name in tables and file names.
    shared_boxes : bool
        If true, each image has one list of boxes, and the pairs are all human x object pairs, best
        first (two-stage detectors such as UPT and SCG). If false, each pair has its own two boxes,
        and the pairs are the answers of a fixed number of queries (one-stage detectors such as CDN
        and GEN-VLKT).
    pairs, triplets : int
        Maximum number of pairs and triplets kept per image.
    boxes : int
        Number of boxes that the detector considers per image; if it finds fewer instances, the
        other boxes are background.
    localisation : float
        Standard deviation of the positions of box edges, as a share of width and height.
    misplaced : float
        Rate of persons and objects that are found with a misplaced box.
    missed_persons, missed_objects : float
        Rates of instances that are not found.
    confused_labels : float
        Rate of objects that get the label of another, often similar, category.
    association : float
        Rate of non-interacting pairs taken for an interaction.
    false_pairs : float
        Rate of pairs with a background box that the detector takes for interacting pairs.
    confused_verbs : float
        Rate of wrong verbs that the detector takes for right verbs.
    duplicates : float
        Average number of duplicates of each pair or, if boxes are shared, of each box.
    rare_penalty : float
        Amount by which the logit of the right verb is lower in rare HOI classes.
    score_noise : float
        Standard deviation of the noise on the logits of the scores.

    Raises
    ------
    InputError
        If a number lies outside its range.
    """

    name: str
    shared_boxes: bool
    pairs: int = 64
    triplets: int = 100
    boxes: int = 12
    localisation: float = 0.06
    misplaced: float = 0.1
    missed_persons: float = 0.05
    missed_objects: float = 0.1
    confused_labels: float = 0.05
    association: float = 0.2
    false_pairs: float = 0.2
    confused_verbs: float = 0.1
    duplicates: float = 1.0
    rare_penalty: float = 0.5
    score_noise: float = 1.0

    def __post_init__(self) -> None:
        for field, value in vars(self).items():
            if field in ("name", "shared_boxes"):
                continue
            if field in ("pairs", "triplets", "boxes"):
                valid, wanted = isinstance(value, int) and value >= 1, "a whole number from 1"
            elif field in ("localisation", "duplicates", "rare_penalty", "score_noise"):
                valid, wanted = 0 <= value < math.inf, "0 or more"
            else:
                valid, wanted = 0 <= value <= 1, "a rate from 0 to 1"
            if not valid:
                raise InputError(
                    f"simulated detector '{self.name}': {field} is {value}; give {wanted}"
                )


_PRESETS: dict[str, tuple[Any, Any, Any]] = {
    "name": ("one_stage", "two_stage", "weak"),
    "shared_boxes": (False, True, False),
    "boxes": (10, 16, 12),
    "localisation": (0.05, 0.035, 0.08),
    "misplaced": (0.05, 0.02, 0.11),
    "missed_persons": (0.02, 0.01, 0.03),
    "missed_objects": (0.04, 0.02, 0.07),
    "confused_labels": (0.05, 0.03, 0.08),
    "association": (0.16, 0.4, 0.3),
    "false_pairs": (0.2, 0.4, 0.3),
    "confused_verbs": (0.04, 0.12, 0.1),
    "duplicates": (4.0, 0.6, 2.0),
    "rare_penalty": (0.3, 0.6, 0.8),
    "score_noise": (0.65, 0.8, 0.8),
}
ONE_STAGE, TWO_STAGE, WEAK = (
    Detector(**{field: values[place] for field, values in _PRESETS.items()}) for place in range(3)
)
"""Three presets.

- One stage, like CDN or GEN-VLKT: accurate verbs, and many near-duplicates of every pair.
- Two stages, like UPT or SCG: good boxes and few duplicates, but every person is paired with every
  object.
- Weak, like a one-stage detector after short training: everything is slightly worse.
"""
DETECTORS = {detector.name: detector for detector in (ONE_STAGE, TWO_STAGE, WEAK)}
"""Presets by name."""
