"""Pictures in rows and columns of a figure, with captions below each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from diaghoi.plots.boxes import CASING, DASHES, HINTED, LINE, Colour, PairLines, in_a_line
from diaghoi.plots.labels import fitted, text_width, wrapped
from diaghoi.plots.style import paper

# Points:
CAPTION, HEAD = 6.0, 7.0  # fonts
LEADING = 1.25  # distance of lines, in font sizes
GAP, BELOW = 4.0, 3.0  # between pictures, and below the captions of a row
KEY, AFTER = 9.0, 3.0  # length of the line before a caption, and the gap after it
BOLD = 0.87  # width of letters over that of bold letters


class Key(NamedTuple):
    """A line as it is drawn on the pictures, to stand before a text.

    Parameters
    ----------
    line, casing : tuple of three floats
        Colours.
    dashed : bool
        Whether it is dashed.
    """

    line: Colour
    casing: Colour
    dashed: bool


def key_of(pair: PairLines) -> Key:
    """Return the key of a pair as it is drawn."""
    return Key(pair.line, pair.casing, pair.dashed)


class Caption(NamedTuple):
    """A text below a picture, broken into lines.

    Parameters
    ----------
    text : str
        Any text.
    bold : bool
        Whether it is bold.
    key : Key or None
        What it explains.
    """

    text: str
    bold: bool = False
    key: Key | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One picture.

    Parameters
    ----------
    draw : callable
        Draws it into the axes it is given, which have their final place.
    ratio : float
        Height over width.
    captions : tuple of Caption
        Below it.
    """

    draw: Callable[[Axes], object]
    ratio: float
    captions: tuple[Caption, ...] = ()


class _Line(NamedTuple):
    """One line of a caption; the later lines of one with a key are set in as the first is."""

    text: str
    bold: bool
    key: Key | None
    inset: bool


class Row(NamedTuple):
    """The cells of a row with the lines of their captions, and heights in inches."""

    cells: Sequence[Cell]
    lines: list[list[_Line]]
    tall: float
    height: float


def balanced(pictures: int, columns: int) -> int:
    """Return how many of at most some columns give rows that are as full as possible."""
    return ceil(pictures / ceil(pictures / columns))


def in_rows(cells: Sequence[Cell], columns: int) -> list[Sequence[Cell]]:
    """Break cells into rows."""
    return [cells[first : first + columns] for first in range(0, len(cells), columns)]


def montage(
    rows: Sequence[Sequence[Cell]],
    width: float,
    *,
    heads: Sequence[str] = (),
    sides: Sequence[str] = (),
    legend: Sequence[Caption] = (),
) -> Figure:
    """Lay out pictures in rows and columns of equal width.

    Parameters
    ----------
    rows : sequence of sequence of Cell
        A row can be shorter than the others.
    width : float
        Of the figure in inches.
    heads, sides : sequence of str
        Names of columns, above them, and of rows, at their left.
    legend : sequence of Caption
        At the foot, one after the other.

    Returns
    -------
    matplotlib.figure.Figure
        See :func:`diaghoi.plots.save`.
    """
    left = (HEAD * LEADING + 1) / 72 if any(sides) else 0.0
    columns = max(map(len, rows))
    wide = (width - left - (columns - 1) * GAP / 72) / columns
    laid = [laid_out(row, wide) for row in rows]
    above = (HEAD * LEADING + 1) / 72 if any(heads) else 0.0
    foot = list(_legend_lines(legend, width))
    line = CAPTION * LEADING / 72
    whole = above + sum(row.height for row in laid) + len(foot) * line
    with paper():
        figure = Figure(figsize=(width, whole))
        for column, head in enumerate(heads):
            x = left + column * (wide + GAP / 72) + wide / 2
            text = fitted(in_a_line(head), wide, HEAD)
            _write(figure, text, x, 0.0, HEAD, ha="center")
        down = above
        for number, row in enumerate(laid):
            if number < len(sides):
                text = fitted(in_a_line(sides[number]), row.tall, HEAD)
                middle = down + row.tall / 2
                _write(figure, text, 0.0, middle, HEAD, rotation=90, va="center")
            draw_row(figure, row, wide, left, down)
            down += row.height
        for captions in foot:
            x = left
            for caption in captions:
                _write_lines(figure, _broken(caption, width), x, down)
                x += _needed(caption) + GAP * 2 / 72
            down += line
    return figure


