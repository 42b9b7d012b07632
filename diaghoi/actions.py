"""How well a detector names the action of pairs it has found (Diag-HOI paper, section 3.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diaghoi.errors import ACTION, DUPLICATE, TRUE_POSITIVE
from diaghoi.ledger import ClassScores, Ledger, average_precision
from diaghoi.protocol import Protocol
from diaghoi.ranking import ranking
from diaghoi.vocabulary import Vocabulary


def action_scores(
    ledger: Ledger,
    vocabulary: Vocabulary,
    protocol: Protocol,
    predicted_image: npt.NDArray[np.bool_],
) -> ClassScores:
    """Average precision of each verb over the predictions whose pair is localised.

    These are the predictions labelled true_positive, action or duplicate, ranked by the action
    score, so that detection scores play no part. The number of positives of a verb is the number of
    its annotated triplets, less those, in images that have predictions, whose pair no predicted
    triplet localises.

    Parameters
    ----------
    ledger : Ledger
        Of the protocol.
    vocabulary : Vocabulary
        Gives the verb of each HOI class.
    protocol : Protocol
        How average precision is taken.
    predicted_image : (N,) bool array
        Images that have predictions.
    """
    rows = ledger.rows(np.isin(ledger.row_label, (TRUE_POSITIVE, ACTION, DUPLICATE)))
    by_input = np.argsort(rows.row_input)
    verb = vocabulary.class_verb[rows.row_class]
    order = by_input[ranking(verb[by_input], rows.row_action_score[by_input])]
    reachable = ledger.annotation_counts & (
        ledger.annotation_localised | ~predicted_image[ledger.annotation_image]
    )
    positives = np.bincount(
        vocabulary.class_verb[ledger.annotation_class[reachable]],
        minlength=len(vocabulary.verbs),
    )
    return average_precision(verb[order], rows.true[order], positives, protocol.levels)
