"""Store a diagnosis in a file as scenes and settings; loading repeats the diagnosis.

The file is an ``.npz`` without pickles. ``diaghoi_diagnosis`` contains the version of the layout;
``annotations.*`` and ``predictions.*`` contain the columns of the two sides as in
:mod:`diaghoi.formats.own`, with the same images in the same order; ``annotated`` and ``predicted``
are masks of the images that each side originally had. ``settings`` is a JSON text with the label,
the protocols, the notes and the source of Known Object. ``known_objects`` is stored only if it
comes from image labels.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import Array, BoolArray
from diaghoi.data.groups import check_protocol
from diaghoi.data.joining import join
from diaghoi.data.protocol import Group, Protocol
from diaghoi.data.protocol import protocol as checked_protocol
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import KEY
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Options
from diaghoi.formats.content import Content
from diaghoi.formats.content import load as load_content
from diaghoi.formats.description import vocabulary
from diaghoi.formats.output import replacing
from diaghoi.formats.own import arrays_of, joined, stored_scenes

VERSION = 1
LABELLED = "image labels"
_SIDES = ("annotations", "predictions")
_SETTINGS = {"label": str, "protocol": dict, "also": list, "known_object": str, "notes": list}


def save(diagnosis: Diagnosis, path: str | os.PathLike[str]) -> None:
    """Write a diagnosis to a file; see :meth:`diaghoi.Diagnosis.save`.

    Raises
    ------
    InputError
        If the diagnosis has no scenes, or the file cannot be written.
    """
    own = len(diagnosis.vocabulary.benchmarks)
    settings = {
        "label": diagnosis.label,
        "protocol": asdict(diagnosis.protocol),
        "also": [asdict(each) for each in diagnosis.benchmark.protocols[own:]],
        "known_object": diagnosis.known_object_source,
        "notes": list(diagnosis.reading_notes),
    }
    arrays: dict[str, Array] = {
        KEY: np.array(VERSION),
        "settings": np.array(json.dumps(settings)),
        "annotated": diagnosis.annotated,
        "predicted": diagnosis.predicted,
    }
    if diagnosis.known_object_source == LABELLED:
        arrays["known_objects"] = diagnosis.known_objects
    for side, scenes in zip(_SIDES, scenes_of(diagnosis), strict=True):
        arrays |= {f"{side}.{name}": array for name, array in arrays_of(scenes).items()}
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load(path: str | os.PathLike[str], dataset: str | Vocabulary | None = None) -> Diagnosis:
    """Read a diagnosis from a file; see :meth:`diaghoi.Diagnosis.load`.

    Raises
    ------
    InputError
        If the file was not written by :func:`save`, is damaged, or has an unknown data set.
    """
    content = load_content(path)
    if content.container != "npz" or KEY not in content.value:
        raise InputError(f"{path}: is not a saved diagnosis; give a file that Diagnosis.save wrote")
    found = content.value
    version = found[KEY].read()
    if version.shape != () or version.dtype.kind not in "iu" or int(version) != VERSION:
        raise InputError(
            f"{path}: {KEY}: is {str(version)!r:.40}, and this release reads {VERSION}; save the "
            "diagnosis again"
        )
    settings = _settings(content)
    words = _vocabulary(content, dataset)
    annotations, predictions = (_side(content, side, words) for side in _SIDES)
    protocol, *also = (
        _protocol(content, each, words) for each in (settings["protocol"], *settings["also"])
    )
    if annotations.names.tolist() != predictions.names.tolist() or not predictions.scored:
        raise _damaged(path, "names", "annotations and predictions do not match")
    diagnosis = diagnose_images(
        annotations, predictions, protocol, label=settings["label"], also=also
    )
    images, objects = len(annotations), len(words.objects)
    labelled = settings["known_object"] == LABELLED
    return replace(
        diagnosis,
        annotated=_mask(content, "annotated", (images,)),
        predicted=_mask(content, "predicted", (images,)),
        known_objects=_mask(content, "known_objects", (images, objects))
        if labelled
        else diagnosis.known_objects,
        known_object_source=LABELLED if labelled else diagnosis.known_object_source,
        reading_notes=tuple(map(str, settings["notes"])),
    )


def scenes_of(diagnosis: Diagnosis) -> tuple[Scenes, Scenes]:
    """Return the diagnosed scenes, with images in the order of the diagnosis.

    Returns
    -------
    annotations, predictions : Scenes
        The scenes of all parts of a sum, one after the other.

    Raises
    ------
    InputError
        If the diagnosis has no scenes.
    """
    if not diagnosis.scenes:
        raise InputError(
            "the diagnosis does not include its annotations and predictions; create it with "
            "diaghoi.diagnose or an Accumulator"
        )
    parts = [join(*scenes)[:2] for scenes in diagnosis.scenes]
    if len(parts) == 1:
        annotations, predictions = parts[0]
        return annotations.load(), predictions.load()
    # Batches without ignored people lack the column `box_ignored`; files without filled-in values
    # lack the column `triplet_filled`.
    annotated = _alike([part.load() for part, _ in parts], "box_ignored", bool)
    predicted = _alike([part.load() for _, part in parts], "triplet_filled", np.int64)
    return joined(annotated), joined(predicted)


def _alike(parts: list[Scenes], column: str, kind: npt.DTypeLike) -> list[Scenes]:
    """Add a column of zeros to scenes that lack the column, if any other scenes have it."""
    if all(getattr(part, column) is None for part in parts):
        return parts
    table = column.split("_")[0]
    empty: list[dict[str, Any]] = [
        {column: np.zeros(part.bounds[table][-1], dtype=kind)}
        if getattr(part, column) is None
        else {}
        for part in parts
    ]
    return [replace(part, **more) for part, more in zip(parts, empty, strict=True)]


def as_one(diagnosis: Diagnosis) -> Diagnosis:
    """Turn a sum into one diagnosis of all its scenes, so that ledger rows match the scenes."""
    if len(diagnosis.scenes) == 1:
        return diagnosis
    return diagnose_images(*scenes_of(diagnosis), diagnosis.protocol, label=diagnosis.label)


def _damaged(path: Any, key: str, problem: str) -> InputError:
    return InputError(f"{path}: {key}: {problem}; the file is damaged: save the diagnosis again")


def _member(content: Content, key: str) -> Array:
    if key not in content.value:
        raise _damaged(content.path, key, "is missing")
    array: Array = content.value[key].read()
    return array


def _settings(content: Content) -> dict[str, Any]:
    text = str(_member(content, "settings"))
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise _damaged(content.path, "settings", "is not a JSON object")
    for key, kind in _SETTINGS.items():
        if not isinstance(settings.get(key), kind):
            raise _damaged(content.path, f"settings.{key}", f"is {settings.get(key)!r:.60}")
    return settings


def _vocabulary(content: Content, given: str | Vocabulary | None) -> Vocabulary:
    if given is not None:
        return vocabulary(given)
    name = str(_member(content, "annotations.vocabulary"))
    if name not in VOCABULARIES:
        raise InputError(
            f"{content.path}: is for the data set {name!r:.40}, which is not known; give its "
            "description with --dataset FILE.toml"
        )
    return vocabulary(name)


def _side(content: Content, side: str, words: Vocabulary) -> Scenes:
    """Read annotations or predictions."""
    prefix = f"{side}."
    columns = {
        name.removeprefix(prefix): member
        for name, member in content.value.items()
        if name.startswith(prefix)
    }
    if "diaghoi_format" not in columns:
        raise _damaged(content.path, side, "are missing")
    stored = stored_scenes(replace(content, value=columns), Options(vocabulary=words))
    return stored.load()


def _mask(content: Content, key: str, shape: tuple[int, ...]) -> BoolArray:
    mask = _member(content, key)
    if mask.dtype != bool or mask.shape != shape:
        raise _damaged(
            content.path, key, f"has shape {mask.shape} and type {mask.dtype}, not {shape} of bool"
        )
    return mask


def _protocol(content: Content, given: Any, words: Vocabulary) -> Protocol:
    """Create a protocol from its saved choices."""
    known = {field.name for field in fields(Protocol)}
    if not isinstance(given, Mapping) or given.keys() != known:
        raise _damaged(content.path, "settings.protocol", "has other choices than this release")
    choices = dict(given)
    groups = choices.pop("groups")
    try:
        choices["groups"] = tuple(
            Group(str(name), tuple(map(int, classes))) for name, classes in groups
        )
    except (TypeError, ValueError):
        raise _damaged(content.path, "settings.protocol.groups", f"is {groups!r:.60}") from None
    if not all(0 <= hoi < len(words) for group in choices["groups"] for hoi in group.classes):
        raise _damaged(content.path, "settings.protocol.groups", "name classes that do not exist")
    try:
        protocol = checked_protocol(Protocol(**choices))
        check_protocol(protocol, words)
    except InputError as error:
        raise InputError(f"{content.path}: {error}") from None
    return protocol
