"""Tables per class and per image that a page sorts: columns, compact for thousands of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from diaghoi.cases.cases import ERRORS
from diaghoi.data.arrays.types import Array, BoolArray, FloatArray
from diaghoi.data.table import UNDEFINED, percent
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.means import TITLES
from diaghoi.oracles import ORACLES, TOTALS, error_title
from diaghoi.report.html.words import definition_of, in_unicode, meaning_of


@dataclass(frozen=True, kw_only=True)
class SortableColumn:
    """One column of a table.

    Parameters
    ----------
    key : str
        Name within the table.
    title : str
        Its heading.
    about : str
        What it holds, for a hint at the heading.
    kind : {"name", "text", "count", "percent", "delta"}
        How a value is shown and sorted; ``name`` heads its row, ``delta`` has a sign.
    values : list
        One value a row, None for what is undefined. Percents and deltas are hundredths of a
        percent as integers: what is shown, in few letters.
    views : tuple of str
        The choices of columns that it belongs to; none for all. The name of an error is a choice.
    error : str
        The error whose absence (zero or undefined) it shows; empty for none.
    """

    key: str
    title: str
    kind: Literal["name", "text", "count", "percent", "delta"]
    values: list[Any]
    about: str = ""
    views: tuple[str, ...] = ()
    error: str = ""

    def shown(self, row: int) -> str:
        """Show one value as the page does."""
        value = self.values[row]
        if self.kind in ("percent", "delta"):
            return percent(None if value is None else value / 1e4, signed=self.kind == "delta")
        return UNDEFINED if value is None else f"{value:,}" if self.kind == "count" else str(value)


@dataclass(frozen=True, kw_only=True)
class SortableTable:
    """A table of the page.

    Parameters
    ----------
    columns : tuple of SortableColumn
        Of equal lengths.
    groups : dict of (rows,) bool array
        Rows that can be chosen, by the title of the choice.
    """

    columns: tuple[SortableColumn, ...]
    groups: Mapping[str, BoolArray]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def __getitem__(self, key: str) -> SortableColumn:
        return next(column for column in self.columns if column.key == key)

    def to_json(self) -> str:
        """Return the table as JSON that can stand between the tags of a script element."""
        columns = [
            {name: value for name, value in vars(column).items() if value}
            for column in self.columns
        ]
        groups = [
            {"title": in_unicode(title), "rows": np.flatnonzero(rows).tolist()}
            for title, rows in self.groups.items()
        ]
        text = json.dumps(
            {"rows": len(self), "columns": columns, "groups": groups},
            separators=(",", ":"),
            allow_nan=False,
        )
        # Nothing in the data may end the script element, or begin a comment or an entity in it.
        for letter in "<>&":
            text = text.replace(letter, f"\\u{ord(letter):04x}")
        return text


def sortable_classes(diagnosis: Diagnosis) -> SortableTable:
    """Everything that is known of each HOI class that the protocol counts.

    Beyond :attr:`Diagnosis.classes`: the groups that a class belongs to, and the error that costs
    it most.
    """
    table = diagnosis.classes
    counted = diagnosis.splits["full"]
    groups = {
        TITLES.get(split, split): members[counted]
        for split, members in diagnosis.splits.items()
        if split != "full"
    }
    costliest, cost = _costliest(table)
    predicted = np.sum([table[label] for label in LABELS], axis=0)
    main = ("overview", *ERRORS)
    columns = [
        _numbers("class", "No.", "count", table["class"], "Number in the data set, from 1."),
        _texts("name", "Class", "name", table["name"]),
        *([_memberships(groups, len(predicted))] if groups else []),
        _numbers("annotated", "Annotated", "count", table["annotated"], "Annotated triplets."),
        _numbers("predicted", "Predicted", "count", predicted, "Predicted triplets.", main),
        _found(table, (*main, "counts")),
        _numbers("ap", "AP, %", "percent", table["ap"], "Average precision.", (*main, "deltas")),
        _numbers(
            "max_recall",
            "Max recall, %",
            "percent",
            table["max_recall"],
            "Share of the annotated triplets that any prediction finds.",
            ("overview",),
        ),
        _texts(
            "costliest",
            "Costs most",
            "text",
            [None if error is None else error_title(error) for error in costliest],
            "The kind of error whose repair would raise AP most.",
            ("overview",),
        ),
        _numbers(
            "cost",
            "ΔAP",
            "delta",
            cost,
            "What repairing that error would add to AP, in points.",
            ("overview",),
        ),
        *_counts(table, diagnosis),
        *_deltas(table),
    ]
    return SortableTable(columns=tuple(columns), groups=groups)


def sortable_images(diagnosis: Diagnosis) -> SortableTable:
    """Count annotations, predictions and errors of each image; see :attr:`Diagnosis.images`."""
    table = diagnosis.images
    names = [name or f"image {row}" for row, name in enumerate(table["image"].tolist(), 1)]
    columns = (
        _texts("image", "Image", "name", names),
        _numbers("annotated", "Annotated", "count", table["annotated"], "Annotated triplets."),
        _numbers("predicted", "Predicted", "count", table["predicted"], "Predicted triplets."),
        _found(table, ()),
        *_counts(table, diagnosis),
    )
    return SortableTable(columns=columns, groups={})


def _texts(
    key: str,
    title: str,
    kind: Literal["name", "text"],
    values: Any,
    about: str = "",
    views: tuple[str, ...] = (),
) -> SortableColumn:
    texts = [None if value is None else in_unicode(str(value)) for value in values]
    return SortableColumn(key=key, title=title, kind=kind, values=texts, about=about, views=views)


def _numbers(
    key: str,
    title: str,
    kind: Literal["count", "percent", "delta"],
    values: Array,
    about: str = "",
    views: tuple[str, ...] = (),
    error: str = "",
) -> SortableColumn:
    shown = values.tolist() if kind == "count" else _hundredths(values)
    return SortableColumn(
        key=key, title=title, kind=kind, values=shown, about=about, views=views, error=error
    )


def _hundredths(fractions: FloatArray) -> list[int | None]:
    """Turn fractions into hundredths of a percent; None for NaN."""
    whole = np.rint(1e4 * np.nan_to_num(fractions)).astype(np.int64).tolist()
    known = ~np.isnan(fractions)
    return [value if is_known else None for value, is_known in zip(whole, known, strict=True)]


def _found(table: Mapping[str, Array], views: tuple[str, ...]) -> SortableColumn:
    about = "Predictions that find an annotated triplet."
    return _numbers("true_positive", "True positive", "count", table["true_positive"], about, views)


def _counts(table: Mapping[str, Array], diagnosis: Diagnosis) -> list[SortableColumn]:
    """One column for each kind of error that is counted."""
    columns = []
    for error in ERRORS:
        about = meaning_of(error, categories_count=diagnosis.protocol.categories_count)
        views = ("counts", error)
        columns.append(
            _numbers(error, error_title(error), "count", table[error], about, views, error)
        )
    return columns


def _deltas(table: Mapping[str, Array]) -> list[SortableColumn]:
    """One column for each oracle: what it changes in AP."""
    columns = []
    for name in ORACLES:
        key, title = f"delta_{name}", f"ΔAP {error_title(name)}"
        about = f"Change of AP in points. {definition_of(name)}"
        error = name if name in ERRORS else ""
        views = ("deltas", error) if error else ("deltas",)
        columns.append(_numbers(key, title, "delta", table[key], about, views, error))
    return columns


def _memberships(groups: Mapping[str, BoolArray], rows: int) -> SortableColumn:
    """Name the groups that each class belongs to."""
    titles = [
        ", ".join(title for title, members in groups.items() if members[row]) for row in range(rows)
    ]
    return _texts("group", "Group", "text", titles, "Groups of classes.", ("overview", *ERRORS))


def _costliest(
    table: Mapping[str, Array],
) -> tuple[Sequence[str | None], FloatArray]:
    """Find the error of each class whose repair gains most, and the gain; nothing below 0.005."""
    names = [name for name in ORACLES if name not in TOTALS]
    deltas = np.nan_to_num(np.stack([table[f"delta_{name}"] for name in names]), nan=-np.inf)
    best, gain = deltas.argmax(axis=0), deltas.max(axis=0)
    gains = gain >= 0.5e-4
    errors = [names[at] if does else None for at, does in zip(best.tolist(), gains, strict=True)]
    return errors, np.where(gains, gain, np.nan)
