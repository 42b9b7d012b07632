"""Instance-F1, Macro-F1, Micro-F1 and exact match of answers (paper 002, section 2.3).

A question is a set of right options and an answer a set of picked ones: an option that a question
lists twice is one. As in the published scorer (equations 1 to 4):

- Instance-F1 is the mean over questions of the F1 of picked and right options; where nothing is
  right it is 1 for an empty answer and 0 for any other.
- An option in both lists of a question counts as right.
- Macro-F1 is the mean over the classes (:mod:`diaghoi.choice.classes`) that are right in some
  question or were picked.
- An exact match needs at least one picked option: a question without right options has none. The
  published script divides the exact matches by images, which is more than their share where images
  have several questions; ``exact_match`` divides by questions, as equation 4 does, and
  ``exact_match_published`` by images.

Everything is a sum over images, so that resamples of the images do not read the answers again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi.choice.answers import Answers
from diaghoi.choice.classes import Interaction
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratios

if TYPE_CHECKING:
    from scipy.sparse import csr_array

METRICS = ("instance_f1", "macro_f1", "micro_f1", "exact_match")
FIGURES = (
    "instance_f1",
    "macro_f1",
    "macro_classes",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "exact_match",
    "exact_match_published",
)
SUBSETS = ("single", "multi")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Counts of answers, from which all metrics follow.

    Parameters
    ----------
    images : int
        Number of images N.
    image : (Q,) int array
        Image of each question.
    right, picked, hit : (Q,) int array
        Number of options that are right, that are picked, and that are both.
    classes : tuple of Interaction
        The K classes of Macro-F1 that any option names.
    row_question, row_class : (R,) int array
        Question and class of each option that is right or picked and counts for Macro-F1.
    row_right, row_picked : (R,) bool array
        Whether it is right, and whether it is picked.
    """

    images: int
    image: IntArray
    right: IntArray
    picked: IntArray
    hit: IntArray
    classes: tuple[Interaction, ...]
    row_question: IntArray
    row_class: IntArray
    row_right: BoolArray
    row_picked: BoolArray

    @cached_property
    def instance(self) -> FloatArray:
        """(Q,) F1 of each question."""
        return ratios(2.0 * self.hit, self.right + self.picked, undefined=1.0)

    @cached_property
    def exact(self) -> BoolArray:
        """(Q,) whether exactly the right options are picked, and at least one."""
        return np.asarray((self.hit == self.right) & (self.hit == self.picked) & (self.picked > 0))

    def subset(self, questions: BoolArray) -> Tally:
        """Return the counts of some questions; all images stay, so that weights fit."""
        place = np.cumsum(questions) - 1
        rows = questions[self.row_question]
        return Tally(
            images=self.images,
            image=self.image[questions],
            right=self.right[questions],
            picked=self.picked[questions],
            hit=self.hit[questions],
            classes=self.classes,
            row_question=place[self.row_question[rows]],
            row_class=self.row_class[rows],
            row_right=self.row_right[rows],
            row_picked=self.row_picked[rows],
        )

    def with_images_of(self, other: Tally) -> Tally:
        """Join the counts of two models on the same questions; the other's images come last."""
        return Tally(
            images=self.images + other.images,
            image=np.concatenate([self.image, other.image + self.images]),
            right=np.concatenate([self.right, other.right]),
            picked=np.concatenate([self.picked, other.picked]),
            hit=np.concatenate([self.hit, other.hit]),
            classes=self.classes,
            row_question=np.concatenate([self.row_question, other.row_question + len(self.image)]),
            row_class=np.concatenate([self.row_class, other.row_class]),
            row_right=np.concatenate([self.row_right, other.row_right]),
            row_picked=np.concatenate([self.row_picked, other.row_picked]),
        )

    def figures(self, weights: IntArray) -> dict[str, FloatArray]:
        """Compute all metrics under B weightings of the images.

        Parameters
        ----------
        weights : (N, B) int array
            How often each image counts.

        Returns
        -------
        dict of (B,) float64 array
            By the names of :data:`FIGURES`; NaN where a metric is undefined.
        """
        sums = self._by_image @ weights
        questions, instance, exact, right, picked, hit = sums
        # Images without questions are not in the denominator of the published script.
        present = weights[np.unique(self.image)].sum(axis=0)
        f1 = ratios(2.0 * (self._hits @ weights), self._sums @ weights)
        counted = ~np.isnan(f1)
        classes = counted.sum(axis=0)
        return {
            "instance_f1": ratios(instance, questions),
            "macro_f1": ratios(np.where(counted, f1, 0.0).sum(axis=0), classes),
            "macro_classes": classes.astype(np.float64),
            "micro_f1": ratios(2 * hit, right + picked),
            "micro_precision": ratios(hit, picked),
            "micro_recall": ratios(hit, right),
            "exact_match": ratios(exact, questions),
            "exact_match_published": ratios(exact, present),
        }

    @cached_property
    def _by_image(self) -> csr_array:
        """(6, N) sums of the questions of each image."""
        from scipy.sparse import csr_array

        of = (np.ones(len(self.image)), self.instance, self.exact, self.right, self.picked)
        rows = np.stack([*of, self.hit]).astype(np.float64)
        sums = [np.bincount(self.image, weights=row, minlength=self.images) for row in rows]
        return csr_array(np.stack(sums))

    @cached_property
    def _hits(self) -> csr_array:
        """(K, N) how often classes are picked where they are right."""
        return self._matrix((self.row_right & self.row_picked).astype(np.float64))

    @cached_property
    def _sums(self) -> csr_array:
        """(K, N) how often classes are right plus how often they are picked."""
        return self._matrix(self.row_right.astype(np.float64) + self.row_picked)

    def _matrix(self, values: FloatArray) -> csr_array:
        """(K, N) sums of the rows of each class and image."""
        from scipy.sparse import csr_array

        shape = (len(self.classes), self.images)
        return csr_array((values, (self.row_class, self.image[self.row_question])), shape=shape)

    def class_rows(self) -> list[dict[str, Any]]:
        """List the classes behind Macro-F1 with their counts and F1."""
        counts = [
            np.bincount(self.row_class[mask], minlength=len(self.classes)).tolist()
            for mask in (self.row_right, self.row_picked, self.row_right & self.row_picked)
        ]
        return [
            {
                "class": found.name,
                "verb": found.verb,
                "object": found.object,
                "right": right,
                "picked": picked,
                "hit": hit,
                "f1": 2 * hit / (right + picked),
            }
            for found, right, picked, hit in zip(self.classes, *counts, strict=True)
            if right + picked
        ]


