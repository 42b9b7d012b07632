"""A table of models: rows by stage, the best of each column, means and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diaghoi.comparison.figures import SHOWN, Column, Topic
from diaghoi.comparison.study import STAGES, StudyModel

Values = tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A figure in a table.

    Parameters
    ----------
    value : float or None
        As in the result; None where it is undefined.
    best : bool
        Whether no other model's is better, as far as the figures are shown.
    mark : str
        Stands behind the figure; the caption of the table explains it.
    """

    value: float | None
    best: bool = False
    mark: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A model, or what was made of some of them.

    Parameters
    ----------
    title : str
        Label of the model.
    cells : tuple of Cell
        One for each column.
    backbone : str
        Of the model; empty where not given.
    kind : {"model", "mean", "difference"}
        Whether it is a model, the mean of the models of a stage, or two-stage mean less one-stage
        mean.
    """

    title: str
    cells: tuple[Cell, ...]
    backbone: str = ""
    kind: Literal["model", "mean", "difference"] = "model"


@dataclass(frozen=True, kw_only=True)
class Section:
    """Rows that belong together.

    Parameters
    ----------
    title : str
        For instance "One-stage"; empty where the rows need no title.
    rows : tuple of Row
        In the order in which they are shown.
    """

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One topic of a comparison, as it is shown.

    Parameters
    ----------
    key, title, caption, best : str
        As of :class:`diaghoi.comparison.figures.Topic`.
    columns : tuple of Column
        Their titles, units and keys.
    sections : tuple of Section
        The rows.
    grouping : str
        What the titles of the sections tell of the models.
    """

    key: str
    title: str
    caption: str
    best: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    grouping: str = "Stage"

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, without their sections."""
        return tuple(row for section in self.sections for row in section.rows)

    @property
    def marked(self) -> bool:
        """Whether some figure is the best of its column."""
        return any(cell.best for row in self.rows for cell in row.cells)


def table_of(topic: Topic, models: Sequence[StudyModel]) -> Table:
    """Lay a topic out.

    Parameters
    ----------
    topic : Topic
        With one row of values for each model.
    models : sequence of StudyModel
        In the order of the rows.
    """
    best = [
        best_models(column, [row[place] for row in topic.values])
        for place, column in enumerate(topic.columns)
    ]
    rows = {
        model.label: Row(
            title=model.label,
            backbone=model.backbone,
            cells=tuple(
                Cell(value=value, best=number in best[place]) for place, value in enumerate(values)
            ),
        )
        for number, (model, values) in enumerate(zip(models, topic.values, strict=True))
    }
    means = means_of(models, topic.values)
    sections = []
    for stage in stages(models):
        members = [rows[model.label] for model in models if model.stage == stage]
        if stage and len(members) > 1:
            members.append(_made("Mean", "mean", means[stage]))
        sections.append(Section(title=_stage_title(stage, models), rows=tuple(members)))
    caption = topic.caption
    if "difference" in means:
        # Below the stages that it is between, above the models of none.
        row = _made("Difference", "difference", means["difference"])
        sections.insert(len(STAGES), Section(title="", rows=(row,)))
        caption += f" Difference: {STAGES['two'].lower()} minus {STAGES['one'].lower()}."
    return Table(
        key=topic.key,
        title=topic.title,
        caption=caption,
        best=topic.best,
        columns=topic.columns,
        sections=tuple(sections),
    )


def _made(title: str, kind: Literal["mean", "difference"], values: Values) -> Row:
    return Row(title=title, kind=kind, cells=tuple(Cell(value=value) for value in values))


def best_models(column: Column, values: Sequence[float | None]) -> frozenset[int]:
    """Find the models that have the best value of a column; ties go by what is shown.

    Parameters
    ----------
    column : Column
        Says what is better, and how values are shown.
    values : sequence of (float or None)
        One for each model; None where it is undefined.

    Returns
    -------
    frozenset of int
        Places of the best; none where there is nothing to compare.
    """
    defined = [value for value in values if value is not None]
    if column.better is None or len(defined) < 2:
        return frozenset()
    factor, decimals = SHOWN[column.unit]
    shown = [None if value is None else round(factor * value, decimals) for value in values]
    best = (max if column.better == "higher" else min)(each for each in shown if each is not None)
    return frozenset(number for number, value in enumerate(shown) if value == best)


def stages(models: Sequence[StudyModel]) -> list[str]:
    """List the stages of the models: ``one``, ``two``, and an empty string where none is given."""
    return [stage for stage in (*STAGES, "") if any(model.stage == stage for model in models)]


def _stage_title(stage: str, models: Sequence[StudyModel]) -> str:
    if stage:
        return STAGES[stage]
    return "Stage not told" if any(model.stage for model in models) else ""


def means_of(models: Sequence[StudyModel], values: Sequence[Values]) -> dict[str, Values]:
    """Average the values of each stage, and take one-stage from two-stage means.

    Parameters
    ----------
    models : sequence of StudyModel
        The models.
    values : sequence of tuple
        A row for each model; None where a value is undefined.

    Returns
    -------
    dict
        A row by stage, and ``difference`` where there are both stages.
    """
    means: dict[str, Values] = {}
    for stage in STAGES:
        rows = [row for model, row in zip(models, values, strict=True) if model.stage == stage]
        if rows:
            means[stage] = tuple(map(_mean, zip(*rows, strict=True)))
    if len(means) == len(STAGES):
        pairs = zip(means["one"], means["two"], strict=True)
        means["difference"] = tuple(
            None if one is None or two is None else two - one for one, two in pairs
        )
    return means


def _mean(values: Values) -> float | None:
    # The mean of the others would be one of other models.
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
