"""Write multiple-choice questions for a vision-language model.

A prompt has the picture, the question in the words of the published scripts (CrossHOI-Bench), the
lettered options, and the instruction on the answer format in the words of the paper (section 3.1).
The scripts word the instruction on the answer format slightly differently. The scripts' placeholder
``<image>`` is omitted, because the picture is sent along with the text. As in the scripts,
questions with fewer than four options are padded with "None". As by default in the scripts, a
person is described by box coordinates rather than drawn into the picture; here, the coordinates are
integers and their unit is stated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from diaghoi.choice.answers import FILLERS
from diaghoi.choice.classes import ARTICLE, NO_INTERACTION, option_text, parse_option
from diaghoi.choice.questions import LETTERS, Box, Question
from diaghoi.data.arrays import hashed
from diaghoi.formats.pictures import Frame
from diaghoi.language.answers import strip_reasoning

VERSION = 3
"""Version of the wording; answers to another version are not reused."""
FEWEST = 4
ASKED = {
    "pair": (
        "properly describes the interaction between the person and the object",
        "best describes the human-human interaction between the subject and the object",
    ),
    "person": (
        "describes the interactions between the target person and any object in the image",
        "best describes the interactions between the target person and any other persons in the "
        "image",
    ),
    "scene": (
        "properly describes the interactions in the image",
        "best describes the human-human interactions in the image",
    ),
}
"""Subject of the question by setting, for options with objects and for verbs between people, in the
words of the published scripts.
"""

INSTRUCTION = (
    "IMPORTANT: Reply with the letter(s) ONLY, separated by commas if multiple. For example, if "
    "the correct answers are (A) and (B), your output must be: A,B. Do NOT include any brackets "
    "or other symbols."
)
"""The instruction on the answer format, verbatim from section 3.1 of the paper: with another
instruction, a model gives other numbers.
"""
_NUMBER = r"\s*(-?\d{1,7}(?:\.\d{0,20})?)\s*"
_BOX = re.compile(rf"[\[(]{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}[\])]")
# A box as two corners, the format of the first models that were trained to output boxes.
_CORNERS = re.compile(rf"[\[(]{_NUMBER},{_NUMBER}[\])]\s*,?\s*[\[(]{_NUMBER},{_NUMBER}[\])]")
_NOBODY = re.compile(r"\[\s*\]")


def shown_order(question: Question, seed: int) -> tuple[str, ...]:
    """Shuffle the options of a question, and pad them with "None" up to four.

    The order depends only on the run's seed, the image and the question's name, not on earlier
    questions.
    """
    rng = hashed(json.dumps([seed, question.image, question.name]))
    options = [question.options[place] for place in rng.permutation(len(question.options))]
    return (*options, *FILLERS[:1] * (FEWEST - len(options)))


def question_text(
    options: Sequence[str],
    frame: Frame,
    person: Box | None = None,
    object_box: Box | None = None,
    instruction: str = INSTRUCTION,
) -> str:
    """Word a question.

    Parameters
    ----------
    options : sequence of str
        Options in displayed order, at most 26.
    frame : Frame
        Coordinate system of the picture.
    person, object_box : tuple of float, optional
        Pixel boxes of the person and the object in question; by default, the question is about
        everybody in the picture.
    instruction : str
        Instruction for answering, placed after the options; by default the paper's.
    """
    about = "scene" if person is None else "person" if object_box is None else "pair"
    lines = [question_words(options, about), "Choices:"]
    lines += (f"({letter}) {_worded(text)}" for letter, text in zip(LETTERS, options, strict=False))
    if person is None:
        return "\n".join((*lines, instruction))
    given = f"an image and a target person with a bounding box {frame.written(person)}."
    if object_box is not None:
        things = _name_objects(options)
        boxes, subject = ("", "Person") if things else ("human ", "Subject")
        given = (
            f"an image and two {boxes}bounding boxes:\n- {subject} bbox: {frame.written(person)}\n"
            f"- Object bbox: {frame.written(object_box)}"
        )
    # The published scripts do not state the unit: they ask one family of models, which expects
    # pixels.
    given += f"\nBoxes are {frame.words}."
    return "\n".join((f"Context: You are given {given}", *lines, instruction))


def question_words(options: Sequence[str], about: str) -> str:
    """Write the question about a "scene", a "person" or a "pair" as in the published scripts."""
    return f"Question: Which of the following {ASKED[about][not _name_objects(options)]}?"


def _name_objects(options: Sequence[str]) -> bool:
    return any(ARTICLE in option for option in options)


def _worded(option: str) -> str:
    """Unify the spelling of options without interaction; the files have three spellings."""
    if NO_INTERACTION not in option or ARTICLE not in option:
        return option
    named = parse_option(option)
    return option_text(named._replace(object=named.object.replace("_", " ")))


def people_text(frame: Frame) -> str:
    """Write the question for the boxes of all people."""
    return (
        "Find every person in the picture, also those in the background or partly hidden. Give the "
        f"box of each as {frame.words}. Reply with JSON alone, of the form "
        '{"boxes": [[12, 40, 85, 230], [101, 33, 160, 228]]}; if there is nobody, {"boxes": []}.'
    )


def read_boxes(reply: str, frame: Frame) -> tuple[Box, ...] | None:
    """Parse the boxes with an area in a reply, in pixels.

    Four numbers, or two pairs of numbers, in brackets form a box; preceding reasoning is ignored.
    Return None if the reply neither has a box nor says that there is nobody.
    """
    said = strip_reasoning(reply)
    numbers = _BOX.findall(said) or _CORNERS.findall(said)
    if not numbers:
        return () if _NOBODY.search(said) else None
    boxes = (frame.read([float(each) for each in four]) for four in numbers)
    return tuple(box for box in boxes if box[0] < box[2] and box[1] < box[3])
