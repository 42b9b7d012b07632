"""How similar wrong predictions are to what is annotated there, triplet by triplet.

:mod:`diaghoi.semantic.compared_errors` says what there is; cases and pages show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray

NEAR, PLAUSIBLE = 0.75, 0.5
"""Similarity from which an error is near, and above which it is plausible: a wrong action on the
right object is as similar as the latter by its object alone, at equal weights."""
KINDS = {
    "near": f"Near (similarity >= {NEAR:g})",
    "plausible": f"Plausible (above {PLAUSIBLE:g})",
    "wrong": "Wrong",
    "nothing": "Nothing annotated there",
}
"""Title of each kind of error by its meaning."""
COMPARED = {"action": "action", "object_box": "object"}
"""The errors that are compared with what is annotated, and what each gets wrong."""


class Similar(NamedTuple):
    """How similar one prediction is to what is annotated.

    Parameters
    ----------
    similarity : float or None
        Sigma in [0, 1]; None where nothing is annotated there.
    kind : str
        One of :data:`KINDS`.
    meant : str or None
        The annotated interaction that it is compared with.
    """

    similarity: float | None
    kind: str
    meant: str | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarities:
    """How similar the wrong predictions of a detector are to what is annotated.

    Parameters
    ----------
    value : (T,) float64 array
        Sigma of each predicted triplet of the joined scenes, NaN where there is none.
    kind : (T,) int array
        Its place in :data:`KINDS`; -1 for predictions that are not compared.
    meant : (T,) int array
        The annotated interaction that it is compared with, a row of ``names``; -1 for none.
    names : tuple of str
        Names of interactions.
    sigma : str
        How sigma follows from the similarity of verbs and of objects.
    tables : mapping
        ``name`` and ``source`` of the tables of ``verbs`` and, where they are compared,
        ``objects``.
    """

    value: FloatArray
    kind: IntArray
    meant: IntArray
    names: tuple[str, ...]
    sigma: str
    tables: Mapping[str, Mapping[str, str]]

    def of(self, triplet: int) -> Similar | None:
        """Similarity of a predicted triplet; None for one that is not compared."""
        if self.kind[triplet] < 0:
            return None
        meant = int(self.meant[triplet])
        return Similar(
            similarity=None if meant < 0 else float(self.value[triplet]),
            kind=list(KINDS)[self.kind[triplet]],
            meant=None if meant < 0 else self.names[meant],
        )

    def having(self, kinds: Sequence[str]) -> BoolArray:
        """(T,) triplets that have one of some kinds."""
        return np.isin(self.kind, [list(KINDS).index(kind) for kind in kinds])