def tally(answers: Answers) -> Tally:
    """Count the answers of a model."""
    questions = answers.questions
    number: dict[Interaction, int] = {}
    rows: list[tuple[int, int, bool, bool]] = []
    counts: list[tuple[int, int, int]] = []
    for place, (question, answer) in enumerate(
        zip(questions.questions, answers.answers, strict=True)
    ):
        right, picked = set(question.right), set(answer.picked)
        counts.append((len(right), len(picked), len(right & picked)))
        # An option that is listed twice counts once.
        for option in dict.fromkeys(question.options):
            named = questions.interaction_of(option)
            if named in questions.classes:
                row = number.setdefault(named, len(number))
                if option in right or option in picked:
                    rows.append((place, row, option in right, option in picked))
    sums = np.array(counts, dtype=np.int64).reshape(-1, 3).T
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Tally(
        images=len(questions.images),
        image=questions.image_of,
        right=sums[0],
        picked=sums[1],
        hit=sums[2],
        classes=tuple(number),
        row_question=columns[0],
        row_class=columns[1],
        row_right=columns[2].astype(bool),
        row_picked=columns[3].astype(bool),
    )


def scores(counts: Tally) -> dict[str, Any]:
    """Compute the metrics of a tally as plain Python values, None where undefined."""
    found = counts.figures(np.ones((counts.images, 1), dtype=np.int32))
    figures: dict[str, Any] = {
        name: None if np.isnan(value[0]) else float(value[0]) for name, value in found.items()
    }
    figures["macro_classes"] = int(found["macro_classes"][0])
    return {
        "questions": len(counts.image),
        "images": len(np.unique(counts.image)),
        **figures,
    }


def subsets(answers: Answers, multi_person: Mapping[str, bool] | None) -> dict[str, BoolArray]:
    """Mark the single- and multi-person questions.

    Parameters
    ----------
    answers : Answers
        Their questions are divided.
    multi_person : mapping of bool or None
        Whether an image is multi-person; None where that is not known.

    Returns
    -------
    dict of (Q,) bool array
        ``single`` and ``multi``; empty without a mapping.
    """
    if multi_person is None:
        return {}
    images: Sequence[str] = [question.image for question in answers.questions.questions]
    return {
        name: np.array([multi_person.get(image) is wanted for image in images], dtype=bool)
        for name, wanted in zip(SUBSETS, (False, True), strict=True)
    }
