"""Description of a number in a result."""

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
        Place in a result: ``pairs.recall``. ``{}`` stands for the group of classes if each group
        has the number. Inside the path all classes have no group: ``pairs.{}.recall`` is
        ``pairs.recall`` and ``pairs.rare.recall``.
    title : str
        Name in a report. ``{protocol}`` and ``{roles}`` are filled from the result.
    doc : str
        Meaning of the number, in one sentence.
    table : str
        Key of the table of a comparison that shows it; empty for none.
    short : str
        Its name in that table, by default the title; what ``{}`` of all classes is called there,
        where those of the groups stand under one title.
    group : str
        Title that it shares with neighbours there; ``{}`` where neighbours stand side by side for
        each group of classes.
    unit : {"percent", "points", "count", "number", "index", "change"}
        Format in tables; see :class:`diaghoi.data.table.Column`.
    better : {"higher", "lower"} or None
        Direction of better values; None if neither direction is better.
    report : {"map", "parts", ""}
        Table of a report that shows the number; empty for none.
    indented : bool
        Whether it belongs to the number above it in a report.
    dataset : str
        The only data set with the number; empty for all.
    quoted : bool
        Whether papers quote it, so that a report shows its interval.
    tested : bool
        Whether comparisons test it beside mAP and ΔmAP; only a ratio can be.
    counts : callable or None
        Counts of a ratio with intervals and tests: a function of a diagnosis and a group of classes
        that returns what each of the N images adds to numerator and denominator, two nonnegative
        (N,) int arrays.
    pairs : tuple of str
        Names of the two counts of :class:`diaghoi.evaluation.pairs.PairCounts`, if the number is a
        ratio of counts that a diagnosis has for each image.
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
        """Whether the number is a ratio of counts of images."""
        return self.counts is not None or bool(self.pairs)

    @property
    def by_split(self) -> bool:
        """Whether each group of classes has one."""
        return SPLIT in self.path

    def keys(self, split: str = FULL) -> tuple[str, ...]:
        """Return the place in a result, for all classes or for a group."""
        keys = self.path.split(".")
        if split == FULL and keys[-1] != SPLIT:
            keys = [key for key in keys if key != SPLIT]
        return tuple(split if key == SPLIT else key for key in keys)

    def at(self, split: str = FULL) -> str:
        """Return the same as one text, by which intervals and tests name the number."""
        return ".".join(self.keys(split))

    def has(self, split: str) -> bool:
        """Tell whether a group of classes has the number: all groups do, or only the full one."""
        return self.by_split or split == FULL

    def splits(self, splits: Iterable[str]) -> list[str]:
        """Choose the groups of classes that have one."""
        return list(splits) if self.by_split else [FULL]

    def is_in(self, result: Mapping[str, Any]) -> bool:
        """Tell whether a result has the number, even if undefined."""
        found: Any = result
        for key in self.keys():
            if not isinstance(found, Mapping) or key not in found:
                return False
            found = found[key]
        return self.dataset in ("", result["dataset"])

    def value(self, result: Mapping[str, Any], split: str = FULL) -> Any:
        """Look the number up in a result; None if the number is undefined or missing."""
        found: Any = result
        for key in self.keys(split):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def named(self, text: str, result: Mapping[str, Any]) -> str:
        """Fill a name with values of the result: the protocol and the number of evaluated roles."""
        found: Any = result
        for key in self.keys()[:-1]:
            found = found.get(key, {})
        roles = len(found.get("classes", ()))
        protocol = result["protocol"]["name"]
        return text.format(protocol=protocol, roles=roles, fewer=roles - 1)

    def add(self, result: dict[str, Any], diagnosis: Any, splits: Iterable[str]) -> None:
        """Compute a ratio of a diagnosis, and add it to the result unless it is there."""
        for split in self.splits(splits) if self.is_ratio else ():
            *parts, key = self.keys(split)
            place = result
            for part in parts:
                place[part] = dict(place.get(part, {}))
                place = place[part]
            if key not in place:
                counted, whole = diagnosis.counts_of(self, split)
                place[key] = ratio(int(counted.sum()), int(whole.sum()))
