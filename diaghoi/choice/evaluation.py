"""Instance-F1, Macro-F1, Micro-F1 and exact match of answers (CrossHOI-Bench, section 2.3).

A question is a set of right options, and an answer is a set of picked options, so an option listed
twice counts once. As in the published scorer (equations 1 to 4):

- Instance-F1 is the mean over questions of the F1 of picked and right options; if no option is
  right, the F1 is 1 for an empty answer and 0 for any other answer.
- An option in both lists of a question counts as right.
- Macro-F1 is the mean over the classes (:mod:`diaghoi.choice.classes`) that are right in any
  question or were picked.
- An exact match needs at least one picked option: a question without right options has none. The
  published script divides the number of exact matches by the number of images, which overestimates
  their share if images have several questions; ``exact_match`` divides by questions, as in equation
  4, and ``exact_match_published`` by images.

All metrics are computed from sums over images, so the answers need not be processed again for each
resample of the images. As for detectors, images are resampled, because the questions on one image
are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi._version import __version__
from diaghoi.choice.answers import Answers
from diaghoi.choice.classes import Interaction
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ratios
from diaghoi.statistics.bootstrap import Bootstrap, bootstrap_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

METRICS = ("instance_f1", "macro_f1", "micro_f1", "exact_match")
SUBSETS = ("single", "multi")
OF_CLASSES = ("class", "verb", "object", "right", "picked", "hit", "f1")
"""Keys of a class in Macro-F1: names, counts and F1."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Counts of answers, from which all metrics are computed.

    Parameters
    ----------
    images, image : int, (Q,) int array
        Number of images N, and the image of each question.
    options : (3, Q) int array
        Number of options of each question that are right, that are picked, and that are both.
    classes : tuple of Interaction
        The K classes of Macro-F1 named by any option.
    rows : (4, R) int array
        Question, class, and flags (right, picked) of each option that is right or picked and counts
        for Macro-F1.
    """

    images: int
    image: IntArray
    options: IntArray
    classes: tuple[Interaction, ...]
    rows: IntArray

    @cached_property
    def instance(self) -> FloatArray:
        """(Q,) F1 of each question."""
        right, picked, hit = self.options
        return ratios(2.0 * hit, right + picked, undefined=1.0)

    @cached_property
    def exact(self) -> BoolArray:
        """(Q,) mask of the exact matches: at least one option, and exactly the right options."""
        right, picked, hit = self.options
        return np.asarray((hit == right) & (hit == picked) & (picked > 0))

    def with_images_of(self, other: Tally) -> Tally:
        """Append another model's counts on the same questions, as if on further images."""
        rows = other.rows.copy()
        rows[0] += len(self.image)
        return replace(
            self,
            images=self.images + other.images,
            image=np.concatenate([self.image, other.image + self.images]),
            options=np.hstack([self.options, other.options]),
            rows=np.hstack([self.rows, rows]),
        )

    def metrics(self, weights: IntArray) -> dict[str, FloatArray]:
        """Compute all metrics under B weightings of the images.

        Parameters
        ----------
        weights : (N, B) int array
            How often each image counts.

        Returns
        -------
        dict of (B,) float64 array
            The metrics by name; NaN if a metric is undefined.
        """
        sums = self._by_image @ weights
        questions, instance, exact, right, picked, hit = sums
        # The published script's denominator excludes images without questions.
        present = weights[np.unique(self.image)].sum(axis=0)
        hits, either = self._by_class
        f1 = ratios(2.0 * (hits @ weights), either @ weights)
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
        """Return the sums of six numbers, (6, N), over the questions of each image."""
        from scipy.sparse import csr_array

        rows = np.stack([np.ones(len(self.image)), self.instance, self.exact, *self.options])
        sums = [np.bincount(self.image, weights=row, minlength=self.images) for row in rows]
        return csr_array(np.stack(sums))

    @cached_property
    def _by_class(self) -> tuple[csr_array, csr_array]:
        """Count right picks, and right options plus all picks, by class and image, (K, N)."""
        from scipy.sparse import csr_array

        question, label, right, picked = self.rows
        shape, place = (len(self.classes), self.images), (label, self.image[question])
        hits, either = (right & picked).astype(np.float64), (right + picked).astype(np.float64)
        return csr_array((hits, place), shape=shape), csr_array((either, place), shape=shape)

    def class_rows(self) -> list[dict[str, Any]]:
        """List the classes of Macro-F1 with counts and F1."""
        _, label, right, picked = self.rows
        counts = [
            np.bincount(label[mask > 0], minlength=len(self.classes)).tolist()
            for mask in (right, picked, right & picked)
        ]
        rows = (
            (named.name, *named, right, picked, hit, 2 * hit / (right + picked))
            for named, right, picked, hit in zip(self.classes, *counts, strict=True)
            if right + picked
        )
        return [dict(zip(OF_CLASSES, row, strict=True)) for row in rows]


