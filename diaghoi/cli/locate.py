"""Find the annotations of a data set if the user does not give them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diaghoi.cli.settings import CHANGE, setting_of, settings_file
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats import recognise
from diaghoi.formats.hico_det.image_labels import ImageLabels, read_image_labels

# Folders below the working directory in which the code bases of the field keep a data set, and the
# names of its annotation files; the first that exists is used.
FOLDERS = {
    "hico-det": ("data/hicodet", "hicodet", "data/hico_20160224_det/annotations"),
    "v-coco": ("data/vcoco", "vcoco", "data/v-coco/data/vcoco", "v-coco/data/vcoco"),
    "swig-hoi": ("data/swig_hoi", "data/swig_hoi/annotations", "swig_hoi"),
    "hoi-a": ("data/hoia", "data/hoia/eval", "data/hoia/annotations", "hoia/annotations", "hoia"),
}
FILES = {
    "hico-det": (
        "instances_test2015.json",
        "anno_bbox.mat",
        "test_hico.json",
        "gt_wo_nointer.pkl",
    ),
    "v-coco": ("vcoco_test.json", "test_vcoco.json"),
    "swig-hoi": ("swig_test_1000.json",),
    "hoi-a": ("test_hoia.json",),
}
FOLDERS |= {"v-coco-thesis": FOLDERS["v-coco"], "hoi-a-verbs": FOLDERS["hoi-a"]}
FILES |= {"v-coco-thesis": ("test_vcoco.json",), "hoi-a-verbs": FILES["hoi-a"]}
HOW_TO_GET = {
    "hico-det": "get instances_test2015.json (UPT and SCG code bases), test_hico.json (QPIC, CDN) "
    "or anno_bbox.mat (HICO-DET itself)",
    "v-coco": "get vcoco_test.json (V-COCO itself, with its COCO instances file and .ids) or "
    "test_vcoco.json (QPIC, CDN)",
    "swig-hoi": "get swig_test_1000.json (SWIG-HOI itself)",
    "hoi-a": "get test_hoia.json (PPDM, AS-Net and HoiTransformer code bases)",
}
HOW_TO_GET |= {
    "v-coco-thesis": "get test_vcoco.json (QPIC, CDN)",
    "hoi-a-verbs": HOW_TO_GET["hoi-a"],
}
VARIABLE = "DIAGHOI_DATA"


@dataclass(frozen=True)
class LocatedFile:
    """An annotation file that was found in a folder.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    notes : list of str
        Which file was used and why, for the results.
    """

    path: Path
    notes: list[str] = field(default_factory=list)


def in_folder(path: Path, vocabulary: Vocabulary) -> LocatedFile:
    """Find the annotation file in a given folder; the path of a file is returned as it is.

    Raises
    ------
    InputError
        For a folder without a file of a usual name.
    """
    if not path.is_dir():
        return LocatedFile(path=path)
    if not vocabulary.known:
        raise InputError(f"{path}: is a folder; give the annotation file itself")
    file = next((file for file in _files_in(path, vocabulary.name) if file.is_file()), None)
    if file is None:
        raise InputError(
            f"{path}: a folder without {' or '.join(FILES[vocabulary.name])}; give the annotation "
            "file itself"
        )
    return LocatedFile(path=file, notes=[f"annotations: {file}"])


def find_annotations(vocabulary: Vocabulary) -> LocatedFile:
    """Find the annotation file of a data set.

    A described data set names its file. That of a known data set is searched for in
    ``DIAGHOI_DATA`` (a file or a folder), in the user's settings, and in the usual folders of the
    field, in this order.

    Raises
    ------
    InputError
        If none is found; the message lists the places searched and how to get the file. Also if
        the settings name a file that no longer exists.
    """
    dataset = vocabulary.name
    if not vocabulary.known:
        if vocabulary.annotations is None:
            raise InputError(
                f"{dataset}: the description names no annotations; add 'annotations = \"FILE\"' to "
                "it, or give them with --annotations FILE"
            )
        return LocatedFile(
            path=vocabulary.annotations, notes=[f"annotations: {vocabulary.annotations}"]
        )
    looked: list[str] = []
    for place, given, paths in _places(dataset):
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            passed = f", because there are none in {', '.join(looked)}" if looked else ""
            return LocatedFile(path=path, notes=[f"annotations: {path}, from {place}{passed}"])
        if given:
            looked.append(f"{place} ({given})")
    searched = ", ".join((*looked, *FOLDERS[dataset]))
    raise InputError(
        f"no {dataset} annotations found; looked for {', '.join(FILES[dataset])} in {searched}; "
        f"{HOW_TO_GET[dataset]} and give it with --annotations FILE, or once for all with "
        f"'diaghoi config set {dataset}.annotations FILE'"
    )


def is_found(vocabulary: Vocabulary) -> bool:
    """Whether the annotation file of a data set can be found."""
    try:
        find_annotations(vocabulary)
    except InputError:
        return False
    return True


def _places(dataset: str) -> Iterator[tuple[str, str | None, list[Path]]]:
    """Give each place to search: its name, the user's value there, and the paths to try."""
    variable = os.environ.get(VARIABLE)
    if variable:
        root = Path(variable)
        below = (root / folder.removeprefix("data/") for folder in FOLDERS[dataset])
        paths = [path for folder in (root, *below) for path in _files_in(folder, dataset)]
        yield VARIABLE, variable, [root, *dict.fromkeys(paths)]
    setting = setting_of(f"{dataset}.annotations")
    if setting:
        yield f"the settings in {settings_file()}", str(setting), [setting]
    customary = [path for folder in FOLDERS[dataset] for path in _files_in(folder, dataset)]
    yield "a customary folder", None, customary


