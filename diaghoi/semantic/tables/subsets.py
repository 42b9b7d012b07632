"""Measure agreement of rater subsets with people, overall and by differing part (tables 1, 3).

In the supplement, the raters of a subset vote (section 6.1); in the paper, their scores are
averaged; results have the votes and the averages. In table 1 of the supplement, the number for the
vote of two raters is mostly the number for the rater listed first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray
from diaghoi.exceptions import InputError, some_of
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.tables.agreement import closeness
from diaghoi.semantic.tables.people import HumanScores
from diaghoi.semantic.tables.ratings import Ratings, mean_scores

MOST_RATERS = 12
WEIGHTS = np.linspace(0, 1, 1001)
Rule = Callable[[FloatArray], FloatArray]


def _spread(agreement: FloatArray) -> dict[str, float | None]:
    deviation = float(agreement.std(ddof=1)) if len(agreement) > 1 else None
    return {"mean": float(agreement.mean()), "deviation": deviation}


def rater_subsets(
    human: HumanScores,
    verbs: Ratings,
    objects: Ratings | None = None,
    *,
    measure: Measure | None = None,
) -> dict[str, Any]:
    """Compare every subset of raters with people.

    Parameters
    ----------
    human : HumanScores
        Scores by people.
    verbs : Ratings
        Table of the words, or of the verbs if people compared interactions.
    objects : Ratings, optional
        Table of the objects by the same raters.
    measure : Measure, optional
        Combination of verb and object.

    Returns
    -------
    dict
        ``raters``, ``pairs`` (number of pairs), ``missing`` (words that a table lacks; pairs with
        these words count as not similar) and ``notes``. ``subsets``, by size: the ``raters`` of a
        subset, and the agreement (:func:`diaghoi.semantic.tables.agreement.closeness`) of the
        raters' mean, ``agreement``, and of the raters' ``majority`` vote with the mean of the
        people. In a vote, the rater listed first decides between equally frequent scores.
        ``sizes``: mean and sample deviation over the subsets of each size, of both agreements.
        ``direct_match``: agreement of direct match, which, as in mAP, scores 1 for equal pairs and
        0 for other pairs. ``categories``, empty if people compared words: the agreement on
        interactions that differ in one way (supplement, table 3), of each rater, and of all raters
        by ``mean`` and ``majority``; ``best_weight``, the verb weight w*, in steps of 0.001, at
        which the mean agrees best (on ties, the weight closest to 0.5); and ``best_agreement``, the
        agreement at w*. ``best_weight`` and ``best_agreement`` are None if no weight is used.

    Raises
    ------
    InputError
        If there are too many raters, the tables are by different raters, or a table is missing.
    """
    if human.of_interactions and objects is None:
        raise InputError(
            f"{human.source}: compares interactions; give the table of objects with --objects"
        )
    raters = verbs.raters
    if objects is not None and set(objects.raters) != set(raters):
        raise InputError(
            f"{verbs.source} is rated by {', '.join(raters)}, {objects.source} by "
            f"{', '.join(objects.raters)}; give tables by the same raters"
        )
    if len(raters) > MOST_RATERS:
        raise InputError(
            f"{verbs.source}: {len(raters)} raters have {2 ** len(raters) - 1:,} subsets; give at "
            f"most {MOST_RATERS}"
        )
    columns = [*zip(*human.words, strict=True)]
    half = len(columns) // 2
    by_verb, missing = _looked_up(verbs, raters, columns[0], columns[half])
    by_object = None
    if human.of_interactions and objects is not None:
        by_object, more = _looked_up(objects, raters, columns[1], columns[half + 1])
        missing |= more

    def sigma(subset: Sequence[int], rule: Rule, measure: Measure) -> FloatArray:
        """Return the similarity, (P,), according to the given raters."""
        verb = rule(by_verb[:, list(subset)])
        return verb if by_object is None else measure.sigma(verb, rule(by_object[:, list(subset)]))

    measure = measure or Measure()
    subsets = [
        subset
        for size in range(1, len(raters) + 1)
        for subset in combinations(range(len(raters)), size)
    ]
    agreement, majority = (
        np.array([closeness(sigma(subset, rule, measure), human.mean, 1.0) for subset in subsets])
        for rule in (mean_scores, _majority)
    )
    same = [float(words[:half] == words[half:]) for words in human.words]
    notes = human.notes + verbs.notes + (() if objects is None else objects.notes)
    if missing:
        notes += (
            f"{len(missing)} words are not in the tables; their pairs are treated as not similar: "
            f"{some_of([*missing])}",
        )
    sizes = np.array([len(subset) for subset in subsets])
    return {
        "raters": list(raters),
        "pairs": len(human.mean),
        "missing": list(missing),
        "subsets": [
            {
                "raters": [raters[n] for n in subset],
                "agreement": float(value),
                "majority": float(vote),
            }
            for subset, value, vote in zip(subsets, agreement, majority, strict=True)
        ],
        "sizes": [
            {
                "size": size,
                **_spread(agreement[sizes == size]),
                "majority": _spread(majority[sizes == size]),
            }
            for size in range(1, len(raters) + 1)
        ],
        "direct_match": closeness(np.array(same), human.mean, 1.0),
        "categories": _categories(human, sigma, raters, measure) if human.of_interactions else [],
        "notes": list(notes),
    }


def _looked_up(
    table: Ratings, raters: Sequence[str], one: Sequence[str], other: Sequence[str]
) -> tuple[FloatArray, dict[str, None]]:
    """Return (P, R) scores of word pairs, NaN if unrated, and the words that the table lacks."""
    number = {word: place for place, word in enumerate(table.names)}
    pairs = zip(table.first.tolist(), table.second.tolist(), strict=True)
    row_of = {pair: row for row, pair in enumerate(pairs)}
    order = [table.raters.index(rater) for rater in raters]
    scores = np.full((len(one), len(raters)), np.nan)
    for place, words in enumerate(zip(one, other, strict=True)):
        first, second = sorted(number.get(word, -1) for word in words)
        if words[0] == words[1]:
            scores[place] = 1.0
        elif (row := row_of.get((first, second))) is not None:
            scores[place] = table.scores[row, order]
    return scores, dict.fromkeys(word for word in (*one, *other) if word not in number)


def _majority(scores: FloatArray) -> FloatArray:
    """Return the most frequent score, (P,); the first rater decides ties; 0 without a score."""
    votes = (scores[:, :, None] == scores[:, None, :]).sum(axis=2)  # NaN equals nothing
    first = votes.argmax(axis=1)
    return np.asarray(np.nan_to_num(scores[np.arange(len(scores)), first], nan=0.0))


def _categories(
    human: HumanScores,
    sigma: Callable[[Sequence[int], Rule, Measure], FloatArray],
    raters: Sequence[str],
    measure: Measure,
) -> list[dict[str, Any]]:
    words = np.array(human.words)
    verb, other = words[:, 0] != words[:, 2], words[:, 1] != words[:, 3]
    everyone = range(len(raters))
    single = {rater: sigma([number], mean_scores, measure) for number, rater in enumerate(raters)}
    mean, majority = (sigma(everyone, rule, measure) for rule in (mean_scores, _majority))
    # The minimum of the two similarities has no weight.
    weights = () if measure.combine == "minimum" else WEIGHTS
    swept = [sigma(everyone, mean_scores, replace(measure, weight=weight)) for weight in weights]
    categories = []
    for differs, mask in (
        ("any", np.ones(len(words), dtype=bool)),
        ("object", other & ~verb),
        ("verb", verb & ~other),
        ("both", verb & other),
    ):
        if not mask.any():
            continue

        def agreement(scores: FloatArray, mask: BoolArray = mask) -> float:
            return closeness(scores[mask], human.mean[mask], 1.0)

        by_weight = np.array([agreement(scores) for scores in swept])
        best = _best_weight(by_weight) if swept else None
        categories.append(
            {
                "differs": differs,
                "pairs": int(mask.sum()),
                "raters": {rater: agreement(scores) for rater, scores in single.items()},
                "mean": agreement(mean),
                "majority": agreement(majority),
                "best_weight": None if best is None else float(WEIGHTS[best]),
                "best_agreement": None if best is None else float(by_weight[best]),
            }
        )
    return categories


def _best_weight(agreement: FloatArray) -> int:
    """Return the index of the weight with the highest agreement; closest to 0.5 on ties."""
    highest = np.flatnonzero(agreement >= agreement.max() - 1e-12)
    return int(highest[np.abs(WEIGHTS[highest] - 0.5).argmin()])
