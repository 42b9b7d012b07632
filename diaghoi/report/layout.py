"""Breaking wide tables into blocks of columns that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from diaghoi.data.table import Column


def group_runs(columns: Sequence[Column]) -> Iterator[tuple[str, list[int]]]:
    """Give the title of each group of neighbouring columns, and their places."""
    for group, run in groupby(range(len(columns)), key=lambda place: columns[place].group):
        yield group, list(run)


def widened(columns: Sequence[Column], widths: Sequence[int], gap: int) -> list[int]:
    """Widen columns whose group has a title that is longer than they are together.

    Parameters
    ----------
    columns : sequence of Column
        Columns of a table.
    widths : sequence of int
        Letters that each needs.
    gap : int
        Letters between two of them.
    """
    wide = list(widths)
    for group, members in group_runs(columns):
        missing = len(group) - sum(wide[place] + gap for place in members) + gap
        for number in range(missing):
            wide[members[number % len(members)]] += 1
    return wide


def column_blocks(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[list[int]]:
    """Break the columns of a table into as few blocks as fit, of about the same width.

    Parameters
    ----------
    columns : sequence of Column
        Those of one group stay together, unless fewer blocks hold them apart.
    widths : sequence of int
        Their widths, with the gaps between them.
    room : int
        How wide a block may be. A column that is wider has a block of its own.

    Returns
    -------
    list of list of int
        Places of the columns of each block.
    """
    fewest = _filled(columns, widths, room)
    ungrouped = [replace(column, group="") for column in columns]
    if len(_filled(ungrouped, widths, room)) < len(fewest):
        columns, fewest = ungrouped, _filled(ungrouped, widths, room)
    for less in range(1, room):
        found = _filled(columns, widths, less)
        if len(found) == len(fewest):
            return found
    return fewest


def _filled(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[list[int]]:
    """Fill one block after another; groups of columns are broken only where they must."""
    runs: list[list[int]] = []
    for group, members in group_runs(columns):
        fits = sum(widths[place] for place in members) <= room
        runs += [members] if group and fits else [[place] for place in members]
    found: list[list[int]] = []
    left = 0
    for members in runs:
        needed = sum(widths[place] for place in members)
        if not found or needed > left:
            found.append([])
            left = room
        found[-1] += members
        left -= needed
    return found
