"""Read the results of iCAN, TIN, DRG and VCL on HICO-DET: pairs with scores for all classes.

The file is a pickle (or JSON) of ``{image number: [[human box, object box, object class, scores,
human score, object score, ...], ...]}``. The image number is the number at the end of the file
name. Boxes are zero-based xyxy. Object classes are numbered from one in COCO order (1 person, 2
bicycle), as all four code bases write them, or in HICO's alphabetical order. Each pair has scores
for the 600 HOI classes (iCAN, TIN), of which only the object's classes count, or for the 117 verbs
(DRG).

VCL writes 0 instead of the scores. The six values of a pair are followed by the 600 scores of each
branch: human, object, spatial, and human and object combined. VCL's scripts fuse the branches
before evaluation. This reader uses the default of the scripts: spatial times the last branch
(``spv``), or, for models without that branch, spatial times the sum of the first two (``spho``).

The triplet score is the class score times the scores of both boxes; the action score is the class
score alone. The best 100 triplets per image are kept.

This reader does not repeat later steps of the code bases, which round boxes to whole pixels and
keep the 19,999 best detections per object (``Generate_HICO_detection``). TIN also transforms box
scores with a sigmoid, and suppresses pairs by the two binary scores that follow the six values of a
pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    EXACT,
    Rows,
    check_amount,
    check_boxes,
    check_names,
    check_scores,
    rows_of_numbers,
    shown,
    unwrapped,
)
from diaghoi.formats.content import Content
from diaghoi.formats.dense import best_triplets, check_dense_scores, cut_note
from diaghoi.formats.flat import pair_tables
from diaghoi.formats.hico_mat import file_orders
from diaghoi.formats.numbering import (
    CLEAR,
    DOUBTFUL,
    ENOUGH,
    FEW,
    LEAST,
    TripletNumbers,
    most_confident,
    percent,
    translated,
)
from diaghoi.formats.records import RecordTable

_VALUES = ("human box", "object box", "object class", "scores", "human score", "object score")
_PLACE = _VALUES.index("scores")
# VCL's scripts multiply the scores of the first listed branch by the sum of the scores of the other
# listed branches.
_BRANCHES, _ALL_BRANCHES = {"spv": (8, 9), "spho": (8, 6, 7)}, 10
_OWN, _OTHER = "coco80", "hico80"


class Ican(Format):
    """Read listed pairs with scores for all classes."""

    name = "ican"
    title = "pairs with scores of all classes (iCAN, TIN, DRG, VCL)"
    kinds = ("predictions",)
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        """Check for image numbers, and for a first pair that begins with two boxes."""
        value = content.value
        if not content.plain or not isinstance(value, dict) or not all(map(_is_number, value)):
            return None
        first: Any = next((pairs[0] for pairs in value.values() if _is_list(pairs) and pairs), None)
        if not _is_list(first) or len(first) < len(_VALUES):
            return None
        boxes = [_numbers(box, 4) for box in first[:2]]
        return None if any(box is None for box in boxes) else "predictions"

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read the pairs and keep the best triplets of each image."""
        rows, pairs = _pairs(content)
        vocabulary, origin = options.vocabulary, options.origin_or(0)

        def column(name: str) -> RecordTable:
            values = [unwrapped(pair[_VALUES.index(name)]) for pair in pairs]
            return RecordTable([values], replace(rows, field=name))

        human, object_box = (
            check_boxes(table.rows, options.corners(table.boxes()), "", origin=origin)
            for table in map(column, ("human box", "object box"))
        )
        human_score, object_score = (
            check_scores(table.rows, table.numbers(), "")
            for table in map(column, ("human score", "object score"))
        )
        box_scores = human_score, object_score
        scores = _PairScores(rows, pairs, content.size, vocabulary, box_scores)
        label, notes = _categories(column("object class"), scores, options.objects)
        return Scenes(
            vocabulary=vocabulary,
            names=np.array(rows.names, dtype=np.str_),
            **pair_tables(
                vocabulary,
                image=rows.image,
                human=human,
                object_box=object_box,
                category=label,
                box_scores=box_scores,
            ),
            **best_triplets(rows, scores.by_verb(label), label, options),
            source=content.file,
            notes=(
                *scores.notes,
                *notes,
                cut_note(f"{content.file}: scores of all classes", options.top),
            ),
        )


