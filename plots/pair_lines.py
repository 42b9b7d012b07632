"""Pairs of boxes drawn on a picture: lines that are visible on any background."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from diaghoi.cases.cases import Box
from diaghoi.cases.outcomes import FALSE, MISSED, RIGHT
from diaghoi.plots.frame import Image, PictureFrame
from diaghoi.plots.tags import DARK, WHITE, Colour

# Points:
LINE, CASING = 0.9, 0.45  # width of a line, and of its casing on each side
DOT = 3.0
DASHES = (0, (3.0, 2.0))
GROUND = to_rgb("0.86")  # of an empty frame


# Light with a dark casing, dark with a light one, and dashes: they differ in grey print, too.
OUTCOME_LINES = {
    RIGHT: (to_rgb("#66CCEE"), DARK, False),
    FALSE: (to_rgb("#AA3377"), WHITE, False),
    MISSED: (to_rgb("#EECC66"), DARK, True),
}


@dataclass(frozen=True, kw_only=True)
class PairLines:
    """Two boxes as they are drawn: solid with a casing, or dashed on a background colour.

    Parameters
    ----------
    boxes : tuple of boxes
        Of the person and of the object, as far as there are any.
    line, casing : tuple of three floats
        Colours.
    dashed : bool
        Whether the casing shows between dashes.
    joined : bool
        Whether the boxes form a pair: a line joins their centres, from a dot in the person to a
        square in the object.
    """

    boxes: tuple[Box, ...]
    line: Colour
    casing: Colour
    dashed: bool = False
    joined: bool = True

    @staticmethod
    def of_outcome(outcome: str, *boxes: Box | None) -> PairLines:
        """Return a pair that is right, false or missed as it is drawn.

        Parameters
        ----------
        outcome : str
            One of :data:`diaghoi.cases.outcomes.OUTCOMES`.
        *boxes : box or None
            Of the person and of the object.
        """
        line, casing, dashed = OUTCOME_LINES[outcome]
        there = tuple(box for box in boxes if box is not None)
        return PairLines(boxes=there, line=line, casing=casing, dashed=dashed)

    @property
    def level_edges(self) -> Iterator[Box]:
        """The upper and lower edges of the boxes, which a line of text would hide."""
        for left, top, right, bottom in self.boxes:
            yield left, top, right, top
            yield left, bottom, right, bottom


def show(ax: Axes, frame: PictureFrame, whole: PictureFrame, image: Image | None) -> float:
    """Show a part of an image, or an empty frame, and return the pixels per point of print.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    frame, whole : PictureFrame
        The part that is shown, and the whole image.
    image : (H, W, 3) uint8 array or None
        The picture, in any resolution.
    """
    ax.set_axis_off()
    ax.set_xlim(frame.left, frame.right)
    ax.set_ylim(frame.bottom, frame.top)
    ax.set_aspect("equal")
    if image is None:
        across = (frame.left, frame.right, frame.right, frame.left)
        down = (frame.top, frame.top, frame.bottom, frame.bottom)
        ax.fill(across, down, facecolor=GROUND, edgecolor="none", zorder=0)
        # Drawn above the tags (zorder 3 and 4), so that none hides the edge.
        ax.fill(across, down, facecolor="none", edgecolor="0.6", linewidth=1.0, zorder=5)
    else:
        extent = (whole.left, whole.right, whole.bottom, whole.top)
        ax.imshow(image, extent=extent, interpolation="antialiased")
    place, figure = ax.get_position(), ax.get_figure(root=True)
    wide, tall = (1.0, 1.0) if figure is None else figure.get_size_inches()
    inches = min(wide * place.width, tall * place.height / frame.ratio)
    return float((frame.right - frame.left) / inches / 72)


def draw_pair(ax: Axes, pair: PairLines, frame: PictureFrame, point: float) -> None:
    """Draw two boxes and the line that joins their centres.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    pair : PairLines
        What to draw.
    frame : PictureFrame
        What the boxes are clipped to.
    point : float
        Pixels of the picture per point of print.
    """
    for box in pair.boxes:
        left, top, right, bottom = frame.inside(box, (LINE / 2 + CASING) * point)
        _draw_line(ax, pair, (left, right, right, left, left), (top, top, bottom, bottom, top))
    if len(pair.boxes) < 2 or not pair.joined:
        return
    across, down = zip(*map(centre, pair.boxes), strict=True)
    _draw_line(ax, pair, across, down)
    for x, y, marker in zip(across, down, "os", strict=True):
        ax.plot(
            *(x, y),
            marker=marker,
            markersize=DOT,
            markerfacecolor=pair.line,
            markeredgecolor=pair.casing,
            markeredgewidth=CASING,
        )


def centre(box: Box) -> tuple[float, float]:
    """Return the centre of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _draw_line(ax: Axes, pair: PairLines, across: Sequence[float], down: Sequence[float]) -> None:
    """Draw a line that is visible on any background."""
    around = 0 if pair.dashed else 2 * CASING
    ax.plot(across, down, color=pair.casing, linewidth=LINE + around, solid_joinstyle="miter")
    ax.plot(
        across,
        down,
        color=pair.line,
        linewidth=LINE,
        linestyle=DASHES if pair.dashed else "-",
        solid_joinstyle="miter",
        dash_capstyle="butt",
    )
