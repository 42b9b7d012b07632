"""The evaluation of one model: metrics, unread replies and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from diaghoi._version import __version__
from diaghoi.choice.answers import Answers
from diaghoi.choice.score import SUBSETS, Tally, scores, subsets, tally

REPLIES = "replies"
"""The origin of answers that a model gave itself."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceEvaluation:
    """The metrics of one model.

    Parameters
    ----------
    answers : Answers
        Of the model.
    tallies : dict of Tally
        ``""`` for all questions; ``single`` and ``multi`` where that is known.
    how : str
        Origin of the answers: :data:`REPLIES`, or how triplets of a detector were selected.
    notes : tuple of str
        Remarks on the numbers for their reader.
    """

    answers: Answers
    tallies: dict[str, Tally]
    how: str
    notes: tuple[str, ...]

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All metrics: fractions, None where undefined; ``single`` and ``multi`` nested."""
        found = scores(self.tallies[""])
        return found | {
            name: scores(self.tallies[name]) if name in self.tallies else None for name in SUBSETS
        }

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python."""
        return {
            "diaghoi": __version__,
            "label": self.answers.label,
            "dataset": self.answers.questions.dataset,
            "how": self.how,
            **self.figures,
            "classes": self.tallies[""].class_rows(),
            "answers": self.answers.ways,
            "unread": self.answers.unread,
            "notes": list(self.notes),
        }


def evaluate_answers(
    answers: Answers,
    *,
    people: Mapping[str, bool] | None = None,
    how: str = REPLIES,
    notes: tuple[str, ...] = (),
) -> ChoiceEvaluation:
    """Score the answers of a model.

    Parameters
    ----------
    answers : Answers
        From :func:`diaghoi.choice.read_answers` or :func:`diaghoi.choice.detected_answers`.
    people : mapping of bool, optional
        Whether an image is multi-person; by default single and multi-person are not reported.
    how : str
        Origin of the answers.
    notes : tuple of str
        Further notes.
    """
    whole = tally(answers)
    parts = subsets(answers, people)
    return ChoiceEvaluation(
        answers=answers,
        tallies={"": whole} | {name: whole.subset(mask) for name, mask in parts.items()},
        how=how,
        notes=(*notes, *answers.notes, *_published_notes(answers, whole)),
    )


def _published_notes(answers: Answers, counts: Tally) -> list[str]:
    """Say where the published scorer prints another number: it divides exact matches by images."""
    questions, images = len(answers.questions), len(answers.questions.images)
    if questions == images:
        return []
    exact = int(counts.exact.sum())
    return [
        f"{questions:,} questions on {images:,} images: exact match is their share of the "
        f"questions; the published script divides by images, {100 * exact / images:.2f}"
    ]
