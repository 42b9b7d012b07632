"""An error type of your own, without touching the package: what do false `hold` triplets cost?

    python examples/custom_error.py

An oracle is a function from a ledger (the ranked predictions with their labels, and the annotated
triplets) to a repaired ledger. The computation of average precision does not change. Once
registered, the oracle appears in every table, JSON file and figure.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import diaghoi
from diaghoi import simulate
from diaghoi.data.table import percent
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.formats.description import vocabulary
from diaghoi.oracles.oracle import oracle
from diaghoi.report.text import print_report

HICO = vocabulary("hico-det")
HOLD = HICO.verbs.index("hold")


@oracle("False hold")
def false_hold(ledger: Ledger) -> Ledger:
    """Remove wrong actions in which the predicted verb is `hold`."""
    wrong_action = ledger.row_label == LABELS.index("action")
    return ledger.rows(~(wrong_action & (HICO.class_verb[ledger.row_class] == HOLD)))


def main() -> None:
    """Register the oracle, and report."""
    diaghoi.ORACLES[false_hold.name] = false_hold

    rng = np.random.default_rng(0)
    annotations = simulate.annotations(200, rng)
    predictions = simulate.detect(annotations, simulate.ONE_STAGE, rng)
    diagnosis = diaghoi.diagnose(annotations, predictions, label="one-stage detector")

    print_report(diagnosis.to_dict(), Console(highlight=False))
    gain = percent(diagnosis.oracles["false_hold"]["delta_map"]["full"], signed=True)
    print(f"\n{false_hold.title} ({gain}): {false_hold.definition}")


if __name__ == "__main__":
    main()
