"""Asking a vision-language model the questions of a benchmark (paper 002, sections 2.3 and 3.1).

Setting 1 asks about the whole picture, setting 2 about the person in a given box, setting 3 about
that person where it is found first, by the model itself or a detector. There a question is asked
where a box reaches IoU 0.5 with that of the person asked about, with the found box, not the
annotated one; where none does, nothing is picked. Of several the one that overlaps most is taken;
the published scripts take the first, and IoU > 0.5 of continuous boxes where here it is >= 0.5
under the convention of the data set.

Each answer is a JSON line of the layout that :mod:`diaghoi.choice.answers` reads, with the settings
of the run beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi.choice import prompts
from diaghoi.choice.answers import FILLERS
from diaghoi.choice.people import Detections, found_person
from diaghoi.choice.questions import Box, Question, Questions, as_boxes
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import pictures
from diaghoi.formats.checks import shown
from diaghoi.language.answers import AnswerFile, check_settings
from diaghoi.language.asking import Client

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
TOKENS_PER_REPLY = 4
TOKENS_PER_LIST_OF_PEOPLE = 80


def setting_of(questions: Questions, setting: int | None, *, object_box: bool = False) -> int:
    """Choose the setting: by default 2 where any question has the box of a person, else 1.

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
    if setting > 1:
        what = f"box of the person, which setting {setting} needs"
        questions.check_boxes(["human"], what, "give questions with boxes, or --setting 1")
    if object_box:
        questions.check_boxes(["object"], "box of the object", "leave --object-box out")
    return setting


def read_instruction(path: Path) -> str:
    """Read an instruction that replaces the one of the paper; refuse what is no text, or empty."""
    try:
        text = ordinary(path).read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; give the instruction as text") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    if not text:
        raise InputError(f"{path}: is empty; give the instruction, or leave --instruction out")
    return text


class Estimate(NamedTuple):
    """What a run takes at most: tokens are estimates, without those of a model that thinks aloud.

    ``outside`` names the images in which a person asked about does not lie in the picture, so that
    it may be another one than was annotated.
    """

    questions: int
    requests: int
    tokens_in: int
    tokens_out: int
    outside: tuple[str, ...]


