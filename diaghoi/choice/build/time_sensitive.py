"""Interactions that a still picture cannot distinguish: none is a negative of the other.

Appendix A of the paper (002) lists 68 classes of HICO-DET whose picture does not show the direction
of a movement. The list, with the counterparts of each class, is
``vocabularies/hico_det_time_sensitive.csv`` (:mod:`diaghoi.cases.causes`). Classes are compared by
the names of verb and object here, so that the list holds for any data set with the same names.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from diaghoi.choice.classes import Interaction, interactions_of, normalised
from diaghoi.data.groups import counterparts
from diaghoi.data.vocabulary import facts, hico_det


@cache
def time_sensitive_classes() -> frozenset[Interaction]:
    """Return the 68 classes of appendix A, table 5."""
    rows = facts("hico_det_time_sensitive.csv")
    return frozenset(normalised(Interaction(row["verb"], row["object"])) for row in rows)


def indistinct_from(annotated: Iterable[Interaction]) -> set[Interaction]:
    """Find what a still picture cannot distinguish from annotated interactions.

    The relation is symmetric, whichever of two counterparts the list has: ``throw frisbee`` is
    found for ``catch frisbee``, and ``hop_on bicycle`` for ``ride bicycle``.

    Parameters
    ----------
    annotated : iterable of Interaction
        Interactions of one person or image.

    Returns
    -------
    set of Interaction
        Their counterparts with the same objects, spelt as by
        :func:`diaghoi.choice.classes.normalised`.
    """
    table = _counterparts()
    return {other for each in annotated for other in table.get(normalised(each), ())}


@cache
def _counterparts() -> dict[Interaction, frozenset[Interaction]]:
    vocabulary = hico_det()
    table = counterparts(vocabulary)
    if table is None:
        return {}
    named = [normalised(each) for each in interactions_of(vocabulary)]
    return {
        named[row]: frozenset(named[column] for column in np.flatnonzero(others).tolist())
        for row, others in enumerate(table | table.T)
        if others.any()
    }
