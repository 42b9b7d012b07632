"""A vision-language model that sees the pictures, as a judge of candidates and of people.

The CrossHOI-Bench paper (section 2.2) does not publish its prompts. In this module, a model gets
the picture, the box of the person if the question has one, and the annotations, and judges whether
each candidate is consistent with the picture. In section 2.3, images with several annotated people
are multi-person, and a model is asked about images with one person; the paper does not print the
question. Answers are stored individually as they arrive, so an interrupted run continues where it
stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from diaghoi.choice.build import ChoiceBenchmark
from diaghoi.choice.candidates import ImageTargets, Target, Verdicts
from diaghoi.choice.classes import Interaction, option_text
from diaghoi.exceptions import some_of
from diaghoi.formats import pictures
from diaghoi.language.answers import AnswerStore, ask_until_read, read_numbered, strip_reasoning

JUDGE_VERSION, PEOPLE_VERSION = 1, 1
"""Version of the wording; saved answers to another version are not reused.
"""
JUDGED, COUNTED = "interaction", "people"
"""Kinds of questions in the store."""

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
_PEOPLE = (
    "Does the picture show more than one person? People in the background and people who are "
    "partly hidden count. Reply with yes or no, and nothing else."
)
WORDS = {"yes": True, "no": False}
_YES_OR_NO = re.compile(r"[\W_]*(yes|no)\b", re.IGNORECASE)


def judge_text(
    target: Target, candidates: Sequence[Interaction], frame: pictures.Frame, *, again: bool = False
) -> str:
    """Write the question about some candidates, numbered from 1.

    With ``again``, the question states that the last reply could not be read.
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


def _display(interaction: Interaction) -> str:
    return option_text(interaction).replace("_", " ")


def read_judgement(reply: str, candidates: int) -> list[bool | None]:
    """Parse which candidates a reply calls consistent; None for unmentioned candidates."""
    return [WORDS.get(each or "") for each in read_numbered(reply, _LINE, candidates)]


@dataclass(kw_only=True)
class ModelJudge(pictures.PictureAsker):
    """Runner that asks a model about the candidates that have no verdict in the store.

    Parameters
    ----------
    store : AnswerStore
        Store of the model's answers. The parameters not listed are those of
        :class:`diaghoi.formats.pictures.PictureAsker`.
    asks : int
        Maximum number of times to ask about candidates if replies are unreadable.
    notes : tuple of str
        Pictures that could not be sent, and candidates without a verdict; set by a run.
    """

    store: AnswerStore
    asks: int = 3
    notes: tuple[str, ...] = ()

    sees_pictures = True

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model

    def left(self, asked: Sequence[Target]) -> list[Target]:
        """Return the targets with unanswered candidates, restricted to these candidates."""
        known = self.store.answers(self.name)
        left = []
        for target in asked:
            open_ = tuple(each for each in target.candidates if _judged(target, each) not in known)
            left += [replace(target, candidates=open_)] if open_ else []
        return left

    def judge(self, asked: Sequence[Target]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target; store each answer as it arrives."""
        left = self.left(asked)
        before, after = (sum(len(each.candidates) for each in of) for of in (asked, left))
        self.progress(before - after)
        # Each candidate of a target counts as one question.
        groups = [
            pictures.ImageQuestions(target.image, (target,) * len(target.candidates))
            for target in left
        ]
        done = self.ask_images(groups, proven=before > after)
        for pairs, what in (
            (done.problems, "pictures cannot be shown"),
            (done.unanswered, "images had no reply; run the same command again to retry them"),
        ):
            if images := dict(pairs):
                first = f"{pairs[0][0]}: {pairs[0][1]}"
                named = f"{len(images)} {what}: {some_of(list(images))} ({first})"
                self.notes += (f"{self.name}: {named}",)
        known, unread = self.store.answers(self.name), 0
        verdicts: list[Verdicts] = []
        for target in asked:
            keys = {each: _judged(target, each) for each in target.candidates}
            scores = {each: known[key] for each, key in keys.items() if key in known}
            unread += sum(score is None for score in scores.values())
            verdicts.append({e: bool(score) for e, score in scores.items() if score is not None})
        if unread:
            self.notes += (
                f"{self.name}: has no valid reply on {unread} candidates, so these candidates are "
                "not confirmed as negatives; --ask-again asks again",
            )
        return verdicts

    def work(self, group: pictures.ImageQuestions, url: str, frame: pictures.Frame) -> None:
        """Ask about one target until all replies are readable; store each answer as it arrives."""
        target: Target = group.questions[0]
        ask_until_read(
            self.client,
            self.store,
            {_judged(target, each): each for each in target.candidates},
            names=lambda each: (JUDGED, target.image, each.name),
            word=lambda candidates, again: pictures.message(
                url, judge_text(target, candidates, frame, again=again)
            ),
            read=read_judgement,
            asks=self.asks,
        )


@dataclass(kw_only=True)
class PeopleCounter(pictures.PictureAsker):
    """Runner that asks a model whether images with one annotated person show more people.

    The store keeps the answers.
    """

    store: AnswerStore

    def left(self, image_targets: Sequence[ImageTargets]) -> list[str]:
        """List the images that need an answer from the model."""
        known = self.store.answers(self.model)
        names = (each.image for each in image_targets if not each.multi_person)
        return [name for name in names if _counted(name) not in known]

    def check(self, benchmark: ChoiceBenchmark) -> ChoiceBenchmark:
        """Return the benchmark with the images that show several people as multi-person images.

        Images without a valid answer remain as annotated, and are named in the notes.
        """
        asked = [each.image for each in benchmark.image_targets if not each.multi_person]
        left = self.left(benchmark.image_targets)
        groups = [pictures.ImageQuestions(image, (image,)) for image in left]
        self.ask_images(groups, proven=len(left) < len(asked))
        known = self.store.answers(self.model)
        several = {name for name in asked if known.get(_counted(name))}
        notes = [
            f"{self.model}: {len(several):,} of {len(asked):,} images with one annotated person "
            "show more people"
        ]
        if unknown := [name for name in asked if known.get(_counted(name)) is None]:
            notes.append(
                f"{self.model}: gives no valid answer about the people in {len(unknown):,} images, "
                f"which count as annotated: {some_of(unknown)}"
            )
        return replace(
            benchmark,
            image_targets=tuple(
                replace(each, multi_person=each.multi_person or each.image in several)
                for each in benchmark.image_targets
            ),
            people_by=f"annotations and {self.model}",
            notes=(*benchmark.notes, *notes),
        )

    def work(self, group: pictures.ImageQuestions, url: str, frame: pictures.Frame) -> None:
        """Ask whether a picture shows several people."""
        reply = self.client.ask(pictures.message(url, _PEOPLE))
        said = _YES_OR_NO.match(strip_reasoning(reply))
        score = None if said is None else int(said[1].lower() == "yes")
        row = (_counted(group.image), COUNTED, group.image, "", score, reply)
        self.store.keep_scores(self.model, [row])


def _judged(target: Target, candidate: Interaction) -> str:
    return _key(JUDGE_VERSION, target.image, target.box, sorted(target.annotated), candidate)


def _counted(image: str) -> str:
    return _key(COUNTED, PEOPLE_VERSION, image)


def _key(*identity: object) -> str:
    """Identify a question by everything that affects its answer: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
