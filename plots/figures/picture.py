"""A case drawn on its picture: annotation, prediction, and a description of the error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.cases.cases import Case
from diaghoi.cases.sentences import shown_score
from diaghoi.oracles import error_title
from diaghoi.plots.boxes import (
    DARK,
    ENLARGED,
    GROUND,
    HINTED,
    WHITE,
    BoxTags,
    Image,
    PairLines,
    PictureFrame,
    draw_pair,
    enlargement,
    frame_of,
    in_a_line,
    short,
    show,
    whole_of,
)
from diaghoi.plots.labels import fitted, text_width, wrapped
from diaghoi.plots.style import SINGLE_COLUMN, colour, ink_on, paper

TALLEST = 1.25  # largest ratio of picture height to column width; taller pictures are narrower
LEADING = 1.3  # distance of text lines, in font sizes
BOLD = 0.87  # width of regular letters, divided by the width of bold letters
# Points:
TEXT_SIZE, SMALL = 7.0, 5.5  # fonts
EDGE = 1.5  # margin on each side of the text below a picture


def picture(
    case: Case, image: Image | None = None, ax: Axes | None = None, *, missing: str = ""
) -> Axes:
    """Draw the boxes of a case on its picture.

    The prediction has solid lines in the colour of its error, and the annotation has black and
    white dashes. If the boxes are small, only a magnified part of the image is shown; see
    :func:`diaghoi.plots.boxes.enlargement`. A line connects the centres of the two boxes of a pair,
    from a dot in the person to a square in the object.

    Parameters
    ----------
    case : Case
        From :func:`diaghoi.cases.cases.worst_cases`.
    image : (H, W, 3) uint8 array, optional
        The picture, in any resolution; without it, the frame is empty.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    missing : str
        Text in an empty frame.
    """
    frame = frame_of(case, image)
    whole = whole_of(case, image) or frame
    with paper():
        if ax is None:
            ax = Figure(figsize=_inches(frame, SINGLE_COLUMN)).add_axes((0, 0, 1, 1))
        point = show(ax, frame, whole, image)
        tags = BoxTags(ax, frame, point)
        annotated, predicted = annotated_lines(case), predicted_lines(case)
        for pair in (annotated, predicted):
            draw_pair(ax, pair, whole, point)
        objects = [box for each in (annotated, predicted) for box in each.boxes[1:]]
        # The prediction's tag is placed first, because it matters more if space is short.
        predicted_tag = "" if case.name is None else case_title(case)
        for pair, tag in ((predicted, predicted_tag), (annotated, case.annotated or "")):
            if pair.boxes and tag:
                tags.add(
                    tag,
                    pair.boxes[0],
                    pair.line,
                    casing=pair.casing,
                    below=pair.dashed,
                    spare=objects,
                )
        if image is None and missing:
            edges = [edge for each in (annotated, predicted) for edge in each.level_edges]
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
    """Create a figure of a case: its picture, with the error and its repair described below.

    Parameters
    ----------
    case, image, missing
        As in :func:`picture`.
    width : float
        Width in inches. A very tall picture is drawn narrower.
    words : bool
        Whether there is text below the picture; without text, the figure is as wide as the picture.

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
    """A line of text below a picture."""

    text: str
    size: float = TEXT_SIZE
    weight: str = "normal"
    ink: str = "black"


def _lines(case: Case, width: float, enlarged: float) -> Iterator[_Line]:
    """Wrap the description of a case into lines."""
    width = (width - 2 * EDGE / 72) / HINTED
    title = f"{error_title(case.error)}: {case_title(case)}"
    yield _Line(fitted(short(title), BOLD * width, TEXT_SIZE), weight="bold")
    for words in (case.sentence, f"Under its oracle it {case.repair}."):
        for line in wrapped(in_a_line(words), width, TEXT_SIZE):
            yield _Line(line)
    # The repair may turn a prediction into another annotated triplet than the nearest one.
    legend = f"Dashes: {'annotation' if case.repaired is None else 'repaired'}."
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
    """Return a note that a picture shows only a part of the image; empty for a whole image."""
    return f"Enlarged {enlarged:.1f} times." if enlarged >= ENLARGED else ""


def _inches(frame: PictureFrame, width: float) -> tuple[float, float]:
    """Return the width and height of the picture in a column."""
    height = width * min(frame.ratio, TALLEST)
    return height / frame.ratio, height


def annotated_lines(case: Case) -> PairLines:
    """Return the drawing style of the annotation of a case: dashed in black and white."""
    return PairLines(
        boxes=tuple(b for b in (case.annotated_human, case.annotated_object) if b is not None),
        # The nearest annotated boxes may not form a pair.
        joined=case.annotated is not None or case.error == "action",
        line=WHITE,
        casing=DARK,
        dashed=True,
    )


def predicted_lines(case: Case) -> PairLines:
    """Return the drawing style of the prediction of a case: solid in the colour of its error."""
    return PairLines(
        boxes=tuple(box for box in (case.human, case.object) if box is not None),
        line=colour(case.error),
        # Light lines need a dark casing, and dark lines a light one.
        casing=ink_on(colour(case.error)),
    )
