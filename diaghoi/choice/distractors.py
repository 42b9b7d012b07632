"""Which wrong options mislead a model, and what they are confused with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from diaghoi.choice.answers import Answers
from diaghoi.choice.classes import Interaction
from diaghoi.choice.questions import Question, Questions

Counts = dict[Hashable, list[int]]


def count_distractors(answers: Answers) -> dict[str, list[dict[str, Any]]]:
    """Count how often wrong options are picked.

    Parameters
    ----------
    answers : Answers
        Answers of a model.

    Returns
    -------
    dict of list
        By ``classes``, ``verbs`` and ``objects`` of the wrong option; and the confusions: a wrong
        option next to a right one with the same object counts in ``confused_verbs``, one with an
        object that no right option has in ``confused_objects``, once for each right verb or object
        of the question. Each row has its names, ``shown`` (how often a model could be misled),
        ``picked`` (how often it was), ``rate`` (their ratio) and, for confusions, ``instead`` (how
        often no right option of that verb or object was picked). The most picked come first, then
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
            misled = option in picked
            for table, key, right in _places(answers.questions, question, option):
                row = tables[table][key]
                row[0] += 1
                row[1] += misled
                row[2] += misled and picked.isdisjoint(right)
    return {name: _rows(name, counts) for name, counts in tables.items()}


def _places(
    questions: Questions, question: Question, option: str
) -> Iterator[tuple[str, Hashable, set[str]]]:
    """Yield the tables and rows in which a wrong option counts, and the right options it replaces.

    A right option that names the same class as the wrong one, in another spelling, is skipped.
    """
    wrong = questions.interaction_of(option)
    yield "classes", wrong, set()
    yield "verbs", wrong.verb, set()
    yield "objects", wrong.object, set()
    right = {each: questions.interaction_of(each) for each in dict.fromkeys(question.right)}
    same = {each: named for each, named in right.items() if named.object == wrong.object}
    # Only where no right option shares the object is it the mistake: else the verb is.
    part, table = ("verb", "confused_verbs") if same else ("object", "confused_objects")
    # Several right options may share a verb or object: the mistake is still one.
    replaced: dict[str, set[str]] = defaultdict(set)
    for each, named in (same or right).items():
        replaced[getattr(named, part)].add(each)
    mistaken = getattr(wrong, part)
    for name, options in replaced.items():
        if name != mistaken:
            yield table, (mistaken, name), options


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
        return {"class": key.name, "verb": key.verb, "object": key.object}
    if name in ("verbs", "objects"):
        return {name.removesuffix("s"): key}
    return {"picked_for": key[0], "right": key[1]}
