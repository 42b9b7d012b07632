"""Figures: functions that take diagnoses or results, return matplotlib axes and save nothing.

>>> from diaghoi import plots
>>> plots.delta_map([one, two])  # doctest: +SKIP

:data:`FIGURES` lists the figures of a study of several models; :func:`collect` computes their data,
and :func:`figure_of` draws one of them.
"""

from diaghoi.plots.collection import Collection, collect, joined
from diaghoi.plots.figure import (
    FIGURES,
    FigureKind,
    ModelData,
    NotApplicable,
    Source,
    figure_of,
)

# Figures are drawn in the order in which their modules are imported.
# isort: off
from diaghoi.plots.figures.delta_map import delta_map, delta_map_table
from diaghoi.plots.figures.waterfall import waterfall
from diaghoi.plots.figures.error_shares import error_shares
from diaghoi.plots.figures.pairs import negatives_curve, pair_recall
from diaghoi.plots.figures.intervals import difference, slices
from diaghoi.plots.figures.matrices import error_profile, transitions
from diaghoi.plots.figures.action_ap import action_ap
from diaghoi.plots.figures.oracle_curve import oracle_curve
from diaghoi.plots.figures.causes import annotation_causes
from diaghoi.plots.figures.scores import calibration, operating_points
from diaghoi.plots.figures.confusions import confusions
from diaghoi.plots.sheet import SHEET_MODELS

# isort: on
from diaghoi.plots.figures.picture import card, picture
from diaghoi.plots.labels import caption
from diaghoi.plots.style import (
    COLOURS,
    DOUBLE_COLUMN,
    SINGLE_COLUMN,
    notes_of,
    paper,
    save,
)

USUAL = tuple(name for name, kind in FIGURES.items() if kind.usual)
"""Figures that a study draws by default."""

__all__ = [
    "COLOURS",
    "DOUBLE_COLUMN",
    "FIGURES",
    "SHEET_MODELS",
    "SINGLE_COLUMN",
    "USUAL",
    "Collection",
    "FigureKind",
    "ModelData",
    "NotApplicable",
    "Source",
    "action_ap",
    "annotation_causes",
    "calibration",
    "caption",
    "card",
    "collect",
    "confusions",
    "delta_map",
    "delta_map_table",
    "difference",
    "error_profile",
    "error_shares",
    "figure_of",
    "joined",
    "negatives_curve",
    "notes_of",
    "operating_points",
    "oracle_curve",
    "pair_recall",
    "paper",
    "picture",
    "save",
    "slices",
    "transitions",
    "waterfall",
]


def __dir__() -> list[str]:
    return list(__all__)
