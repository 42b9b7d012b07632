"""Small multiple-choice questions and answers, and their figures counted option by option."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from diaghoi.choice import Answer, Answers, Question, Questions
from diaghoi.data.vocabulary import Vocabulary, hico_det

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


def by_loops(rows: list[Row]) -> dict[str, float]:
    """Count the figures one option at a time."""
    f1, exact, hits, right, picked = [], 0, 0, 0, 0
    classes: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for good, bad, chosen in rows:
        mine = [option for option in dict.fromkeys([*good, *bad]) if option in chosen]
        hit = [option for option in mine if option in good]
        wanted = set(good)
        precision = len(hit) / len(mine) if mine else 0
        recall = len(hit) / len(wanted) if wanted else 0
        score = 2 * precision * recall / (precision + recall) if precision + recall else 0
        f1.append(1.0 if not wanted and not mine else score)
        exact += bool(mine) and set(mine) == wanted
        hits, right, picked = hits + len(hit), right + len(wanted), picked + len(mine)
        for option in wanted:
            classes[option][2] += 1
        for option in mine:
            classes[option][0 if option in good else 1] += 1
    macro = []
    for true, false, positives in classes.values():
        precision = true / (true + false) if true + false else 0
        recall = true / positives if positives else 0
        macro.append(2 * precision * recall / (precision + recall) if true else 0)
    return {
        "instance_f1": sum(f1) / len(f1),
        "exact_match": exact / len(rows),
        "micro_f1": 2 * hits / (right + picked) if right + picked else -1,
        "macro_f1": sum(macro) / len(macro) if macro else -1,
        "macro_classes": len(macro),
    }
