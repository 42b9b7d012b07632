"""The worst cases of each error: predictions and annotations, with boxes and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diaghoi.cases.matched_images import MatchedImages, NearestBox
from diaghoi.cases.sentences import (
    closest_person,
    ious,
    joined_pairs,
    sentence,
    sentence_of_missed,
    shown_score,
)
from diaghoi.cases.similarities import COMPARED, KINDS, Similarities
from diaghoi.data.arrays import BoolArray, IntArray, place_in_group
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import DUPLICATE, LABELS, TRUE_POSITIVE
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import InputError, close_matches

Box = tuple[float, float, float, float]

MISSED = "missed_gt"
ERRORS = (*LABELS[1:], MISSED)
"""The errors that have cases, in report order."""
PER_IMAGE = 2
"""Maximum number of cases per image: more would show the same people again."""
# Labels whose oracles turn assigned predictions into true positives and remove all others.
CONVERTED = ("human_box", "object_box", "association", "action")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One prediction with an error, or one annotated triplet that was missed.

    Boxes are left, top, right, bottom in pixels, counted from zero.

    Parameters
    ----------
    error : str
        A label of :data:`diaghoi.evaluation.errors.LABELS`, or ``missed_gt``.
    image : str
        Name of the image; empty if the files have no names.
    size : (width, height) or None
        Size of the image in pixels, if known.
    name : str or None
        Predicted HOI class; None for a missed triplet.
    score : float or None
        Ranking score of the prediction; None for a missed triplet, and for the predictions of a
        detector without scores.
    human, object : tuple of four floats, or None
        Predicted boxes; None for a missed triplet, and for a role without a box (V-COCO).
    annotated : str or None
        HOI class of the annotated triplet that the prediction finds, repeats or is assigned to;
        None if there is no such triplet.
    annotated_human, annotated_object : tuple of four floats, or None
        Boxes of the annotated triplet. For a prediction without such a triplet, the annotated boxes
        that the predicted boxes overlap most; the annotated boxes form an annotated pair only if
        the error is ``action``.
    sentence : str
        Description of the error.
    repair : str
        How the oracle treats the prediction, as a predicate: ``is removed``.
    repaired : str or None
        HOI class of the true positive into which the oracle turns the prediction; None if the
        prediction does not become a true positive.
    similarity : float or None
        Sigma between the predicted and the annotated interaction; None if it was not requested, or
        if nothing is annotated at the predicted boxes.
    kind : str or None
        Kind of the error according to its similarity, one of
        :data:`diaghoi.cases.similarities.KINDS`; None if the prediction is not compared.
    meant : str or None
        The annotated interaction that the prediction was compared with.
    """

    error: str
    image: str
    size: tuple[int, int] | None
    name: str | None
    score: float | None
    human: Box | None
    object: Box | None
    annotated: str | None
    annotated_human: Box | None
    annotated_object: Box | None
    sentence: str
    repair: str
    repaired: str | None = None
    similarity: float | None = None
    kind: str | None = None
    meant: str | None = None


def worst_cases(
    diagnosis: Diagnosis,
    annotations: Scenes,
    predictions: Scenes,
    error: str,
    *,
    hoi: int | None = None,
    top: int = 24,
    similarities: Similarities | None = None,
    kinds: Sequence[str] = (),
    images: Sequence[str] = (),
) -> list[Case]:
    """Choose which cases of an error to look at first.

    The worst predictions have the highest scores: they rank above true positives and so cost most.
    Missed triplets have no score. Misses are ordered by the AP of their class, highest first, since
    they are least expected in classes with a high AP. Each image contributes at most
    :data:`PER_IMAGE` cases.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of these annotations and predictions. A sum of diagnoses is refused, because
        sums do not keep boxes.
    annotations, predictions : Scenes
        The scenes that were diagnosed.
    error : str
        A label of :data:`diaghoi.evaluation.errors.LABELS`, or ``missed_gt``.
    hoi : int, optional
        Restrict cases to this HOI class: the predicted class, or the annotated class of a miss.
    top : int
        Maximum number of cases.
    similarities : Similarities, optional
        Similarities of these predictions, to add to the cases of action and object errors.
    kinds : sequence of str
        Restrict cases to these :data:`diaghoi.cases.similarities.KINDS`; empty for all.
    images : sequence of str
        Restrict cases to these images; empty for all.

    Returns
    -------
    list of Case
        The cases, worst first; ties in input order.

    Raises
    ------
    InputError
        If the error or class is unknown, ``top`` is below 1, the diagnosis is a sum or belongs to
        other scenes, the similarities belong to other predictions, or the error has no kinds.
    """
    rows = worst_rows(
        diagnosis, error, hoi=hoi, top=top, similarities=similarities, kinds=kinds, images=images
    )
    return cases_at(diagnosis, annotations, predictions, error, rows, similarities=similarities)


