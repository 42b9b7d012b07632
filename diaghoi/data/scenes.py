"""The data structure of the package: images with boxes, pairs and triplets as columns.

Annotations and predictions of every data set, format and detector are :class:`Scenes`. Each box is
stored once; a pair is two rows of the box table, and a triplet is a row of the pair table plus a
verb. Overlap is computed once per box and looked up by pair and triplet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import Array, BoolArray, FloatArray, IntArray, StrArray, expand
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError

Source = TypeVar("Source", bound="SceneSource")


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneSource(ABC):
    """A source of scenes, read a few images at a time: :class:`Scenes` itself, or a file.

    Parameters
    ----------
    vocabulary : Vocabulary
        Meaning of labels and verbs.
    names : (N,) str array
        Names by which images are joined; empty strings if the file has none, so that images are
        joined by position.
    top : int or None
        Number of triplets kept per image if the reader kept only the best triplets.
    source, notes : str and tuple of str
        The file that messages name, and remarks on how it was read.
    """

    vocabulary: Vocabulary
    names: StrArray
    top: int | None = None
    source: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def named(self) -> bool:
        """Whether the images have names, by which they can be joined."""
        return len(self.names) == 0 or bool(self.names[0] != "")

    @property
    def lists_pairs(self) -> bool:
        """Whether the detector lists its pairs separately from the triplets."""
        return self.has("pair_score")

    @property
    def scored(self) -> bool:
        """Whether the scenes are predictions, not annotations."""
        return self.has("triplet_score")

    @property
    def ranked(self) -> bool:
        """Whether the scenes are predictions of a detector with scores."""
        return self.scored and not self.has("unread")

    @abstractmethod
    def has(self, column: str) -> bool:
        """Check whether a column exists."""

    @property
    @abstractmethod
    def bounds(self) -> Mapping[str, IntArray]:
        """(N + 1,) first row of each image in the tables "box", "pair" and "triplet"."""

    @abstractmethod
    def between(self, first: int, stop: int) -> Scenes:
        """Return the images ``first`` to ``stop - 1``."""

    @abstractmethod
    def take(self, images: npt.ArrayLike) -> Scenes:
        """Return the scenes of the given images, in this order."""

    @abstractmethod
    def with_names(self: Source, names: StrArray) -> Source:
        """Rename the images; extra names become empty images at the end."""

    @abstractmethod
    def arranged(self: Source, images: IntArray, names: StrArray) -> Source:
        """Reorder and rename all images; -1 gives an empty image."""

    @abstractmethod
    def load(self) -> Scenes:
        """Return all images."""


UNREAD = ("answers", "triplets", "names")
"""The columns of ``unread``: unreadable answers (0 or 1 per image), unreadable triplets, and
triplets whose names the data set does not have.
"""
# Number of pixels by which a box may extend outside its image.
_EDGE = 1.0
_FILLED_BOX = (0.0, 0.0, 0.1, 0.1)
OF_IMAGES = ("sizes", "unread")
"""Columns with a row per image, filled with zeros for added images."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenes(SceneSource):
    """Images with their boxes, pairs and triplets.

    All arrays are read-only. The rows of each table follow the order of the images and, within an
    image, the order of the file.

    Parameters
    ----------
    vocabulary, names, top, source, notes
        As in :class:`SceneSource`.
    sizes : (N, 2) int array or None
        Width and height in pixels; 0 for an image of unknown size.
    box_image : (B,) int array
        Image of each box.
    box_xyxy : (B, 4) float64 array
        Left, top, right, bottom in pixels, counted from zero.
    box_label : (B,) int array
        Object category of each box; -1 if the file does not say.
    box_ignored : (B,) bool array or None
        People whose actions are not annotated; predictions on them count as neither right nor
        wrong.
    box_score : (B,) float64 array or None
        Detection score.
    pair_human, pair_object : (P,) int array
        Rows of the box table; ``pair_object`` is -1 for a pair without an object.
    pair_score : (P,) float64 array or None
        Confidence that the pair interacts: the highest score of a real verb. None if the file does
        not list pairs; the pairs are then taken from the triplets. NaN marks a pair that has
        triplets but is missing from the list of pairs.
    triplet_pair, triplet_verb : (T,) int array
        Row of the pair table, and verb.
    triplet_score : (T,) float64 array or None
        Ranking score; 1 everywhere for a detector without scores. Annotations have none.
    triplet_action_score : (T,) float64 array or None
        Score of the verb alone.
    triplet_filled : (T,) int64 array or None
        Classes with filled-in values (V-COCO), at the first triplet of each person in the file: bit
        c is set for class c. See :func:`filled_in`.
    unread : (N, 3) int array or None
        Number of unreadable parts in the answer on each image (:data:`UNREAD`), for a detector
        without scores, such as a language model. None for annotations and detectors with scores.
    numbering : str or None
        Object numbering of the file (``hico80``), if its labels were translated by
        :func:`~diaghoi.data.vocabulary.object_numberings`; ``box_label`` uses the numbering of the
        package.
    numbering_found : bool
        Whether ``numbering`` was inferred from the labels, rather than given by the format or the
        user.
    """

    sizes: IntArray | None = None
    box_image: IntArray
    box_xyxy: FloatArray
    box_label: IntArray
    box_ignored: BoolArray | None = None
    box_score: FloatArray | None = None
    pair_human: IntArray
    pair_object: IntArray
    pair_score: FloatArray | None = None
    triplet_pair: IntArray
    triplet_verb: IntArray
    triplet_score: FloatArray | None = None
    triplet_action_score: FloatArray | None = None
    triplet_filled: IntArray | None = None
    unread: IntArray | None = None
    numbering: str | None = None
    numbering_found: bool = False

    def __post_init__(self) -> None:
        for column in COLUMNS:
            array = getattr(self, column)
            # Only a view is made read-only, so that the caller's array stays writable.
            if array is not None and array.flags.writeable:
                array = array.view()
                array.flags.writeable = False
                object.__setattr__(self, column, array)

    def __repr__(self) -> str:
        return (
            f"<Scenes of {self.vocabulary.name}: {len(self)} images, {len(self.box_label)} boxes, "
            f"{len(self.pair_human)} pairs, {len(self.triplet_pair)} triplets>"
        )

    def has(self, column: str) -> bool:
        """Check whether a column exists."""
        return getattr(self, column) is not None

    @cached_property
    def bounds(self) -> dict[str, IntArray]:
        """First row of each image in the tables of boxes, pairs and triplets; (N + 1,) each."""
        images = np.arange(len(self) + 1, dtype=self.box_image.dtype)
        # The rows of all tables follow the order of the images, not of the rows to which they
        # refer.
        of_pair = self.box_image[self.pair_human]
        of = {"box": self.box_image, "pair": of_pair, "triplet": of_pair[self.triplet_pair]}
        return {table: np.searchsorted(rows, images) for table, rows in of.items()}

    @cached_property
    def pair_image(self) -> IntArray:
        """(P,) image of each pair."""
        return self.box_image[self.pair_human]

    @cached_property
    def pair_label(self) -> IntArray:
        """(P,) object category of each pair; -1 for pairs without an object."""
        if len(self.box_label) == 0:
            return np.full(len(self.pair_object), -1, dtype=np.int32)
        return np.where(self.pair_object < 0, -1, self.box_label[self.pair_object])

    @cached_property
    def triplet_image(self) -> IntArray:
        """(T,) image of each triplet."""
        return self.pair_image[self.triplet_pair]

    @cached_property
    def triplet_class(self) -> IntArray:
        """(T,) HOI class of each triplet, -1 if object and verb do not form an HOI class."""
        return self.vocabulary.class_of[self.pair_label[self.triplet_pair], self.triplet_verb]

    @cached_property
    def unboxed(self) -> bool:
        """Whether the predictions have no real boxes: all boxes are empty and lie at the origin."""
        return len(self.box_xyxy) > 0 and not self.box_xyxy.any()

    @property
    def scores(self) -> FloatArray:
        """(T,) ranking scores of predictions; an ``InputError`` if the triplets have none."""
        if self.triplet_score is None:
            raise InputError(f"{self.source or 'predictions'}: the triplets have no scores")
        return self.triplet_score

    @cached_property
    def listed(self) -> BoolArray:
        """Return a mask, (P,), of the listed pairs; without a list, of all pairs with objects."""
        if self.pair_score is None:
            return np.asarray(self.pair_object >= 0)
        return ~np.isnan(self.pair_score)

    def outside(self, sizes: IntArray) -> BoolArray:
        """Return a mask of boxes that are more than a pixel outside their image; sizes are (N, 2).

        A size of 0 means that the size is unknown.
        """
        size = sizes[self.box_image]
        beyond = (self.box_xyxy[:, 2:] > size + _EDGE).any(axis=1)
        return np.asarray((size[:, 0] > 0) & (beyond | (self.box_xyxy[:, :2] < -_EDGE).any(axis=1)))

    def between(self, first: int, stop: int) -> Scenes:
        """Return the images ``first`` to ``stop - 1``; most columns are array views."""
        ends = np.minimum([first, stop], len(self))
        rows = {table: slice(*bounds[ends].tolist()) for table, bounds in self.bounds.items()}
        shift = {table: rows[table].start for table in rows}
        return self._select(slice(first, stop), rows, self.box_image[rows["box"]] - first, shift)

    def take(self, images: npt.ArrayLike) -> Scenes:
        """Return the scenes of the given images, in this order; -1 gives an empty image."""
        images = np.asarray(images, dtype=np.int64)
        rows, copies, shift = {}, {}, {}
        for table, bounds in self.bounds.items():
            start = bounds[images]
            count = np.where(images < 0, 0, bounds[images + 1] - start)
            copies[table], rows[table] = expand(start, count)
            shift[table] = start - (np.cumsum(count) - count)
        by_row = {"box": shift["box"][copies["pair"]], "pair": shift["pair"][copies["triplet"]]}
        return self._select(images, rows, copies["box"], by_row)

    @classmethod
    def concatenate(cls, parts: Iterable[Scenes]) -> Scenes:
        """Join one or more consecutive parts of the scenes of one file."""
        remaining = iter(parts)
        head = next(remaining)
        first = {"image": 0, "box": 0, "pair": 0}
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for part in chain([head], remaining):
            changed = {
                "box_image": part.box_image + first["image"],
                "pair_human": part.pair_human + first["box"],
                "pair_object": np.where(part.pair_object < 0, -1, part.pair_object + first["box"]),
                "triplet_pair": part.triplet_pair + first["pair"],
            }
            for name in COLUMNS:
                columns[name].append(changed.get(name, getattr(part, name)))
            first["image"] += len(part)
            first["box"] += len(part.box_image)
            first["pair"] += len(part.pair_human)
        joined: dict[str, Any] = {}
        for name in COLUMNS:
            column = columns.pop(name)  # each column is freed as soon as it is joined
            joined[name] = None if column[0] is None else np.concatenate(column)
        return replace(head, **joined)

    def with_names(self, names: StrArray) -> Scenes:
        """Rename the images; extra names become empty images at the end."""
        images = np.arange(max(len(names), len(self)))
        images[len(self) :] = -1
        return replace(self, names=names, **self._of_images(images))

    def arranged(self, images: IntArray, names: StrArray) -> Scenes:
        """Reorder and rename all images; -1 gives an empty image."""
        place = np.flatnonzero(images >= 0)
        if not np.array_equal(images[place], np.arange(len(self))):
            return replace(self.take(images), names=names)
        # If the images keep their order, with empty images in between, the rows of all tables stay
        # in place.
        box_image = place.astype(self.box_image.dtype)[self.box_image]
        return replace(self, names=names, box_image=box_image, **self._of_images(images))

    def load(self) -> Scenes:
        """Return these scenes, which are in memory."""
        return self

    def keep(self, pairs: BoolArray) -> Scenes:
        """Keep the pairs selected by a (P,) mask and their triplets, with all images and boxes."""
        every, triplets = slice(None), pairs[self.triplet_pair]
        dropped = np.cumsum(~pairs, dtype=self.triplet_pair.dtype)[self.triplet_pair[triplets]]
        rows = {"box": every, "pair": pairs, "triplet": triplets}
        return self._select(every, rows, self.box_image, {"box": 0, "pair": dropped})

    def _of_images(self, images: Any) -> dict[str, Any]:
        """Select the given images in all columns that have one row per image."""
        columns = {name: getattr(self, name) for name in OF_IMAGES}
        return {
            name: None if column is None else _rows_or_empty(column, images, 0)
            for name, column in columns.items()
        }

    def _select(self, images: Any, rows: Any, box_image: IntArray, shift: Any) -> Scenes:
        """Restrict columns to ``rows``, and lower references to boxes and pairs by ``shift``."""
        objects = self.pair_object[rows["pair"]]
        changed: dict[str, Any] = {
            "names": _rows_or_empty(self.names, images, ""),
            **self._of_images(images),
            "box_image": box_image,
            "pair_human": self.pair_human[rows["pair"]] - shift["box"],
            "pair_object": np.where(objects < 0, -1, objects - shift["box"]),
            "triplet_pair": self.triplet_pair[rows["triplet"]] - shift["pair"],
        }
        for column in COLUMNS:
            if column not in changed and self.has(column):
                changed[column] = getattr(self, column)[rows[column.split("_")[0]]]
        return replace(self, **changed)


