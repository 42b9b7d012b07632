"""Multiple-choice questions on images, as the benchmark publishes them.

A JSON object by image: ``{"gt_choices": [...], "wrong_choices": [...], "boxes": {...}}`` for the
only question of an image, or such objects by name, ``QA_0``, ``QA_1`` and so on (paper 002, section
2.2). Boxes are x1, y1, x2, y2: ``human`` of the person that is asked about, ``object`` of the
object of the interaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from string import ascii_uppercase
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from diaghoi.choice.classes import ARTICLE, PERSON, Classes, Interaction, classes_of, parse_option
from diaghoi.data.arrays import FloatArray
from diaghoi.data.protocol import HICO_DET, Protocol
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import shown
from diaghoi.formats.content import load
from diaghoi.formats.datasets import vocabulary

FIRST = "QA_0"
RIGHT, WRONG = "gt_choices", "wrong_choices"
LETTERS = ascii_uppercase
"""Labels of the options shown to a model."""
MOST_OPTIONS = len(LETTERS)
# No picture is so large, and larger integers do not fit a float.
FARTHEST = 1e300
Box = tuple[float, float, float, float]
# How the names of images of known data sets begin.
NAMES = {"HICO_": "hico-det", "COCO_": "v-coco"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question.

    Parameters
    ----------
    image, name : str
        Its image, and its name within the image.
    right, wrong : tuple of str
        The right options, none or several, and the wrong ones.
    human, object : tuple of float or None
        Boxes of the person and the object that it asks about, as in the file.
    """

    image: str
    name: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    human: Box | None = None
    object: Box | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """All options, the right ones first."""
        return self.right + self.wrong

    @property
    def where(self) -> str:
        """Image and name, for messages."""
        return f"image {self.image!r}: {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Questions:
    """The questions of a file, in its order.

    Parameters
    ----------
    file : str
        Where they come from.
    questions : tuple of Question
        At least one.
    classes : Classes
        The classes over which Macro-F1 runs.
    vocabulary : Vocabulary or None
        The data set that they are about; None where it is not known.
    """

    file: str
    questions: tuple[Question, ...]
    classes: Classes
    vocabulary: Vocabulary | None = None

    def __len__(self) -> int:
        return len(self.questions)

    def protocol(self, other: Vocabulary | None = None) -> Protocol:
        """Return the protocol by which boxes are compared: that of the data set, or of another one.

        Parameters
        ----------
        other : Vocabulary, optional
            Where the data set of the questions is not known; that of HICO-DET where neither is.
        """
        asked = self.vocabulary or other
        return asked.protocol if asked is not None and asked.known else HICO_DET

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.classes.dataset

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Names of the images, in the order of the file."""
        return tuple(dict.fromkeys(question.image for question in self.questions))

    @cached_property
    def image_of(self) -> npt.NDArray[np.int64]:
        """(Q,) number of the image of each question."""
        number = {name: place for place, name in enumerate(self.images)}
        return np.array([number[question.image] for question in self.questions], dtype=np.int64)

    @cached_property
    def index_of(self) -> dict[tuple[str, str], int]:
        """Place of each question by image and name."""
        return {(each.image, each.name): place for place, each in enumerate(self.questions)}

    def boxes(self, name: Literal["human", "object"]) -> FloatArray:
        """(Q, 4) zero-based boxes of the questions, NaN where there is none."""
        boxes = [getattr(each, name) or (np.nan,) * 4 for each in self.questions]
        # The questions on HICO-DET copy its annotations, whose pixels are counted from one.
        return np.array(boxes, dtype=np.float64) - (1.0 if self.dataset == "hico-det" else 0.0)

    def interaction_of(self, option: str) -> Interaction:
        """Parse the text of an option of these questions."""
        # In a user's own data set an option may name a verb without an object.
        return parse_option(option, alone=PERSON if self.classes.known is not None else "")


def read_questions(
    path: str | PathLike[str], *, dataset: str | Vocabulary | None = None
) -> Questions:
    """Read questions.

    Parameters
    ----------
    path : path
        A JSON file as described above.
    dataset : str or Vocabulary, optional
        The data set that they are about; by default recognised by the names of the images: that of
        HICO-DET or V-COCO, SWIG-HOI where the options are single verbs, and else one whose classes
        are what the options name.

    Raises
    ------
    InputError
        For a file that is not such JSON; the message names file, image, question and field.
    """
    content = load(path)
    if content.container != "json" or not isinstance(content.value, dict) or not content.value:
        raise InputError(
            f"{path}: holds no questions; give JSON of the form "
            f'{{"IMAGE.jpg": {{"{RIGHT}": [...], "{WRONG}": [...]}}}}, or with such objects by '
            f'name, "{FIRST}" and so on'
        )
    found = [
        _question(f"{path}: image {image!r}", image, name, each)
        for image, value in content.value.items()
        for name, each in _by_name(f"{path}: image {image!r}", value).items()
    ]
    given = _recognised(found) if dataset is None else vocabulary(dataset)
    classes = Classes(dataset="questions", known=None) if given is None else classes_of(given)
    return Questions(file=str(path), questions=tuple(found), classes=classes, vocabulary=given)


def _by_name(where: str, value: Any) -> dict[str, Any]:
    """Return the questions of an image by name."""
    if not isinstance(value, dict) or not value:
        raise InputError(
            f"{where}: {shown(value)} is not a question; give an object with {RIGHT!r}"
        )
    if RIGHT in value or WRONG in value:
        return {FIRST: value}
    return value


def _question(where: str, image: str, name: str, value: Any) -> Question:
    where = f"{where}: {name}"
    if not isinstance(value, dict) or not {RIGHT, WRONG} <= value.keys():
        found = list(value) if isinstance(value, dict) else []
        missing = next((key for key in (RIGHT, WRONG) if key not in found), RIGHT)
        raise InputError(
            f"{where}: the key {missing!r} is missing{close_matches(missing, map(str, found))}; "
            f"has: {some_of(found) if found else shown(value)}"
        )
    right, wrong = (_options(f"{where}: {key}", value[key]) for key in (RIGHT, WRONG))
    if not 1 <= len(right) + len(wrong) <= MOST_OPTIONS:
        raise InputError(
            f"{where}: has {len(right) + len(wrong)} options; give 1 to {MOST_OPTIONS}, "
            "one for each letter"
        )
    boxes = value.get("boxes") or {}
    if not isinstance(boxes, Mapping):
        raise InputError(f"{where}: boxes: {shown(boxes)} is not an object; give human and object")
    human, object_ = (
        None if boxes.get(key) is None else _box(f"{where}: boxes.{key}", boxes[key])
        for key in ("human", "object")
    )
    return Question(image=image, name=name, right=right, wrong=wrong, human=human, object=object_)


def _options(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{where}: {shown(value)} is not a list; give a list of option texts")
    for number, option in enumerate(value):
        if not isinstance(option, str) or not option.strip():
            raise InputError(f"{where}[{number}]: {shown(option)} is not an option; give its text")
    return tuple(value)


def _box(where: str, value: Any) -> Box:
    numbers = value if isinstance(value, list) else []
    right = len(numbers) == 4 and all(
        isinstance(each, int | float) and not isinstance(each, bool) and abs(each) <= FARTHEST
        for each in numbers
    )
    if not right or numbers[2] < numbers[0] or numbers[3] < numbers[1]:
        raise InputError(f"{where}: {shown(value)} is not a box; give x1, y1, x2, y2 in pixels")
    x1, y1, x2, y2 = map(float, numbers)
    return x1, y1, x2, y2


def _recognised(questions: list[Question]) -> Vocabulary | None:
    """Recognise the data set by names of images and texts of options."""
    for start, name in NAMES.items():
        if all(question.image.startswith(start) for question in questions):
            return vocabulary(name)
    verbs = [option for question in questions for option in question.options]
    if any(ARTICLE in verb for verb in verbs):
        return None
    known = set(vocabulary("swig-hoi").verbs)
    return vocabulary("swig-hoi") if sum(verb in known for verb in verbs) > len(verbs) / 2 else None
