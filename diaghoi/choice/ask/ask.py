"""Asking a vision-language model the questions of a benchmark (paper 002, sections 2.3 and 3.1).

Setting 1 asks about the whole picture, setting 2 about the person in a given box, setting 3 about
that person where it is found first. Each answer is a JSON line of the layout that
:mod:`diaghoi.choice.answers` reads, with the settings of the run beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from diaghoi.choice.ask.boxes_first import (
    Detections,
    as_boxes,
    found_person,
    people_text,
    read_boxes,
)
from diaghoi.choice.ask.prompts import question_text, shown_order
from diaghoi.choice.ask.settings import OF_PEOPLE, RECORDED, Settings, answered_before
from diaghoi.choice.questions import Box, Question, Questions
from diaghoi.exceptions import some_of
from diaghoi.formats.pictures.asking import (
    Find,
    Frame,
    ImageQuestions,
    SentPicture,
    ask_images,
    check_pictures,
    message,
    open_questions,
    picture_size,
    tokens_in,
)
from diaghoi.language.answers import AnswerFile, check_settings
from diaghoi.language.asking import Client

TOKENS_PER_REPLY = 4
TOKENS_PER_LIST_OF_PEOPLE = 80


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run takes at most.

    Parameters
    ----------
    questions, requests : int
        To be asked, and to be sent.
    tokens_in, tokens_out : int
        About so many, without those of a model that thinks aloud.
    outside : tuple of str
        Images in which a person asked about does not lie in the picture, so that it may be another
        one than was annotated.
    """

    questions: int
    requests: int
    tokens_in: int
    tokens_out: int
    outside: tuple[str, ...]

    def to_dict(self) -> dict[str, int]:
        """All counts as plain Python."""
        return {key: value for key, value in vars(self).items() if key != "outside"}


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What became of a run.

    Parameters
    ----------
    questions, before, answered : int
        That it is about, that were answered before, and that were answered now.
    problems : tuple of (image, why)
        Pictures that are missing or cannot be read, so that nothing was asked about them.
    unanswered : tuple of (image, why)
        That no reply came for; the next run asks again.
    without_person : int or None
        Questions that were not put, now or before, because the person was not found; None but in
        setting 3.
    unread : tuple of str
        Images whose reply about people holds no boxes that can be read.
    """

    questions: int
    before: int
    answered: int
    problems: tuple[tuple[str, str], ...]
    unanswered: tuple[tuple[str, str], ...]
    without_person: int | None
    unread: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """What was not asked or answered, a sentence each."""
        notes = []
        if self.without_person:
            notes.append(
                f"in {self.without_person:,} questions the person was not found; nothing is picked "
                "there"
            )
        if self.unread:
            notes.append(
                f"{len(self.unread)} replies about people hold no boxes that can be read: "
                f"{some_of(self.unread)}"
            )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Count questions and answers."""
        return {
            "questions": self.questions,
            "answered": self.before + self.answered,
            "answered_before": self.before,
            "without_person": self.without_person,
            "unread_people": list(self.unread),
        }


