"""The parameters of soft mAP and mF1, and the similarity of two interactions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from diaghoi.data.arrays import FloatArray
from diaghoi.data.protocol import SEPARATOR
from diaghoi.exceptions import InputError, close_matches

Combination = Literal["arithmetic", "geometric", "minimum"]
Integrator = Literal["area", "trapezoid", "11-point"]
Thresholded = Literal["rank", "score"]
Subset = Literal["all", "single-hoi"]
Rule = Literal["algorithm", "figure"]
Matching = Literal["boxes", "class"]
SAME_PAIR = 0.8
"""Minimum IoU at which two annotated boxes count as the same box when looking for single pairs."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Parameters of soft mAP and mF1.

    Parameters
    ----------
    weight : float
        Weight w of the verb in [0, 1]; the object's weight is 1 - w.
    combine : {"arithmetic", "geometric", "minimum"}
        Formula of sigma: w S_v + (1 - w) S_o, S_v^w S_o^(1 - w), or, for any w, the smaller of S_v
        and S_o.
    matching : {"boxes", "class"}
        Which predictions are candidates for an annotated triplet: predictions with both boxes
        right, or all predictions of the image. With ``class``, each class counts once per image,
        with its highest score.
    theta : float
        Lowest IoU at which both boxes are found.
    delta : float
        Lowest similarity at which an unmatched prediction is a false positive of its closest class.
    rule : {"algorithm", "figure"}
        Classes with which an unmatched prediction is compared: the classes annotated in its image,
        as in algorithms 1 and 2, or all classes of the data set, as in figure 6 of the supplement.
        With all classes, a prediction is closest to its own class, as in mAP.
    tau : float
        Lowest rank or score with which a prediction counts in mF1.
    tau_by : {"rank", "score"}
        Quantity with which tau is compared: the rank of a score, from 0 for the lowest score of the
        file to 1 for the highest, or the score itself. The paper names both rank and score:
        "confidence score rank" in algorithm 2, "confidence threshold" in its text.
    tau_before_map : bool
        Whether tau also decides which predictions count in soft mAP, as in the text of the paper
        but not in algorithm 1.
    integrator : {"area", "trapezoid", "11-point"}
        Integration of a class's precision-recall curve: area under the envelope, area under the
        curve by trapezoids, or mean of the highest precision at recall 0, 0.1 ... 1.
    subset : {"all", "single-hoi"}
        Images that count: all, or only images with a single annotated human-object pair, whatever
        the verbs; boxes with an IoU of at least 0.8 are the same box. The supplement does not
        define its "single HOI subset (575 classes)"; the HICO-DET test images with a single pair
        have 575 classes, and several verbs per pair, as in figure 6 of the supplement.

    Raises
    ------
    InputError
        If a value is outside [0, 1] (a tau that is a score may be any number), theta is 0, or a
        choice is unknown.
    """

    weight: float = 0.5
    combine: Combination = "arithmetic"
    matching: Matching = "boxes"
    theta: float = 0.5
    delta: float = 0.5
    tau: float = 0.5
    tau_by: Thresholded = "rank"
    tau_before_map: bool = False
    integrator: Integrator = "area"
    subset: Subset = "all"
    rule: Rule = "algorithm"

    def __post_init__(self) -> None:
        for name, kind in (
            ("combine", Combination),
            ("tau_by", Thresholded),
            ("integrator", Integrator),
            ("subset", Subset),
            ("rule", Rule),
            ("matching", Matching),
        ):
            known = get_args(kind)
            choice = getattr(self, name)
            if choice not in known:
                raise InputError(
                    f"{name} '{choice}': not known{close_matches(choice, known)}; give one of "
                    f"{', '.join(known)}"
                )
        ranked = ("tau",) if self.tau_by == "rank" else ()
        for name in ("weight", "theta", "delta", *ranked):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InputError(f"{name} {value:g}: must lie between 0 and 1")
        if not math.isfinite(self.tau):
            raise InputError(f"tau {self.tau:g}: must be a finite number")
        if self.theta == 0:
            raise InputError("theta 0: boxes that do not overlap would match; give more than 0")

    @property
    def formula(self) -> str:
        """Formula that combines the similarities of verbs and objects."""
        sigma = {
            "arithmetic": f"{self.weight:g} S_v + {1 - self.weight:g} S_o",
            "geometric": f"S_v^{self.weight:g} S_o^{1 - self.weight:g}",
            "minimum": "min(S_v, S_o)",
        }[self.combine]
        return f"sigma = {sigma}"

    def least(self, sigma: float, part: Literal["verb", "object"]) -> float | None:
        """Return the similarity that one part needs to reach sigma if the other part is right.

        The value is below 0 if any similarity is enough, and None if the part has no weight.
        """
        weight = self.weight if part == "verb" else 1 - self.weight
        if self.combine == "minimum":
            return sigma
        if weight == 0:
            return None
        if self.combine == "geometric":
            return float(sigma ** (1 / weight))
        return 1 - (1 - sigma) / weight

    @property
    def signature(self) -> str:
        """Format all parameters in one line."""
        figures = [f"soft AP: {self.soft_ap}", self.threshold]
        return SEPARATOR.join([self.signature_without_scores, *figures])

    @property
    def soft_ap(self) -> str:
        """Describe the computation of the soft AP of a class."""
        return {
            "area": "area under the envelope",
            "trapezoid": "area under the curve by trapezoids",
            "11-point": "11-point",
        }[self.integrator]

    @property
    def threshold(self) -> str:
        """Describe which predictions count in which numbers."""
        figures = "mF1 and soft mAP" if self.tau_before_map else "mF1"
        return f"{figures}: {'score rank' if self.tau_by == 'rank' else 'score'} >= {self.tau:g}"

    @property
    def signature_without_scores(self) -> str:
        """Format in one line the parameters that matter for predictions without scores."""
        matched = f"IoU >= {self.theta:g}"
        if self.matching == "class":
            matched = "by class alone: each class once per image, without boxes"
        whose = "its image" if self.rule == "algorithm" else "the data set"
        wrong = f"false positives of the closest class of {whose} at sigma >= {self.delta:g}"
        return SEPARATOR.join([self.formula, matched, wrong, *self._images])

    @property
    def _images(self) -> list[str]:
        """Describe which images count; empty if all images count."""
        if self.subset == "all":
            return []
        return [f"images with a single human-object pair (boxes the same from IoU {SAME_PAIR:g})"]

    def sigma(self, verbs: FloatArray, objects: FloatArray) -> FloatArray:
        """Combine (N,) similarities of verbs and (N,) similarities of objects by the formula."""
        if self.combine == "minimum":
            return np.asarray(np.minimum(verbs, objects))
        if self.combine == "geometric":
            return np.asarray(verbs**self.weight * objects ** (1 - self.weight))
        return np.asarray(self.weight * verbs + (1 - self.weight) * objects)
