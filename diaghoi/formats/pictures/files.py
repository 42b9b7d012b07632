"""Read and write picture files, keeping their type, orientation and colour profile."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing

ENDINGS = (".jpg", ".jpeg", ".png")
KINDS = ("JPEG", "PNG")
GREY = ("1", "L", "LA")
COLOUR = ("RGB", "RGBA", "RGBX", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV")
# The EXIF tag for the rotation with which viewers show a picture.
ORIENTATION = 0x0112
TURNS = range(1, 9)
# Longest side in pixels that OpenCV can remap: it uses 16-bit coordinates.
LONGEST = 32766
# High quality without chroma subsampling, so that JPEG compression adds next to nothing to the
# corruption.
JPEG_OPTIONS = {"quality": 95, "subsampling": 0}


@dataclass(frozen=True, kw_only=True, eq=False)
class PictureFile:
    """A picture with the metadata of its file.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) uint8 array
        As stored, not rotated by the EXIF orientation.
    kind : {"JPEG", "PNG"}
        The type of the content, whatever the suffix of the file.
    orientation : int or None
        Value of the EXIF tag, 1 to 8; None if it is missing or invalid.
    profile : bytes or None
        The colour profile, if it fits the channels of ``image``.
    """

    image: npt.NDArray[np.uint8]
    kind: str
    orientation: int | None
    profile: bytes | None


def read_picture(path: Path) -> PictureFile:
    """Read a JPEG or PNG file.

    Grey pictures stay grey; palettes and CMYK become RGB; transparency is dropped, and 16-bit
    colours keep their upper eight bits, as in detectors.

    Raises
    ------
    InputError
        If the file is damaged, of another type, grey with more than 8 bits, or so large that it
        may be a decompression bomb. The caller adds the name of the file to the message.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            # Pillow also warns about harmless flaws, such as odd EXIF entries.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=KINDS) as opened:
                opened.load()
                return _read(opened)
    except InputError:
        raise
    except UnidentifiedImageError:
        raise InputError("is neither JPEG nor PNG") from None
    except Exception as error:  # Pillow raises many kinds of errors for damaged files
        what = " ".join(str(error).replace(repr(str(path)), "the file").split())
        raise InputError(what[:160] or type(error).__name__) from None


def _read(opened: Any) -> PictureFile:
    if opened.mode not in GREY + COLOUR:
        raise InputError(f"has pixels of the kind '{opened.mode}', not of 8 bits per channel")
    if max(opened.size) > LONGEST:
        raise InputError(
            f"is {opened.width} x {opened.height} pixels, more than {LONGEST} per side"
        )
    grey = opened.mode in GREY
    try:
        orientation = opened.getexif().get(ORIENTATION)
    except Exception:  # a damaged header, which viewers ignore, too
        orientation = None
    return PictureFile(
        image=np.asarray(opened.convert("L" if grey else "RGB")),
        # Multi-picture files of some cameras (MPO) start with a JPEG picture.
        kind="PNG" if opened.format == "PNG" else "JPEG",
        orientation=orientation if isinstance(orientation, int) and orientation in TURNS else None,
        profile=None if opened.mode == "CMYK" else opened.info.get("icc_profile"),
    )


def write_picture(path: Path, picture: PictureFile) -> None:
    """Write a picture atomically; JPEG with quality 95 and without chroma subsampling.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from PIL import Image

    options: dict[str, Any] = dict(JPEG_OPTIONS) if picture.kind == "JPEG" else {}
    if picture.profile:
        options["icc_profile"] = picture.profile
    if picture.orientation is not None:
        options["exif"] = Image.Exif()
        options["exif"][ORIENTATION] = picture.orientation
    with replacing(path) as temporary:
        Image.fromarray(picture.image).save(temporary, format=picture.kind, **options)