@dataclass(kw_only=True)
class Asker:
    """Asks a model what is not answered yet.

    Parameters
    ----------
    questions : Questions
        What is asked.
    settings : Settings
        How.
    client : Client
        The model.
    find : callable
        Gives the file of an image by its name, None where there is none.
    answers : AnswerFile
        Where answers are kept.
    people : AnswerFile or None
        Where the replies with the boxes of people are kept, in setting 3 without detections.
    detections : Detections or None
        The people whom a detector found, in setting 3.
    limit : int or None
        Only so many questions, the first of the file, are asked.
    workers : int
        Requests under way at a time.
    progress : callable
        Called with the number of questions that are done.
    """

    questions: Questions
    settings: Settings
    client: Client
    find: Find
    answers: AnswerFile
    people: AnswerFile | None = None
    detections: Detections | None = None
    limit: int | None = None
    workers: int = 8
    progress: Callable[[int], Any] = field(default=lambda questions: None)

    @cached_property
    def before(self) -> frozenset[tuple[str, str]]:
        """Image and name of the questions that were answered before."""
        return answered_before(self.answers, self.questions, self.settings)

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The questions that the run is about."""
        return self.questions.questions[: self.limit]

    @cached_property
    def known(self) -> dict[str, str]:
        """What the model said about the people of images before."""
        if self.people is None:
            return {}
        options = {key: RECORDED[key] for key in OF_PEOPLE}
        for number, line in enumerate(self.people.lines, 1):
            where = f"{self.people.path}: line {number}"
            check_settings(where, line, self.settings.recorded, options)
        return {str(line["image"]): str(line.get("reply")) for line in self.people.lines}

    @cached_property
    def groups(self) -> tuple[ImageQuestions, ...]:
        """What is to be asked."""
        places = {
            place for place, each in enumerate(self.asked) if (each.image, each.name) in self.before
        }
        return open_questions([each.image for each in self.asked], places)

    def estimate(self) -> Estimate:
        """Estimate the cost; pictures that are missing cost nothing."""
        questions = requests = 0
        tokens = 0.0
        outside = []
        for group in self.groups:
            path = self.find(group.image)
            size = None if path is None else picture_size(path)
            if size is None:
                continue
            frame = Frame(width=size[0], height=size[1], unit=self.settings.unit)
            if self.settings.setting > 1 and not all(
                frame.holds(self._boxes[place]) for place in group.places
            ):
                outside.append(group.image)
            texts = [self._text(place, frame) for place in group.places]
            questions += len(texts)
            if self.settings.finds and group.image not in self.known:
                texts.append(people_text(frame))
            requests += len(texts)
            tokens += tokens_in(texts, size)
        finding = (requests - questions) * TOKENS_PER_LIST_OF_PEOPLE
        return Estimate(
            questions=questions,
            requests=requests,
            tokens_in=round(tokens),
            tokens_out=questions * TOKENS_PER_REPLY + finding,
            outside=tuple(outside),
        )

    def remarks(self, cost: Estimate) -> list[str]:
        """State what to know before anything is asked, a sentence each."""
        notes = list(self.detections.notes) if self.detections is not None else []
        if cost.outside:
            notes.append(
                f"{len(cost.outside)} pictures do not hold the boxes of the people asked about: "
                f"{some_of(cost.outside)}; are these the pictures that were annotated?"
            )
        both = all(each.object is not None for each in self.asked)
        if self.settings.setting == 2 and both and not self.settings.object_box:
            notes.append(
                f"{self.questions.file}: the questions have boxes of objects, too, which are not "
                "sent; --object-box sends them"
            )
        return notes

    def run(self) -> RunResult:
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
            check_pictures(self.find, names, which)
        for file in (self.answers, self.people):
            if file is not None:
                file.repair()
        unasked = ask_images(
            self._work,
            self.groups,
            self.client,
            self.find,
            workers=self.workers,
            proven=bool(self.before),
            progress=self.progress,
        )
        without = sum("chosen" in line for line in self.answers.lines)
        return RunResult(
            questions=len(self.asked),
            before=sum((each.image, each.name) in self.before for each in self.asked),
            answered=self.answers.kept,
            problems=unasked.problems,
            unanswered=unasked.unanswered,
            without_person=without if self.settings.setting == 3 else None,
            unread=tuple(name for name, reply in self.known.items() if _read(reply) is None),
        )

    def _work(self, group: ImageQuestions, picture: SentPicture) -> None:
        """Ask the questions about an image, in a thread."""
        frame = Frame(width=picture.width, height=picture.height, unit=self.settings.unit)
        people = None
        if self.settings.setting == 3:
            people = self._found(group.image, picture, frame)
        for place in group.places:
            self._ask(place, picture, frame, people)

    def _found(self, image: str, picture: SentPicture, frame: Frame) -> tuple[Box, ...]:
        """Return the boxes of the people in an image."""
        if self.detections is not None:
            return self.detections.of(image)
        reply = self.known.get(image)
        if reply is None:
            assert self.people is not None
            reply = self.client.ask(message(picture.url, people_text(frame)))
            # Kept before its questions are asked: one that fails must not cost this reply again.
            recorded = {key: self.settings.recorded[key] for key in OF_PEOPLE}
            self.people.keep({"image": image, "reply": reply, **recorded})
            self.known[image] = reply
        return read_boxes(reply, frame) or ()

    def _ask(
        self, place: int, picture: SentPicture, frame: Frame, people: Sequence[Box] | None
    ) -> None:
        """Ask one question, and keep the answer."""
        question = self.asked[place]
        options = shown_order(question, self.settings.seed)
        line: dict[str, Any] = {
            "image": question.image,
            "question": question.name,
            "options": options,
        }
        person = self._boxes[place] if self.settings.setting > 1 else None
        if people is not None and person is not None:
            person = found_person(person, people, self.questions.protocol())
            line["box"] = None if person is None else [round(side, 2) for side in person]
            if person is None:
                self.answers.keep({**line, "chosen": [], **self.settings.recorded})
                return
        text = self._text(place, frame, person)
        reply = self.client.ask(message(picture.url, text))
        self.answers.keep({**line, "reply": reply, **self.settings.recorded})

    def _text(self, place: int, frame: Frame, person: Box | None = None) -> str:
        """Word a question; about the box in the file where no other is given."""
        if person is None and self.settings.setting > 1:
            person = self._boxes[place]
        options = shown_order(self.asked[place], self.settings.seed)
        object_box = self._object_boxes[place] if self.settings.object_box else None
        return question_text(
            options,
            frame,
            person=person,
            object_box=object_box,
            instruction=self.settings.instruction,
        )

    @cached_property
    def _boxes(self) -> tuple[Box, ...]:
        return as_boxes(self.questions.boxes("human").tolist())

    @cached_property
    def _object_boxes(self) -> tuple[Box, ...]:
        return as_boxes(self.questions.boxes("object").tolist())


def _read(reply: str) -> tuple[Box, ...] | None:
    return read_boxes(reply, Frame(width=1, height=1))
