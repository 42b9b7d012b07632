"""Image labels from the command line or the user's settings."""

from __future__ import annotations

from pathlib import Path

from diaghoi.exceptions import InputError
from diaghoi.formats import recognise
from diaghoi.formats.hico_det.image_labels import ImageLabels, read_image_labels


def read_labels(path: Path) -> ImageLabels:
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
