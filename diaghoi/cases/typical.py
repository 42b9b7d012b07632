"""Choose the most typical case of each error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diaghoi.cases.cases import MISSED, Case, rows_with, worst_cases
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis


def typical_cases(
    diagnosis: Diagnosis,
    annotations: Scenes,
    predictions: Scenes,
    errors: Sequence[str],
    *,
    hoi: int | None = None,
    images: Sequence[str] = (),
) -> list[Case]:
    """Choose one case of each error: the first case of the class that has the error most often.

    If a class is given, the case is the first of that class.

    Parameters
    ----------
    diagnosis, annotations, predictions, hoi, images
        As for :func:`diaghoi.cases.cases.worst_cases`, which also defines the order of the cases in
        a class.
    errors : sequence of str
        Labels of :data:`diaghoi.evaluation.errors.LABELS`, or ``missed_gt``.

    Returns
    -------
    list of Case
        One case per error, in the order of the errors; errors without a case are omitted.

    Raises
    ------
    InputError
        As for :func:`diaghoi.cases.cases.worst_cases`.
    """
    ledger = diagnosis.ledger
    on = np.isin(diagnosis.names, list(images)) if images else None
    cases = []
    for error in errors:
        classes = ledger.annotation_class if error == MISSED else ledger.row_class
        mine = classes[rows_with(ledger, error, images=on)]
        most = int(np.bincount(mine).argmax()) if hoi is None and len(mine) else hoi
        cases += worst_cases(
            diagnosis, annotations, predictions, error, hoi=most, top=1, images=images
        )
    return cases
