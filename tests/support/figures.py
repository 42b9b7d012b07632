"""What a reader of a figure would complain of, found with the renderer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from diaghoi.plots import DOUBLE_COLUMN, SINGLE_COLUMN

SMALLEST_TYPE = 5.5  # points
# Widths and numbers of models in which figures are looked at: the least room and the most first.
SIZES = (
    (SINGLE_COLUMN, 12),
    (DOUBLE_COLUMN, 2),
    *(
        pytest.param(width, number, marks=pytest.mark.slow)
        for width, number in (
            *((SINGLE_COLUMN, 1), (SINGLE_COLUMN, 2)),
            *((DOUBLE_COLUMN, 1), (DOUBLE_COLUMN, 12)),
        )
    ),
)
TOUCHING = 0.5  # pixels by which boxes may meet

Corners = npt.NDArray[np.float64]


def complaints(figure: Figure) -> list[str]:
    """Draw a figure; list words that overlap, lie outside the figure, or are too small."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = {text: _corners(text, canvas) for text in _texts(figure)}
    texts, boxes = list(shown), np.array(list(shown.values()))
    found = [
        f"'{texts[one].get_text()}' overlaps '{texts[other].get_text()}'"
        for one, other in _near(boxes)
        if _overlap(boxes[one], boxes[other])
    ]
    inside = figure.bbox.padded(TOUCHING)
    for text, corners in shown.items():
        if not all(inside.contains(x, y) for x, y in corners):
            found.append(f"'{text.get_text()}' lies outside")
        if text.get_fontsize() < SMALLEST_TYPE:
            found.append(f"'{text.get_text()}' is {text.get_fontsize():g} points small")
    return found


def faint(ax: Axes, cells: ScalarMappable, values: Corners) -> list[str]:
    """List the numbers in the cells of a heat map whose contrast ratio by WCAG 2.1 is below 4.5.

    ``values`` are those of the cells, row by row; NaN stays white.
    """
    grounds = cells.to_rgba(values)
    found = []
    for text in ax.texts:
        # Cells reach from n to n + 1 in a mesh, and from n - 0.5 to n + 0.5 in an image.
        column, row = np.floor(np.add(text.get_position(), 0.5 if ax.images else 0)).astype(int)
        *ground, alpha = grounds[row, column]
        blended = alpha * np.array(ground) + 1 - alpha
        lights = sorted(
            _relative_luminance(np.array(c)) for c in (blended, to_rgb(text.get_color()))
        )
        if (lights[1] + 0.05) / (lights[0] + 0.05) < 4.5:
            found.append(f"{text.get_text()} at row {row}, column {column}")
    return found


def _relative_luminance(rgb: Corners) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _texts(figure: Figure) -> list[Text]:
    hidden = {
        text
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for text in (tick.label1, tick.label2)
        if not _in_view(axis, tick)
    }
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text.get_visible()
        and text.get_text().strip()
        and text not in hidden
    ]


def _in_view(axis: object, tick: object) -> bool:
    low, high = sorted(axis.get_view_interval())  # type: ignore[attr-defined]
    slack = 1e-9 * (high - low)
    return bool(low - slack <= tick.get_loc() <= high + slack)  # type: ignore[attr-defined]


def _corners(text: Text, canvas: FigureCanvasAgg) -> Corners:
    """Corners of the box around words, turned as they are."""
    centre = text.get_window_extent(canvas.get_renderer())
    turn, mode = text.get_rotation(), text.get_rotation_mode()
    text.set_rotation(0)
    flat = text.get_window_extent(canvas.get_renderer())
    text.set_rotation(turn)
    text.set_rotation_mode(mode)
    angle = np.deg2rad(turn)
    across = np.array([np.cos(angle), np.sin(angle)]) * flat.width / 2
    up = np.array([-np.sin(angle), np.cos(angle)]) * flat.height / 2
    middle = np.array([(centre.x0 + centre.x1) / 2, (centre.y0 + centre.y1) / 2])
    return middle + np.array([across + up, across - up, -across - up, -across + up])


def _near(boxes: Corners) -> Iterator[tuple[int, int]]:
    """Pairs of turned boxes whose upright boxes overlap."""
    low, high = boxes.min(axis=1), boxes.max(axis=1)
    for number in range(len(boxes)):
        near = ((low[number] < high[number + 1 :]) & (low[number + 1 :] < high[number])).all(axis=1)
        yield from ((number, number + 1 + other) for other in np.flatnonzero(near).tolist())


def _overlap(one: Corners, other: Corners) -> bool:
    """Whether two turned boxes overlap: no line along a side of one separates them."""
    for box in (one, other):
        for side in (box[1] - box[0], box[2] - box[1]):
            along = side / (np.hypot(*side) or 1.0)
            here, there = one @ along, other @ along
            if min(here.max(), there.max()) - max(here.min(), there.min()) <= TOUCHING:
                return False
    return True