@dataclass(kw_only=True)
class Asker:
    """Asks a model what is not answered yet.

    Parameters
    ----------
    questions, client : Questions, Client
        What is asked, and the model.
    find : callable
        Gives the file of an image by its name, None where there is none.
    answers, people : AnswerFile
        Where answers are kept; in setting 3 without detections, replies with boxes of people, too.
    setting : {1, 2, 3}
        Of the paper.
    detections : Detections or None
        The people whom a detector found, in setting 3.
    seed : int
        Of the order of the options.
    object_box : bool
        Whether the box of the object is given, too, where that of a person is.
    unit : {"pixels", "thousandths"}
        How boxes are written.
    instruction : str
        How to answer, by default as the paper prints it.
    limit, workers : int
        How many questions are asked, the first of the file, and requests under way at a time.
    progress : callable
        Called with the number of questions that are done.
    """

    questions: Questions
    client: Client
    find: pictures.Find
    answers: AnswerFile
    setting: int
    people: AnswerFile | None = None
    detections: Detections | None = None
    seed: int = 0
    object_box: bool = False
    unit: pictures.Unit = "pixels"
    instruction: str = prompts.INSTRUCTION
    limit: int | None = None
    workers: int = 8
    progress: Callable[[int], Any] = field(default=lambda questions: None)

    @cached_property
    def recorded(self) -> dict[str, Any]:
        """What is written beside each answer: the same for all answers of a file."""
        published = self.instruction == prompts.INSTRUCTION
        recorded: dict[str, Any] = {
            "model": self.client.endpoint.model,
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
    def before(self) -> frozenset[tuple[str, str]]:
        """Image and name of the questions that were answered before; refuses answers to others."""
        answered: set[tuple[str, str]] = set()
        for number, line in enumerate(self.answers.lines, 1):
            where = f"{self.answers.path}: line {number}"
            check_settings(where, line, self.recorded, RECORDED)
            image: Any = line["image"]
            name: Any = line.get("question")
            named = isinstance(image, str) and isinstance(name, str)
            place = self.questions.index_of.get((image, name)) if named else None
            if place is None or not _same(line.get("options"), self.questions.questions[place]):
                raise InputError(
                    f"{where}: image {shown(image)}: {shown(name)} with these options is not a "
                    f"question of {self.questions.file}; give another --out"
                )
            if (image, name) in answered:
                raise InputError(f"{where}: image {image!r}: {name} is answered twice; keep one")
            answered.add((image, name))
        return frozenset(answered)

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The questions that the run is about."""
        return self.questions.questions[: self.limit]

    @cached_property
    def known(self) -> dict[str, str]:
        """What the model said about the people of images."""
        if self.people is None:
            return {}
        options = {key: RECORDED[key] for key in OF_PEOPLE}
        for number, line in enumerate(self.people.lines, 1):
            where = f"{self.people.path}: line {number}"
            check_settings(where, line, self.recorded, options)
        return {str(line["image"]): str(line.get("reply")) for line in self.people.lines}

    @cached_property
    def groups(self) -> tuple[pictures.ImageQuestions, ...]:
        """What is to be asked."""
        places = {
            place for place, each in enumerate(self.asked) if (each.image, each.name) in self.before
        }
        return pictures.open_questions([each.image for each in self.asked], places)

    def estimate(self) -> Estimate:
        """Estimate the cost; pictures that are missing cost nothing."""
        questions, lists, tokens = 0, 0, 0.0
        outside = []
        for group in self.groups:
            path = self.find(group.image)
            size = None if path is None else pictures.picture_size(path)
            if size is None:
                continue
            frame = pictures.Frame(width=size[0], height=size[1], unit=self.unit)
            boxes = [self._boxes[place][0] for place in group.places if self.setting > 1]
            if not all(map(frame.holds, boxes)):
                outside.append(group.image)
            texts = [self._text(place, frame) for place in group.places]
            questions += len(texts)
            if self.people is not None and group.image not in self.known:
                texts.append(prompts.people_text(frame))
                lists += 1
            tokens += pictures.tokens_in(texts, size)
        tokens_out = questions * TOKENS_PER_REPLY + lists * TOKENS_PER_LIST_OF_PEOPLE
        return Estimate(questions, questions + lists, round(tokens), tokens_out, tuple(outside))

    def remarks(self, cost: Estimate) -> list[str]:
        """State what to know before anything is asked, a sentence each."""
        notes = list(self.detections.notes) if self.detections is not None else []
        if cost.outside:
            notes.append(
                f"{len(cost.outside)} pictures do not hold the boxes of the people asked about: "
                f"{some_of(cost.outside)}; are these the pictures that were annotated?"
            )
        both = all(each.object is not None for each in self.asked)
        if self.setting == 2 and both and not self.object_box:
            notes.append(
                f"{self.questions.file}: the questions have boxes of objects, too, which are not "
                "sent; --object-box sends them"
            )
        return notes

    def run(self) -> pictures.Unasked:
        """Ask; each answer is kept as it comes.

        Raises
        ------
        InputError
            Where no picture is there, the server stays without replies or refuses, or nothing can
            be written; what was answered before is kept.
        """
        if not self.before:
            names = [group.image for group in self.groups]
            which = f"of {self.questions.file} that are to be asked about"
            pictures.check_pictures(self.find, names, which)
        for file in (self.answers, self.people):
            if file is not None:
                file.repair()
        return pictures.ask_images(
            self._work,
            self.groups,
            self.client,
            self.find,
            workers=self.workers,
            proven=bool(self.before),
            progress=self.progress,
        )

    def result(self) -> tuple[dict[str, Any], list[str]]:
        """Count questions and answers, and say in notes what was not asked or not read."""
        before = sum((each.image, each.name) in self.before for each in self.asked)
        without = sum("chosen" in line for line in self.answers.lines)
        frame = pictures.Frame(width=1, height=1)
        unread = [
            name for name, reply in self.known.items() if prompts.read_boxes(reply, frame) is None
        ]
        result = {
            "questions": len(self.asked),
            "answered": before + self.answers.kept,
            "answered_before": before,
            "without_person": without if self.setting == 3 else None,
            "unread_people": unread,
        }
        lost = f"in {without:,} questions the person was not found; nothing is picked there"
        notes = [lost] if without and self.setting == 3 else []
        if unread:
            what = "replies about people hold no boxes that can be read"
            notes.append(f"{len(unread)} {what}: {some_of(unread)}")
        return result, notes

    def _work(self, group: pictures.ImageQuestions, picture: pictures.SentPicture) -> None:
        """Ask the questions about an image, in a thread, and keep the answers."""
        frame = pictures.Frame(width=picture.width, height=picture.height, unit=self.unit)
        finding = self.setting == 3
        people = self._found(group.image, picture.url, frame) if finding else ()
        for place in group.places:
            question = self.asked[place]
            line: dict[str, Any] = {
                "image": question.image,
                "question": question.name,
                "options": prompts.shown_order(question, self.seed),
            }
            person = None
            if finding:
                person = found_person(self._boxes[place][0], people, self.questions.protocol())
                line["box"] = None if person is None else [round(side, 2) for side in person]
            if finding and person is None:
                line["chosen"] = []
            else:
                text = self._text(place, frame, person)
                line["reply"] = self.client.ask(pictures.message(picture.url, text))
            self.answers.keep({**line, **self.recorded})

    def _found(self, image: str, url: str, frame: pictures.Frame) -> tuple[Box, ...]:
        """Return the boxes of the people in an image."""
        if self.detections is not None:
            return self.detections.people.get(image, ())
        reply = self.known.get(image)
        if reply is None:
            assert self.people is not None
            reply = self.client.ask(pictures.message(url, prompts.people_text(frame)))
            # Kept before its questions are asked: one that fails must not cost this reply again.
            recorded = {key: self.recorded[key] for key in OF_PEOPLE}
            self.people.keep({"image": image, "reply": reply, **recorded})
            self.known[image] = reply
        return prompts.read_boxes(reply, frame) or ()

    def _text(self, place: int, frame: pictures.Frame, person: Box | None = None) -> str:
        """Word a question; about the box in the file where no other is given."""
        if person is None and self.setting > 1:
            person = self._boxes[place][0]
        options = prompts.shown_order(self.asked[place], self.seed)
        thing = self._boxes[place][1] if self.object_box else None
        return prompts.question_text(options, frame, person, thing, self.instruction)

    @cached_property
    def _boxes(self) -> list[tuple[Box, ...]]:
        """The zero-based boxes of person and object of each question."""
        humans, objects = self.questions.boxes("human"), self.questions.boxes("object")
        return [as_boxes(pair) for pair in zip(humans.tolist(), objects.tolist(), strict=True)]


def _same(options: Any, question: Question) -> bool:
    """Whether these are the options of a question, and fillers; "None" may be either."""
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        return False
    given, own = Counter(options), Counter(question.options)
    return own <= given and (given - own).keys() <= set(FILLERS)
