"""Similarity tables of words, and their fit to the words of a data set."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.words import plain
from diaghoi.semantic.tables.ratings import Ratings, mean_scores, read_ratings, write_pairs

SYNSET = re.compile(r"(.+)\.[nvasr]\.[0-9]+")
"""Names of WordNet's senses: ``sit.v.01``."""
# Tables of more words are stored sparsely, by pairs above 0.
DENSE = 2_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarity:
    """Similarity between words; it is symmetric, and 1 between a word and itself.

    Parameters
    ----------
    names : tuple of str
        The N words.
    values : (N, N) float64 array, or sparse array of SciPy
        Values in [0, 1]; missing entries of a sparse array are 0.
    name : str
        Name of the table in results.
    source : str
        Origin: raters and file, or the method.
    notes : tuple of str
        Remarks for readers of results.
    zeros : (Z,) int array or None
        Pairs rated 0, encoded as ``first * N + second`` with ``first < second``. Other pairs of
        similarity 0 are not in the table. None if unknown.

    Raises
    ------
    InputError
        If the values are not square, symmetric, in [0, 1] and 1 on the diagonal.
    """

    names: tuple[str, ...]
    values: Any
    name: str
    source: str = ""
    notes: tuple[str, ...] = ()
    zeros: IntArray | None = None

    def __post_init__(self) -> None:
        size = len(self.names)
        if not self._sparse:
            object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64).view())
            self.values.flags.writeable = False
        if self.values.shape != (size, size):
            raise InputError(
                f"similarity '{self.name}': values of shape {self.values.shape} for {size} words; "
                f"give ({size}, {size})"
            )
        held = np.asarray(self.values.data if self._sparse else self.values)
        if not ((held >= 0) & (held <= 1)).all():
            raise InputError(f"similarity '{self.name}': values must lie in [0, 1]")
        uneven = self.values != self.values.T
        if uneven.sum() or (self.values.diagonal() != 1).any():
            raise InputError(
                f"similarity '{self.name}': values must be symmetric, and 1 on the diagonal"
            )

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Similarity {self.name}: {len(self)} words, {self.pairs:,} pairs above 0>"

    @property
    def _sparse(self) -> bool:
        return hasattr(self.values, "tocoo")

    @property
    def pairs(self) -> int:
        """Number of pairs of different words with a similarity above 0."""
        above = (self.values > 0).sum() - (self.values.diagonal() > 0).sum()
        return int(above) // 2

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Index of each word, normalised by :func:`diaghoi.language.words.plain`."""
        return {plain(name): number for number, name in enumerate(self.names)}

    @cached_property
    def _entries(self) -> tuple[IntArray, FloatArray]:
        """Key and value of each entry of a sparse table, in ascending order of keys."""
        held = self.values.tocoo()
        key = held.row.astype(np.int64) * len(self) + held.col
        order = np.argsort(key, kind="stable")
        return key[order], np.asarray(held.data, dtype=np.float64)[order]

    def at(self, first: IntArray, second: IntArray) -> FloatArray:
        """Look up the similarity of words by their (K,) indices in ``names``, pair by pair.

        Returns
        -------
        (K,) float64 array
        """
        if not self._sparse:
            return np.asarray(self.values[first, second])
        keys, values = self._entries
        wanted = np.asarray(first, dtype=np.int64) * len(self) + second
        if not len(keys):
            return np.zeros(wanted.shape)
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[found] == wanted, values[found], 0.0)

    def of(self, a: str, b: str) -> float:
        """Return the similarity of two words; spaces and underscores are equivalent.

        Raises
        ------
        InputError
            If the table does not have a word.
        """
        for word in (a, b):
            if plain(word) not in self.index_of:
                raise InputError(
                    f"similarity '{self.name}': does not have '{word}'"
                    f"{close_matches(plain(word), self.index_of)}"
                )
        one, other = (np.array([self.index_of[plain(word)]]) for word in (a, b))
        return float(self.at(one, other)[0])


class FreeWord(NamedTuple):
    """Interpretation of a free word of predictions.

    Parameters
    ----------
    number : int
        Index in the vocabulary.
    word : str
        The word.
    sense : str or None
        The sense, or the word of the table, that is closest to a word of the data set; None if the
        free word is similar to no word of the data set.
    closest : str or None
        The closest word of the data set.
    similarity : float
        Similarity to the closest word.
    known : bool
        Whether the word was understood: it has a sense in or near the table.
    """

    number: int
    word: str
    sense: str | None
    closest: str | None
    similarity: float
    known: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedSimilarity:
    """A table fitted to the words of a data set.

    Parameters
    ----------
    similarity : Similarity
        Similarity of the words of the data set, by their indices. A word that the table does not
        cover is similar only to itself.
    missing : tuple of str
        Words that the table lacks.
    ambiguous : tuple of str
        Words with several senses in the table.
    table : Similarity or None
        The table before fitting; None if free words are compared.
    rows : (N,) int array or None
        Row of each word in the table, or -1 for a word that the table lacks.
    free : tuple of FreeWord
        The free words of predictions.
    """

    similarity: Similarity
    missing: tuple[str, ...]
    ambiguous: tuple[str, ...] = ()
    table: Similarity | None = None
    rows: IntArray | None = None
    free: tuple[FreeWord, ...] = ()

    def in_table(self, first: IntArray, second: IntArray) -> list[bool | None]:
        """Check whether pairs of words, given by index, are in the table; None if not known."""
        if self.table is None or self.rows is None or self.table.zeros is None:
            return [None] * len(first)
        rows = np.sort(np.stack([self.rows[first], self.rows[second]]), axis=0)
        rated_0 = np.isin(rows[0] * np.int64(len(self.table)) + rows[1], self.table.zeros)
        listed = (rows[0] >= 0) & rated_0
        return list((listed | (self.similarity.at(first, second) > 0)).tolist())


def read_similarity(
    path: str | os.PathLike[str],
    *,
    scale: float | None = None,
    raters: Sequence[str] | None = None,
    name: str | None = None,
) -> Similarity:
    """Read a similarity table: the mean over its raters, symmetric, 1 on the diagonal.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.npz``: see :mod:`diaghoi.semantic.tables.ratings`.
    scale : float, optional
        Highest score of the scale in the file. By default 1 if no score exceeds 1, otherwise 4.
    raters : sequence of str, optional
        Columns to use; by default all.
    name : str, optional
        Name of the table; by default the name of the file.

    Raises
    ------
    InputError
        If the file cannot be used, or a rater is unknown.
    """
    return mean_similarity(read_ratings(path, scale=scale), raters=raters, name=name)


def mean_similarity(
    ratings: Ratings, *, raters: Sequence[str] | None = None, name: str | None = None
) -> Similarity:
    """Create a table of the mean over raters; unrated pairs have similarity 0.

    Raises
    ------
    InputError
        If a rater is unknown.
    """
    for rater in raters or ():
        if rater not in ratings.raters:
            raise InputError(
                f"{ratings.source}: has no rater '{rater}'{close_matches(rater, ratings.raters)}; "
                f"it has {', '.join(ratings.raters)}"
            )
    scores = ratings.scores
    if raters is not None:
        scores = scores[:, [ratings.raters.index(rater) for rater in raters]]
    mean, size = mean_scores(scores), len(ratings.names)
    similar = (ratings.first != ratings.second) & (mean > 0)
    one, other, value = ratings.first[similar], ratings.second[similar], mean[similar]
    # A pair that no rater scored counts as not listed.
    zero = (mean == 0) & (ratings.first != ratings.second) & ~np.isnan(scores).all(axis=1)
    zeros = ratings.first[zero] * np.int64(size) + ratings.second[zero]
    return Similarity(
        names=ratings.names,
        values=symmetric(size, one, other, value),
        name=name or ratings.stem,
        source=ratings.provenance,
        notes=ratings.notes,
        zeros=None if ratings.square else zeros,
    )


def symmetric(size: int, one: IntArray, other: IntArray, value: FloatArray) -> Any:
    """Create the (size, size) values of a table from pairs above 0; sparse if large."""
    if size <= DENSE:
        values = np.eye(size)
        values[one, other] = values[other, one] = value
        return values
    from scipy.sparse import coo_array

    each = np.arange(size)
    rows, columns = np.concatenate([one, other, each]), np.concatenate([other, one, each])
    return coo_array(
        (np.concatenate([value, value, np.ones(size)]), (rows, columns)), shape=(size, size)
    ).tocsr()


def write_similarity(path: str | os.PathLike[str], similarity: Similarity) -> None:
    """Write a table as ``.csv`` or ``.npz``; the file appears completely or not at all.

    Parameters
    ----------
    path : path
        A CSV file lists each pair of words with a similarity above 0 once, and each word with
        itself, so that no word is lost; the score column, in [0, 1], is named after the table.
    similarity : Similarity
        The table.

    Raises
    ------
    InputError
        If the suffix is unknown, or the file cannot be written.
    """
    one, other = (part.astype(np.int64) for part in similarity.values.nonzero())
    kept = one <= other
    one, other = one[kept], other[kept]
    write_pairs(path, similarity.names, one, other, similarity.at(one, other), (similarity.name,))


def fit(
    similarity: Similarity, words: Sequence[str], senses: Mapping[str, str] | None = None
) -> FittedSimilarity:
    """Fit a table to the words of a data set.

    Parameters
    ----------
    similarity : Similarity
        Table whose names are words, or senses like ``sit.v.01``.
    words : sequence of str
        Words in the order of their indices; words may repeat.
    senses : mapping, optional
        Name of each word in the table. A word that the table lacks has the sense of its lemma, if
        the table has exactly one sense of the lemma.
    """
    by_lemma: dict[str, list[int]] = {}
    for number, name in enumerate(similarity.names):
        sense = SYNSET.fullmatch(plain(name))
        if sense is not None:
            by_lemma.setdefault(sense.group(1), []).append(number)
    names = {plain(word): plain(sense) for word, sense in (senses or {}).items()}
    rows, missing, ambiguous = [], [], []
    for word in words:
        key = names.get(plain(word), plain(word))
        row = similarity.index_of.get(key, -1)
        if row < 0 and len(by_lemma.get(key, ())) == 1:
            row = by_lemma[key][0]
        elif row < 0:
            missing.append(word)
            ambiguous += [word] if key in by_lemma else []
        rows.append(row)
    row_of = np.array(rows, dtype=np.int64)
    return FittedSimilarity(
        similarity=Similarity(
            names=tuple(words),
            values=_selected(similarity, row_of, words),
            name=similarity.name,
            source=similarity.source,
            notes=similarity.notes,
        ),
        missing=tuple(missing),
        ambiguous=tuple(ambiguous),
        table=similarity,
        rows=row_of,
    )


def _selected(similarity: Similarity, rows: IntArray, words: Sequence[str]) -> Any:
    """Return the values of words, given table rows (-1: not covered); equal words are identical."""
    # Classes may share a word, such as "crane": they are identical even if not covered.
    number: dict[str, int] = {}
    same = np.array([number.setdefault(plain(word), len(number)) for word in words], dtype=np.int64)
    covered = np.flatnonzero(rows >= 0)
    if len(words) <= DENSE:
        values = (same[:, None] == same[None, :]).astype(np.float64)
        one, other = np.meshgrid(covered, covered, indexing="ij")
        found = similarity.at(rows[one.ravel()], rows[other.ravel()]).reshape(one.shape)
        values[one, other] = np.maximum(found, values[one, other])
        return values
    from scipy.sparse import coo_array, csr_array

    size = len(words)
    picks = coo_array((np.ones(len(covered)), (covered, rows[covered])), (size, len(similarity)))
    groups = coo_array((np.ones(size), (np.arange(size), same)), (size, len(number))).tocsr()
    values = csr_array(picks @ csr_array(similarity.values) @ picks.T)
    return values.maximum(groups @ groups.T)


NOTHING = Similarity(names=(), values=np.empty((0, 0)), name="identity")


def exact(fitted: FittedSimilarity, words: Sequence[str]) -> FittedSimilarity:
    """Remove the effect of a table, so that each word is similar only to itself.

    Equal words of the data set have similarity 1, and other pairs have similarity 0. Free words,
    which follow in the fitted table, keep a similarity of 1 to the same word or to a word with the
    annotated sense.
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
    # A table of free words is not symmetric, and its class does not check for symmetry.
    return replace(fitted, similarity=replace(table, values=values, name=NOTHING.name))


