"""Read numbers from results of a diagnosis, or from saved files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from diaghoi.data.protocol import CUT, GROUPS, RANKING, Protocol, choices_of, short_signature
from diaghoi.diagnosis.inputs import REPORT, is_saved, read_object
from diaghoi.diagnosis.inputs import is_semantic as is_semantic
from diaghoi.diagnosis.inputs import refuse_result as refuse_result
from diaghoi.diagnosis.notes import ONLY_INTERACTIONS
from diaghoi.diagnosis.saved import load
from diaghoi.exceptions import InputError, number_of
from diaghoi.oracles import error_title

WITHOUT = "class without true positive"  # a choice of a protocol
CHANGED = (
    "Means omit classes without a true positive, but a class left without predictions by a "
    "repair counts as 0 in Full. Repairs thus change the classes of a mean, and ΔmAP of Full can "
    "lie below that of each group."
)
"""Remark on protocols whose means cover only found classes."""
PRECISION = (
    "Pair precision of a group: the share of all predicted pairs that are credited with annotated "
    "pairs of the group."
)
"""Remark on the denominator of pair precision in a group of classes."""

Result = Mapping[str, Any]


def read_result(path: str | PathLike[str], dataset: str | None = None) -> dict[str, Any] | None:
    """Read a saved result; None for a folder or a file with other content.

    Parameters
    ----------
    path : path
        A file written by ``diaghoi report --json`` or :meth:`diaghoi.Diagnosis.save`, or any other
        file.
    dataset : str, optional
        Description of the data set of a saved diagnosis, unless the package knows the data set.

    Raises
    ------
    InputError
        If the file cannot be opened, or a saved diagnosis cannot be used.
    """
    if is_saved(path):
        return load(path, dataset).to_dict()
    value = read_object(path)
    return value if value.keys() >= REPORT else None


def read_semantic(path: str | PathLike[str]) -> dict[str, Any] | None:
    """Read a saved semantic evaluation; None for a folder or a file with other content.

    Parameters
    ----------
    path : path
        A file written by ``diaghoi semantic --json``, or any other file.

    Raises
    ------
    InputError
        If the file cannot be opened.
    """
    value = read_object(path)
    return value if is_semantic(value) else None


def figure(result: Result, *keys: str) -> float | None:
    """Look up a number of a result; None if it is undefined or missing.

    Raises
    ------
    InputError
        If the value is not a number.
    """
    value: Any = part(result, *keys[:-1], needed=False).get(keys[-1])
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # The comparison is false for NaN, too.
    if not (number and abs(value) < 2**63):
        raise _unusable(result, keys, f"is {value!r:.60}, which is not a number")
    return float(value) if isinstance(value, float) else int(value)


def part(result: Result, *keys: str, needed: bool = True) -> Mapping[str, Any]:
    """Look up a nested part of a result; empty for a missing optional part.

    Raises
    ------
    InputError
        If the part is missing, or is not nested.
    """
    found: Mapping[str, Any] = result
    for depth, key in enumerate(keys, 1):
        below = found.get(key)
        if below is None and not needed:
            return {}
        if not isinstance(below, Mapping):
            what = "is missing" if below is None else f"is {below!r:.60}, which has no parts"
            raise _unusable(result, keys[:depth], what)
        found = below
    return found


def text(result: Result, *keys: str) -> str:
    """Look up a name or a description in a result.

    Raises
    ------
    InputError
        If the value is missing, or is not a text.
    """
    value = part(result, *keys[:-1]).get(keys[-1])
    if not isinstance(value, str):
        raise _unusable(result, keys, f"is {value!r:.60}, which is not a text")
    return value


def other_protocol(result: Result, asked: Protocol) -> str:
    """Return the protocol of a result if it differs from the requested one, or an empty string.

    Parameters
    ----------
    result : mapping
        Result of a diagnosis, or of a semantic evaluation.
    asked : Protocol
        Protocol that was requested. The choices of the result must equal the choices of this
        protocol, except for choices that depend on the files.

    Returns
    -------
    str
        The name of the result's protocol; if the names are equal, the line with all choices.
    """
    protocol = result.get("protocol")
    saved = protocol if isinstance(protocol, Mapping) else {"name": protocol}
    if asked.name != saved.get("name"):
        return str(saved.get("name"))
    if "signature" not in saved:
        return ""
    decided = (CUT, RANKING, GROUPS)  # by the files
    signature = str(saved["signature"])
    ours, theirs = asked.choices, choices_of(signature)
    alike = all(theirs.get(key, ours[key]) == ours[key] for key in ours if key not in decided)
    # Some choices have no name other than their value: the IoU, for instance.
    named = [{key for key, value in choices.items() if not value} for choices in (ours, theirs)]
    return "" if alike and named[0] == named[1] else short_signature(asked.name, signature)


def notes_of(result: Result) -> tuple[str, ...]:
    """List the notes of a result."""
    notes = result.get("notes")
    return tuple(map(str, notes)) if isinstance(notes, Sequence) else ()


def coverage_words(result: Result) -> str:
    """Say how many annotated images the predictions cover; empty if the result has no coverage.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    """
    coverage = part(result, "coverage", needed=False)
    shared, annotated = (coverage.get(f"{which}_images") for which in ("shared", "annotated"))
    if shared is None or annotated is None:
        return ""
    of = f"{shared:,} of {number_of('annotated image', annotated)}"
    return of if coverage.get("only_predicted_images") else f"predictions for {of}"


def error_count(result: Result, name: str) -> tuple[float, float] | None:
    """Return the count of an error, and the number of triplets that the share refers to.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    name : str
        A label of a prediction, or an oracle.

    Returns
    -------
    part, whole : int
        The share refers to annotated triplets for ``missed_gt`` and ``false_negative``, and to
        predicted triplets for all others. None for an oracle that does not belong to exactly one
        label, such as a user's own oracle.

    Raises
    ------
    InputError
        If the result lacks a count.
    """
    predicted = _needed(result, "counts", "predicted_triplets")
    annotated = _needed(result, "counts", "annotated_triplets")
    true = _needed(result, "errors", "true_positive")
    if name == "false_positive":
        return predicted - true, predicted
    if name == "false_negative":
        return annotated - true, annotated
    if name not in part(result, "errors"):
        return None
    return _needed(result, "errors", name), annotated if name == "missed_gt" else predicted


def classes_in(result: Result, mean: str) -> str:
    """Return the number of classes in a full mean, ``600 classes``; empty if unknown.

    Parameters
    ----------
    result : mapping
        A result of :meth:`diaghoi.Diagnosis.to_dict`; older results lack the number.
    mean : {"classes_in_mean", "classes_in_official"}
        Key of the mean of the protocol, or of the official mean.
    """
    number = figure(result, "counts", mean, "full")
    return "" if number is None else number_of("class", int(number))


def means_found_classes(result: Result) -> bool:
    """Check whether means omit classes without a true positive, as the published code does."""
    signature = text(result, "protocol", "signature")
    return choices_of(signature).get(WITHOUT) == "left out"


def leaving(
    results: Sequence[Result],
    errors: Iterable[str],
    split: str = "full",
    counted: str = "leave_mean",
) -> str:
    """Describe how many classes lose their last annotated triplet, and so leave the mean.

    Parameters
    ----------
    results : sequence of mapping
        A result of :meth:`diaghoi.Diagnosis.to_dict`; older results lack the number.
    errors : iterable of str
        Oracles whose repair may remove annotated triplets.
    split : str
        Group of classes that the mean covers.
    counted : {"leave_mean", "leave_mean_by_pair"}
        Whether errors are counted by the published rule or on found pairs.

    Returns
    -------
    str
        ``Missed up to 1 class``, the maximum over all results; empty if no class leaves.
    """
    most = {
        name: max(int(figure(result, "counts", counted, name, split) or 0) for result in results)
        for name in errors
    }
    return ", ".join(
        f"{error_title(name)} up to {number_of('class', left)}"
        for name, left in most.items()
        if left
    )


def known_object_remark(source: str) -> str:
    """Describe which images count for an object's classes, given the source of the image labels."""
    people = (
        "; for person, by people who are the object of a triplet"
        if source == "box annotations"
        else ""
    )
    return f"Known Object: by {source}{people}."


