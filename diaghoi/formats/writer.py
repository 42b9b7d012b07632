"""Read the batches from a training or evaluation loop, and stream them to a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from diaghoi.data.scenes import COLUMNS, Scenes
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Kind, Options
from diaghoi.formats.checks import check_lengths
from diaghoi.formats.content import Content, parts_in
from diaghoi.formats.dense import DenseArrays
from diaghoi.formats.description import vocabulary
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.output import replacing
from diaghoi.formats.own import in_order, joined, part_name, write
from diaghoi.formats.v_coco import image_number
from diaghoi.formats.zipped import members

# Arrays of boxes and triplets in a batch are read like the lists in a file. Keys are columns of
# these lists, and values are the arrays that fill the columns.
_BOXES = {"bbox": "boxes", "category_id": "labels"}
_ANNOTATED = {"subject_id": "sub_ids", "object_id": "obj_ids", "category_id": "verbs"}
_TRIPLETS = _ANNOTATED | {"score": "scores", "action_score": "action_scores"}
# Columns that contain image or row numbers, each with a column of the table to which the numbers
# refer.
_REFERENCES = {
    "box_image": "names",
    "pair_human": "box_image",
    "pair_object": "box_image",
    "triplet_pair": "pair_human",
}
# Columns that a batch may lack, with their tables and batch keys.
_OPTIONAL = {
    "box_score": ("box", "scores of boxes"),
    "pair_score": ("pair", "verb_scores"),
    "triplet_action_score": ("triplet", "action_scores"),
}


class Batches:
    """Read the batches of a data set; no image may appear twice.

    Parameters
    ----------
    dataset : str
        The data set, or the ``.toml`` file that describes it.
    objects : str, optional
        Object numbering of labels; by default inferred from the first batch with pairs.
    top : int, optional
        Triplets kept per image when reading dense scores.
    again : str
        Advice in the message about a repeated image.
    """

    def __init__(
        self, dataset: str, *, objects: str | None = None, top: int | None = None, again: str
    ) -> None:
        self.vocabulary = vocabulary(dataset)
        # Batches are too small to infer conventions from. The documented conventions apply unless
        # the description of the data set changes them.
        described = self.vocabulary.conventions is not None
        self._options = Options(
            vocabulary=self.vocabulary,
            objects=self.vocabulary.name if described and objects is None else objects,
            verbs=None if described else 0,
            stated=described,
            boxes=None if described else "xyxy",
            top=top,
        )
        self._again = again
        self.reset()

    def reset(self) -> None:
        """Forget all images and the object numbering."""
        self._names: set[str] = set()
        self._numbering: dict[Kind, str | None] = {}

    def check_names(self, images: Sequence[str]) -> list[str]:
        """Return the image names of a batch; V-COCO images are named by number.

        Raises
        ------
        InputError
            If a value is not a name, or an image has already been in an earlier batch.
        """
        names = list(images)
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"images of the batch: {name!r} is not a name; give strings")
        if "v-coco" in (self.vocabulary.name, self.vocabulary.of):
            names = [image_number(name) or name for name in names]
        again = [name for name in names if name in self._names]
        if again:
            raise InputError(
                f"images that came in an earlier batch: {some_of(again)}; {self._again}"
            )
        return names

    def added(self, names: Sequence[str]) -> None:
        """Remember the images of an accepted batch."""
        self._names.update(names)

    def read(self, kind: Kind, names: Sequence[str], batch: Sequence[Mapping[str, Any]]) -> Scenes:
        """Convert the annotations or predictions of a batch to scenes.

        ``names`` come from :meth:`check_names`, and ``batch`` is as in
        :meth:`diaghoi.Accumulator.update`. An ``InputError`` names image, key and value.
        """
        file = f"{kind} of the batch"
        where = [f"{file}: image '{name}'" for name in names]
        rows = list(map(_arrays, where, batch))
        dense = any("verb_scores" in row for row in rows)
        listed = (
            rows if dense else [_lists(*image, kind) for image in zip(where, rows, strict=True)]
        )
        named = [row | {"filename": name} for row, name in zip(listed, names, strict=True)]
        content = Content(Path(file), "pickle", named)
        options = self._options
        if options.objects is None:
            options = replace(options, objects=self._numbering.get(kind))
        if dense:
            scenes = DenseArrays().read(content, kind, options).load()
        else:
            layout = ListLayout(
                name="filename",
                boxes="boxes",
                triplets="triplets",
                scored=kind == "predictions",
                box_arrays=_BOXES,
                triplet_arrays=_TRIPLETS,
            )
            scenes = read_listed(content, layout, options)
        if options.objects is None and len(scenes.pair_human):
            # Decide only once: in a small batch, all human boxes may happen to have another label.
            self._numbering[kind] = scenes.numbering
        people = kind == "annotations" and self.vocabulary.agents is not None
        if people and any("ignored" in row for row in rows):
            ignored = np.concatenate(list(map(_ignored, where, rows)))
            return replace(scenes, box_ignored=ignored)
        return scenes


def _arrays(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of one image, such as tensors on any device, to arrays."""
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: is a {type(row).__name__}; give a dict")
    arrays = {}
    for key, value in row.items():
        try:
            if hasattr(value, "detach"):
                tensor = value.detach().cpu()
                try:
                    value = tensor.numpy()
                except TypeError:  # NumPy has no bfloat16
                    value = tensor.float().numpy()
            arrays[key] = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where}: {key}: is not an array ({error})") from None
    return arrays


