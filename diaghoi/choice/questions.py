"""Multiple-choice questions on images, as published by the benchmark.

A JSON object by image: ``{"gt_choices": [...], "wrong_choices": [...], "boxes": {...}}`` for the
only question of an image, or such objects by name, ``QA_0``, ``QA_1`` and so on (CrossHOI-Bench,
section 2.2). Boxes are x1, y1, x2, y2: ``human`` is the person in question, ``object`` the object
of the interaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from string import ascii_uppercase
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from diaghoi.choice.classes import ARTICLE, PERSON, Interaction, classes_of, parse_option
from diaghoi.data.arrays import FloatArray
from diaghoi.data.files import ordinary
from diaghoi.data.protocol import HICO_DET, Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import shown
from diaghoi.formats.content import Content, load
from diaghoi.formats.description import vocabulary
from diaghoi.formats.v_coco import image_number

FIRST = "QA_0"
RIGHT, WRONG = "gt_choices", "wrong_choices"
LETTERS = ascii_uppercase
"""Labels of the options shown to a model."""
MOST_OPTIONS = len(LETTERS)
# No picture has larger coordinates, and much larger integers do not fit into a float.
FARTHEST = 1e300
Box = tuple[float, float, float, float]
# Prefixes of image names in known data sets.
NAMES = {"HICO_": "hico-det", "COCO_": "v-coco"}
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question.

    Parameters
    ----------
    image, name : str
        The image, and the question's name within the image.
    right, wrong : tuple of str
        The right options, possibly none, and the wrong options.
    human, object : tuple of float or None
        Boxes of the person and the object in question, as in the file.
    """

    image: str
    name: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    human: Box | None = None
    object: Box | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """All options, right ones first."""
        return self.right + self.wrong

    @property
    def where(self) -> str:
        """Image and name, for messages."""
        return f"image {self.image!r}: {self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Questions:
    """The questions of a file, in file order.

    Parameters
    ----------
    file : str
        Source of the questions.
    questions : tuple of Question
        The questions, at least one.
    vocabulary : Vocabulary or None
        Data set of the questions; None if it is unknown.
    """

    file: str
    questions: tuple[Question, ...]
    vocabulary: Vocabulary | None = None

    def __len__(self) -> int:
        return len(self.questions)

    def protocol(self, other: Vocabulary | None = None) -> Protocol:
        """Return the protocol for comparing boxes: that of the data set.

        ``other`` replaces a missing data set. For a data set that the package does not know,
        HICO-DET's protocol is used.
        """
        words = self.vocabulary or other
        return words.protocol if words is not None and words.known else HICO_DET

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return "questions" if self.vocabulary is None else self.vocabulary.name

    @cached_property
    def classes(self) -> frozenset[Interaction] | None:
        """The classes that Macro-F1 covers; None if every option names a class."""
        return classes_of(self.vocabulary)

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Names of the images, in file order."""
        return tuple(dict.fromkeys(question.image for question in self.questions))

    @cached_property
    def image_of(self) -> npt.NDArray[np.int64]:
        """(Q,) index of each question's image."""
        number = {name: place for place, name in enumerate(self.images)}
        return np.array([number[question.image] for question in self.questions], dtype=np.int64)

    @cached_property
    def index_of(self) -> dict[tuple[str, str], int]:
        """Index of each question, by image and name."""
        return {(each.image, each.name): place for place, each in enumerate(self.questions)}

    def boxes(self, name: Literal["human", "object"]) -> FloatArray:
        """Return the zero-based boxes of the questions, (Q, 4), NaN if missing."""
        boxes = [getattr(each, name) or (np.nan,) * 4 for each in self.questions]
        return np.array(boxes, dtype=np.float64) - origin_of(self.dataset)

    def interaction_of(self, option: str) -> Interaction:
        """Parse the text of an option of these questions."""
        # In a user's own data set, an option may name a verb without an object.
        return parse_option(option, alone=PERSON if self.classes is not None else "")

    def check_boxes(self, roles: Sequence[str], remedy: str) -> None:
        """Raise an error if any question lacks a required box."""
        for each in self.questions:
            for role in roles:
                if getattr(each, role) is None:
                    whose = "person" if role == "human" else role
                    raise InputError(
                        f"{self.file}: {each.where} has no box of the {whose}; {remedy}"
                    )

    def rows_of(self, scenes: Scenes) -> dict[str, int]:
        """Return the row of each image of the questions in predictions or annotations, by name."""
        check_named(scenes)
        rows = {name: row for row, name in enumerate(scenes.names.tolist())}
        return self.of_images(scenes.source, rows)

    def of_images(self, file: object, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return a file's values for the images of the questions, by name.

        V-COCO images may be listed by number. Raise an ``InputError`` if the file has none of the
        images.
        """
        keys = {name: name if name in values else image_number(name) for name in self.images}
        joined = {name: values[key] for name, key in keys.items() if key in values}
        if not joined:
            first = shown(next(iter(values))) if values else "missing"
            raise InputError(
                f"{file}: none of the {len(values)} images is asked about in {self.file}; the "
                f"first image is {first} in this file and {self.images[0]!r} in the questions; "
                "give a file on the images of the questions"
            )
        return joined


def origin_of(dataset: str) -> int:
    """Return the pixel origin of questions: 1 on HICO-DET, as annotated, otherwise 0."""
    return 1 if dataset == "hico-det" else 0


def shifted(box: Box, shift: float) -> Box:
    """Shift a box to another pixel origin."""
    x1, y1, x2, y2 = (side + shift for side in box)
    return x1, y1, x2, y2


def check_named(scenes: Scenes) -> None:
    """Reject predictions or annotations without image names, because questions need them."""
    if not scenes.named:
        raise InputError(
            f"{scenes.source}: the images have no names, so questions cannot be joined to them; "
            "add a 'filename' to each image"
        )


def load_if_json(
    path: str | PathLike[str], starts: tuple[bytes, ...] = (b"[", b"{")
) -> Content | None:
    """Load a file that starts like JSON; None for content that is left to another reader."""
    try:
        with ordinary(path).open("rb") as stream:
            start = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    except OSError:
        return None
    return load(path) if start in starts else None


def json_rows(content: Content) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, a list or a single line, each with its location."""
    value = content.value
    rows, lines = ([value], (1,)) if isinstance(value, dict) else (value, content.lines)
    for number, row in enumerate(rows):
        place = f"line {lines[number]}" if lines else f"entry {number + 1}"
        where = f"{content.file}: {place}"
        if not isinstance(row, dict):
            raise InputError(f"{where}: {shown(row)} is not a JSON object")
        yield where, row


def entry(where: str, row: Mapping[str, Any], key: str, *, empty: bool = False) -> Any:
    """Return the value of a key, which must exist and, unless ``empty``, must not be empty."""
    value = row.get(key)
    if key not in row or (not empty and value in (None, "")):
        keys = list(map(str, row))
        raise InputError(
            f"{where}: {key!r} is missing{close_matches(key, keys)}; there are: "
            f"{some_of(keys) or 'none'}"
        )
    return value


def texts_in(where: str, value: Any) -> tuple[str, ...]:
    """Return the texts in a list; raise an error for anything else."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InputError(f"{where}: {shown(value)}; give a list of option texts")
    return tuple(value)


def read_questions(
    path: str | PathLike[str], *, dataset: str | Vocabulary | None = None
) -> Questions:
    """Read questions.

    Parameters
    ----------
    path : path
        A JSON file in the layout that this module describes.
    dataset : str or Vocabulary, optional
        Data set of the questions. By default, image names distinguish HICO-DET and V-COCO; options
        that are single verbs indicate SWIG-HOI, and otherwise the options are the classes.

    Raises
    ------
    InputError
        If the file does not have the layout of questions; the message names file, image, question
        and field.
    """
    content = load(path)
    if content.container != "json" or not isinstance(content.value, dict) or not content.value:
        raise InputError(
            f"{path}: holds no questions; give JSON of the form "
            f'{{"IMAGE.jpg": {{"{RIGHT}": [...], "{WRONG}": [...]}}}}, or with such objects by '
            f'name, "{FIRST}" and so on'
        )
    questions = []
    for image, named in content.value.items():
        where = f"{path}: image {image!r}"
        if not isinstance(named, dict) or not named or RIGHT in named or WRONG in named:
            named = {FIRST: named}
        questions += [_question(f"{where}: {name}", image, name, named[name]) for name in named]
    words = _recognised(questions) if dataset is None else vocabulary(dataset)
    return Questions(file=str(path), questions=tuple(questions), vocabulary=words)


def _question(where: str, image: str, name: str, value: Any) -> Question:
    if not isinstance(value, dict):
        raise InputError(f"{where}: {shown(value)} is not a question; give an object")
    right, wrong = (texts_in(f"{where}: {key}", entry(where, value, key)) for key in (RIGHT, WRONG))
    options = right + wrong
    if not 1 <= len(options) <= MOST_OPTIONS or not all(map(str.strip, options)):
        raise InputError(
            f"{where}: has the {len(options)} options {shown(options)}; give 1 to {MOST_OPTIONS}, "
            "one for each letter, and none empty"
        )
    boxes = value.get("boxes") or {}
    if not isinstance(boxes, Mapping):
        raise InputError(f"{where}: boxes: {shown(boxes)} is not an object; give human and object")
    named = {
        key: box_in(f"{where}: boxes.{key}", boxes[key])[0]
        for key in ("human", "object")
        if boxes.get(key) is not None
    }
    return Question(image=image, name=name, right=right, wrong=wrong, **named)


def box_in(where: str, value: Any, *, scored: bool = False) -> tuple[Box, float]:
    """Read a JSON box and its optional score, by default 1."""
    numbers = value if isinstance(value, list) else []
    right = len(numbers) in (4, 4 + scored) and all(
        isinstance(each, int | float) and not isinstance(each, bool) and abs(each) <= FARTHEST
        for each in numbers
    )
    if not right or numbers[2] < numbers[0] or numbers[3] < numbers[1]:
        more = ", and possibly a score" if scored else ""
        raise InputError(
            f"{where}: {shown(value)} is not a box; give left, top, right, bottom{more}"
        )
    x1, y1, x2, y2, score = map(float, (*numbers, 1.0)[:5])
    return (x1, y1, x2, y2), score


def _recognised(questions: list[Question]) -> Vocabulary | None:
    """Recognise the data set by image names and option texts."""
    for start, name in NAMES.items():
        if all(question.image.startswith(start) for question in questions):
            return vocabulary(name)
    options = [option for question in questions for option in question.options]
    if any(ARTICLE in option for option in options):
        return None
    swig = vocabulary("swig-hoi")
    verbs = set(swig.verbs)
    return swig if sum(option in verbs for option in options) > len(options) / 2 else None
