"""Name tags of boxes on a picture, placed without overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from diaghoi.cases.cases import Box
from diaghoi.plots.frame import PictureFrame
from diaghoi.plots.labels import fitted, text_width
from diaghoi.plots.style import ink_on

Colour = tuple[float, float, float]

# Points:
TAG = 6.5  # font size
PAD = 1.3  # padding around the text of a tag
HINTED = 1.03  # most by which hinted letters on screen are wider than their outlines
MOST = 60  # letters kept at each end of a name; no column has room for more
DARK, WHITE = to_rgb("#1a1a1a"), to_rgb("white")


class BoxTags:
    """The name tags of one picture.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where the picture is drawn.
    frame : PictureFrame
        The frame of the picture.
    point : float
        Pixels of the picture per point of print.
    """

    def __init__(self, ax: Axes, frame: PictureFrame, point: float) -> None:
        self.ax, self.frame, self.point = ax, frame, point
        self.taken: list[Box] = []

    def add(
        self,
        text: str,
        box: Box,
        ground: Colour,
        *,
        casing: Colour = DARK,
        below: bool = False,
        around: Sequence[Box] = (),
        spare: Sequence[Box] = (),
    ) -> None:
        """Add a tag at the left of a box, clear of the earlier tags.

        Parameters
        ----------
        text : str
            The name; long names are shortened in the middle.
        box : tuple of four floats
            The box to name.
        ground, casing : tuple of three floats
            Colour of the tag and of its rim.
        below : bool
            Whether to prefer the place below the box to that above it.
        around : sequence of boxes
            What the tag must not hide.
        spare : sequence of boxes
            What the tag should not hide if there is another place at the box.
        """
        room = (self.frame.right - self.frame.left) / self.point
        text = fitted(short(text), (room / HINTED - 2 * PAD) / 72, TAG)
        width = (72 * text_width(text, TAG) * HINTED + 2 * PAD) * self.point
        height = (1.25 * TAG + 2 * PAD) * self.point
        taken = [*self.taken, *around]
        place = self._place(self.frame.inside(box, 0), (width, height), below, taken, spare)
        left, top, right, bottom = place
        self.taken.append((left, top, right, bottom))
        self.ax.fill(
            (left, right, right, left),
            (top, top, bottom, bottom),
            facecolor=ground,
            edgecolor=casing,
            linewidth=0.5,
            zorder=3,
        )
        self.ax.text(
            left + PAD * self.point,
            (top + bottom) / 2,
            text,
            fontsize=TAG,
            color=ink_on(ground),
            va="center_baseline",
            parse_math=False,
            zorder=4,
        )

    def _place(
        self,
        box: Box,
        size: tuple[float, float],
        below: bool,
        taken: Sequence[Box],
        spare: Sequence[Box],
    ) -> Box:
        """Find a free place outside or inside a left corner of a box."""
        frame, (width, height) = self.frame, size
        left = max(frame.left, min(box[0], frame.right - width))
        above, beneath = (box[1] - height, box[1]), (box[3], box[3] - height)
        corners = [*beneath, *above] if below else [*above, *beneath]
        # If all four corners are taken, the first free place from the top down.
        anywhere = np.arange(frame.top, frame.bottom - height, height).tolist()
        for tops, avoided in ((corners, [*taken, *spare]), ([*corners, *anywhere], taken)):
            for top in tops:
                place = (left, top, left + width, top + height)
                within = top >= frame.top and place[3] <= frame.bottom
                if within and not any(_meet(place, other) for other in avoided):
                    return place
        return left, frame.top, left + width, frame.top + height


def _meet(first: Sequence[float], second: Sequence[float]) -> bool:
    across = first[0] < second[2] and second[0] < first[2]
    return across and first[1] < second[3] and second[1] < first[3]


def in_a_line(text: str) -> str:
    """Return a text in one line that a font can draw: file names need not be Unicode."""
    return " ".join(text.encode(errors="replace").decode().split())


def short(name: str) -> str:
    """Return a name in one line, shortened to both ends if it is very long."""
    name = in_a_line(name)
    return name if len(name) <= 2 * MOST else f"{name[:MOST]}…{name[-MOST:]}"
