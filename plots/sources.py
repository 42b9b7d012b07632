"""What figures take from a :class:`diaghoi.plots.figure.Source`."""

from __future__ import annotations

from diaghoi.diagnosis import Diagnosis
from diaghoi.plots.figure import NotApplicable, Source


def diagnosis_of(source: Source) -> Diagnosis:
    """Return the diagnosis of a model.

    Raises
    ------
    NotApplicable
        For a model that is there as a saved result.
    """
    if source.diagnosis is None:
        raise NotApplicable("a saved result is not enough for it; give the predictions")
    return source.diagnosis
