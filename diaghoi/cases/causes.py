"""Find false positives that may be the fault of the annotations rather than of the model.

The pictures are not inspected, so no cause is proven. Each cause is a pattern that is common where
annotations are incomplete. The search runs image by image. The counts are neither upper nor lower
bounds: pairs and objects that are missing from the annotations fit no pattern, and a prediction
that really is wrong may fit a pattern.

- Annotators redraw the boxes for each interaction, so the same person or object is boxed several
  times. In the test set of HICO-DET, 58 % of the boxes overlap another box of their category by
  more than 0.7, so a near duplicate alone explains nothing. A near duplicate is a cause if treating
  the two boxes as one would let the prediction find its triplet.
- A still picture does not show the direction of a movement. Table 5 of *Rethinking Human-Object
  Interaction Evaluation for both Vision-Language Models and HOI-Specific Methods* lists the 68
  time-sensitive classes of HICO-DET. The table does not list the classes that look like the
  time-sensitive classes; the text names catching and throwing a frisbee, and boarding and leaving
  an airplane. The counterparts in ``vocabularies/hico_det_time_sensitive.csv`` are a choice of this
  package: HOI classes of the same object whose actions come before or after the listed action and
  can look the same in a picture. Examples of counterparts are the reverse action, another motion
  through the same pose, and the beginning or end of the action. Actions that may happen at the same
  time (hold a racket, swing it) are not counterparts. 26 of the 68 classes have no counterpart in
  HICO-DET: there is ``open refrigerator``, for example, but no ``close refrigerator``.
- Annotators omit verbs and people. Other verbs on the same pair are weak evidence: nearly all
  action errors on HICO-DET are, by definition, on a pair annotated with other verbs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from diaghoi.cases.annotation_faults import (
    BACKGROUND_IOU,
    NEAR_DUPLICATE_IOU,
    LabelledImages,
    confident_people,
    fits_near_duplicate,
    other_verbs,
    unlabelled_people,
)
from diaghoi.cases.cases import check_single
from diaghoi.data.arrays import BoolArray, IntArray, marked, ratio
from diaghoi.data.groups import counterparts
from diaghoi.data.joining import join
from diaghoi.data.memory import threads
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.blocks import block_bounds
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import ACTION, LABELS
from diaghoi.evaluation.ledger import Ledger, deciding_rows
from diaghoi.evaluation.matching import match
from diaghoi.evaluation.means import Split, split_means


class Cause(NamedTuple):
    """A possible cause of a false positive.

    Parameters
    ----------
    name : str
        Name in JSON.
    title : str
        Name in tables and figures.
    definition : str
        Description of the false positives with this cause, shown to users.
    """

    name: str
    title: str
    definition: str


CAUSES: dict[str, Cause] = {
    cause.name: cause
    for cause in (
        Cause(
            "near_duplicate_annotation",
            "Box annotated twice",
            "The prediction would find one more triplet if annotated boxes of one "
            f"category with IoU > {NEAR_DUPLICATE_IOU} were one box.",
        ),
        Cause(
            "time_sensitive",
            "Time-sensitive",
            "The predicted pair is annotated with a class that cannot be told from the predicted "
            "class in a "
            "still picture, such as 'catch frisbee' and 'throw frisbee'.",
        ),
        Cause(
            "other_verb",
            "Other verb",
            "The predicted pair is annotated with other verbs only. Either the annotation lacks a "
            "verb, or "
            "the model is wrong.",
        ),
        Cause(
            "person_without_triplet",
            "Person without triplet",
            "The predicted person is annotated, but in no triplet.",
        ),
        Cause(
            "confident_person",
            "Confident person",
            f"The predicted person box reaches IoU {BACKGROUND_IOU} with no annotated person, but "
            "predictions with that box score at least as high as predictions for half of the "
            "people found in the image.",
        ),
        Cause("model", "None of these patterns", "None of these."),
    )
}
"""Causes in order of precedence: a false positive has the first cause that applies."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Causes:
    """The pattern that each false positive of a diagnosis fits.

    Parameters
    ----------
    names : tuple of str
        The causes that apply to the data set, in the order of :data:`CAUSES`. ``time_sensitive``
        needs a list of classes, which exists only for HICO-DET. If predictions are matched by
        person (V-COCO), people without actions are annotated, too, so ``person_without_triplet``
        does not apply.
    row_cause : (R,) int8 array
        Cause of each row of the ledger, as a position in ``names``; -1 for true positives.
    row_label : (R,) int8 array
        Label of each row of the ledger.
    delta_map : dict of dict
        Change in mAP when the false positives with a cause are removed, by cause and split: signed
        fractions; None if mAP is undefined before or after the removal. If the removed predictions
        had been right, mAP could have risen by more.
    """

    names: tuple[str, ...]
    row_cause: npt.NDArray[np.int8]
    row_label: IntArray
    delta_map: dict[str, Split]

    @cached_property
    def table(self) -> npt.NDArray[np.int64]:
        """Number of predictions with each cause and label, (causes, labels)."""
        false = self.row_cause >= 0
        cell = self.row_cause[false].astype(np.int64) * len(LABELS) + self.row_label[false]
        counts = np.bincount(cell, minlength=len(self.names) * len(LABELS))
        return counts.reshape(-1, len(LABELS))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return ``count``, ``share``, ``action_share`` and ``delta_map`` of each cause.

        ``share`` is the fraction of all false positives and ``action_share`` the fraction of all
        action errors that have the cause; None if there are no false positives or no action errors.
        """
        counts = self.table.sum(axis=1)
        actions = self.table[:, ACTION]
        return {
            name: {
                "count": int(counts[row]),
                "share": ratio(int(counts[row]), int(counts.sum())),
                "action_share": ratio(int(actions[row]), int(actions.sum())),
                "delta_map": self.delta_map[name],
            }
            for row, name in enumerate(self.names)
        }


def annotation_causes(diagnosis: Diagnosis, annotations: Scenes, predictions: Scenes) -> Causes:
    """Find the pattern that each false positive fits.

    The cause is ``model`` for a false positive that repeats a found triplet on nearly the same
    boxes, has the verb `no_interaction`, or is on a pair with no other verbs.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of these annotations and predictions. A sum of diagnoses is refused, because
        sums do not keep boxes.
    annotations, predictions : Scenes
        The scenes that were diagnosed.

    Raises
    ------
    InputError
        If the diagnosis is a sum, or belongs to other annotations and predictions.
    """
    annotations, predictions, _ = join(annotations, predictions, diagnosis.protocol)
    check_single(diagnosis, annotations, predictions)
    ledger, counterpart = diagnosis.ledger, counterparts(diagnosis.vocabulary)
    label = np.full(len(predictions.triplet_pair), -1, dtype=np.int8)
    label[ledger.row_input] = ledger.row_label
    counted, found = (
        marked(ledger.annotation_input[which], len(annotations.triplet_pair))
        for which in (ledger.annotation_counts, ledger.found)
    )

    def block(bounds: tuple[int, int]) -> npt.NDArray[np.int8]:
        mine, theirs = annotations.between(*bounds), predictions.between(*bounds)
        of_mine, of_theirs = (
            slice(*np.searchsorted(image, np.array(bounds, dtype=image.dtype)).tolist())
            for image in (annotations.triplet_image, predictions.triplet_image)
        )
        images = LabelledImages(
            annotations=mine,
            predictions=theirs,
            matched=match(mine, theirs, diagnosis.protocol),
            label=label[of_theirs],
            counted=counted[of_mine],
            found=found[of_mine],
        )
        return _block_causes(images, counterpart)

    with threads() as pool:
        cause = np.concatenate(list(pool.map(block, block_bounds(predictions))))
    return _causes(diagnosis, cause[ledger.row_input])


def _causes(diagnosis: Diagnosis, row_cause: npt.NDArray[np.int8]) -> Causes:
    """Drop the causes that do not apply to the data set, and compute the changes in mAP."""
    impossible = {
        "time_sensitive": counterparts(diagnosis.vocabulary) is None,
        "person_without_triplet": diagnosis.protocol.pairing == "person",
    }
    kept = [n for n, name in enumerate(CAUSES) if not impossible.get(name, False)]
    place = np.full(len(CAUSES) + 1, -1, dtype=np.int8)
    place[kept] = np.arange(len(kept))
    names = tuple(name for n, name in enumerate(CAUSES) if n in kept)
    row_cause = place[row_cause]

    deciding = deciding_rows(diagnosis.ledger, diagnosis.protocol)

    def without(n: int) -> Split:
        return delta_map(diagnosis, diagnosis.ledger.rows(deciding & (row_cause != n)))

    with threads() as pool:
        deltas = dict(zip(names, pool.map(without, range(len(names))), strict=True))
    return Causes(
        names=names,
        row_cause=row_cause,
        row_label=diagnosis.ledger.row_label,
        delta_map=deltas,
    )


def delta_map(diagnosis: Diagnosis, ledger: Ledger) -> Split:
    """Return the change in mAP, by split, if another ledger replaces the diagnosis's ledger."""
    scores = ledger.scores(diagnosis.protocol)
    after, _ = split_means(scores, diagnosis.protocol, diagnosis.splits)
    delta: Split = {}
    for split, before in diagnosis.mean_ap.items():
        now = after[split]
        delta[split] = None if now is None or before is None else now - before
    return delta


def _block_causes(images: LabelledImages, counterpart: BoolArray | None) -> npt.NDArray[np.int8]:
    """Return the index into ``CAUSES`` of each false positive of a block; -1 for other triplets."""
    names = list(CAUSES)
    fits, fits_missed = fits_near_duplicate(images)
    time_sensitive, other = other_verbs(images, counterpart)
    # If the only triplets that a prediction fits are already found, the prediction repeats one of
    # the found triplets. Neither the boxes nor the other verbs of the pair explain the repetition.
    evidence = {
        "near_duplicate_annotation": fits_missed,
        "time_sensitive": time_sensitive & ~fits,
        "other_verb": other & ~fits,
        "person_without_triplet": unlabelled_people(images),
        "confident_person": confident_people(images),
        "model": images.false,
    }
    # CAUSES is in order of precedence, so the first cause that applies wins.
    cause = np.select([evidence[name] for name in names], list(range(len(names))), -1)
    return cause.astype(np.int8)
