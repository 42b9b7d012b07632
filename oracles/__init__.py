"""Oracles, each of which repairs one kind of error in a ledger to measure the cost of the error.

Each oracle has its own file. To add one, write its file, list it in ``ORACLES`` in ``registry.py``
and test it; reports, tables and figures follow the order of ``ORACLES``. The definitions are those
of appendix B of the Diag-HOI paper, exactly as the published code implements them.
"""

from diaghoi.oracles.localised import LOCALISED, lost_triplets
from diaghoi.oracles.oracle import Oracle
from diaghoi.oracles.registry import ERROR_WORDS, ERRORS, ORACLES, TOTALS, error_title

__all__ = [
    "ERRORS",
    "ERROR_WORDS",
    "LOCALISED",
    "ORACLES",
    "TOTALS",
    "Oracle",
    "error_title",
    "lost_triplets",
]
