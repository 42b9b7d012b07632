"""One case drawn on its picture: annotation, prediction, and a description of the error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from diaghoi.cases.cases import Box, Case
from diaghoi.cases.sentences import shown_score
from diaghoi.oracles import error_title
from diaghoi.plots.frame import ENLARGED, Image, PictureFrame, enlargement, frame_of, whole_of
from diaghoi.plots.labels import fitted, text_width, wrapped
from diaghoi.plots.style import SINGLE_COLUMN, colour, ink_on, paper
from diaghoi.plots.tags import DARK, HINTED, WHITE, BoxTags, Colour, in_a_line, short

TALLEST = 1.25  # greatest height of a picture over the column width; taller ones become narrower
LEADING = 1.3  # distance of text lines, in font sizes
BOLD = 0.87  # width of letters over that of bold letters
# Points:
TEXT_SIZE, SMALL = 7.0, 5.5  # fonts
LINE, CASING = 0.9, 0.45  # width of a line, and of its casing on each side
DOT = 3.0
EDGE = 1.5  # margin beside the text below a picture
DASHES = (0, (3.0, 2.0))
GROUND = to_rgb("0.86")  # of an empty frame


@dataclass(frozen=True, kw_only=True)
class _Triplet:
    """Two boxes as they are drawn: solid with a casing, or dashed on a background colour."""

    boxes: tuple[Box, ...]
    joined: bool
    tag: str
    line: Colour
    casing: Colour
    dashed: bool


def picture(
    case: Case, image: Image | None = None, ax: Axes | None = None, *, missing: str = ""
) -> Axes:
    """Draw the boxes of a case on its picture.

    The prediction has solid lines in the colour of its error, the annotation black and white
    dashes.
    Small boxes are shown enlarged, in a part of the picture; see
    :func:`diaghoi.plots.frame.enlargement`.
    A line joins the centres of two boxes that form a pair, from a dot in the person to a square
    in the object.

    Parameters
    ----------
    case : Case
        From :func:`diaghoi.cases.cases.worst_cases`.
    image : (H, W, 3) uint8 array, optional
        The picture, in any resolution; without it the frame is empty.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.
    missing : str
        Text in an empty frame.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.
    """
    frame = frame_of(case, image)
    whole = whole_of(case, image) or frame
    with paper():
        if ax is None:
            ax = Figure(figsize=_inches(frame, SINGLE_COLUMN)).add_axes((0, 0, 1, 1))
        ax.set_axis_off()
        ax.set_xlim(frame.left, frame.right)
        ax.set_ylim(frame.bottom, frame.top)
        ax.set_aspect("equal")
        point = _point(ax, frame)
        tags = BoxTags(ax, frame, point)
        if image is None:
            _draw_empty(ax, frame)
        else:
            extent = (whole.left, whole.right, whole.bottom, whole.top)
            ax.imshow(image, extent=extent, interpolation="antialiased")
        annotated, predicted = _annotated(case), _predicted(case)
        for triplet in (annotated, predicted):
            _draw_triplet(ax, triplet, whole, point)
        objects = [box for each in (annotated, predicted) for box in each.boxes[1:]]
        # The tag of the prediction is placed first: it matters more when room is short.
        for triplet in (predicted, annotated):
            if triplet.boxes and triplet.tag:
                tags.add(
                    triplet.tag,
                    triplet.boxes[0],
                    triplet.line,
                    casing=triplet.casing,
                    below=triplet.dashed,
                    spare=objects,
                )
        if image is None and missing:
            edges = [edge for each in (annotated, predicted) for edge in _level_edges(each)]
            corner = (frame.left, frame.bottom, frame.left, frame.bottom)
            tags.add(missing, corner, GROUND, casing=GROUND, around=edges)
    return ax


def card(
    case: Case,
    image: Image | None = None,
    *,
    missing: str = "",
    width: float = SINGLE_COLUMN,
    words: bool = True,
) -> Figure:
    """Make a figure of a case: its picture, with the error and its repair described below.

    Parameters
    ----------
    case, image, missing
        As for :func:`picture`.
    width : float
        In inches. A very tall picture becomes narrower.
    words : bool
        Whether there is text below the picture; without it the figure is as wide as the picture.

    Returns
    -------
    matplotlib.figure.Figure
        See :func:`diaghoi.plots.save`.
    """
    wide, tall = _inches(frame_of(case, image), width)
    with paper():
        if not words:
            figure = Figure(figsize=(wide, tall))
            picture(case, image, figure.add_axes((0, 0, 1, 1)), missing=missing)
            return figure
        lines = list(_lines(case, width, enlargement(case, image)))
        whole = tall + (3.0 + LEADING * sum(line.size for line in lines)) / 72
        figure = Figure(figsize=(width, whole))
        place = ((width - wide) / 2 / width, 1 - tall / whole, wide / width, tall / whole)
        picture(case, image, figure.add_axes(place), missing=missing)
        down = tall + 2.0 / 72
        for line in lines:
            figure.text(
                EDGE / 72 / width,
                1 - down / whole,
                line.text,
                fontsize=line.size,
                fontweight=line.weight,
                color=line.ink,
                va="top",
                parse_math=False,
            )
            down += LEADING * line.size / 72
    return figure


class _Line(NamedTuple):
    """One line of the text below a picture."""

    text: str
    size: float = TEXT_SIZE
    weight: str = "normal"
    ink: str = "black"


def _lines(case: Case, width: float, enlarged: float) -> Iterator[_Line]:
    """Break the description of a case into lines."""
    width = (width - 2 * EDGE / 72) / HINTED
    title = f"{error_title(case.error)}: {case_title(case)}"
    yield _Line(fitted(short(title), BOLD * width, TEXT_SIZE), weight="bold")
    for words in (case.sentence, f"Under its oracle it {case.repair}."):
        for line in wrapped(in_a_line(words), width, TEXT_SIZE):
            yield _Line(line)
    legend = "Dashes: annotation."
    if case.name is not None:
        legend = f"Solid: prediction. {legend}"
    legend = f"{legend} {enlarged_words(enlarged)}".rstrip()
    room = width - text_width(f"{legend}  ", SMALL)
    yield _Line(f"{legend}  {fitted(short(case.image), room, SMALL)}", size=SMALL, ink="0.35")


def case_title(case: Case) -> str:
    """Return the predicted class with its score, or the missed class: ``ride bicycle 0.84``."""
    name = case.name or str(case.annotated)
    return name if case.score is None else f"{name} {shown_score(case.score)}"


def enlarged_words(enlarged: float) -> str:
    """Say that a picture shows a part of the image; nothing where it shows all of it."""
    return f"Enlarged {enlarged:.1f} times." if enlarged >= ENLARGED else ""


def _inches(frame: PictureFrame, width: float) -> tuple[float, float]:
    """Return width and height of the picture in a column."""
    height = width * min(frame.ratio, TALLEST)
    return height / frame.ratio, height


def _annotated(case: Case) -> _Triplet:
    return _Triplet(
        boxes=tuple(b for b in (case.annotated_human, case.annotated_object) if b is not None),
        # The nearest boxes need not form a pair.
        joined=case.annotated is not None or case.error == "action",
        tag=case.annotated or "",
        line=WHITE,
        casing=DARK,
        dashed=True,
    )


def _predicted(case: Case) -> _Triplet:
    return _Triplet(
        boxes=tuple(box for box in (case.human, case.object) if box is not None),
        joined=True,
        tag="" if case.name is None else case_title(case),
        line=colour(case.error),
        # Light lines need a dark casing, dark lines a light one.
        casing=ink_on(colour(case.error)),
        dashed=False,
    )


def _point(ax: Axes, frame: PictureFrame) -> float:
    """Return the pixels of the picture per point of print, as far as known before layout."""
    place, figure = ax.get_position(), ax.get_figure(root=True)
    across, down = (1.0, 1.0) if figure is None else figure.get_size_inches()
    inches = min(across * place.width, down * place.height / frame.ratio)
    return (frame.right - frame.left) / inches / 72


def _draw_empty(ax: Axes, frame: PictureFrame) -> None:
    across = (frame.left, frame.right, frame.right, frame.left)
    down = (frame.top, frame.top, frame.bottom, frame.bottom)
    ax.fill(across, down, facecolor=GROUND, edgecolor="none", zorder=0)
    # Drawn above the tags (zorder 3 and 4), so that none hides the edge.
    ax.fill(across, down, facecolor="none", edgecolor="0.6", linewidth=1.0, zorder=5)


def _level_edges(triplet: _Triplet) -> Iterator[Box]:
    """Yield the upper and lower edges of boxes, which a line of text would hide."""
    for left, top, right, bottom in triplet.boxes:
        yield left, top, right, top
        yield left, bottom, right, bottom


def _draw_triplet(ax: Axes, triplet: _Triplet, whole: PictureFrame, point: float) -> None:
    """Draw two boxes and the line that joins their centres."""
    for box in triplet.boxes:
        left, top, right, bottom = whole.inside(box, (LINE / 2 + CASING) * point)
        _draw_line(ax, triplet, (left, right, right, left, left), (top, top, bottom, bottom, top))
    if len(triplet.boxes) < 2 or not triplet.joined:
        return
    across, down = zip(*map(_centre, triplet.boxes), strict=True)
    _draw_line(ax, triplet, across, down)
    for x, y, marker in zip(across, down, "os", strict=True):
        ax.plot(
            *(x, y),
            marker=marker,
            markersize=DOT,
            markerfacecolor=triplet.line,
            markeredgecolor=triplet.casing,
            markeredgewidth=CASING,
        )


def _draw_line(ax: Axes, triplet: _Triplet, across: Sequence[float], down: Sequence[float]) -> None:
    """Draw a line that is visible on any background."""
    around = 0 if triplet.dashed else 2 * CASING
    ax.plot(across, down, color=triplet.casing, linewidth=LINE + around, solid_joinstyle="miter")
    ax.plot(
        across,
        down,
        color=triplet.line,
        linewidth=LINE,
        linestyle=DASHES if triplet.dashed else "-",
        solid_joinstyle="miter",
        dash_capstyle="butt",
    )


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
