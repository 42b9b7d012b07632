"""The table of the benchmark, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from measure import Measured

HEAD = ("job", "s", "CPU s", "MB", "per s", "x floor s", "x floor MB", "floor", "limit", "note")
LEFT = ("job", "per s", "floor", "limit", "note")


@dataclass(frozen=True)
class Line:
    """One job in the table.

    Parameters
    ----------
    name : str
        The job.
    measured : Measured
        What it costs.
    count, unit : int, str
        How many triplets, pictures or questions it works on; empty where that makes no sense.
    floor : str
        What its cost is compared to; empty for none.
    least : Measured or None
        What that costs in the same run.
    limit : str
        What it may cost, and whether it does not cost more.
    note : str
        What else there is to say.
    """

    name: str
    measured: Measured
    count: int = 0
    unit: str = ""
    floor: str = ""
    least: Measured | None = None
    limit: str = ""
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Write the figures."""
        cost, least = self.measured, self.least
        rate = f"{_short(self.count / cost.seconds)} {self.unit}" if self.count else ""
        ratios = ("", "")
        if least is not None:
            ratios = (
                f"{cost.seconds / least.seconds:.2f}",
                f"{cost.megabytes / least.megabytes:.2f}",
            )
        return (
            self.name,
            f"{cost.seconds:.3f}" if cost.seconds < 0.1 else f"{cost.seconds:.2f}",
            f"{cost.processor:.2f}",
            f"{cost.megabytes:,.0f}",
            rate,
            *ratios,
            self.floor,
            self.limit,
            self.note,
        )


class Widths(NamedTuple):
    """How wide each column of the text is; the last one is open."""

    columns: tuple[int, ...]

    def line(self, cells: Sequence[str]) -> str:
        """Write a line of the text."""
        parts = [
            f"{cell:<{width}}" if name in LEFT else f"{cell:>{width}}"
            for name, cell, width in zip(HEAD, cells, self.columns, strict=True)
        ]
        return "  ".join(parts).rstrip()


def widths(names: Sequence[str], floors: Sequence[str]) -> Widths:
    """Find the widths before anything is measured, so that lines can be printed as they come."""
    fixed = {"job": max(map(len, (*names, "job"))), "floor": max(map(len, (*floors, "floor")))}
    fixed |= {"per s": len("9.99 M questions"), "limit": 36, "note": 0}
    return Widths(tuple(fixed.get(name, max(8, len(name))) for name in HEAD))


def markdown(lines: Sequence[Line], before: str) -> str:
    """Write the table as Markdown, below some words."""
    rows = [HEAD, tuple("---" if name in LEFT else "---:" for name in HEAD)]
    rows += [line.cells() for line in lines]
    return f"{before}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _short(rate: float) -> str:
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if rate >= size:
            return f"{rate / size:.3g}{letter}"
    return f"{rate:.3g}"