def worst_rows(
    diagnosis: Diagnosis,
    error: str,
    *,
    hoi: int | None = None,
    top: int = 24,
    similarities: Similarities | None = None,
    kinds: Sequence[str] = (),
    images: Sequence[str] = (),
) -> IntArray:
    """Choose the rows of the cases that :func:`worst_cases` shows.

    Parameters
    ----------
    diagnosis, error, hoi, top, similarities, kinds, images
        As for :func:`worst_cases`.

    Returns
    -------
    (K,) int array
        Rows of the ledger, worst first: rows of predictions, or of annotated triplets for misses.

    Raises
    ------
    InputError
        If the error or class is unknown, ``top`` is below 1, the similarities belong to other
        predictions, or kinds are requested for an error that has none.
    """
    _check_question(diagnosis, error, hoi, top)
    _check_similarities(similarities, error, kinds)
    on = np.isin(diagnosis.names, list(images)) if images else None
    selected = rows_with(diagnosis.ledger, error, hoi, similarities, kinds, on)
    if error == MISSED:
        return _missed(diagnosis, selected, top)
    return _most_confident(diagnosis.ledger, selected, top)


def cases_at(
    diagnosis: Diagnosis,
    annotations: Scenes,
    predictions: Scenes,
    error: str,
    rows: IntArray,
    *,
    similarities: Similarities | None = None,
) -> list[Case]:
    """Describe rows of a ledger that all have the given error.

    Parameters
    ----------
    diagnosis, annotations, predictions, error, similarities
        As for :func:`worst_cases`.
    rows : (K,) int array
        As from :func:`worst_rows`.

    Returns
    -------
    list of Case
        One case for each row.

    Raises
    ------
    InputError
        If the diagnosis is a sum or belongs to other scenes, or the similarities belong to other
        predictions.
    """
    annotations, predictions, _ = join(annotations, predictions, diagnosis.protocol)
    check_single(diagnosis, annotations, predictions)
    _check_similar_triplets(similarities, predictions)
    ledger = diagnosis.ledger
    missed = error == MISSED
    make: Callable[[MatchedImages, Ledger, int], Case] = _missed_case if missed else _predicted_case
    shown = (ledger.annotation_image if missed else ledger.row_image)[rows]
    view = MatchedImages.of(annotations, predictions, shown, diagnosis.protocol)
    cases = [make(view, ledger, row) for row in rows.tolist()]
    if similarities is None or missed:
        return cases
    triplets = ledger.row_input[rows].tolist()
    return [
        _with_similarity(case, similarities, triplet)
        for case, triplet in zip(cases, triplets, strict=True)
    ]


def rows_with(
    ledger: Ledger,
    error: str,
    hoi: int | None = None,
    similarities: Similarities | None = None,
    kinds: Sequence[str] = (),
    images: BoolArray | None = None,
) -> BoolArray:
    """Find the rows of a ledger with the given error: predictions, or annotations for misses.

    Parameters
    ----------
    ledger : Ledger
        The ledger of a diagnosis.
    error, hoi, similarities, kinds
        As for :func:`worst_cases`.
    images : (N,) bool array, optional
        Mask of the images whose rows are selected; all by default.
    """
    selected = ledger.missed if error == MISSED else ledger.row_label == LABELS.index(error)
    classes, image = (
        (ledger.annotation_class, ledger.annotation_image)
        if error == MISSED
        else (ledger.row_class, ledger.row_image)
    )
    if images is not None:
        selected = selected & images[image]
    if hoi is not None:
        selected = selected & (classes == hoi)
    if kinds and similarities is not None:
        selected = selected & similarities.of_kinds(kinds)[ledger.row_input]
    return np.asarray(selected)


def _check_similarities(
    similarities: Similarities | None, error: str, kinds: Sequence[str]
) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f"kind '{kind}': not known{close_matches(kind, KINDS)}; give one or more of "
                f"{', '.join(KINDS)}"
            )
    if kinds and (similarities is None or error not in COMPARED):
        raise InputError(
            f"kinds {', '.join(kinds)}: only the errors {' and '.join(COMPARED)}, which are "
            "compared with annotations, have a kind; give one of these errors, with similarities"
        )


