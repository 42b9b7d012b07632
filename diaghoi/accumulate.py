"""Diagnosis in a training loop: batch by batch, from arrays or tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.diagnosis import Diagnosis, diagnose_images
from diaghoi.exceptions import InputError
from diaghoi.formats import dense_arrays, triplet_lists
from diaghoi.formats.base import Kind, Options
from diaghoi.formats.content import Content
from diaghoi.protocol import Protocol
from diaghoi.protocol import protocol as protocol_named
from diaghoi.scenes import Scenes
from diaghoi.vocabulary import vocabulary


class Accumulator:
    """Collect predictions and annotations batch by batch, and diagnose them all.

    Each batch is matched when it comes; only ledgers are kept, not boxes. The outcome is exactly
    that of :func:`diaghoi.diagnose` on all images at once.

    Parameters
    ----------
    protocol : str or Protocol
        The choices.
    dataset : str
        The data set.
    label : str
        Name of the detector.
    objects : str, optional
        Object numbering of labels: ``coco80``, ``coco91`` or ``hico80``; found from the human boxes
        when not given.
    top : int, optional
        Triplets an image taken from dense scores; 100 when not given.

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
        protocol: str | Protocol = "hico-det-520",
        dataset: str = "hico-det",
        *,
        label: str = "",
        objects: str | None = None,
        top: int | None = None,
    ) -> None:
        self.protocol = protocol_named(protocol)
        self.label = label
        self._options = Options(vocabulary=vocabulary(dataset), objects=objects, top=top)
        self._parts: list[Diagnosis] = []

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
            One an image, of arrays or tensors: ``boxes`` (B, 4) xyxy in pixels from zero,
            ``labels`` (B,), ``sub_ids`` and ``obj_ids`` (rows of ``boxes``), and either
            ``verb_scores`` (P, verbs), triplet scores of every pair (optionally with
            ``action_scores``), or for single triplets ``verbs`` (T,), ``scores`` (T,) and
            optionally ``action_scores`` (T,).
        annotations : sequence of mapping
            One an image: ``boxes``, ``labels``, ``sub_ids``, ``obj_ids`` and ``verbs`` (T,).

        Raises
        ------
        InputError
            Where lengths differ, or arrays cannot be used.
        """
        if not len(images) == len(predictions) == len(annotations):
            raise InputError(
                f"a batch needs one entry an image: {len(images)} images, {len(predictions)} "
                f"predictions, {len(annotations)} annotations"
            )
        if len(images) == 0:
            return
        self._parts.append(
            diagnose_images(
                self._scenes("annotations", images, annotations),
                self._scenes("predictions", images, predictions),
                self.protocol,
                label=self.label,
            )
        )

    def compute(self) -> Diagnosis:
        """Diagnose all images so far.

        Raises
        ------
        InputError
            Where there are none, or an image came twice.
        """
        return Diagnosis.sum(self._parts)

    def reset(self) -> None:
        """Forget all images."""
        self._parts.clear()

    def _scenes(
        self, kind: Kind, images: Sequence[str], batch: Sequence[Mapping[str, Any]]
    ) -> Scenes:
        rows = [{key: _array(value) for key, value in row.items()} for row in batch]
        dense = any("verb_scores" in row for row in rows)
        reader = dense_arrays.FORMAT if dense else triplet_lists.FORMAT
        named = [
            {"filename": name} | (row if dense else _listed(kind, name, row))
            for name, row in zip(images, rows, strict=True)
        ]
        content = Content(Path(f"{kind} of the batch"), "pickle", named)
        return reader.read(content, kind, self._options)


def _array(value: Any) -> Any:
    """Turn a tensor on any device into an array."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _listed(kind: Kind, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Bring arrays of triplets to the layout of the triplet lists."""
    columns = {"subject_id": "sub_ids", "object_id": "obj_ids", "category_id": "verbs"}
    if kind == "predictions":
        columns |= {"score": "scores"}
        if "action_scores" in row:
            columns |= {"action_score": "action_scores"}
    missing = [key for key in ("boxes", "labels", *columns.values()) if key not in row]
    if missing:
        raise InputError(f"{kind} of the batch: image '{name}': no {', '.join(missing)}")
    lengths = {key: len(row[key]) for key in columns.values()}
    if len(set(lengths.values())) > 1 or len(row["boxes"]) != len(row["labels"]):
        lengths |= {key: len(row[key]) for key in ("boxes", "labels")}
        raise InputError(
            f"{kind} of the batch: image '{name}': lengths do not fit: "
            + ", ".join(f"{key} {length}" for key, length in lengths.items())
        )
    boxes = [
        {"bbox": box, "category_id": label}
        for box, label in zip(row["boxes"].tolist(), row["labels"].tolist(), strict=True)
    ]
    values = zip(*(row[key].tolist() for key in columns.values()), strict=True)
    triplets = [dict(zip(columns, each, strict=True)) for each in values]
    if kind == "annotations":
        return {"annotations": boxes, "hoi_annotation": triplets}
    return {"predictions": boxes, "hoi_prediction": triplets}
