"""Find the annotations and image labels of a data set if the user does not provide them.

A file ``diaghoi.toml`` in the working directory, or in one of its parents, may name the files::

    [hico-det]
    annotations = "data/instances_test2015.json"  # a path relative to this file, or a folder
    image-labels = "data/anno.mat"
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats import recognise
from diaghoi.formats.hico_mat import ImageLabels, read_image_labels
from diaghoi.formats.toml import check_keys, read_toml, text_of

# Folders below the working directory where code bases of the field keep each data set. Names of the
# annotation files, each with the code bases that read the file; the first file that exists is used.
FOLDERS = {
    "hico-det": ("data/hicodet", "hicodet", "data/hico_20160224_det/annotations"),
    "v-coco": ("data/vcoco", "vcoco", "data/v-coco/data/vcoco", "v-coco/data/vcoco"),
    "swig-hoi": ("data/swig_hoi", "data/swig_hoi/annotations", "swig_hoi"),
    "hoi-a": ("data/hoia", "data/hoia/eval", "data/hoia/annotations", "hoia/annotations", "hoia"),
}
FILES = {
    "hico-det": {
        "instances_test2015.json": "UPT and SCG code bases",
        "anno_bbox.mat": "HICO-DET itself",
        "test_hico.json": "QPIC, CDN",
        "gt_wo_nointer.pkl": "CDN and the published diagnosis code",
    },
    "v-coco": {
        "vcoco_test.json": "the V-COCO repository, with its COCO instances file and .ids",
        "test_vcoco.json": "QPIC, CDN",
    },
    "v-coco-thesis": {"test_vcoco.json": "QPIC, CDN"},
    "swig-hoi": {"swig_test_1000.json": "SWIG-HOI itself"},
    "hoi-a": {"test_hoia.json": "PPDM, AS-Net and HoiTransformer code bases"},
}
FOLDERS |= {"v-coco-thesis": FOLDERS["v-coco"], "hoi-a-verbs": FOLDERS["hoi-a"]}
FILES |= {"hoi-a-verbs": FILES["hoi-a"]}
VARIABLE, TOML = "DIAGHOI_DATA", "diaghoi.toml"
ANNOTATIONS, LABELS = "annotations", "image-labels"
NAMES = {name: {ANNOTATIONS: tuple(FILES[name])} for name in VOCABULARIES}
NAMES["hico-det"][LABELS] = ("anno.mat",)  # only HICO-DET has image labels


class LocatedFile(NamedTuple):
    """An annotation file found in a folder.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    notes : list of str
        Notes for results on which file is used, and why.
    """

    path: Path
    notes: list[str]


def find_annotations(vocabulary: Vocabulary, given: Path | None = None) -> LocatedFile:
    """Find the annotation file of a data set, or use the file or folder that the user names.

    If a description defines the data set, the description names the file. The file of a known data
    set is searched for in ``DIAGHOI_DATA`` (a file or a folder), in ``diaghoi.toml``, and in the
    usual folders, in this order.

    Raises
    ------
    InputError
        If no file is found; the message lists the places searched and how to get the file. The
        error is also raised if ``diaghoi.toml`` is invalid, or names a file that does not exist.
    """
    dataset = vocabulary.name
    if given is not None:
        if not given.is_dir():
            return LocatedFile(given, [])
        if not vocabulary.known:
            raise InputError(f"{given}: is a folder; give the annotation file in it")
        file = _usual_file(given, FILES[dataset])
        return LocatedFile(file, [f"annotations: {file}"])
    if not vocabulary.known:
        if vocabulary.annotations is None:
            raise InputError(
                f"{dataset}: the description names no annotations; add 'annotations = \"FILE\"' "
                "to the description, or give --annotations FILE"
            )
        return LocatedFile(vocabulary.annotations, [f"annotations: {vocabulary.annotations}"])
    path, place, looked = _searched(dataset, ANNOTATIONS)
    if path is not None:
        passed = f", because there are none in {', '.join(looked)}" if looked else ""
        return LocatedFile(path, [f"annotations: {path}, from {place}{passed}"])
    files = " or ".join(f"{file} ({source})" for file, source in FILES[dataset].items())
    raise InputError(
        f"no {dataset} annotations found in {', '.join((*looked, *FOLDERS[dataset]))}; get {files} "
        f"and give it with --annotations FILE, or permanently in {TOML}, here or in a folder "
        f'above: the line [{dataset}], and below it the line {ANNOTATIONS} = "FILE"'
    )


def image_labels(
    given: Path | None, annotations: SceneSource, predictions: SceneSource
) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels that the user names, or else suitable labels that are found.

    Image labels are searched for in the same places as annotations. If the labels found do not
    cover all images, Known Object uses the box annotations, with a note.

    Parameters
    ----------
    given : pathlib.Path or None
        HICO's ``anno.mat``.
    annotations, predictions : Scenes or another source of them
        Scenes whose images need labels.

    Returns
    -------
    labels : ImageLabels or None
        None if no labels are found or if the labels found do not cover all images.
    notes : list of str
        Notes on which labels are used, or why no labels are used.

    Raises
    ------
    InputError
        If the file contains anything but image labels; the message names the content.
    """
    if given is not None:
        return _read_labels(given), []
    dataset = annotations.vocabulary.name
    if LABELS not in NAMES.get(dataset, ()):
        return None, []
    path, place, _ = _searched(dataset, LABELS)
    if path is None:
        return None, []
    try:
        labels = _read_labels(path)
    except InputError as error:
        raise InputError(
            f"{error}; the path comes from {place}: correct or remove it there"
        ) from None
    if all(np.isin(scenes.names, labels.names).all() for scenes in (annotations, predictions)):
        return labels, [f"image labels: {path}, from {place}"]
    return None, [
        f"{path}, from {place}, does not label all images: Known Object uses the box annotations"
    ]


