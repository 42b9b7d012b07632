"""Diagnose predictions against annotations: :func:`diagnose`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diaghoi.data.groups import check_protocol
from diaghoi.data.joining import join, under
from diaghoi.data.protocol import Protocol
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.benchmark import as_customary, benchmarks
from diaghoi.diagnosis.blocks import examine
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import read_inputs
from diaghoi.diagnosis.unscored import as_one_rank
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Reading
from diaghoi.formats.hico_mat import ImageLabels, read_image_labels

if TYPE_CHECKING:
    from typing_extensions import Unpack


def diagnose(
    annotations: SceneSource | str | os.PathLike[str],
    predictions: SceneSource | str | os.PathLike[str],
    protocol: str | Protocol | None = None,
    *,
    label: str = "",
    image_labels: ImageLabels | str | os.PathLike[str] | None = None,
    also: Sequence[Protocol] = (),
    progress: Callable[[int], Any] | None = None,
    pairs: str | os.PathLike[str] | None = None,
    force: bool = False,
    **reading: Unpack[Reading],
) -> Diagnosis:
    """Diagnose a detector: official mAP, errors, oracles, pairs, negatives and actions.

    Parameters
    ----------
    annotations, predictions : path or Scenes
        Files, which are read and checked as ``diaghoi report`` does; the data set is recognised
        from them. Or the scenes from :func:`diaghoi.read_annotations` and
        :func:`diaghoi.read_predictions`, or the sources from :func:`diaghoi.open_annotations` and
        :func:`diaghoi.open_predictions`, which are used unchanged. Images are joined by name.
    protocol : str or Protocol, optional
        The evaluation protocol; ``diaghoi.protocol(name, iou=...)`` changes some of its rules. The
        default depends on the data set: `hico-det-520` for HICO-DET, `v-coco-s1` for V-COCO,
        `swig-hoi` for SWIG-HOI. Any other data set names its default in its description.
    label : str
        Name of the detector in tables and figures; by default the name of its file.
    image_labels : ImageLabels or path, optional
        HICO's image-level labels for Known Object, or the path of HICO's ``anno.mat``. Without
        image-level labels, the box annotations are used.
    also : sequence of Protocol
        Further protocols for which to compute mAP: see :func:`diaghoi.diagnosis.rosetta.figures`.
    progress : callable, optional
        Called with the number of images processed since the last call.
    pairs : path, optional
        The pair file of the detector.
    force : bool
        Whether to continue if files are implausible, although the numbers may then be meaningless.
    **reading
        How to read the files, such as ``dataset="own.toml"``: :class:`diaghoi.formats.Reading`.

    Returns
    -------
    Diagnosis
        The diagnosis, with numbers as fractions; ``print`` shows them in percent.

    Raises
    ------
    InputError
        If a file cannot be read or is implausible, nothing is annotated, no image is shared,
        predictions have no scores, or annotations, predictions and protocol belong to different
        data sets.
    """
    if protocol is not None:
        protocol = protocol_named(protocol)
    for name, given in (("annotations", annotations), ("predictions", predictions)):
        if not isinstance(given, SceneSource | str | os.PathLike):
            raise InputError(
                f"{name}: expected the path of a file or Scenes, found {type(given).__name__}"
            )
    if isinstance(image_labels, str | os.PathLike):
        image_labels = read_image_labels(image_labels)
    if isinstance(predictions, str | os.PathLike):
        label = label or Path(predictions).stem
    annotations, predictions, notes = read_inputs(
        annotations, predictions, pairs=pairs, force=force, **reading
    )
    if isinstance(predictions, Scenes) and predictions.unboxed:
        raise InputError(
            f"{predictions.source or 'predictions'}: has no boxes; 'diaghoi semantic' evaluates "
            "it by class alone"
        )
    dataset, other = annotations.vocabulary.name, predictions.vocabulary.name
    if dataset != other:
        raise InputError(f"the annotations are of {dataset}, the predictions of {other}")
    if annotations.vocabulary.fingerprint != predictions.vocabulary.fingerprint:
        raise InputError(
            f"annotations and predictions were read with two descriptions of {dataset}; read both "
            "with the same description"
        )
    if protocol is None:
        protocol = protocol_named(annotations.vocabulary.protocol)
    if annotations.scored and not predictions.scored:
        raise InputError(
            "annotations and predictions are swapped: diagnose(annotations, predictions)"
        )
    check_choices(annotations, protocol)
    diagnosis = diagnose_images(
        annotations,
        predictions,
        protocol,
        label=label,
        image_labels=image_labels,
        also=also,
        progress=progress,
    )
    noted = tuple(dict.fromkeys((*notes, *diagnosis.reading_notes)))
    return replace(diagnosis, reading_notes=noted)


def check_choices(annotations: SceneSource, protocol: Protocol) -> None:
    """Reject a protocol for other data sets, and annotations without triplets.

    Raises
    ------
    InputError
        If the protocol is not for the data set, or nothing is annotated.
    """
    check_protocol(protocol, annotations.vocabulary)
    if not annotations.bounds["triplet"][-1]:
        raise InputError(
            f"{annotations.source or 'annotations'}: no annotated triplets, so there is nothing "
            "to compare with"
        )


def diagnose_images(
    annotations: SceneSource,
    predictions: SceneSource,
    protocol: Protocol,
    *,
    label: str = "",
    image_labels: ImageLabels | None = None,
    also: Sequence[Protocol] = (),
    progress: Callable[[int], Any] | None = None,
) -> Diagnosis:
    """Diagnose the given images of a data set, even if none of them is annotated.

    The parameters are as in :func:`diagnose`.
    """
    given = annotations, under(protocol, predictions)
    annotations, predictions, joined = join(*given)
    cuts = [top for top in (protocol.top, predictions.top) if top is not None]
    protocol = as_one_rank(replace(protocol, top=min(cuts, default=None)), predictions)
    wanted = [*benchmarks(predictions), *as_customary(also, predictions)]
    wanted = [as_one_rank(each, predictions) for each in wanted]
    evidence = examine(annotations, predictions, protocol, wanted, progress)
    return Diagnosis(
        vocabulary=annotations.vocabulary,
        protocol=protocol,
        label=label,
        names=annotations.names,
        annotated=joined.annotated,
        predicted=joined.predicted,
        benchmark=evidence.benchmark,
        ledger=evidence.ledger,
        ignored=evidence.ignored,
        known_objects=evidence.objects
        if image_labels is None
        else image_labels.objects(annotations),
        known_object_source="box annotations" if image_labels is None else "image labels",
        image_pairs=evidence.pairs,
        object_boxes=evidence.object_boxes,
        pair_source="pairs" if predictions.lists_pairs else "triplets",
        negative_pairs=evidence.negatives,
        unknown_annotated=evidence.unknown_annotated,
        unknown_predicted=evidence.unknown_predicted,
        other_subjects=evidence.other_subjects,
        answers=evidence.answers,
        reading_notes=tuple(dict.fromkeys(annotations.notes + predictions.notes)),
        scenes=(given,),
    )
