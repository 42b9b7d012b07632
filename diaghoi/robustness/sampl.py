"""SAMPL: training with masks that grow as the model learns (paper 'RoHOI', section 4).

Two parts that any training code can use without the authors' code: when to hide how much
(:class:`ProgressiveSchedule`: algorithm 1, equations 4 to 8), and what (:func:`semantic_mask`:
equation 3).

>>> schedule = ProgressiveSchedule()
>>> schedule.evaluated  # before the first epoch: the clean and the low level
(1, 2)
>>> schedule.next_severity({1: 0.38, 2: 0.31})  # the level to train on in this epoch
1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from diaghoi.exceptions import InputError
from diaghoi.robustness.masking import (
    COVER,
    LEVELS,
    box_mask,
    instance_mask,
    masked,
    semantic_mask,
)

__all__ = [
    "COVER",
    "LEVELS",
    "ProgressiveSchedule",
    "box_mask",
    "instance_mask",
    "masked",
    "semantic_mask",
]

CLEAN = 1
# From section 5 of the paper.
INITIAL_THRESHOLD, EPSILON = 0.15, 1e-6


class ProgressiveSchedule:
    """Choose the severity level of each epoch from validation scores (algorithm 1).

    Where the paper leaves room: an epoch without a score of the same level in the epoch before (the
    first one, and the one after a step up), or with a score of 0 there, has no relative change and
    keeps the level; equal sums choose the clean level, which is named first; the sum of equation 7
    runs over the levels above clean, as the equation says and algorithm 1 leaves open; the largest
    change is forgotten after a step up, as in algorithm 1, where equation 5 would keep it.

    Parameters
    ----------
    initial_threshold : float
        tau_init of equation 5.
    epsilon : float
        Of equation 5.

    Raises
    ------
    InputError
        If one of them is not a number above 0.
    """

    def __init__(
        self, *, initial_threshold: float = INITIAL_THRESHOLD, epsilon: float = EPSILON
    ) -> None:
        for name, value in (("initial_threshold", initial_threshold), ("epsilon", epsilon)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} is {value}; give a number above 0")
        self.initial_threshold, self.epsilon = initial_threshold, epsilon
        self._level = 2
        self._chosen = dict.fromkeys(range(CLEAN, len(LEVELS) + 1), 1)
        self._largest_change: float | None = None
        self._previous: dict[int, float] = {}

    @property
    def level(self) -> int:
        """The current level above clean, 2 to 4: p of algorithm 1."""
        return self._level

    @property
    def evaluated(self) -> tuple[int, int]:
        """The levels whose validation scores the next epoch needs: clean and :attr:`level`."""
        return CLEAN, self._level

    @property
    def chosen(self) -> dict[int, int]:
        """How often each level was chosen, plus one: N of algorithm 1."""
        return dict(self._chosen)

    def next_severity(self, scores: Mapping[int, float]) -> int:
        """Choose the level to train on in this epoch.

        Parameters
        ----------
        scores : dict of float
            Validation score (mAP, say; higher is better, not negative) of the model at each of the
            levels :attr:`evaluated`. Scores of other levels are kept: after a step up they are the
            previous score of the new level.

        Returns
        -------
        int
            1 (clean) to 4 (high).

        Raises
        ------
        InputError
            If a score is missing, negative or not a number. The schedule is then unchanged.
        """
        current = self._checked(scores)
        score = current[self._level]
        masked_sum = score * sum(n for level, n in self._chosen.items() if level != CLEAN)
        severity = self._level if masked_sum < self._chosen[CLEAN] * current[CLEAN] else CLEAN
        if severity != CLEAN and self._steps_up(score):
            self._level += 1
            self._largest_change = None
            severity = self._level
        self._chosen[severity] += 1
        self._previous = current
        return severity

    def _steps_up(self, score: float) -> bool:
        """Return whether the score has settled, so that more can be hidden (equations 4 to 6)."""
        before = self._previous.get(self._level, 0.0)
        if before == 0:
            return False
        # Relative, so that the threshold holds for scores in percent and in fractions alike.
        change = abs((score - before) / before)
        self._largest_change = max(self._largest_change or 0.0, change)
        threshold = self.initial_threshold * self._largest_change / (change + self.epsilon)
        return change < threshold and self._level < len(LEVELS)

    def _checked(self, scores: Mapping[int, float]) -> dict[int, float]:
        for level in self.evaluated:
            if level not in scores:
                raise InputError(
                    f"no score of level {level} ({LEVELS[level - 1]}); give those of "
                    f"{' and '.join(map(str, self.evaluated))}"
                )
        return {_known(level): _score(level, score) for level, score in scores.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule in types that JSON and torch.save can store."""
        return {
            "level": self._level,
            "chosen": [self._chosen[level] for level in sorted(self._chosen)],
            "largest_change": self._largest_change,
            "previous": [[level, score] for level, score in sorted(self._previous.items())],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`state_dict` returned.

        Parameters
        ----------
        state : dict
            As from :meth:`state_dict`; the threshold and epsilon are those of this schedule.

        Raises
        ------
        InputError
            If something is missing or invalid. The schedule is then unchanged.
        """
        try:
            level, chosen = int(state["level"]), [int(count) for count in state["chosen"]]
            largest = None if state["largest_change"] is None else float(state["largest_change"])
            previous = {_known(each): _score(each, score) for each, score in state["previous"]}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the state of a schedule cannot be read ({type(error).__name__}: {error}); give "
                "what state_dict() returned"
            ) from None
        if not 2 <= level <= len(LEVELS) or len(chosen) != len(LEVELS) or min(chosen) < 1:
            raise InputError(
                f"the state of a schedule has level {level} and counts {chosen}; give what "
                "state_dict() returned"
            )
        self._level, self._largest_change, self._previous = level, largest, previous
        self._chosen = dict(enumerate(chosen, start=CLEAN))


def _known(level: Any) -> int:
    if level not in range(CLEAN, len(LEVELS) + 1):
        raise InputError(f"level {level}: not known; give 1, 2, 3 or 4")
    return int(level)


def _score(level: Any, score: Any) -> float:
    try:
        value = float(score)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"the score of level {level} is {score}; give a number that is 0 or more")
    return value