def tally(answers: Answers) -> Tally:
    """Count the answers of a model."""
    questions = answers.questions
    classes: dict[Interaction, int] = {}
    rows: list[tuple[int, int, bool, bool]] = []
    counts: list[tuple[int, int, int]] = []
    for place, (question, answer) in enumerate(answers.pairs):
        right, picked = set(question.right), set(answer.picked)
        counts.append((len(right), len(picked), len(right & picked)))
        # An option listed twice counts once.
        for option in dict.fromkeys(question.options):
            named = questions.interaction_of(option)
            if questions.classes is None or named in questions.classes:
                label = classes.setdefault(named, len(classes))
                if option in right or option in picked:
                    rows.append((place, label, option in right, option in picked))
    return Tally(
        images=len(questions.images),
        image=questions.image_of,
        options=np.array(counts, dtype=np.int64).reshape(-1, 3).T,
        classes=tuple(classes),
        rows=np.array(rows, dtype=np.int64).reshape(-1, 4).T,
    )


def scores(counts: Tally, images: BoolArray | None = None) -> dict[str, Any]:
    """Compute the metrics of the images in a mask, (N,), as plain values; None if undefined."""
    mask = np.ones(counts.images, dtype=bool) if images is None else images
    values = counts.metrics(mask.astype(np.int32)[:, None])
    asked = counts.image[mask[counts.image]]
    metrics: dict[str, Any] = {
        name: None if np.isnan(value[0]) else float(value[0]) for name, value in values.items()
    }
    metrics["macro_classes"] = int(metrics["macro_classes"])
    return {"questions": len(asked), "images": len(np.unique(asked)), **metrics}


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceEvaluation:
    """Metrics of one model, with remarks on the numbers.

    Parts are (N,) masks of the ``single`` and ``multi`` images, if known.
    """

    answers: Answers
    counts: Tally
    parts: dict[str, BoolArray]
    notes: tuple[str, ...]

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """All metrics: fractions, None if undefined; ``single`` and ``multi`` nested."""
        parts = {part: scores(self.counts, images) for part, images in self.parts.items()}
        return scores(self.counts) | dict.fromkeys(SUBSETS) | parts

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python."""
        return {
            "diaghoi": __version__,
            "label": self.answers.label,
            "dataset": self.answers.questions.dataset,
            "how": self.answers.how,
            **self.metrics,
            "classes": self.counts.class_rows(),
            "answers": self.answers.ways,
            "unread": self.answers.unread,
            "notes": list(self.notes),
        }


def evaluate_answers(
    answers: Answers, *, people: Mapping[str, bool] | None = None, notes: tuple[str, ...] = ()
) -> ChoiceEvaluation:
    """Score the answers of a model.

    Parameters
    ----------
    answers : Answers
        Answers from :func:`diaghoi.choice.read_answers` or :func:`diaghoi.choice.detected_answers`.
    people : mapping of bool, optional
        Whether each image is multi-person; by default, results do not distinguish single-person
        from multi-person images.
    notes : tuple of str
        Further remarks.
    """
    counts, asked = tally(answers), answers.questions
    parts = {}
    if people is not None:
        multi = [people.get(name) for name in asked.images]
        for part, wanted in zip(SUBSETS, (False, True), strict=True):
            parts[part] = np.array([each is wanted for each in multi])
    notes = (*notes, *answers.notes)
    if (images := len(asked.images)) != len(asked):
        notes += (
            f"{len(asked):,} questions on {images:,} images: exact match is a share of the "
            "questions; the published script divides by images, "
            f"{100 * int(counts.exact.sum()) / images:.2f}",
        )
    return ChoiceEvaluation(answers=answers, counts=counts, parts=parts, notes=notes)


def choice_bootstrap(
    evaluation: ChoiceEvaluation, resamples: int = 1000, **settings: Any
) -> Bootstrap:
    """Compute intervals of all metrics of a model: centred quantiles over resampled images.

    Keys are the paths of metrics in the JSON: ``instance_f1``, ``single.instance_f1``. The settings
    and errors are those of :func:`diaghoi.statistics.bootstrap.bootstrap_of`.
    """

    def metrics(weights: IntArray) -> dict[str, FloatArray]:
        whole = evaluation.counts.metrics(weights)
        values = {name: whole[name] for name in names}
        for part, images in evaluation.parts.items():
            of_part = evaluation.counts.metrics(weights * images[:, None])
            values |= {f"{part}.{name}": of_part[name] for name in names}
        return values

    names = (*METRICS, "micro_precision", "micro_recall")
    return bootstrap_of(metrics, evaluation.counts.images, resamples, **settings)
