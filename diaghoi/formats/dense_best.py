"""The best triplets of images whose files score every verb of every pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import Array, IntArray
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.formats.checks import Rows, first_not_finite

TOP = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class Best:
    """The triplets that are kept, and the score of every pair.

    Parameters
    ----------
    pair, verb : (T,) int array
        Row of the pair, and verb, image by image, best first.
    score, action_score : (T,) float64 array
        Score of the triplet, and of its verb alone.
    pair_score : (P,) float64 array
        The highest score of a real verb of each pair.
    """

    pair: IntArray
    verb: IntArray
    score: Array
    action_score: Array
    pair_score: Array


def best_triplets(
    rows: Rows,
    parts: Iterable[tuple[Array, Array]],
    label: IntArray,
    vocabulary: Vocabulary,
    top: int,
) -> Best:
    """Find the ``top`` best valid triplets of each image, best first.

    Equal scores keep row-major order: pair by pair, verb by verb. Images are processed one by one,
    because the concatenated arrays would be a second copy of the whole file.

    Parameters
    ----------
    rows : Rows
        The pairs of all images.
    parts : iterable of two (pairs of the image, V) float arrays
        Scores of triplets and of verbs alone, image by image; the same array where there is one.
    label : (P,) int array
        Category of the object of each pair.
    vocabulary : Vocabulary
        The data set, with V verbs.
    top : int
        Triplets to keep.

    Raises
    ------
    InputError
        For a score of a triplet that is not finite.
    """
    verbs = len(vocabulary.verbs)
    valid = vocabulary.class_of >= 0
    real = np.flatnonzero(np.arange(verbs) != vocabulary.no_interaction)
    cells, found, found_actions, of_pairs = [], [], [], []
    for image, (start, (score, action)) in enumerate(zip(rows.start.tolist(), parts, strict=True)):
        check_dense_scores(score, image, rows)
        possible = np.flatnonzero(valid[label[start : start + len(score)]])
        chosen = possible[np.argsort(-score.reshape(-1)[possible], kind="stable")[:top]]
        cells.append(chosen + start * verbs)
        found.append(score.reshape(-1)[chosen])
        found_actions.append(action.reshape(-1)[chosen])
        of_pairs.append(score[:, real].max(axis=1))
    cell = _joined(cells, np.int64)
    return Best(
        pair=cell // verbs,
        verb=cell % verbs,
        score=_joined(found, np.float64),
        action_score=_joined(found_actions, np.float64),
        pair_score=_joined(of_pairs, np.float64),
    )


def check_dense_scores(part: Array, image: int, rows: Rows) -> None:
    """Check that the scores of all pairs of an image are finite.

    Raises
    ------
    InputError
        For the first that is not.
    """
    bad = first_not_finite(part)
    if bad >= 0:
        verb = int(np.argmax(~np.isfinite(part[bad])))
        raise rows.error(
            int(rows.start[image]) + bad,
            "",
            f"the score of verb {verb} is {part[bad, verb]}; give a finite number",
        )


def cut_note(what: str, top: int, asked: int | None) -> str:
    """Note how many triplets per image were kept of ``what``, and that fewer were asked for."""
    note = f"{what}, cut to the {top} best triplets of each image"
    if asked is None or asked == top:
        return note
    return f"{note}, the fewest that a reader keeps; the protocol cuts to {asked}"


def _joined(parts: list[Array], kind: type[np.generic]) -> Array:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind, copy=False)
