"""Check whether the numbers of several results are comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from diaghoi.comparison.results import (
    Result,
    coverage_words,
    figure,
    notes_of,
    only_interactions,
    part,
    text,
)
from diaghoi.data.protocol import AS_GIVEN, BY_SCORE, CUT, RANKING, SEPARATOR, choices_of
from diaghoi.exceptions import InputError, some_of

# Value of a choice that a signature omits.
UNSAID = {CUT: AS_GIVEN, RANKING: BY_SCORE}


def check_comparable(results: Sequence[Result]) -> tuple[str, ...]:
    """Check that the numbers of several results have the same meaning.

    Parameters
    ----------
    results : sequence of mapping
        Results of :meth:`diaghoi.Diagnosis.to_dict`, each with its own label.

    Returns
    -------
    tuple of str
        Reasons why the numbers are not comparable even though data set and protocol agree: missing
        annotated images, images of another split, different numbers of images or annotations,
        different numbers of triplets per image, or different rankings, sources of Known Object or
        classes of official means.

    Raises
    ------
    InputError
        If data sets or protocols differ; the message names the difference. Only choices that depend
        on the detector may differ: the number of triplets per image, because dense arrays are
        always truncated but lists are not, and whether scores rank the triplets.
    """
    first = results[0]
    for other in results[1:]:
        mine, its = (f"'{result.get('label')}'" for result in (first, other))
        if text(first, "dataset") != text(other, "dataset"):
            raise InputError(
                f"results on different data sets cannot be compared: {mine} is on "
                f"{first['dataset']}, {its} on {other['dataset']}"
            )
        here, there = _choices(first), _choices(other)
        if here != there:
            one, two = _only(here, there), _only(there, here)
            raise InputError(
                f"results under different protocols cannot be compared: {mine} has {one}, {its} "
                f"has {two}; diagnose them again under one protocol"
            )
    asked: dict[str, Callable[[Result], str]] = {
        "images": lambda result: _number(result, "images"),
        "annotated triplets": lambda result: _number(result, "annotated_triplets"),
        "triplets per image": lambda result: _choice(result, CUT),
        RANKING: lambda result: _choice(result, RANKING),
        "images of Known Object": _known_object,
        "classes of the official means": lambda result: (
            "interactions" if only_interactions(result) else "all"
        ),
    }
    found = (_difference(what, results, ask) for what, ask in asked.items())
    covered = (
        f"{words} ({', '.join(labels)})"
        for of in (coverage_words, _other_split)
        for words, labels in owners(results, of).items()
        if words
    )
    return (*covered, *(caveat for caveat in found if caveat))


def number_of_images(results: Sequence[Result]) -> int | None:
    """Return the number of images of several results; None if the results differ."""
    numbers = {figure(result, "counts", "images") for result in results}
    number = numbers.pop() if len(numbers) == 1 else None
    return None if number is None else int(number)


def shared_notes(results: Sequence[Result]) -> tuple[str, ...]:
    """Collect the notes on several results; a note names its results unless it concerns all."""
    return said_by([(_label(result), dict.fromkeys(notes_of(result))) for result in results])


def said_by(said: Sequence[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """List the distinct texts of several owners; a text names its owners unless all share it."""
    return tuple(f"{of}: {words}" if of else words for of, words in owned(said))


def owned(said: Sequence[tuple[str, Iterable[str]]]) -> list[tuple[str, str]]:
    """List each distinct text with its owners, or without owners if all share the text."""
    names = _grouped(said)
    return [("" if len(of) == len(said) else ", ".join(of), words) for words, of in names.items()]


def shared_signature(results: Sequence[Result]) -> str:
    """Join the protocol choices of several results; where values differ, each names its models.

    Parameters
    ----------
    results : sequence of mapping
        Results of :meth:`diaghoi.Diagnosis.to_dict`, each with its own label.

    Returns
    -------
    str
        The common signature of all results.
    """
    signatures = dict.fromkeys(text(result, "protocol", "signature") for result in results)
    if len(signatures) == 1:
        return next(iter(signatures))
    names = dict.fromkeys(name for signature in signatures for name in choices_of(signature))
    phrases = []
    for name in names:
        of_values = owners(results, partial(_choice, choice=name))
        values = [
            f"{value} ({some_of(labels)})" if len(of_values) > 1 else value
            for value, labels in of_values.items()
        ]
        phrases.append(": ".join(filter(None, (name, "; ".join(values)))))
    return SEPARATOR.join(phrases)


def _choices(result: Result) -> list[str]:
    """List the name and the choices of a protocol, except choices that depend on the detector."""
    choices = choices_of(text(result, "protocol", "signature"))
    for decided in (CUT, RANKING):
        choices.pop(decided, None)
    name = f"protocol {text(result, 'protocol', 'name')}"
    return [name, *(f"{key}: {value}" if value else key for key, value in choices.items())]


def _only(here: Sequence[str], there: Sequence[str]) -> str:
    only = [choice for choice in here if choice not in there]
    return SEPARATOR.join(only) or "none of that"


def _number(result: Result, key: str) -> str:
    number = figure(result, "counts", key)
    return "unknown" if number is None else f"{number:,}"


def _choice(result: Result, choice: str) -> str:
    choices = choices_of(text(result, "protocol", "signature"))
    return choices.get(choice, UNSAID.get(choice, ""))


def _known_object(result: Result) -> str:
    key = "known_object"
    if not part(result, "official", key, needed=False):
        return "none"
    return f"by {text(result, 'official', key, 'source')}"


def _other_split(result: Result) -> str:
    return str(result.get("other_split", ""))


def _difference(what: str, results: Sequence[Result], ask: Callable[[Result], str]) -> str:
    """Describe the difference between results; empty if there is none."""
    answers = owners(results, ask)
    if len(answers) == 1:
        return ""
    by_label = "; ".join(f"{', '.join(labels)}: {answer}" for answer, labels in answers.items())
    return f"{what} differ ({by_label})"


def owners(results: Sequence[Result], ask: Callable[[Result], str]) -> dict[str, list[str]]:
    """Group the labels of the results by what ``ask`` returns for each result."""
    return _grouped((_label(result), [ask(result)]) for result in results)


def _grouped(said: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """List the owners of each text."""
    names: dict[str, list[str]] = {}
    for name, texts in said:
        for words in texts:
            names.setdefault(words, []).append(name)
    return names


def _label(result: Result) -> str:
    return str(result.get("label"))
