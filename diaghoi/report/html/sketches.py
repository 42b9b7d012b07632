"""Cases as small drawings of their boxes, in a frame of the size of the image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diaghoi.cases.cases import Box, Case
from diaghoi.plots.frame import enlargement, frame_of

WIDTH, HEIGHT = 240.0, 180.0
"""Room of a drawing in its own units, which are about pixels of the page."""
LETTER = 12.0
"""Height of a letter at a box."""

Line = tuple[float, float, float, float]
Letter = tuple[float, float, str]


@dataclass(frozen=True, kw_only=True)
class Outline:
    """A pair of boxes, and the line between their centres.

    Parameters
    ----------
    boxes : tuple of four floats
        Left, top, width and height of each box.
    line : tuple of four floats, or None
        From centre to centre; None where the boxes do not belong together.
    """

    boxes: tuple[Line, ...]
    line: Line | None


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """A case and its drawing.

    Parameters
    ----------
    case : Case
        What is drawn.
    width, height : float
        Size of the drawing.
    framed : bool
        Whether it is that of the image or a part, rather than that of the boxes.
    enlarged : float
        How many times as large as in the whole image boxes are drawn.
    predicted, annotated : Outline
        The boxes in the units of the drawing.
    letters : tuple
        Places of the letters that tell human boxes (H) from object boxes (O).
    """

    case: Case
    width: float
    height: float
    framed: bool
    enlarged: float
    predicted: Outline
    annotated: Outline
    letters: tuple[Letter, ...]


def sketch(case: Case) -> Sketch:
    """Draw a case. Letters stand at the predicted boxes, or at those of a missed triplet."""
    predicted = [_usable(case.human), _usable(case.object)]
    annotated = [_usable(case.annotated_human), _usable(case.annotated_object)]
    left, top, right, bottom = frame_of(case)
    scale = min(WIDTH / (right - left), HEIGHT / (bottom - top))

    def placed(box: Box | None) -> Line | None:
        if box is None:
            return None
        x, y = (box[0] - left) * scale, (box[1] - top) * scale
        sides = (box[2] - box[0]) * scale, (box[3] - box[1]) * scale
        return round(x, 1), round(y, 1), round(sides[0], 1), round(sides[1], 1)

    # Two annotated boxes that are merely near need not belong together.
    belong = case.annotated is not None or case.error == "action"
    found, meant = ([placed(box) for box in boxes] for boxes in (predicted, annotated))
    width, height = round((right - left) * scale, 1), round((bottom - top) * scale, 1)
    return Sketch(
        case=case,
        width=width,
        height=height,
        framed=case.size is not None,
        enlarged=enlargement(case),
        predicted=_outline(found, joined=True),
        annotated=_outline(meant, joined=belong),
        letters=_letters(found if any(found) else meant, width, height),
    )


def _usable(box: Box | None) -> Box | None:
    """Return a box that can be drawn: corners in order and finite."""
    if box is None or not all(map(math.isfinite, box)):
        return None
    return min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])


def _outline(boxes: Sequence[Line | None], *, joined: bool) -> Outline:
    drawn = tuple(box for box in boxes if box is not None)
    line = (*_centre(drawn[0]), *_centre(drawn[1])) if joined and len(drawn) == 2 else None
    return Outline(boxes=drawn, line=line)


def _centre(box: Line) -> tuple[float, float]:
    return round(box[0] + box[2] / 2, 1), round(box[1] + box[3] / 2, 1)


def _letters(boxes: Sequence[Line | None], width: float, height: float) -> tuple[Letter, ...]:
    """Place letters in opposite corners, so that those of equal boxes do not meet.

    They stand inside their box; beside it where it is small, so as not to hide it.
    """
    human, target = boxes
    letters = []
    if human is not None:
        left = human[0] + (-LETTER + 1 if min(human[2:]) < 2 * LETTER else 3)
        letters.append((left, human[1] + LETTER - 1, "H"))
    if target is not None:
        right = target[0] + target[2] + (2 if min(target[2:]) < 2 * LETTER else -LETTER)
        letters.append((right, target[1] + target[3] - 3, "O"))
    return tuple(
        (
            round(min(max(x, 1), width - LETTER), 1),
            round(min(max(y, LETTER), height - 2), 1),
            letter,
        )
        for x, y, letter in letters
    )
