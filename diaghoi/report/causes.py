"""Create the tables of patterns in false positives, and of wrong verbs and objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diaghoi.cases.annotation_faults import NEAR_DUPLICATE_IOU
from diaghoi.cases.causes import CAUSES
from diaghoi.comparison.results import by_person
from diaghoi.data.table import Column, Line, TextTable
from diaghoi.oracles.localised import OWN_OBJECT

Result = Mapping[str, Any]
NOT_FOUND = "Annotated\nnot found"
WHICH = (
    "Another prediction may find the annotated word: 'not found' counts the cases in which the "
    "annotated word has no true positive. If several words are annotated, the assigned one "
    "counts, or else the first in the "
    "file, so the order of the annotations matters."
)
"""Explains which annotated word is listed with a wrong word, and what 'not found' counts."""
VERBS_OF_V_COCO = (
    f"Verbs are compared on found pairs: {OWN_OBJECT}. Without an object box, predicted verbs are "
    "compared with the verbs annotated for the person."
)


def cause_tables(result: Result, splits: Sequence[Column]) -> Iterator[TextTable]:
    """Create the tables that ``report --also causes`` adds.

    Parameters
    ----------
    result : mapping
        The report, with ``annotation_causes``.
    splits : sequence of Column
        Groups of classes shown in the report.
    """
    yield _causes(result, splits)
    if any(result.get("confusions", {}).values()):
        yield _confusions(result["confusions"], by_pair=by_person(result))


def wrong_word(confusion: Mapping[str, Any]) -> str:
    """Name a wrong word and the annotated word: ``carry, where hold is annotated``."""
    text = f"{confusion['predicted']}, where {confusion['annotated']} is annotated"
    return text.replace("_", " ")


def _causes(result: Result, splits: Sequence[Column]) -> TextTable:
    def line(name: str, cause: Mapping[str, Any]) -> Line:
        title = CAUSES[name].title if name in CAUSES else name
        deltas = (cause["delta_map"].get(split.key) for split in splits)
        return Line(title, [cause["count"], cause["share"], *deltas])

    found = result["annotation_causes"]
    names = sorted(found, key=lambda name: name == "model")  # the remainder comes last
    groups = [[line(name, found[name]) for name in names]]
    caption = (
        "A pattern is not a proof: a wrong prediction can fit a pattern, and a missing annotation "
        "can fit no pattern.\nΔmAP is the gain from removing the predictions that fit a pattern. "
        "Counting these predictions as correct could gain more. The gains do not add up."
    )
    if "other_verb" in found:
        wrong = "wrong actions on found pairs" if by_person(result) else "action errors"
        caption += f"\nOther verb: can cover nearly all {wrong}, even if no label is missing."
        if by_person(result):
            caption += (
                " By the published rule, a wrong verb with an object box is an association error."
            )
    others = {
        "missed_twins": "Not found, but its twin is",
        "paired_with_itself": "Paired with itself",
    }
    groups.append([line(title, result[key]) for key, title in others.items() if key in result])
    if "missed_twins" in result:
        caption += (
            "\nTwins: annotated triplets of one class whose boxes overlap by IoU > "
            f"{NEAR_DUPLICATE_IOU}, which may be one triplet drawn twice. Share of annotated "
            "triplets; ΔmAP if missed twins are excluded."
        )
    if "paired_with_itself" in result:
        caption += (
            "\nPaired with itself: associations whose two boxes both fit the same annotated person "
            f"best, possibly drawn twice (IoU > {NEAR_DUPLICATE_IOU}). Share of associations; "
            "ΔmAP if these associations are removed."
        )
    deltas = (Column(title=f"ΔmAP\n{split.title}", unit="points") for split in splits)
    columns = (Column(title="Count", unit="count"), Column(title="Share, %"), *deltas)
    return TextTable("False positives by pattern", columns, groups, caption)


def _confusions(found: Mapping[str, Any], *, by_pair: bool) -> TextTable:
    groups = [
        [
            Line(wrong_word(each), [each["count"], each.get("not_found"), each["delta_map"]])
            for each in of_kind
        ]
        for of_kind in found.values()
    ]
    kinds = " and ".join(kind for kind, of_kind in found.items() if of_kind)
    return TextTable(
        f"Wrong {kinds} on annotated pairs",
        [
            Column(title="Count", unit="count"),
            Column(title=NOT_FOUND, unit="count"),
            Column(title="ΔmAP", unit="points"),
        ],
        groups,
        caption=f"{WHICH}{f' {VERBS_OF_V_COCO}' if by_pair else ''}\n"
        "ΔmAP: gain from repairing only the predictions of a row; the largest gains are listed.",
    )
