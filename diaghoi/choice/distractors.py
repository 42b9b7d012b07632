"""Which wrong options fool a model, and what they are taken for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from diaghoi.choice.answers import Answers
from diaghoi.choice.classes import Interaction
from diaghoi.choice.questions import Question, Questions

Counts = dict[Hashable, list[int]]


def distractors(answers: Answers) -> dict[str, list[dict[str, Any]]]:
    """Count how often wrong options were picked.

    Parameters
    ----------
    answers : Answers
        Of a model.

    Returns
    -------
    dict of list
        By ``classes``, ``verbs`` and ``objects`` of the wrong option; and the confusions: a wrong
        option beside a right one of the same object is a confusion of ``confused_verbs``, one of an
        object that no right option has a confusion of ``confused_objects``, counted once for each
        such right option. Each row has what it is about, ``shown`` (how often a model could be
        fooled), ``picked`` (how often it was), ``rate`` (their ratio) and, for confusions,
        ``instead`` (how often the right option was not picked). The most picked stand first, then
        the highest rates.
    """
    tables: dict[str, Counts] = {
        name: defaultdict(lambda: [0, 0, 0])
        for name in ("classes", "verbs", "objects", "confused_verbs", "confused_objects")
    }
    for question, answer in zip(answers.questions.questions, answers.answers, strict=True):
        picked = set(answer.picked)
        for option in dict.fromkeys(question.wrong):
            if option in question.right:
                continue
            fooled = option in picked
            for table, key, found in _places(answers.questions, question, option):
                row = tables[table][key]
                row[0] += 1
                row[1] += fooled
                row[2] += fooled and found not in picked
    return {name: _rows(name, counts) for name, counts in tables.items()}


def _places(
    questions: Questions, question: Question, option: str
) -> Iterator[tuple[str, Hashable, str]]:
    """Give the tables and rows in which a wrong option counts, with the right option that is meant.

    A right option that names the same class as the wrong one, in another spelling, is passed over.
    """
    wrong = questions.named(option)
    yield "classes", wrong, ""
    yield "verbs", wrong.verb, ""
    yield "objects", wrong.thing, ""
    right = {each: questions.named(each) for each in dict.fromkeys(question.right)}
    same = {each: named for each, named in right.items() if named.thing == wrong.thing}
    for each, named in same.items():
        if named.verb != wrong.verb:
            yield "confused_verbs", (wrong.verb, named.verb), each
    for each, named in ({} if same else right).items():
        yield "confused_objects", (wrong.thing, named.thing), each


def _rows(name: str, counts: Mapping[Hashable, list[int]]) -> list[dict[str, Any]]:
    rows = [
        {
            **_about(name, key),
            "shown": shown,
            "picked": picked,
            "rate": picked / shown,
            **({"instead": instead} if name.startswith("confused") else {}),
        }
        for key, (shown, picked, instead) in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row["picked"], -row["rate"]))


def _about(name: str, key: Any) -> dict[str, str]:
    if isinstance(key, Interaction):
        return {"class": key.name, "verb": key.verb, "object": key.thing}
    if name in ("verbs", "objects"):
        return {name.removesuffix("s"): key}
    return {"picked_for": key[0], "right": key[1]}