def actions_remark(results: Sequence[Result]) -> str:
    """Explain why the action mAP of all classes is outside the range of the groups, if it is.

    Parameters
    ----------
    results : sequence of mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    """
    for result in results:
        actions = part(result, "actions")
        groups = [
            figure(result, "actions", key, "map")
            for key, value in actions.items()
            if isinstance(value, Mapping)
        ]
        known = [value for value in groups if value is not None]
        full = figure(result, "actions", "map")
        if full is not None and len(known) > 1 and not min(known) <= full <= max(known):
            return (
                "Actions: the mean of a group is over its verbs, so Full can lie below or above "
                "all groups."
            )
    return ""


def by_person(result: Result) -> bool:
    """Check whether predictions are matched by person and then role, as on V-COCO."""
    return text(result, "dataset") == "v-coco"


def only_interactions(result: Result) -> bool:
    """Check whether the official means cover only classes of real interactions.

    A result does not list the annotated classes, so only a note of the diagnosis shows which
    classes the means cover.
    """
    return any(note.startswith(ONLY_INTERACTIONS) for note in notes_of(result))


def _needed(result: Result, *keys: str) -> float:
    value = figure(result, *keys)
    if value is None:
        raise _unusable(result, keys, "is missing")
    return value


def _unusable(result: Result, keys: Sequence[str], what: str) -> InputError:
    command = "semantic" if is_semantic(result) else "report"
    return InputError(
        f"result of '{result.get('label')}': {'.'.join(keys)} {what}; write the result again with "
        f"'diaghoi {command} --json'"
    )
