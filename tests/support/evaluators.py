"""What the evaluators of the field's code bases do, as slow, obvious loops.

Written from their behaviour and apart from the package, one function per family. Where an
evaluator leaves the order of equal scores to the sorting algorithm of NumPy, it is the order of the
input here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from diaghoi.data.scenes import Scenes
from support.reference import by_image, in_order

Box = list[float]


class Image(NamedTuple):
    """An image: (class, human box, object box) as annotated, and with a score as predicted."""

    annotated: list[tuple[int, Box, Box]]
    predicted: list[tuple[int, Box, Box, float]]
    bare: bool = False  # without any annotated triplet, be it of no class of HICO-DET


def images_of(annotations: Scenes, predictions: Scenes) -> list[Image]:
    """List the annotated images first, then those that are predicted alone."""
    truth, found = by_image(annotations), by_image(predictions)
    nothing: dict[str, Any] = {"boxes": {}, "triplets": []}
    images = []
    for name in in_order(truth, found):
        rows = []
        for side in (truth.get(name, nothing), found.get(name, nothing)):
            boxes = {row: box for row, (_, box) in side["boxes"].items()}
            rows.append(
                [
                    (one["class"], boxes[one["human"]], boxes[one["object"]], one.get("score"))
                    for one in side["triplets"]
                    if one["class"] >= 0  # the others are not of HICO-DET
                ]
            )
        bare = not truth.get(name, nothing)["triplets"]
        images.append(Image([row[:3] for row in rows[0]], rows[1], bare))
    return images


def gen_vlkt(images: list[Image]) -> dict[int, float]:
    """Score the annotated classes with whole pixels and the best annotation, taken or not."""
    return _annotated_classes(images, _whole_pixels)


def cdn(images: list[Image]) -> dict[int, float]:
    """Score as GEN-VLKT, but without predictions on images in which nothing is annotated."""
    return gen_vlkt([image for image in images if not image.bare])


def ppdm(images: list[Image]) -> dict[int, float]:
    """Score as GEN-VLKT; boxes are moved to pixels counted from one.

    The published code also passes over verbs whose number is larger than that of the annotated
    classes, of which HICO-DET has more than verbs.
    """
    return gen_vlkt(
        [
            Image(
                [(hoi, _moved(human), _moved(thing)) for hoi, human, thing in image.annotated],
                [(hoi, _moved(a), _moved(b), score) for hoi, a, b, score in image.predicted],
            )
            for image in images
        ]
    )


def cmd_se(images: list[Image], classes: Iterable[int], best: int = 19_999) -> dict[int, float]:
    """Score all classes by edges of boxes; those without annotations count 0."""
    scores = {}
    for hoi in classes:
        rows = []
        for number, image in enumerate(images):
            rows += [(row[3], number, row) for row in image.predicted if row[0] == hoi]
        rows.sort(key=lambda row: -row[0])
        truth = [[row for row in image.annotated if row[0] == hoi] for image in images]
        used: set[tuple[int, int]] = set()
        hits = []
        for _, number, row in rows[:best]:
            most, which = 0.0, -1
            for place, (_, human, thing) in enumerate(truth[number]):
                value = min(_edges(row[1], human), _edges(row[2], thing))
                if value > most:
                    most, which = value, place
            hit = most >= 0.5 and (number, which) not in used
            used |= {(number, which)} if hit else set()
            hits.append(hit)
        positives = sum(map(len, truth))
        scores[hoi] = _eleven(hits, positives, [n / 10 for n in range(11)]) if positives else 0.0
    return scores


def qahoi(images: list[Image]) -> dict[int, float]:
    """Score the annotated classes; each prediction takes the first annotation left that it meets.

    The published code also counts 0 for classes that are neither annotated nor predicted; in
    HICO-DET all are annotated.
    """
    rows: dict[int, list[tuple[float, bool]]] = {}
    positives: dict[int, int] = {}
    for image in images:
        left: dict[int, list[tuple[Box, Box]]] = {}
        for hoi, human, thing in image.annotated:
            left.setdefault(hoi, []).append((human, thing))
            positives[hoi] = positives.get(hoi, 0) + 1
        for hoi, human, thing, score in sorted(image.predicted, key=lambda row: -row[3]):
            hit = False
            for one in left.get(hoi, []):
                if _padded(human, one[0]) > 0.5 and _padded(thing, one[1]) > 0.5:
                    left[hoi].remove(one)
                    hit = True
                    break
            rows.setdefault(hoi, []).append((score, hit))
    return {
        hoi: _eleven(_by_score(rows.get(hoi, [])), number, [n * 0.1 for n in range(11)])
        for hoi, number in positives.items()
    }


def _annotated_classes(images: list[Image], iou: Any) -> dict[int, float]:
    rows: dict[int, list[tuple[float, bool]]] = {}
    positives: dict[int, int] = {}
    for image in images:
        for hoi, *_ in image.annotated:
            positives[hoi] = positives.get(hoi, 0) + 1
        # A triplet that is annotated twice is found once.
        visited: list[tuple[int, Box, Box]] = []
        for hoi, human, thing, score in sorted(image.predicted, key=lambda row: -row[3]):
            most, best = 0.0, None
            for one in image.annotated:
                by_human, by_object = iou(human, one[1]), iou(thing, one[2])
                if one[0] == hoi and by_human >= 0.5 and by_object >= 0.5:
                    least = min(by_human, by_object)
                    if least > most:
                        most, best = least, one
            hit = best is not None and best not in visited
            visited += [best] if hit else []
            rows.setdefault(hoi, []).append((score, hit))
    return {
        hoi: _eleven(_by_score(rows.get(hoi, [])), number, [n * 0.1 for n in range(11)])
        for hoi, number in positives.items()
    }


def _by_score(rows: list[tuple[float, bool]]) -> list[bool]:
    return [hit for _, hit in sorted(rows, key=lambda row: -row[0])]


def _eleven(hits: list[bool], positives: int, levels: list[float]) -> float:
    true, curve = 0, []
    for rank, hit in enumerate(hits, start=1):
        true += hit
        curve.append((true / positives, true / rank))
    return sum(max([p for r, p in curve if r >= level], default=0.0) / 11 for level in levels)


def _moved(box: Box) -> Box:
    return [edge + 1 for edge in box]


def _whole_pixels(one: Box, other: Box) -> float:
    left, top = max(one[0], other[0]), max(one[1], other[1])
    right, bottom = min(one[2], other[2]), min(one[3], other[3])
    if left >= right or top >= bottom:
        return 0.0
    shared = (right - left + 1) * (bottom - top + 1)
    return shared / (_pixels(one) + _pixels(other) - shared)


def _padded(one: Box, other: Box) -> float:
    shared = _pixels([*map(max, one[:2], other[:2]), *map(min, one[2:], other[2:])])
    return shared / (_pixels(one) + _pixels(other) - shared + 1e-6)


def _pixels(box: Box) -> float:
    left, top, right, bottom = box
    return 0.0 if right <= left or bottom <= top else (right - left + 1) * (bottom - top + 1)


def _edges(one: Box, other: Box) -> float:
    width = max(min(one[2], other[2]) - max(one[0], other[0]), 0)
    height = max(min(one[3], other[3]) - max(one[1], other[1]), 0)
    if width * height <= 0:
        return 0.0
    sizes = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (sum(sizes) - width * height)
