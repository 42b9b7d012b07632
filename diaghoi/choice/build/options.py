"""The options of a question: annotated interactions and negatives, four in total.

Section 2.2 of the paper (002): every question has four options, of which the annotated ones are
right. As in the published questions, four are drawn of more than four annotated interactions, and
then no option is wrong. The evaluation shuffles the options, so their order does not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diaghoi.choice.build.candidates import Target
from diaghoi.choice.classes import ARTICLE, NO_INTERACTION, Interaction
from diaghoi.data.arrays import seeded

OPTIONS = 4


def option_text(found: Interaction) -> str:
    """Write an interaction as the published questions do: ``ride a/an bicycle``."""
    verb = f"{found.verb} with" if found.verb == NO_INTERACTION else found.verb
    return f"{verb}{ARTICLE}{found.object}"


def options_of(
    target: Target, negatives: Sequence[Interaction], *, seed: int
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Draw the four options of a question.

    Parameters
    ----------
    target : Target
        What the question is about.
    negatives : sequence of Interaction
        The candidates that judges confirmed.
    seed : int
        Seed of the benchmark.

    Returns
    -------
    right, wrong : tuple of str
        Their texts; None where there are fewer than four.
    """
    rng = seeded(seed, "options", target.image, target.person)
    right = _drawn(target.right, OPTIONS, rng)
    missing = OPTIONS - len(right)
    if len(negatives) < missing:
        return None
    wrong = _drawn(negatives, missing, rng)
    return tuple(map(option_text, right)), tuple(map(option_text, wrong))


def _drawn(
    found: Sequence[Interaction], number: int, rng: np.random.Generator
) -> list[Interaction]:
    """Draw at most so many, in their original order."""
    if len(found) <= number:
        return list(found)
    return [found[place] for place in sorted(rng.permutation(len(found))[:number].tolist())]