def _check_similar_triplets(similarities: Similarities | None, predictions: Scenes) -> None:
    if similarities is not None and len(similarities.kind) != len(predictions.triplet_pair):
        raise InputError(
            f"the similarities are of {len(similarities.kind):,} predicted triplets, but the "
            f"predictions have {len(predictions.triplet_pair):,}: give the similarities of these "
            "predictions"
        )


def _with_similarity(case: Case, similarities: Similarities, triplet: int) -> Case:
    """Add the similarity of a prediction to its case."""
    found = similarities.of(triplet)
    if found is None:
        return case
    if found.similarity is None:
        text = "No annotated triplet is near enough to compare."
    else:
        text = f"Similarity to {found.meant} {found.similarity:.3f}: {found.kind}."
    return replace(case, sentence=f"{case.sentence} {text}", **found._asdict())


def _check_question(diagnosis: Diagnosis, error: str, hoi: int | None, top: int) -> None:
    known = (*LABELS, MISSED)
    if error not in known:
        raise InputError(
            f"error '{error}': has no cases{close_matches(error, known)}; give one of "
            f"{', '.join(known)}"
        )
    classes = len(diagnosis.vocabulary)
    if hoi is not None and not 0 <= hoi < classes:
        raise InputError(
            f"hoi {hoi}: the classes of {diagnosis.vocabulary.name} are 0 to {classes - 1}"
        )
    if top < 1:
        raise InputError(f"top {top}: the number of cases must be at least 1")


def check_single(diagnosis: Diagnosis, annotations: Scenes, predictions: Scenes) -> None:
    """Check that a diagnosis belongs to the joined annotations and predictions.

    Raises
    ------
    InputError
        If the diagnosis does not belong to the scenes, for instance because it is a sum.
    """
    ledger = diagnosis.ledger
    same = np.array_equal(diagnosis.names, annotations.names)
    for scenes, rows, columns in (
        (predictions, ledger.row_input, (ledger.row_image, ledger.row_class)),
        (annotations, ledger.annotation_input, (ledger.annotation_image, ledger.annotation_class)),
    ):
        same = same and (not len(rows) or int(rows.max()) < len(scenes.triplet_pair))
        theirs = (scenes.triplet_image, scenes.triplet_class)
        same = same and all(
            np.array_equal(column, other[rows])
            for column, other in zip(columns, theirs, strict=True)
        )
    same = same and np.array_equal(ledger.row_score, predictions.scores[ledger.row_input])
    if not same:
        raise InputError(
            "the diagnosis does not belong to these annotations and predictions, or it is a sum; "
            "cases need the result of a single diagnose(annotations, predictions)"
        )


def _most_confident(ledger: Ledger, selected: BoolArray, top: int) -> IntArray:
    rows = np.flatnonzero(selected)
    # Ledger rows are grouped by class, so ties are broken by input position.
    rows = rows[np.lexsort((ledger.row_input[rows], -ledger.row_score[rows]))]
    return _spread(rows, ledger.row_image)[:top]


def _missed(diagnosis: Diagnosis, selected: BoolArray, top: int) -> IntArray:
    ledger = diagnosis.ledger
    rows = np.flatnonzero(selected)
    scores = diagnosis.class_scores.average_precision[ledger.annotation_class[rows]]
    return _spread(rows[np.argsort(-scores, kind="stable")], ledger.annotation_image)[:top]


def _spread(rows: IntArray, image: IntArray) -> IntArray:
    """Keep the first :data:`PER_IMAGE` rows of each image, without reordering."""
    by_image = np.argsort(image[rows], kind="stable")
    few = by_image[place_in_group(image[rows][by_image]) < PER_IMAGE]
    return rows[np.sort(few)]


def _predicted_case(view: MatchedImages, ledger: Ledger, row: int) -> Case:
    label = int(ledger.row_label[row])
    triplet = view.predicted(int(ledger.row_input[row]))
    human, obj = view.boxes(view.predictions, triplet)
    annotated, boxes = _meant(view, ledger, row, triplet)
    return Case(
        error=LABELS[label],
        image=str(view.predictions.names[view.predictions.triplet_image[triplet]]),
        size=size_of(
            view.annotations, view.predictions, int(view.predictions.triplet_image[triplet])
        ),
        name=view.predictions.vocabulary.class_name(int(ledger.row_class[row])),
        score=float(ledger.row_score[row]) if view.predictions.ranked else None,
        human=box_of(view.predictions, human),
        object=box_of(view.predictions, obj),
        annotated=annotated,
        annotated_human=box_of(view.annotations, boxes[0]),
        annotated_object=box_of(view.annotations, boxes[1]),
        sentence=sentence(view, triplet, label),
        repair=_repair(view, ledger, row, triplet),
        repaired=_repaired(view, ledger, row),
    )