def _lists(where: str, row: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Convert arrays of triplets to the layout of triplet lists."""
    columns = dict(_ANNOTATED if kind == "annotations" else _TRIPLETS)
    if "action_scores" not in row:
        columns.pop("action_score", None)
    tables = {"boxes": _BOXES, "triplets": columns}
    missing = [key for keys in tables.values() for key in keys.values() if key not in row]
    if missing:
        raise InputError(f"{where}: no {', '.join(missing)}")
    lists = {}
    for table, keys in tables.items():
        arrays = {key: row[key] for key in keys.values()}
        for key, array in arrays.items():
            if array.ndim == 0:
                raise InputError(f"{where}: {key}: is a single value; give an array")
        check_lengths(where, arrays, "box" if table == "boxes" else "triplet")
        values = zip(*(array.tolist() for array in arrays.values()), strict=True)
        lists[table] = [dict(zip(keys, row, strict=True)) for row in values]
    return lists


def _ignored(where: str, row: Mapping[str, Any]) -> Any:
    """Return which boxes the image marks as ignored, because they are people without actions."""
    boxes = len(row["boxes"])
    ignored = row.get("ignored", np.zeros(boxes, dtype=bool))
    if ignored.shape != (boxes,) or (boxes and ignored.dtype.kind not in "biu"):
        raise InputError(
            f"{where}: ignored: has shape {ignored.shape} and type {ignored.dtype}; give true or "
            f"false for each of the {boxes} boxes"
        )
    return ignored.astype(bool)


class PredictionWriter:
    """Write predictions to a file batch by batch, from within an evaluation loop.

    Flushed batches survive if the process is killed: until the end, they are kept as complete files
    in the folder ``<path>.parts``. If the process was killed, ``diaghoi report <path>.parts`` or
    :func:`diaghoi.read_predictions` reads the flushed batches. At the end of the ``with`` block, or
    with :meth:`close`, the parts are joined into one file, and the folder is removed. If the block
    ends with an error, the parts are kept and the file is not written. Memory holds fewer than
    ``every`` images besides the current batch.

    Parameters
    ----------
    path : path
        The ``.npz`` file, which is written completely or not at all.
    dataset : str
        The data set, or the ``.toml`` file that describes it.
    objects : str, optional
        Object numbering of labels: ``coco80``, ``coco91``, ``hico80``, ``coco80-1`` or
        ``coco91-0``; by default inferred from the first batch with pairs.
    top : int, optional
        Triplets kept per image when reading dense scores; in HICO-DET at least 100, the default.
    every : int
        Number of images after which to flush.

    Raises
    ------
    InputError
        If the folder cannot be created, or contains the parts of an unfinished run.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import diaghoi
    >>> boxes = np.array([[10.0, 10, 60, 120], [40, 60, 110, 130]])
    >>> rides = dict(boxes=boxes, labels=[0, 1], sub_ids=[0], obj_ids=[1], verbs=[76], scores=[0.9])
    >>> folder = tempfile.TemporaryDirectory()
    >>> with PredictionWriter(f"{folder.name}/preds.npz") as writer:
    ...     writer.update(["a.jpg"], [rides])
    >>> diaghoi.read_predictions(f"{folder.name}/preds.npz")
    <Scenes of hico-det: 1 images, 2 boxes, 1 pairs, 1 triplets>
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: str = "hico-det",
        *,
        objects: str | None = None,
        top: int | None = None,
        every: int = 100,
    ) -> None:
        if every < 1:
            raise InputError(f"every: {every}: give at least 1 image")
        self.path = Path(path)
        self.parts = self.path.with_name(f"{self.path.name}.parts")
        self._every = every
        self._batches = Batches(
            dataset, objects=objects, top=top, again="give every image to one update()"
        )
        self._has: dict[str, bool] = {}
        self._waiting: list[Scenes] = []
        self._written = 0
        self._open = True
        if self.path.is_dir():
            raise InputError(
                f"{self.path}: cannot be written: it is a folder; give the name of a file"
            )
        try:
            self.parts.mkdir(exist_ok=True)
            left = len(parts_in(self.parts))
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"{self.parts}: cannot be created: {reason}; give another path"
            ) from error
        if left:
            raise InputError(
                f"{self.parts}: holds {left} parts of an unfinished run; remove the folder, or "
                "move it elsewhere to keep the parts (the folder can be read like a file)"
            )

    def update(self, images: Sequence[str], predictions: Sequence[Mapping[str, Any]]) -> None:
        """Add a batch.

        Parameters
        ----------
        images : sequence of str
            Image names; no image may appear twice.
        predictions : sequence of mapping
            One dict per image, as in :meth:`diaghoi.Accumulator.update`.

        Raises
        ------
        InputError
            If the numbers of images and predictions differ, an image is repeated, or an array
            cannot be used; the batch is then not added. The error is also raised if a part cannot
            be written.
        """
        self._check_open()
        if len(images) != len(predictions):
            raise InputError(
                f"a batch needs one entry per image: {len(images)} images, {len(predictions)} "
                "predictions"
            )
        if len(images) == 0:
            return
        names = self._batches.check_names(images)
        scenes = self._batches.read("predictions", names, predictions)
        self._has |= self._columns(scenes)
        self._waiting.append(scenes)
        self._batches.added(names)
        if sum(map(len, self._waiting)) >= self._every:
            self.flush()

    def flush(self) -> None:
        """Write the images still in memory, so that they survive if the process is killed.

        Raises
        ------
        InputError
            If the images cannot be written.
        """
        self._check_open()
        if self._waiting:
            write(self.parts / part_name(self._written + 1), joined(self._waiting))
            self._waiting.clear()
            self._written += 1

    def close(self) -> None:
        """Write the file and remove the parts; do nothing if the writer is closed.

        Raises
        ------
        InputError
            If no batch was added, or the file cannot be written; the parts are then kept.
        """
        if not self._open:
            return
        self.flush()
        if self._written:
            _join(self.parts, self.path)
        self._open = False
        # The first part is removed first: without it, the rest cannot be mistaken for a complete
        # run.
        for _, part in sorted(parts_in(self.parts).items()):
            part.unlink(missing_ok=True)
        with suppress(OSError):  # the folder is kept if it holds anything else
            self.parts.rmdir()
        if not self._written:
            raise InputError(f"{self.path}: not written: no batch was added with update()")

    def __enter__(self) -> PredictionWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        if kind is None:
            self.close()
        elif self._open:
            # A file with only some of the images must not look like the result of a complete run.
            self.flush()
            self._open = False

    def _check_open(self) -> None:
        if not self._open:
            raise InputError(f"{self.path}: the writer is closed; create a new one")

    def _columns(self, scenes: Scenes) -> dict[str, bool]:
        """Return which optional columns a batch has; all batches need the same columns."""
        has = {}
        for name, (table, what) in _OPTIONAL.items():
            if scenes.bounds[table][-1]:
                has[name] = scenes.has(name)
                if has[name] != self._has.get(name, has[name]):
                    now, before = ("", "did not") if has[name] else ("no ", "did")
                    raise InputError(
                        f"predictions of the batch: have {now}{what}, but earlier batches "
                        f"{before}; give all images in the same form"
                    )
        return has


