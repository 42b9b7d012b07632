"""Ask a vision-language model the questions of a benchmark (CrossHOI-Bench, 2.3 and 3.1).

Setting 1 asks about the whole picture, setting 2 about the person in a given box, and setting 3
about that person after the model or a detector has found them. Setting 3 uses the found box instead
of the annotated one if a found box reaches IoU 0.5 with the person in question; otherwise nothing
is picked. Among several boxes, the one with the largest overlap counts. The published scripts use
the first box, and IoU > 0.5 of boxes of width x2 - x1, whereas this package uses IoU >= 0.5 under
the convention of the data set.

Each answer is a JSON line in the layout of :mod:`diaghoi.choice.answers`, along with the settings
of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from diaghoi.choice import prompts
from diaghoi.choice.answers import FILLERS
from diaghoi.choice.people import Detections, found_person
from diaghoi.choice.questions import Box, Question, Questions, origin_of, shifted
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import pictures
from diaghoi.language.answers import AnswerFile

SETTINGS = (1, 2, 3)
# The answering model also finds the people.
BY_MODEL = "model"
# Name of the paper's instruction in answers; any other instruction is written out.
PUBLISHED = "paper"
OF_PEOPLE = ("model", "prompt", "coordinates")


def setting_of(questions: Questions, setting: int | None, *, object_box: bool = False) -> int:
    """Choose the setting: by default 2 if any question has a person box, otherwise 1.

    Raises
    ------
    InputError
        If the setting is unknown, or a question lacks a box that it needs.
    """
    if setting is None:
        setting = 2 if any(each.human for each in questions.questions) else 1
    if setting not in SETTINGS:
        raise InputError(f"--setting {setting}: give 1, 2 or 3")
    if object_box and setting != 2:
        raise InputError(
            "--object-box: applies to setting 2, which gives the object box with the person, but "
            f"this is setting {setting}; leave it out"
        )
    if setting > 1:
        questions.check_boxes(["human"], "give questions with boxes, or --setting 1")
    if object_box:
        questions.check_boxes(["object"], "leave --object-box out")
    return setting


def read_instruction(path: Path) -> str:
    """Read an instruction that replaces the paper's; the file must be nonempty text."""
    try:
        text = ordinary(path).read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; give the instruction as text") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    if not text:
        raise InputError(f"{path}: is empty; give the instruction, or leave --instruction out")
    return text


