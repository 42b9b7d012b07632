"""All kinds of figures by name: to add one, write its module, name its kind here and test it."""

from __future__ import annotations

from diaghoi.plots.figure import FigureKind
from diaghoi.plots.figures.action_ap import ACTION_AP
from diaghoi.plots.figures.calibration import CALIBRATION
from diaghoi.plots.figures.causes import ANNOTATION_CAUSES
from diaghoi.plots.figures.class_ap import CLASS_AP
from diaghoi.plots.figures.confusions import CONFUSIONS
from diaghoi.plots.figures.delta_panels import DELTA_MAP, DELTA_MAP_BACKBONE, DELTA_MAP_SPLITS
from diaghoi.plots.figures.error_profile import ERROR_PROFILE_OBJECT, ERROR_PROFILE_VERB
from diaghoi.plots.figures.error_shares import ERROR_SHARES
from diaghoi.plots.figures.negatives_curve import NEGATIVES_CURVE
from diaghoi.plots.figures.oracle_curve import ORACLE_CURVE
from diaghoi.plots.figures.pair_recall import PAIR_RECALL
from diaghoi.plots.figures.waterfall import WATERFALL

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
        ORACLE_CURVE,
        ANNOTATION_CAUSES,
        CALIBRATION,
        CONFUSIONS,
    )
}
"""In the order in which they are drawn."""
