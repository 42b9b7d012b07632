"""Asking a vision-language model what people do with objects (SHOE, papers 000 and 001).

The pairs of boxes are given, in the papers those of DETR. The model names verb and object of each
interaction in its own words, and the probability of its words is the score. Each answer is a line
of the format ``words`` (:mod:`diaghoi.formats.words`), with the settings of the run
beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.checks import shown
from diaghoi.formats.pictures import (
    Box,
    Find,
    Frame,
    ImageQuestions,
    SentPicture,
    Unasked,
    Unit,
    ask_images,
    check_pictures,
    message,
    open_questions,
    picture_size,
    tokens_in,
)
from diaghoi.language.answers import AnswerFile, check_settings
from diaghoi.language.asking import Client, NoReply, Refused, strip_reasoning

if TYPE_CHECKING:
    from diaghoi.language.asking import Reply

VERSION = 1
"""Changes with the wording, so that answers to another wording are not taken for these."""
RECORDED = {"model": "--model", "prompt": "", "coordinates": "--coordinates"}
BY_TOKENS, UNSCORED = "token probabilities", "none"
TOKENS_PER_REPLY = 8
INSTRUCTION = (
    "What does this person do with this object? Write each interaction on a line of its own: a "
    "verb, and the name of the object, such as: ride bicycle. Write nothing else. If the person "
    "does nothing with the object, write: none"
)

_MARKS = re.compile(r"""\s*(?:[-*•]+|\d{1,3}[.)])?[\s"'`*_]*""")
_NOTHING = re.compile(r"(?:none|nothing|no (?:visible )?interactions?|n/?a)", re.IGNORECASE)
_AROUND = " \t\"'`*_.,;:!"


class Pair(NamedTuple):
    """A person and an object whose interaction is asked for.

    Parameters
    ----------
    image : str
        Name of the image.
    human, object : tuple of float
        Boxes xyxy in pixels counted from zero.
    """

    image: str
    human: Box
    object: Box


def pairs_of(scenes: Scenes) -> tuple[Pair, ...]:
    """List the pairs of annotations, predictions or a list of pairs, image by image.

    Pairs without an object box are left out, and pairs with the same boxes are one.

    Raises
    ------
    InputError
        Where the images have no names, or there is no pair.
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
    """Word the question about a pair."""
    return (
        f"The question is about the person in the box {frame.written(pair.human)} and the object "
        f"in the box {frame.written(pair.object)}; boxes are {frame.words}.\n{INSTRUCTION}"
    )


def read_reply(reply: Reply) -> dict[str, float]:
    """Take the interactions from a reply, each with its score.

    Parameters
    ----------
    reply : Reply
        One interaction per line; reasoning in tags, marks of lists and quotes are passed over.

    Returns
    -------
    dict of float
        By the words, the geometric mean of the probabilities of their tokens: 1 where the server
        does not give them. Empty where the reply names no interaction.
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
    """Geometric mean of the probabilities of the tokens in a part of a reply."""
    # Where the tokens do not spell the text, as with parts of letters, all of them count.
    spelled = "".join(token for token, _ in reply.tokens) == reply.text
    at, logarithms = 0, []
    for token, logarithm in reply.tokens:
        if not spelled or (at < stop and at + len(token) > start and token.strip()):
            logarithms.append(logarithm)
        at += len(token)
    return min(1.0, math.exp(math.fsum(logarithms) / len(logarithms))) if logarithms else 1.0


def _pair(line: Mapping[str, Any]) -> Pair | None:
    """Return the pair that a line is about; None where it is about none."""
    try:
        human, thing = (tuple(map(float, line[key])) for key in ("human_box", "object_box"))
        return Pair(str(line["image"]), human, thing)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError):
        return None


class Estimate(NamedTuple):
    """What a run takes at most: pairs to ask about, and about so many tokens.

    Parameters
    ----------
    pairs, tokens_in, tokens_out : int
        Pairs, one request each, and tokens.
    outside : tuple of str
        Images in which a box does not lie in the picture.
    """

    pairs: int
    tokens_in: int
    tokens_out: int
    outside: tuple[str, ...]


