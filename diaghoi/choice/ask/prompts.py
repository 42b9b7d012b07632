"""How multiple-choice questions are put to a vision-language model.

As in the paper (002, sections 2.2, 2.3 and 3.1): the picture, the question, the options behind
letters, and the instruction on the format of the answer, in the words of the paper, which does not
print how it words the question. Questions with fewer than four options are
filled up with "None", as the published scripts do. A person is given by the numbers of its box, and
not drawn into the picture: the paper provides the box, and the published default is numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from diaghoi.choice.answers import FILLERS
from diaghoi.choice.classes import ARTICLE, NO_INTERACTION, parse_option
from diaghoi.choice.questions import LETTERS, Box, Question
from diaghoi.data.arrays.seeding import hashed
from diaghoi.formats.pictures.asking import Frame

VERSION = 2
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
    others = "objects" if things else "other people"
    if person is None:
        asked = f"Which of these interactions of people with {others} does the picture show?"
    else:
        other = "object" if things else "second person"
        second = (
            "" if object_box is None else f" and the {other} in the box {frame.written(object_box)}"
        )
        whom = others if object_box is None else f"this {other}"
        asked = (
            f"The question is about the person in the box {frame.written(person)}{second}; boxes "
            f"are {frame.words}.\nWhich of these interactions does this person have with {whom}?"
        )
    lines = (f"({letter}) {_worded(text)}" for letter, text in zip(LETTERS, options, strict=False))
    return "\n".join((asked, *lines, instruction))


def _worded(option: str) -> str:
    """Write the options that say "no interaction" all in one way; the files have three."""
    if NO_INTERACTION not in option or ARTICLE not in option:
        return option
    return f"{NO_INTERACTION} with{ARTICLE}{parse_option(option).object.replace('_', ' ')}"
