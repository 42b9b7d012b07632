"""Find and read the pictures of a data set by the image names in annotations and predictions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError

COCO = re.compile(r"COCO_[a-z]+\d+_(\d{12})\.jpg")
SPLITS = ("val2014", "train2014", "test2014")
ENDINGS = (".jpg", ".jpeg", ".png")
# Other types of Pillow run external programs, or are not photographs.
KINDS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
# Relative difference of the aspect ratio from which shapes count as different.
OFF = 0.02

MISSING, DAMAGED, UNSAFE, RESHAPED = "missing", "damaged", "unsafe", "reshaped"


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """The picture of an image, or why there is none.

    Parameters
    ----------
    image : (H, W, 3) uint8 array or None
        RGB, scaled down if it was large. None if there is no picture to show.
    problem : {"", "missing", "damaged", "unsafe", "reshaped"}
        Empty for a good picture. "unsafe" names could lead out of the folder; a "reshaped" picture
        has another shape than the annotation says, and is still shown.
    reason : str
        The problem as a phrase, such as ``not in images``.
    """

    image: npt.NDArray[np.uint8] | None
    problem: str = ""
    reason: str = ""


class Pictures:
    """The pictures in a folder.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.
    longest : int
        Larger pictures are scaled down to this many pixels on the longer side.

    Raises
    ------
    InputError
        If no such folder.
    """

    def __init__(self, folder: Path, longest: int = 1300) -> None:
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "no such folder"
            raise InputError(f"{folder}: {what}; give the folder with the pictures")
        self.folder, self.longest = folder, longest

    def find(self, name: str) -> Path | None:
        """Find the file of an image; None if there is none.

        Tries the name itself; the name without its folders; for images named by number, as in
        V-COCO, the file names of COCO; and the name with the usual suffixes.
        """
        if leads_outside(name):
            return None
        for candidate in _candidates(name):
            try:
                if (self.folder / candidate).is_file():
                    return self.folder / candidate
            except (OSError, ValueError):
                continue  # too long or otherwise invalid as a file name
        return None

    def size(self, name: str) -> tuple[int, int] | None:
        """Return width and height of the picture of an image; None where it cannot be read."""
        from PIL import Image

        path = self.find(name)
        if path is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with Image.open(path, formats=KINDS) as picture:
                    width, height = picture.size
                    return width, height
        except Exception:  # Pillow raises many kinds of errors for damaged files
            return None

    def read(self, name: str, size: tuple[int, int] | None = None) -> Picture:
        """Read the picture of an image.

        Parameters
        ----------
        name : str
            As annotations and predictions call it.
        size : (width, height), optional
            In pixels, as the annotation says.
        """
        if leads_outside(name):
            reason = "the name leads out of the folder" if name else "the image has no name"
            return Picture(image=None, problem=UNSAFE if name else MISSING, reason=reason)
        path = self.find(name)
        if path is None:
            return Picture(image=None, problem=MISSING, reason=f"not in {self.folder}")
        try:
            with warnings.catch_warnings():
                # Pillow warns about possible decompression bombs.
                warnings.simplefilter("error")
                image, shape = _decoded(path, size, self.longest)
        except Exception as error:  # Pillow raises many kinds of errors for damaged files
            what = " ".join(str(error).replace(str(path), "the file").split())
            reason = f"cannot be read ({what[:80] or type(error).__name__})"
            return Picture(image=None, problem=DAMAGED, reason=reason)
        if size is not None and abs(shape[0] * size[1] / (shape[1] * size[0]) - 1) > OFF:
            reason = f"is {shape[0]} x {shape[1]} pixels and annotated as {size[0]} x {size[1]}"
            return Picture(image=image, problem=RESHAPED, reason=reason)
        return Picture(image=image)


def leads_outside(name: str) -> bool:
    """Whether a name is empty, or could refer to a file outside a folder on any system."""
    paths = (PurePosixPath(name), PureWindowsPath(name))
    return (
        not name.strip() or "\0" in name or any(path.anchor or ".." in path.parts for path in paths)
    )


def _candidates(name: str) -> Iterator[str]:
    """Give the possible file names of an image."""
    base = PurePosixPath(name).name
    for each in dict.fromkeys((name, base)):
        yield each
        coco = COCO.fullmatch(each)
        number = coco[1] if coco else each
        if number.isascii() and number.isdecimal():
            digits = number.zfill(12)
            yield from (f"COCO_{split}_{digits}.jpg" for split in SPLITS)
            yield f"{digits}.jpg"
        yield from (f"{each}{ending}" for ending in ENDINGS)


def _decoded(
    path: Path, size: tuple[int, int] | None, longest: int
) -> tuple[npt.NDArray[np.uint8], tuple[int, int]]:
    """Read a picture; return it, scaled down if it is large, and its original size."""
    from PIL import Image, ImageOps

    picture: Any
    with Image.open(path, formats=KINDS) as picture:
        if size is not None and picture.size == size[::-1] != size:
            # The annotation has the size of the picture as displayed, after its EXIF rotation.
            picture = ImageOps.exif_transpose(picture)
        shape = picture.size
        picture.draft("RGB", (longest, longest))
        picture = picture.convert("RGB")
        picture.thumbnail((longest, longest))
        return np.asarray(picture), shape
