"""The parameters of soft mAP and mF1, and the similarity of two interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.protocol import SEPARATOR
from diaghoi.exceptions import InputError, close_matches

Combination = Literal["arithmetic", "geometric", "minimum"]
COMBINATIONS: tuple[str, ...] = get_args(Combination)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The parameters of soft mAP and mF1.

    Parameters
    ----------
    weight : float
        Weight w of the verb in [0, 1]; that of the object is 1 - w.
    combine : {"arithmetic", "geometric", "minimum"}
        sigma = w S_v + (1 - w) S_o, S_v^w S_o^(1 - w), or the smaller of both, for any w.
    theta : float
        Both boxes are found at an IoU of at least this.
    delta : float
        An unmatched prediction is a false positive of the annotated class that it is closest to if
        their similarity is at least this.
    tau : float
        Predictions whose score has at least this rank count in mF1. Ranks go from 0, the lowest
        score of the file, to 1, the highest.

    Raises
    ------
    InputError
        For values outside [0, 1], theta of 0, or an unknown combination.
    """

    weight: float = 0.5
    combine: Combination = "arithmetic"
    theta: float = 0.5
    delta: float = 0.5
    tau: float = 0.5

    def __post_init__(self) -> None:
        if self.combine not in COMBINATIONS:
            raise InputError(
                f"combine '{self.combine}': not known{close_matches(self.combine, COMBINATIONS)}; "
                f"give one of {', '.join(COMBINATIONS)}"
            )
        for name in ("weight", "theta", "delta", "tau"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InputError(f"{name} {value:g}: must lie between 0 and 1")
        if self.theta == 0:
            raise InputError("theta 0: boxes that do not overlap would match; give more than 0")

    @property
    def formula(self) -> str:
        """The similarity of two interactions by that of their verbs and objects."""
        sigma = {
            "arithmetic": f"{self.weight:g} S_v + {1 - self.weight:g} S_o",
            "geometric": f"S_v^{self.weight:g} S_o^{1 - self.weight:g}",
            "minimum": "min(S_v, S_o)",
        }[self.combine]
        return f"sigma = {sigma}"

    @property
    def signature(self) -> str:
        """All parameters in one line."""
        return SEPARATOR.join([self.signature_without_scores, f"mF1: score rank >= {self.tau:g}"])

    @property
    def signature_without_scores(self) -> str:
        """The parameters that matter for predictions without scores, in one line."""
        matched = f"IoU >= {self.theta:g}"
        wrong = f"false positive of a class at sigma >= {self.delta:g}"
        return SEPARATOR.join([self.formula, matched, wrong])

    def sigma(self, verbs: FloatArray, objects: FloatArray) -> FloatArray:
        """Similarity of interactions from that of their verbs and objects, all (N,) float64."""
        if self.combine == "minimum":
            return np.asarray(np.minimum(verbs, objects))
        if self.combine == "geometric":
            return np.asarray(verbs**self.weight * objects ** (1 - self.weight))
        return np.asarray(self.weight * verbs + (1 - self.weight) * objects)
