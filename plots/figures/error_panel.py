"""One picture for each error, before and after its repair, in the width of a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from diaghoi.cases.cases import Case
from diaghoi.cases.outcomes import RIGHT
from diaghoi.oracles import error_title
from diaghoi.plots.figures.picture import annotated_lines, case_title, predicted_lines
from diaghoi.plots.frame import Image, PictureFrame, crop, frame_of, whole_of
from diaghoi.plots.montage import Caption, Cell, Key, balanced, in_rows, key_of, montage
from diaghoi.plots.pair_lines import PairLines, draw_pair, show
from diaghoi.plots.style import SINGLE_COLUMN
from diaghoi.plots.tags import DARK, WHITE

RATIO = 0.75  # height over width of pictures
PREDICTION = Key(to_rgb("0.6"), DARK, dashed=False)


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
    colour of its error, the annotation dashes.

    Parameters
    ----------
    cases : sequence of Case
        For instance from :func:`diaghoi.cases.typical.typical_cases`.
    images : sequence of (H, W, 3) uint8 array or None
        Their pictures; None for an empty frame.
    width : float
        Of the figure in inches.
    columns : int
        Pictures in a row; 0 for as many as are legible. Even where repairs are shown.
    repairs : bool
        Whether each picture has another beside it, with what the oracle of its error makes of it.

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
    legend.append(Caption("annotation", key=Key(WHITE, DARK, dashed=True)))
    if repairs:
        legend.append(
            Caption("true positive after the repair", key=key_of(PairLines.of_outcome(RIGHT)))
        )
    return montage(in_rows(cells, columns), width, legend=legend)


def case_cell(case: Case, image: Image | None) -> Cell:
    """Draw a case on the part of the image with its boxes, with captions."""
    captions = [Caption(error_title(case.error), bold=True)]
    if case.name is not None:
        captions.append(Caption(case_title(case), key=key_of(predicted_lines(case))))
    if case.annotated is not None and case.annotated != case.name:
        captions.append(Caption(case.annotated, key=key_of(annotated_lines(case))))
    return _cell(case, image, (annotated_lines(case), predicted_lines(case)), captions)


def _after(case: Case, image: Image | None) -> Cell:
    """Draw what the oracle of the error leaves of a case."""
    if case.repaired is not None:
        # The repair of an action keeps the boxes, that of boxes takes those annotated.
        own = case.human, case.object
        meant = own if case.error == "action" else (case.annotated_human, case.annotated_object)
        lines = PairLines.of_outcome(RIGHT, *meant)
        text = Caption(case.repaired, key=key_of(lines))
        return _cell(case, image, (lines,), [Caption("Repaired", bold=True), text])
    if case.name is None:
        return _cell(case, image, (), [Caption("Not counted", bold=True)])
    return _cell(case, image, (annotated_lines(case),), [Caption("Removed", bold=True)])


def _cell(
    case: Case, image: Image | None, pairs: Sequence[PairLines], captions: Sequence[Caption]
) -> Cell:
    """Draw pairs on the part of the image that shows all boxes of a case."""
    whole = whole_of(case, image) or frame_of(case, image)
    boxes = (case.human, case.object, case.annotated_human, case.annotated_object)
    frame = crop([box for box in boxes if box is not None], whole, RATIO)
    return Cell(draw=drawing(frame, whole, image, pairs), ratio=RATIO, captions=tuple(captions))


def drawing(
    frame: PictureFrame, whole: PictureFrame, image: Image | None, pairs: Sequence[PairLines]
) -> Callable[[Axes], object]:
    """Return what draws pairs on a part of an image."""

    def draw(ax: Axes) -> None:
        point = show(ax, frame, whole, image)
        for pair in pairs:
            draw_pair(ax, pair, whole, point)

    return draw
