"""How questions are asked, which is the same for all answers of a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diaghoi.choice.answers import FILLERS
from diaghoi.choice.ask.prompts import INSTRUCTION, VERSION
from diaghoi.choice.questions import Question, Questions
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import shown
from diaghoi.formats.pictures.asking import Unit
from diaghoi.language.answers import AnswerFile, check_settings

SETTINGS = (1, 2, 3)
# The people are found by the model that is asked.
BY_MODEL = "model"
# The name of the paper's instruction in answers; another one is written out.
PUBLISHED = "paper"
# What must be the same for all answers of a file, and the option that gives it.
RECORDED = {
    "model": "--model",
    "setting": "--setting",
    "seed": "--seed",
    "prompt": "",
    "instruction": "--instruction",
    "object_box": "--object-box",
    "coordinates": "--coordinates",
    "people": "--detections",
}
OF_PEOPLE = ("model", "prompt", "coordinates")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How questions are asked: the same for all answers of a file.

    Parameters
    ----------
    model : str
        The model, as the service calls it.
    setting : {1, 2, 3}
        Of the paper.
    seed : int
        Of the order of the options.
    object_box : bool
        Whether the box of the object is given, too, where that of a person is.
    unit : {"pixels", "thousandths"}
        How boxes are written.
    people : str
        In setting 3, who finds the people: "model", or the name of a file of detections.
    instruction : str
        How to answer, by default as the paper prints it.
    """

    model: str
    setting: int
    seed: int = 0
    object_box: bool = False
    unit: Unit = "pixels"
    people: str = ""
    instruction: str = INSTRUCTION

    @property
    def recorded(self) -> dict[str, Any]:
        """What is written beside each answer."""
        recorded: dict[str, Any] = {
            "model": self.model,
            "setting": self.setting,
            "seed": self.seed,
            "prompt": VERSION,
            "instruction": PUBLISHED if self.instruction == INSTRUCTION else self.instruction,
        }
        if self.setting > 1:
            recorded |= {"object_box": self.object_box, "coordinates": self.unit}
        return recorded | ({"people": self.people} if self.people else {})

    @property
    def finds(self) -> bool:
        """Whether the model is asked for people first."""
        return self.people == BY_MODEL


def setting_of(questions: Questions, setting: int | None, *, object_box: bool = False) -> int:
    """Choose the setting, and check that the questions have the boxes for it.

    Parameters
    ----------
    questions : Questions
        What is asked.
    setting : {1, 2, 3}, optional
        By default 2 where any question has the box of a person, else 1.
    object_box : bool
        Whether boxes of objects are needed, too.

    Raises
    ------
    InputError
        For another setting, and a question without a box that is needed.
    """
    if setting is None:
        setting = 2 if any(each.human for each in questions.questions) else 1
    if setting not in SETTINGS:
        raise InputError(f"--setting {setting}: give 1, 2 or 3")
    if object_box and setting != 2:
        raise InputError(
            "--object-box: objects are given beside the person that is asked about, in setting 2, "
            f"and this is setting {setting}; leave it out"
        )
    for each in questions.questions:
        if setting > 1 and each.human is None:
            raise InputError(
                f"{questions.file}: {each.where} has no box of the person, which setting "
                f"{setting} needs; give questions with boxes, or --setting 1"
            )
        if object_box and each.object is None:
            raise InputError(
                f"{questions.file}: {each.where} has no box of the object; leave --object-box out"
            )
    return setting


def read_instruction(path: Path) -> str:
    """Read an instruction that replaces the one of the paper.

    Raises
    ------
    InputError
        For a file that is not text, or empty.
    """
    try:
        text = ordinary(path).read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; give the instruction as text") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    if not text:
        raise InputError(f"{path}: is empty; give the instruction, or leave --instruction out")
    return text


def answered_before(
    file: AnswerFile, questions: Questions, settings: Settings
) -> frozenset[tuple[str, str]]:
    """Find which questions a file answers.

    Parameters
    ----------
    file : AnswerFile
        Of answers.
    questions : Questions
        What is asked.
    settings : Settings
        How.

    Returns
    -------
    frozenset of (image, name)
        The questions.

    Raises
    ------
    InputError
        Where the answers are to other questions, or were asked with other settings.
    """
    found: set[tuple[str, str]] = set()
    for number, line in enumerate(file.lines, 1):
        where = f"{file.path}: line {number}"
        check_settings(where, line, settings.recorded, RECORDED)
        image: Any = line["image"]
        name: Any = line.get("question")
        named = isinstance(image, str) and isinstance(name, str)
        place = questions.index_of.get((image, name)) if named else None
        if place is None or not _same(line.get("options"), questions.questions[place]):
            raise InputError(
                f"{where}: image {shown(image)}: {shown(name)} with these options is not a "
                f"question of {questions.file}; give another --out"
            )
        if (image, name) in found:
            raise InputError(f"{where}: image {image!r}: {name} is answered twice; keep one")
        found.add((image, name))
    return frozenset(found)


def _same(options: Any, question: Question) -> bool:
    """Whether these are the options of a question, and fillers; "None" may be either."""
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        return False
    given, own = Counter(options), Counter(question.options)
    return own <= given and (given - own).keys() <= set(FILLERS)
