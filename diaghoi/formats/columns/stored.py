"""Scenes in a file of columns that is read a few images at a time.

A file may be larger than memory: its tables are scanned once for the rows of each image, and then
read in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.scratch import StoredArray
from diaghoi.data.arrays.types import IntArray, StrArray
from diaghoi.data.scenes import OF_IMAGES, Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.columns.checks import Rows, check_boxes, check_range, check_scores
from diaghoi.formats.columns.numbering import check_numbers
from diaghoi.formats.columns.triplet_numbers import TripletNumbers

# Rows per step of the scan for the first rows of each image.
_ROWS = 1 << 17
_WIDE = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredScenes:
    """Scenes whose rows stay in a file; a :class:`~diaghoi.data.scenes.SceneSource`.

    Parameters
    ----------
    vocabulary, names, top, source, notes
        As those of :class:`~diaghoi.data.scenes.Scenes`.
    columns : mapping of StoredArray
        The columns of :class:`~diaghoi.data.scenes.Scenes` but for the names, of the shapes and
        kinds that they should have.
    origin : {0, 1}
        Whether boxes are counted from zero or one.
    stored : int
        Images in the file: the first ones of ``names``; further images are empty.
    """

    vocabulary: Vocabulary
    names: StrArray
    top: int | None
    source: str
    notes: tuple[str, ...]
    columns: Mapping[str, StoredArray]
    origin: int
    stored: int

    def __len__(self) -> int:
        return len(self.names)

    @property
    def named(self) -> bool:
        """Whether the images have names to be joined by."""
        return len(self.names) == 0 or bool(self.names[0] != "")

    @property
    def lists_pairs(self) -> bool:
        """Whether the detector lists its pairs apart from the triplets."""
        return "pair_score" in self.columns

    @property
    def scored(self) -> bool:
        """Whether these are predictions."""
        return "triplet_score" in self.columns

    @property
    def ranked(self) -> bool:
        """Whether these are the predictions of a detector with scores."""
        return self.scored and "unread" not in self.columns

    @cached_property
    def bounds(self) -> dict[str, IntArray]:
        """(N + 1,) first row of each image in the tables "box", "pair" and "triplet".

        Raises
        ------
        InputError
            If the rows of a table are not in the order of the images, or refer to no image.
        """
        images = np.arange(self.stored + 1)
        boxes = self._first_rows("box", images, "box_image", "image")
        pairs = self._first_rows("pair", boxes, "pair_human", "box")
        triplets = self._first_rows("triplet", pairs, "triplet_pair", "pair")
        empty = len(self.names) - self.stored
        return {
            table: np.append(first, np.repeat(first[-1:], empty))
            for table, first in (("box", boxes), ("pair", pairs), ("triplet", triplets))
        }

    def between(self, first: int, stop: int) -> Scenes:
        """Read and check the images ``first`` to ``stop - 1``.

        Raises
        ------
        InputError
            For invalid values.
        """
        ends = np.minimum([first, stop], len(self))
        rows = {table: bounds[ends].tolist() for table, bounds in self.bounds.items()}
        of_images = np.minimum(ends, self.stored).tolist()
        inside = {
            name: of_images if name in OF_IMAGES else rows[name.split("_")[0]]
            for name in self.columns
        }
        # ``bounds`` already gives the rows of each image, so box_image need not be read.
        read: dict[str, Any] = {
            name: column.rows(*inside[name])
            for name, column in self.columns.items()
            if name != "box_image"
        }
        for name in read.keys() & set(OF_IMAGES):
            missing = int(ends[1] - ends[0]) - len(read[name])
            read[name] = np.pad(read[name], ((0, missing), (0, 0)))
        # V-COCO has a row for every class of every pair, 16 million in the test set: these columns
        # keep their small types.
        lean = () if self.vocabulary.agents is None else ("triplet_pair", "triplet_verb")
        read |= {
            name: values.astype(_WIDE[values.dtype.kind], copy=False)
            for name, values in read.items()
            if name not in lean
        }
        where = {
            table: Rows(
                self.source,
                self.names[first:stop].tolist(),
                table,
                np.diff(bounds[ends[0] : ends[1] + 1]),
            )
            for table, bounds in self.bounds.items()
        }
        self._check(read, where, rows["box"])
        box, pair = rows["box"][0], rows["pair"][0]
        read["pair_human"] = read["pair_human"] - box
        read["pair_object"] = np.where(read["pair_object"] < 0, -1, read["pair_object"] - box)
        if pair:
            read["triplet_pair"] = read["triplet_pair"] - read["triplet_pair"].dtype.type(pair)
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
        # Consecutive images are read together.
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1)
        return Scenes.concatenate(
            [self.between(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
            or [self.between(0, 0)]
        )

    def with_names(self, names: StrArray) -> StoredScenes:
        """Rename the images; where there are more names, empty images follow."""
        return replace(self, names=names)

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

    def _check(self, read: dict[str, Any], where: dict[str, Rows], boxes: list[int]) -> None:
        """Check the values of some images, of which ``boxes`` are the rows of the box table."""
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
        image = np.append(where["box"].image, -1)
        inside = (object_box >= boxes[0]) & (object_box < boxes[1])
        apart = (object_box >= 0) & (
            image[np.where(inside, object_box - boxes[0], -1)] != where["pair"].image
        )
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
