"""Read annotations and predictions to diagnose; reject saved results and meaningless inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from diaghoi.data.files import ordinary
from diaghoi.data.joining import alike, differences
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.plausibility import check_plausible
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats import open_annotations, open_both, recognise
from diaghoi.formats.base import OwnDataError, Reading, UnclearDataSetError
from diaghoi.formats.description import vocabulary
from diaghoi.formats.reading import check_fit, check_reading
from diaghoi.formats.zipped import entries

if TYPE_CHECKING:
    from typing_extensions import Unpack

KEY = "diaghoi_diagnosis"
"""Key of the layout version in a saved diagnosis."""
VERSION = "diaghoi"
"""Key of the package version in results."""
REPORT = frozenset({"oracles", "map", "errors"})
"""Keys of a report."""
SEMANTIC = frozenset({"soft_map", "mf1", "measure", "similarity", "class_set"})
"""Keys of a semantic evaluation."""
Given = SceneSource | str | os.PathLike[str]
"""Scenes, or the path of their file."""
Finder = Callable[[Vocabulary, bool], tuple[str | os.PathLike[str], list[str]]]
"""Function that finds the annotation file of a data set, with notes. The second argument says
whether the predictions contain annotations.
"""


class Inputs(NamedTuple):
    """Inputs of a diagnosis.

    Parameters
    ----------
    annotations, predictions : Scenes or another source of them
        Annotations and predictions of one data set whose images have the same names.
    notes : list of str
        Problems with the scenes, the most serious first.
    """

    annotations: SceneSource
    predictions: SceneSource
    notes: list[str]


def read_inputs(
    annotations: Given | None,
    predictions: Given,
    *,
    pairs: str | os.PathLike[str] | None = None,
    force: bool = False,
    find: Finder | None = None,
    **reading: Unpack[Reading],
) -> Inputs:
    """Read annotations and predictions of one data set, and check them as the commands do.

    Parameters
    ----------
    annotations, predictions : path or Scenes
        Paths to read, or scenes; if both are scenes, they are used unchanged. If nothing else shows
        the data set of the predictions, the data set of the annotations is assumed.
    pairs : path, optional
        The pair file of the detector.
    force : bool
        Whether to continue with predictions that would make all numbers meaningless, and with files
        that do not fit their presumed data set.
    find : callable, optional
        Finds the annotation file where ``annotations`` is a folder or None: ``data set, whether the
        predictions contain annotations -> path, notes``.
    **reading
        How to read the files: :class:`diaghoi.formats.Reading`. ``instances`` and ``ids`` belong to
        the annotations, ``dataset`` to both files, all others to the predictions.

    Raises
    ------
    InputError
        If a file cannot be read, fits no known data set, or is meaningless.
    """
    check_reading(reading)
    files = {"predictions": predictions, "annotations": annotations, "pairs": pairs, **reading}
    scenes = {name for name, given in files.items() if isinstance(given, SceneSource)}
    names = ("predictions", "annotations", "pairs", "instances", "ids")
    check_readable(files.get(name) for name in names if name not in scenes)
    owners = {"instances": {"annotations"}, "ids": {"annotations"}}
    owners |= {"dataset": {"annotations", "predictions"}}
    for name in ("pairs", *reading):
        if files[name] is not None and owners.get(name, {"predictions"}) <= scenes:
            raise InputError(f"--{name.replace('_', '-')}: is for files, but Scenes are given")
    if isinstance(annotations, SceneSource) and isinstance(predictions, SceneSource):
        return Inputs(annotations, predictions, [])
    own, notes = None, list[str]()
    with naming_own_data(predictions, annotations, force or reading.get("dataset")):
        if isinstance(predictions, SceneSource):
            found = predictions
        else:
            found, own = _predictions(annotations, predictions, pairs, force, reading)
        if find is not None:
            annotations, notes = find(found.vocabulary, own is not None)
        if isinstance(annotations, SceneSource):
            truth = annotations
        elif own is not None and Path(annotations) == Path(predictions):  # type: ignore[arg-type]
            truth = own
        else:
            truth = _annotations(annotations, found.vocabulary, force, reading)
            notes += [] if own is None else _differing(truth.load(), own.load())
        found = alike(truth, found)
        if np.array_equal(truth.names, found.names):
            found = found.with_names(truth.names)  # keep the names in memory only once
        return Inputs(truth, found, [*check_plausible(truth, found, force=force), *notes])


def _annotations(path: Any, words: Vocabulary, force: bool, reading: Reading) -> SceneSource:
    """Open annotations of the chosen data set, or of the data set that predictions indicate."""
    beside: Reading = {"instances": reading.get("instances"), "ids": reading.get("ids")}
    with _refusing_results(path, "the annotations"):
        truth = open_annotations(path, **beside | {"dataset": words})
        if reading.get("dataset") is None and not force:
            check_fit(truth)
    return truth


def _predictions(
    annotations: Given | None, path: Any, pairs: Any, force: bool, reading: Reading
) -> tuple[SceneSource, SceneSource | None]:
    """Open predictions of the chosen data set, or of the data set that the files indicate."""
    given = reading.get("dataset")
    words = None if given is None else vocabulary(given)
    if isinstance(annotations, SceneSource):
        words = annotations.vocabulary if words is None else words
    elif words is not None and not words.known and annotations is not None:
        words = replace(words, annotations=Path(annotations))
    fitting = annotations is None and not force
    shown = None  # the file that indicates the data set if the predictions do not
    if isinstance(annotations, str | os.PathLike) and words is None:
        shown = None if Path(annotations).is_dir() else annotations
    reading = reading | {"dataset": words, "instances": None, "ids": None}
    with _refusing_results(path, "the predictions"):
        try:
            found = open_both(path, pairs=pairs, fitting=fitting, **reading)
        except UnclearDataSetError:
            if shown is None:
                raise
        else:
            # An empty file does not indicate its data set.
            if shown is None or len(found[0].names):
                return found
        reading = reading | {"dataset": recognise(shown).dataset}
        return open_both(path, pairs=pairs, fitting=fitting, **reading)


def check_readable(files: Iterable[Any]) -> None:
    """Reject unreadable files before reading any file.

    Parameters
    ----------
    files : iterable of path or None
        Paths of the files; None is skipped.

    Raises
    ------
    InputError
        If a file does not exist, cannot be read, or is a pipe or a device.
    """
    for path in (given for given in files if given is not None):
        try:
            ordinary(path)
            if not os.access(path, os.R_OK):
                raise PermissionError(13, os.strerror(13))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}; check the path") from None


@contextmanager
def naming_own_data(predictions: Given, annotations: Given | None, known: object) -> Iterator[None]:
    """Attribute an error inside a ``with`` block to the annotations if they fit no data set.

    Parameters
    ----------
    predictions, annotations : path or Scenes
        The predictions and annotations that the block reads; None if the annotations are inside the
        prediction file.
    known : object
        A true value leaves errors unchanged, because the data set is given or the files need not
        fit a data set.

    Raises
    ------
    OwnDataError
        If the block fails and the annotations fit no known data set.
    """
    try:
        yield
    except InputError as error:
        if known:
            raise
        own = error if isinstance(error, OwnDataError) else None
        path = predictions if annotations is None else annotations
        try:
            if own is None and not isinstance(path, SceneSource) and Path(path).is_file():
                open_annotations(path)
        except OwnDataError as problem:
            own = problem
        except InputError:  # the error of the block takes precedence
            pass
        if own is None:
            raise
        paths = [Path(file) for file in (predictions, path) if not isinstance(file, SceneSource)]
        raise OwnDataError(own.problem, list(dict.fromkeys(paths))) from None


def _differing(given: Scenes, own: Scenes) -> list[str]:
    """Note how the chosen annotations differ from the annotations in the prediction file."""
    found = differences(given, own)
    if not any(found):
        return []
    return [
        f"annotations: the given file is used, not the annotations in {own.source}, which differ: "
        f"{number_of('triplet', found.triplets)} and {number_of('image', found.images)} are only "
        f"in the given file, {number_of('triplet', found.other_triplets)} and "
        f"{number_of('image', found.other_images)} only in the other annotations"
    ]


@contextmanager
def _refusing_results(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """If the ``with`` block cannot read a file that is a saved result, say so in the error."""
    try:
        yield
    except InputError:
        refuse_result(path, what)
        raise


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Check the table of contents of a file for a saved diagnosis."""
    try:
        return any(entry.filename == f"{KEY}.npy" for entry in entries(Path(path)))
    except InputError:  # the file is not even an archive
        return False


def is_semantic(result: Mapping[str, Any] | None) -> bool:
    """Check whether a result is a semantic evaluation."""
    return result is not None and result.keys() >= SEMANTIC


def refuse_result(path: str | os.PathLike[str], what: str) -> None:
    """Raise an error if an unreadable file is a saved result.

    Parameters
    ----------
    path : path
        The file.
    what : str
        Expected content of the file, such as ``the predictions``.

    Raises
    ------
    InputError
        If the file is a saved diagnosis, or a diaghoi command wrote it with ``--json``.
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
        written, more = "a diaghoi command with --json", ""
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
    """Read a JSON object from a file; return an empty dict for a folder or any other content.

    Raises
    ------
    InputError
        If the file cannot be opened.
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
