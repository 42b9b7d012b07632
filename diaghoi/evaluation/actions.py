"""Rank predictions on found pairs by action score (Diag-HOI paper, section 3.3)."""

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
    """Rank the predictions on localised pairs by action score within each verb, for each split.

    A localised pair has the label true_positive, action or duplicate. Only the action score
    determines the rank; detection scores play no part. The positives of a verb are its annotated
    triplets, except triplets whose image has predictions but whose pair no predicted triplet
    localises. A split counts the predictions and annotated triplets of its HOI classes (table 4:
    rare and non-rare).

    Parameters
    ----------
    ledger : Ledger
        Ledger of the protocol.
    vocabulary : Vocabulary
        Provides the verb of each HOI class.
    splits : mapping
        (C,) mask of the HOI classes of each split.
    verbs : range, optional
        Verbs to rank; all by default.
    ties : {"input", "triplet score"}
        How equal action scores in an image are ordered; see :class:`diaghoi.Protocol`.

    Returns
    -------
    dict of Evaluated
        Ranking of each split, in which verbs take the place of classes.
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