def _join(folder: Path, path: Path) -> None:
    """Join the parts in a folder into one file, with one part of one column in memory at once."""
    parts = [members(part) for part in in_order(folder)]
    notes = dict.fromkeys(note for part in parts for note in part["notes"].read().tolist())
    # The header comes from the first part; the columns are joined below.
    header = {name: parts[0][name].read() for name in parts[0] if name not in COLUMNS}
    header["notes"] = np.array(list(notes), dtype=np.str_)
    with replacing(path) as temporary, ZipFile(temporary, "w") as archive:
        for name, array in header.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        for name in COLUMNS:
            columns = [part[name].column() for part in parts if name in part]
            if not columns:
                continue
            kind, before = np.result_type(*[column.dtype for column in columns]), [0]
            if owner := _REFERENCES.get(name):
                # References are shifted by the number of rows before each part.
                before = [0, *accumulate(part[owner].rows() for part in parts)]
                kind = np.dtype(np.int32 if before[-1] <= np.iinfo(np.int32).max else np.int64)
            shape = (sum(column.shape[0] for column in columns), *columns[0].shape[1:])
            # Zip64 is needed, as in numpy.savez, because the size of an entry is not known in
            # advance.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_1_0(
                    entry, {"descr": kind.str, "fortran_order": False, "shape": shape}
                )
                for number, column in enumerate(columns):
                    rows = column.rows(0, column.shape[0])
                    if owner:
                        rows = np.where(rows < 0, -1, rows.astype(np.int64) + before[number])
                    entry.write(rows.astype(kind).tobytes())
