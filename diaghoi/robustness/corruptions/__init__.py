"""The twenty corruptions of the RoHOI benchmark in four groups, each in five severities.

``registry`` names them and loads nothing heavy; ``apply.corrupt`` corrupts one picture. The
modules are the groups of the paper: ``optical`` (OS), ``sensor`` and ``transmission`` (SCT),
``environment`` (EI), ``scene`` and ``cracks`` (G&S).
"""

from diaghoi.robustness.corruptions.apply import corrupt
from diaghoi.robustness.corruptions.registry import (
    CORRUPTIONS,
    GROUPS,
    SEVERITIES,
    Corruption,
    CorruptionGroup,
    find,
)

__all__ = [
    "CORRUPTIONS",
    "GROUPS",
    "SEVERITIES",
    "Corruption",
    "CorruptionGroup",
    "corrupt",
    "find",
]
