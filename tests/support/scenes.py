"""Small scenes: written by hand, and drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from diaghoi.scenes import Scenes
from diaghoi.vocabulary import hico_det

VOCABULARY = hico_det()
PERSON, BICYCLE, CAR = (VOCABULARY.objects.index(name) for name in ("person", "bicycle", "car"))
RIDE, HOLD, WASH, NO_INTERACTION, HUG, EAT = (
    VOCABULARY.verbs.index(name)
    for name in ("ride", "hold", "wash", "no_interaction", "hug", "eat")
)

Box = tuple[int, tuple[float, float, float, float]]


def image(
    name: str,
    boxes: list[Box],
    triplets: list[tuple[Any, ...]],
    pairs: list[tuple[int, int, float]] | None = None,
) -> dict[str, Any]:
    """Describe one image.

    ``boxes``: (label, xyxy). ``triplets``: (human, object, verb) for annotations, (human, object,
    verb, score[, action score]) for predictions. ``pairs``: (human, object, score).
    """
    return {"name": name, "boxes": boxes, "triplets": triplets, "pairs": pairs}


def scenes(images: list[dict[str, Any]], *, scored: bool, **more: Any) -> Scenes:
    """Build scenes from described images; ``scored`` for predictions."""
    boxes, box_image, pairs, pair_score, triplets = [], [], [], [], []
    listed = bool(images) and images[0]["pairs"] is not None
    for number, one in enumerate(images):
        first = len(boxes)
        boxes += one["boxes"]
        box_image += [number] * len(one["boxes"])
        place: dict[tuple[int, int], int] = {}
        for human, thing, score in one["pairs"] or []:
            place.setdefault((human, thing), len(pairs))
            pairs.append((human + first, -1 if thing < 0 else thing + first))
            pair_score.append(score)
        for human, thing, *rest in one["triplets"]:
            if (human, thing) not in place:
                place[human, thing] = len(pairs)
                pairs.append((human + first, -1 if thing < 0 else thing + first))
                pair_score.append(np.nan)
            triplets.append((place[human, thing], *rest))

    def column(rows: list[Any], which: int, dtype: type) -> Any:
        return np.array([row[which] for row in rows], dtype=dtype)

    return Scenes(
        vocabulary=VOCABULARY,
        names=np.array([one["name"] for one in images], dtype=str),
        box_image=np.array(box_image, dtype=np.int32),
        box_xyxy=np.array([box[1] for box in boxes], dtype=float).reshape(-1, 4),
        box_label=column(boxes, 0, np.int32),
        pair_human=column(pairs, 0, np.int32),
        pair_object=column(pairs, 1, np.int32),
        pair_score=np.array(pair_score, dtype=float) if listed else None,
        triplet_pair=column(triplets, 0, np.int32),
        triplet_verb=column(triplets, 1, np.int32),
        triplet_score=column(triplets, 2, float) if scored else None,
        triplet_action_score=np.array([row[-1] for row in triplets], dtype=float)
        if scored
        else None,
        **more,
    )


# A coarse grid: boxes often coincide, touch the threshold, or miss each other.
_SPANS = st.sampled_from([(0, 9), (0, 19), (5, 14), (5, 24), (10, 19), (30, 39)])
_XYXY = st.tuples(_SPANS, _SPANS).map(lambda s: (s[0][0], s[1][0], s[0][1], s[1][1]))
_OBJECTS = st.sampled_from([PERSON, BICYCLE, CAR])
_VERBS = st.sampled_from([RIDE, HOLD, WASH, NO_INTERACTION, HUG, EAT])
_SCORES = st.one_of(
    st.sampled_from([0.25, 0.5, 0.75]), st.floats(0.01, 0.99, allow_subnormal=False)
)


@st.composite
def _images(draw: st.DrawFn, name: str, scored: bool, listed: bool) -> dict[str, Any]:
    people = draw(st.lists(_XYXY, max_size=3 if scored else 2))
    things = draw(st.lists(st.tuples(_OBJECTS, _XYXY), max_size=4 if scored else 3))
    boxes = [(PERSON, box) for box in people] + things
    if not people or len(boxes) < 2:
        return image(name, boxes, [], [] if listed else None)
    pair = st.tuples(st.integers(0, len(people) - 1), st.integers(0, len(boxes) - 1))
    row = st.tuples(pair, _VERBS, _SCORES, _SCORES)
    rows = draw(st.lists(row, max_size=10 if scored else 5))
    triplets: list[tuple[Any, ...]] = [
        (*p, verb, score, action) if scored else (*p, verb) for p, verb, score, action in rows
    ]
    pairs = None
    if listed:
        pairs = [(*p, score) for p, score in draw(st.lists(st.tuples(pair, _SCORES), max_size=6))]
    return image(name, boxes, triplets, pairs)


@st.composite
def problems(draw: st.DrawFn, max_images: int = 4) -> tuple[Scenes, Scenes]:
    """Draw annotations and predictions that share most of their images."""
    listed = draw(st.booleans())
    count = draw(st.integers(1, max_images))
    names = [f"{number}.jpg" for number in range(count)]
    annotated = [draw(_images(name, scored=False, listed=False)) for name in names]
    if not any(one["triplets"] for one in annotated):
        boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
        annotated[0] = image(names[0], boxes, [(0, 1, RIDE)])
    predicted_names = draw(st.permutations(names))
    predicted_names = predicted_names[draw(st.integers(0, count - 1)) :]
    if draw(st.booleans()):
        predicted_names.append("unannotated.jpg")
    predicted = [draw(_images(name, scored=True, listed=listed)) for name in predicted_names]
    note(f"{annotated=}")
    note(f"{predicted=}")
    return scenes(annotated, scored=False), scenes(predicted, scored=True)
