"""Predictions from inside an evaluation loop, streamed to the package's own file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats import columnar, parts
from diaghoi.formats.batches import Batches
from diaghoi.formats.content import parts_in

# Columns that a batch may lack, their tables, and what gives them in a batch.
_OPTIONAL = {
    "box_score": ("box", "scores of boxes"),
    "pair_score": ("pair", "verb_scores"),
    "triplet_action_score": ("triplet", "action_scores"),
}


class PredictionWriter:
    """Write predictions batch by batch to one file, from inside an evaluation loop.

    What is flushed survives the process: until the end it is in the folder ``<path>.parts``, in
    files that are complete in themselves, and ``diaghoi report <path>.parts`` or
    :func:`diaghoi.read_predictions` read it if the process was killed. At the end of the ``with``
    block, or with :meth:`close`, the parts become one file, and the folder goes. If the block ends
    with an error, the parts stay and the file is not written. At most ``every`` images, or a batch,
    are kept in memory.

    Parameters
    ----------
    path : path
        The ``.npz`` file; it appears complete or not at all.
    dataset : str
        The data set, or the ``.toml`` file that describes it.
    objects : str, optional
        Object numbering of labels: ``coco80``, ``coco91``, ``hico80``, ``coco80-1`` or
        ``coco91-0``; found from the first batch with pairs when not given.
    top : int, optional
        Triplets kept per image of dense scores; in HICO-DET at least 100, the default.
    every : int
        Flush after this many images.

    Raises
    ------
    InputError
        If the folder cannot be made, or holds the parts of a run that did not end.

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
        self._make_folder()

    def update(self, images: Sequence[str], predictions: Sequence[Mapping[str, Any]]) -> None:
        """Add a batch.

        Parameters
        ----------
        images : sequence of str
            Names of the images; no image may come twice.
        predictions : sequence of mapping
            One per image, as of :meth:`diaghoi.Accumulator.update`.

        Raises
        ------
        InputError
            Where lengths differ, an image came before, or arrays cannot be used: the batch is then
            not added. Also where a part cannot be written.
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
        """Write the images that are still in memory; they then survive the process.

        Raises
        ------
        InputError
            If they cannot be written.
        """
        self._check_open()
        if self._waiting:
            name = parts.part_name(self._written + 1)
            columnar.write(self.parts / name, parts.joined(self._waiting))
            self._waiting.clear()
            self._written += 1

    def close(self) -> None:
        """Write the file and remove the parts; nothing happens if it is closed already.

        Raises
        ------
        InputError
            If no batch was added, or the file cannot be written; the parts then stay.
        """
        if not self._open:
            return
        self.flush()
        if not self._written:
            self._open = False
            parts.remove(self.parts)
            raise InputError(f"{self.path}: not written: no batch was added with update()")
        parts.join(self.parts, self.path)
        self._open = False
        parts.remove(self.parts)

    def __enter__(self) -> PredictionWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        elif self._open:
            # A file with some of the images must not look like that of a complete run.
            self.flush()
            self._open = False

    def _check_open(self) -> None:
        if not self._open:
            raise InputError(f"{self.path}: the writer is closed; make a new one")

    def _columns(self, scenes: Scenes) -> dict[str, bool]:
        """Return which columns a batch has, where it has rows; all batches need the same."""
        found = {}
        for name, (table, given) in _OPTIONAL.items():
            if scenes.bounds[table][-1] == 0:
                continue
            found[name] = getattr(scenes, name) is not None
            if self._has.get(name, found[name]) != found[name]:
                have = ("no ", "did") if self._has[name] else ("", "did not")
                raise InputError(
                    f"predictions of the batch: have {have[0]}{given}, earlier batches {have[1]}; "
                    "give all images in the same form"
                )
        return found

    def _make_folder(self) -> None:
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
                f"{self.parts}: cannot be made: {reason}; give another path"
            ) from error
        if left:
            raise InputError(
                f"{self.parts}: holds {left} parts of a run that did not end; move the folder away "
                "to keep them (it is read like a file), or remove it"
            )
