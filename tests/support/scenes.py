"""Small scenes: written by hand, and drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det

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


def one_image(rows: list[tuple[Any, ...]], boxes: Any, truth: Any) -> tuple[Scenes, Scenes]:
    """Annotate an image, and predict (human box, object label, object box, verb, score) in it."""
    listed: list[Any] = []
    triplets = []
    for human, label, thing, verb, score in rows:
        places = []
        for box in ((PERSON, human), (label, thing)):
            if box not in listed:
                listed.append(box)
            places.append(listed.index(box))
        triplets.append((*places, verb, score))
    annotations = scenes([image("a.jpg", boxes, truth)], scored=False)
    return annotations, scenes([image("a.jpg", listed, triplets)], scored=True)


# A coarse grid: boxes often coincide, miss each other, or reach a half exactly, in whole pixels
# (0 to 9 in 0 to 19) or without the last one (0 to 10 in 0 to 20). One span is of no width, or of
# one pixel.
_SPANS = st.sampled_from(
    [(0, 9), (0, 19), (0, 10), (0, 20), (5, 14), (5, 24), (10, 19), (30, 39), (7, 7)]
)
XYXY = st.tuples(_SPANS, _SPANS).map(lambda s: (s[0][0], s[1][0], s[0][1], s[1][1]))
_OBJECTS = st.sampled_from([PERSON, BICYCLE, CAR])
_VERBS = [RIDE, HOLD, WASH, NO_INTERACTION, HUG, EAT]
SCORES = st.one_of(st.sampled_from([0.25, 0.5, 0.75]), st.floats(0.01, 0.99, allow_subnormal=False))


def near(box: Any) -> st.SearchStrategy[Any]:
    """Boxes on either side of the threshold, where the last pixel and equality decide."""
    left, top, right, bottom = box
    return st.sampled_from(
        [
            box,
            type(box)([left + 3, top, right + 3, bottom]),
            type(box)([left, top, 2 * right - left + 1, bottom]),
            type(box)([left, top, 2 * right - left, bottom]),
        ]
    )


@st.composite
def _annotated(draw: st.DrawFn, name: str, *, others: bool) -> dict[str, Any]:
    """Draw an annotated image: often with the same person in several pairs, and boxes twice."""
    if draw(st.integers(0, 7)) == 0:
        return image(name, [], [])
    people = draw(st.lists(XYXY, min_size=1, max_size=2))
    things = draw(st.lists(st.tuples(_OBJECTS, XYXY), max_size=3))
    boxes = [(PERSON, box) for box in people] + things
    subjects = st.integers(0, len(people) - 1)
    if others:
        subjects = st.one_of(subjects, subjects, st.integers(0, len(boxes) - 1))
    row = st.tuples(subjects, st.integers(0, len(boxes) - 1), st.sampled_from(_VERBS))
    return image(name, boxes, draw(st.lists(row, max_size=6)))


@st.composite
def _predicted(
    draw: st.DrawFn, truth: dict[str, Any], *, listed: bool, others: bool
) -> dict[str, Any]:
    """Draw predictions, some of them attempts at annotated triplets."""
    boxes: list[Box] = []

    def place(box: Box) -> int:
        """Find an equal box, or list it once more."""
        if box not in boxes or draw(st.integers(0, 4)) == 0:
            boxes.append(box)
        return boxes.index(box) if draw(st.booleans()) else len(boxes) - 1 - boxes[::-1].index(box)

    triplets: list[tuple[Any, ...]] = []
    for human, thing, verb in truth["triplets"]:
        for _ in range(draw(st.integers(0, 3))):
            (kind, man), (label, there) = truth["boxes"][human], truth["boxes"][thing]
            man = draw(st.one_of(near(man), near(man), XYXY))
            there = draw(st.one_of(near(there), near(there), XYXY))
            label = draw(st.sampled_from([label, label, label, BICYCLE]))
            done = draw(st.sampled_from([verb, verb, *_VERBS]))
            own = draw(st.integers(0, 9)) == 9
            if others:
                kind = draw(st.sampled_from([kind, kind, PERSON, BICYCLE]))
            one = place((kind, man))
            other = one if own else place((label, there))
            triplets.append((one, other, done, draw(SCORES), draw(SCORES)))
    for man, (label, there), verb in draw(
        st.lists(st.tuples(XYXY, st.tuples(_OBJECTS, XYXY), st.sampled_from(_VERBS)), max_size=4)
    ):
        row = (place((PERSON, man)), place((label, there)), verb)
        triplets.append((*row, draw(SCORES), draw(SCORES)))
    triplets = draw(st.permutations(triplets))
    pairs = None
    if listed:
        people = [row for row, (label, _) in enumerate(boxes) if label == PERSON]
        pairs = []
        if people:
            pair = st.tuples(st.sampled_from(people), st.integers(0, len(boxes) - 1))
            known = [row[:2] for row in triplets]
            pair = st.one_of(pair, st.sampled_from(known)) if known else pair
            pairs = [(*p, draw(SCORES)) for p in draw(st.lists(pair, max_size=6))]
    return image(truth["name"], boxes, triplets, pairs)


@st.composite
def problems(
    draw: st.DrawFn, max_images: int = 4, *, others: bool = False
) -> tuple[Scenes, Scenes]:
    """Draw annotations and predictions that share most of their images.

    ``others``: some subjects are no people.
    """
    listed = draw(st.booleans())
    count = draw(st.integers(1, max_images))
    names = [f"{number}.jpg" for number in range(count)]
    annotated = {name: draw(_annotated(name, others=others)) for name in names}
    if not any(one["triplets"] for one in annotated.values()):
        boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
        annotated[names[0]] = image(names[0], boxes, [(0, 1, RIDE)])
    wanted = draw(st.permutations(names))
    wanted = wanted[draw(st.sampled_from([0, 0, 0, count - 1])) :]
    if draw(st.integers(0, 2)) == 2:
        wanted.append("unannotated.jpg")
    predicted = []
    for name in wanted:
        one = annotated.get(name)
        if one is None:  # attempts at what is elsewhere
            one = annotated[names[0]] | {"name": name}
        predicted.append(draw(_predicted(one, listed=listed, others=others)))
    truth = list(annotated.values())
    note(f"{truth=}")
    note(f"{predicted=}")
    return scenes(truth, scored=False), scenes(predicted, scored=True)
