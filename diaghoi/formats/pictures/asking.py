"""Asking a model about pictures: pictures and places in them as chat messages carry them.

A message holds the picture itself in an address. Places are numbers in its text, not drawn into it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from diaghoi.exceptions import InputError
from diaghoi.formats.pictures.files import read_picture
from diaghoi.language.asking import LETTERS_PER_TOKEN, Client, ask_all

TYPES = {"JPEG": "image/jpeg", "PNG": "image/png"}
UPRIGHT = (None, 1)
Box = tuple[float, float, float, float]
Unit = Literal["pixels", "thousandths"]
UNITS: tuple[str, ...] = get_args(Unit)
THOUSAND = 1000
PIXELS_PER_TOKEN = 28 * 28
"""Of a picture: the patches of Qwen2.5-VL. Other models take from half to twice as many tokens."""
# Pixels beyond the picture by which boxes are passed over: annotations are not exact.
SLACK = 2.0


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


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The numbers by which places in a picture are given.

    Parameters
    ----------
    width, height : int
        Of the picture in pixels.
    unit : {"pixels", "thousandths"}
        Pixels, or thousandths of width and height, as some models have learnt.
    """

    width: int
    height: int
    unit: Unit = "pixels"

    @property
    def words(self) -> str:
        """How boxes are written, for a model."""
        if self.unit == "thousandths":
            numbers = "in thousandths of the width and height of the picture"
        else:
            numbers = f"in pixels of the picture, which is {self.width} wide and {self.height} high"
        return f"[left, top, right, bottom] {numbers}, counted from its upper left corner"

    def written(self, box: Box) -> str:
        """Write a box in pixels in the numbers of the frame."""
        numbers = (f"{side / scale:.0f}" for side, scale in zip(box, self._scale, strict=True))
        return f"[{', '.join(numbers)}]"

    def read(self, numbers: Sequence[float]) -> Box:
        """Return the box in pixels that four numbers give."""
        x1, y1, x2, y2 = (
            number * scale for number, scale in zip(numbers, self._scale, strict=True)
        )
        return x1, y1, x2, y2

    def holds(self, box: Box) -> bool:
        """Whether a box in pixels lies in the picture, but for a little."""
        left, top, right, bottom = box
        far = right > self.width + SLACK or bottom > self.height + SLACK
        return not far and min(left, top) >= -SLACK

    @property
    def _scale(self) -> tuple[float, float, float, float]:
        if self.unit == "pixels":
            return 1.0, 1.0, 1.0, 1.0
        x, y = self.width / THOUSAND, self.height / THOUSAND
        return x, y, x, y


def message(url: str, text: str) -> list[dict[str, Any]]:
    """Put a picture and a text into messages of OpenAI's chat completions."""
    picture = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "user", "content": [picture, {"type": "text", "text": text}]}]


@dataclass(frozen=True, kw_only=True)
class ImageQuestions:
    """The open questions about one image, which share its picture.

    Parameters
    ----------
    image : str
        Its name.
    places : tuple of int
        Of its questions.
    """

    image: str
    places: tuple[int, ...]


def open_questions(images: Sequence[str], answered: Collection[int]) -> tuple[ImageQuestions, ...]:
    """Group what is still to be asked by image.

    Those behind the last answer come first: what had no reply in an earlier run may have none
    again, and must not keep the others waiting.

    Parameters
    ----------
    images : sequence of str
        The image of each question.
    answered : collection of int
        Places of the questions that are answered.
    """
    places: dict[str, list[int]] = {}
    for place, image in enumerate(images):
        if place not in answered:
            places.setdefault(image, []).append(place)
    groups = [ImageQuestions(image=name, places=tuple(mine)) for name, mine in places.items()]
    last = max(answered, default=-1)
    return tuple(sorted(groups, key=lambda group: group.places[0] < last))


def tokens_in(texts: Sequence[str], size: tuple[int, int]) -> float:
    """Estimate the tokens of some questions about a picture of a width and height."""
    return (
        len(texts) * size[0] * size[1] / PIXELS_PER_TOKEN + sum(map(len, texts)) / LETTERS_PER_TOKEN
    )


@dataclass(frozen=True, kw_only=True)
class Unasked:
    """The images without answers, each with the reason.

    Parameters
    ----------
    problems : tuple of (image, why)
        Pictures that are missing or cannot be read, so that nothing was asked about them.
    unanswered : tuple of (image, why)
        That no reply came for; the next run asks again.
    """

    problems: tuple[tuple[str, str], ...]
    unanswered: tuple[tuple[str, str], ...]


def ask_images(
    work: Callable[[ImageQuestions, SentPicture], Any],
    groups: Sequence[ImageQuestions],
    client: Client,
    find: Find,
    *,
    workers: int,
    proven: bool,
    progress: Callable[[int], Any],
) -> Unasked:
    """Ask all questions about some images.

    Parameters
    ----------
    work : callable
        Asks the questions about an image, and keeps the answers; runs in threads.
    groups : sequence of ImageQuestions
        What is asked.
    client : Client
        The model.
    find : callable
        As :data:`Find`.
    workers, proven
        As of :func:`diaghoi.language.asking.ask_all`.
    progress : callable
        Called with the number of questions that are done.

    Raises
    ------
    InputError
        Where no further question can succeed.
    """

    def asked(group: ImageQuestions) -> str:
        try:
            picture = sent_picture(find, group.image)
        except InputError as error:
            return str(error)
        work(group, picture)
        return ""

    done: list[tuple[str, str, str]] = []
    for outcome in ask_all(asked, groups, client, workers=workers, proven=proven):
        progress(len(outcome.tag.places))
        done.append((outcome.tag.image, outcome.failure, outcome.value or ""))
    done.sort()
    return Unasked(
        problems=tuple((image, problem) for image, _, problem in done if problem),
        unanswered=tuple((image, failure) for image, failure, _ in done if failure),
    )
