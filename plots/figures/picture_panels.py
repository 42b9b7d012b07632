"""Pictures in rows and columns: of errors, of what detectors find, and of corruptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from diaghoi.cases.cases import Case
from diaghoi.cases.outcomes import OUTCOMES, RIGHT, ImageOutcomes, PairOutcome
from diaghoi.oracles import error_title
from diaghoi.plots.boxes import DARK, WHITE, BoxTags, PairLines, draw_pair, show
from diaghoi.plots.figures.picture import annotated_lines, case_title, predicted_lines
from diaghoi.plots.frame import Image, PictureFrame, crop, frame_of, frame_of_boxes, whole_of
from diaghoi.plots.labels import model_names
from diaghoi.plots.montage import Caption, Cell, Key, balanced, in_rows, key_of, montage
from diaghoi.plots.style import SINGLE_COLUMN

RATIO = 0.75  # height over width of pictures
MOST = 6  # pairs with a number and a caption
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
    return _cell_of(case, image, (predicted_lines(case), annotated_lines(case)), captions)


def _after(case: Case, image: Image | None) -> Cell:
    """Draw what the oracle of the error leaves of a case."""
    if case.repaired is not None:
        # The repair of an action keeps the boxes, that of boxes takes those annotated.
        own = case.human, case.object
        meant = own if case.error == "action" else (case.annotated_human, case.annotated_object)
        lines = PairLines.of_outcome(RIGHT, *meant)
        text = Caption(case.repaired, key=key_of(lines))
        return _cell_of(case, image, (lines,), [Caption("Repaired", bold=True), text])
    if case.name is None:
        return _cell_of(case, image, (), [Caption("Not counted", bold=True)])
    return _cell_of(case, image, (annotated_lines(case),), [Caption("Removed", bold=True)])


def _cell_of(
    case: Case, image: Image | None, pairs: Sequence[PairLines], captions: Sequence[Caption]
) -> Cell:
    """Draw pairs on the part of the image that shows all boxes of a case."""
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
    """Return what draws pairs on a part of an image, the first above the rest, some numbered."""

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
            rows.append(
                [_outcome_cell([each[n] for each in outcomes], own[n], images[n]) for n in some]
            )
            sides.append(name)
    legend = [Caption(outcome, key=key_of(PairLines.of_outcome(outcome))) for outcome in OUTCOMES]
    return montage(rows, width, sides=sides, legend=legend)


def _outcome_cell(models: Sequence[ImageOutcomes], own: ImageOutcomes, image: Image | None) -> Cell:
    """Draw one detector on one image, in the part that shows the boxes of all detectors."""
    boxes = [box for model in models for pair in model.pairs for box in _lines(pair).boxes]
    whole = frame_of_boxes(boxes, own.size, image)
    frame = crop(boxes, whole, RATIO)
    pairs = [_lines(pair) for pair in own.pairs]
    captions = [
        Caption(f"{number} {pair.caption}", key=key_of(lines))
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
        rows = [[_corrupted_cell(each) for each in images] for images in pictures.values()]
        heads = [f"Severity {severity}" for severity in severities]
        return montage(rows, width, heads=heads, sides=list(pictures))
    cells = [_corrupted_cell(images[0], title) for title, images in pictures.items()]
    return montage(in_rows(cells, columns or (5 if width > SINGLE_COLUMN else 3)), width)


def _corrupted_cell(image: Image, title: str = "") -> Cell:
    whole = frame_of_boxes((), None, image)
    captions = (Caption(title),) if title else ()
    return Cell(draw=_drawing(whole, whole, image, ()), ratio=whole.ratio, captions=captions)
