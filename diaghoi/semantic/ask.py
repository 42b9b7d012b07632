"""Ask a vision-language model what people do with objects (SHOE).

The user provides the pairs of boxes; the papers use DETR's boxes. The model names the verb and
object of each interaction in its own words, and the probability of these words is the score. Each
answer is a line in the format ``words`` (:mod:`diaghoi.formats.words`), along with the settings of
the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import Box, FileAsker, Frame, ImageQuestions, message
from diaghoi.language.answers import strip_reasoning
from diaghoi.language.asking import NoReply, Refused

if TYPE_CHECKING:
    from diaghoi.language.asking import Reply

VERSION = 1
"""Version of the wording of questions; answers to another version are not reused."""
BY_TOKENS, UNSCORED = "token probabilities", "none"
INSTRUCTION = (
    "What does this person do with this object? Write each interaction on a line of its own: a "
    "verb, and the name of the object, such as: ride bicycle. Write nothing else. If the person "
    "does nothing with the object, write: none"
)

_MARKS = re.compile(r"""\s*(?:[-*•]+|\d{1,3}[.)])?[\s"'`*_]*""")
_NOTHING = re.compile(r"(?:none|nothing|no (?:visible )?interactions?|n/?a)", re.IGNORECASE)
_AROUND = " \t\"'`*_.,;:!"


class Pair(NamedTuple):
    """A person and an object: the subject of a question.

    Parameters
    ----------
    image : str
        Name of the image.
    human, object : tuple of float
        Boxes, xyxy in zero-based pixels.
    """

    image: str
    human: Box
    object: Box


def pairs_of(scenes: Scenes) -> tuple[Pair, ...]:
    """List the pairs of annotations, predictions or a pair list, image by image.

    Pairs without an object box are omitted, and pairs with the same boxes are merged.

    Raises
    ------
    InputError
        If the images have no names, or no pair exists.
    """
    if not scenes.named:
        raise InputError(
            f"{scenes.source}: the images have no names, so their pictures cannot be found; add a "
            "'filename' to each image"
        )
    rows = np.flatnonzero(scenes.pair_object >= 0)
    columns = (
        scenes.names[scenes.pair_image[rows]].tolist(),
        map(tuple, scenes.box_xyxy[scenes.pair_human[rows]].tolist()),
        map(tuple, scenes.box_xyxy[scenes.pair_object[rows]].tolist()),
    )
    pairs = dict.fromkeys(map(Pair, *columns))
    if not pairs:
        raise InputError(f"{scenes.source}: has no pair of a person and an object to ask about")
    return tuple(pairs)


def question_text(pair: Pair, frame: Frame) -> str:
    """Write the question about a pair."""
    return (
        f"The question is about the person in the box {frame.written(pair.human)} and the object "
        f"in the box {frame.written(pair.object)}; boxes are {frame.words}.\n{INSTRUCTION}"
    )


def read_reply(reply: Reply) -> dict[str, float]:
    """Parse the interactions in a reply, each with its score.

    Parameters
    ----------
    reply : Reply
        The reply has one interaction per line; list markers, quotes, and reasoning in tags are
        ignored.

    Returns
    -------
    dict of float
        For each interaction, the geometric mean of its token probabilities, or 1 if the server
        returns no probabilities. Empty if the reply names no interaction.
    """
    said = strip_reasoning(reply.text)
    start = reply.text.rfind(said)
    found: dict[str, float] = {}
    for line in said.splitlines(keepends=True):
        mark = _MARKS.match(line)
        text = line[0 if mark is None else mark.end() :]
        first = start + len(line) - len(text)
        text = text.strip().rstrip(_AROUND)
        if text and not _NOTHING.fullmatch(text):
            found.setdefault(text, _probability(reply, first, first + len(text)))
        start += len(line)
    return found


