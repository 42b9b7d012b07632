"""Analyse how the number, the content and the order of the options influence answers.

Position bias: if the order had no influence, the right options of a question would be exchangeable
with each other, as would the wrong options, and within each of the two sets every position would be
picked equally often. Each question gives two strata, its right and its wrong options: if m of the s
options of a stratum are picked, each of their positions is picked with probability m / s. Over all
strata the difference between picks and their expectation has a known covariance, and the statistic
is that of Cochran, Mantel and Haenszel (Agresti, Categorical Data Analysis, 2002, section 7.5.3),
approximately chi-square distributed. The test remains valid if right options are more frequent at
some positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from diaghoi.choice.answers import Answers
from diaghoi.choice.evaluation import Tally
from diaghoi.choice.questions import LETTERS, Question, Questions
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratio
from diaghoi.statistics.significance import holm, shown_p

LEVEL = 0.05
ROUNDING = 1e-9
# Columns that name the subject of a row, for each table of distractors.
DISTRACTORS = {
    "classes": ("class", "verb", "object"),
    "verbs": ("verb",),
    "objects": ("object",),
    "confused_verbs": ("picked_for", "right"),
    "confused_objects": ("picked_for", "right"),
}


def selection_rates(answers: Answers, counts: Tally) -> dict[str, Any]:
    """Compare how many options are picked with how many are right.

    Parameters
    ----------
    answers : Answers
        Answers of a model.
    counts : Tally
        Counts of the answers, over all questions.

    Returns
    -------
    dict
        ``right`` and ``picked`` (mean number per question), ``right_picked`` and ``wrong_picked``
        (shares of right and of wrong options that are picked), ``under``, ``over`` and ``equal``
        (shares of the questions with fewer picked than right, more, or equally many), ``empty``
        (share with nothing picked), and ``by_right``: the same by number of right options. Shares
        are fractions, None if undefined.
    """
    options = np.array([len(set(each.options)) for each in answers.questions.questions])
    by_right = [
        {"right_options": int(number), **_rates(counts, options, counts.options[0] == number)}
        for number in np.unique(counts.options[0])
    ]
    everything = np.ones(len(options), dtype=bool)
    return {**_rates(counts, options, everything), "by_right": by_right}


def _rates(counts: Tally, options: IntArray, which: BoolArray) -> dict[str, Any]:
    """Compare the numbers of picked and right options over the questions in a (Q,) mask."""
    right, picked, hit = counts.options[:, which]
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


def count_distractors(answers: Answers) -> dict[str, list[dict[str, Any]]]:
    """Count how often wrong options are picked.

    Parameters
    ----------
    answers : Answers
        Answers of a model.

    Returns
    -------
    dict of list
        Tables ``classes``, ``verbs`` and ``objects`` list the wrong options that were picked; two
        more tables list confusions. A wrong option counts in ``confused_verbs`` if a right option
        has the same object, and otherwise in ``confused_objects``: once for each right verb or
        object of the question. Each row has its names, ``shown`` (number of chances to mislead a
        model), ``picked`` (number of successes), ``rate`` (their ratio) and, for confusions,
        ``instead`` (number of those cases in which no right option with that verb or object was
        picked). Rows are ordered by ``picked``, then by rate.
    """
    counts: dict[str, dict[tuple[str, ...], list[int]]] = {
        name: defaultdict(lambda: [0, 0, 0]) for name in DISTRACTORS
    }
    for question, answer in answers.pairs:
        picked = set(answer.picked)
        for option in dict.fromkeys(question.wrong):
            if option in question.right:
                continue
            misled = option in picked
            for table, key, right in _replaced(answers.questions, question, option):
                row = counts[table][key]
                row[0] += 1
                row[1] += misled
                row[2] += misled and picked.isdisjoint(right)
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, names in DISTRACTORS.items():
        rows = [
            {
                **dict(zip(names, key, strict=True)),
                "shown": shown,
                "picked": misled,
                "rate": misled / shown,
                **({"instead": instead} if table.startswith("confused") else {}),
            }
            for key, (shown, misled, instead) in counts[table].items()
        ]
        tables[table] = sorted(rows, key=lambda row: (-row["picked"], -row["rate"]))
    return tables


def _replaced(
    questions: Questions, question: Question, option: str
) -> Iterator[tuple[str, tuple[str, ...], set[str]]]:
    """Yield the table rows of a wrong option, with the right options of each confusion.

    A right option that names the wrong option's class in another spelling is skipped.
    """
    wrong = questions.interaction_of(option)
    yield "classes", (wrong.name, wrong.verb, wrong.object), set()
    yield "verbs", (wrong.verb,), set()
    yield "objects", (wrong.object,), set()
    right = {each: questions.interaction_of(each) for each in question.right}
    same = {each: named for each, named in right.items() if named.object == wrong.object}
    # If no right option shares the object, the mistake is the object, and otherwise the verb.
    part = "verb" if same else "object"
    # Right options that share a verb or object count together as one mistake.
    replaced: dict[str, set[str]] = defaultdict(set)
    for each, named in (same or right).items():
        replaced[getattr(named, part)].add(each)
    mistaken = getattr(wrong, part)
    for name, options in replaced.items():
        if name != mistaken:
            yield f"confused_{part}s", (mistaken, name), options


def position_bias(answers: Answers) -> dict[str, Any] | None:
    """Test whether the position of an option influences whether it is picked.

    Parameters
    ----------
    answers : Answers
        Answers of a model.

    Returns
    -------
    dict or None
        ``questions`` (number of answers with known option order); ``statistic``, ``degrees`` (of
        freedom: 0 if every stratum is picked completely or not at all) and ``p`` of the test, None
        with 0 degrees; ``positions``, in displayed order, each with its letter ``position``,
        ``shown`` and ``picked`` (how often an option stood at the position, and was picked),
        ``expected`` (picks if the order did not matter), ``excess`` (additional picks, as a share
        of ``shown``), the two-sided ``p``, None if nothing can differ, and ``p_holm``, corrected
        for the number of positions; and the outcome as a ``sentence``. None if the order is unknown
        for all answers.
    """
    from scipy.stats import chi2

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
        # Covariance of ``taken`` draws without replacement out of ``size`` (hypergeometric).
        if 0 < taken < size:
            scale = taken * (size - taken) / (size * (size - 1))
            spread[np.ix_(stratum, stratum)] += scale * (np.eye(size) - 1 / size)
    difference = picked - expected
    variance, directions = np.linalg.eigh(spread)
    # Picks and expectations have the same sum, so one direction has no variance except for
    # rounding.
    free = variance > ROUNDING * max(float(variance.max()), ROUNDING)
    degrees = int(free.sum())
    statistic = float((((difference @ directions)[free]) ** 2 / variance[free]).sum())
    bias: dict[str, Any] = {
        "questions": len(ordered),
        "statistic": statistic,
        "degrees": degrees,
        "p": float(chi2.sf(statistic, degrees)) if degrees else None,
        "positions": _positions(shown, picked, expected, np.diag(spread)),
    }
    return bias | {"sentence": _sentence(bias)}


def _strata(answers: Answers) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of right and of wrong options of each question, with the picks."""
    for question, answer in answers.pairs:
        right, picked = set(question.right), set(answer.places)
        shown = [(place, option in right) for place, option in enumerate(answer.shown) if option]
        for wanted in (True, False):
            if places := [place for place, is_right in shown if is_right is wanted]:
                yield places, [place for place in places if place in picked]


