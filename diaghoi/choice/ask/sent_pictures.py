"""Pictures as chat messages carry them: addresses that hold the picture itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from diaghoi.exceptions import InputError
from diaghoi.formats.pictures.files import read_picture

TYPES = {"JPEG": "image/jpeg", "PNG": "image/png"}
UPRIGHT = (None, 1)


@dataclass(frozen=True, kw_only=True)
class SentPicture:
    """A picture for a message.

    Parameters
    ----------
    url : str
        ``data:image/jpeg;base64,...``.
    width, height : int
        In pixels.
    """

    url: str
    width: int
    height: int


Find = Callable[[str], Path | None]
"""Gives the file of an image by its name, None where there is none."""


def check_pictures(find: Find, images: Sequence[str], which: str) -> None:
    """Refuse a folder that has no picture of some images.

    Parameters
    ----------
    find : callable
        As :data:`Find`.
    images : sequence of str
        Names.
    which : str
        Says in the message which pictures these are.

    Raises
    ------
    InputError
        Where there are images, and none of their pictures.
    """
    if images and not any(find(name) is not None for name in images):
        raise InputError(
            f"--images: has none of the {len(images)} pictures {which}; the first is "
            f"{images[0]!r}; give the folder that holds them"
        )


def sent_picture(find: Find, image: str) -> SentPicture:
    """Read the picture of an image, a JPEG or PNG file, for a message.

    The file is sent as it is. Only where it asks to be turned, it is sent anew, as stored: boxes
    are about the stored pixels, and some servers would turn the picture and others not.

    Raises
    ------
    InputError
        Where it is missing, damaged, or of another kind; the message leaves the name of the image
        to the caller.
    """
    path = find(image)
    if path is None:
        raise InputError("not in the folder")
    try:
        file = read_picture(path)
        data, kind = path.read_bytes(), file.kind
    except OSError as error:
        raise InputError(str(error.strerror or error)) from None
    if file.orientation not in UPRIGHT:
        from PIL import Image

        buffer = io.BytesIO()
        Image.fromarray(file.image).save(buffer, "PNG")
        data, kind = buffer.getvalue(), "PNG"
    height, width = file.image.shape[:2]
    text = base64.b64encode(data).decode("ascii")
    return SentPicture(url=f"data:{TYPES[kind]};base64,{text}", width=width, height=height)


def picture_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels, from the head of the file alone; None where it has none."""
    from PIL import Image

    try:
        with Image.open(path, formats=tuple(TYPES)) as opened:
            width, height = opened.size
            return int(width), int(height)
    except Exception:  # Pillow fails in many ways on damaged files
        return None
