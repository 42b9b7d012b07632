"""Oracles, each of which repairs one kind of error in a ledger to measure the cost of the error.

One file per oracle. To add one, write its file, name it in ``ORACLES`` in ``registry.py`` and
test it; reports, tables and figures follow that order. The definitions are those of the Diag-HOI
paper, appendix B, in the exact form of its published code.
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
