"""Tell HOI-A from HICO-DET in lists of boxes and triplets that do not name their data set.

PPDM's layout is that of both. HOI-A, and HOI-W after it, count objects from 1 to 11 and verbs from
1 to 10; HICO-DET has COCO's ids and verbs from 1 to 117, and so could use these numbers too. Which
it is shows in the combinations: only few are HOI classes of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray
from diaghoi.data.vocabulary import hico_det, hoi_a, object_numberings
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import check_scores
from diaghoi.formats.content import Content, begins
from diaghoi.formats.listed import ListLayout
from diaghoi.formats.numbering import (
    CLEAR,
    ENOUGH,
    FEW,
    GENUINE,
    LEAST,
    READINGS,
    most_confident,
    percent,
)
from diaghoi.formats.records import Images

NAME, OTHER = "hoi-a", "hico-det"
# Names of images by which others are recognised.
_OTHERS = ("HICO_", "COCO_")


@dataclass(frozen=True, kw_only=True)
class Shares:
    """What share of the best triplets of a file are HOI classes of each data set.

    Parameters
    ----------
    hoi_a, hico_det : float
        The shares, for HICO-DET that of the numbering of triplets that fits best.
    many : bool
        Whether there are enough images and triplets to say which data set it is.
    """

    hoi_a: float
    hico_det: float
    many: bool

    @property
    def is_hoi_a(self) -> bool:
        """Whether the file is clearly of HOI-A."""
        return self.many and self.hoi_a >= GENUINE and self.hoi_a >= CLEAR * self.hico_det

    @property
    def is_hico_det(self) -> bool:
        """Whether the file is clearly of HICO-DET."""
        return self.hico_det >= LEAST and self.hico_det >= CLEAR * self.hoi_a


def shares(content: Content, layout: ListLayout) -> Shares | None:
    """Count the HOI classes in a file; None where it cannot be of HOI-A.

    Parameters
    ----------
    content : Content
        A list of one dict per image.
    layout : ListLayout
        Names of its keys.
    """
    name = content.first.get(layout.name)
    if begins(name, *_OTHERS):
        return None
    try:
        images = Images.of(content, content.value, layout.name)
        boxes, triplets = images.table(layout.boxes), images.table(layout.triplets)
        label = boxes.integers("category_id")
        verb = triplets.integers(layout.verb)
        index = triplets.integers("object_id")
        score = (
            check_scores(triplets.rows, triplets.numbers("score"), "score")
            if layout.scored and triplets.has("score")
            else None
        )
    except InputError:  # the reader says what is wrong
        return None
    mine, other, image = hoi_a(), hico_det(), triplets.rows.image
    fits = (
        _within(label, len(mine.objects) + 1, first=1)
        and _within(verb, len(mine.verbs) + 1, first=1)
        and _within(index, boxes.rows.count[image])
    )
    if not fits:
        return None
    best = most_confident(score, len(verb))
    verb, thing = verb[best], label[(index + boxes.rows.start[image])[best]]
    coco = object_numberings()["coco91"]
    named = np.array([coco[number] for number in range(1, len(mine.objects) + 1)], dtype=np.int64)
    of_other = [reading.classes(verb, named[thing - 1], other) >= 0 for reading in READINGS]
    return Shares(
        hoi_a=_share(mine.class_of[thing - 1, verb - 1] >= 0),
        hico_det=max(map(_share, of_other)),
        many=len(images.names) >= FEW and len(verb) >= ENOUGH,
    )


def found(content: Content, layout: ListLayout) -> str | None:
    """Return ``hoi-a`` for a file that is clearly of it; parameters are those of :func:`shares`."""
    seen = shares(content, layout)
    return NAME if seen is not None and seen.is_hoi_a else None


def either(content: Content, layout: ListLayout) -> tuple[str, ...]:
    """Return both data sets for a file that may be of either, else nothing."""
    seen = shares(content, layout)
    return () if seen is None or seen.is_hico_det else (NAME, OTHER)


def misfit(content: Content, layout: ListLayout) -> str:
    """Say what shows that a file is of neither data set; empty where it may be."""
    seen = shares(content, layout)
    if seen is None or max(seen.hoi_a, seen.hico_det) >= GENUINE:
        return ""
    best = "best" if layout.scored else "annotated"
    return (
        f"of the {best} triplets {percent(seen.hoi_a)} are HOI classes of {NAME}, and "
        f"{percent(seen.hico_det)} are those of {OTHER}"
    )


def evidence(content: Content, layout: ListLayout) -> tuple[str, ...]:
    """Say why a file is taken for HOI-A; empty where it is not."""
    seen = shares(content, layout)
    if seen is None or not seen.is_hoi_a:
        return ()
    best = " best" if layout.scored else ""
    return (
        f"taken for {NAME}: no object is above {len(hoi_a().objects)}, no verb above "
        f"{len(hoi_a().verbs)}, and {percent(seen.hoi_a)} of the{best} triplets are its HOI "
        f"classes, {percent(seen.hico_det)} are those of {OTHER}",
    )


def _within(numbers: np.ndarray, stop: object, *, first: int = 0) -> bool:
    return bool(((numbers >= first) & (numbers < stop)).all())


def _share(fits: BoolArray) -> float:
    return float(fits.mean()) if len(fits) else 0.0
