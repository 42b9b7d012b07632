"""One picture under several corruptions, or under one in several severities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.plots.frame import Image, PictureFrame
from diaghoi.plots.montage import Caption, Cell, in_rows, montage
from diaghoi.plots.pair_lines import show
from diaghoi.plots.style import SINGLE_COLUMN


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
        By the title of the corruption, in the order of the severities.
    severities : sequence of int
        Several have a column each, and the corruptions a row each. With one, the corruptions
        follow each other.
    width : float
        Of the figure in inches.
    columns : int
        Pictures in a row where there is one severity; 0 for as many as are legible.

    Returns
    -------
    matplotlib.figure.Figure
        See :func:`diaghoi.plots.save`.
    """
    if len(severities) > 1:
        rows = [[_cell(each) for each in images] for images in pictures.values()]
        heads = [f"Severity {severity}" for severity in severities]
        return montage(rows, width, heads=heads, sides=list(pictures))
    cells = [_cell(images[0], title) for title, images in pictures.items()]
    return montage(in_rows(cells, columns or (5 if width > SINGLE_COLUMN else 3)), width)


def _cell(image: Image, title: str = "") -> Cell:
    tall, wide = image.shape[:2]
    whole = PictureFrame(-0.5, -0.5, wide - 0.5, tall - 0.5)
    captions = (Caption(title),) if title else ()
    return Cell(draw=partial(_draw, image, whole), ratio=tall / wide, captions=captions)


def _draw(image: Image, whole: PictureFrame, ax: Axes) -> None:
    show(ax, whole, whole, image)
