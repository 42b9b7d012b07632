"""Writing V-COCO predictions in the official layout."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray, place_in_group
from diaghoi.data.scenes import Scenes, filled_in
from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing
from diaghoi.formats.v_coco.keys import roles

_CHUNK = 4096


def write_v_coco(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the pickle of the official evaluator: one dict per pair or person.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Predictions. Every person box gets a dict; if a person has several predictions of the same
        class, the second goes to a second dict, and so on. Classes without a prediction get NaN,
        and missing role boxes zeros; what a ``CacheTemplate`` fills in is written. The format
        cannot store images without boxes, scores of boxes and pairs, and object categories.

    Raises
    ------
    InputError
        If the scenes are not predictions on V-COCO, an image has no number, or the file cannot be
        written.
    """
    known, source = roles(), scenes.source or "these scenes"
    if scenes.vocabulary.agents is None or scenes.vocabulary.name != "v-coco":
        raise InputError(
            f"{source}: are for {scenes.vocabulary.name}; the official V-COCO layout holds "
            "predictions on V-COCO"
        )
    if scenes.triplet_score is None:
        raise InputError(f"{source}: triplets have no scores; the layout holds predictions")
    bad = next((name for name in scenes.names.tolist() if not name.isdigit()), None)
    if bad is not None:
        raise InputError(f"{source}: image {bad!r} has no COCO number; the layout needs one")
    scenes, _ = filled_in(scenes)
    person, owner = _dicts(scenes)
    order = np.argsort(owner, kind="stable")
    stop = np.searchsorted(owner[order], np.arange(0, len(person) + _CHUNK, _CHUNK))
    dicts: list[dict[str, Any]] = []
    for n, start in enumerate(range(0, len(person), _CHUNK)):
        chosen = order[stop[n] : stop[n + 1]]
        boxes = person[start : start + _CHUNK]
        values = _values(scenes, chosen, owner[chosen] - start, len(boxes))
        images = [int(name) for name in scenes.names[scenes.box_image[boxes]].tolist()]
        columns = [images, scenes.box_xyxy[boxes].tolist(), *values]
        keys = ("image_id", "person_box", *known.keys)
        dicts += [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(dicts, stream, protocol=4)


def _dicts(scenes: Scenes) -> tuple[IntArray, IntArray]:
    """Return the person box of each dict, and the dict of each triplet."""
    classes = len(roles().keys)
    human = scenes.pair_human[scenes.triplet_pair].astype(np.int64)
    key = human * classes + scenes.triplet_verb
    order = np.argsort(key, kind="stable")
    again = np.empty(len(key), dtype=np.int64)
    again[order] = place_in_group(key[order])
    count = (scenes.box_label == scenes.vocabulary.person).astype(np.int64)
    count[scenes.pair_object[scenes.pair_object >= 0]] = 0
    count[scenes.pair_human] = 1
    np.maximum.at(count, human, again + 1)
    start = np.cumsum(count) - count
    return np.repeat(np.arange(len(count)), count), start[human] + again


def _values(scenes: Scenes, triplets: IntArray, row: IntArray, total: int) -> list[list[Any]]:
    """Return the values of each class for ``total`` dicts."""
    known = roles()
    verb = scenes.triplet_verb[triplets].astype(np.int64)
    score = scenes.scores[triplets]
    dense = np.full((len(known.keys), total, 5), np.nan)
    dense[verb, row, 4] = score
    object_box = scenes.pair_object[scenes.triplet_pair[triplets]]
    box = np.where(object_box[:, None] < 0, 0.0, scenes.box_xyxy[object_box])
    dense[verb, row, :4] = box
    agents = set(known.agents.tolist())
    return [
        dense[n, :, 4].tolist() if n in agents else dense[n].tolist()
        for n in range(len(known.keys))
    ]
