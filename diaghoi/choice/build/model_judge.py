"""A vision-language model as a judge: it sees the picture and is asked about each candidate.

Section 2.2 of the paper (002), which does not publish its prompts. Here a model gets the picture,
the box of the person where the question is about one, and what is annotated, and says of each
candidate whether it is consistent with the picture. Answers are saved one by one as they arrive, so
that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from diaghoi.choice.build.candidates import Target
from diaghoi.choice.build.judges import JudgeRequest, Verdicts
from diaghoi.choice.build.options import option_text
from diaghoi.choice.classes import Interaction
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.pictures.asking import Find, Frame, check_pictures, message, sent_picture
from diaghoi.language.answers import AnswerStore
from diaghoi.language.asking import Client, ask_all, strip_reasoning

VERSION = 1
"""To be increased with the wording, so that saved answers to another wording are not reused."""
KIND = "interaction"

_TASK = (
    "The picture shows people and objects. Their interactions were annotated, but not all of "
    "them, and a still picture leaves some open. Below is a numbered list of further "
    "interactions. Say of each whether it is consistent with the picture: yes if {who} does it, "
    "may be doing it, or did it or will do it a moment before or after; no if the picture speaks "
    "against it."
)
_REPLY = (
    "Reply with one line for each number, the number and yes or no, such as 1: no, and nothing "
    "else."
)
_AGAIN = "Your last reply could not be read. "
_LINE = re.compile(r"[\W_]*(\d{1,4})[\W_]+(yes|no)\b[\W_]*.*", re.IGNORECASE)


def judge_text(
    target: Target, candidates: Sequence[Interaction], frame: Frame, *, again: bool = False
) -> str:
    """Write the question about some candidates.

    Parameters
    ----------
    target : Target
        The image or person.
    candidates : sequence of Interaction
        Numbered from 1 in the text.
    frame : Frame
        Coordinates of the picture.
    again : bool
        Whether to say that the last reply could not be read.
    """
    who = "anybody in the picture" if target.box is None else "this person"
    lines = [_TASK.format(who=who)]
    if target.box is not None:
        lines.append(
            f"All is about the person in the box {frame.written(target.box)}; boxes are "
            f"{frame.words}."
        )
    lines.append(f"Annotated: {', '.join(map(_display, sorted(target.annotated)))}.")
    lines += [f"{number}. {_display(each)}" for number, each in enumerate(candidates, 1)]
    lines.append(f"{_AGAIN if again else ''}{_REPLY}")
    return "\n".join(lines)


def _display(found: Interaction) -> str:
    return option_text(found).replace("_", " ")


def read_judgement(reply: str, candidates: int) -> list[bool | None]:
    """Parse which candidates a reply calls consistent.

    Parameters
    ----------
    reply : str
        Text of the reply; reasoning in tags is skipped.
    candidates : int
        Number of candidates asked about.

    Returns
    -------
    list of bool or None
        None where the reply says neither, or both.
    """
    answers: dict[int, set[bool]] = {}
    for line in strip_reasoning(reply).splitlines():
        match = _LINE.fullmatch(line)
        if match:
            answers.setdefault(int(match[1]), set()).add(match[2].lower() == "yes")
    found = [answers.get(number, set()) for number in range(1, candidates + 1)]
    # A model that repeats itself is read, one that contradicts itself is not.
    return [next(iter(each)) if len(each) == 1 else None for each in found]


@dataclass(kw_only=True)
class ModelJudge:
    """Asks a model about the candidates that are not in the store.

    Parameters
    ----------
    client : Client
        The model.
    find : callable
        Returns the file of an image by its name, None where there is none.
    store : AnswerStore
        Where answers are saved.
    workers : int
        Number of parallel requests.
    asks : int
        How often to ask about candidates while replies cannot be read.
    progress : callable
        Called with the number of candidates that are done.
    problems, unanswered : dict of str
        Why a picture cannot be sent, or has no reply, by image; filled in during the run.
    unread : int
        Candidates without a readable reply; counted during the run.
    """

    client: Client
    find: Find
    store: AnswerStore
    workers: int = 8
    asks: int = 3
    progress: Callable[[int], Any] = field(default=lambda candidates: None)
    problems: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    unread: int = 0

    sees_pictures = True

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.client.endpoint.model

    @property
    def notes(self) -> tuple[str, ...]:
        """Pictures that could not be sent, and candidates without a verdict."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        missing = {
            "pictures cannot be shown": self.problems,
            "images had no reply; the same command asks again": self.unanswered,
        }
        for what, images in missing.items():
            if images:
                first = next(iter(images))
                yield (
                    f"{self.name}: {len(images)} {what}: {some_of(list(images))} "
                    f"({first}: {images[first]})"
                )
        if self.unread:
            yield (
                f"{self.name}: has no valid reply on {self.unread} candidates, which are no "
                "negatives by it; --ask-again asks again"
            )

    def requests(self, asked: Sequence[JudgeRequest]) -> int:
        """Count the requests that are needed beyond the saved answers."""
        known = self.store.answers(self.name)
        return sum(
            any(_key(one.target, each) not in known for each in one.candidates) for one in asked
        )

    def judge(self, asked: Sequence[JudgeRequest]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target.

        Raises
        ------
        InputError
            Where the server does not reply or refuses; its earlier answers stay saved.
        """
        known = self.store.answers(self.name)
        left = []
        for one in asked:
            unknown = tuple(e for e in one.candidates if _key(one.target, e) not in known)
            self.progress(len(one.candidates) - len(unknown))
            if unknown:
                left.append(JudgeRequest(one.target, unknown))
        names = [one.target.image for one in left]
        check_pictures(self.find, names, f"that {self.name} is to judge")
        for outcome in ask_all(self._converse, left, self.client, workers=self.workers):
            self.progress(len(outcome.tag.candidates))
            if outcome.failure:
                self.unanswered[outcome.tag.target.image] = outcome.failure
        known = self.store.answers(self.name)
        found: list[Verdicts] = []
        for one in asked:
            keys = {each: _key(one.target, each) for each in one.candidates}
            scores = {each: known[key] for each, key in keys.items() if key in known}
            self.unread += sum(score is None for score in scores.values())
            found.append({e: bool(score) for e, score in scores.items() if score is not None})
        return found

    def _converse(self, one: JudgeRequest) -> None:
        """Ask about one target until all replies can be read; save each answer as it arrives."""
        try:
            picture = sent_picture(self.find, one.target.image)
        except InputError as error:
            self.problems[one.target.image] = str(error)
            return
        frame = Frame(width=picture.width, height=picture.height)
        # Each round asks only about the candidates whose verdict could not be read yet.
        left, reply = one.candidates, ""
        for attempt in range(self.asks):
            text = judge_text(one.target, left, frame, again=attempt > 0)
            reply = self.client.ask(message(picture.url, text))
            said = dict(zip(left, read_judgement(reply, len(left)), strict=True))
            self._keep(one.target, {e: each for e, each in said.items() if each is not None}, reply)
            left = tuple(each for each in left if said[each] is None)
            if not left:
                return
        self._keep(one.target, dict.fromkeys(left), reply)

    def _keep(self, target: Target, said: dict[Interaction, bool | None], reply: str) -> None:
        rows = (
            (_key(target, e), KIND, target.image, e.name, None if v is None else int(v), reply)
            for e, v in said.items()
        )
        self.store.keep(self.name, rows)


def _key(target: Target, candidate: Interaction) -> str:
    """Identify a question by all that its answer depends on: 32 hexadecimal digits."""
    identity = json.dumps([VERSION, target.image, target.box, sorted(target.annotated), candidate])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]
