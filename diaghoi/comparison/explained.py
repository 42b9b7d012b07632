"""Explain the differences between each model and the first in tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diaghoi.comparison.decomposition import CLASSES, PARTS, ApDifference, ap_difference
from diaghoi.comparison.shares import KINDS, LEAST, Share, Shares, shares
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.tables import table_of
from diaghoi.comparison.transitions import FATES, MISSED, Transitions, transitions
from diaghoi.data.table import UNDEFINED, Cell, Column, Line, Table, TextTable, shown
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import number_of
from diaghoi.oracles import ERROR_WORDS, error_title
from diaghoi.oracles.localised import OWN_OBJECT
from diaghoi.statistics.significance import Difference, p_cell, shown_p

NAMED = 3  # a sentence names at most this number of parts, verbs or other words
LISTED = 5  # rows of each kind in the listing
ATTEMPTS = {
    "human_box": "a prediction with the same object, but a wrong human box",
    "object_box": "a prediction with the same person box and object, but a wrong object box",
    "association": "another prediction with the same person box and object, a wrong association",
    "action": "a wrong action on the same pair",
}
"""Description of an attempt at an annotated triplet, by error."""
TITLES = {"verb": "Verbs", "object": "Objects", "class": "Classes", "image": "Images"}
FOUND = {
    "both": "Both",
    "only_first": "Only the first",
    "only_second": "Only this one",
    "neither": "Neither",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplainedDifference:
    """The difference between a model and the first model.

    Parameters
    ----------
    ap : ApDifference
        Parts of the difference due to true positives and to false positives of each kind.
    annotated : Transitions
        Fate of each annotated triplet.
    shares : Shares
        Verbs, objects, classes and images in which the difference lies.
    protocol : str
        Name of the protocol.
    test : Difference or None
        Test of the difference in mAP, if tested.
    """

    ap: ApDifference
    annotated: Transitions
    shares: Shares
    protocol: str
    test: Difference | None = None

    @property
    def labels(self) -> tuple[str, str]:
        """Names of the first model and of this model."""
        return self.ap.labels

    @property
    def found(self) -> dict[str, int]:
        """Number of annotated triplets found by both models, by only one model, or by neither."""
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
        # On data sets other than V-COCO, false positives have the labels of the published rule.
        read = f" (on found pairs, where {OWN_OBJECT})" if self.shares.roles else ""
        made = f", made of {', '.join(named)}{read}" if named else ""
        found = self.found
        return (
            f"{second} against {first}: {_points(means['total'])} points of mAP under "
            f"{self.protocol}{self._tested}{made}. {self._where}"
            f"Of {sum(found.values()):,} annotated triplets, both find {found['both']:,}, "
            f"only {second} {found['only_second']:,}, only {first} {found['only_first']:,}"
            f"{self._lost}."
        )

    @property
    def _tested(self) -> str:
        """Result of the test of the difference; empty without a test."""
        if self.test is None:
            return ""
        what = "" if self.test.significant else "not significant, "
        together = number_of("test", self.test.together)
        return f" ({what}{self.test.shown_p}, corrected for {together})"

    @property
    def _lost(self) -> str:
        """Describe what this model mostly does with triplets that only the first model finds."""
        lost = self.annotated.matrix()[0, 1:]
        if not lost.any():
            return ""
        most = int(lost.argmax())
        if FATES[most + 1] == MISSED:
            return f" ({lost[most]:,} of them missed by {self.labels[1]} on found pairs)"
        read = " on found pairs" if self.shares.roles else ""
        return (
            f" (for {lost[most]:,} of them, {self.labels[1]} has {ATTEMPTS[FATES[most + 1]]}{read})"
        )

    @property
    def _where(self) -> str:
        """Sentence on what stands out: verbs, objects or classes; without tests, the top verbs."""
        total = self.ap.means["full"]["total"]
        verb = "role" if self.shares.roles else "verb"
        if self.shares.confidence is None:
            largest = [each for each in self.shares.of["verb"][:NAMED] if each.share]
            named = ", ".join(f"{each.name} {_points(each.share)}" for each in largest)
            return (
                f"The {verb}s that differ most (untested, may be chance): {named}. "
                if named
                else ""
            )
        together = f"{self.shares.tested:,} {_kinds(self.shares)} tested together"
        for kind, word in zip(KINDS, (verb, "object", "class"), strict=True):
            found = self.shares.standing_out(kind)
            if not found:
                continue
            named = ", ".join(f"{each.name} {_points(each.share)}" for each in found[:NAMED])
            more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
            worst = shown_p(max(each.p or 0.0 for each in found), at_most=len(found) > 1)
            return (
                f"Of the {_points(total)} points, {_points(sum(each.share for each in found))} lie "
                f"in {number_of(word, len(found))} that "
                f"{'stands' if len(found) == 1 else 'stand'} out ({named}{more}; {worst}, "
                f"{together}). "
            )
        any_kind = verb if self.shares.roles else "verb, object or class"
        return f"No single {any_kind} stands out ({together}). "

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values."""
        return {
            "labels": list(self.labels),
            "ap": self.ap.to_dict(),
            "annotated": self.annotated.to_dict(),
            "shares": self.shares.to_dict(),
            "sentence": self.sentence,
        }


