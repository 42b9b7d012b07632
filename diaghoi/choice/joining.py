"""Join the images of a file to the questions about them, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from diaghoi.choice.questions import Questions
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import shown
from diaghoi.formats.v_coco.keys import image_number

Found = TypeVar("Found")


def by_name(image: str, known: Mapping[str, Found]) -> Found | None:
    """Look up an image by its name; images of V-COCO may be listed by their number alone.

    Parameters
    ----------
    image : str
        Its name in the questions.
    known : mapping
        Values by the name of the image in another file.

    Returns
    -------
    object or None
        None where the file does not have the image.
    """
    return known.get(image, known.get(image_number(image)))


def check_named(scenes: Scenes) -> None:
    """Refuse predictions or annotations whose images cannot be joined to questions.

    Raises
    ------
    InputError
        Where the images have no names.
    """
    if not scenes.named:
        raise InputError(
            f"{scenes.source}: the images have no names, so questions cannot be joined to them; "
            "add a 'filename' to each image"
        )


def no_common_image(file: object, names: Sequence[str], questions: Questions) -> InputError:
    """Make the error for a file that shares no image with the questions."""
    first = shown(names[0]) if names else "missing"
    return InputError(
        f"{file}: none of the {len(names)} images is asked about in {questions.file}; the first is "
        f"{first} here and {questions.images[0]!r} there; give a file on the images of the "
        "questions"
    )
