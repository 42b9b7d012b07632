"""Figures of the diagnosis: each takes results, returns matplotlib axes and saves nothing.

:data:`FIGURES` names the figures of a study of several models; :func:`collect` computes their data
and :func:`figure_of` draws one of them.
"""

from diaghoi.plots.captions import caption
from diaghoi.plots.collection import Collection, collect
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, figure_of
from diaghoi.plots.figures.delta_bars import delta_map, delta_map_table
from diaghoi.plots.registry import FIGURES
from diaghoi.plots.style import COLOURS, DOUBLE_COLUMN, SINGLE_COLUMN, paper, save

__all__ = [
    "COLOURS",
    "DOUBLE_COLUMN",
    "FIGURES",
    "SINGLE_COLUMN",
    "Collection",
    "FigureKind",
    "ModelData",
    "NotApplicable",
    "Source",
    "caption",
    "collect",
    "delta_map",
    "delta_map_table",
    "figure_of",
    "paper",
    "save",
]
