"""Collect the cases of the page: images with their annotations and each detector's predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from diaghoi.cases.cases import MISSED
from diaghoi.comparison.transitions import FATES
from diaghoi.data.arrays import FloatArray, IntArray, place_in_group
from diaghoi.evaluation.errors import LABELS
from diaghoi.report.html.models import AlignedModel, PageModel

OF_CELL = 6
"""Number of images to choose per cell of the transition matrix, before choosing by class."""


def case_data(
    models: Sequence[AlignedModel | None], place: IntArray, images: int | None
) -> dict[str, Any] | None:
    """Collect images with their boxes.

    Parameters
    ----------
    models : sequence of AlignedModel or None
        The detectors; detectors without boxes contribute nothing.
    place : (C,) int array
        Row of each HOI class in the table; -1 for a class that is not in it.
    images : int or None
        Number of images, starting with the most informative cases; None for all.

    Returns
    -------
    dict or None
        Columns of plain values; None if no detector has boxes:

        - ``images``: ``image`` (index among all images), ``width`` and ``height`` (0 if unknown);
        - ``boxes``: left, top, right, bottom in pixels, box after box;
        - ``annotated``: ``image`` (index into ``images``), ``triplet`` (index among all annotated
          triplets), ``human`` and ``object`` (indices of boxes, -1 for none);
        - ``models``: for each detector, ``image``, ``human``, ``object``, ``class`` (row of the
          table), ``label`` (index of the label), ``score``, ``annotated`` (index into
          ``annotated``, -1 for none), ``attempts`` (like ``annotated``, but on found pairs;
          determines ``fates``), ``row`` (of the ledger), ``sentences`` by index, and ``missed``
          (sentences by index into ``annotated``); None for a detector without boxes.
    """
    drawn = [
        (each, each.model.shown)
        for each in models
        if each is not None and each.model.shown is not None
    ]
    if not drawn:
        return None
    first, shown = drawn[0]
    # Annotated boxes and image sizes are taken from the first detector that has boxes.
    number = np.argsort(first.image)
    every = len(number)
    chosen = telling_images([each for each, _ in drawn])
    chosen = np.concatenate([chosen, np.setdiff1d(np.arange(every), chosen)])[:images]
    position = np.full(every, -1)
    position[chosen] = np.arange(len(chosen))
    boxes = _Boxes()
    triplets = np.flatnonzero(position[first.fates.annotation_image] >= 0)
    meant = np.full(len(first.fates.annotation) + 1, -1)
    meant[triplets] = np.arange(len(triplets))
    sizes = shown.sizes[number[chosen]]
    return {
        "images": {
            "image": chosen.tolist(),
            "width": sizes[:, 0].tolist(),
            "height": sizes[:, 1].tolist(),
        },
        "annotated": {
            "image": position[first.fates.annotation_image[triplets]].tolist(),
            "triplet": triplets.tolist(),
            **boxes.add(shown.annotated[first.fates.annotation[triplets]]),
        },
        "models": [
            None if each is None else _predictions(each, place, position, meant, boxes)
            for each in models
        ],
        "boxes": boxes.values(),
    }


def _predictions(
    model: AlignedModel, place: IntArray, position: IntArray, meant: IntArray, boxes: _Boxes
) -> dict[str, Any] | None:
    ledger, shown = model.diagnosis.ledger, model.model.shown
    if shown is None:
        return None
    at = position[model.image[ledger.row_image[shown.rows]]]
    kept = at >= 0
    rows, at = shown.rows[kept], at[kept]
    sentences = {
        row: text
        for error, found in shown.sentences.items()
        if error != MISSED
        for row, text in found.items()
    }
    described = np.flatnonzero(np.isin(rows, list(sentences))).tolist()
    missed = {
        int(meant[model.triplet[row]]): text
        for row, text in shown.sentences.get(MISSED, {}).items()
    }
    scores = ledger.row_score[rows].tolist() if model.diagnosis.answers is None else None
    return {
        "image": at.tolist(),
        "class": place[ledger.row_class[rows]].tolist(),
        "label": ledger.row_label[rows].tolist(),
        "score": None if scores is None else [float(f"{score:.3g}") for score in scores],
        "annotated": meant[model.triplet[ledger.row_annotation[rows]]].tolist(),
        "attempts": meant[model.triplet[ledger.row_attempt[rows]]].tolist(),
        "row": rows.tolist(),
        **boxes.add(shown.boxes[kept]),
        "sentences": {str(number): sentences[int(rows[number])] for number in described},
        "missed": {str(at): text for at, text in missed.items() if at >= 0},
    }


def telling_images(models: Sequence[AlignedModel]) -> IntArray:
    """Choose images by their cases, most informative first.

    First come the images with each detector's worst cases of each error, then some images for each
    change of fate between two detectors, then the images with the most confident error of each kind
    in each class.
    """
    found = list(_of_sentences(models))
    first = models[0].fates
    for other in models[1:]:
        cell = first.fate.astype(np.int64) * len(FATES) + other.fates.fate
        order = np.argsort(cell, kind="stable")
        order = order[first.fate[order] != other.fates.fate[order]]
        rank = place_in_group(cell[order])
        few = order[rank < OF_CELL]
        found.append(first.annotation_image[few[np.argsort(rank[rank < OF_CELL], kind="stable")]])
    best, score = [], []
    for model in models:
        if model.model.shown is None:
            continue
        ledger, rows = model.diagnosis.ledger, model.model.shown.rows
        kind = ledger.row_class[rows].astype(np.int64) * len(LABELS) + ledger.row_label[rows]
        order = np.lexsort((-ledger.row_score[rows], kind))
        rows = rows[order[place_in_group(kind[order]) == 0]]
        best.append(model.image[ledger.row_image[rows]])
        score.append(ledger.row_score[rows])
    found.append(np.concatenate(best)[np.argsort(-np.concatenate(score), kind="stable")])
    return _distinct(np.concatenate(found))


def _of_sentences(models: Sequence[AlignedModel]) -> Iterator[IntArray]:
    """Yield the images of cases with sentences: each error's worst case, then its second, ..."""
    columns = []
    for model in models:
        if model.model.shown is None:
            continue
        ledger = model.diagnosis.ledger
        for error, rows in model.model.shown.sentences.items():
            of = ledger.annotation_image if error == MISSED else ledger.row_image
            columns.append(model.image[of[np.array(list(rows), dtype=np.int64)]])
    for rank in range(max(map(len, columns), default=0)):
        yield np.array([column[rank] for column in columns if rank < len(column)], dtype=np.int64)


