"""Description of a number in a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from diaghoi.data.arrays import IntArray, ratio
from diaghoi.data.table import Better, Unit

FULL = "full"
SPLIT = "{}"
"""Placeholder for a group of classes in the path of a measure."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of a result.

    Parameters
    ----------
    path : str
        Path in a result: ``pairs.recall``. ``{}`` is the group of classes if the number exists for
        each group. For all classes, the group is omitted inside the path: ``pairs.{}.recall``
        covers ``pairs.recall`` and ``pairs.rare.recall``.
    title : str
        Name in a report. ``{protocol}`` and ``{roles}`` are filled from the result.
    doc : str
        Meaning of the number, in one sentence.
    table : str
        Key of the comparison table that shows the number; empty for none.
    short : str
        Name in the comparison table; by default the title. If the groups of classes share a title,
        ``short`` is the name of the number over all classes.
    group : str
        Title that neighbouring columns of the comparison table share; ``{}`` stands for the title
        of each group of classes.
    unit : {"percent", "points", "count", "number", "index", "change"}
        Format in tables; see :class:`diaghoi.data.table.Column`.
    better : {"higher", "lower"} or None
        Which values are better; None if neither are.
    report : {"map", "parts", ""}
        Table of the report that shows the number; empty for none.
    indented : bool
        Whether a report indents the number, as a detail of the number above.
    dataset : str
        The only data set that has the number; empty for all.
    quoted : bool
        Whether papers quote the number, so that a report shows its interval.
    tested : bool
        Whether comparisons test the number along with mAP and ΔmAP; only ratios can be tested.
    counts : callable or None
        Counts of a ratio that has intervals and tests: a function that takes a diagnosis and a
        group of classes, and returns two nonnegative (N,) int arrays, the contribution of each
        image to the numerator and to the denominator.
    pairs : tuple of str
        Names of the numerator and the denominator in
        :class:`diaghoi.evaluation.pairs.PairCounts`, if the number is their ratio.
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
        """Whether the number is a ratio of per-image counts."""
        return self.counts is not None or bool(self.pairs)

    @property
    def by_split(self) -> bool:
        """Whether the number exists for each group of classes."""
        return SPLIT in self.path

    def keys(self, split: str = FULL) -> tuple[str, ...]:
        """Return the path in a result, for all classes or for a group of classes."""
        keys = self.path.split(".")
        if split == FULL and keys[-1] != SPLIT:
            keys = [key for key in keys if key != SPLIT]
        return tuple(split if key == SPLIT else key for key in keys)

    def at(self, split: str = FULL) -> str:
        """Return the path as one string, which identifies the number in intervals and tests."""
        return ".".join(self.keys(split))

    def has(self, split: str) -> bool:
        """Check whether a group of classes has the number; either all groups or only "full" do."""
        return self.by_split or split == FULL

    def splits(self, splits: Iterable[str]) -> list[str]:
        """Select the groups of classes that have the number."""
        return list(splits) if self.by_split else [FULL]

    def is_in(self, result: Mapping[str, Any]) -> bool:
        """Check whether a result has the number, defined or not."""
        found: Any = result
        for key in self.keys():
            if not isinstance(found, Mapping) or key not in found:
                return False
            found = found[key]
        return self.dataset in ("", result["dataset"])

    def value(self, result: Mapping[str, Any], split: str = FULL) -> Any:
        """Look up the number in a result; None if the number is undefined or missing."""
        found: Any = result
        for key in self.keys(split):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def named(self, text: str, result: Mapping[str, Any]) -> str:
        """Fill a name's placeholders from the result: the protocol and the number of roles."""
        found: Any = result
        for key in self.keys()[:-1]:
            found = found.get(key, {})
        roles = len(found.get("classes", ()))
        protocol = result["protocol"]["name"]
        return text.format(protocol=protocol, roles=roles, fewer=roles - 1)

    def add(self, result: dict[str, Any], diagnosis: Any, splits: Iterable[str]) -> None:
        """Add the number to the result if it is a ratio and the result lacks it."""
        for split in self.splits(splits) if self.is_ratio else ():
            *parts, key = self.keys(split)
            place = result
            for part in parts:
                place[part] = dict(place.get(part, {}))
                place = place[part]
            if key not in place:
                counted, whole = diagnosis.counts_of(self, split)
                place[key] = ratio(int(counted.sum()), int(whole.sum()))
