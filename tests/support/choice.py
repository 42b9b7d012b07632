"""Small multiple-choice questions and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diaghoi.choice import Answer, Answers, Question, Questions
from diaghoi.choice.classes import Classes, classes_of
from diaghoi.vocabulary import Vocabulary, hico_det

RIDE, HOLD, WASH, NOTHING = (
    "ride a/an bicycle",
    "hold a/an bicycle",
    "wash a/an bicycle",
    "no_interaction with a/an bicycle",
)
OPTIONS = (RIDE, HOLD, WASH, NOTHING)

Row = tuple[Sequence[str], Sequence[str], Sequence[str]]


def asked(
    rows: Sequence[tuple[Sequence[str], Sequence[str]]],
    images: Sequence[str] | None = None,
    words: Vocabulary | None = None,
    **more: Any,
) -> Questions:
    """Ask one question a row of right and wrong options, each on an image of its own by default."""
    words = hico_det() if words is None else words
    names = images or [f"HICO_{number}.jpg" for number in range(len(rows))]
    questions = [
        Question(
            image=name,
            name=f"QA_{list(names[:place]).count(name)}",
            right=tuple(right),
            wrong=tuple(wrong),
            **more,
        )
        for place, (name, (right, wrong)) in enumerate(zip(names, rows, strict=True))
    ]
    return Questions(
        file="questions.json",
        questions=tuple(questions),
        classes=classes_of(words),
        vocabulary=words,
    )


def answered(rows: Sequence[Row], images: Sequence[str] | None = None) -> Answers:
    """Answer questions: one row of right, wrong and picked options each."""
    questions = asked([row[:2] for row in rows], images)
    return Answers(
        label="model",
        questions=questions,
        answers=tuple(Answer(picked=tuple(row[2]), how="chosen") for row in rows),
    )


ANY_CLASS = Classes(dataset="questions", known=None)