@dataclass(kw_only=True)
class PairAsker:
    """Asks a model about the pairs that have no answer yet.

    Parameters
    ----------
    pairs : sequence of Pair
        What is asked about.
    client : Client
        The model.
    find : callable
        Gives the file of an image by its name, None where there is none.
    answers : AnswerFile
        Where answers are kept.
    unit : {"pixels", "thousandths"}
        How boxes are written.
    limit : int or None
        Only so many pairs, the first ones, are asked about.
    workers : int
        Requests under way at a time.
    progress : callable
        Called with the number of pairs that are done.
    """

    pairs: Sequence[Pair]
    client: Client
    find: Find
    answers: AnswerFile
    unit: Unit = "pixels"
    limit: int | None = None
    workers: int = 8
    progress: Callable[[int], Any] = field(default=lambda pairs: None)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _refuses: bool = field(default=False, init=False, repr=False)

    @property
    def recorded(self) -> dict[str, Any]:
        """What is written beside each answer."""
        model = self.client.endpoint.model
        return {"model": model, "prompt": VERSION, "coordinates": self.unit}

    @cached_property
    def asked(self) -> tuple[Pair, ...]:
        """The pairs that the run is about."""
        return tuple(self.pairs[: self.limit])

    @cached_property
    def before(self) -> frozenset[Pair]:
        """The pairs that were answered before.

        Raises
        ------
        InputError
            Where the answers are about other pairs, or were asked with other settings.
        """
        known = frozenset(self.pairs)
        found = set()
        for number, line in enumerate(self.answers.lines, 1):
            where = f"{self.answers.path}: line {number}"
            check_settings(where, line, self.recorded, RECORDED)
            pair = _pair(line)
            if pair is None or pair not in known:
                raise InputError(
                    f"{where}: image {shown(line['image'])}: this pair of boxes is not asked about "
                    "here; give another --out"
                )
            found.add(pair)
        return frozenset(found)

    @property
    def answered(self) -> int:
        """Number of the pairs that are answered now."""
        return len(set(self.asked) & set(map(_pair, self.answers.lines)))

    @property
    def without_interaction(self) -> int:
        """Number of pairs with which the person does nothing, as the model says."""
        return sum(line.get("text") is None for line in self.answers.lines)

    @cached_property
    def groups(self) -> tuple[ImageQuestions, ...]:
        """What is to be asked."""
        answered = {place for place, pair in enumerate(self.asked) if pair in self.before}
        return open_questions([pair.image for pair in self.asked], answered)

    @property
    def scores(self) -> str | None:
        """What the scores of the answers are: token probabilities or none; None before the first.

        The first answer decides: a file has scores on all of its lines, or on none.
        """
        lines = self.answers.lines
        return str(lines[0].get("scores")) if lines else None

    def estimate(self) -> Estimate:
        """Estimate the cost; pictures that are missing cost nothing."""
        pairs, tokens = 0, 0.0
        outside = []
        for group in self.groups:
            size = picture_size(self.find(group.image))
            if size is None:
                continue
            frame = Frame(width=size[0], height=size[1], unit=self.unit)
            mine = [self.asked[place] for place in group.places]
            if not all(frame.holds(box) for pair in mine for box in (pair.human, pair.object)):
                outside.append(group.image)
            pairs += len(mine)
            tokens += tokens_in([question_text(pair, frame) for pair in mine], size)
        return Estimate(pairs, round(tokens), pairs * TOKENS_PER_REPLY, tuple(outside))

    def remarks(self, cost: Estimate) -> list[str]:
        """Say what looks wrong before the model is asked."""
        if not cost.outside:
            return []
        return [
            f"{len(cost.outside)} pictures do not hold the boxes asked about: "
            f"{some_of(cost.outside)}; are these the pictures of the file?"
        ]

    def run(self) -> Unasked:
        """Ask; each answer is kept as it comes.

        Raises
        ------
        InputError
            Where no picture is there, the server stays without replies or refuses, or nothing can
            be written; what was answered before is kept.
        """
        if not self.before:
            check_pictures(self.find, [group.image for group in self.groups], "to be asked about")
        self.answers.repair()
        return ask_images(
            self._work,
            self.groups,
            self.client,
            self.find,
            workers=self.workers,
            proven=bool(self.before),
            progress=self.progress,
        )

    def _work(self, group: ImageQuestions, picture: SentPicture) -> None:
        """Ask about the pairs of an image, in a thread."""
        frame = Frame(width=picture.width, height=picture.height, unit=self.unit)
        for place in group.places:
            pair = self.asked[place]
            self._keep(pair, self._ask(message(picture.url, question_text(pair, frame))))

    def _ask(self, messages: list[dict[str, Any]]) -> Reply:
        try:
            return self.client.reply(messages, probabilities=not self._refuses)
        except Refused:
            if self._refuses or self.scores == BY_TOKENS:
                raise
            # It may refuse to give probabilities, not to answer.
            reply = self.client.reply(messages)
            self._refuses = True
            return reply

    def _keep(self, pair: Pair, reply: Reply) -> None:
        """Keep all interactions of a reply at once, or that it names none."""
        line = {"image": pair.image, "human_box": pair.human, "object_box": pair.object}
        with self._lock:
            scores = self.scores or (BY_TOKENS if reply.tokens else UNSCORED)
            if scores == BY_TOKENS and not reply.tokens:
                raise NoReply("the reply comes without token probabilities, unlike earlier ones")
            named: list[dict[str, Any]] = [
                {"text": text, "score": score} if scores == BY_TOKENS else {"text": text}
                for text, score in read_reply(reply).items()
            ]
            more = {"reply": reply.text, "scores": scores, **self.recorded}
            self.answers.keep(*({**line, **each, **more} for each in named or [{"text": None}]))
