"""Semantic similarity of wrong predictions to the annotations, triplet by triplet.

:mod:`diaghoi.semantic.diagnosis` computes the similarities; cases and pages show them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray

NEAR, PLAUSIBLE = 0.75, 0.5
"""An error is *near* if its similarity is at least ``NEAR``, and *plausible* if its similarity is
above ``PLAUSIBLE``. With equal weights, the right object alone gives a wrong action a similarity of
0.5, so a similarity of exactly 0.5 is not plausible.
"""
KINDS = {
    "near": f"Near (σ >= {NEAR:g})",
    "plausible": f"Plausible (σ > {PLAUSIBLE:g})",
    "wrong": "Wrong",
    "nothing": "Nothing annotated there",
}
"""Title of each kind of error; σ is the similarity of the whole interaction."""
COMPARED = {"action": "action", "object_box": "object"}
"""The errors that are compared with the annotations, and the wrong part of each."""


class TripletSimilarity(NamedTuple):
    """Similarity of one prediction to the annotated interaction.

    Parameters
    ----------
    similarity : float or None
        Sigma in [0, 1]; None if nothing is annotated at the boxes of the prediction.
    kind : str
        One of :data:`KINDS`.
    meant : str or None
        The annotated interaction that the prediction is compared with.
    """

    similarity: float | None
    kind: str
    meant: str | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarities:
    """Similarities of a detector's wrong predictions to the annotations.

    Parameters
    ----------
    value : (T,) float64 array
        Sigma of each predicted triplet of the joined scenes; NaN if undefined.
    kind : (T,) int array
        Index into :data:`KINDS`; -1 for predictions that are not compared.
    meant : (T,) int array
        The annotated interaction that each prediction is compared with, as an index into ``names``;
        -1 for none.
    names : tuple of str
        Names of the annotated interactions.
    sigma : str
        Formula for sigma, given the similarities of verbs and objects.
    tables : mapping
        ``name`` and ``source`` of the similarity table of ``verbs`` and, if objects are compared,
        of ``objects``.
    """

    value: FloatArray
    kind: IntArray
    meant: IntArray
    names: tuple[str, ...]
    sigma: str
    tables: Mapping[str, Mapping[str, str]]

    def of(self, triplet: int) -> TripletSimilarity | None:
        """Return the similarity of a predicted triplet; None if the prediction is not compared."""
        if self.kind[triplet] < 0:
            return None
        meant = int(self.meant[triplet])
        return TripletSimilarity(
            similarity=None if meant < 0 else float(self.value[triplet]),
            kind=list(KINDS)[self.kind[triplet]],
            meant=None if meant < 0 else self.names[meant],
        )

    def of_kinds(self, kinds: Sequence[str]) -> BoolArray:
        """Return a mask, (T,), of the triplets of the given kinds."""
        return np.isin(self.kind, [list(KINDS).index(kind) for kind in kinds])
