"""Columns of :class:`~diaghoi.data.scenes.Scenes` from the values of V-COCO result dicts.

The full test set has 316,000 dicts and 16 million (action, role) predictions, so the columns are
allocated once and filled in chunks, with the smallest integer types that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.types import Array, BoolArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.columns.checks import LARGEST, TOO_LARGE, TURNED, image_name
from diaghoi.formats.v_coco.keys import roles


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """The values of some dicts.

    Parameters
    ----------
    person : (N, 4) float64 array
        Person boxes.
    agent : (N, 26) float64 array
        Agent scores by action.
    role : (5, N, 25) float64 array
        x1, y1, x2, y2 and score by role.
    filled : (N,) int64 array or None
        Classes that each dict leaves out, as of ``triplet_filled`` of
        :class:`~diaghoi.data.scenes.Scenes`; None where none does.
    """

    person: Array
    agent: Array
    role: Array
    filled: IntArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Boxes:
    """The distinct role boxes of each of some dicts, numbered in the order of first use.

    Parameters
    ----------
    number : (N, 25) int8 array
        Box of each role, -1 if it has none.
    first : (N, 25) bool array
        Whether a role is the first with its box.
    count : (N,) int array
        Boxes of each dict.
    """

    number: npt.NDArray[np.int8]
    first: BoolArray
    count: IntArray


class SceneColumns:
    """The tables of boxes, pairs and triplets, filled chunk by chunk.

    In each dict the box of the person comes first, then its distinct role boxes; a pair is a
    distinct (person, role box or none), both in the order of first use; triplets are in official
    class order, without those whose score is NaN.

    Parameters
    ----------
    file : str
        The file, for messages.
    names : sequence of str
        Image names.
    image : (D,) int array
        Image of each dict, ascending.
    position : sequence of int
        Index of each dict in the file, for messages.
    origin : {0, 1}
        Whether boxes are counted from zero or one.
    """

    def __init__(
        self,
        file: str,
        names: Sequence[str],
        image: IntArray,
        position: Sequence[int],
        *,
        origin: int,
    ) -> None:
        self.file, self.names, self.image, self.position = file, names, image, position
        self.origin = origin
        most = len(image) * len(roles().keys)
        # The upper limit: memory pages that are never written to cost nothing.
        self.triplet_pair = np.empty(most, dtype=np.int32)
        self.triplet_verb = np.empty(most, dtype=np.int8)
        self.triplet_score = np.empty(most, dtype=np.float64)
        self.triplet_action_score = np.empty(most, dtype=np.float64)
        self.triplets = self.pairs = self.boxes = 0
        self.parts: dict[str, list[Array]] = {
            key: []
            for key in (
                "box_image", "box_xyxy", "box_label", "pair_human", "pair_object", "triplet_filled"
            )
        }  # fmt: skip

    def error(self, row: int, key: str, problem: str) -> InputError:
        """Make the error for one dict."""
        where = f"dict {self.position[row]} (counted from 0)" + (f": {key}" if key else "")
        return InputError(
            f"{self.file}: {image_name(self.names, int(self.image[row]))}: {where}: {problem}"
        )

    def add(self, start: int, values: Values) -> None:
        """Append the dicts from number ``start`` on.

        Raises
        ------
        InputError
            For infinite scores and invalid boxes.
        """
        role = values.role
        predicted = ~np.isnan(role[4])
        boxed = predicted & ~_empty(role)
        self._check(start, values, predicted, boxed)
        boxes = _distinct_in_rows(role, boxed)
        base = self.boxes + np.cumsum(boxes.count + 1) - (boxes.count + 1)
        self._add_boxes(start, values.person, role, boxes)
        score = _by_class(values.agent, role[4])
        action = values.agent[:, roles().action]
        action = np.where(np.isnan(action), score, action)
        self._add_pairs(base, score, action, boxes)
        self._add_filled(~np.isnan(score), values.filled)

    def _check(self, start: int, values: Values, predicted: BoolArray, boxed: BoolArray) -> None:
        known = roles()
        infinite = np.isinf(_by_class(values.agent, values.role[4]))
        if infinite.any():
            row, verb = np.argwhere(infinite)[0].tolist()
            raise self.error(
                start + row, known.keys[verb], "the score is infinite; give a finite number or NaN"
            )
        person = values.person.T[:, :, None]
        every = np.ones(person.shape[1:], dtype=bool)
        for box, used, keys in (
            (person, every, ["person_box"]),
            (values.role[:4], boxed, [known.keys[n] for n in known.roles]),
        ):
            finite = np.asarray(np.isfinite(box).all(axis=0))
            with np.errstate(invalid="ignore"):
                turned = (box[2] < box[0]) | (box[3] < box[1])
                large = (np.abs(box) > LARGEST).any(axis=0)
            wrong: BoolArray = np.asarray(used & (~finite | turned | large))
            if wrong.any():
                row, column = np.argwhere(wrong)[0].tolist()
                problem = (
                    "is not finite; only a role box may be NaN, and then as a whole"
                    if not finite[row, column]
                    else TURNED
                    if turned[row, column]
                    else TOO_LARGE
                )
                raise self.error(
                    start + row, keys[column], f"the box {box[:, row, column].tolist()} {problem}"
                )

    def _add_boxes(self, start: int, person: Array, role: Array, boxes: _Boxes) -> None:
        """Append person and role boxes in turn."""
        count = boxes.count + 1
        base = np.cumsum(count) - count
        xyxy = np.empty((int(count.sum()), 4))
        xyxy[base] = person
        row, column = np.nonzero(boxes.first)
        xyxy[base[row] + 1 + boxes.number[row, column]] = role[:4, row, column].T
        label = np.full(len(xyxy), -1, dtype=np.int8)
        label[base] = 0
        self.parts["box_image"].append(np.repeat(self.image[start : start + len(count)], count))
        # Adding zero turns -0.0 into 0.0, so that equal boxes are equal to the last bit.
        self.parts["box_xyxy"].append(xyxy - float(self.origin) + 0.0)
        self.parts["box_label"].append(label)
        self.boxes += len(xyxy)

    def _add_pairs(self, base: IntArray, score: Array, action: Array, boxes: _Boxes) -> None:
        """Append pairs and triplets; ``base`` is the row of each dict's person."""
        classes = len(roles().keys)
        predicted = ~np.isnan(score)
        box = np.full(score.shape, -1, dtype=np.int8)
        box[:, roles().roles] = boxes.number
        # The pair without an object comes at its first use, between the pairs with one.
        alone = predicted & (box < 0)
        has_alone = np.asarray(alone.any(axis=1))
        used_at = np.where(has_alone, alone.argmax(axis=1), classes)
        before = (boxes.first & (roles().roles < used_at[:, None])).sum(axis=1)
        count = boxes.count + has_alone
        start = self.pairs + np.cumsum(count) - count
        shifted = box + (has_alone[:, None] & (box >= before[:, None]))
        pair = start[:, None] + np.where(box < 0, before[:, None], shifted)

        human = np.repeat(base, count)
        place = np.arange(len(human)) - np.repeat(start - self.pairs, count)
        alone_at = np.repeat(np.where(has_alone, before, classes), count)
        object_box = human + 1 + place - (place > alone_at)
        self.parts["pair_human"].append(human.astype(np.int32))
        self.parts["pair_object"].append(
            np.where(place == alone_at, -1, object_box).astype(np.int32)
        )
        self.pairs += len(human)

        rows = slice(self.triplets, self.triplets + int(predicted.sum()))
        self.triplet_pair[rows] = pair[predicted]
        self.triplet_verb[rows] = np.nonzero(predicted)[1]
        self.triplet_score[rows] = score[predicted]
        self.triplet_action_score[rows] = action[predicted]
        self.triplets = rows.stop

    def _add_filled(self, predicted: BoolArray, filled: IntArray | None) -> None:
        """Append, at the first triplet of each dict, the classes that it leaves out."""
        column = np.zeros(int(predicted.sum()), dtype=np.int64)
        if filled is not None:
            count = predicted.sum(axis=1)
            some = count > 0
            column[(np.cumsum(count) - count)[some]] = filled[some]
        self.parts["triplet_filled"].append(column)

    def scenes(self, vocabulary: Vocabulary, notes: tuple[str, ...]) -> Scenes:
        """Return the scenes of all dicts added."""
        joined: dict[str, Any] = {
            key: np.concatenate(parts) if parts else np.zeros((0, 4) if "xyxy" in key else 0)
            for key, parts in self.parts.items()
        }
        if not joined["triplet_filled"].any():
            del joined["triplet_filled"]
        triplets: dict[str, Any] = {
            key: getattr(self, key)[: self.triplets]
            for key in ("triplet_pair", "triplet_verb", "triplet_score", "triplet_action_score")
        }
        return Scenes(
            vocabulary=vocabulary,
            names=np.array(self.names, dtype=np.str_),
            source=self.file,
            notes=notes,
            **joined,
            **triplets,
        )


