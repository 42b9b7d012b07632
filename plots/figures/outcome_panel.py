"""Right, false and missed pairs of one or more detectors on the same pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.cases.outcomes import OUTCOMES, ImageOutcomes, PairOutcome
from diaghoi.plots.frame import Image, PictureFrame, crop, frame_of_boxes
from diaghoi.plots.labels import model_names
from diaghoi.plots.montage import Caption, Cell, balanced, key_of, montage
from diaghoi.plots.pair_lines import PairLines, draw_pair, show
from diaghoi.plots.style import SINGLE_COLUMN
from diaghoi.plots.tags import BoxTags

RATIO = 0.75  # height over width of pictures
MOST = 6  # pairs with a number and a caption


def outcome_panel(
    models: Mapping[str, Sequence[ImageOutcomes]],
    images: Sequence[Image | None],
    *,
    width: float = SINGLE_COLUMN,
    columns: int = 0,
) -> Figure:
    """Draw what detectors find, invent and miss: a row for each, a column for each picture.

    Boxes of pairs are numbered; the interactions stand below the picture, all verbs of a pair
    together, each with its score.

    Parameters
    ----------
    models : mapping of str to sequence of ImageOutcomes
        By the label of the detector, for the same images; from
        :func:`diaghoi.cases.outcomes.image_outcomes`.
    images : sequence of (H, W, 3) uint8 array or None
        Pictures of these images; None for an empty frame.
    width : float
        Of the figure in inches.
    columns : int
        Pictures in a row, after which the detectors start again below; 0 for as many as are
        legible.

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
            rows.append([_cell([each[n] for each in outcomes], own[n], images[n]) for n in some])
            sides.append(name)
    legend = [Caption(outcome, key=key_of(PairLines.of_outcome(outcome))) for outcome in OUTCOMES]
    return montage(rows, width, sides=sides, legend=legend)


def _cell(all_models: Sequence[ImageOutcomes], own: ImageOutcomes, image: Image | None) -> Cell:
    """Draw one detector on one image, in the part that shows the boxes of all detectors."""
    boxes = [box for each in all_models for pair in each.pairs for box in _lines(pair).boxes]
    whole = frame_of_boxes(boxes, own.size, image)
    frame = crop(boxes, whole, RATIO)
    captions = [
        Caption(f"{number} {pair.caption}", key=key_of(_lines(pair)))
        for number, pair in enumerate(own.pairs[:MOST], start=1)
    ]
    if len(own.pairs) > MOST:
        captions.append(Caption(f"and {len(own.pairs) - MOST} more"))
    return Cell(draw=_drawing(frame, whole, image, own), ratio=RATIO, captions=tuple(captions))


def _drawing(
    frame: PictureFrame, whole: PictureFrame, image: Image | None, own: ImageOutcomes
) -> Callable[[Axes], object]:
    def draw(ax: Axes) -> None:
        point = show(ax, frame, whole, image)
        tags = BoxTags(ax, frame, point)
        # What is right is drawn last, above the rest.
        for pair in reversed(own.pairs):
            draw_pair(ax, _lines(pair), whole, point)
        for number, pair in enumerate(own.pairs[:MOST], start=1):
            lines = _lines(pair)
            if lines.boxes:
                tags.add(str(number), lines.boxes[0], lines.line, casing=lines.casing)

    return draw


def _lines(pair: PairOutcome) -> PairLines:
    return PairLines.of_outcome(pair.outcome, pair.human, pair.object)
