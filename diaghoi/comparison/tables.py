"""Tables of models: rows by stage, best numbers, means and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from diaghoi.comparison.study import DESCRIPTIONS, STAGES, StudyModel
from diaghoi.data.arrays import less
from diaghoi.data.table import SHOWN, Cell, Column, Row, RowGroup, Table, shown

Values = tuple[float | None, ...]
T = TypeVar("T")


def table_of(
    models: Sequence[StudyModel],
    columns: Sequence[Column],
    cells: Sequence[Sequence[Cell]],
    *,
    key: str,
    title: str,
    caption: str,
    unit: str = "",
    best: str = "best of its column",
) -> Table:
    """Lay out the numbers of models by stage, with means.

    Parameters
    ----------
    models : sequence of StudyModel
        Models in the order of the rows.
    columns : sequence of Column
        Columns in the order shown.
    cells : sequence of sequence of Cell
        One cell for each model and column; only its value and mark are used.
    key, title, caption, unit, best : str
        As in :class:`diaghoi.data.table.Table`.
    """
    rows = model_rows(models, columns, cells)
    staged = [row for row, model in zip(rows, models, strict=True) if model.stage]
    means = means_of(models, [tuple(cell.value for cell in row) for row in cells])
    # A row of dashes would carry no information.
    means = {name: values for name, values in means.items() if values.count(None) < len(values)}
    groups = by_stage(models, rows)
    row_groups: list[RowGroup] = []
    for stage, members in groups.items():
        if len(members) > 1:
            if stage in means:
                members.append(_made("Mean", "mean", means[stage], columns, members))
            heading = STAGES.get(stage, "Stage not given") if staged else ""
            row_groups.append(RowGroup(title=heading, rows=tuple(members)))
        elif stage and row_groups and not row_groups[-1].title:
            row_groups[-1] = RowGroup(rows=(*row_groups[-1].rows, *members))
        else:
            row_groups.append(RowGroup(rows=tuple(members)))
        if "difference" in means and stage == "two":
            row = _made("Difference", "difference", means["difference"], columns, staged)
            row_groups.append(RowGroup(rows=(row,)))
    # A heading above a single row is not worth its space.
    alone = [(stage, rows[0].title) for stage, rows in groups.items() if stage and len(rows) == 1]
    footnotes = [f"{STAGES[stage]}: {label}." for stage, label in alone]
    if "difference" in means:
        footnotes.append(
            f"Difference: {STAGES['two'].lower()} minus {STAGES['one'].lower()}, before rounding."
        )
    return Table(
        key=key,
        title=title,
        unit=unit,
        heads=("Model", *(DESCRIPTIONS[key] for key in _given(models))),
        columns=tuple(columns),
        row_groups=tuple(row_groups),
        grouping="Stage",
        caption=caption,
        footnotes=tuple(footnotes),
        best=best,
    )


def by_stage(models: Sequence[StudyModel], each: Sequence[T]) -> dict[str, list[T]]:
    """Group the models by stage: one-stage, two-stage, and without a stage."""
    groups: dict[str, list[T]] = {stage: [] for stage in (*STAGES, "")}
    for model, of in zip(models, each, strict=True):
        if model.stage in groups:  # multiple-choice tables have groups of their own
            groups[model.stage].append(of)
    return {stage: of for stage, of in groups.items() if of}


def model_rows(
    models: Sequence[StudyModel], columns: Sequence[Column], cells: Sequence[Sequence[Cell]]
) -> list[Row]:
    """Create the rows of models, with the best value of each column; marked values are never best.

    Parameters
    ----------
    models, columns, cells
        As in :func:`table_of`.
    """
    best = [
        best_models(column, [None if cell.mark else cell.value for cell in figures])
        for column, figures in zip(columns, zip(*cells, strict=True), strict=True)
    ]
    rows = []
    for number, (model, figures) in enumerate(zip(models, cells, strict=True)):
        made = [
            replace(cell, text=shown(cell.value, column.unit), best=number in numbers)
            for cell, column, numbers in zip(figures, columns, best, strict=True)
        ]
        titles = (model.label, *(model.descriptions[key] for key in _given(models)))
        rows.append(Row(titles=titles, cells=tuple(made)))
    return rows


def _given(models: Sequence[StudyModel]) -> list[str]:
    """List the descriptions that at least one model has."""
    return [key for key in DESCRIPTIONS if any(model.descriptions[key] for model in models)]


def _made(
    title: str,
    kind: Literal["mean", "difference"],
    values: Values,
    columns: Sequence[Column],
    members: Sequence[Row],
) -> Row:
    """Create a row that is derived from several models and keeps the marks of their numbers."""
    cells = []
    for place, (value, column) in enumerate(zip(values, columns, strict=True)):
        marks = (row.cells[place].mark for row in members)
        cells.append(
            Cell(
                value=value,
                text=shown(value, column.unit, signed=kind == "difference"),
                mark="" if value is None else next(filter(None, marks), ""),
            )
        )
    titles = (title, *[""] * (len(members[0].titles) - 1))
    return Row(titles=titles, cells=tuple(cells), kind=kind)


def best_models(column: Column, values: Sequence[float | None]) -> frozenset[int]:
    """Find the models with the best value of a column; values that are displayed alike tie.

    Parameters
    ----------
    column : Column
        The column, with its direction and format.
    values : sequence of (float or None)
        One value for each model; None if it is undefined.

    Returns
    -------
    frozenset of int
        Indices of the best models; empty if there is nothing to compare.
    """
    defined = [value for value in values if value is not None]
    if column.better is None or len(defined) < 2:
        return frozenset()
    factor, decimals = SHOWN[column.unit]
    shown = [None if value is None else round(factor * value, decimals) for value in values]
    best = (max if column.better == "higher" else min)(each for each in shown if each is not None)
    return frozenset(number for number, value in enumerate(shown) if value == best)


def means_of(models: Sequence[StudyModel], values: Sequence[Values]) -> dict[str, Values]:
    """Average the values of each stage, and subtract the one-stage mean from the two-stage mean.

    Parameters
    ----------
    models : sequence of StudyModel
        The models.
    values : sequence of tuple
        One row per model; None if a value is undefined.

    Returns
    -------
    dict
        One row per stage, and ``difference`` if both stages exist.
    """
    means: dict[str, Values] = {}
    for stage in STAGES:
        rows = [row for model, row in zip(models, values, strict=True) if model.stage == stage]
        if rows:
            means[stage] = tuple(map(_mean, zip(*rows, strict=True)))
    if len(means) == len(STAGES):
        means["difference"] = tuple(map(less, means["two"], means["one"]))
    return means


def _mean(values: Values) -> float | None:
    # A mean that skipped missing values would cover fewer models than the means next to it.
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