def _missed_case(view: MatchedImages, ledger: Ledger, row: int) -> Case:
    triplet = view.annotated(int(ledger.annotation_input[row]))
    human, obj = view.boxes(view.annotations, triplet)
    name = view.annotations.vocabulary.class_name(int(ledger.annotation_class[row]))
    image = int(view.annotations.triplet_image[triplet])
    return Case(
        error=MISSED,
        image=str(view.annotations.names[image]),
        size=size_of(view.annotations, view.predictions, image),
        name=None,
        score=None,
        human=None,
        object=None,
        annotated=name,
        annotated_human=box_of(view.annotations, human),
        annotated_object=box_of(view.annotations, obj),
        sentence=sentence_of_missed(view, triplet),
        repair=f"no longer counts among the annotated triplets of {name}",
    )


def _meant(
    view: MatchedImages, ledger: Ledger, row: int, triplet: int
) -> tuple[str | None, tuple[int, int]]:
    """Return the class and boxes of a prediction's annotated triplet, or only the nearest boxes."""
    annotations = view.annotations
    if ledger.row_label[row] == DUPLICATE:
        meant = int(view.matched.candidates.claimed[triplet])
    elif ledger.row_annotation[row] >= 0:
        meant = view.annotated(int(ledger.annotation_input[ledger.row_annotation[row]]))
    else:
        return None, _boxes_near(view, triplet)
    name = annotations.vocabulary.class_name(int(annotations.triplet_class[meant]))
    return name, view.boxes(annotations, meant)


def _boxes_near(view: MatchedImages, triplet: int) -> tuple[int, int]:
    human, obj = view.boxes(view.predictions, triplet)
    if view.protocol.pairing == "person":
        near = closest_person(view, human), view.closest(obj)
    else:
        for pair in joined_pairs(view, triplet).tolist():
            return int(view.annotations.pair_human[pair]), int(view.annotations.pair_object[pair])
        near = view.closest(human), view.closest(obj)
    return _overlapping(near[0]), _overlapping(near[1])


def _overlapping(near: NearestBox) -> int:
    return near.box if near.iou > 0 else -1


def _repaired(view: MatchedImages, ledger: Ledger, row: int) -> str | None:
    """Return the class of the true positive into which the oracle turns a prediction."""
    annotation = int(ledger.row_annotation[row])
    if LABELS[ledger.row_label[row]] not in CONVERTED or annotation < 0:
        return None
    return view.annotations.vocabulary.class_name(int(ledger.annotation_class[annotation]))


def _repair(view: MatchedImages, ledger: Ledger, row: int, triplet: int) -> str:
    """Describe how the oracle of an error treats a prediction."""
    label, annotation = int(ledger.row_label[row]), int(ledger.row_annotation[row])
    if label == TRUE_POSITIVE:
        return "stays as it is"
    name = _repaired(view, ledger, row)
    if name is None:
        return "is removed"
    meant = view.annotated(int(ledger.annotation_input[annotation]))
    mine, theirs = view.boxes(view.predictions, triplet), view.boxes(view.annotations, meant)
    repaired = f"becomes a true positive of {name} ({ious(view, mine, theirs)})"
    by_pair = LABELS[label] == "action" and view.protocol.pairing == "triplet"
    if by_pair and view.annotations.triplet_pair[meant] not in joined_pairs(view, triplet):
        repaired += ", for a pair that the predicted boxes do not reach"
    superseded = ledger.row_score[ledger.true & (ledger.row_annotation == annotation)]
    if len(superseded):
        repaired += ", in place of the true positive "
        ranked = view.predictions.ranked
        repaired += f"with score {shown_score(superseded[0])}" if ranked else "that found it"
    return repaired


def box_of(scenes: Scenes, box: int) -> Box | None:
    """Return a box as left, top, right, bottom; None for row -1."""
    if box < 0:
        return None
    left, top, right, bottom = scenes.box_xyxy[box].tolist()
    return left, top, right, bottom


def size_of(annotations: Scenes, predictions: Scenes, image: int) -> tuple[int, int] | None:
    """Return the width and height of an image of joined scenes; None if neither file has them."""
    for scenes in (annotations, predictions):
        if scenes.sizes is not None and (scenes.sizes[image] > 0).all():
            width, height = scenes.sizes[image].tolist()
            return width, height
    return None