def draw_row(figure: Figure, row: Row, wide: float, left: float, down: float) -> None:
    """Draw pictures side by side, from some inches from the upper left corner of a figure."""
    width, whole = figure.get_size_inches()
    for column, (cell, lines) in enumerate(zip(row.cells, row.lines, strict=True)):
        start = left + column * (wide + GAP / 72)
        # Tall pictures are narrower than their column, wide ones lower than their row.
        tall = wide * cell.ratio
        place = (
            start / width,
            1 - (down + (row.tall + tall) / 2) / whole,
            wide / width,
            tall / whole,
        )
        cell.draw(figure.add_axes(place))
        _write_lines(figure, lines, start, down + row.tall + 1 / 72)


def laid_out(row: Sequence[Cell], wide: float) -> Row:
    """Lay out the captions of pictures of some width in inches."""
    lines = [[line for caption in cell.captions for line in _broken(caption, wide)] for cell in row]
    tall = wide * max(cell.ratio for cell in row)
    below = max(map(len, lines)) * CAPTION * LEADING + BELOW
    return Row(row, lines, tall, tall + below / 72)


def _broken(caption: Caption, inches: float) -> Iterator[_Line]:
    """Break a caption into lines; only the first has the key."""
    room = (inches - (KEY + AFTER) / 72 * (caption.key is not None)) / HINTED
    room *= BOLD if caption.bold else 1
    for number, text in enumerate(wrapped(in_a_line(caption.text), room, CAPTION)):
        key = None if number else caption.key
        yield _Line(text, caption.bold, key, caption.key is not None)


def _legend_lines(legend: Sequence[Caption], width: float) -> Iterator[list[Caption]]:
    """Break a legend into lines."""
    line: list[Caption] = []
    taken = 0.0
    for caption in legend:
        needed = _needed(caption) + GAP * 2 / 72
        if line and taken + needed > width:
            yield line
            line, taken = [], 0.0
        line.append(caption)
        taken += needed
    if line:
        yield line


def _needed(caption: Caption) -> float:
    """Return the width in inches of a caption in one line, with its key."""
    return text_width(caption.text, CAPTION) + (KEY + AFTER) / 72 * (caption.key is not None)


def _write_lines(figure: Figure, lines: Iterable[_Line], x: float, down: float) -> None:
    """Write lines below each other."""
    wide, tall = figure.get_size_inches()
    for line in lines:
        start = x + (KEY + AFTER) / 72 * line.inset
        if line.key is not None:
            level = 1 - (down + 0.55 * CAPTION / 72) / tall
            ends = (x / wide, (x + KEY / 72) / wide)
            around = 0 if line.key.dashed else 2 * CASING
            settings: dict[str, Any] = {
                "xdata": ends,
                "ydata": (level, level),
                "transform": figure.transFigure,
            }
            casing = Line2D(color=line.key.casing, linewidth=LINE + around, **settings)
            dashes: Any = DASHES if line.key.dashed else "-"
            inner = Line2D(color=line.key.line, linewidth=LINE, linestyle=dashes, **settings)
            for drawn in (casing, inner):
                figure.add_artist(drawn)
        _write(figure, line.text, start, down, CAPTION, weight="bold" if line.bold else "normal")
        down += CAPTION * LEADING / 72


def _write(figure: Figure, text: str, x: float, down: float, size: float, **style: Any) -> None:
    """Write a line, some inches from the upper left corner."""
    wide, tall = figure.get_size_inches()
    settings: dict[str, Any] = {"va": "top", "parse_math": False} | style
    figure.text(x / wide, 1 - down / tall, text, fontsize=size, **settings)
