"""Figures: functions that take diagnoses or results, return matplotlib axes and save nothing.

>>> from diaghoi import plots
>>> plots.delta_map([one, two])  # doctest: +SKIP

:data:`FIGURES` names the figures of a study of several models; :func:`collect` computes their data
and :func:`figure_of` draws one of them.
"""

from diaghoi.plots.captions import caption, notes_of
from diaghoi.plots.collection import Collection, collect, joined
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, figure_of
from diaghoi.plots.figures.average_precision import action_ap, class_ap
from diaghoi.plots.figures.calibration import calibration
from diaghoi.plots.figures.causes import annotation_causes
from diaghoi.plots.figures.confusions import confusions
from diaghoi.plots.figures.delta_bars import delta_map, delta_map_table
from diaghoi.plots.figures.error_profile import error_profile
from diaghoi.plots.figures.error_shares import error_shares
from diaghoi.plots.figures.intervals import difference, slices
from diaghoi.plots.figures.operating_points import operating_points
from diaghoi.plots.figures.oracle_curve import mean_oracle_curve, oracle_curve
from diaghoi.plots.figures.pairs import negatives_curve, pair_recall
from diaghoi.plots.figures.picture import card, picture
from diaghoi.plots.figures.transitions import transitions
from diaghoi.plots.figures.waterfall import waterfall
from diaghoi.plots.registry import FIGURES, USUAL
from diaghoi.plots.sheet import SHEET_MODELS
from diaghoi.plots.style import COLOURS, DOUBLE_COLUMN, SINGLE_COLUMN, paper, save

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
    "class_ap",
    "collect",
    "confusions",
    "delta_map",
    "delta_map_table",
    "difference",
    "error_profile",
    "error_shares",
    "figure_of",
    "joined",
    "mean_oracle_curve",
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
