"""Figures of the diagnosis: each takes results, returns matplotlib axes and saves nothing."""

from diaghoi.plots.caption import caption
from diaghoi.plots.delta_map import delta_map, delta_map_table
from diaghoi.plots.style import COLOURS, DOUBLE_COLUMN, SINGLE_COLUMN, paper, save

__all__ = [
    "COLOURS",
    "DOUBLE_COLUMN",
    "SINGLE_COLUMN",
    "caption",
    "delta_map",
    "delta_map_table",
    "paper",
    "save",
]