def _positions(
    shown: FloatArray, picked: FloatArray, expected: FloatArray, variance: FloatArray
) -> list[dict[str, Any]]:
    from scipy.stats import norm

    possible = np.flatnonzero(variance > 0).tolist()
    deviation = (picked - expected)[possible] / np.sqrt(variance[possible])
    p = [float(value) for value in 2 * norm.sf(np.abs(deviation))]
    tested = dict(zip(possible, zip(p, holm(p), strict=True), strict=True))
    rows = []
    for place, (often, picks, chance) in enumerate(np.array([shown, picked, expected]).T.tolist()):
        single, corrected = tested.get(place, (None, None))
        rows.append(
            {
                "position": LETTERS[place],
                "shown": int(often),
                "picked": int(picks),
                "expected": chance,
                "excess": (picks - chance) / often if often else 0.0,
                "p": single,
                "p_holm": corrected,
            }
        )
    return rows


def _sentence(bias: Mapping[str, Any]) -> str:
    """Describe the outcome of the test in one sentence."""
    if bias["p"] is None:
        return "the answers do not show whether the order of the options matters"
    test = f"chi-square {bias['statistic']:.1f}, {bias['degrees']} df, {shown_p(bias['p'])}"
    if bias["p"] >= LEVEL:
        return f"no sign that the order of the options matters ({test})"
    details = " and ".join(
        f"{row['position']} is picked {'more' if row['excess'] > 0 else 'less'} often than chance, "
        f"{row['picked']:,} times against {row['expected']:,.1f} ({shown_p(row['p_holm'])})"
        for row in bias["positions"]
        if row["p_holm"] is not None and row["p_holm"] < LEVEL
    )
    return f"the order of the options matters ({test})" + (f": {details}" if details else "")
