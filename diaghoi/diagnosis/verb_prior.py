"""Count how often each verb is annotated, per object category or over all categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratios
from diaghoi.data.scenes import Scenes


@dataclass(frozen=True, kw_only=True, eq=False)
class VerbPrior:
    """P(verb | object category): the share of annotated pairs of the category that have the verb.

    Parameters
    ----------
    by_object : bool
        Whether categories are counted separately; if not, all pairs count as pairs of the first
        category.
    triplets : (objects + 1, verbs) int array
        Number of annotated pairs of each category with each verb; the last row is for pairs without
        an object.
    pairs : (objects + 1,) int array
        Annotated pairs of each category.
    image_triplets, image_pairs : tuple of (K,) int array
        Counts of individual images: sorted keys, and how often each occurs. Keys are ``(image *
        rows + row) * verbs + verb`` for triplets, and ``image * rows + row`` for pairs.
    """

    by_object: bool
    triplets: IntArray
    pairs: IntArray
    image_triplets: tuple[IntArray, IntArray]
    image_pairs: tuple[IntArray, IntArray]

    def probability(self, category: IntArray, verb: IntArray, without: IntArray) -> FloatArray:
        """Return P(verb | category), 0 for a category without annotated pairs.

        Parameters
        ----------
        category, verb : (N,) int array
            Object category (-1 for no object), and verb.
        without : (N,) int array
            Annotated image to omit; -1 for none.

        Returns
        -------
        (N,) float64 array
        """
        rows, verbs = self.triplets.shape
        row = np.where(category < 0, rows - 1, category).astype(np.int64) * self.by_object
        key = np.where(without < 0, -1, without * rows + row)
        own_pairs = _looked_up(self.image_pairs, key)
        own = _looked_up(self.image_triplets, np.where(key < 0, -1, key * verbs + verb))
        return ratios(self.triplets[row, verb] - own, self.pairs[row] - own_pairs, undefined=0.0)


def verb_prior(annotations: Scenes, counted: BoolArray, *, by_object: bool = True) -> VerbPrior:
    """Count how often each verb is annotated.

    Parameters
    ----------
    annotations : Scenes
        Annotated images.
    counted : (C,) bool array
        HOI classes that count. Pairs without a triplet of these classes are not counted.
    by_object : bool
        Whether to count the pairs of each object category separately, instead of the pairs of all
        categories together.
    """
    words = annotations.vocabulary
    rows, verbs = len(words.objects) + 1, len(words.verbs)
    kept = np.flatnonzero(np.append(counted, False)[annotations.triplet_class])
    triplet = annotations.triplet_pair[kept].astype(np.int64) * verbs
    pair, verb = np.divmod(np.unique(triplet + annotations.triplet_verb[kept]), verbs)
    label = annotations.pair_label
    row = np.where(label < 0, rows - 1, label).astype(np.int64) * by_object
    of_image = annotations.pair_image * np.int64(rows) + row
    own = np.unique(pair)
    triplets = np.bincount(row[pair] * verbs + verb, minlength=rows * verbs).reshape(rows, verbs)
    pairs = np.bincount(row[own], minlength=rows)
    return VerbPrior(
        by_object=by_object,
        triplets=triplets,
        pairs=pairs,
        image_triplets=np.unique(of_image[pair] * verbs + verb, return_counts=True),
        image_pairs=np.unique(of_image[own], return_counts=True),
    )


def _looked_up(table: tuple[IntArray, IntArray], wanted: IntArray) -> IntArray:
    """Return the count of each key, 0 for keys missing from the table."""
    keys, counts = (np.append(column, end) for column, end in zip(table, (-1, 0), strict=True))
    # The appended key is out of order, but the search runs in the keys without the appended key.
    place = np.searchsorted(table[0], wanted)
    return np.where(keys[place] == wanted, counts[place], 0)
