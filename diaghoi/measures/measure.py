"""What a number of a result is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from diaghoi.data.arrays import IntArray, ratio
from diaghoi.data.table import Better, Unit

FULL = "full"
SPLIT = "{}"
"""Stands for a group of classes in the path of a measure."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of a result.

    Parameters
    ----------
    path : str
        Where it stands in a result: ``pairs.recall``. ``{}`` stands for the group of classes in
        that of a number which each group has; inside the path that of all classes has no group:
        ``pairs.{}.recall`` is ``pairs.recall`` and ``pairs.rare.recall``.
    title : str
        Its name in a report. ``{protocol}`` and ``{roles}`` stand for what the result says.
    doc : str
        What it is, in a sentence.
    table : str
        Key of the table of a comparison that shows it; empty for none.
    short : str
        Its name in that table, by default the title; what ``{}`` of all classes is called there,
        where those of the groups stand under one title.
    group : str
        Title that it shares with neighbours there; ``{}`` where neighbours stand side by side for
        each group of classes.
    unit : {"percent", "points", "count", "number", "index", "change"}
        How it is shown; see :class:`diaghoi.data.table.Column`.
    better : {"higher", "lower"} or None
        Which values are better; None where that cannot be said.
    report : {"map", "parts", ""}
        Which table of a report has a row of it; empty for none.
    indented : bool
        Whether it belongs to the number above it in a report.
    dataset : str
        The data set that alone has it; empty for all.
    quoted : bool
        Whether papers quote it, so that a report shows its interval.
    tested : bool
        Whether comparisons test it beside mAP and ΔmAP; only a ratio can be.
    counts : callable or None
        For a ratio that intervals and tests can be made of: takes a diagnosis and a group of
        classes, and returns how much each of its N images adds to numerator and denominator, two
        (N,) int arrays that are not negative.
    pairs : tuple of str
        The same for a ratio of two counts of :class:`diaghoi.evaluation.pairs.PairCounts`, which a
        diagnosis has for each image: their names.
    """

    path: str
    title: str
    doc: str = ""
    table: str = ""
    short: str = ""
    group: str = ""
    unit: Unit = "percent"
    better: Better | None = "higher"
    report: str = ""
    indented: bool = False
    dataset: str = ""
    quoted: bool = False
    tested: bool = False
    counts: Callable[[Any, str], tuple[IntArray, IntArray]] | None = None
    pairs: tuple[str, str] | tuple[()] = ()

    @property
    def is_ratio(self) -> bool:
        """Whether it is a ratio of counts of images."""
        return self.counts is not None or bool(self.pairs)

    @property
    def by_split(self) -> bool:
        """Whether each group of classes has one."""
        return SPLIT in self.path

    def keys(self, split: str = FULL) -> tuple[str, ...]:
        """Return its place in a result, of all classes or of a group of them."""
        keys = self.path.split(".")
        if split == FULL and keys[-1] != SPLIT:
            keys = [key for key in keys if key != SPLIT]
        return tuple(split if key == SPLIT else key for key in keys)

    def at(self, split: str = FULL) -> str:
        """Return the same as one text, by which intervals and tests name the number."""
        return ".".join(self.keys(split))

    def has(self, split: str) -> bool:
        """Tell whether a group of classes has one: all do, or only the full one."""
        return self.by_split or split == FULL

    def splits(self, splits: Iterable[str]) -> list[str]:
        """Choose the groups of classes that have one."""
        return list(splits) if self.by_split else [FULL]

    def is_in(self, result: Mapping[str, Any]) -> bool:
        """Tell whether a result has it, be it undefined there."""
        found: Any = result
        for key in self.keys():
            if not isinstance(found, Mapping) or key not in found:
                return False
            found = found[key]
        return self.dataset in ("", result["dataset"])

    def value(self, result: Mapping[str, Any], split: str = FULL) -> Any:
        """Look the number up in a result; None where it is undefined, or not there."""
        found: Any = result
        for key in self.keys(split):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def named(self, text: str, result: Mapping[str, Any]) -> str:
        """Fill what a result says into a name: its protocol, and how many roles are evaluated."""
        found: Any = result
        for key in self.keys()[:-1]:
            found = found.get(key, {})
        roles = len(found.get("classes", ()))
        protocol = result["protocol"]["name"]
        return text.format(protocol=protocol, roles=roles, fewer=roles - 1)

    def add(self, result: dict[str, Any], diagnosis: Any, splits: Iterable[str]) -> None:
        """Compute a ratio of a diagnosis, and put it into its result unless it is there."""
        for split in self.splits(splits) if self.is_ratio else ():
            *parts, key = self.keys(split)
            place = result
            for part in parts:
                place[part] = dict(place.get(part, {}))
                place = place[part]
            if key not in place:
                counted, whole = diagnosis.counts_of(self, split)
                place[key] = ratio(int(counted.sum()), int(whole.sum()))
