"""The package's own format: the columns of :class:`~diaghoi.data.scenes.Scenes` in an ``.npz``.

``diaghoi_format`` is the version of the layout; ``vocabulary`` is the name of the data set;
``fingerprint`` is a hash of its names and classes; ``notes`` are notes about the original file; and
``top`` is the number of triplets per image that the reader kept (0 if it kept all). Every other
array is the column with the same name as the array. Nothing is compressed, so that files are read
as fast as they are copied. Coordinates and scores are float64; other numbers have the smallest type
that fits. Pairs and triplets refer to rows in the box and pair tables of the whole file.
``box_ignored`` is present if people can be ignored (V-COCO annotations); ``box_label`` may be -1
for V-COCO, whose files do not name the category, and ``pair_object`` is -1 if there is no object.

Files may be larger than memory: tables are scanned once for the rows of each image, and then read
in blocks. When a run of :class:`diaghoi.PredictionWriter` is killed, a folder with ``000001.npz``,
``000002.npz`` and so on remains; each part is a complete file with the images after those of the
previous part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import Array, BoolArray, IntArray, StrArray
from diaghoi.data.memory import StoredArray
from diaghoi.data.scenes import COLUMNS, OF_IMAGES, UNREAD, Scenes, SceneSource
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_boxes, check_names, check_range, check_scores
from diaghoi.formats.content import Content, parts_in
from diaghoi.formats.output import replacing
from diaghoi.formats.zipped import members

VERSION = 1
_NEEDED = (
    *("diaghoi_format", "vocabulary", "notes", "top"),
    *(
        column.name
        for column in fields(Scenes)
        if column.name in COLUMNS and column.default is MISSING
    ),
)
# For each table, the column that refers to rows of the previous table, or to images.
_TABLES = {"box": "box_image", "pair": "pair_human", "triplet": "triplet_pair"}
_WIDTHS = {"box_xyxy": (4,), "sizes": (2,), "unread": (len(UNREAD),)}
_KINDS = {"names": "U", "box_ignored": "b", "score": "f", "xyxy": "f"}
_WIDE = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
# Number of rows scanned at a time to find the first rows of each image.
_ROWS = 1 << 17
_AGAIN = "convert the original file again"


class _Own(Format):
    name = "diaghoi"
    title = "columns of this package"
    kinds = ("annotations", "predictions", "pairs")
    keys = ("diaghoi_format",)

    def recognise(self, content: Content) -> Kind | None:
        if content.container == "parts":
            return "predictions"
        arrays = content.value
        if content.container != "npz" or "diaghoi_format" not in arrays:
            return None
        if "triplet_score" in arrays:
            return "predictions"
        # A pair file may lack scores; it is then recognised by having no triplets.
        triplets, pairs = (
            arrays[name].rows() if name in arrays else None
            for name in ("triplet_pair", "pair_human")
        )
        listed = "pair_score" in arrays or (triplets == 0 and pairs)
        return "pairs" if listed else "annotations"

    def dataset(self, content: Content) -> str | None:
        if content.container == "parts":
            content = _part(content.value[min(content.value)])
        member = content.value.get("vocabulary")
        return None if member is None else str(member.read())

    def read(self, content: Content, kind: Kind, options: Options) -> SceneSource:
        if content.container != "parts":
            return stored_scenes(content, options)
        file, paths = content.file, in_order(content.path)
        scenes = joined([stored_scenes(_part(path), options).load() for path in paths])
        check_names(file, scenes.names.tolist(), "names")
        note = f"{file}: {len(paths)} parts with {len(scenes)} images of an unfinished run"
        return replace(scenes, source=file, notes=(*scenes.notes, note))


FORMAT = _Own()


def _part(path: Path) -> Content:
    arrays = members(path)
    if "diaghoi_format" not in arrays:
        raise InputError(
            f"{path}: diaghoi_format: is missing, so this is not a part of a run; take the file "
            "out of the folder, or copy the folder again"
        )
    return Content(path, "npz", arrays)


def part_name(number: int) -> str:
    """Return the file name of a part; parts are numbered from 1."""
    return f"{number:06}.npz"


def in_order(folder: Path) -> list[Path]:
    """Return the numbered parts in a folder, which must have at least one part and no gaps."""
    parts = parts_in(folder)
    missing = sorted(set(range(1, max(parts) + 1)) - parts.keys())
    if missing:
        raise InputError(
            f"{folder}: {part_name(missing[0])} is missing; copy the folder again or, if the run "
            "has ended, use the .npz file next to the folder"
        )
    return [parts[number] for number in sorted(parts)]


def joined(parts: Sequence[Scenes]) -> Scenes:
    """Join the predictions of one or more parts in memory.

    Raises
    ------
    InputError
        If a column of some parts is missing from other parts that have rows in its table.
    """
    alike = list(parts)
    for name in COLUMNS:
        columns, table = [getattr(part, name) for part in parts], name.split("_")[0]
        empty: Any = next((column[:0] for column in columns if column is not None), None)
        for place, part in enumerate(parts):
            if empty is None or columns[place] is not None:
                continue
            if part.bounds[table][-1] if table in part.bounds else len(part):
                raise InputError(
                    f"{part.source}: the column {name} is missing, but other parts have it; put "
                    "only the parts of one run into the folder"
                )
            alike[place] = replace(alike[place], **{name: empty})
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return replace(Scenes.concatenate(alike), notes=tuple(notes))


def stored_scenes(content: Content, options: Options) -> StoredScenes:
    """Open the scenes in the arrays of an ``.npz`` file, as :func:`arrays_of` returns them.

    Raises
    ------
    InputError
        If a column is missing, has the wrong shape or belongs to another data set. Values are
        checked when they are read.
    """
    file, arrays, vocabulary = content.file, content.value, options.vocabulary

    def refused(name: str, problem: str, advice: str = _AGAIN) -> InputError:
        return InputError(f"{file}: {name}: {problem}; {advice}")

    version = arrays["diaghoi_format"].read()
    if _whole(version) != VERSION:
        problem = f"is {str(version)!r:.40}, and this release reads {VERSION}"
        raise refused("diaghoi_format", problem)
    missing = [name for name in _NEEDED if name not in arrays]
    if missing:
        raise InputError(
            f"{file}: the columns {', '.join(missing)} are missing; convert the original file again"
        )
    columns = {name: arrays[name].column() for name in COLUMNS if name in arrays}
    dataset = str(arrays["vocabulary"].read())
    if dataset != vocabulary.name:
        problem = f"is for the data set {dataset!r:.40}, not for {vocabulary.name!r}"
        raise refused("vocabulary", problem, "give the right data set with --dataset")
    fingerprint = str(arrays["fingerprint"].read()) if "fingerprint" in arrays else ""
    if fingerprint not in ("", vocabulary.fingerprint):
        problem = f"was written when {dataset!r:.40} had other objects, verbs or classes"
        raise refused("fingerprint", problem)
    for name, column in columns.items():
        # This loop treats a column without dimensions as empty. The check of this column's own
        # shape rejects the column before columns that depend on it are checked.
        table, _, last = name.partition("_")
        length = (*columns[_TABLES.get(table, "names")].shape, 0)[0]
        shape = (length, *_WIDTHS.get(name, ()))
        kinds = _KINDS.get(name) or _KINDS.get(last.rpartition("_")[2], "iu")
        if column.shape != shape or column.dtype.kind not in kinds:
            raise refused(
                name,
                f"has shape {column.shape} and type {column.dtype}, where {shape} of kind "
                f"{kinds!r} is needed",
            )
    notes, top = arrays["notes"].read(), arrays["top"].read()
    if _whole(top) < 0:
        raise refused("top", f"is {str(top)!r:.40}")
    names = columns["names"].rows(0, columns["names"].shape[0])
    if any(names.tolist()):
        check_names(file, names.tolist(), "names")
    return StoredScenes(
        vocabulary=vocabulary,
        names=names,
        top=int(top) or None,
        source=file,
        notes=tuple(map(str, notes.reshape(-1).tolist())),
        columns=columns,
        origin=options.origin or 0,
        order=np.arange(len(names)),
    )


def _whole(value: Array) -> int:
    """Return a single whole number, -1 for anything else."""
    return int(value) if value.shape == () and value.dtype.kind in "iu" else -1


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredScenes(SceneSource):
    """Scenes whose rows remain in the file until they are read.

    Parameters
    ----------
    vocabulary, names, top, source, notes
        As in :class:`~diaghoi.data.scenes.SceneSource`.
    columns : mapping of StoredArray
        The columns of the file, with checked shapes and kinds.
    origin : {0, 1}
        Whether boxes are zero-based or one-based.
    order : (N,) int array
        Index of each image in the file; -1 for an empty image that is not in the file.
    first_rows : dict of (images of the file + 1,) int array
        First row of each image in each table of the file, computed once and shared by all orders of
        the images.
    """

    columns: Mapping[str, StoredArray]
    origin: int
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
            If a table's rows are not in the order of the images, or refer to no image.
        """
        places = self._places.items()
        return {table: np.append(0, np.cumsum(stop - first)) for table, (first, stop) in places}

    @cached_property
    def _places(self) -> dict[str, tuple[IntArray, IntArray]]:
        """Return the first row and end row, (N,) each, of each image in each table of the file."""
        if not self.first_rows:
            rows: dict[str, IntArray] = {"image": np.arange(self.columns["names"].shape[0] + 1)}
            for table, owner in zip(_TABLES, ("image", *_TABLES), strict=False):
                rows[table] = self._first_rows(table, rows[owner], owner)
            self.first_rows.update(rows)
        # An empty image (-1) has no rows: from 0 to 0.
        return {
            table: (np.append(first[:-1], 0)[self.order], np.append(first[1:], 0)[self.order])
            for table, first in self.first_rows.items()
        }

    def between(self, first: int, stop: int) -> Scenes:
        """Read and check the images ``first`` to ``stop - 1``.

        Raises
        ------
        InputError
            If values are invalid.
        """
        runs, where, starts = {}, {}, {}
        for table, (start, end) in self._places.items():
            starts[table], ends = start[first:stop], end[first:stop]
            runs[table] = _runs(starts[table], ends)
            names = self.names[first:stop].tolist()
            where[table] = Rows(self.source, names, table, ends - starts[table])
        # The image of each row is already known, so box_image is not read.
        columns: dict[str, Any] = {
            name: column.runs(runs["image" if name in OF_IMAGES else name.split("_")[0]])
            for name, column in self.columns.items()
            if name not in ("names", "box_image")
        }
        in_file = where["image"].count > 0
        for name in columns.keys() & set(OF_IMAGES):
            rows = np.zeros((len(in_file), *columns[name].shape[1:]), columns[name].dtype)
            rows[in_file] = columns[name]
            columns[name] = rows
        # V-COCO has a row for every class of every pair, 16 million in the test set, so
        # ``triplet_pair`` and ``triplet_verb`` keep their compact types.
        lean = () if self.vocabulary.agents is None else ("triplet_pair", "triplet_verb")
        for name in columns.keys() - set(lean):
            kind = _WIDE[columns[name].dtype.kind]
            columns[name] = columns[name].astype(kind, copy=False)
        self._check(columns, where, starts["box"])
        # Convert row numbers of the file to row numbers of the returned scenes.
        box, pair = (
            _of_rows(starts[table] - where[table].start, where[owner].count)
            for table, owner in (("box", "pair"), ("pair", "triplet"))
        )
        objects, triplet_pair = columns["pair_object"], columns["triplet_pair"]
        columns["pair_human"] = columns["pair_human"] - box
        columns["pair_object"] = np.where(objects < 0, -1, objects - box)
        if pair.any():
            columns["triplet_pair"] = triplet_pair - pair.astype(triplet_pair.dtype)
        return Scenes(
            vocabulary=self.vocabulary,
            names=self.names[first:stop],
            box_image=where["box"].image.astype(np.int32 if lean else np.int64, copy=False),
            top=self.top,
            source=self.source,
            notes=self.notes,
            **columns,
        )

    def take(self, images: npt.ArrayLike) -> Scenes:
        """Return the scenes of the given images, in the given order."""
        chosen = np.asarray(images, dtype=np.int64)
        return self.arranged(chosen, self.names[chosen]).load()

    def with_names(self, names: StrArray) -> StoredScenes:
        """Rename the images; if there are more names than images, append empty images."""
        empty = np.full(max(len(names) - len(self), 0), -1)
        return replace(self, names=names, order=np.append(self.order, empty))

    def arranged(self, images: IntArray, names: StrArray) -> StoredScenes:
        """Reorder and rename all images; -1 gives an empty image."""
        return replace(self, names=names, order=np.append(self.order, -1)[images])

    def load(self) -> Scenes:
        """Return all images; they are kept in memory for the next call."""
        return self._loaded

    @cached_property
    def _loaded(self) -> Scenes:
        return self.between(0, len(self))

    def _first_rows(self, table: str, bounds: IntArray, owner: str) -> IntArray:
        """Return each image's first row in a table that refers to a table with these ``bounds``."""
        name = _TABLES[table]
        column = self.columns[name]
        total, last = column.shape[0], 0
        count = np.zeros(len(bounds) - 1, dtype=np.int64)
        rows = Rows(self.source, ["the whole file"], table, np.array([total]))
        for first in range(0, total, _ROWS):
            reference = column.rows(first, min(first + _ROWS, total)).astype(np.int64, copy=False)
            check_range(rows, reference, int(bounds[-1]), name, owner, first=first)
            # The rows of one block belong to few images, so the search is limited to the bounds of
            # these images.
            low, high = np.searchsorted(bounds, [reference.min(), reference.max()], side="right")
            image = low - 1 + np.searchsorted(bounds[low:high], reference, side="right")
            unordered = np.append(last, image[:-1]) > image
            _refuse(rows, unordered, name, "rows are not in the order of the images", first=first)
            count[low - 1 : high] += np.bincount(image - (low - 1), minlength=high - low + 1)
            last = int(image[-1])
        return np.append(0, np.cumsum(count))

    def _check(self, columns: dict[str, Any], where: dict[str, Rows], first: IntArray) -> None:
        """Check the values of some images, whose rows in the box table begin at ``first``."""
        words, (box, pair, triplet) = self.vocabulary, (where[table] for table in _TABLES)
        columns["box_xyxy"] = check_boxes(
            box, columns["box_xyxy"], "box_xyxy", origin=self.origin, least=-1.0
        )
        for name in OF_IMAGES:
            if name in columns:
                images, counts = where["image"], columns[name]
                wrong = ((counts < 0) | (counts > np.iinfo(np.int32).max)).any(axis=1)
                problem = f"holds numbers that are not counts; {_AGAIN}"
                _refuse(images, wrong[images.count > 0], name, problem)
        label, objects = columns["box_label"], columns["pair_object"]
        if words.any_object:
            label = np.where(label == -1, 0, label)
        check_range(box, label, len(words.objects), "box_label", "object")
        stop = self.columns["box_image"].shape[0] + 1
        check_range(pair, objects + 1, stop, "pair_object", "box (counted from 1)")
        low, high = np.repeat([first, first + box.count], pair.count, axis=1)
        apart = (objects >= 0) & ((objects < low) | (objects >= high))
        _refuse(pair, apart, "pair_object", "is a box of another image")
        check_range(triplet, columns["triplet_verb"], len(words.verbs), "triplet_verb", "verb")
        if "triplet_filled" in columns:
            sets, what = 1 << len(words.verbs), "set of classes"
            check_range(triplet, columns["triplet_filled"], sets, "triplet_filled", what)
        # NaN means that a box or pair has no score in the original file.
        for name in ("triplet_score", "triplet_action_score", "box_score", "pair_score"):
            table = where[name.split("_")[0]]
            if name in columns and table is triplet:
                check_scores(triplet, columns[name], name)
            elif name in columns:
                problem = "the score is infinite; give a finite number"
                _refuse(table, np.isinf(columns[name]), name, problem)


