"""Tables in which nothing is similar to anything else: what soft mAP is without similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from diaghoi.semantic.tables.similarity import FittedSimilarity, Similarity, fit

NOTHING = Similarity(names=(), values=np.empty((0, 0)), name="identity")


def exact(fitted: FittedSimilarity, words: Sequence[str]) -> FittedSimilarity:
    """Take away what a table adds: each word is similar to itself alone.

    Parameters
    ----------
    fitted : FittedSimilarity
        A table fitted to a data set, perhaps with free words after those of the data set.
    words : sequence of str
        The words of the data set.

    Returns
    -------
    FittedSimilarity
        Equal words of the data set have similarity 1, others 0. Free words keep a similarity of 1:
        that of the same word, or of a word with the annotated sense.
    """
    alone = fit(NOTHING, words)
    table, size = fitted.similarity, len(words)
    if len(table) == size:
        return alone
    from scipy.sparse import coo_array

    held, same = table.values.tocoo(), coo_array(alone.similarity.values)
    free = (held.col >= size) & (held.data == 1)
    places = [
        np.concatenate([own, others[free]])
        for own, others in ((same.row, held.row), (same.col, held.col))
    ]
    values = coo_array((np.ones(len(places[0])), tuple(places)), shape=table.values.shape).tocsr()
    # A table of free words is not symmetric, and of a class that does not check for it.
    return replace(fitted, similarity=replace(table, values=values, name=NOTHING.name))