def _searched(dataset: str, key: str) -> tuple[Path | None, str, list[str]]:
    """Return a file, where it was found, and the user's settings tried without success before."""
    looked: list[str] = []
    for place, value, paths in _places(dataset, key):
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            return path, place, looked
        if value:
            looked.append(f"{place} ({value})")
    return None, "", looked


def _places(dataset: str, key: str) -> Iterator[tuple[str, str | None, list[Path]]]:
    """Yield each place to search: name, the user's value, and the paths to try."""
    names, folders = NAMES[dataset][key], FOLDERS[dataset]
    variable = os.environ.get(VARIABLE)
    if variable:
        below = ("", *(folder.removeprefix("data/") for folder in folders))
        paths = [Path(variable, folder, name) for folder in below for name in names]
        yield VARIABLE, variable, [*([Path(variable)] if key == ANNOTATIONS else []), *paths]
    toml, file = _named_in_toml(dataset, key)
    if file is not None:
        yield str(toml), str(file), [file]
    yield "a customary folder", None, [Path(folder, name) for folder in folders for name in names]


def _usual_file(folder: Path, names: Iterable[str]) -> Path:
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        raise InputError(f"{folder}: a folder without {' or '.join(names)}; give the file itself")
    return file


def _named_in_toml(dataset: str, key: str) -> tuple[Path | None, Path | None]:
    """Return the nearest ``diaghoi.toml``, and the file that it names."""
    here = Path.cwd()
    near = (folder / TOML for folder in (here, *here.parents))
    nearest = next(filter(os.path.lexists, near), None)
    if nearest is None:
        return None, None
    toml = Path(os.path.relpath(nearest))
    tables = read_toml(toml)
    check_keys(str(toml), tables, list(NAMES))
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{toml}: {name}: is {table!r:.60}; write a table: the line [{name}]")
        check_keys(f"{toml}: [{name}]", table, tuple(NAMES[name]))
        for given in table:
            text_of(f"{toml}: [{name}]", table, given)
    value = tables.get(dataset, {}).get(key)
    if value is None:
        return toml, None
    where, path = f"{toml}: [{dataset}] {key}", toml.parent / value
    if not path.exists():
        raise InputError(
            f"{where}: {path}: no such file; correct the path, which is relative to {TOML}"
        )
    try:
        return toml, _usual_file(path, NAMES[dataset][key]) if path.is_dir() else path
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _read_labels(path: Path) -> ImageLabels:
    """Read HICO's image-level labels; the error for another file identifies its content."""
    try:
        return read_image_labels(path)
    except InputError as error:
        problem = str(error)
        with suppress(InputError, OSError):
            with path.open("rb") as stream:
                if stream.read(6) != b"MATLAB":
                    problem = f"{path}: not a MATLAB file; image labels are in HICO's anno.mat"
            found = recognise(path)
            problem = (
                f"{path}: holds {found.kind} ({found.format}), not image labels; image labels are "
            )
            problem += "in HICO's anno.mat"
        raise InputError(problem) from None