def _by_class(agent: Array, role: Array) -> Array:
    """Arrange agents and roles in official class order."""
    score = np.empty((len(agent), len(roles().keys)))
    score[:, roles().agents] = agent
    score[:, roles().roles] = role
    return score


def _empty(role: Array) -> BoolArray:
    """(N, 25) true where a role box is all zeros or all NaN."""
    zero, lost = np.ones(role.shape[1:], dtype=bool), np.ones(role.shape[1:], dtype=bool)
    for edge in role[:4]:
        zero &= edge == 0
        lost &= np.isnan(edge)
    return zero | lost


def _distinct_in_rows(role: Array, boxed: BoolArray) -> _Boxes:
    """Find the distinct boxes of each row; every round finds the next one of all rows."""
    number = np.full(boxed.shape, -1, dtype=np.int8)
    first = np.zeros_like(boxed)
    count = np.zeros(len(boxed), dtype=np.int64)
    rows = np.flatnonzero(boxed.any(axis=1))
    rest, edges = boxed[rows], role[:4, rows]
    while len(rows):
        column = rest.argmax(axis=1)
        here = np.arange(len(rows))
        same = rest.copy()
        for edge in edges:
            same &= edge == edge[here, column][:, None]
        number[rows] = np.where(same, count[rows][:, None], number[rows])
        first[rows, column] = True
        count[rows] += 1
        rest &= ~same
        left = rest.any(axis=1)
        rows, rest, edges = rows[left], rest[left], edges[:, left]
    return _Boxes(number=number, first=first, count=count)