def _probability(reply: Reply, start: int, stop: int) -> float:
    """Compute the geometric mean of the token probabilities in a part of a reply."""
    # If the tokens do not spell the text, for example because tokens split characters, all tokens
    # count.
    spelled = "".join(token for token, _ in reply.tokens) == reply.text
    at, logarithms = 0, []
    for token, logarithm in reply.tokens:
        if not spelled or (at < stop and at + len(token) > start and token.strip()):
            logarithms.append(logarithm)
        at += len(token)
    return min(1.0, math.exp(math.fsum(logarithms) / len(logarithms))) if logarithms else 1.0


@dataclass(kw_only=True)
class PairAsker(FileAsker):
    """Runner that asks a model about the pairs that have no answer yet.

    Parameters
    ----------
    pairs : sequence of Pair
        Pairs to ask about; the other parameters are as in
        :class:`diaghoi.formats.pictures.FileAsker`.
    """

    pairs: Sequence[Pair]
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _refuses: bool = field(default=False, init=False, repr=False)

    settings: ClassVar[Mapping[str, str]] = {
        "model": "--model",
        "prompt": "",
        "coordinates": "--coordinates",
    }
    noun = "pairs"
    reply_tokens = 8, 0

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings that are written with each answer."""
        return {"model": self.model, "prompt": VERSION, "coordinates": self.unit}

    @cached_property
    def _known(self) -> frozenset[Pair]:
        return frozenset(self.pairs)

    def question_of(self, line: Mapping[str, Any]) -> Pair | None:
        """Return the pair that a line answers; None if no question is about the pair."""
        try:
            human, thing = (tuple(map(float, line[key])) for key in ("human_box", "object_box"))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        pair = Pair(str(line["image"]), human, thing)  # type: ignore[arg-type]
        return pair if pair in self._known else None

    def boxes_of(self, question: Pair) -> tuple[Box, ...]:
        """Return both boxes of a pair."""
        return question.human, question.object

    def texts(self, group: ImageQuestions, frame: Frame) -> list[str]:
        """Write the questions about an image."""
        return [question_text(pair, frame) for pair in group.questions]

    @property
    def scores(self) -> str | None:
        """Whether the answers have token probabilities as scores; None before the first answer.

        The first answer decides: either all lines of a file have scores, or none has.
        """
        lines = self.answers.lines
        return str(lines[0].get("scores")) if lines else None

    def outcome(self) -> tuple[dict[str, Any], str, list[str]]:
        """Return whether answers have scores and how many are empty, the status text, and notes."""
        without = sum(line.get("text") is None for line in self.answers.lines)
        unscored = (
            f"{self.model} gives no token probabilities, so the answers have no scores: "
            "'diaghoi semantic' counts all answers, and gives no mAP"
        )
        return (
            {"scores": self.scores, "without_interaction": without},
            f", {without:,} without an interaction; {self.model}",
            [unscored] * (self.scores == UNSCORED),
        )

    def work(self, group: ImageQuestions, url: str, frame: Frame) -> None:
        """Ask about the pairs of an image, in a thread, and store the answers."""
        for pair, text in zip(group.questions, self.texts(group, frame), strict=True):
            self._keep(pair, self._ask(message(url, text)))

    def _ask(self, messages: list[dict[str, Any]]) -> Reply:
        try:
            return self.client.reply(messages, probabilities=not self._refuses)
        except Refused:
            if self._refuses or self.scores == BY_TOKENS:
                raise
            # The server may refuse probabilities rather than the question.
            reply = self.client.reply(messages)
            self._refuses = True
            return reply

    def _keep(self, pair: Pair, reply: Reply) -> None:
        """Store all interactions of a reply at once, or that the reply names no interaction."""
        line = {"image": pair.image, "human_box": pair.human, "object_box": pair.object}
        with self._lock:
            scores = self.scores or (BY_TOKENS if reply.tokens else UNSCORED)
            if scores == BY_TOKENS and not reply.tokens:
                raise NoReply("the reply comes without token probabilities, unlike earlier replies")
            named: list[dict[str, Any]] = [
                {"text": text, "score": score} if scores == BY_TOKENS else {"text": text}
                for text, score in read_reply(reply).items()
            ]
            more = {"reply": reply.text, "scores": scores, **self.recorded}
            self.answers.keep(*({**line, **each, **more} for each in named or [{"text": None}]))
