"""Collect a detector's page data while its predictions are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diaghoi.cases.cases import ERRORS, MISSED, cases_at, check_single, worst_rows
from diaghoi.cases.similarities import Similarities
from diaghoi.comparison.transitions import Fates, fates
from diaghoi.data.arrays import FloatArray, IntArray, place_in_group, ranking
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.alignment import check_same_annotations, image_numbers
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.tables import Columns

SHOWN = 20
"""Maximum number of predictions per image on the page, highest scores first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownTriplets:
    """Predictions and annotated triplets with their boxes, for drawings.

    Parameters
    ----------
    rows : (K,) int array
        Rows of the ledger, image by image: the best predictions, all true positives, and the
        predictions with sentences.
    boxes : (K, 2, 4) float array
        Human and object box of each prediction; NaN for no box.
    annotated : (A, 2, 4) float array
        Human and object box of each annotated triplet.
    sizes : (N, 2) int array
        Width and height of the images; 0 if unknown.
    sentences : dict of str to dict of int to str
        Sentences on the worst cases of each error, by ledger row (for ``missed_gt``, the row of the
        annotated triplet). The sentences describe the error and what the oracle does.
    """

    rows: IntArray
    boxes: FloatArray
    annotated: FloatArray
    sizes: IntArray
    sentences: dict[str, dict[int, str]]


@dataclass(frozen=True, kw_only=True, eq=False)
class PageModel:
    """A detector on the page.

    Parameters
    ----------
    result : mapping
        A result of :meth:`diaghoi.Diagnosis.to_dict`, possibly with additions.
    diagnosis : Diagnosis or None
        The diagnosis, without its scenes; None if only the result is known, as for a saved result.
    classes, images : dict of arrays
        Tables of the diagnosis; empty if only the result is known.
    shown : ShownTriplets or None
        What to draw; None if the boxes are unknown, as for a sum of diagnoses.
    """

    result: Mapping[str, Any]
    diagnosis: Diagnosis | None = None
    classes: Columns = field(default_factory=dict)
    images: Columns = field(default_factory=dict)
    shown: ShownTriplets | None = None

    @property
    def label(self) -> str:
        """Name of the detector."""
        return str(self.result.get("label") or "")


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedModel:
    """A detector with images and annotated triplets numbered as in the first detector.

    Parameters
    ----------
    model : PageModel
        The detector.
    diagnosis : Diagnosis
        Diagnosis of the detector.
    image : (N,) int array
        New number of each image.
    triplet : (A + 1,) int array
        New number of each annotated triplet, followed by -1 for no triplet.
    fates : Fates
        Fates of the annotated triplets, in the new order.
    """

    model: PageModel
    diagnosis: Diagnosis
    image: IntArray
    triplet: IntArray
    fates: Fates


def aligned(models: Sequence[PageModel]) -> list[AlignedModel | None]:
    """Renumber the images and annotated triplets of all detectors as in the first detector.

    Raises
    ------
    InputError
        If the annotations or protocols of the detectors differ.
    """
    first: Diagnosis | None = None
    found: list[AlignedModel | None] = []
    for model in models:
        if model.diagnosis is None:
            found.append(None)
            continue
        if first is None:
            first = model.diagnosis
        else:
            check_same_annotations(first, model.diagnosis)
        image = image_numbers(model.diagnosis, first)
        fate = fates(model.diagnosis, image)
        triplet = np.full(len(fate.annotation) + 1, -1)
        triplet[fate.annotation] = np.arange(len(fate.annotation))
        found.append(
            AlignedModel(
                model=model, diagnosis=model.diagnosis, image=image, triplet=triplet, fates=fate
            )
        )
    return found


def page_model(
    diagnosis: Diagnosis,
    scenes: tuple[Scenes, Scenes] | None = None,
    *,
    result: Mapping[str, Any] | None = None,
    similarities: Similarities | None = None,
    top: int = 24,
    shown: int | None = SHOWN,
) -> PageModel:
    """Collect the page data of a detector.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of the detector.
    scenes : tuple of Scenes, optional
        The diagnosed annotations and predictions. Without scenes, as for a sum of diagnoses, there
        are no cases.
    result : mapping, optional
        A result of :meth:`diaghoi.Diagnosis.to_dict` with additions.
    similarities : Similarities, optional
        Similarities of action and object errors to the annotations, to add to the sentences.
    top : int
        Number of cases per error that are described in a sentence.
    shown : int or None
        Maximum number of predictions to draw per image, highest scores first; None for all.

    Raises
    ------
    InputError
        If the diagnosis does not belong to the scenes.
    """
    return PageModel(
        result=diagnosis.to_dict() if result is None else result,
        diagnosis=diagnosis,
        classes=diagnosis.classes,
        images=diagnosis.images,
        shown=None if scenes is None else _shown(diagnosis, scenes, similarities, top, shown),
    )


def _shown(
    diagnosis: Diagnosis,
    scenes: tuple[Scenes, Scenes],
    similarities: Similarities | None,
    top: int,
    shown: int | None,
) -> ShownTriplets:
    annotations, predictions, _ = join(*scenes, diagnosis.protocol)
    check_single(diagnosis, annotations, predictions)
    ledger = diagnosis.ledger
    sentences: dict[str, dict[int, str]] = {}
    for error in ERRORS:
        rows = worst_rows(diagnosis, error, top=top, similarities=similarities)
        cases = cases_at(
            diagnosis, annotations, predictions, error, rows, similarities=similarities
        )
        sentences[error] = {
            row: f"{case.sentence} Repaired, it {case.repair}."
            for row, case in zip(rows.tolist(), cases, strict=True)
        }
    order = ranking(ledger.row_image, ledger.row_score)
    if shown is not None:
        kept = ledger.true.copy()  # for the fates of the annotated triplets
        for error, of in sentences.items():
            if error != MISSED:
                kept[list(of)] = True
        few = place_in_group(ledger.row_image[order]) < shown
        order = order[few | kept[order]]
    sizes = np.zeros((len(diagnosis.names), 2), dtype=np.int64)
    for each in (predictions, annotations):
        if each.sizes is not None:
            known = each.sizes.min(axis=1) > 0
            sizes[known] = each.sizes[known]
    return ShownTriplets(
        rows=order,
        boxes=_boxes(predictions, ledger.row_input[order]),
        annotated=_boxes(annotations, ledger.annotation_input),
        sizes=sizes,
        sentences=sentences,
    )


def _boxes(scenes: Scenes, triplets: IntArray) -> FloatArray:
    pair = scenes.triplet_pair[triplets]
    boxes = np.full((len(pair), 2, 4), np.nan)
    for role, column in enumerate((scenes.pair_human, scenes.pair_object)):
        box = column[pair]
        known = box >= 0
        boxes[known, role] = scenes.box_xyxy[box[known]]
    return boxes
