"""All kinds of figures by name: to add one, write its module, name its kind here and test it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError, close_matches
from diaghoi.plots.captions import caption
from diaghoi.plots.figure import FigureKind, figure_of
from diaghoi.plots.figures.average_precision import ACTION_AP, CLASS_AP, action_ap, class_ap
from diaghoi.plots.figures.calibration import CALIBRATION, calibration
from diaghoi.plots.figures.causes import ANNOTATION_CAUSES, annotation_causes
from diaghoi.plots.figures.confusions import CONFUSIONS, confusions
from diaghoi.plots.figures.delta_bars import delta_map
from diaghoi.plots.figures.delta_panels import DELTA_MAP, DELTA_MAP_BACKBONE, DELTA_MAP_SPLITS
from diaghoi.plots.figures.error_profile import (
    ERROR_PROFILE_OBJECT,
    ERROR_PROFILE_VERB,
    error_profile,
)
from diaghoi.plots.figures.error_shares import ERROR_SHARES, error_shares
from diaghoi.plots.figures.intervals import DIFFERENCE, SLICES, slices
from diaghoi.plots.figures.operating_points import OPERATING_POINTS, operating_points
from diaghoi.plots.figures.oracle_curve import (
    MEAN_ORACLE_CURVE,
    ORACLE_CURVE,
    mean_oracle_curve,
    oracle_curve,
)
from diaghoi.plots.figures.pairs import NEGATIVES_CURVE, PAIR_RECALL, negatives_curve, pair_recall
from diaghoi.plots.figures.transitions import TRANSITIONS
from diaghoi.plots.figures.waterfall import WATERFALL, waterfall
from diaghoi.plots.sheet import SHEET
from diaghoi.plots.style import DOUBLE_COLUMN, SINGLE_COLUMN, check_suffix, save

FIGURES: dict[str, FigureKind] = {
    kind.name: kind
    for kind in (
        DELTA_MAP,
        DELTA_MAP_SPLITS,
        DELTA_MAP_BACKBONE,
        WATERFALL,
        ERROR_SHARES,
        ERROR_PROFILE_VERB,
        ERROR_PROFILE_OBJECT,
        PAIR_RECALL,
        NEGATIVES_CURVE,
        ACTION_AP,
        CLASS_AP,
        MEAN_ORACLE_CURVE,
        ORACLE_CURVE,
        ANNOTATION_CAUSES,
        CALIBRATION,
        OPERATING_POINTS,
        CONFUSIONS,
        DIFFERENCE,
        TRANSITIONS,
        SLICES,
        SHEET,
    )
}
"""In the order in which they are drawn."""

USUAL = ("delta_map", "error_shares", "pair_recall", "difference", "transitions", "sheet")
"""Those that a study draws unless others are asked for."""

FUNCTIONS: dict[str, Callable[..., Axes]] = {
    function.__name__: function
    for function in (
        delta_map,
        waterfall,
        error_shares,
        error_profile,
        pair_recall,
        negatives_curve,
        action_ap,
        class_ap,
        mean_oracle_curve,
        oracle_curve,
        annotation_causes,
        calibration,
        operating_points,
        confusions,
        slices,
    )
}
"""What draws into one axes, by name."""


COLUMNS = {"single": SINGLE_COLUMN, "double": DOUBLE_COLUMN}


def plot(
    diagnosis: Diagnosis,
    figure: str,
    ax: Axes | None = None,
    *,
    column: str | None = None,
    path: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Axes:
    """Draw a figure of one detector; see :meth:`diaghoi.Diagnosis.plot`.

    Raises
    ------
    InputError
        For an unknown figure, column or ending of the path, and for a figure that the diagnosis
        does not allow.
    """
    kinds: Mapping[str, Any] = FUNCTIONS if column is None else FIGURES
    for name, choice, known in (("column", column, COLUMNS), ("figure", figure, kinds)):
        if choice is not None and choice not in known:
            raise InputError(
                f"{name}: '{choice}' is not known{close_matches(choice, known)}; give one of "
                f"{', '.join(known)}"
            )
    if column is not None:
        for name in (*([] if ax is None else ["ax"]), *settings):
            raise InputError(f"{name}: is not for a figure as wide as a column; leave one of both")
    if path is not None:
        check_suffix(path)
    if column is None:
        ax = FUNCTIONS[figure](diagnosis, ax, **settings)
    else:
        ax = figure_of(FIGURES[figure], [diagnosis], COLUMNS[column]).axes[0]
    if path is not None:
        save(cast("Figure", ax.get_figure(root=True)), path, caption=caption([diagnosis.to_dict()]))
    return ax
