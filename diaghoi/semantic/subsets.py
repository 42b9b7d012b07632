"""Which raters an ensemble needs: agreement of every subset with people (supplement, table 1)."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError, some_of
from diaghoi.semantic.agreement import closeness
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.ratings import SCALES, Ratings, plain
from diaghoi.semantic.similarity import mean_similarity

FloatArray = npt.NDArray[np.float64]

MOST_RATERS = 12
# Columns of two words, and of two interactions (verb, object, verb, object), by their headers.
WORDS = (("a", "b"),)
INTERACTIONS = (
    ("verb_a", "object_a", "verb_b", "object_b"),
    ("gt_verb_synset", "gt_object_synset", "pred_verb_synset", "pred_object_synset"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Judgements:
    """What people said of pairs of words, or of pairs of interactions.

    Parameters
    ----------
    words : tuple of tuple of str
        Two words, or verb, object, verb and object, of each of the P pairs.
    mean : (P,) float64 array
        Mean over the people, in [0, 1].
    of_interactions : bool
        Whether interactions are compared.
    source : str
        The file.
    """

    words: tuple[tuple[str, ...], ...]
    mean: FloatArray
    of_interactions: bool
    source: str


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
        With the mean of the people: see :func:`diaghoi.semantic.agreement.closeness`.
    pairs : int
        Pairs that were compared.
    missing : tuple of str
        Words that a table does not have; their pairs count as not similar.
    """

    raters: tuple[str, ...]
    subsets: tuple[tuple[int, ...], ...]
    agreement: FloatArray
    pairs: int
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values: ``subsets``, ``sizes`` (mean and sample deviation), ``pairs``."""
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
        }


def rater_subsets(
    judgements: Judgements,
    verbs: Ratings,
    objects: Ratings | None = None,
    *,
    measure: Measure | None = None,
) -> Ablation:
    """Compare every subset of raters with people.

    Parameters
    ----------
    judgements : Judgements
        What people said.
    verbs : Ratings
        Table of the words; of the verbs where people compared interactions.
    objects : Ratings, optional
        Table of the objects, by the same raters.
    measure : Measure, optional
        How verb and object are combined.

    Raises
    ------
    InputError
        For too many raters, tables by different ones, or a table that is missing.
    """
    if judgements.of_interactions and objects is None:
        raise InputError(
            f"{judgements.source}: compares interactions; give the table of objects with --objects"
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
        sigma, lacking = _sigma(judgements, verbs, objects, chosen, measure)
        found.append(closeness(sigma, judgements.mean, 1.0))
        missing |= dict.fromkeys(lacking)
    return Ablation(
        raters=raters,
        subsets=tuple(subsets),
        agreement=np.array(found),
        pairs=len(judgements.mean),
        missing=tuple(missing),
    )


def _sigma(
    judgements: Judgements,
    verbs: Ratings,
    objects: Ratings | None,
    raters: Sequence[str],
    measure: Measure,
) -> tuple[FloatArray, list[str]]:
    columns = list(zip(*judgements.words, strict=True))
    if not judgements.of_interactions or objects is None:
        return _looked_up(verbs, raters, columns[0], columns[1])
    by_verb, lacking = _looked_up(verbs, raters, columns[0], columns[2])
    by_object, more = _looked_up(objects, raters, columns[1], columns[3])
    return measure.sigma(by_verb, by_object), lacking + more


def _looked_up(
    table: Ratings, raters: Sequence[str], one: Sequence[str], other: Sequence[str]
) -> tuple[FloatArray, list[str]]:
    """Similarity of words pair by pair; equal words are identical also where they are missing."""
    similarity = mean_similarity(table, raters=raters)
    rows = [[similarity.place.get(word, -1) for word in words] for words in (one, other)]
    first, second = (np.array(row, dtype=np.int64) for row in rows)
    value = np.array([a == b for a, b in zip(one, other, strict=True)], dtype=np.float64)
    held = (first >= 0) & (second >= 0)
    value[held] = similarity.at(first[held], second[held])
    return value, [word for word in (*one, *other) if word not in similarity.place]


def read_judgements(path: str | os.PathLike[str], *, scale: float | None = None) -> Judgements:
    """Read what people said.

    Parameters
    ----------
    path : path
        CSV with the columns ``a`` and ``b``, or ``verb_a``, ``object_a``, ``verb_b`` and
        ``object_b`` (also in the names of SHOE's user study), and after them one column of scores a
        person, or one ``similarity_level``. Other columns of SHOE's study are passed over.
    scale : float, optional
        Highest score; by default 1 where no score is higher, else 4.

    Raises
    ------
    InputError
        For a file that cannot be used.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error})") from None
    if not rows:
        raise InputError(f"{path}: no ratings; give a header and one pair a row")
    head = [name for name in rows[0] if name is not None]
    named = next((names for names in (*INTERACTIONS, *WORDS) if set(names) <= set(head)), None)
    if named is None:
        raise InputError(
            f"{path}: the columns are {some_of(head, 8)}; give a and b, or verb_a, object_a, "
            "verb_b and object_b, and one column of scores a person"
        )
    people = ["similarity_level"] if "similarity_level" in head else _after(head, named)
    if not people:
        raise InputError(f"{path}: no column of scores after {named[-1]}")
    scores = np.array([[_score(path, n, row, who) for who in people] for n, row in enumerate(rows)])
    silent = np.flatnonzero(np.isnan(scores).all(axis=1))
    if len(silent):
        raise InputError(f"{path}: line {silent[0] + 2}: nobody gave a score; leave the row out")
    highest = float(np.nanmax(scores))
    scale = scale or next((each for each in SCALES if highest <= each), None)
    if scale is None or highest > scale or np.nanmin(scores) < 0:
        raise InputError(
            f"{path}: scores from {np.nanmin(scores):g} to {highest:g}; give the end of the scale "
            "with --scale"
        )
    return Judgements(
        words=tuple(tuple(plain(row[name] or "") for name in named) for row in rows),
        mean=np.nanmean(scores, axis=1) / scale,
        of_interactions=len(named) > 2,
        source=path.name,
    )


def _after(head: Sequence[str], named: Sequence[str]) -> list[str]:
    last = max(head.index(name) for name in named)
    return list(head[last + 1 :])


def _score(path: Path, row: int, cells: dict[str, Any], who: str) -> float:
    text = (cells[who] or "").strip()
    try:
        score = float(text) if text else np.nan
    except ValueError:
        score = np.inf
    if np.isinf(score):
        raise InputError(f"{path}: line {row + 2}, column '{who}': {text!r:.40} is not a number")
    return score
