"""Read annotations and predictions for a diagnosis; refuse what is a result, or means nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from diaghoi.data.differences import differences
from diaghoi.data.files import ordinary
from diaghoi.data.joining import alike
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.plausibility import check_plausible
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats import open_annotations, open_both, recognise
from diaghoi.formats.base import OwnDataError, Reading, UnclearDataSetError
from diaghoi.formats.datasets import vocabulary
from diaghoi.formats.reading import check_fit, check_reading
from diaghoi.formats.zipped import entries

if TYPE_CHECKING:
    from typing_extensions import Unpack

KEY = "diaghoi_diagnosis"
"""What a saved diagnosis holds the version of its layout by."""
VERSION = "diaghoi"
"""The key of the version in results."""
REPORT = frozenset({"oracles", "map", "errors"})
"""Keys of a report."""
SEMANTIC = frozenset({"soft_map", "mf1", "measure", "similarity", "class_set"})
"""Keys of a semantic evaluation."""
Given = SceneSource | str | os.PathLike[str]
"""Scenes, or the path of their file."""


class Inputs(NamedTuple):
    """What is diagnosed.

    Parameters
    ----------
    annotations, predictions : Scenes or another source of them
        Of one data set, their images named alike.
    notes : list of str
        What looks wrong with them, the gravest first.
    """

    annotations: SceneSource
    predictions: SceneSource
    notes: list[str]


def read_inputs(
    annotations: Given,
    predictions: Given,
    *,
    pairs: str | os.PathLike[str] | None = None,
    force: bool = False,
    **reading: Unpack[Reading],
) -> Inputs:
    """Read annotations and predictions of one data set, and check them as the commands do.

    Parameters
    ----------
    annotations, predictions : path or Scenes
        A path is read; two scenes are taken as they are. The data set of predictions is that of the
        annotations where nothing else shows it.
    pairs : path, optional
        The pair file of the detector.
    force : bool
        Whether to go on with predictions that would make all numbers meaningless, and with files
        that do not fit the data set that they were taken for.
    **reading
        How to read the files: :class:`diaghoi.formats.Reading`. ``instances`` and ``ids`` belong to
        the annotations, ``dataset`` to both files, all others to the predictions.

    Raises
    ------
    InputError
        Where a file cannot be read, fits no data set that is known, or means nothing.
    """
    check_reading(reading)
    files = {"annotations": annotations, "predictions": predictions, "pairs": pairs, **reading}
    read = {name for name, given in files.items() if isinstance(given, str | os.PathLike)}
    for name in ("annotations", "predictions", "pairs", "instances", "ids"):
        if name in read:
            _check_readable(files[name])
    owners = {"instances": {"annotations"}, "ids": {"annotations"}, "dataset": {*files}}
    for name in ("pairs", *reading):
        owner = owners.get(name, {"predictions"})
        if files[name] is not None and not owner & read & {"annotations", "predictions"}:
            raise InputError(f"--{name.replace('_', '-')}: is for files, but Scenes are given")
    if isinstance(annotations, SceneSource) and isinstance(predictions, SceneSource):
        return Inputs(annotations, predictions, [])
    try:
        truth, found, notes = _read(annotations, predictions, pairs, force, reading)
    except InputError as error:
        if reading.get("dataset") is None and not force:
            _name_own_data(error, annotations, predictions)
        raise
    found = alike(truth, found)
    if np.array_equal(truth.names, found.names):
        found = found.with_names(truth.names)  # keep the names in memory only once
    return Inputs(truth, found, [*check_plausible(truth, found, force=force), *notes])


def _read(
    annotations: Given, predictions: Given, pairs: Any, force: bool, reading: Reading
) -> Inputs:
    """Read what is not read yet; note how annotations in the file of predictions differ."""
    beside: Reading = {"instances": reading.get("instances"), "ids": reading.get("ids")}
    own = None
    if isinstance(predictions, SceneSource):
        found = predictions
    else:
        found, own = _predictions(annotations, predictions, pairs, reading)
    if isinstance(annotations, SceneSource):
        return Inputs(annotations, found, [])
    if own is not None and Path(annotations) == Path(predictions):  # type: ignore[arg-type]
        return Inputs(own, found, [])
    with _refusing_results(annotations, "the annotations"):
        truth = open_annotations(annotations, **beside | {"dataset": found.vocabulary})
        if reading.get("dataset") is None and not force:
            check_fit(truth)
    return Inputs(truth, found, [] if own is None else _differing(truth.load(), own.load()))


def _predictions(
    annotations: Given, path: str | os.PathLike[str], pairs: Any, reading: Reading
) -> tuple[SceneSource, SceneSource | None]:
    """Open predictions of the data set that is given, or that they or the annotations show."""
    given = reading.get("dataset")
    words = None if given is None else vocabulary(given)
    if isinstance(annotations, SceneSource):
        words = annotations.vocabulary if words is None else words
    elif words is not None and not words.known:
        words = replace(words, annotations=Path(annotations))
    reading = reading | {"dataset": words, "instances": None, "ids": None}
    with _refusing_results(path, "the predictions"):
        try:
            found = open_both(path, pairs=pairs, fitting=False, **reading)
        except UnclearDataSetError:
            if words is not None:
                raise
        else:
            # An empty file names no data set.
            if words is not None or len(found[0].names):
                return found
        assert not isinstance(annotations, SceneSource)
        reading = reading | {"dataset": recognise(annotations).dataset}
        return open_both(path, pairs=pairs, fitting=False, **reading)


def _check_readable(path: Any) -> None:
    """Refuse a file that cannot be read, before others are."""
    try:
        ordinary(path)
        if not os.access(path, os.R_OK):
            raise PermissionError(13, os.strerror(13))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None


def _name_own_data(error: InputError, annotations: Given, predictions: Given) -> None:
    """Blame the annotations for an error where they fit no data set that is known."""
    paths = [Path(each) for each in (predictions, annotations) if not isinstance(each, SceneSource)]
    try:
        if not isinstance(error, OwnDataError) and not isinstance(annotations, SceneSource):
            open_annotations(annotations)
    except OwnDataError as problem:
        error = problem
    except InputError:  # the first error comes first
        pass
    if isinstance(error, OwnDataError):
        raise OwnDataError(error.problem, list(dict.fromkeys(paths))) from None


def _differing(given: Scenes, own: Scenes) -> list[str]:
    """Note how the annotations given differ from those in the file of the predictions."""
    found = differences(given, own)
    if not any(found):
        return []
    return [
        f"annotations: those given are used, not those in {own.source}, which differ: only given "
        f"are {number_of('triplet', found.triplets)} and {number_of('image', found.images)}, only "
        f"in the file {number_of('triplet', found.other_triplets)} and "
        f"{number_of('image', found.other_images)}"
    ]


@contextmanager
def _refusing_results(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Say of a file that a block cannot read that it is a result, where it is one."""
    try:
        yield
    except InputError:
        refuse_result(path, what)
        raise


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a saved diagnosis, as far as its table of contents shows."""
    try:
        return any(entry.filename == f"{KEY}.npy" for entry in entries(Path(path)))
    except InputError:  # not even an archive
        return False


def is_semantic(result: Mapping[str, Any] | None) -> bool:
    """Whether a result is a semantic evaluation."""
    return result is not None and result.keys() >= SEMANTIC


def refuse_result(path: str | os.PathLike[str], what: str) -> None:
    """Say of a file that could not be read that it is a saved result, where it is one.

    Parameters
    ----------
    path : path
        The file.
    what : str
        What it should be, ``the predictions``.

    Raises
    ------
    InputError
        Where any command of diaghoi wrote it with ``--json``, or it is a saved diagnosis.
    """
    if not Path(path).is_file():
        return
    if is_saved(path):
        raise InputError(
            f"{path}: is a saved diagnosis; give {what} themselves, or look at saved diagnoses "
            "with 'diaghoi compare' and 'diaghoi figures'"
        ) from None
    value = read_object(path)
    if VERSION in value:
        written, more = "diaghoi, as --json writes them", ""
        if value.keys() >= REPORT:
            written = "'diaghoi report --json'"
            more = ", or look at saved results with 'diaghoi compare'"
        elif is_semantic(value):
            written = "'diaghoi semantic --json'"
            more = ", or look at saved results with 'diaghoi compare'"
        raise InputError(
            f"{path}: is a saved result of {written}; give {what} themselves{more}"
        ) from None


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read an object in JSON; an empty one of a file, or a folder, that holds something else.

    Raises
    ------
    InputError
        Where the file cannot be opened.
    """
    if Path(path).is_dir():
        return {}
    try:
        with ordinary(path).open("rb") as stream:
            if stream.read(64).lstrip()[:1] != b"{":
                return {}
            stream.seek(0)
            value = json.load(stream)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
