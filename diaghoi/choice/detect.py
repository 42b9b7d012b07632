"""Answers of a detector: its best triplets on the person that a question asks about.

As in the published script of the paper (002), the triplets of an image with the five highest scores
are taken, and what ties with the fifth; those whose human box reaches IoU 0.5 with the box of the
question answer it: the options that name one of their classes are picked. The paper (section 3.1)
takes "top-5 predictions for each question", which can also be read as the five best of those on the
person; that is a choice (``top_question``). Questions without boxes (setting 1) are about the whole
image. A detector finds people itself, so settings 2 and 3 are the same for it.

Differences from the published script, both small: it compares IoU > 0.5 of continuous boxes, here
it is >= 0.5 under the convention of the data set, with the one-based boxes of HICO-DET; and it
counts an option that two triplets name twice, a wrong one as two errors, a right one as no exact
match. On SWIG-HOI it compares verbs alone; here the object must be a person, which the questions
are about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal, get_args

import numpy as np

from diaghoi.choice.answers import MISSING, Answer, Answers, in_order
from diaghoi.choice.classes import Interaction, normalised, object_names
from diaghoi.choice.joining import by_name, check_named, no_common_image
from diaghoi.choice.questions import Questions
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, expand, place_in_group, runs
from diaghoi.data.boxes import box_iou, reaches
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.open_vocabulary import verb_names

Match = Literal["scene", "person", "pair"]
MATCHES: tuple[str, ...] = get_args(Match)
WHERE: dict[Match, str] = {
    "scene": "anywhere in the image",
    "person": "on the person asked about",
    "pair": "on both boxes asked about",
}
TOP = 5
DETECTED = "detected"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which triplets of a detector count as answers: exactly one of four ways.

    What ties with the last of the best ones counts, too.

    Parameters
    ----------
    top : int or None
        The best ones of the image, wherever they are; 5 as in the published script.
    top_question : int or None
        The best ones of those on the boxes of the question.
    threshold : float or None
        All with at least this score.
    top_all : int or None
        The best ones of the whole prediction file.
    """

    top: int | None = TOP
    top_question: int | None = None
    threshold: float | None = None
    top_all: int | None = None

    def __post_init__(self) -> None:
        ways = (self.top, self.top_question, self.threshold, self.top_all)
        given = [each for each in ways if each is not None]
        if len(given) != 1:
            raise InputError(
                "give one of top, top_question, threshold and top_all: they are ways to choose"
            )
        if self.threshold is None and given[0] < 1:
            raise InputError(f"{given[0]} triplets: give at least 1")
        if self.threshold is not None and not isfinite(self.threshold):
            raise InputError(f"threshold {self.threshold}: not a score; give a finite number")

    @property
    def description(self) -> str:
        """The choice for display: ``top 5 triplets of each image``."""
        if self.threshold is not None:
            return f"triplets with a score >= {self.threshold:g}"
        if self.top_all is not None:
            return f"top {self.top_all:,} triplets of the test set"
        if self.top_question is not None:
            return f"top {self.top_question} triplets of each question"
        return f"top {self.top} triplets of each image"


def detected_answers(
    predictions: Scenes,
    questions: Questions,
    *,
    selection: Selection | None = None,
    match: Match | None = None,
    label: str = "",
) -> Answers:
    """Answer questions with the predictions of a detector.

    Parameters
    ----------
    predictions : Scenes
        With scores; images are joined by name.
    questions : Questions
        The questions.
    selection : Selection, optional
        Which triplets count; by default the five best of each image.
    match : {"scene", "person", "pair"}, optional
        Whether triplets anywhere count, those on the person, or those on both boxes of the
        question; by default those on the person where questions have its box.
    label : str
        Name of the detector.

    Raises
    ------
    InputError
        Where the predictions have no scores, image names or object categories, share no image with
        the questions, or the questions lack the boxes that ``match`` needs.
    """
    if predictions.unread is not None:
        raise InputError(
            f"{predictions.source or 'predictions'}: the detector gives no scores, so that none of "
            "its triplets is better than another; give one with scores"
        )
    selection = selection or Selection()
    match = match_of(questions, match)
    row = _rows(predictions, questions)
    start, count = runs(predictions.triplet_image, row)
    question, triplet = expand(start, count)
    on = _reached(predictions, questions, match, question, triplet)
    on &= ~np.isnan(predictions.scores[triplet])
    question, triplet = question[on], triplet[on]
    taken = _selected(predictions, selection, question, triplet)
    picked = _picked(predictions, questions, question[taken], triplet[taken])
    found = np.bincount(question, minlength=len(questions)) > 0
    answers = tuple(
        Answer(picked=in_order(each, mine), how=MISSING if image < 0 else DETECTED)
        for each, mine, image in zip(questions.questions, picked, row.tolist(), strict=True)
    )
    return Answers(
        label=label,
        questions=questions,
        answers=answers,
        notes=tuple(_notes(predictions, questions, match, row, found)),
        where=WHERE[match],
    )


def match_of(questions: Questions, match: str | None) -> Match:
    """Choose where triplets count, and check that the questions have the boxes for it."""
    without = {
        "person": [each for each in questions.questions if each.human is None],
        "pair": [each for each in questions.questions if each.human is None or each.object is None],
    }
    if match is None:
        return "scene" if len(without["person"]) == len(questions) else "person"
    if match == "scene":
        return "scene"
    if match not in MATCHES:
        raise InputError(
            f"--match {match}{close_matches(match, MATCHES)}: give one of {', '.join(MATCHES)}"
        )
    if without[match]:
        boxes = "box of the person" if match == "person" else "boxes of person and object"
        raise InputError(
            f"{questions.file}: {without[match][0].where} has no {boxes}; give questions with "
            f"them, or --match {'scene' if match == 'person' else 'person'}"
        )
    return "person" if match == "person" else "pair"


