"""What a reader of a diagnosis has to know: everything missing is counted, named and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from diaghoi.data.protocol import Protocol
from diaghoi.exceptions import some_of

if TYPE_CHECKING:
    from diaghoi.diagnosis.diagnosis import Diagnosis

ONLY_INTERACTIONS = "the annotations contain no triplets of `no_interaction`"
"""How the note begins that says which classes the official means run over."""


def found_notes(diagnosis: Diagnosis) -> list[str]:
    """State in one sentence each what the data of a diagnosis say about its figures."""
    notes = []
    names = diagnosis.names
    unpredicted = names[diagnosis.annotated & ~diagnosis.predicted].tolist()
    if unpredicted:
        notes.append(
            f"{len(unpredicted)} annotated images are not in the prediction file; their "
            f"annotations count as not found: {some_of(unpredicted)}"
        )
    unannotated = names[diagnosis.predicted & ~diagnosis.annotated].tolist()
    if unannotated:
        notes.append(
            f"{len(unannotated)} predicted images are not in the annotation file; their "
            f"predictions are {_fate(diagnosis.protocol)}: {some_of(unannotated)}"
        )
    for side in ("annotated", "predicted"):
        unknown = getattr(diagnosis, f"unknown_{side}")
        if unknown:
            notes.append(
                f"{unknown} {side} triplets are left out because their object and verb form no HOI "
                f"class of {diagnosis.vocabulary.name}"
            )
    if diagnosis.pair_source == "triplets":
        notes.append("no pair file: the predicted pairs are those of the triplets")
    without = {
        "negatives": not diagnosis.negative_pairs.scored,
        "actions": not diagnosis.ledger.scores_actions,
    }
    undefined = [what for what, missing in without.items() if missing]
    if undefined:
        notes.append(f"the file has no action scores: {' and '.join(undefined)} are undefined")
    return notes + _no_interaction_notes(diagnosis)


def _no_interaction_notes(diagnosis: Diagnosis) -> list[str]:
    vocabulary = diagnosis.vocabulary
    if not vocabulary.benchmarks or vocabulary.interacting.all():
        return []
    if vocabulary.interacting[diagnosis.benchmark.annotation_class].all():
        return [
            f"{ONLY_INTERACTIONS}: the official means run over the "
            f"{int(vocabulary.interacting.sum())} classes of real interactions"
        ]
    if vocabulary.interacting[np.diff(diagnosis.benchmark.bounds) > 0].all():
        return [
            "the predictions contain no triplets of `no_interaction`: these classes count AP 0 in "
            "the official means"
        ]
    return []


def _fate(protocol: Protocol) -> str:
    """Say what becomes of predictions on images that are not annotated."""
    left_out = protocol.images_without_annotations == "left out" or protocol.pairing == "person"
    return "left out" if left_out else "false positives"