# Bins of the score distribution.
BINS = 5


def table_facts(
    ratings: Ratings,
    vocabularies: Mapping[str, Sequence[str]],
    senses: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Describe a table.

    Parameters
    ----------
    ratings : Ratings
        The table.
    vocabularies : mapping
        Word lists by name; each list is compared with the table.
    senses : mapping, optional
        Names of words in the table.

    Returns
    -------
    dict
        ``words``, ``pairs`` (number of pairs of two words), ``above_0`` (number of pairs above 0),
        ``scale``, ``one_sided`` (pairs in one order only), ``contradictions``, ``off_diagonal``,
        ``distribution`` (of the pairs' mean scores), ``raters`` (``name``, ``mean``, ``rated``),
        ``correlation`` (Pearson, of each pair of raters, None if undefined) and ``coverage`` (of
        each list).
    """
    distinct = ratings.first != ratings.second
    mean = mean_scores(ratings.scores)[distinct]
    scores = ratings.scores[distinct]
    edges = np.linspace(0, 1, BINS + 1)
    counts, _ = np.histogram(mean, edges)
    similarity = mean_similarity(ratings)
    coverage = {}
    for name, words in vocabularies.items():
        fitted = fit(similarity, words, senses)
        coverage[name] = {
            "words": len(words),
            "covered": len(words) - len(fitted.missing),
            "missing": list(fitted.missing),
            "ambiguous": list(fitted.ambiguous),
        }
    return {
        "name": ratings.stem,
        "words": len(ratings.names),
        "pairs": int(distinct.sum()),
        "above_0": int((mean > 0).sum()),
        "scale": ratings.scale,
        "one_sided": ratings.one_sided,
        "contradictions": ratings.contradictions,
        "off_diagonal": ratings.off_diagonal,
        "mean": float(mean.mean()) if len(mean) else None,
        "distribution": [
            {"from": float(low), "to": float(high), "pairs": int(count)}
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ],
        "raters": [
            {
                "name": rater,
                "rated": int((~np.isnan(column)).sum()),
                "mean": None if np.isnan(column).all() else float(np.nanmean(column)),
            }
            for rater, column in zip(ratings.raters, scores.T, strict=True)
        ],
        "correlation": _correlations(ratings.raters, scores),
        "coverage": coverage,
        "notes": list(ratings.notes),
    }


def _correlations(raters: Sequence[str], scores: FloatArray) -> list[dict[str, Any]]:
    """Compute the Pearson correlation of each pair of raters over pairs that both rated."""
    rows = []
    for one, other in combinations(range(len(raters)), 2):
        both = ~np.isnan(scores[:, [one, other]]).any(axis=1)
        row = {"raters": [raters[one], raters[other]], "pairs": int(both.sum())}
        rows.append(row | {"pearson": pearson(scores[both, one], scores[both, other])})
    return rows


def pearson(one: FloatArray, other: FloatArray) -> float | None:
    """Correlate two (P,) arrays; None if one of the arrays is constant."""
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # squares of tiny scores underflow to 0
        pearson = float(np.corrcoef(one, other)[0, 1])
    return pearson if pearson == pearson else None