def _pairs(content: Content) -> tuple[Rows, list[Sequence[Any]]]:
    """Return the pairs of all images; each pair lists ``_VALUES`` and possibly more values."""
    names = check_names(content.file, [str(int(key)) for key in content.value], "image").tolist()
    lists = list(content.value.values())
    for name, pairs in zip(names, lists, strict=True):
        if not _is_list(pairs):
            raise InputError(
                f"{content.file}: image {name!r}: is {shown(pairs)}; give a list of pairs"
            )
    rows = Rows(content.file, names, "pair", np.array(list(map(len, lists)), dtype=np.int64))
    check_amount(content.file, "pair", len(rows), content.size)
    pairs = list(chain.from_iterable(lists))
    for number, pair in enumerate(pairs):
        if not _is_list(pair) or len(pair) < len(_VALUES):
            raise rows.error(number, "", f"is {shown(pair)}; give a list: {', '.join(_VALUES)}")
    return rows, pairs


class _PairScores:
    """Provide the scores of all pairs, image by image, per HOI class or per verb.

    The first pair determines whether scores are per class or per verb.
    """

    def __init__(
        self,
        rows: Rows,
        pairs: list[Sequence[Any]],
        size: int,
        vocabulary: Vocabulary,
        box_scores: tuple[FloatArray, FloatArray],
    ) -> None:
        classes, verbs = len(vocabulary), len(vocabulary.verbs)
        self.rows, self.pairs, self.vocabulary = rows, pairs, vocabulary
        with np.errstate(over="ignore"):  # infinity is rejected with the triplet scores
            self.both = box_scores[0] * box_scores[1]
        self.width, self.fused = classes, ""
        for first in pairs[:1]:
            fits = (name for name in _BRANCHES if _fused(first, name, classes) is not None)
            self.fused = next(fits, "")
            widths = (w for w in (classes, verbs) if _numbers(first[_PLACE], w) is not None)
            self.width = classes if self.fused else next(widths, 0)
            if not self.width:
                problem = (
                    f"is {shown(first[_PLACE])}; give {classes} scores (one per HOI class), "
                    f"{verbs} scores (one per verb), or 0 if the scores of VCL's branches follow "
                    f"the {len(_VALUES)} values"
                )
                raise rows.error(0, "scores", problem)
        check_amount(rows.file, "scores", self.width * len(pairs), size)
        self.numbers = TripletNumbers("class" if self.width == classes else "verb", 0)

    @property
    def notes(self) -> tuple[str, ...]:
        """The note on how VCL's branches were fused; empty if the file has no branches."""
        note = f"{self.rows.file}: the scores of VCL's branches are fused as {self.fused!r}"
        return (note,) if self.fused else ()

    def clearest(self) -> tuple[IntArray, FloatArray]:
        """Return the highest-scoring interaction of each pair, and its score."""
        of_class = self.numbers.of == "class"
        verb = self.vocabulary.class_verb if of_class else np.arange(self.width)
        real = np.flatnonzero(verb != self.vocabulary.no_interaction)
        column: IntArray = np.zeros(len(self.both), dtype=np.int64)
        score = np.zeros(len(self.both))
        for _, some, part in self._by_image():
            column[some] = real[part[:, real].argmax(axis=1)]
            with np.errstate(over="ignore"):
                score[some] = part[np.arange(len(part)), column[some]] * self.both[some]
        return column, score

    def by_verb(self, label: IntArray) -> Iterator[tuple[Array, Array]]:
        """Yield the (pairs, V) triplet scores and action scores of each image."""
        for image, some, action in self._by_image():
            if self.numbers.of == "class":
                hoi = self.vocabulary.class_of[label[some]]
                of_class = np.take_along_axis(action, np.maximum(hoi, 0), 1)
                action = np.where(hoi < 0, 0.0, of_class)
            with np.errstate(over="ignore", invalid="ignore"):
                score = action * self.both[some, None]
            check_dense_scores(score, image, self.rows)
            yield score, action

    def _by_image(self) -> Iterator[tuple[int, slice, FloatArray]]:
        start = 0
        for image, count in enumerate(self.rows.count.tolist()):
            part = np.zeros((count, self.width))
            for number, pair in enumerate(self.pairs[start : start + count]):
                scores = (
                    _fused(pair, self.fused, self.width)
                    if self.fused
                    else _numbers(pair[_PLACE], self.width)
                )
                if scores is None:
                    problem = f"is {shown(pair[_PLACE])}; give {self.width} numbers"
                    raise self.rows.error(
                        start + number, "scores", f"{problem}, like the first pair"
                    )
                part[number] = scores
            check_dense_scores(part, image, replace(self.rows, field="scores"))
            yield image, slice(start, start + count), part
            start += count


