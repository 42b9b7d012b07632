"""Scores by people for pairs of words, or pairs of interactions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diaghoi.data.arrays import FloatArray
from diaghoi.data.files import check_names, check_widths, number_in, read_rows
from diaghoi.exceptions import InputError, some_of
from diaghoi.language.words import plain
from diaghoi.semantic.tables.ratings import end_of_scale

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
