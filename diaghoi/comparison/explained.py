"""Where the difference between each model and the first comes from: tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diaghoi.comparison.decomposition import CLASSES, PARTS, ApDifference, ap_difference
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.tables import table_of
from diaghoi.comparison.transitions import Transitions, transitions
from diaghoi.data.table import Cell, Column, Table, shown
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import ERROR_WORDS, error_title

NAMED = 3  # parts that the sentence names
FOUND = {
    "both": "Both",
    "only_first": "Only the first",
    "only_second": "Only this one",
    "neither": "Neither",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplainedDifference:
    """The difference of a model to the first one.

    Parameters
    ----------
    ap : ApDifference
        Its parts by true positives and false positives of each kind.
    annotated : Transitions
        What became of each annotated triplet.
    protocol : str
        Name of the protocol.
    """

    ap: ApDifference
    annotated: Transitions
    protocol: str

    @property
    def labels(self) -> tuple[str, str]:
        """The first model, and this one."""
        return self.ap.labels

    @property
    def found(self) -> dict[str, int]:
        """Annotated triplets that both, only one, or neither of the models finds."""
        matrix = self.annotated.matrix()
        return {
            "both": int(matrix[0, 0]),
            "only_first": int(matrix[0, 1:].sum()),
            "only_second": int(matrix[1:, 0].sum()),
            "neither": int(matrix[1:, 1:].sum()),
        }

    @property
    def sentence(self) -> str:
        """The difference in words, with its largest parts."""
        means = self.ap.means["full"]
        first, second = self.labels
        if means["total"] != means["total"]:
            return f"{second} and {first}: one of them has no mAP."
        parts = sorted((name for name in PARTS if means[name]), key=lambda name: -abs(means[name]))
        named = [f"{_words(name)} {_points(means[name])}" for name in parts[:NAMED]]
        rest = sum(means[name] for name in parts[NAMED:])
        if len(parts) > NAMED:
            named.append(f"all else {_points(rest)}")
        made = f", made of {', '.join(named)}" if named else ""
        found = self.found
        return (
            f"{second} against {first}: {_points(means['total'])} points of mAP under "
            f"{self.protocol}{made}. "
            f"Of {sum(found.values()):,} annotated triplets, both find {found['both']:,}, "
            f"only {second} {found['only_second']:,}, only {first} {found['only_first']:,}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain Python values."""
        return {
            "labels": list(self.labels),
            "ap": self.ap.to_dict(),
            "annotated": self.annotated.to_dict(),
            "sentence": self.sentence,
        }


def explained(first: Diagnosis, second: Diagnosis) -> ExplainedDifference:
    """Explain the difference of a detector to another one.

    Parameters
    ----------
    first, second : Diagnosis
        Of the same annotations under the same protocol.

    Raises
    ------
    InputError
        If their protocols or their annotated triplets differ.
    """
    return ExplainedDifference(
        ap=ap_difference(first, second),
        annotated=transitions(first, second),
        protocol=first.protocol.name,
    )


def explained_tables(
    models: Sequence[StudyModel], differences: Sequence[ExplainedDifference]
) -> tuple[Table, Table]:
    """Make the tables of differences to the first model.

    Parameters
    ----------
    models : sequence of StudyModel
        The first, and the others.
    differences : sequence of ExplainedDifference
        Those of the others, in their order.
    """
    first = models[0].label
    parts = [
        name
        for name in PARTS
        if name != CLASSES or any(each.ap.means["full"][CLASSES] for each in differences)
    ]
    columns = [Column(key="total", title="mAP", unit="points")]
    columns += [
        Column(
            key=name,
            title=_title(name),
            unit="points",
            group="False positives" if name in LABELS[1:] else "",
        )
        for name in parts
    ]
    rows = [[Cell() for _ in columns]]
    rows += [
        [Cell(value=each.ap.means["full"][column.key]) for column in columns]
        for each in differences
    ]
    counts = [Column(key=key, title=title, unit="count") for key, title in FOUND.items()]
    found = [[Cell() for _ in counts]]
    found += [[Cell(value=each.found[column.key]) for column in counts] for each in differences]
    return (
        table_of(
            models,
            columns,
            rows,
            key="difference",
            title=f"Difference in mAP to {first}, points",
            caption="Below 0: less than the first. True positives: by what is found, and at which "
            "rank; false positives: by fewer or more of them above. The parts sum to the "
            "difference in mAP.",
        ),
        table_of(
            models,
            counts,
            found,
            key="annotated",
            title="Annotated triplets found",
            caption=f"The first is {first}.",
        ),
    )


def _words(name: str) -> str:
    return ERROR_WORDS.get(name, f"{_title(name)}s" if name == LABELS[0] else _title(name)).lower()


def _title(name: str) -> str:
    return "Classes in the mean" if name == CLASSES else error_title(name)


def _points(value: float) -> str:
    return shown(value, "points")
