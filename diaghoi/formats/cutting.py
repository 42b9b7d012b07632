"""Keeping the best triplets of each image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError
from diaghoi.ragged import runs
from diaghoi.scenes import Scenes


def check_top(top: int | None) -> None:
    """Check a number of triplets an image.

    Raises
    ------
    InputError
        Where it is less than one.
    """
    if top is not None and top < 1:
        raise InputError(f"--top {top}: the number of triplets of an image must be at least 1")


def cut(scenes: Scenes, top: int) -> Scenes:
    """Keep the ``top`` best-scored triplets of each image; equal scores keep stored order.

    The triplets that stay keep their stored order. Pairs that no list of pairs contains go with
    their last triplet.

    Parameters
    ----------
    scenes : Scenes
        Predictions.
    top : int
        Triplets of each image.

    Returns
    -------
    Scenes
        The same object where nothing is dropped, else one with a note of how many were.
    """
    if scenes.triplet_score is None:
        return scenes
    image = scenes.triplet_image
    start, count = runs(image, np.arange(len(scenes)))
    if len(count) == 0 or count.max() <= top:
        return scenes
    order = np.lexsort((-scenes.triplet_score, image))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(start, count)
    kept = rank < top
    pairs = _needed(scenes, kept)
    place = np.cumsum(pairs) - 1
    dropped = len(kept) - int(kept.sum())
    note = f"{scenes.source}: {dropped} triplets below the top {top} of their image left out"
    action = scenes.triplet_action_score
    return replace(
        scenes,
        pair_human=scenes.pair_human[pairs],
        pair_object=scenes.pair_object[pairs],
        pair_score=None if scenes.pair_score is None else scenes.pair_score[pairs],
        triplet_pair=place[scenes.triplet_pair[kept]],
        triplet_verb=scenes.triplet_verb[kept],
        triplet_score=scenes.triplet_score[kept],
        triplet_action_score=None if action is None else action[kept],
        notes=(*scenes.notes, note),
    )


def _needed(scenes: Scenes, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mark the pairs that are listed or that a kept triplet mentions."""
    needed = np.zeros(len(scenes.pair_human), dtype=bool)
    if scenes.pair_score is not None:
        needed |= scenes.listed
    needed[scenes.triplet_pair[kept]] = True
    return needed
