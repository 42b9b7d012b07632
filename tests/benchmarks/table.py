"""The table of the benchmark, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from measure import Measured

HEAD = (
    *("job", "s", "median", "CPU s", "median", "MB", "x floor s", "x floor CPU", "x floor MB"),
    *("floor", "limit", "note"),
)
LEFT = ("job", "floor", "limit", "note")


@dataclass(frozen=True)
class Line:
    """One job in the table, beside its ``floor``, which costs ``least`` in the same run."""

    name: str
    measured: Measured
    count: int = 0
    floor: str = ""
    least: Measured | None = None
    limit: str = ""
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Write the figures: minimum and median of times, and the median of ratios to the floor."""
        cost, least = self.measured, self.least
        times = [
            f"{each:.3f}" if each < 0.1 else f"{each:.2f}"
            for what in ("seconds", "processor")
            for each in (cost.least(what), cost.median(what))
        ]
        ratios = ["", "", ""]
        if least is not None:
            ratios = [
                f"{median(cost.ratios(least, 'seconds')):.2f}",
                f"{median(cost.ratios(least, 'processor')):.2f}",
                f"{cost.megabytes / least.megabytes:.2f}",
            ]
        megabytes = f"{cost.megabytes:,.0f}"
        return (self.name, *times, megabytes, *ratios, self.floor, self.limit, self.note)


class Widths(NamedTuple):
    """How wide each column of the text is; the last one is open."""

    columns: tuple[int, ...]

    def line(self, cells: Sequence[str]) -> str:
        parts = [
            f"{cell:<{width}}" if name in LEFT else f"{cell:>{width}}"
            for name, cell, width in zip(HEAD, cells, self.columns, strict=True)
        ]
        return "  ".join(parts).rstrip()


def widths(names: Sequence[str], floors: Sequence[str]) -> Widths:
    """Find the widths before anything is measured, so that lines can be printed as they come."""
    fixed = {"job": max(map(len, (*names, "job"))), "floor": max(map(len, (*floors, "floor")))}
    fixed |= {"limit": 36, "note": 0}
    return Widths(tuple(fixed.get(name, max(8, len(name))) for name in HEAD))


def markdown(lines: Sequence[Line], before: str) -> str:
    rows = [HEAD, tuple("---" if name in LEFT else "---:" for name in HEAD)]
    rows += [line.cells() for line in lines]
    return f"{before}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)
