"""Diagnose a detector in a training loop, batch by batch, from arrays or tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diaghoi.data.groups import check_protocol
from diaghoi.data.protocol import Protocol
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.formats.hico_mat import ImageLabels
from diaghoi.formats.writer import Batches


class Accumulator:
    """Collect predictions and annotations batch by batch, and diagnose them all.

    Each batch is matched as it arrives. The result is exactly that of :func:`diaghoi.diagnose` on
    all images at once. The batches are kept, so the diagnosis can be saved and every figure drawn.

    Parameters
    ----------
    protocol : str or Protocol
        The evaluation protocol.
    dataset : str
        The data set, or the ``.toml`` file that describes it.
    label : str
        Name of the detector.
    objects : str, optional
        How the labels number objects: ``coco80``, ``coco91``, ``hico80``, ``coco80-1`` or
        ``coco91-0``; by default recognised from the first batch with pairs.
    top : int, optional
        Number of top-scoring triplets per image that count. By default all triplets, or the
        best 100 if scores are dense.
    image_labels : ImageLabels, optional
        HICO's image-level labels for Known Object. Without image-level labels, the box annotations
        are used.

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
        again = "give every image once, and call reset() before the next epoch"
        self._batches = Batches(dataset, objects=objects, top=top, again=again)
        data_set = self._batches.vocabulary
        self.protocol = protocol_named(data_set.protocol if protocol is None else protocol, top=top)
        check_protocol(self.protocol, data_set)
        self.label = label
        self._image_labels = image_labels
        self._parts: list[Diagnosis] = []
        self._annotated = False

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
            Names of the images; no image may occur twice.
        predictions : sequence of mapping
            One dict of arrays or tensors per image: ``boxes`` (B, 4) xyxy in pixels from zero,
            ``labels`` (B,), ``sub_ids`` and ``obj_ids`` (rows of ``boxes``). Give either triplet
            scores for every pair, ``verb_scores`` (P, verbs), optionally with ``action_scores``;
            or individual triplets, ``verbs`` (T,) and ``scores`` (T,), optionally with
            ``action_scores`` (T,).
        annotations : sequence of mapping
            One dict per image: ``boxes``, ``labels``, ``sub_ids``, ``obj_ids`` and ``verbs`` (T,).
            In V-COCO, also optionally ``ignored`` (B,), true for people without annotated actions.

        Notes
        -----
        In V-COCO the ``verbs`` are the 51 combinations of an action and a role in the order of the
        vocabulary, and ``verb_scores`` have 25, 26, 29 or 51 columns
        (:mod:`diaghoi.formats.dense`). An entry of ``obj_ids`` is -1 if there is no object, and an
        entry of ``labels`` is -1 if the category is unknown. Images are named by their COCO ids.

        Raises
        ------
        InputError
            If lengths differ, an image has already been added, or an array cannot be used. A batch
            with such an error is not added.
        """
        if not len(images) == len(predictions) == len(annotations):
            raise InputError(
                f"a batch needs one entry per image: {len(images)} images, {len(predictions)} "
                f"predictions, {len(annotations)} annotations"
            )
        if len(images) == 0:
            return
        names = self._batches.check_names(images)
        annotated = self._batches.read("annotations", names, annotations)
        part = diagnose_images(
            annotated,
            self._batches.read("predictions", names, predictions),
            self.protocol,
            label=self.label,
            image_labels=self._image_labels,
        )
        if self._parts and self._parts[0].pair_source != part.pair_source:
            raise InputError(
                "predictions of the batch: have "
                f"{'verb_scores' if part.pair_source == 'pairs' else 'single triplets'}, unlike "
                "earlier batches; give the predictions of all images in the same form"
            )
        self._parts.append(part)
        self._annotated |= len(annotated.triplet_verb) > 0
        self._batches.added(names)

    def compute(self) -> Diagnosis:
        """Diagnose all images so far.

        Raises
        ------
        InputError
            If no batch was added, or nothing is annotated.
        """
        if not self._parts:
            raise InputError("nothing to diagnose: add batches with update()")
        if not self._annotated:
            raise InputError(
                "no annotated triplets in any batch, so there is nothing to compare with"
            )
        return Diagnosis.sum(self._parts)

    def log_to(self, writer: Any, step: int | None = None, prefix: str = "diaghoi/") -> Diagnosis:
        """Diagnose all images so far, and log the main numbers to a tracker.

        Parameters
        ----------
        writer : object
            An object with ``add_scalar(name, value, step)``, like TensorBoard's ``SummaryWriter``,
            or with ``log(values, step=step)``, like a run of Weights & Biases.
        step : int, optional
            The epoch or step.
        prefix : str
            Prefix of each name.

        Returns
        -------
        Diagnosis
            The diagnosis, as returned by :meth:`compute`. The logged values are fractions:
            ``official/SETTING/SPLIT`` and ``map/SPLIT`` (mAP of the benchmark and of the protocol),
            ``delta_map/ORACLE``, ``pairs/recall`` and ``actions/map``. Undefined values are
            omitted.

        Raises
        ------
        InputError
            If the writer has neither ``add_scalar`` nor ``log``, or if :meth:`compute` raises an
            error.
        """
        if not (hasattr(writer, "add_scalar") or hasattr(writer, "log")):
            raise InputError(
                f"writer: a {type(writer).__name__} has neither add_scalar nor log; give a "
                "SummaryWriter of TensorBoard or a run of Weights & Biases"
            )
        diagnosis = self.compute()
        values = {f"{prefix}{name}": value for name, value in _scalars(diagnosis)}
        if hasattr(writer, "add_scalar"):
            for name, value in values.items():
                writer.add_scalar(name, value, step)
        else:
            writer.log(values, step=step)
        return diagnosis

    def reset(self) -> None:
        """Forget all images."""
        self._parts.clear()
        self._annotated = False
        self._batches.reset()


def _scalars(diagnosis: Diagnosis) -> Iterator[tuple[str, float]]:
    """Return the main numbers of a diagnosis by name, without undefined numbers."""
    oracles = {name: found["delta_map"]["full"] for name, found in diagnosis.oracles.items()}
    groups = {f"official/{setting}": found for setting, found in diagnosis.official.items()} | {
        "map": diagnosis.mean_ap,
        "delta_map": oracles,
        "pairs": {"recall": diagnosis.pairs["recall"]},
        "actions": {"map": diagnosis.actions["map"]},
    }
    for group, values in groups.items():
        for name, value in values.items():
            # `official` also contains the source of each setting, and the AP of each class.
            if isinstance(value, float):
                yield f"{group}/{name}", value
