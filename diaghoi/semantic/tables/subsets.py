"""Agreement of every subset of raters with people (supplement, table 1)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.exceptions import InputError, some_of
from diaghoi.language.words import plain
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.tables.agreement import closeness
from diaghoi.semantic.tables.csv_rows import check_names, check_widths, number_in, read_rows
from diaghoi.semantic.tables.ratings import Ratings, end_of_scale
from diaghoi.semantic.tables.similarity import mean_similarity

MOST_RATERS = 12
# Columns of two words, and of two interactions (verb, object, verb, object), by their headers.
WORDS = (("a", "b"),)
INTERACTIONS = (
    ("verb_a", "object_a", "verb_b", "object_b"),
    ("gt_verb_synset", "gt_object_synset", "pred_verb_synset", "pred_object_synset"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanScores:
    """Scores by people for pairs of words, or pairs of interactions.

    Parameters
    ----------
    words : tuple of tuple of str
        Two words, or verb, object, verb and object, of each of the P pairs.
    mean : (P,) float64 array
        Mean over the people, in [0, 1].
    of_interactions : bool
        Whether the pairs are interactions.
    source : str
        The file.
    notes : tuple of str
        How the file was read.
    """

    words: tuple[tuple[str, ...], ...]
    mean: FloatArray
    of_interactions: bool
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Ablation:
    """Agreement of every subset of raters with people.

    Parameters
    ----------
    raters : tuple of str
        All raters.
    subsets : tuple of tuple of int
        Raters of each of the S subsets, by size.
    agreement : (S,) float64 array
        Agreement with the mean of the people, by
        :func:`diaghoi.semantic.tables.agreement.closeness`.
    pairs : int
        Number of compared pairs.
    missing : tuple of str
        Words that a table does not have; their pairs count as not similar.
    notes : tuple of str
        How the files were read.
    """

    raters: tuple[str, ...]
    subsets: tuple[tuple[int, ...], ...]
    agreement: FloatArray
    pairs: int
    missing: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values: ``subsets``, ``sizes`` (mean and sample deviation), ``pairs``, notes."""
        notes = list(self.notes)
        if self.missing:
            notes.append(
                f"{len(self.missing)} words are not in the tables; their pairs count as not "
                f"similar: {some_of(self.missing)}"
            )
        sizes = []
        for size in range(1, len(self.raters) + 1):
            of_size = [len(subset) == size for subset in self.subsets]
            found = self.agreement[of_size]
            sizes.append(
                {
                    "size": size,
                    "mean": float(found.mean()),
                    "deviation": float(found.std(ddof=1)) if len(found) > 1 else None,
                }
            )
        return {
            "raters": list(self.raters),
            "pairs": self.pairs,
            "missing": list(self.missing),
            "subsets": [
                {"raters": [self.raters[n] for n in subset], "agreement": float(value)}
                for subset, value in zip(self.subsets, self.agreement, strict=True)
            ],
            "sizes": sizes,
            "notes": notes,
        }


def rater_subsets(
    human: HumanScores,
    verbs: Ratings,
    objects: Ratings | None = None,
    *,
    measure: Measure | None = None,
) -> Ablation:
    """Compare every subset of raters with people.

    Parameters
    ----------
    human : HumanScores
        Scores by people.
    verbs : Ratings
        Table of the words; of the verbs where people compared interactions.
    objects : Ratings, optional
        Table of the objects, by the same raters.
    measure : Measure, optional
        How verb and object are combined.

    Raises
    ------
    InputError
        For too many raters, tables by different raters, or a missing table.
    """
    if human.of_interactions and objects is None:
        raise InputError(
            f"{human.source}: compares interactions; give the table of objects with --objects"
        )
    raters = verbs.raters
    if objects is not None and set(objects.raters) != set(raters):
        raise InputError(
            f"{verbs.source} is rated by {', '.join(raters)}, {objects.source} by "
            f"{', '.join(objects.raters)}; give tables by the same raters"
        )
    if len(raters) > MOST_RATERS:
        raise InputError(
            f"{verbs.source}: {len(raters)} raters have {2 ** len(raters) - 1:,} subsets; give at "
            f"most {MOST_RATERS}"
        )
    measure = Measure() if measure is None else measure
    subsets = [
        subset
        for size in range(1, len(raters) + 1)
        for subset in combinations(range(len(raters)), size)
    ]
    found: list[float] = []
    missing: dict[str, None] = {}
    for subset in subsets:
        chosen = [raters[rater] for rater in subset]
        sigma, lacking = _sigma(human, verbs, objects, chosen, measure)
        found.append(closeness(sigma, human.mean, 1.0))
        missing |= dict.fromkeys(lacking)
    return Ablation(
        raters=raters,
        subsets=tuple(subsets),
        agreement=np.array(found),
        pairs=len(human.mean),
        missing=tuple(missing),
        notes=human.notes + verbs.notes + (() if objects is None else objects.notes),
    )


