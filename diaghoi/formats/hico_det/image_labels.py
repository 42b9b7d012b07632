"""The image-level labels of HICO, on which the official Known Object setting is based."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from diaghoi.data.arrays import BoolArray, StrArray
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.matlab import read_variable, variables


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageLabels:
    """Image-level labels of HICO (``anno.mat``), which the official Known Object setting uses.

    Parameters
    ----------
    names : (M,) str array
        Images.
    positive : (C, M) bool array
        Whether the image is labelled to show the HOI class.
    source : str
        The file, for messages.
    """

    names: StrArray
    positive: BoolArray
    source: str = ""

    def objects(self, annotations: SceneSource) -> BoolArray:
        """(N, objects) true if an image is labelled with a class of the object category.

        Raises
        ------
        InputError
            If an image is not in the file.
        """
        position = {name: row for row, name in enumerate(self.names.tolist())}
        names = annotations.names.tolist()
        missing = [name for name in names if name not in position]
        if missing:
            raise InputError(
                f"{self.source}: no image labels for {len(missing)} of {len(names)} images: "
                f"{some_of(missing)}"
            )
        positive = self.positive[:, [position[name] for name in names]]
        objects = np.zeros((len(annotations), len(annotations.vocabulary.objects)), dtype=bool)
        for hoi, label in enumerate(annotations.vocabulary.class_object):
            objects[:, label] |= positive[hoi]
        return objects


def read_image_labels(path: str | PathLike[str]) -> ImageLabels:
    """Read the image-level labels of the HICO test set from ``anno.mat``.

    Parameters
    ----------
    path : path
        MATLAB file with ``anno_test`` (600 x images of 1 positive, -1 negative, 0 unclear, NaN
        unknown) and ``list_test`` (image names).

    Raises
    ------
    InputError
        If the file does not have these contents.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    found = variables(path)
    for name in ("anno_test", "list_test"):
        if name not in found:
            raise InputError(f"{path}: no '{name}' in it; expected HICO's anno.mat")
    listed = np.ravel(read_variable(path, "list_test")).tolist()
    names = np.array([str(np.ravel(name)[0]) if np.size(name) == 1 else "" for name in listed])
    if not all(names.tolist()):
        raise InputError(f"{path}: 'list_test' is not a list of names; expected HICO's anno.mat")
    labels = np.asarray(read_variable(path, "anno_test"))
    if labels.dtype.kind not in "biuf":
        raise InputError(f"{path}: 'anno_test' does not hold numbers; expected HICO's anno.mat")
    positive = labels == 1
    if positive.shape != (len(hico_det()), len(names)):
        raise InputError(
            f"{path}: 'anno_test' has shape {positive.shape}, expected {len(hico_det())} HOI "
            f"classes x {len(names)} images of 'list_test'"
        )
    return ImageLabels(names=names, positive=positive, source=str(path))
