"""Pictures in rows and columns: errors, outcomes of detectors, and corruptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from diaghoi.cases.cases import Case
from diaghoi.cases.outcomes import OUTCOMES, RIGHT, ImageOutcomes, PairOutcome
from diaghoi.oracles import error_title
from diaghoi.plots.boxes import (
    CASING,
    DARK,
    DASHES,
    HINTED,
    LINE,
    WHITE,
    BoxTags,
    Image,
    PairLines,
    PictureFrame,
    crop,
    draw_pair,
    frame_of,
    frame_of_boxes,
    in_a_line,
    show,
    whole_of,
)
from diaghoi.plots.figures.picture import annotated_lines, case_title, predicted_lines
from diaghoi.plots.labels import fitted, model_names, text_width, wrapped
from diaghoi.plots.style import SINGLE_COLUMN, paper

# Points:
CAPTION, HEAD = 6.0, 7.0  # fonts
LEADING = 1.25  # distance of lines, in font sizes
GAP, BELOW = 4.0, 3.0  # gap between pictures, and gap below the captions of a row
KEY, AFTER = 9.0, 3.0  # length of the line before a caption, and the gap after it
BOLD = 0.87  # width of regular letters, divided by the width of bold letters


class Caption(NamedTuple):
    """A caption below a picture, wrapped into lines.

    Parameters
    ----------
    text : str
        Any text.
    bold : bool
        Whether the text is bold.
    key : PairLines or None
        Line sample before the text, drawn as in the pictures.
    """

    text: str
    bold: bool = False
    key: PairLines | None = None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One picture.

    Parameters
    ----------
    draw : callable
        Function that draws the picture into given axes, which have their final position.
    ratio : float
        Ratio of height to width.
    captions : tuple of Caption
        Captions below the picture.
    """

    draw: Callable[[Axes], object]
    ratio: float
    captions: tuple[Caption, ...] = ()


class _Line(NamedTuple):
    """A line of a caption; further lines of a caption with a line sample are indented."""

    text: str
    bold: bool
    key: PairLines | None
    inset: bool


class Row(NamedTuple):
    """Cells of a row with caption lines, and heights in inches."""

    cells: Sequence[Cell]
    lines: list[list[_Line]]
    tall: float
    height: float


def balanced(pictures: int, columns: int) -> int:
    """Return the number of columns, up to a maximum, that fills the rows best."""
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
        A row may be shorter than the others.
    width : float
        Width of the figure in inches.
    heads, sides : sequence of str
        Names above the columns, and names on the left of the rows.
    legend : sequence of Caption
        Captions at the bottom, one after the other.

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
    """Draw pictures side by side, at an offset in inches from the upper left corner."""
    width, whole = figure.get_size_inches()
    for column, (cell, lines) in enumerate(zip(row.cells, row.lines, strict=True)):
        start = left + column * (wide + GAP / 72)
        # Tall pictures are narrower than their column, and wide pictures shorter than their row.
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
    """Lay out the captions of pictures, given the width of the pictures in inches."""
    lines = [[line for caption in cell.captions for line in _broken(caption, wide)] for cell in row]
    tall = wide * max(cell.ratio for cell in row)
    below = max(map(len, lines)) * CAPTION * LEADING + BELOW
    return Row(row, lines, tall, tall + below / 72)


def _broken(caption: Caption, inches: float) -> Iterator[_Line]:
    """Wrap a caption into lines; only the first line has the line sample."""
    room = (inches - (KEY + AFTER) / 72 * (caption.key is not None)) / HINTED
    room *= BOLD if caption.bold else 1
    for number, text in enumerate(wrapped(in_a_line(caption.text), room, CAPTION)):
        key = None if number else caption.key
        yield _Line(text, caption.bold, key, caption.key is not None)


def _legend_lines(legend: Sequence[Caption], width: float) -> Iterator[list[Caption]]:
    """Wrap a legend into lines."""
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
    """Return the width in inches of a one-line caption with its line sample."""
    return text_width(caption.text, CAPTION) + (KEY + AFTER) / 72 * (caption.key is not None)


def _write_lines(figure: Figure, lines: Iterable[_Line], x: float, down: float) -> None:
    """Write lines one below the other."""
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
    """Write a line at an offset in inches from the upper left corner."""
    wide, tall = figure.get_size_inches()
    settings: dict[str, Any] = {"va": "top", "parse_math": False} | style
    figure.text(x / wide, 1 - down / tall, text, fontsize=size, **settings)


