"""Diagnose human-object interaction detectors: which errors they make, and what each one costs.

>>> import diaghoi
>>> one = diaghoi.diagnose("instances_test2015.json", "preds.pkl")  # doctest: +SKIP
>>> print(one) # one screen, in percent; a notebook also shows it # doctest: +SKIP
>>> one.mean_ap["full"], one.delta_map["association"]  # fractions  # doctest: +SKIP
>>> one.plot("delta_map", column="single", path="delta_map.pdf")  # doctest: +SKIP
>>> print(diaghoi.compare(one, other))  # doctest: +SKIP
"""

import sys as _sys
from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# In a source tree, oracles and plots are next to the package.
if not (_Path(__file__).parent / "oracles").is_dir():
    __path__.append(str(_Path(__file__).parents[1]))

from diaghoi._version import __version__

if _TYPE_CHECKING:
    from diaghoi import plots, simulate
    from diaghoi.comparison.comparison import compare
    from diaghoi.data.protocol import PROTOCOLS, Protocol, protocol
    from diaghoi.data.scenes import Scenes
    from diaghoi.diagnosis.accumulator import Accumulator
    from diaghoi.diagnosis.diagnose import diagnose
    from diaghoi.diagnosis.diagnosis import Diagnosis
    from diaghoi.exceptions import InputError
    from diaghoi.formats import (
        open_annotations,
        open_predictions,
        read_annotations,
        read_predictions,
    )
    from diaghoi.formats.hico_mat import read_image_labels
    from diaghoi.formats.writer import PredictionWriter
    from diaghoi.measures import MEASURES, Measure
    from diaghoi.oracles import ORACLES, Oracle

__all__ = [
    "MEASURES",
    "ORACLES",
    "PROTOCOLS",
    "Accumulator",
    "Diagnosis",
    "InputError",
    "Measure",
    "Oracle",
    "PredictionWriter",
    "Protocol",
    "Scenes",
    "__version__",
    "compare",
    "diagnose",
    "open_annotations",
    "open_predictions",
    "plots",
    "protocol",
    "read_annotations",
    "read_image_labels",
    "read_predictions",
    "simulate",
]

# Module that defines each name. A module is imported on first use, so that commands start at once.
_PLACES = {
    "comparison.comparison": ("compare",),
    "data.protocol": ("PROTOCOLS", "Protocol", "protocol"),
    "data.scenes": ("Scenes",),
    "diagnosis.accumulator": ("Accumulator",),
    "diagnosis.diagnose": ("diagnose",),
    "diagnosis.diagnosis": ("Diagnosis",),
    "exceptions": ("InputError",),
    "formats": ("open_annotations", "open_predictions", "read_annotations", "read_predictions"),
    "formats.hico_mat": ("read_image_labels",),
    "formats.writer": ("PredictionWriter",),
    "measures": ("MEASURES", "Measure"),
    "oracles": ("ORACLES", "Oracle"),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> _Any:
    if name in ("plots", "simulate"):
        return _import_module(f"diaghoi.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'diaghoi' has no attribute '{name}'")
    found = globals()[name] = getattr(_import_module(f"diaghoi.{_MODULE_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


# Slices, transitions, protocols and oracles get their notebook display from the report modules.
if (_shell := getattr(_sys.modules.get("IPython"), "get_ipython", lambda: None)()) is not None:
    from diaghoi.report.notebook import load_ipython_extension as _load

    _load(_shell)
