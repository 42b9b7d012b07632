"""Detectors side by side: tables of their results, with the best of each column and group means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from diaghoi._version import __version__
from diaghoi.comparable import check_comparable, shared_notes
from diaghoi.exceptions import InputError
from diaghoi.results import Result, figure, words
from diaghoi.significance import Difference
from diaghoi.study import STAGES, Model, check_models
from diaghoi.topics import SHOWN, Column, Topic, topics

Values = tuple[float | None, ...]
DIFFERS = "†"


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
        Of the model; empty where not told.
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
        As of :class:`diaghoi.topics.Topic`.
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


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Some detectors on one data set, under one protocol.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    protocol, signature : str
        Name of the protocol and its choices.
    images : int or None
        Number of images; None where it is not the same for all.
    models : tuple of Model
        In the order in which they were given.
    tables : tuple of Table
        One for each topic.
    caveats : tuple of str
        What keeps the figures of the models from being comparable.
    notes : tuple of str
        What a reader of the single results has to know.
    differences : tuple of Difference
        Tests of models against the first, where they were asked for.
    """

    dataset: str
    protocol: str
    signature: str
    images: int | None
    models: tuple[Model, ...]
    tables: tuple[Table, ...]
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    differences: tuple[Difference, ...] = ()

    @property
    def subject(self) -> str:
        """Data set and protocol in a few words."""
        images = "" if self.images is None else f", {self.images:,} images"
        return f"{self.dataset}{images}, protocol {self.protocol}"

    @property
    def has_backbones(self) -> bool:
        """Whether any model has a backbone."""
        return any(model.backbone for model in self.models)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain Python values: the JSON of ``diaghoi compare --json``.

        Returns
        -------
        dict
            ``diaghoi`` (version), ``dataset``, ``protocol`` (``name``, ``signature``) and
            ``images``; ``models``, each with ``label``, ``stage`` and ``backbone`` (None where not
            told); ``groups``, the labels of the models of each stage; ``tables``, by topic:

            - ``title`` and ``caption``, for people;
            - ``columns``: ``key``, ``title``, ``group``, ``unit`` and ``better`` of each;
            - ``models``: by label, the value under the key of each column, at full precision;
              fractions for the units percent and points;
            - ``best``: labels of the best models, by column that has a better direction;
            - ``means``: of the models of each stage, and their ``difference``, two-stage less
              one-stage, as ``models``; empty without stages;

            and ``caveats``, ``notes`` and ``differences``
            (:meth:`diaghoi.significance.Difference.to_dict`).
        """
        return {
            "diaghoi": __version__,
            "dataset": self.dataset,
            "protocol": {"name": self.protocol, "signature": self.signature},
            "images": self.images,
            "models": [
                {
                    "label": model.label,
                    "stage": model.stage or None,
                    "backbone": model.backbone or None,
                }
                for model in self.models
            ],
            "groups": {
                stage: [model.label for model in self.models if model.stage == stage]
                for stage in _stages(self.models)
                if stage
            },
            "tables": {table.key: self._table(table) for table in self.tables},
            "caveats": list(self.caveats),
            "notes": list(self.notes),
            "differences": [each.to_dict() for each in self.differences],
        }

    def with_differences(
        self, differences: Sequence[Difference], level: float = 0.05
    ) -> Comparison:
        """Mark the figures that differ from those of another model.

        Parameters
        ----------
        differences : sequence of Difference
            Corrected together.
        level : float
            Figures with a lower corrected p are marked.
        """
        marked = {
            (_place(each.path), each.labels[1]) for each in differences if each.p_holm < level
        }
        others = sorted({each.labels[0] for each in differences})
        words = (
            f" {DIFFERS}: differs from {', '.join(others)} (p < {level:g}, corrected for "
            f"{len(differences)} comparisons)."
        )
        tables = tuple(_marked(table, marked, words) for table in self.tables)
        return replace(self, tables=tables, differences=tuple(differences))

    def _table(self, table: Table) -> dict[str, Any]:
        keys = [column.key for column in table.columns]
        models = {row.title: row for row in table.rows if row.kind == "model"}

        def named(values: Iterable[float | None]) -> dict[str, float | None]:
            return dict(zip(keys, values, strict=True))

        rows = [tuple(cell.value for cell in models[model.label].cells) for model in self.models]
        means = _means(self.models, rows)
        return {
            "title": table.title,
            "caption": table.caption,
            "columns": [
                {
                    "key": column.key,
                    "title": column.title,
                    "group": column.group,
                    "unit": column.unit,
                    "better": column.better,
                }
                for column in table.columns
            ],
            "models": {
                model.label: named(row) for model, row in zip(self.models, rows, strict=True)
            },
            "best": {
                column.key: [
                    model.label for model in self.models if models[model.label].cells[place].best
                ]
                for place, column in enumerate(table.columns)
                if column.better is not None
            },
            "means": {name: named(values) for name, values in means.items()},
        }


def compare(models: Sequence[Model], results: Sequence[Result]) -> Comparison:
    """Set the results of some detectors side by side.

    Parameters
    ----------
    models : sequence of Model
        Their labels, stages and backbones.
    results : sequence of mapping
        What :meth:`diaghoi.Diagnosis.to_dict` gives for each, or a file of ``diaghoi report
        --json`` holds. The labels are those of ``models``.

    Returns
    -------
    Comparison
        Its tables have the models as rows, one-stage detectors first where stages are told. Group
        means stand below groups of several models; they are undefined where the figure of a model
        is.

    Raises
    ------
    InputError
        Where there is no model, labels stand there twice, data sets or protocols differ, or a
        result cannot be used.
    """
    if not models:
        raise InputError("there is no model to compare; give at least one result")
    models = check_models(models)
    results = [
        {**result, "label": model.label} for model, result in zip(models, results, strict=True)
    ]
    caveats = check_comparable(results)
    first = results[0]
    images = {figure(result, "counts", "images") for result in results}
    number = images.pop() if len(images) == 1 else None
    return Comparison(
        dataset=words(first, "dataset"),
        protocol=words(first, "protocol", "name"),
        signature=words(first, "protocol", "signature"),
        images=None if number is None else int(number),
        models=models,
        tables=tuple(_table(topic, models) for topic in topics(results)),
        caveats=caveats,
        notes=shared_notes(results),
    )


def _place(path: str) -> tuple[str, str]:
    """Table and column of a figure by its path in a result."""
    if path.startswith("oracles."):
        _, oracle, _, split = path.split(".", 3)
        return f"delta_map_{split}", oracle
    if path.startswith("map."):
        return "map", path
    table, column = path.split(".", 1)
    return table, column


def _marked(table: Table, marked: set[tuple[tuple[str, str], str]], words: str) -> Table:
    """Mark some cells of a table, and explain the mark where there is any."""

    def cell(row: Row, place: int) -> Cell:
        at = (table.key, table.columns[place].key), row.title
        hit = row.kind == "model" and at in marked
        return replace(row.cells[place], mark=DIFFERS if hit else "")

    def row_of(row: Row) -> Row:
        return replace(row, cells=tuple(cell(row, place) for place in range(len(row.cells))))

    if not any(at[0] == table.key for at, _ in marked):
        return table
    sections = tuple(
        replace(section, rows=tuple(map(row_of, section.rows))) for section in table.sections
    )
    return replace(table, sections=sections, caption=table.caption + words)


def _table(topic: Topic, models: Sequence[Model]) -> Table:
    """Lay a topic out: rows by stage, the best of each column, means and their difference."""
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
    means = _means(models, topic.values)
    sections = []
    for stage in _stages(models):
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


def _stages(models: Sequence[Model]) -> list[str]:
    """List the stages of the models: one, two, not told."""
    return [stage for stage in (*STAGES, "") if any(model.stage == stage for model in models)]


def _stage_title(stage: str, models: Sequence[Model]) -> str:
    if stage:
        return STAGES[stage]
    return "Stage not told" if any(model.stage for model in models) else ""


def _means(models: Sequence[Model], values: Sequence[Values]) -> dict[str, Values]:
    """Average the values of each stage, and take one-stage from two-stage means."""
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