def _sigma(
    human: HumanScores,
    verbs: Ratings,
    objects: Ratings | None,
    raters: Sequence[str],
    measure: Measure,
) -> tuple[FloatArray, list[str]]:
    columns = list(zip(*human.words, strict=True))
    if not human.of_interactions or objects is None:
        return _looked_up(verbs, raters, columns[0], columns[1])
    by_verb, lacking = _looked_up(verbs, raters, columns[0], columns[2])
    by_object, more = _looked_up(objects, raters, columns[1], columns[3])
    return measure.sigma(by_verb, by_object), lacking + more


def _looked_up(
    table: Ratings, raters: Sequence[str], one: Sequence[str], other: Sequence[str]
) -> tuple[FloatArray, list[str]]:
    """Similarity of words pair by pair; equal words are identical even if missing."""
    similarity = mean_similarity(table, raters=raters)
    rows = [[similarity.index_of.get(word, -1) for word in words] for words in (one, other)]
    first, second = (np.array(row, dtype=np.int64) for row in rows)
    # A pair with a missing word counts as not similar, unless both words are the same.
    value = np.array([a == b for a, b in zip(one, other, strict=True)], dtype=np.float64)
    held = (first >= 0) & (second >= 0)
    value[held] = similarity.at(first[held], second[held])
    return value, [word for word in (*one, *other) if word not in similarity.index_of]


def read_human_scores(path: str | os.PathLike[str], *, scale: float | None = None) -> HumanScores:
    """Read scores by people.

    Parameters
    ----------
    path : path
        CSV with the columns ``a`` and ``b``, or ``verb_a``, ``object_a``, ``verb_b`` and
        ``object_b`` (also in the names of SHOE's user study), followed by one column of scores per
        person, or one ``similarity_level``. Other columns of SHOE's study are skipped.
    scale : float, optional
        Highest score; by default 1 where no score is higher, else 4.

    Raises
    ------
    InputError
        For a file that cannot be used.
    """
    path = Path(path)
    rows = read_rows(path, "a header and one pair per row")
    if len(rows) < 2:
        raise InputError(f"{path}: no ratings; give a header and one pair per row")
    head = rows[0][1]
    named = next((names for names in (*INTERACTIONS, *WORDS) if set(names) <= set(head)), None)
    if named is None:
        raise InputError(
            f"{path}: the columns are {some_of(head, 8)}; give a and b, or verb_a, object_a, "
            "verb_b and object_b, and one column of scores per person"
        )
    check_widths(path, rows)
    place = {name: head.index(name) for name in head}
    last = max(place[name] for name in named)
    people = (
        ["similarity_level"] if "similarity_level" in head else list(filter(None, head[last + 1 :]))
    )
    if not people:
        raise InputError(f"{path}: no column of scores after {named[-1]}")
    check_names(path, [name for name in head if name in (*named, *people)], "people")
    words, scores = [], []
    for line, row in rows[1:]:
        empty = next((name for name in named if not row[place[name]]), None)
        if empty is not None:
            raise InputError(f"{path}: line {line}: column '{empty}' is empty; give a word")
        words.append(tuple(plain(row[place[name]]) for name in named))
        given = [number_in(path, line, who, row[place[who]]) for who in people]
        if np.isnan(given).all():
            raise InputError(f"{path}: line {line}: nobody gave a score; leave the row out")
        scores.append(given)
    lowest, highest = float(np.nanmin(scores)), float(np.nanmax(scores))
    end = end_of_scale(highest, scale)
    if end is None or highest > end or lowest < 0:
        raise InputError(
            f"{path}: scores from {lowest:g} to {highest:g}; give the end of the scale with "
            "--human-scale"
        )
    guessed = f"{path.name}: read as scores from 0 to {end:g} (else give --human-scale)"
    return HumanScores(
        words=tuple(words),
        mean=np.nanmean(scores, axis=1) / end,
        of_interactions=len(named) > 2,
        source=path.name,
        notes=(guessed,) if scale is None else (),
    )