RATIO = 0.75  # height of a picture, divided by its width
MOST = 6  # largest number of pairs with a number and a caption
PREDICTION = PairLines(boxes=(), line=to_rgb("0.6"), casing=DARK)
ANNOTATION = PairLines(boxes=(), line=WHITE, casing=DARK, dashed=True)


def error_panel(
    cases: Sequence[Case],
    images: Sequence[Image | None],
    *,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
    repairs: bool = False,
) -> Figure:
    """Draw cases in rows, with captions below their pictures.

    A picture shows the part of the image with the boxes. The prediction has solid lines in the
    colour of its error, and the annotation has dashed lines.

    Parameters
    ----------
    cases : sequence of Case
        Cases, for example from :func:`diaghoi.cases.typical.typical_cases`.
    images : sequence of (H, W, 3) uint8 array or None
        Pictures of the cases; None for an empty frame.
    width : float
        Width of the figure in inches.
    columns : int
        Number of pictures per row, rounded down to an even number, but at least 2, if repairs are
        shown; 0 for as many as are legible.
    repairs : bool
        Whether each picture is followed by a picture of the oracle's result.

    Returns
    -------
    matplotlib.figure.Figure
        See :func:`diaghoi.plots.save`.
    """
    if repairs:
        columns = max(2, columns // 2 * 2) if columns else (4 if width > SINGLE_COLUMN else 2)
    columns = columns or balanced(len(cases), 4 if width > SINGLE_COLUMN else 3)
    cells: list[Cell] = []
    for case, image in zip(cases, images, strict=True):
        cells.append(case_cell(case, image))
        if repairs:
            cells.append(_after(case, image))
    legend = [Caption("prediction, coloured by its error", key=PREDICTION)]
    legend.append(Caption("annotation", key=ANNOTATION))
    if repairs:
        legend.append(Caption("true positive after the repair", key=PairLines.of_outcome(RIGHT)))
    return montage(in_rows(cells, columns), width, legend=legend)


def case_cell(case: Case, image: Image | None) -> Cell:
    """Draw a case on the part of the image with its boxes, with captions."""
    captions = [Caption(error_title(case.error), bold=True)]
    if case.name is not None:
        captions.append(Caption(case_title(case), key=predicted_lines(case)))
    if case.annotated is not None and case.annotated != case.name:
        captions.append(Caption(case.annotated, key=annotated_lines(case)))
    return _cell_of(case, image, (predicted_lines(case), annotated_lines(case)), captions)


def _after(case: Case, image: Image | None) -> Cell:
    """Draw the result of the oracle for a case."""
    if case.repaired is not None:
        # Repairing an action keeps the boxes; repairing boxes uses the annotated boxes.
        own = case.human, case.object
        meant = own if case.error == "action" else (case.annotated_human, case.annotated_object)
        lines = PairLines.of_outcome(RIGHT, *meant)
        text = Caption(case.repaired, key=lines)
        return _cell_of(case, image, (lines,), [Caption("Repaired", bold=True), text])
    if case.name is None:
        return _cell_of(case, image, (), [Caption("Not counted", bold=True)])
    return _cell_of(case, image, (annotated_lines(case),), [Caption("Removed", bold=True)])


def _cell_of(
    case: Case, image: Image | None, pairs: Sequence[PairLines], captions: Sequence[Caption]
) -> Cell:
    """Draw pairs on the part of the image with all boxes of a case."""
    whole = whole_of(case, image) or frame_of(case, image)
    boxes = (case.human, case.object, case.annotated_human, case.annotated_object)
    frame = crop([box for box in boxes if box is not None], whole, RATIO)
    return Cell(draw=_drawing(frame, whole, image, pairs), ratio=RATIO, captions=tuple(captions))


def _drawing(
    frame: PictureFrame,
    whole: PictureFrame,
    image: Image | None,
    pairs: Sequence[PairLines],
    numbered: int = 0,
) -> Callable[[Axes], object]:
    """Return a function that draws pairs on a part of an image.

    The first pair is drawn on top, and the first ``numbered`` pairs get a number.
    """

    def draw(ax: Axes) -> None:
        point = show(ax, frame, whole, image)
        tags = BoxTags(ax, frame, point)
        for pair in reversed(pairs):
            draw_pair(ax, pair, whole, point)
        for number, pair in enumerate(pairs[:numbered], start=1):
            if pair.boxes:
                tags.add(str(number), pair.boxes[0], pair.line, casing=pair.casing)

    return draw


def outcome_panel(
    models: Mapping[str, Sequence[ImageOutcomes]],
    images: Sequence[Image | None],
    *,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
) -> Figure:
    """Draw what detectors find, invent and miss: one row per detector, one column per picture.

    The boxes of the first six pairs have a number. Captions below the picture list the interactions
    of each numbered pair: all verbs of the pair, each with its score.

    Parameters
    ----------
    models : mapping of str to sequence of ImageOutcomes
        Outcomes in the same images, by detector label, from
        :func:`diaghoi.cases.outcomes.image_outcomes`.
    images : sequence of (H, W, 3) uint8 array or None
        Pictures of the images in ``models``; None for an empty frame.
    width : float
        Width of the figure in inches.
    columns : int
        Number of pictures per row; further pictures of all detectors follow in further rows. 0 for
        as many as are legible.

    Returns
    -------
    matplotlib.figure.Figure
        See :func:`diaghoi.plots.save`.
    """
    columns = columns or balanced(len(images), 3 if width > SINGLE_COLUMN else 2)
    names, outcomes = model_names(models), list(models.values())
    rows, sides = [], []
    for first in range(0, len(images), columns):
        some = range(first, min(first + columns, len(images)))
        for name, own in zip(names, outcomes, strict=True):
            rows.append(
                [_outcome_cell([each[n] for each in outcomes], own[n], images[n]) for n in some]
            )
            sides.append(name)
    legend = [Caption(outcome, key=PairLines.of_outcome(outcome)) for outcome in OUTCOMES]
    return montage(rows, width, sides=sides, legend=legend)


def _outcome_cell(models: Sequence[ImageOutcomes], own: ImageOutcomes, image: Image | None) -> Cell:
    """Draw one detector's pairs on one image, in the part with the boxes of all detectors."""
    boxes = [box for model in models for pair in model.pairs for box in _lines(pair).boxes]
    whole = frame_of_boxes(boxes, own.size, image)
    frame = crop(boxes, whole, RATIO)
    pairs = [_lines(pair) for pair in own.pairs]
    captions = [
        Caption(f"{number} {pair.caption}", key=lines)
        for number, pair, lines in zip(range(1, MOST + 1), own.pairs, pairs, strict=False)
    ]
    if len(own.pairs) > MOST:
        captions.append(Caption(f"and {len(own.pairs) - MOST} more"))
    draw = _drawing(frame, whole, image, pairs, numbered=MOST)
    return Cell(draw=draw, ratio=RATIO, captions=tuple(captions))


def _lines(pair: PairOutcome) -> PairLines:
    return PairLines.of_outcome(pair.outcome, pair.human, pair.object)


def corruption_panel(
    pictures: Mapping[str, Sequence[Image]],
    severities: Sequence[int],
    *,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
) -> Figure:
    """Draw corrupted pictures.

    Parameters
    ----------
    pictures : mapping of str to sequence of (H, W, 3) uint8 array
        Pictures by corruption title, in order of severity.
    severities : sequence of int
        With several severities, each severity has a column and each corruption has a row. With a
        single severity, the corruptions fill the rows one after the other.
    width : float
        Width of the figure in inches.
    columns : int
        Number of pictures per row for a single severity; 0 for as many as are legible.

    Returns
    -------
    matplotlib.figure.Figure
        See :func:`diaghoi.plots.save`.
    """
    if len(severities) > 1:
        rows = [[_corrupted_cell(each) for each in images] for images in pictures.values()]
        heads = [f"Severity {severity}" for severity in severities]
        return montage(rows, width, heads=heads, sides=list(pictures))
    cells = [_corrupted_cell(images[0], title) for title, images in pictures.items()]
    return montage(in_rows(cells, columns or (5 if width > SINGLE_COLUMN else 3)), width)


def _corrupted_cell(image: Image, title: str = "") -> Cell:
    whole = frame_of_boxes((), None, image)
    captions = (Caption(title),) if title else ()
    return Cell(draw=_drawing(whole, whole, image, ()), ratio=whole.ratio, captions=captions)
