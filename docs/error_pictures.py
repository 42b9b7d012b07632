"""One drawn picture for each error, made by the package itself.

One image holds two annotated triplets: a person who rides a bicycle, and a person who holds another
bicycle. For each error there is a prediction that makes it. The diagnosis has to give it exactly
that label, or nothing is drawn; so the page on errors cannot disagree with the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import diaghoi
from diaghoi.cases.cases import Case, worst_cases
from diaghoi.data.vocabulary import hico_det
from diaghoi.plots.figures.picture import card

Box = tuple[float, float, float, float]

WORDS = hico_det()
SIZE = (640, 400)
RIDER: Box = (70, 60, 210, 310)
RIDDEN: Box = (40, 180, 300, 370)
WALKER: Box = (370, 70, 450, 370)
HELD: Box = (410, 200, 610, 370)
WIDTH = 4.2  # inches
INK = "0.62"  # colours of the scene behind the boxes


class Prediction(NamedTuple):
    """One predicted triplet."""

    human: Box
    thing: Box
    verb: str
    score: float


FOUND = (Prediction(RIDER, RIDDEN, "ride", 0.9), Prediction(WALKER, HELD, "hold", 0.8))
MADE: dict[str, tuple[Prediction, ...]] = {
    "human_box": (Prediction((95, 60, 185, 190), RIDDEN, "ride", 0.95), *FOUND[1:]),
    "object_box": (Prediction(RIDER, (180, 220, 300, 370), "ride", 0.95), *FOUND[1:]),
    "both_boxes": (*FOUND, Prediction((255, 20, 345, 160), (470, 20, 620, 150), "ride", 0.6)),
    "association": (*FOUND, Prediction(WALKER, RIDDEN, "hold", 0.7)),
    "action": (*FOUND, Prediction(RIDER, RIDDEN, "wash", 0.7)),
    "duplicate": (*FOUND, Prediction((84, 66, 224, 322), (48, 190, 310, 378), "ride", 0.7)),
    "missed_gt": FOUND[:1],
}


def _boxes(pairs: list[tuple[Box, Box]]) -> list[dict[str, Any]]:
    bicycle = WORDS.objects.index("bicycle")
    return [
        {"bbox": list(box), "category_id": category}
        for pair in pairs
        for box, category in zip(pair, (WORDS.person, bicycle), strict=True)
    ]


def _triplet(number: int, verb: str) -> dict[str, Any]:
    return {
        "subject_id": 2 * number,
        "object_id": 2 * number + 1,
        "category_id": WORDS.verbs.index(verb),
    }


def case_of(error: str) -> Case:
    """Let the package find the one case of an error.

    Parameters
    ----------
    error : str
        A key of :data:`MADE`.

    Raises
    ------
    RuntimeError
        If the diagnosis labels the predictions otherwise.
    """
    annotated = [(RIDER, RIDDEN), (WALKER, HELD)]
    truth = {
        "filename": "two_bicycles.jpg",
        "annotations": _boxes(annotated),
        "hoi_annotation": [_triplet(0, "ride"), _triplet(1, "hold")],
    }
    made = MADE[error]
    found = {
        "filename": "two_bicycles.jpg",
        "predictions": _boxes([(one.human, one.thing) for one in made]),
        "hoi_prediction": [
            _triplet(number, one.verb) | {"score": one.score, "action_score": one.score}
            for number, one in enumerate(made)
        ],
    }
    with TemporaryDirectory() as folder:
        annotated_file, predicted_file = Path(folder, "gt.json"), Path(folder, "preds.json")
        annotated_file.write_text(json.dumps([truth]), encoding="utf-8")
        predicted_file.write_text(json.dumps([found]), encoding="utf-8")
        annotations = diaghoi.read_annotations(annotated_file)
        predictions = diaghoi.read_predictions(predicted_file)
    diagnosis = diaghoi.diagnose(annotations, predictions)
    counts = {name: diagnosis.errors[name] for name in MADE if diagnosis.errors[name]}
    if counts != {error: 1}:
        raise RuntimeError(f"the picture of {error} shows {counts}")
    (case,) = worst_cases(diagnosis, annotations, predictions, error)
    return replace(case, size=SIZE)


def _draw_scene(ax: Axes) -> None:
    """Draw both people and both bicycles where they are annotated."""
    _draw_bicycle(ax, RIDDEN)
    _draw_bicycle(ax, HELD)
    _draw_person(ax, RIDER, sits=True)
    _draw_person(ax, WALKER, sits=False)


def _draw_person(ax: Axes, box: Box, *, sits: bool) -> None:
    left, top, right, bottom = box
    middle, wide, tall = (left + right) / 2, right - left, bottom - top
    head = 0.09 * tall
    shoulder, hip = top + 2.6 * head, top + 0.55 * tall
    lean = 0.12 * wide if sits else 0.0
    ax.add_patch(Circle((middle + lean, top + 1.1 * head), head, color=INK, zorder=0.5))
    foot = [(middle + 0.30 * wide, bottom), (middle - 0.15 * wide, bottom - 0.10 * tall)]
    knee = [(middle + 0.35 * wide, hip + 0.18 * tall), (middle + 0.05 * wide, hip + 0.22 * tall)]
    if not sits:
        foot = [(middle - 0.25 * wide, bottom), (middle + 0.25 * wide, bottom)]
        knee = [(middle - 0.12 * wide, hip + 0.2 * tall), (middle + 0.12 * wide, hip + 0.2 * tall)]
    hand = (right - 0.05 * wide, hip - 0.05 * tall)
    seat = (middle - lean, hip)
    limbs = [[(middle + lean, shoulder - head), seat], [(middle + lean, shoulder), hand]]
    limbs += [[seat, bend, end] for bend, end in zip(knee, foot, strict=True)]
    _draw_lines(ax, limbs, 3.0)


def _draw_bicycle(ax: Axes, box: Box) -> None:
    left, top, right, bottom = box
    tall, wide = bottom - top, right - left
    radius = min(0.30 * tall, 0.22 * wide)
    rear, front = (left + radius, bottom - radius), (right - radius, bottom - radius)
    for wheel in (rear, front):
        ring = Circle(wheel, 0.95 * radius, fill=False, edgecolor=INK, linewidth=1.6, zorder=0.5)
        ax.add_patch(ring)
    crank = (left + 0.46 * wide, bottom - 0.9 * radius)
    saddle = (left + 0.36 * wide, top + 0.30 * tall)
    bar = (right - 1.35 * radius, top + 0.10 * tall)
    neck = (right - 1.25 * radius, top + 0.32 * tall)
    frame = [[rear, crank, neck, saddle, rear], [crank, saddle], [front, neck, bar]]
    _draw_lines(ax, frame, 1.6)
    _draw_lines(ax, [[(bar[0] - 0.07 * wide, bar[1]), (bar[0] + 0.05 * wide, bar[1])]], 1.6)


def _draw_lines(ax: Axes, lines: list[list[tuple[float, float]]], width: float) -> None:
    for line in lines:
        across, down = zip(*line, strict=True)
        ax.plot(
            across, down, color=INK, linewidth=width, zorder=0.5, solid_capstyle="round",
            solid_joinstyle="round",
        )  # fmt: skip


def draw_errors() -> Iterator[tuple[str, Figure]]:
    """Draw a picture of every error."""
    for error in MADE:
        figure = card(case_of(error), width=WIDTH)
        _draw_scene(figure.axes[0])
        yield error, figure