def _distinct(values: IntArray) -> IntArray:
    """Drop repeated values, keeping the order of first occurrences."""
    _, first = np.unique(values, return_index=True)
    return np.asarray(values[np.sort(first)])


class _Boxes:
    """Collection that stores each distinct box once."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, ...], int] = {}

    def add(self, boxes: FloatArray) -> dict[str, list[int]]:
        """Add boxes; return the indices of human and object boxes, -1 if a box cannot be drawn."""
        ends = np.stack([boxes[..., :2], boxes[..., 2:]])
        ordered = np.concatenate([ends.min(axis=0), ends.max(axis=0)], axis=-1)
        usable = np.isfinite(ordered).all(axis=-1)
        whole = np.rint(np.clip(np.nan_to_num(ordered), -1e6, 1e6)).astype(np.int64)
        found: dict[str, list[int]] = {}
        for role, name in enumerate(("human", "object")):
            column = []
            for box, known in zip(whole[:, role].tolist(), usable[:, role].tolist(), strict=True):
                place = self._places.setdefault(tuple(box), len(self._places)) if known else -1
                column.append(place)
            found[name] = column
        return found

    def values(self) -> list[int]:
        """Return all boxes, concatenated."""
        return [value for box in self._places for value in box]


def image_names(models: Sequence[PageModel], images: Sequence[int]) -> list[str]:
    """Return the names of images as written in the files."""
    known = next(each.diagnosis for each in models if each.diagnosis is not None)
    names: list[str] = known.names[list(images)].tolist()
    return names