def _files_in(folder: str | Path, dataset: str) -> list[Path]:
    return [Path(folder) / name for name in FILES[dataset]]


def image_labels(
    given: Path | None, annotations: SceneSource, predictions: SceneSource
) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels given, or those of the settings if they fit.

    Settings apply to every report of this user, including those on other images; for those images
    Known Object falls back to the boxes, with a note.

    Parameters
    ----------
    given : pathlib.Path or None
        HICO's ``anno.mat``.
    annotations, predictions : Scenes or another source of them
        Whose images are labelled.

    Returns
    -------
    labels : ImageLabels or None
        None where there are none.
    notes : list of str
        What was used, and why.

    Raises
    ------
    InputError
        For another file; the message says what the file holds.
    """
    if given is not None:
        return _read_labels(given), []
    key = f"{annotations.vocabulary.name}.image-labels"
    setting = setting_of(key)
    if setting is None:
        return None, []
    try:
        labels = _read_labels(setting)
    except InputError as error:
        raise InputError(f"{error}; it is the setting {key}: {CHANGE.format(key=key)}") from None
    if all(np.isin(scenes.names, labels.names).all() for scenes in (annotations, predictions)):
        return labels, [f"image labels: {setting}, from the settings"]
    return None, [
        f"{setting}, from the settings, does not label all of these images: Known Object goes by "
        "the box annotations"
    ]


def _read_labels(path: Path) -> ImageLabels:
    """Read the image-level labels of HICO; the error for another file identifies it.

    Raises
    ------
    InputError
        If the file is not HICO's ``anno.mat``.
    """
    try:
        return read_image_labels(path)
    except InputError as error:
        if not path.is_file() or path.stat().st_size == 0:
            raise
        with path.open("rb") as stream:
            matlab = stream.read(6) == b"MATLAB"
        try:
            found = recognise(path)
        except InputError:
            if matlab:
                raise error from None
            raise InputError(
                f"{path}: not a MATLAB file; image labels are in HICO's anno.mat"
            ) from None
        raise InputError(
            f"{path}: holds {found.kind} ({found.format}), not image labels; these are in HICO's "
            "anno.mat"
        ) from None