def _refuse(rows: Rows, bad: BoolArray, name: str, problem: str, *, first: int = 0) -> None:
    """Reject the table rows selected by a mask that begins at row ``first``."""
    if bad.any():
        raise rows.error(first + int(np.argmax(bad)), name, problem)


def _runs(start: IntArray, stop: IntArray) -> list[tuple[int, int]]:
    """Join consecutive file rows into runs: the first row of each, and the row after its last."""
    some = stop > start
    start, stop = start[some], stop[some]
    first = np.append(True, start[1:] != stop[:-1])[: len(start)]
    last = np.append(first[1:], True)[: len(start)]
    return list(zip(start[first].tolist(), stop[last].tolist(), strict=True))


def _of_rows(of_images: IntArray, count: IntArray) -> IntArray:
    """Return the value of each row's image, or one value if all are equal."""
    of_images = of_images[count > 0]
    if (of_images == of_images[:1]).all():
        return of_images[:1]
    return np.repeat(of_images, count[count > 0])


def write(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the package's own columnar ``.npz``, which loads in milliseconds.

    The file is written completely or not at all.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays_of(scenes))


def arrays_of(scenes: Scenes) -> dict[str, Array]:
    """Return the arrays of a scenes file by name; :func:`stored_scenes` reads them back."""
    columns = {name: getattr(scenes, name) for name in COLUMNS}
    return {
        "diaghoi_format": np.array(VERSION),
        "vocabulary": np.array(scenes.vocabulary.name),
        "fingerprint": np.array(scenes.vocabulary.fingerprint),
        "notes": np.array(scenes.notes, dtype=np.str_),
        "top": np.array(scenes.top or 0),
        **{name: _small(column) for name, column in columns.items() if column is not None},
    }


def _small(column: Array) -> Array:
    """Convert integers to the smallest type that holds them, and scores to float64."""
    if column.dtype.kind == "f":
        return column.astype(np.float64, copy=False)
    if column.dtype.kind in "iu" and len(column):
        for kind in (np.int16, np.int32):
            if np.iinfo(kind).min <= column.min() and column.max() <= np.iinfo(kind).max:
                return column.astype(kind)
    return column