def _rows(predictions: Scenes, questions: Questions) -> IntArray:
    """(Q,) row of the predicted image that each question is about, -1 for none."""
    check_named(predictions)
    place = {name: number for number, name in enumerate(predictions.names.tolist())}
    found = [by_name(each.image, place) for each in questions.questions]
    if all(number is None for number in found):
        raise no_common_image(predictions.source, list(place), questions)
    return np.array([-1 if number is None else number for number in found], dtype=np.int64)


def _reached(
    predictions: Scenes, questions: Questions, match: Match, question: IntArray, triplet: IntArray
) -> BoolArray:
    """Mask of the triplets that lie on the boxes of the question."""
    on = np.ones(len(question), dtype=bool)
    if match == "scene":
        return on
    protocol = questions.protocol(predictions.vocabulary)
    pair = predictions.triplet_pair[triplet]
    roles: tuple[tuple[Literal["human", "object"], IntArray], ...] = (
        ("human", predictions.pair_human[pair]),
        ("object", predictions.pair_object[pair]),
    )
    for role, box in roles[: 1 if match == "person" else 2]:
        asked = questions.boxes(role)[question]
        with np.errstate(invalid="ignore"):
            reached = reaches(protocol, box_iou(predictions.box_xyxy[box], asked, protocol.margin))
        on &= reached & (box >= 0)
    return on


def _selected(
    predictions: Scenes, selection: Selection, question: IntArray, triplet: IntArray
) -> BoolArray:
    """Mask of the triplets that count as answers."""
    scores = predictions.scores
    if selection.threshold is not None:
        return np.asarray(scores[triplet] >= selection.threshold)
    if selection.top_question is not None:
        return _best(question, scores[triplet], selection.top_question)
    if selection.top is not None:
        return _best(predictions.triplet_image, scores, selection.top)[triplet]
    return _best(np.zeros_like(predictions.triplet_image), scores, selection.top_all or TOP)[
        triplet
    ]


def _best(group: IntArray, score: FloatArray, top: int) -> BoolArray:
    """Mask of the ``top`` highest scores of each group, and of what ties with the last of them."""
    # Scores that are not numbers come last.
    order = np.lexsort((-score, group))
    last = order[place_in_group(group[order]) == top - 1]
    least = np.full(group.max(initial=0) + 1, -np.inf)
    least[group[last]] = np.nan_to_num(score[last], nan=-np.inf)
    return np.asarray(score >= least[group])


def _picked(
    predictions: Scenes, questions: Questions, question: IntArray, triplet: IntArray
) -> list[set[str]]:
    """Return the options of each question whose class a triplet has."""
    # Question and class are joined to one number, so that options are looked up all at once.
    codes: dict[Interaction, int] = {}
    rows: list[tuple[int, int, str]] = []
    for place, each in enumerate(questions.questions):
        for option in each.options:
            name = normalised(questions.interaction_of(option))
            rows.append((place, codes.setdefault(name, len(codes)), option))
    code = _code_table(predictions, codes)[
        predictions.pair_label[predictions.triplet_pair[triplet]],
        predictions.triplet_verb[triplet],
    ]
    detected = np.unique(question[code >= 0] * len(codes) + code[code >= 0])
    asked = np.array([place * len(codes) + number for place, number, _ in rows], dtype=np.int64)
    picked: list[set[str]] = [set() for _ in questions.questions]
    for hit in np.flatnonzero(np.isin(asked, detected)).tolist():
        place, _, option = rows[hit]
        picked[place].add(option)
    return picked


def _code_table(predictions: Scenes, codes: Mapping[Interaction, int]) -> IntArray:
    """(objects + 1, verbs) code of each combination, -1 where no option names it.

    The last row is for unknown objects, which have the index -1.
    """
    vocabulary = predictions.vocabulary
    if len(predictions.pair_label) and (predictions.pair_label < 0).all():
        raise InputError(
            f"{predictions.source}: the predictions do not say what the objects are, and options "
            "name them; give predictions in a format that has object categories"
        )
    objects = object_names(vocabulary)
    table = np.full((len(objects) + 1, len(vocabulary.verbs)), -1, dtype=np.int64)
    for number, verb in enumerate(verb_names(vocabulary)):
        if verb is None:
            continue
        for place, name in enumerate(objects):
            table[place, number] = codes.get(normalised(Interaction(verb, name)), -1)
    return table


def _notes(
    predictions: Scenes, questions: Questions, match: Match, row: IntArray, found: BoolArray
) -> Iterator[str]:
    """State in one sentence each which questions have no predictions."""
    missing = [
        each.image
        for each, place in zip(questions.questions, row.tolist(), strict=True)
        if place < 0
    ]
    if missing:
        yield (
            f"{predictions.source}: {len(missing)} of {len(questions)} questions are on images "
            f"without predictions and count as empty: {some_of(list(dict.fromkeys(missing)))}"
        )
    if match != "scene":
        what = "the person" if match == "person" else "person and object"
        yield (
            f"{predictions.source}: finds {what} in {int(found.sum()):,} of {len(questions):,} "
            "questions; in the others it picks nothing"
        )
    if match == "person" and all(each.object is not None for each in questions.questions):
        yield (
            f"{questions.file}: the questions have boxes of objects, too, which are not looked at; "
            "--match pair does"
        )
