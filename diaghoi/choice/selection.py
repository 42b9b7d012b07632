"""Whether a model picks too few or too many options, by the number of right ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from diaghoi.choice.answers import Answers
from diaghoi.choice.score import Tally
from diaghoi.data.arrays import BoolArray, IntArray, ratio


def selection_rates(answers: Answers, counts: Tally) -> dict[str, Any]:
    """Compare the number of picked options with the number of right ones.

    Parameters
    ----------
    answers : Answers
        Answers of a model.
    counts : Tally
        Counts of these answers, over all questions.

    Returns
    -------
    dict
        ``right`` and ``picked`` (mean number per question), ``right_picked`` and ``wrong_picked``
        (shares of the right and of the wrong options that are picked), ``under``, ``over`` and
        ``equal`` (shares of the questions with fewer picked than right, more, or equally many),
        ``empty`` (share with nothing picked), and ``by_right``: the same for each number of right
        options. Shares are fractions, None where undefined.
    """
    options = np.array([len(set(each.options)) for each in answers.questions.questions])
    everything = np.ones(len(options), dtype=bool)
    whole = _row(counts, options, everything)
    whole["by_right"] = [
        {"right_options": int(number), **_row(counts, options, counts.right == number)}
        for number in np.unique(counts.right)
    ]
    return whole


def _row(counts: Tally, options: IntArray, which: BoolArray) -> dict[str, Any]:
    """Compare the numbers over the questions in a (Q,) mask."""
    right, picked, hit = (each[which] for each in (counts.right, counts.picked, counts.hit))
    wrong = (options[which] - right).sum()
    return {
        "questions": int(which.sum()),
        "right": float(right.mean()),
        "picked": float(picked.mean()),
        "right_picked": ratio(int(hit.sum()), int(right.sum())),
        "wrong_picked": ratio(int((picked - hit).sum()), int(wrong)),
        "under": float((picked < right).mean()),
        "over": float((picked > right).mean()),
        "equal": float((picked == right).mean()),
        "empty": float((picked == 0).mean()),
    }
