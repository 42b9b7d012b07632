"""The oracle of one error, applied to some of its predictions while the others stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diaghoi.data.arrays import BoolArray, marked
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import ClassScores, class_scores
from diaghoi.evaluation.errors import BOTH_BOXES, LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.means import split_means
from diaghoi.oracles import LOCALISED, ORACLES
from diaghoi.oracles.localised import by_pair

FULL = "full"


@dataclass(frozen=True, kw_only=True, eq=False)
class PartialOracle:
    """The oracle of one error, for some of its predictions at a time.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    error : str
        ``action``, or another label whose oracle converts predictions.
    by_pair : bool
        Whether errors are read by the pair (:mod:`diaghoi.oracles.localised`) instead of by the
        published rule.
    """

    diagnosis: Diagnosis
    error: str
    by_pair: bool = False

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the diagnosis, as the reading has it."""
        return by_pair(self.diagnosis.ledger) if self.by_pair else self.diagnosis.ledger

    @cached_property
    def error_rows(self) -> BoolArray:
        """(R,) mask of the rows of the ledger with the error."""
        return np.asarray(self.ledger.row_label == LABELS.index(self.error))

    def delta(self, rows: BoolArray) -> float | None:
        """Change of mAP when some rows are repaired; None where mAP is undefined.

        Only the classes that the repair affects are ranked again.
        """
        before = self.diagnosis.mean_ap[FULL]
        after = self._mean_ap(rows & self.error_rows)
        return None if before is None or after is None else after - before

    def _mean_ap(self, rows: BoolArray) -> float | None:
        ledger, scores = self.ledger, self.diagnosis.class_scores
        assigned = ledger.row_annotation[rows]
        affected = marked(ledger.row_class[rows], ledger.classes)
        affected[ledger.annotation_class[assigned[assigned >= 0]]] = True
        # Rows are sorted by class.
        inside = np.repeat(affected, np.diff(ledger.bounds))
        part = ledger.rows(inside)
        # The oracle selects by label, so the rows that stay get another one. Any will do: no other
        # oracle runs.
        kept = (part.row_label == LABELS.index(self.error)) & ~rows[inside]
        part = replace(part, row_label=np.where(kept, np.int8(BOTH_BOXES), part.row_label))
        repaired = (LOCALISED if self.by_pair else ORACLES)[self.error](part)
        found = class_scores(repaired.evaluated, ledger.classes, self.diagnosis.protocol)
        joined = ClassScores(
            **{
                name: np.where(affected, getattr(found, name), getattr(scores, name))
                for name in ("average_precision", "max_recall", "ranked", "found")
            }
        )
        splits = {FULL: self.diagnosis.splits[FULL]}
        return split_means(joined, self.diagnosis.protocol, splits)[0][FULL]
