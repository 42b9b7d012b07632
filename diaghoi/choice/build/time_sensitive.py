"""Interactions that a still picture cannot tell apart: never one as a negative of the other.

Appendix A of the paper (002) lists 68 classes of HICO-DET whose picture does not show which way
things move. The list, and what each class is mixed up with, stand in
``vocabularies/hico_det_time_sensitive.csv`` (:mod:`diaghoi.cases.causes`). They go by the names of
verb and object here, so that they hold for any data set that words a class alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from diaghoi.cases.causes import counterparts
from diaghoi.choice.classes import Interaction, matching_name, predicted_interactions
from diaghoi.data.vocabulary import facts, hico_det


@cache
def time_sensitive() -> frozenset[Interaction]:
    """Return the 68 classes of appendix A, table 5."""
    rows = facts("hico_det_time_sensitive.csv")
    return frozenset(matching_name(Interaction(row["verb"], row["object"])) for row in rows)


def indistinct_from(annotated: Iterable[Interaction]) -> set[Interaction]:
    """Find what a still picture cannot tell from annotated interactions.

    A class is as hard to tell from its counterpart as the counterpart from the class, so that it
    does not matter which of them the list has: ``throw frisbee`` is found for ``catch frisbee``,
    and ``hop_on bicycle`` for ``ride bicycle``.

    Parameters
    ----------
    annotated : iterable of Interaction
        Of one person or image.

    Returns
    -------
    set of Interaction
        Their counterparts, of the same objects, spelt as by
        :func:`diaghoi.choice.classes.matching_name`.
    """
    table = _counterparts()
    return {other for each in annotated for other in table.get(matching_name(each), ())}


@cache
def _counterparts() -> dict[Interaction, frozenset[Interaction]]:
    words = hico_det()
    table = counterparts(words)
    if table is None:
        return {}
    named = [matching_name(each) for each in predicted_interactions(words)]
    return {
        named[row]: frozenset(named[column] for column in np.flatnonzero(others).tolist())
        for row, others in enumerate(table | table.T)
        if others.any()
    }
