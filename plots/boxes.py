"""Pictures with boxes: the visible part, lines that show on any background, and name tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from diaghoi.cases.cases import Box, Case
from diaghoi.cases.outcomes import FALSE, MISSED, RIGHT
from diaghoi.plots.labels import fitted, text_width
from diaghoi.plots.style import ink_on

Image = npt.NDArray[np.uint8]

UNKNOWN = 0.1  # margin around boxes if the image size is unknown, as a share of the boxes' extent
# A picture shows only a part of an image if the boxes then appear at least ENLARGED times larger.
ENLARGED, MOST_ENLARGED = 2.0, 8.0  # least and largest enlargement of a part
ROOM = 0.5  # share of the width or height that all boxes span in an enlarged part
NOTHING = (-0.5, -0.5, 639.5, 479.5)  # frame of a case without boxes, in an image of unknown size
BESIDE = 0.12  # margin around the boxes in a crop, as a share of the boxes' extent
TINY, TINY_ROOM = 1 / 16, 0.25  # largest span of a pair that is enlarged alone, and its span then


class PictureFrame(NamedTuple):
    """The part of the image plane shown in a picture, in image pixels.

    Parameters
    ----------
    left, top, right, bottom : float
        Edges of the frame. Coordinates refer to pixel centres, so an image begins at -0.5.
    """

    left: float
    top: float
    right: float
    bottom: float

    @property
    def ratio(self) -> float:
        """Height over width."""
        return (self.bottom - self.top) / (self.right - self.left)

    def inside(self, box: Box, inset: float) -> Box:
        """Clip a box to the frame, so that its edges are visible."""
        across = np.clip((box[0], box[2]), self.left + inset, self.right - inset)
        down = np.clip((box[1], box[3]), self.top + inset, self.bottom - inset)
        return float(across[0]), float(down[0]), float(across[1]), float(down[1])


def whole_of(case: Case, image: Image | None = None) -> PictureFrame | None:
    """Return the frame of the whole image of a case; None if the image size is unknown.

    Parameters
    ----------
    case : Case
        The case to draw.
    image : (H, W, 3) uint8 array, optional
        The picture, for an image of unknown size.
    """
    if case.size is None and image is None:
        return None
    return frame_of_boxes((), case.size, image)


def frame_of_boxes(
    boxes: Sequence[Box], size: tuple[int, int] | None, image: Image | None = None
) -> PictureFrame:
    """Return the frame of a whole image, or of its boxes if the size is unknown.

    Parameters
    ----------
    boxes : sequence of boxes
        Boxes on the image.
    size : (width, height) or None
        Size in pixels, if known.
    image : (H, W, 3) uint8 array, optional
        The picture, for an image of unknown size.
    """
    if size is None and image is not None:
        size = (image.shape[1], image.shape[0])
    if size is not None:
        return PictureFrame(-0.5, -0.5, size[0] - 0.5, size[1] - 0.5)
    usable = _usable(*boxes)
    if not usable:
        return PictureFrame(*NOTHING)
    left, top, right, bottom = _around(usable)
    margin = max(1.0, UNKNOWN * max(right - left, bottom - top))
    return PictureFrame(left - margin, top - margin, right + margin, bottom + margin)


def frame_of(case: Case, image: Image | None = None) -> PictureFrame:
    """Return the frame of a case: the image, or the part with the boxes if the boxes are small.

    A part of the image has the aspect ratio of the image. If the image size is unknown, the frame
    contains all boxes with a margin.

    Parameters
    ----------
    case, image
        As in :func:`whole_of`.
    """
    whole = whole_of(case, image)
    predicted = _usable(case.human, case.object)
    annotated = _usable(case.annotated_human, case.annotated_object)
    boxes = [*predicted, *annotated]
    if not boxes:
        return whole or PictureFrame(*NOTHING)
    if whole is None:
        return frame_of_boxes(boxes, None)
    part = _part(whole, _around(boxes), ROOM)
    pair = _around(predicted or annotated)
    if part == whole and _span(whole, pair) <= TINY:
        return _part(whole, pair, TINY_ROOM)
    return part


def enlargement(case: Case, image: Image | None = None) -> float:
    """Return the magnification of a case relative to a picture of the whole image."""
    whole, frame = whole_of(case, image), frame_of(case, image)
    return 1.0 if whole is None else (whole.right - whole.left) / (frame.right - frame.left)


def crop(boxes: Sequence[Box], whole: PictureFrame, ratio: float) -> PictureFrame:
    """Return the part of an image that shows the given boxes as large as possible.

    Parameters
    ----------
    boxes : sequence of boxes
        Boxes that must be visible; without boxes, the whole image is shown.
    whole : PictureFrame
        The image. A part is magnified at most eight times and is never larger than the image, so
        the part may have another ratio than ``ratio``.
    ratio : float
        Ratio of height to width.
    """
    usable = _usable(*boxes)
    if not usable:
        return whole
    box = _around(usable)
    margin = BESIDE * max(box[2] - box[0], box[3] - box[1])
    width = max(
        box[2] - box[0] + 2 * margin,
        (box[3] - box[1] + 2 * margin) / ratio,
        (whole.right - whole.left) / MOST_ENLARGED,
    )
    height = min(width * ratio, whole.bottom - whole.top)
    width = min(width, whole.right - whole.left)
    left = _start((box[0] + box[2]) / 2, width, whole.left, whole.right)
    top = _start((box[1] + box[3]) / 2, height, whole.top, whole.bottom)
    return PictureFrame(left, top, left + width, top + height)


def _usable(*boxes: Box | None) -> list[Box]:
    return [box for box in boxes if box is not None and np.isfinite(box).all()]


def _around(boxes: Sequence[Box]) -> Box:
    corners = np.array(boxes).reshape(-1, 2)
    left, top = corners.min(axis=0).tolist()
    right, bottom = corners.max(axis=0).tolist()
    return left, top, right, bottom


def _span(whole: PictureFrame, box: Box) -> float:
    """Return the share of an image's width or height that a box spans, whichever is larger."""
    across = (box[2] - box[0]) / (whole.right - whole.left)
    return max(across, (box[3] - box[1]) / (whole.bottom - whole.top))