@dataclass(kw_only=True)
class Asker(pictures.FileAsker):
    """Runner that asks a model the unanswered questions.

    Parameters
    ----------
    questions : Questions
        The questions to ask. The parameters not listed are those of
        :class:`diaghoi.formats.pictures.FileAsker`.
    setting : {1, 2, 3}
        Setting of the paper: whole picture, given person or found person.
    people : AnswerFile or None
        Store of the replies that give person boxes; needed in setting 3 if there are no detections.
    detections : Detections or None
        People found by a detector, in setting 3.
    seed : int
        Seed of the option order.
    object_box : bool
        Whether questions with a person box also give the object box.
    instruction : str
        Instruction for answering, by default the paper's.
    """

    questions: Questions
    setting: int
    people: AnswerFile | None = None
    detections: Detections | None = None
    seed: int = 0
    object_box: bool = False
    instruction: str = prompts.INSTRUCTION

    settings: ClassVar[Mapping[str, str]] = {
        "model": "--model",
        "setting": "--setting",
        "seed": "--seed",
        "prompt": "",
        "instruction": "--instruction",
        "object_box": "--object-box",
        "coordinates": "--coordinates",
        "people": "--detections",
    }
    noun = "questions"
    reply_tokens = 4, 80
    once = True

    @cached_property
    def recorded(self) -> dict[str, Any]:
        """The settings written with each answer, which are the same for all answers in a file."""
        published = self.instruction == prompts.INSTRUCTION
        recorded: dict[str, Any] = {
            "model": self.model,
            "setting": self.setting,
            "seed": self.seed,
            "prompt": prompts.VERSION,
            "instruction": PUBLISHED if published else self.instruction,
        }
        if self.setting > 1:
            recorded |= {"object_box": self.object_box, "coordinates": self.unit}
        if self.setting == 3:
            recorded["people"] = BY_MODEL if self.detections is None else self.detections.name
        return recorded

    @cached_property
    def known(self) -> dict[str, str]:
        """The model's replies about the people in images."""
        if self.people is None:
            return {}
        self.people.check(self.recorded, {key: self.settings[key] for key in OF_PEOPLE})
        return {str(line["image"]): str(line.get("reply")) for line in self.people.lines}

    def question_of(self, line: Mapping[str, Any]) -> Question | None:
        """Return the question that a line answers; None if the line has other options."""
        image, name, options = line["image"], line.get("question"), line.get("options")
        if not isinstance(image, str) or not isinstance(name, str):
            return None
        place = self.questions.index_of.get((image, name))
        question = None if place is None else self.questions.questions[place]
        return question if question is not None and _same(options, question) else None

    def boxes_of(self, question: Question) -> tuple[Box, ...]:
        """Return the box of the person in a question."""
        return (self._zero_based(question.human),) if self.setting > 1 else ()

    def texts(self, group: pictures.ImageQuestions, frame: pictures.Frame) -> list[str]:
        """Write the questions about an image, and about its people if they are still unknown."""
        texts = [self._text(each, frame) for each in group.questions]
        if self.people is not None and group.image not in self.known:
            texts.append(prompts.people_text(frame))
        return texts

    def remarks(self, cost: pictures.Estimate) -> list[str]:
        """List what the user should know before anything is asked, one sentence each."""
        notes = list(self.detections.notes) if self.detections is not None else []
        notes += super().remarks(cost)
        both = all(each.object is not None for each in self.asked)
        if self.setting == 2 and both and not self.object_box:
            notes.append(
                f"{self.questions.file}: the questions also have object boxes, which are not "
                "sent; --object-box sends them"
            )
        return notes

    def run(self) -> pictures.Unasked:
        """Ask the questions, and store each answer and each reply about people as it arrives."""
        if self.people is not None:
            self.people.repair()
        return super().run()

    def outcome(self) -> tuple[dict[str, Any], str, list[str]]:
        """Return the outcome of finding people, the text for the status line, and notes."""
        without = sum("chosen" in line for line in self.answers.lines)
        frame = pictures.Frame(width=1, height=1)
        unread = [
            name for name, reply in self.known.items() if prompts.read_boxes(reply, frame) is None
        ]
        found_first = self.setting == 3
        result = {"without_person": without if found_first else None, "unread_people": unread}
        notes = []
        if without and found_first:
            notes.append(
                f"in {without:,} questions, the person was not found and nothing is picked"
            )
        if unread:
            what = "replies about people have no readable boxes"
            notes.append(f"{len(unread)} {what}: {some_of(unread)}")
        return result, f"; {self.model}, setting {self.setting}, seed {self.seed}", notes

    def work(self, group: pictures.ImageQuestions, url: str, frame: pictures.Frame) -> None:
        """Ask the questions about an image, in a thread, and store the answers."""
        found_first = self.setting == 3
        people = self._found(group.image, url, frame) if found_first else ()
        for question in group.questions:
            line: dict[str, Any] = {
                "image": question.image,
                "question": question.name,
                "options": list(prompts.shown_order(question, self.seed)),
            }
            person = None
            if found_first:
                annotated = self._zero_based(question.human)
                person = found_person(annotated, people, self.questions.protocol())
                line["box"] = None if person is None else [round(side, 2) for side in person]
            if found_first and person is None:
                line["chosen"] = []
            else:
                text = self._text(question, frame, person)
                line["reply"] = self.client.ask(pictures.message(url, text))
            self.answers.keep({**line, **self.recorded})

    def _found(self, image: str, url: str, frame: pictures.Frame) -> tuple[Box, ...]:
        """Return the boxes of the people in an image."""
        if self.detections is not None:
            return self.detections.people.get(image, ())
        reply = self.known.get(image)
        if reply is None:
            assert self.people is not None
            reply = self.client.ask(pictures.message(url, prompts.people_text(frame)))
            # The reply about people is stored before the image's questions are asked, so that a
            # failed question does not mean paying twice for the reply.
            recorded = {key: self.recorded[key] for key in OF_PEOPLE}
            self.people.keep({"image": image, "reply": reply, **recorded})
            self.known[image] = reply
        return prompts.read_boxes(reply, frame) or ()

    def _text(self, question: Question, frame: pictures.Frame, person: Box | None = None) -> str:
        """Write a question, by default about the person box in the file."""
        if person is None and self.setting > 1:
            person = self._zero_based(question.human)
        options = prompts.shown_order(question, self.seed)
        thing = self._zero_based(question.object) if self.object_box else None
        return prompts.question_text(options, frame, person, thing, self.instruction)

    def _zero_based(self, box: Box | None) -> Box:
        assert box is not None  # checked by setting_of
        return shifted(box, -origin_of(self.questions.dataset))


def _same(options: Any, question: Question) -> bool:
    """Check whether texts are a question's options plus fillers; "None" may be either."""
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        return False
    given, own = Counter(options), Counter(question.options)
    return own <= given and (given - own).keys() <= set(FILLERS)
