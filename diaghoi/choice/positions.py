"""Position bias: whether options are picked because of the position at which they are shown.

If the order had no influence, the right options of a question could be exchanged with each other,
and so could the wrong ones, and every position among them would be picked equally often. So each
question gives two strata, its right and its wrong options: with m of s picked, a position of the
stratum is picked with probability m / s. Over all strata the difference between picks and their
expectation has a known covariance, and the statistic is that of Cochran, Mantel and Haenszel
(Agresti, Categorical Data Analysis, 2002, section 7.5.3), approximately chi-square distributed. It
is valid also where the right options are at some positions more often than at others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.choice.answers import Answers
from diaghoi.choice.questions import LETTERS
from diaghoi.data.arrays import FloatArray
from diaghoi.statistics.significance import holm, shown_p

LEVEL = 0.05
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Position:
    """One position.

    Parameters
    ----------
    letter : str
        The letter shown for it.
    shown, picked : int
        How often an option was shown there, and how often it was picked.
    expected : float
        How often it would be picked if the order did not matter.
    p : float or None
        Two-sided p-value; None where nothing can differ.
    p_holm : float or None
        Corrected for the number of positions.
    """

    letter: str
    shown: int
    picked: int
    expected: float
    p: float | None
    p_holm: float | None

    @property
    def excess(self) -> float:
        """Picks beyond expectation, as a share of how often the position was shown."""
        return (self.picked - self.expected) / self.shown if self.shown else 0.0


@dataclass(frozen=True, kw_only=True)
class PositionBias:
    """Picks by position, and a test of whether the position matters.

    Parameters
    ----------
    positions : tuple of Position
        In the order shown.
    questions : int
        Number of answers whose order of options is known.
    statistic : float
        Approximately chi-square distributed.
    degrees : int
        Degrees of freedom; 0 where every stratum is picked completely or not at all.
    p : float or None
        None with 0 degrees of freedom.
    """

    positions: tuple[Position, ...]
    questions: int
    statistic: float
    degrees: int
    p: float | None

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.p is None:
            return "the answers do not show whether the order of the options matters"
        test = f"chi-square {self.statistic:.1f}, {self.degrees} df, {shown_p(self.p)}"
        if self.p >= LEVEL:
            return f"no sign that the order of the options matters ({test})"
        deviating = [each for each in self.positions if (each.p_holm or 1.0) < LEVEL]
        details = " and ".join(
            f"{each.letter} is picked {'more' if each.excess > 0 else 'less'} often than chance, "
            f"{each.picked:,} times for {each.expected:,.1f} ({shown_p(each.p_holm or 0.0)})"
            for each in deviating
        )
        return f"the order of the options matters ({test})" + (f": {details}" if details else "")

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python."""
        return {
            "questions": self.questions,
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p": self.p,
            "positions": [
                {
                    "position": each.letter,
                    "shown": each.shown,
                    "picked": each.picked,
                    "expected": each.expected,
                    "excess": each.excess,
                    "p": each.p,
                    "p_holm": each.p_holm,
                }
                for each in self.positions
            ],
            "sentence": self.sentence,
        }


def position_bias(answers: Answers) -> PositionBias | None:
    """Test whether options are picked because of the position at which they are shown.

    Parameters
    ----------
    answers : Answers
        Answers of a model.

    Returns
    -------
    PositionBias or None
        None where the order of options is not known for any answer.
    """
    ordered = [answer for answer in answers.answers if answer.shown]
    if not ordered:
        return None
    places = max(len(answer.shown) for answer in ordered)
    shown, picked, expected = np.zeros((3, places))
    spread = np.zeros((places, places))
    for stratum, hits in _strata(answers):
        size, taken = len(stratum), len(hits)
        shown[stratum] += 1
        picked[hits] += 1
        expected[stratum] += taken / size
        # Covariance of draws without replacement: taken out of size (hypergeometric).
        if 0 < taken < size:
            scale = taken * (size - taken) / (size * (size - 1))
            spread[np.ix_(stratum, stratum)] += scale * (np.eye(size) - 1 / size)
    difference = picked - expected
    variance, directions = np.linalg.eigh(spread)
    # Picks and expectations have the same sum, so one direction has no variance but for rounding.
    free = variance > ROUNDING * max(float(variance.max()), ROUNDING)
    degrees = int(free.sum())
    statistic = float((((difference @ directions)[free]) ** 2 / variance[free]).sum())
    return PositionBias(
        positions=_positions(shown, picked, expected, np.diag(spread)),
        questions=len(ordered),
        statistic=statistic,
        degrees=degrees,
        p=_chi_square(statistic, degrees) if degrees else None,
    )


def _strata(answers: Answers) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of the right and of the wrong options of each question, and the picks."""
    for question, answer in zip(answers.questions.questions, answers.answers, strict=True):
        right, picked = set(question.right), set(answer.places)
        for wanted in (True, False):
            places = [
                place
                for place, option in enumerate(answer.shown)
                if option and (option in right) is wanted
            ]
            if places:
                yield places, [place for place in places if place in picked]


def _positions(
    shown: FloatArray, picked: FloatArray, expected: FloatArray, variance: FloatArray
) -> tuple[Position, ...]:
    from scipy.stats import norm

    possible = np.flatnonzero(variance > 0).tolist()
    deviation = (picked - expected)[possible] / np.sqrt(variance[possible])
    p = [float(value) for value in 2 * norm.sf(np.abs(deviation))]
    found = dict(zip(possible, zip(p, holm(p), strict=True), strict=True))
    return tuple(
        Position(
            letter=LETTERS[place],
            shown=int(shown[place]),
            picked=int(picked[place]),
            expected=float(expected[place]),
            p=found[place][0] if place in found else None,
            p_holm=found[place][1] if place in found else None,
        )
        for place in range(len(shown))
    )


def _chi_square(statistic: float, degrees: int) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(statistic, degrees))
