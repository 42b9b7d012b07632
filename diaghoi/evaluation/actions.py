"""How well a detector names the action of pairs it has found (Diag-HOI paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from diaghoi.data.arrays import BoolArray, ranking
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.evaluation.average_precision import Evaluated
from diaghoi.evaluation.errors import ACTION, DUPLICATE, TRUE_POSITIVE
from diaghoi.evaluation.ledger import Ledger


def action_rankings(
    ledger: Ledger,
    vocabulary: Vocabulary,
    splits: Mapping[str, BoolArray],
    verbs: range | None = None,
    ties: Literal["input", "triplet score"] = "input",
) -> dict[str, Evaluated]:
    """Rank the predictions whose pair is localised by verb and action score, by split.

    These are the predictions labelled true_positive, action or duplicate, ranked by the action
    score, so that detection scores play no part. The positives of a verb are its annotated
    triplets, less those, in images that have predictions, whose pair no predicted triplet
    localises. In a split only the predictions and annotated triplets of its HOI classes count
    (table 4 of the paper: rare and non-rare).

    Parameters
    ----------
    ledger : Ledger
        Of the protocol.
    vocabulary : Vocabulary
        Gives the verb of each HOI class.
    splits : mapping
        (C,) mask of the HOI classes of each split.
    verbs : range, optional
        Rank predictions of these verbs alone; by default of all.
    ties : {"input", "triplet score"}
        The order of equal action scores of an image; see :class:`diaghoi.Protocol`.

    Returns
    -------
    dict of Evaluated
        For each split; its classes are the verbs.
    """
    verbs = range(len(vocabulary.verbs)) if verbs is None else verbs
    classes = np.flatnonzero(
        (vocabulary.class_verb >= verbs.start) & (vocabulary.class_verb < verbs.stop)
    )
    rows = ledger.labelled(classes, (TRUE_POSITIVE, ACTION, DUPLICATE))
    if ties == "triplet score":
        by_input = np.lexsort((rows.row_input, -rows.row_score, rows.row_image))
    else:
        by_input = np.argsort(rows.row_input)
    verb = vocabulary.class_verb[rows.row_class]
    order = by_input[ranking(verb[by_input], rows.row_action_score[by_input])]
    hoi, image, true = rows.row_class[order], rows.row_image[order], rows.true[order]
    reachable = np.flatnonzero(ledger.annotation_counts & ledger.annotation_reachable)
    rankings = {}
    for split, members in splits.items():
        # A part of a ranking is ranked.
        ranked = members[hoi]
        annotated = reachable[members[ledger.annotation_class[reachable]]]
        rankings[split] = Evaluated(
            vocabulary.class_verb[hoi[ranked]],
            true[ranked],
            image[ranked],
            vocabulary.class_verb[ledger.annotation_class[annotated]],
            ledger.annotation_image[annotated],
        )
    return rankings