def _fused(pair: Sequence[Any], name: str, classes: int) -> FloatArray | None:
    """Fuse the VCL branches of a pair; None if the pair has no branches."""
    if len(pair) < _ALL_BRANCHES or _numbers(pair[_PLACE], 1) is None:
        return None
    parts = [_numbers(pair[place], classes) for place in _BRANCHES[name]]
    spatial, *others = [part for part in parts if part is not None] or [np.zeros(0)]
    if len(others) + 1 < len(parts):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(spatial * sum(others), dtype=np.float64)


def _categories(
    table: RecordTable, scores: _PairScores, given: str | None
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the object category of each pair, and a note if the order is not COCO's.

    COCO's order, which the known code bases write, is assumed unless the highest-scoring
    interactions contradict it. Each of the 600 HOI classes determines its object, and a detector
    gives the highest scores to classes of the detected object; most of the 117 verbs go with only a
    few objects. The category number of people is weak evidence, because few pairs have a person as
    object.
    """
    numbers, orders = table.integers(), file_orders(given)
    chosen, notes = (given, ()) if given else _order(table.rows.file, numbers, scores, orders)
    order = orders[chosen]
    label = translated(numbers, order)
    if (label < 0).any():
        bad = int(np.argmax(label < 0))
        problem = f"unknown object category {int(numbers[bad])}; objects are numbered"
        raise table.rows.error(bad, "", f"{problem} {min(order)} to {max(order)} in this format")
    return label, notes


def _order(
    file: str, numbers: IntArray, scores: _PairScores, orders: dict[str, dict[int, int]]
) -> tuple[str, tuple[str, ...]]:
    """Choose the object numbering that fits the highest-scoring interactions."""
    clearest, score = scores.clearest()
    labels = {name: translated(numbers, order) for name, order in orders.items()}
    # A pair tells nothing if both orders give the same object or if none of its scores is above
    # zero.
    telling = (labels[_OWN] != labels[_OTHER]) & (score > 0)
    count = int(telling.sum())
    best = np.flatnonzero(telling)[most_confident(score[telling], count)]
    shares = []
    for label in (labels[_OWN][best], labels[_OTHER][best]):
        hoi = scores.numbers.classes(clearest[best], label, scores.vocabulary)
        shares.append(float(((hoi >= 0) & (label >= 0)).mean()) if len(best) else 1.0)
    own, other = shares
    if other <= own * DOUBTFUL:
        return _OWN, ()
    # If triplets are numbered by class, every pair is evidence, because a class determines its
    # object. A verb can go with several objects.
    certain = scores.numbers.of == "class" and own == 0 and other == 1
    fewer = 1 - own >= CLEAR * (1 - other)
    if certain or (count >= FEW and other >= LEAST and (other >= own * CLEAR or fewer)):
        return _OTHER, (
            f"{file}: objects are numbered from 1 in HICO's order (hico80): with this "
            f"order, the action with the highest score fits the object in {percent(other)} of the "
            f"best pairs, and with COCO's order in {percent(own)}",
        )
    if count < ENOUGH:
        return _OWN, ()
    raise InputError(
        f"{file}: cannot determine the numbering of objects: the action with the highest score "
        f"fits the object in {percent(own)} of the best pairs with COCO's order, and in "
        f"{percent(other)} with HICO's order; give --read objects={_OWN} or --read objects={_OTHER}"
    )


def _is_number(key: Any) -> bool:
    """Check whether a key is a Python or NumPy integer, or an integer written as text (JSON)."""
    if isinstance(key, str):
        return key.isascii() and key.isdigit() and len(key) <= len(str(EXACT))
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        return False
    return 0 <= int(key) <= EXACT


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _numbers(value: Any, width: int) -> FloatArray | None:
    """Convert a number, or an array or list of numbers, to a (width,) array; else return None."""
    if isinstance(value, np.ndarray):
        rows = rows_of_numbers(value.reshape(1, -1), width)
    else:
        rows = rows_of_numbers([value if _is_list(value) else [value]], width)
    return None if rows is None else rows[0]
