"""Scenes in a file of columns that is read a few images at a time.

A file may be larger than memory: its tables are scanned once for the rows of each image, and then
read in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import IntArray, StrArray
from diaghoi.data.memory import StoredArray
from diaghoi.data.scenes import OF_IMAGES, Scenes, SceneSource
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import Rows, check_boxes, check_range, check_scores
from diaghoi.formats.numbering import TripletNumbers, check_numbers

# Rows per step of the scan for the first rows of each image.
_ROWS = 1 << 17
_WIDE = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredScenes(SceneSource):
    """Scenes whose rows stay in a file.

    Parameters
    ----------
    vocabulary, names, top, source, notes
        As of :class:`~diaghoi.data.scenes.SceneSource`.
    columns : mapping of StoredArray
        The columns of :class:`~diaghoi.data.scenes.Scenes` but for the names, of the shapes and
        kinds that they should have.
    origin : {0, 1}
        Whether boxes are counted from zero or one.
    stored : int
        Images in the file.
    order : (N,) int array
        The place of each image in the file; -1 for an image that is not in it and empty.
    first_rows : dict of (images of the file + 1,) int array
        By table: the first row of each image of the file, kept for all orders once it is known.
    """

    columns: Mapping[str, StoredArray]
    origin: int
    stored: int
    order: IntArray
    first_rows: dict[str, IntArray] = field(default_factory=dict)

    def has(self, column: str) -> bool:
        """Whether the file has a column."""
        return column in self.columns

    @cached_property
    def bounds(self) -> dict[str, IntArray]:
        """(N + 1,) first row of each image in the tables "box", "pair" and "triplet".

        Raises
        ------
        InputError
            If the rows of a table are not in the order of the images, or refer to no image.
        """
        return {
            table: np.append(0, np.cumsum(stop - first))
            for table, (first, stop) in self._places.items()
        }

    @cached_property
    def _places(self) -> dict[str, tuple[IntArray, IntArray]]:
        """(N,) first row in the file, and the one after the last, of each image in each table."""
        if not self.first_rows:
            images = np.arange(self.stored + 1)
            boxes = self._first_rows("box", images, "box_image", "image")
            pairs = self._first_rows("pair", boxes, "pair_human", "box")
            triplets = self._first_rows("triplet", pairs, "triplet_pair", "pair")
            self.first_rows.update(box=boxes, pair=pairs, triplet=triplets, image=images)
        # The rows of an empty image, -1, are none: from 0 to 0.
        return {
            table: (np.append(first[:-1], 0)[self.order], np.append(first[1:], 0)[self.order])
            for table, first in self.first_rows.items()
        }

    def between(self, first: int, stop: int) -> Scenes:
        """Read and check the images ``first`` to ``stop - 1``.

        Raises
        ------
        InputError
            For invalid values.
        """
        places = {
            table: (start[first:stop], end[first:stop])
            for table, (start, end) in self._places.items()
        }
        runs = {table: _runs(*place) for table, place in places.items()}
        count = {table: end - start for table, (start, end) in places.items()}
        # The images of the rows are known already, so box_image need not be read.
        read: dict[str, Any] = {
            name: column.runs(runs["image" if name in OF_IMAGES else name.split("_")[0]])
            for name, column in self.columns.items()
            if name != "box_image"
        }
        for name in read.keys() & set(OF_IMAGES):
            rows = np.zeros((len(count["image"]), *read[name].shape[1:]), read[name].dtype)
            rows[count["image"] > 0] = read[name]
            read[name] = rows
        # V-COCO has a row for every class of every pair, 16 million in the test set: these columns
        # keep their small types.
        lean = () if self.vocabulary.agents is None else ("triplet_pair", "triplet_verb")
        read |= {
            name: values.astype(_WIDE[values.dtype.kind], copy=False)
            for name, values in read.items()
            if name not in lean
        }
        where = {
            table: Rows(self.source, self.names[first:stop].tolist(), table, count[table])
            for table in self.bounds
        }
        self._check(read, where, places["box"])
        # From rows of the file to rows of these scenes.
        shift = {table: places[table][0] - rows.start for table, rows in where.items()}
        box, pair = (
            _of_rows(shift[table], count[owner])
            for table, owner in (("box", "pair"), ("pair", "triplet"))
        )
        read["pair_human"] = read["pair_human"] - box
        read["pair_object"] = np.where(read["pair_object"] < 0, -1, read["pair_object"] - box)
        if pair.any():
            read["triplet_pair"] = read["triplet_pair"] - pair.astype(read["triplet_pair"].dtype)
        return Scenes(
            vocabulary=self.vocabulary,
            names=self.names[first:stop],
            box_image=where["box"].image.astype(np.int32 if lean else np.int64, copy=False),
            top=self.top,
            source=self.source,
            notes=self.notes,
            **read,
        )

    def take(self, images: npt.ArrayLike) -> Scenes:
        """Return the scenes of the given images, in the given order."""
        chosen = np.asarray(images, dtype=np.int64)
        return self.arranged(chosen, self.names[chosen]).load()

    def with_names(self, names: StrArray) -> StoredScenes:
        """Rename the images; where there are more names, empty images follow."""
        empty = np.full(max(len(names) - len(self), 0), -1)
        return replace(self, names=names, order=np.append(self.order, empty))

    def arranged(self, images: IntArray, names: StrArray) -> StoredScenes:
        """Bring all images to another order under new names; -1 gives an empty image."""
        return replace(self, names=names, order=np.append(self.order, -1)[images])

    def load(self) -> Scenes:
        """Return all images; they stay in memory for the next time."""
        return self._loaded

    @cached_property
    def _loaded(self) -> Scenes:
        return self.between(0, len(self))

    def _first_rows(self, table: str, bounds: IntArray, name: str, what: str) -> IntArray:
        """First row of each image in a table that refers to one with these ``bounds``."""
        column = self.columns[name]
        total, last = column.shape[0], 0
        count = np.zeros(len(bounds) - 1, dtype=np.int64)
        rows = Rows(self.source, ["the whole file"], table, np.array([total]))
        for first in range(0, total, _ROWS):
            reference = column.rows(first, min(first + _ROWS, total)).astype(np.int64, copy=False)
            check_range(rows, reference, int(bounds[-1]), name, what, first=first)
            # These rows belong to few images: restrict the search to their bounds.
            low, high = np.searchsorted(bounds, [reference.min(), reference.max()], side="right")
            image = low - 1 + np.searchsorted(bounds[low:high], reference, side="right")
            unordered = np.append(last, image[:-1]) > image
            if unordered.any():
                raise rows.error(
                    first + int(np.argmax(unordered)),
                    name,
                    "rows are not in the order of the images",
                )
            count[low - 1 : high] += np.bincount(image - (low - 1), minlength=high - low + 1)
            last = int(image[-1])
        return np.append(0, np.cumsum(count))

    def _check(
        self, read: dict[str, Any], where: dict[str, Rows], boxes: tuple[IntArray, IntArray]
    ) -> None:
        """Check the values of some images, whose rows of the box table lie between ``boxes``."""
        vocabulary = self.vocabulary
        xyxy = check_boxes(
            where["box"], read["box_xyxy"], "box_xyxy", origin=self.origin, least=-1.0
        )
        if self.origin:
            read["box_xyxy"] = xyxy
        unread = read.get("unread", np.zeros(0))
        if (unread < 0).any() or (unread > np.iinfo(np.int32).max).any():
            raise InputError(
                f"{self.source}: unread: holds numbers that are no counts; convert the original "
                "file again"
            )
        label = read["box_label"]
        known = label[label != -1] if vocabulary.any_object else label
        if (known < 0).any() or (known >= len(vocabulary.objects)).any():
            check_range(where["box"], label, len(vocabulary.objects), "box_label", "object")

        object_box = read["pair_object"]
        stop = self.columns["box_image"].shape[0] + 1
        check_range(where["pair"], object_box + 1, stop, "pair_object", "box (counted from 1)")
        own, end = (np.repeat(bound, where["pair"].count) for bound in boxes)
        apart = (object_box >= 0) & ((object_box < own) | (object_box >= end))
        if apart.any():
            bad = int(np.argmax(apart))
            raise where["pair"].error(bad, "pair_object", "is a box of another image")

        check_numbers(
            where["triplet"],
            read["triplet_verb"],
            TripletNumbers("verb", 0),
            vocabulary,
            "triplet_verb",
        )
        for name in ("triplet_score", "triplet_action_score"):
            if name in read:
                check_scores(where["triplet"], read[name], name)
        filled = read.get("triplet_filled", np.zeros(0, dtype=np.int64))
        if (filled < 0).any() or (filled >> len(vocabulary.verbs)).any():
            bad = int(np.argmax((filled < 0) | (filled >> len(vocabulary.verbs) > 0)))
            problem = f"{int(filled[bad])} is no set of classes; convert the original file again"
            raise where["triplet"].error(bad, "triplet_filled", problem)
        # NaN marks boxes and pairs without a score in the original file.
        for name in ("box_score", "pair_score"):
            if name in read and np.isinf(read[name]).any():
                bad = int(np.argmax(np.isinf(read[name])))
                problem = "the score is infinite; give a finite number"
                raise where[name.split("_")[0]].error(bad, name, problem)


def _runs(start: IntArray, stop: IntArray) -> list[tuple[int, int]]:
    """Join what follows each other in the file to runs: first row, and one after the last."""
    some = stop > start
    start, stop = start[some], stop[some]
    first = np.append(True, start[1:] != stop[:-1])[: len(start)]
    last = np.append(first[1:], True)[: len(start)]
    return list(zip(start[first].tolist(), stop[last].tolist(), strict=True))


def _of_rows(of_images: IntArray, count: IntArray) -> IntArray:
    """Give each row what its image has: a single value where that is the same for all."""
    of_images = of_images[count > 0]
    if (of_images == of_images[:1]).all():
        return of_images[:1]
    return np.repeat(of_images, count[count > 0])
