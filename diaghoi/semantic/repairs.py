"""What repairing some errors of one kind gains, the others left as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from diaghoi.data.arrays.ragged import marked
from diaghoi.data.arrays.types import BoolArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import ClassScores, class_scores
from diaghoi.evaluation.errors import BOTH_BOXES, LABELS
from diaghoi.evaluation.means import split_means
from diaghoi.oracles import ORACLES


@dataclass(frozen=True, kw_only=True, eq=False)
class Repairs:
    """The oracle of one error, for some of its predictions at a time.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    error : str
        ``action``, or another label whose oracle converts predictions.
    split : str
        Which mean over classes.
    """

    diagnosis: Diagnosis
    error: str
    split: str = "full"

    @property
    def wrong(self) -> BoolArray:
        """(R,) rows of the ledger with the error."""
        return np.asarray(self.diagnosis.ledger.row_label == LABELS.index(self.error))

    def delta(self, rows: BoolArray) -> float | None:
        """Change of mAP by the repair of some rows; None where mAP is undefined.

        Only the classes that the repair touches are ranked again.
        """
        before = self.diagnosis.mean_ap[self.split]
        after = self._mean_ap(rows & self.wrong)
        return None if before is None or after is None else after - before

    def _mean_ap(self, rows: BoolArray) -> float | None:
        ledger, scores = self.diagnosis.ledger, self.diagnosis.class_scores
        meant = ledger.row_annotation[rows]
        touched = marked(ledger.row_class[rows], ledger.classes)
        touched[ledger.annotation_class[meant[meant >= 0]]] = True
        inside = touched[ledger.row_class]
        part = ledger.rows(inside)
        # The oracle goes by the label; no other oracle runs, so that any other one will do.
        spared = (part.row_label == LABELS.index(self.error)) & ~rows[inside]
        part = replace(part, row_label=np.where(spared, np.int8(BOTH_BOXES), part.row_label))
        repaired = ORACLES[self.error](part)
        found = class_scores(repaired.evaluated, ledger.classes, self.diagnosis.protocol)
        joined = ClassScores(
            **{
                name: np.where(touched, getattr(found, name), getattr(scores, name))
                for name in ("average_precision", "max_recall", "ranked", "found")
            }
        )
        splits = {self.split: self.diagnosis.splits[self.split]}
        return split_means(joined, self.diagnosis.protocol, splits)[0][self.split]
