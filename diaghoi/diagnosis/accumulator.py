"""Diagnosis in a training loop: batch by batch, from arrays or tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.protocol import Protocol
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes
from diaghoi.data.splits import check_protocol
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import dense_arrays
from diaghoi.formats.base import Kind, Options
from diaghoi.formats.columns.listed import ListLayout, read_listed
from diaghoi.formats.columns.triplet_numbers import TripletNumbers
from diaghoi.formats.containers.content import Content
from diaghoi.formats.datasets import vocabulary
from diaghoi.formats.hico_det.image_labels import ImageLabels

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


class Accumulator:
    """Collect predictions and annotations batch by batch, and diagnose them all.

    Each batch is matched when it comes; only ledgers are kept, not boxes. The outcome is exactly
    that of :func:`diaghoi.diagnose` on all images at once.

    Parameters
    ----------
    protocol : str or Protocol
        The choices.
    dataset : str
        The data set, or the ``.toml`` file that describes it.
    label : str
        Name of the detector.
    objects : str, optional
        Object numbering of labels: ``coco80``, ``coco91`` or ``hico80``; found from the first
        human boxes when not given.
    top : int, optional
        Triplets per image that count, best first. When not given, all count, and of dense
        scores the 100 best.
    image_labels : ImageLabels, optional
        Image-level labels of HICO for Known Object. Without them the box annotations decide.

    Examples
    --------
    >>> import numpy as np
    >>> boxes = np.array([[10.0, 10, 60, 120], [40, 60, 110, 130]])
    >>> person_rides_bicycle = dict(boxes=boxes, labels=[0, 1], sub_ids=[0], obj_ids=[1])
    >>> accumulator = Accumulator()
    >>> accumulator.update(
    ...     ["a.jpg"],
    ...     [person_rides_bicycle | dict(verbs=[76], scores=[0.9])],
    ...     [person_rides_bicycle | dict(verbs=[76])],
    ... )
    >>> accumulator.compute().mean_ap["full"]
    1.0
    """

    def __init__(
        self,
        protocol: str | Protocol | None = None,
        dataset: str = "hico-det",
        *,
        label: str = "",
        objects: str | None = None,
        top: int | None = None,
        image_labels: ImageLabels | None = None,
    ) -> None:
        data_set = vocabulary(dataset)
        if data_set.agents is not None:
            raise InputError(
                f"batches of {dataset} are not taken; diagnose its files, or add diagnoses of parts"
            )
        self.protocol = protocol_named(data_set.protocol if protocol is None else protocol, top=top)
        check_protocol(self.protocol, data_set)
        self.label = label
        self._image_labels = image_labels
        self._options = Options(vocabulary=data_set, objects=objects, top=top)
        self._parts: list[Diagnosis] = []
        self._names: set[str] = set()
        self._numbering: dict[Kind, str] = {}

    def update(
        self,
        images: Sequence[str],
        predictions: Sequence[Mapping[str, Any]],
        annotations: Sequence[Mapping[str, Any]],
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        images : sequence of str
            Names of the images; no image may come twice.
        predictions : sequence of mapping
            One per image, of arrays or tensors: ``boxes`` (B, 4) xyxy in pixels from zero,
            ``labels`` (B,), ``sub_ids`` and ``obj_ids`` (rows of ``boxes``), and either
            ``verb_scores`` (P, verbs), triplet scores of every pair (optionally with
            ``action_scores``), or for single triplets ``verbs`` (T,), ``scores`` (T,) and
            optionally ``action_scores`` (T,).
        annotations : sequence of mapping
            One per image: ``boxes``, ``labels``, ``sub_ids``, ``obj_ids`` and ``verbs`` (T,).

        Raises
        ------
        InputError
            Where lengths differ, an image came before, or arrays cannot be used. The batch is then
            not added.
        """
        if not len(images) == len(predictions) == len(annotations):
            raise InputError(
                f"a batch needs one entry per image: {len(images)} images, {len(predictions)} "
                f"predictions, {len(annotations)} annotations"
            )
        if len(images) == 0:
            return
        self._check_names(images)
        part = diagnose_images(
            self._scenes("annotations", images, annotations),
            self._scenes("predictions", images, predictions),
            self.protocol,
            label=self.label,
            image_labels=self._image_labels,
        )
        if self._parts and self._parts[0].pair_source != part.pair_source:
            raise InputError(
                "predictions of the batch: have "
                f"{'verb_scores' if part.pair_source == 'pairs' else 'single triplets'}, earlier "
                "batches did not; give all images in the same form"
            )
        self._parts.append(part)
        self._names.update(images)

    def compute(self) -> Diagnosis:
        """Diagnose all images so far.

        Raises
        ------
        InputError
            Where there are none, or none is annotated.
        """
        if not self._parts:
            raise InputError("there is nothing to diagnose: no batch was added with update()")
        if not any(part.counts["annotated_triplets"] for part in self._parts):
            raise InputError(
                "no annotated triplet in any batch, so there is nothing to evaluate against"
            )
        return Diagnosis.sum(self._parts)

    def reset(self) -> None:
        """Forget all images."""
        self._parts.clear()
        self._names.clear()
        self._numbering.clear()

    def _check_names(self, images: Sequence[str]) -> None:
        for name in images:
            if not isinstance(name, str):
                raise InputError(f"images of the batch: {name!r} is not a name; give strings")
        again = [name for name in images if name in self._names]
        if again:
            raise InputError(
                f"images that came in an earlier batch: {some_of(again)}; give every image once, "
                "and call reset() before the next epoch"
            )

    def _scenes(
        self, kind: Kind, images: Sequence[str], batch: Sequence[Mapping[str, Any]]
    ) -> Scenes:
        file = f"{kind} of the batch"
        rows = [_arrays(file, name, row) for name, row in zip(images, batch, strict=True)]
        dense = any("verb_scores" in row for row in rows)
        named = [
            (row if dense else _listed(file, kind, name, row)) | {"filename": name}
            for name, row in zip(images, rows, strict=True)
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
        if open_ and len(scenes.pair_human):
            # Decided once: in a small batch all human boxes may happen to be called something else.
            self._numbering[kind] = scenes.numbering or "coco80"
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
