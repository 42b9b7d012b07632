"""Comparison of detectors: tables of their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diaghoi._version import __version__
from diaghoi.comparison.comparable import (
    check_comparable,
    number_of_images,
    shared_notes,
    shared_signature,
)
from diaghoi.comparison.explained import (
    ExplainedDifference,
    explained,
    explained_tables,
    shares_table,
)
from diaghoi.comparison.figures import comparison_tables
from diaghoi.comparison.results import Result, classes_in, leaving, text
from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.comparison.slices import Slices
from diaghoi.comparison.study import StudyModel, check_models
from diaghoi.comparison.tables import by_stage, means_of
from diaghoi.data.protocol import title_of
from diaghoi.data.table import Cell, Row, Table, data_frame
from diaghoi.data.vocabulary import printed_name
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.methods import OneScreen
from diaghoi.exceptions import InputError, close_matches, number_of
from diaghoi.oracles import ORACLES, TOTALS
from diaghoi.statistics.significance import Difference

DIFFERS = "†"
TOLD = ", confirmed against all others by the tests"
"""Words added to the legend for the best value in a column if models are tested."""
DESCRIBED = ("key", "title", "group", "unit", "better")  # fields of a column in JSON
MEANS = ("classes_in_mean", "classes_in_official")
WIDE = ("official", "map", "delta_map", "pairs", "negatives_actions")
"""Key prefixes of the tables whose columns are in the wide frame."""


@dataclass(frozen=True, kw_only=True)
class Comparison(OneScreen):
    """Several detectors on one data set, under one protocol.

    Numbers are fractions or counts; ``print`` and tables show percent.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    protocol, signature : str
        Name of the protocol and its choices. Choices that depend on the detector, such as the
        number of triplets per image, name their models if they differ.
    images : int or None
        Number of images; None if the models differ.
    models : tuple of StudyModel
        Models in the order given.
    tables : tuple of Table
        Tables of the models' numbers.
    caveats : tuple of str
        Reasons why the models' numbers are not comparable.
    notes : tuple of str
        Notes on the individual results.
    classes : mapping of str
        Number of classes in the full means, ``600 classes``, by ``classes_in_mean`` (of the
        protocol) and ``classes_in_official``; empty if the models differ or a result lacks the
        number. Under ``leave_mean``: the number of classes that leave the mean when missed triplets
        are repaired.
    differences : tuple of Difference
        Tests of all models against the first model, if requested.
    mark : str
        One sentence that explains the mark of significant differences; empty without tests.
    explained : tuple of ExplainedDifference
        Parts of the difference between the first model and every other model, if requested.
    listings : tuple of Table
        Tables whose rows are not models but, for example, classes or slices.
    slices : Slices or None
        Numbers of parts of the data, if requested.
    intervals : mapping
        Bounds of the models' numbers by label and path; empty for results without intervals.
    """

    dataset: str
    protocol: str
    signature: str
    images: int | None
    models: tuple[StudyModel, ...]
    tables: tuple[Table, ...]
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    classes: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    mark: str = ""
    explained: tuple[ExplainedDifference, ...] = ()
    listings: tuple[Table, ...] = ()
    slices: Slices | None = None
    intervals: Mapping[str, Mapping[str, Sequence[float] | None]] = field(default_factory=dict)

    def __repr__(self) -> str:
        labels = ", ".join(model.label for model in self.models)
        return f"<Comparison of {labels} on {self.subject}>"

    @property
    def protocol_title(self) -> str:
        """The protocol, with the choices that the user changed."""
        return title_of(self.protocol, self.signature)

    @property
    def subject(self) -> str:
        """Short description of data set and protocol."""
        images = "" if self.images is None else f", {number_of('image', self.images)}"
        return f"{printed_name(self.dataset)}{images}, protocol {self.protocol_title}"

    @property
    def parts(self) -> tuple[Comparison, ...]:
        """The comparison itself, which has no other parts; see :mod:`diaghoi.comparison.joint`."""
        return (self,)

    @property
    def statements(self) -> tuple[str, ...]:
        """Results of the tests, one sentence each."""
        return tuple(f"{difference.sentence}." for difference in self.differences)

    def each(self, change: Callable[[Comparison], Comparison]) -> Comparison:
        """Apply a change to the comparison on each data set, here to the only comparison."""
        return change(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values: the JSON of ``diaghoi compare --json``.

        Returns
        -------
        dict
            ``diaghoi`` (version), ``dataset``, ``protocol`` (``name``, ``signature``) and
            ``images``; ``models``, each with ``label``, ``stage``, ``venue``, ``backbone``,
            ``detector`` and ``classifier`` (None if not given); ``groups``, the labels of the
            models of each stage; ``tables``, by key:

            - ``title`` and ``caption``, for readers, with the footnotes that tables share;
            - ``columns``: ``key``, ``title``, ``group``, ``unit`` and ``better`` of each;
            - ``models``: by label, the value under the key of each column, at full precision;
              fractions for the units percent and points;
            - ``best``: labels of the best models, for each column in which higher or lower is
              better;
            - ``means``: of the models of each stage, and their ``difference``, two-stage minus
              one-stage, in the form of ``models``; empty without stages;

            and ``caveats``, ``notes`` and ``differences``
            (:meth:`diaghoi.statistics.significance.Difference.to_dict`); if requested, also
            ``explained`` (:meth:`diaghoi.comparison.explained.ExplainedDifference.to_dict` of each
            model but the first) and ``slices`` (:meth:`diaghoi.comparison.slices.Slices.to_dict`).
        """
        labels = [model.label for model in self.models]
        result: dict[str, Any] = {
            "diaghoi": __version__,
            "dataset": self.dataset,
            "protocol": {"name": self.protocol, "signature": self.signature},
            "images": self.images,
            "models": [model.to_dict() for model in self.models],
            "groups": {stage: of for stage, of in by_stage(self.models, labels).items() if stage},
            "tables": {table.key: self._table(table) for table in self.tables},
            "caveats": list(self.caveats),
            "notes": list(self.notes),
            "differences": [each.to_dict() for each in self.differences],
        }
        if self.explained:
            result["explained"] = [each.to_dict() for each in self.explained]
        if self.slices is not None:
            result["slices"] = self.slices.to_dict()
        return result

    def to_frame(self, table: str | None = None) -> Any:
        """Return the numbers of all models, or of one table, as a pandas data frame.

        Parameters
        ----------
        table : str, optional
            Key of a table in :meth:`to_dict`, such as ``official``, ``map`` or ``delta_map_full``.
            Columns keep the keys of the JSON. The default is one wide frame.

        Returns
        -------
        pandas.DataFrame
            One row per model, at full precision; numbers shown in percent or points are fractions.
            The wide frame has ``model``, ``official_default`` (the benchmark's own mAP), ``map``,
            ``max_recall``, ``delta_map_association`` and so on for each error, ``pairs_recall``,
            ``pairs_precision``, ``negatives_ap``, ``actions_map`` and so on; a name that ends in a
            group, such as ``map_rare``, refers to the classes of the group, and other names refer
            to all classes.

        Raises
        ------
        InputError
            If the table is unknown, or pandas is not installed.
        """
        known = [each.key for each in self.tables]
        if table is None:
            return data_frame(self._wide())
        if table not in known:
            raise InputError(
                f"table: '{table}' is not known{close_matches(table, known)}; give one of "
                f"{', '.join(known)}"
            )
        found = self._table(self.tables[known.index(table)])["models"]
        return data_frame([{"model": label, **values} for label, values in found.items()])

    def _wide(self) -> list[dict[str, Any]]:
        """Create a row for each model from the tables of :data:`WIDE`, or else from all tables."""
        tables = [each for each in self.tables if each.key.startswith(WIDE)] or self.tables
        keys = [column.key for each in tables if each.key == "map" for column in each.columns]
        groups = [key.removeprefix("map.") for key in keys if key.startswith("map.")]
        rows: list[dict[str, Any]] = [{"model": model.label} for model in self.models]
        for table in tables:
            found = self._table(table)["models"]
            for key in (column.key for column in table.columns if column.key != "map"):
                name = _frame_name(f"{table.key}.{key}", groups)
                for row in rows:
                    row[name] = found[row["model"]][key]
        return rows

    def explain(self, differences: Sequence[ExplainedDifference]) -> Comparison:
        """Add the parts of the difference between the first model and every other model.

        Parameters
        ----------
        differences : sequence of ExplainedDifference
            Differences of all models but the first, in order.

        Returns
        -------
        Comparison
            With two more tables, ``difference`` and ``annotated``, a listing of the verbs, objects,
            classes and images that differ most, and a sentence for each model. Each sentence
            includes the test of the difference if the test was made before.

        Raises
        ------
        InputError
            If there are fewer than two models.
        """
        if not differences:
            raise InputError("a difference needs at least two models; only one is given")
        tests = {each.labels: each for each in self.differences if each.path == "map.full"}
        differences = [replace(each, test=tests.get(each.labels)) for each in differences]
        return replace(
            self,
            tables=(*self.tables, *explained_tables(self.models, differences)),
            listings=(*self.listings, *map(shares_table, differences)),
            notes=(*(each.sentence for each in differences), *self.notes),
            explained=tuple(differences),
        )

    def with_slices(self, slices: Slices) -> Comparison:
        """Add listings of the models' numbers in slices of the annotations."""
        return replace(
            self,
            listings=(*self.listings, *slice_tables(slices.to_dict())),
            notes=(*self.notes, *slices.notes),
            slices=slices,
        )

    def with_differences(
        self, differences: Sequence[Difference], level: float = 0.05
    ) -> Comparison:
        """Mark the numbers that differ significantly between models.

        A number stays marked as the best of its column only if the tests distinguish its model from
        all others. The tests compare models with the first, so they also distinguish a
        significantly better model from a significantly worse one.

        Parameters
        ----------
        differences : sequence of Difference
            Corrected together.
        level : float
            Numbers are marked if their corrected p is below this level.
        """
        marked = {
            (place, each.labels[1])
            for each in differences
            if each.p_holm < level
            for place in (place_of(each.path), *(("official", key) for key in self.official(each)))
        }
        others = sorted({each.labels[0] for each in differences})
        mark = (
            f"{DIFFERS}: differs from {', '.join(others)} (p < {level:g}, corrected for "
            f"{len(differences)} comparisons)."
        )
        first = self.models[0].label
        tables = tuple(_marked(table, marked, mark, first) for table in self.tables)
        return replace(self, tables=tables, differences=tuple(differences), mark=mark)

    def official(self, tested: Difference) -> set[str]:
        """Return the columns of the official means that have the same values as the tested mean."""
        if tested.path != "map.full":
            return set()
        values = (tested.first, tested.second)
        found = [self._table(each)["models"] for each in self.tables if each.key == "official"]
        return {
            key
            for models in found
            for key in models[tested.labels[0]]
            if np.allclose([models[label][key] or 0.0 for label in tested.labels], values, 0, 1e-9)
        }

    def _table(self, table: Table) -> dict[str, Any]:
        keys = [column.key for column in table.columns]
        models = {row.title: row for row in table.rows if row.kind == "entry"}

        def named(values: Iterable[float | None]) -> dict[str, float | None]:
            return dict(zip(keys, values, strict=True))

        rows = [tuple(cell.value for cell in models[model.label].cells) for model in self.models]
        means = means_of(self.models, rows)
        return {
            "title": table.heading,
            "caption": " ".join(table.remarks),
            "columns": [{key: getattr(each, key) for key in DESCRIBED} for each in table.columns],
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


def compare(
    *detectors: Diagnosis | Result,
    models: Sequence[StudyModel] | None = None,
    explain: bool = False,
) -> Comparison:
    """Compare the results of detectors; ``print`` shows numbers in percent.

    Parameters
    ----------
    *detectors : Diagnosis or mapping
        Diagnoses, or results as returned by :meth:`diaghoi.Diagnosis.to_dict` or stored by
        ``diaghoi report --json``.
    models : sequence of StudyModel, optional
        Descriptions of the models; by default, only their labels, taken from the detectors.
    explain : bool
        Whether to add the parts of the differences from the first model, which requires diagnoses.

    Returns
    -------
    Comparison
        The content of ``diaghoi compare``. The tables have one row per model, one-stage detectors
        first if stages are given. Means follow each group of several models; a mean is undefined if
        the value of any model in the group is undefined. :mod:`diaghoi.report.comparison` prints
        it.

    Raises
    ------
    InputError
        If there is no model, a label appears twice, data sets or protocols differ, or a result is
        unusable.
    """
    if not detectors:
        raise InputError("there is no model to compare; give at least one result")
    results: list[Result] = []
    for each in detectors:
        if not isinstance(each, Diagnosis | Mapping):
            raise InputError(
                f"a detector to compare is a {type(each).__name__}; give diagnoses or results"
            )
        results.append(each.to_dict() if isinstance(each, Diagnosis) else each)
    if models is None:
        labels = [str(result.get("label") or "") for result in results]
        models = [
            StudyModel(label=label or f"model {number}") for number, label in enumerate(labels, 1)
        ]
    models = check_models(models)
    if len(models) != len(results):
        raise InputError(f"models: {len(models)} are given for {len(results)} detectors")
    results = [
        {**result, "label": model.label} for model, result in zip(models, results, strict=True)
    ]
    diagnoses = [
        replace(each, label=model.label)
        for each, model in zip(detectors, models, strict=True)
        if isinstance(each, Diagnosis)
    ]
    if explain and len(diagnoses) < len(results):
        raise InputError("explain: a saved result does not include its predictions; give diagnoses")
    caveats = check_comparable(results)
    first = results[0]
    comparison = Comparison(
        dataset=text(first, "dataset"),
        protocol=text(first, "protocol", "name"),
        signature=shared_signature(results),
        images=number_of_images(results),
        models=models,
        tables=comparison_tables(models, results),
        caveats=caveats,
        notes=shared_notes(results),
        classes={
            **{mean: _shared(classes_in(result, mean) for result in results) for mean in MEANS},
            "leave_mean": leaving(results, sorted(set(ORACLES) - set(TOTALS))),
        },
        intervals={
            model.label: result.get("intervals", {})
            for model, result in zip(models, results, strict=True)
        },
    )
    if not explain:
        return comparison
    return comparison.explain([explained(diagnoses[0], each) for each in diagnoses[1:]])


def _frame_name(key: str, groups: Sequence[str]) -> str:
    """Name a column by its table and key, followed by the group of classes, if any."""
    key = key.removeprefix("map.").removeprefix("negatives_actions.")
    key = f".{key.replace('delta_map_', 'delta_map.', 1)}."
    group = next((each for each in groups if f".{each}." in key), "full")
    key = key.replace(f".{group}.", ".") + ("" if group == "full" else group)
    return re.sub(r"\W+", "_", key).strip("_")


def _shared(texts: Iterable[str]) -> str:
    """Return the text if all texts are equal; empty if they differ."""
    first, *others = dict.fromkeys(texts)
    return "" if others else first


def place_of(path: str) -> tuple[str, str]:
    """Find the table and the column of a number by its path in a result.

    Table and column are keys of the JSON: ``pairs.recall`` is ``recall`` of ``pairs``, and
    ``oracles.action.delta_map.full`` is ``action`` of ``delta_map_full``.
    """
    table, _, column = path.partition(".")
    if table == "oracles":
        oracle, number, split = column.split(".", 2)
        return f"{number}_{split}", oracle
    if table == "map":
        return "map", path
    if table in ("negatives", "actions"):
        return "negatives_actions", path
    return table, column


def _marked(
    table: Table, marked: set[tuple[tuple[str, str], str]], explanation: str, first: str
) -> Table:
    """Mark cells of a table and explain the mark; keep best values only if tests confirm them."""
    kept = [_told(table, place, marked, first) for place in range(len(table.columns))]

    def cell(row: Row, place: int) -> Cell:
        at = (table.key, table.columns[place].key), row.title
        entry = row.kind == "entry"
        return replace(
            row.cells[place],
            mark=DIFFERS if entry and at in marked else "",
            best=row.cells[place].best and entry and row.title == kept[place],
        )

    def row_of(row: Row) -> Row:
        return replace(row, cells=tuple(cell(row, place) for place in range(len(row.cells))))

    row_groups = tuple(
        replace(group, rows=tuple(map(row_of, group.rows))) for group in table.row_groups
    )
    footnotes = table.footnotes
    if any(at[0] == table.key for at, _ in marked):
        footnotes = (*footnotes, explanation)
    return replace(table, row_groups=row_groups, footnotes=footnotes, best=f"{table.best}{TOLD}")


def _told(
    table: Table, place: int, marked: set[tuple[tuple[str, str], str]], first: str
) -> str | None:
    """Return the best model of a column if the tests distinguish it from all other models."""
    column = table.columns[place]
    cells = {row.title: row.cells[place] for row in table.rows if row.kind == "entry"}
    best = [label for label, cell in cells.items() if cell.best]
    differ = {label for at, label in marked if at == (table.key, column.key)}
    start = cells[first].value if first in cells else None
    if len(best) != 1 or start is None or (best[0] != first and best[0] not in differ):
        return None
    for label in cells.keys() - {best[0], first}:
        value = cells[label].value
        worse = value is not None and (
            value < start if column.better == "higher" else value > start
        )
        if not (worse and label in differ):
            return None
    return best[0]