def _part(whole: PictureFrame, box: Box, room: float) -> PictureFrame:
    """Crop an image so that a box spans the given share, if the crop enlarges the box enough."""
    factor = room / max(_span(whole, box), room / MOST_ENLARGED)
    if factor < ENLARGED:
        return whole
    width, height = (whole.right - whole.left) / factor, (whole.bottom - whole.top) / factor
    left = _start((box[0] + box[2]) / 2, width, whole.left, whole.right)
    top = _start((box[1] + box[3]) / 2, height, whole.top, whole.bottom)
    return PictureFrame(left, top, left + width, top + height)


def _start(centre: float, side: float, first: float, last: float) -> float:
    """Return where a crop of length ``side`` starts, centred as nearly as the image allows."""
    return min(max(centre - side / 2, first), last - side)


Colour = tuple[float, float, float]

# Points:
TAG = 6.5  # font size
PAD = 1.3  # padding around the text of a tag
HINTED = 1.03  # hinted letters on screen are at most this much wider than their outlines
MOST = 60  # letters kept at each end of a name; no column has room for more
DARK, WHITE = to_rgb("#1a1a1a"), to_rgb("white")


class BoxTags:
    """Name tags in one picture.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes of the picture.
    frame : PictureFrame
        Frame of the picture.
    point : float
        Picture pixels per printed point.
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
        """Add a tag at a left corner of a box, without overlapping earlier tags.

        Parameters
        ----------
        text : str
            The name; long names are shortened in the middle.
        box : tuple of four floats
            The box to name.
        ground, casing : tuple of three floats
            Colour of the tag and of its rim.
        below : bool
            Whether to prefer the space below the box to the space above it.
        around : sequence of boxes
            Areas that the tag must not hide.
        spare : sequence of boxes
            Areas that the tag should avoid if there is another place.
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
        # If all four corners are taken, use the first free place from the top down.
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
    """Return a text on one line that a font can draw, even if the text is not valid Unicode."""
    return " ".join(text.encode(errors="replace").decode().split())


def short(name: str) -> str:
    """Return a one-line name; a very long name is shortened in the middle."""
    name = in_a_line(name)
    return name if len(name) <= 2 * MOST else f"{name[:MOST]}…{name[-MOST:]}"


# Points:
LINE, CASING = 0.9, 0.45  # width of a line, and of its casing on each side
DOT = 3.0
DASHES = (0, (3.0, 2.0))
GROUND = to_rgb("0.86")  # colour of an empty frame


# The three styles differ even in greyscale: light with a dark casing, dark with a light casing, and
# dashed.
OUTCOME_LINES = {
    RIGHT: (to_rgb("#66CCEE"), DARK, False),
    FALSE: (to_rgb("#AA3377"), WHITE, False),
    MISSED: (to_rgb("#EECC66"), DARK, True),
}


@dataclass(frozen=True, kw_only=True)
class PairLines:
    """Style of two boxes: solid with a casing, or dashed on a background colour.

    Parameters
    ----------
    boxes : tuple of boxes
        Person and object box, if any.
    line, casing : tuple of three floats
        Colours.
    dashed : bool
        Whether the lines are dashed, with the casing colour between the dashes.
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
        """Return the drawing style of a correct, wrong or missed pair.

        Parameters
        ----------
        outcome : str
            One of :data:`diaghoi.cases.outcomes.OUTCOMES`.
        *boxes : box or None
            Boxes of the person and of the object.
        """
        line, casing, dashed = OUTCOME_LINES[outcome]
        there = tuple(box for box in boxes if box is not None)
        return PairLines(boxes=there, line=line, casing=casing, dashed=dashed)

    @property
    def level_edges(self) -> Iterator[Box]:
        """The upper and lower edges of the boxes; a tag on an edge would hide the edge."""
        for left, top, right, bottom in self.boxes:
            yield left, top, right, top
            yield left, bottom, right, bottom


def show(ax: Axes, frame: PictureFrame, whole: PictureFrame, image: Image | None) -> float:
    """Show a part of an image, or an empty frame; return the pixels per printed point.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw in.
    frame, whole : PictureFrame
        The visible part, and the whole image.
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
        # The edge is drawn above the tags (zorder 3 and 4), so that no tag hides the edge.
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
        Axes to draw in.
    pair : PairLines
        What to draw.
    frame : PictureFrame
        Frame to which boxes are clipped.
    point : float
        Picture pixels per printed point.
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
