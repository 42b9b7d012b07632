"""Batches of a training or evaluation loop: from arrays or tensors to scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import dense_arrays
from diaghoi.formats.base import Kind, Options
from diaghoi.formats.content import Content
from diaghoi.formats.datasets import vocabulary
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import TripletNumbers
from diaghoi.formats.v_coco.keys import image_number

# Arrays of single triplets are read as lists of them: column of the list, and array of the batch.
COLUMNS = {
    "subject_id": "sub_ids",
    "object_id": "obj_ids",
    "category_id": "verbs",
    "score": "scores",
    "action_score": "action_scores",
}
BOX_COLUMNS = {"bbox": "boxes", "category_id": "labels"}
LAYOUTS = {
    kind: ListLayout(
        name="filename",
        boxes="boxes",
        triplets="triplets",
        scored=kind == "predictions",
        objects="coco80",
        numbers=TripletNumbers("verb", 0),
        box_arrays=BOX_COLUMNS,
        triplet_arrays=COLUMNS,
    )
    for kind in ("annotations", "predictions")
}


class Batches:
    """Read the batches of one data set; no image may come twice.

    Parameters
    ----------
    dataset : str
        The data set, or the ``.toml`` file that describes it.
    objects : str, optional
        Object numbering of labels; found from the first batch with pairs when not given.
    top : int, optional
        Triplets kept per image of dense scores.
    again : str
        What to do about an image that came before, for the message.
    """

    def __init__(
        self, dataset: str, *, objects: str | None = None, top: int | None = None, again: str
    ) -> None:
        self.vocabulary = vocabulary(dataset)
        # A batch is small, and its values are documented: only a description may change them.
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
        self._names: set[str] = set()
        self._numbering: dict[Kind, str] = {}

    def check_names(self, images: Sequence[str]) -> list[str]:
        """Return the names of the images of a batch: in V-COCO, their numbers.

        Raises
        ------
        InputError
            Where one is not a name, or came in an earlier batch.
        """
        for name in images:
            if not isinstance(name, str):
                raise InputError(f"images of the batch: {name!r} is not a name; give strings")
        names = list(images)
        if "v-coco" in (self.vocabulary.name, self.vocabulary.of):
            names = [image_number(name) or name for name in names]
        again = [name for name in names if name in self._names]
        if again:
            raise InputError(
                f"images that came in an earlier batch: {some_of(again)}; {self._again}"
            )
        return names

    def added(self, names: Sequence[str]) -> None:
        """Remember the images of a batch that was used."""
        self._names.update(names)

    def reset(self) -> None:
        """Forget all images, and how objects are numbered."""
        self._names.clear()
        self._numbering.clear()

    def read(self, kind: Kind, names: Sequence[str], batch: Sequence[Mapping[str, Any]]) -> Scenes:
        """Turn one side of a batch into scenes.

        Parameters
        ----------
        kind : str
            ``annotations`` or ``predictions``.
        names : sequence of str
            As :meth:`check_names` returns them.
        batch : sequence of mapping
            One per image, as of :meth:`diaghoi.Accumulator.update`.

        Raises
        ------
        InputError
            For anything that cannot be used, naming image, key and value.
        """
        file = f"{kind} of the batch"
        rows = [_arrays(file, name, row) for name, row in zip(names, batch, strict=True)]
        dense = any("verb_scores" in row for row in rows)
        named = [
            (row if dense else _listed(file, kind, name, row)) | {"filename": name}
            for name, row in zip(names, rows, strict=True)
        ]
        options = self._options
        if options.objects is None:
            options = replace(options, objects=self._numbering.get(kind))
        content = Content(Path(file), "pickle", named)
        scenes = (
            dense_arrays.FORMAT.read(content, kind, options).load()
            if dense
            else read_listed(content, LAYOUTS[kind], options)
        )
        open_ = options.objects is None and options.vocabulary.conventions is None
        if open_ and len(scenes.pair_human) and scenes.numbering is not None:
            # Decided once: in a small batch all human boxes may happen to be called something else.
            self._numbering[kind] = scenes.numbering
        if kind == "annotations" and self.vocabulary.agents is not None:
            return _with_ignored(file, scenes, names, rows)
        return scenes


def _arrays(file: str, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what one image gives into arrays."""
    if not isinstance(row, Mapping):
        raise InputError(f"{file}: image '{name}': is a {type(row).__name__}; give a dict")
    arrays = {}
    for key, value in row.items():
        try:
            arrays[key] = _array(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"{file}: image '{name}': {key}: is not an array ({error})") from None
    return arrays


def _array(value: Any) -> Any:
    """Turn a tensor on any device into an array."""
    if not hasattr(value, "detach"):
        return np.asarray(value)
    tensor = value.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:  # NumPy has no bfloat16
        return tensor.float().numpy()


def _with_ignored(
    file: str, scenes: Scenes, names: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> Scenes:
    """Mark the people whose actions are not annotated, where the batch says who they are."""
    if not any("ignored" in row for row in rows):
        return scenes
    parts = []
    for name, row in zip(names, rows, strict=True):
        boxes = len(row["boxes"])
        ignored = row.get("ignored", np.zeros(boxes, dtype=bool))
        if ignored.shape != (boxes,) or (boxes and ignored.dtype.kind not in "biu"):
            raise InputError(
                f"{file}: image '{name}': ignored: has shape {ignored.shape} and type "
                f"{ignored.dtype}; give true or false for each of the {boxes} boxes"
            )
        parts.append(ignored.astype(bool))
    return replace(scenes, box_ignored=np.concatenate(parts))


def _listed(file: str, kind: Kind, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Bring arrays of triplets to the layout of the triplet lists."""
    left_out = {"score", "action_score"} if kind == "annotations" else set()
    if "action_scores" not in row:
        left_out.add("action_score")
    columns = {key: array for key, array in COLUMNS.items() if key not in left_out}
    missing = [key for key in ("boxes", "labels", *columns.values()) if key not in row]
    if missing:
        raise InputError(f"{file}: image '{name}': no {', '.join(missing)}")
    single = [key for key in ("boxes", "labels", *columns.values()) if row[key].ndim == 0]
    if single:
        raise InputError(f"{file}: image '{name}': {single[0]}: is a single value; give an array")
    lengths = {key: len(row[key]) for key in columns.values()}
    if len(set(lengths.values())) > 1 or len(row["boxes"]) != len(row["labels"]):
        lengths |= {key: len(row[key]) for key in ("boxes", "labels")}
        raise InputError(
            f"{file}: image '{name}': lengths do not fit: "
            + ", ".join(f"{key} {length}" for key, length in lengths.items())
        )
    boxes = [
        {"bbox": box, "category_id": label}
        for box, label in zip(row["boxes"].tolist(), row["labels"].tolist(), strict=True)
    ]
    values = zip(*(row[key].tolist() for key in columns.values()), strict=True)
    triplets = [dict(zip(columns, each, strict=True)) for each in values]
    layout = LAYOUTS[kind]
    return {layout.boxes: boxes, layout.triplets: triplets}
