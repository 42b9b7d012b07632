"""How multiple-choice questions are put to a vision-language model.

The picture, the question in the words of the published scripts (CrossHOI-Bench, paper 002), the
options behind letters, and the instruction on the format of the answer, in the words of the paper
(section 3.1); the scripts word that instruction in a slightly different way. Their placeholder
``<image>`` is left out: the picture is sent beside the text. Questions with fewer than four options
are filled up with "None", as there. A person is given by the numbers of its box, and not drawn into
the picture, which is the default there; here they are whole numbers, and what they count is said.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from diaghoi.choice.answers import FILLERS
from diaghoi.choice.classes import ARTICLE, NO_INTERACTION, parse_option
from diaghoi.choice.questions import LETTERS, Box, Question
from diaghoi.data.arrays import hashed
from diaghoi.formats.pictures.asking import Frame

VERSION = 3
"""Changes with the wording, so that answers to another wording are not taken for these."""
FEWEST = 4

INSTRUCTION = (
    "IMPORTANT: Reply with the letter(s) ONLY, separated by commas if multiple. For example, if "
    "the correct answers are (A) and (B), your output must be: A,B. Do NOT include any brackets "
    "or other symbols."
)
"""The instruction on the format of the answer, word for word as section 3.1 of the paper prints it:
a model that gets another one gives other figures."""


def shown_order(question: Question, seed: int) -> tuple[str, ...]:
    """Shuffle the options of a question.

    Parameters
    ----------
    question : Question
        What is asked.
    seed : int
        Of the run. The order depends on it, the image and the name of the question alone, and so
        not on what was asked before.

    Returns
    -------
    tuple of str
        The options, and "None" behind them for each that is missing from four.
    """
    rng = hashed(json.dumps([seed, question.image, question.name]))
    options = [question.options[place] for place in rng.permutation(len(question.options))]
    return (*options, *FILLERS[:1] * (FEWEST - len(options)))


def question_text(
    options: Sequence[str],
    frame: Frame,
    *,
    person: Box | None = None,
    object_box: Box | None = None,
    instruction: str = INSTRUCTION,
) -> str:
    """Word a question.

    Parameters
    ----------
    options : sequence of str
        In the order in which they are shown, at most 26.
    frame : Frame
        Of the picture.
    person, object_box : tuple of float, optional
        Boxes in pixels of the person and the object that the question is about; by default it is
        about everybody in the picture.
    instruction : str
        What follows the options: how to answer; by default as the paper prints it.
    """
    things = any(ARTICLE in option for option in options)
    lines = [question_words(things, about_person=person is not None, about_pair=bool(object_box))]
    if person is not None:
        lines.insert(0, _context(frame, person, object_box, "Person" if things else "Subject"))
    lines.append("Choices:")
    lines += (f"({letter}) {_worded(text)}" for letter, text in zip(LETTERS, options, strict=False))
    return "\n".join((*lines, instruction))


def question_words(things: bool, *, about_person: bool, about_pair: bool = False) -> str:
    """Word what is asked, as the published scripts do.

    Parameters
    ----------
    things : bool
        Whether the options name objects; verbs alone are of what people do to one another.
    about_person, about_pair : bool
        Whether it is about a given person, and about a given object or second person, too.
    """
    if about_pair:
        asked = (
            "properly describes the interaction between the person and the object"
            if things
            else "best describes the human-human interaction between the subject and the object"
        )
    elif about_person:
        asked = (
            "describes the interactions between the target person and any object in the image"
            if things
            else "best describes the interactions between the target person and any other persons "
            "in the image"
        )
    else:
        asked = (
            "properly describes the interactions in the image"
            if things
            else "best describes the human-human interactions in the image"
        )
    return f"Question: Which of the following {asked}?"


def _context(frame: Frame, person: Box, object_box: Box | None, subject: str) -> str:
    """Say whom the question is about."""
    if object_box is None:
        given = f"an image and a target person with a bounding box {frame.written(person)}."
    else:
        boxes = "two bounding boxes" if subject == "Person" else "two human bounding boxes"
        given = (
            f"an image and {boxes}:\n- {subject} bbox: {frame.written(person)}\n"
            f"- Object bbox: {frame.written(object_box)}"
        )
    # The published scripts do not say so: they ask one family of models, which reads pixels.
    return f"Context: You are given {given}\nBoxes are {frame.words}."


def _worded(option: str) -> str:
    """Write the options that say "no interaction" all in one way; the files have three."""
    if NO_INTERACTION not in option or ARTICLE not in option:
        return option
    return f"{NO_INTERACTION} with{ARTICLE}{parse_option(option).object.replace('_', ' ')}"
