"""How much a model picks: too little or too much, by the number of options that are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from diaghoi.choice.answers import Answers
from diaghoi.choice.score import Tally
from diaghoi.data.arrays.division import ratio
from diaghoi.data.arrays.types import BoolArray, IntArray


def selection(answers: Answers, counts: Tally) -> dict[str, Any]:
    """Compare the number of options that are picked with the number that are right.

    Parameters
    ----------
    answers : Answers
        Of a model.
    counts : Tally
        Of these answers, all questions.

    Returns
    -------
    dict
        ``right`` and ``picked`` (mean options a question), ``right_picked`` and ``wrong_picked``
        (shares of the right and of the wrong options that are picked), ``under``, ``over`` and
        ``equal`` (shares of the questions with fewer picked than right, more, or as many),
        ``empty`` (share with nothing picked), and ``by_right``: the same for each number of right
        options. Shares are fractions, None where there is nothing to share.
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
    """Compare the numbers of (Q,) questions, of which those in the mask count."""
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