COLUMNS = tuple(
    field.name
    for field in fields(Scenes)
    if field.name.split("_")[0] in ("names", *OF_IMAGES, "box", "pair", "triplet")
)


def filled_in(scenes: Scenes) -> tuple[Scenes, IntArray]:
    """Add values for classes that a person in the file lacks, as the V-COCO evaluator does.

    A class that a person lacks gets score 0. Added agents have no object box; added roles have the
    box (0, 0, 0.1, 0.1).

    Returns
    -------
    scenes : Scenes
        The same object if nothing is filled in; otherwise new scenes, with the classes of each
        person in order.
    row : (T,) int array
        Index of each triplet in the result; equal classes of an image keep their order.
    """
    filled, agents = scenes.triplet_filled, scenes.vocabulary.agents
    if filled is None or agents is None or not filled.any():
        return scenes, np.arange(len(scenes.triplet_pair))
    first = np.flatnonzero(filled)
    person, verb = np.nonzero(filled[first, None] >> np.arange(len(agents)) & 1)
    human = scenes.pair_human[scenes.triplet_pair[first]]
    image, count = scenes.box_image[human], len(first)
    # Each person gets a box for its roles, a pair without this box, and a pair with this box.
    boxes = np.argsort(np.concatenate([scenes.box_image, image]), kind="stable")
    humans = np.concatenate([scenes.pair_human, human, human])
    objects = np.concatenate(
        [scenes.pair_object, np.full(count, -1), len(scenes.box_image) + np.arange(count)]
    )
    pairs = np.argsort(np.concatenate([scenes.pair_image, image, image]), kind="stable")
    owner = np.concatenate([np.cumsum(filled != 0), 1 + person])
    of_image = np.concatenate([scenes.triplet_image, image[person]])
    verbs = np.concatenate([scenes.triplet_verb, verb])
    triplets = np.lexsort((verbs, owner, of_image))
    of_pair = np.concatenate(
        [scenes.triplet_pair, len(scenes.pair_human) + person + np.where(agents[verb], 0, count)]
    )
    changed = {
        "pair_human": np.argsort(boxes)[humans][pairs],
        "pair_object": np.where(objects < 0, -1, np.argsort(boxes)[objects])[pairs],
        "triplet_pair": np.argsort(pairs)[of_pair][triplets],
        "triplet_verb": verbs[triplets],
        "triplet_filled": None,
    }
    order = {"box": boxes, "pair": pairs, "triplet": triplets}
    added = {"box_image": image, "box_xyxy": _FILLED_BOX, "box_label": -1, "box_ignored": False}
    added |= {"triplet_score": 0.0, "triplet_action_score": 0.0}
    for column in COLUMNS:
        table, array = column.split("_")[0], getattr(scenes, column)
        if table in order and column not in changed and array is not None:
            more = np.empty((len(order[table]) - len(array), *array.shape[1:]), array.dtype)
            more[:] = added.get(column, np.nan)
            changed[column] = np.concatenate([array, more])[order[table]]
    return replace(scenes, **changed), np.argsort(triplets)[: len(filled)]


def _rows_or_empty(array: Array, images: Any, empty: Any) -> Array:
    """Select the rows of the given images; the row for image -1 contains ``empty``."""
    if isinstance(images, slice):
        return array[images]
    padded = np.concatenate([array, np.full_like(array, empty, shape=(1, *array.shape[1:]))])
    return np.asarray(padded[images])