def explained(
    first: Diagnosis, second: Diagnosis, resamples: int = 0, **settings: Any
) -> ExplainedDifference:
    """Explain the difference between two detectors.

    The settings, and the exceptions raised, are as in :func:`diaghoi.comparison.shares.shares`.
    """
    return ExplainedDifference(
        ap=ap_difference(first, second),
        annotated=transitions(first, second),
        shares=shares(first, second, resamples, **settings),
        protocol=first.protocol.name,
    )


def explained_tables(
    models: Sequence[StudyModel], differences: Sequence[ExplainedDifference]
) -> tuple[Table, Table]:
    """Create the tables of differences from the first model.

    Parameters
    ----------
    models : sequence of StudyModel
        Descriptions of the first model and of all other models.
    differences : sequence of ExplainedDifference
        Differences of the other models from the first model, in order.
    """
    first = models[0].label
    reading = ""
    if any(each.shares.roles for each in differences):
        reading = (
            "\nFalse positives have their errors on found pairs, unlike in the counts of "
            f"predictions: {OWN_OBJECT}."
        )
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
    counts = [Column(key=key, title=title, unit="count") for key, title in FOUND.items()]

    def cells(of: Sequence[Column], values: Sequence[Mapping[str, float]]) -> list[list[Cell]]:
        # The first model has no cells, because all other models are compared with it.
        return [[Cell(value=row.get(column.key)) for column in of] for row in ({}, *values)]

    return (
        table_of(
            models,
            columns,
            cells(columns, [each.ap.means["full"] for each in differences]),
            key="difference",
            title=f"Difference in mAP to {first}",
            unit="points",
            caption="Below 0: worse than the first model.\nTrue positives: changes in found "
            "triplets and their ranks. False positives: changes in the number of false positives "
            "that rank above found triplets.\nThe parts sum to the "
            f"difference in mAP.{reading}",
        ),
        table_of(
            models,
            counts,
            cells(counts, [each.found for each in differences]),
            key="annotated",
            title="Annotated triplets found",
            caption=f"The first model is {first}.",
        ),
    )


def shares_table(difference: ExplainedDifference) -> Table:
    """List the verbs, objects, classes and images that differ most."""
    found = difference.shares
    lines = {
        kind: [Line(each.name, [each.share, *_certainty(each)]) for each in found.of[kind][:LISTED]]
        for kind in KINDS
    }
    dashes = [UNDEFINED] * 2 if found.confidence else []
    lines["image"] = [Line(name, [gone, *dashes]) for name, gone in found.images[:LISTED]]
    columns = [Column(title="Points", unit="points")]
    kinds = _kinds(found)
    caption = f"{kinds[0].upper()}{kinds[1:]}: contributions to the difference in mAP. "
    if found.confidence:
        columns += [Column(title=f"{100 * found.confidence:g} % interval"), Column(title="p")]
        caption += (
            f"Each interval is for one row alone; rows with fewer than {LEAST} annotated images "
            "have no interval. "
        )
        caption += f"p: corrected for {found.tested:,} {kinds}. "
    if found.images:
        caption += "Images: how much of the difference disappears if the image is left out."
    first, second = difference.labels
    titles = TITLES | {"verb": "Roles"} if found.roles else TITLES
    table = TextTable("Largest", columns, list(lines.values()), caption).table
    named = zip(filter(lines.get, lines), table.row_groups, strict=True)
    return replace(
        table,
        key="shares",
        title=f"Where the difference lies: {second} minus {first}",
        unit="points",
        row_groups=tuple(replace(group, title=titles[kind]) for kind, group in named),
        grouping="Of",
    )


def _kinds(found: Shares) -> str:
    return "roles" if found.roles else "verbs, objects and classes"


def _certainty(share: Share) -> list[str]:
    if share.p is None:
        return []
    bounds = UNDEFINED if share.interval is None else " to ".join(map(_points, share.interval))
    return [bounds, p_cell(share.p)]


def _words(name: str) -> str:
    return ERROR_WORDS.get(name, f"{_title(name)}s" if name == LABELS[0] else _title(name)).lower()


def _title(name: str) -> str:
    return "Classes in the mean" if name == CLASSES else error_title(name)


def _points(value: float) -> str:
    return shown(value, "points")
