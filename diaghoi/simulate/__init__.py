"""Simulated data: annotated scenes, and detectors that fail in known ways.

The demo, the tests and the benchmarks need freely shareable data sets of any size that contain
every kind of error. :func:`annotations` draws a test set with the statistics of HICO-DET.
:func:`detect` returns what a :class:`Detector` would predict on such annotations, or on any other
annotations.

The package does not model vision: a detector is a set of error rates. The presets are chosen so
that the diagnosis of simulated detectors resembles the diagnosis of published detectors.
"""

from diaghoi.simulate.detection import detect
from diaghoi.simulate.detector import DETECTORS, ONE_STAGE, TWO_STAGE, WEAK, Detector
from diaghoi.simulate.v_coco import PairDetector, v_coco_annotations, v_coco_detect
from diaghoi.simulate.world import annotations

__all__ = [
    "DETECTORS",
    "ONE_STAGE",
    "TWO_STAGE",
    "WEAK",
    "Detector",
    "PairDetector",
    "annotations",
    "detect",
    "v_coco_annotations",
    "v_coco_detect",
]
