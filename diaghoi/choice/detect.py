"""Answer questions with a detector: its best triplets on the person in question.

As in the published script of CrossHOI-Bench, the five best triplets of an image count, including
ties with the fifth. Triplets whose human box reaches IoU 0.5 with the box of a question answer this
question: they pick the options that name one of their classes. The paper (section 3.1) uses "top-5
predictions for each question", which can also mean the five best on the person; ``top_question``
selects that reading. Questions without boxes (setting 1) are about the whole image. A detector
finds people itself, so settings 2 and 3 are equivalent.

Two details differ from the published script. The script requires IoU > 0.5 of boxes of width x2 -
x1; this package requires IoU >= 0.5 under the convention of the data set, with one-based boxes on
HICO-DET. The script also counts an option twice if two triplets name it: a wrong option is then two
errors, and a right option prevents an exact match. On SWIG-HOI, the script compares only verbs; in
this package, the object must also be a person, because the questions are about people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Literal, get_args

import numpy as np

from diaghoi.choice.answers import MISSING, Answer, Answers, in_order
from diaghoi.choice.classes import Interaction, normalised, object_names
from diaghoi.choice.questions import Questions
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, expand, place_in_group, runs
from diaghoi.data.boxes import box_iou, reaches
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.open_vocabulary import verb_names

Match = Literal["scene", "person", "pair"]
MATCHES: tuple[Match, ...] = get_args(Match)
# Boxes that triplets must match: none for a scene, the human box for a person, both for a pair.
ROLES: tuple[Literal["human", "object"], ...] = ("human", "object")
WHERE: dict[Match, str] = {
    "scene": "anywhere in the image",
    "person": "on the person asked about",
    "pair": "on both boxes asked about",
}
TOP = 5
DETECTED = "detected"
Way = Literal["top", "top_question", "threshold", "top_all"]
WAYS: dict[Way, str] = {
    "top": "top {} triplets of each image",
    "top_question": "top {} triplets of each question",
    "threshold": "triplets with a score >= {:g}",
    "top_all": "top {:,} triplets of the test set",
}
"""How triplets can be selected, with descriptions."""


@dataclass(frozen=True)
class Selection:
    """Rule for which triplets count as answers; the default is the published script's.

    The best ``number`` triplets in the image (``top``), on the boxes of the question
    (``top_question``), or in the whole prediction file (``top_all``), including ties with the last;
    or all with a score of at least ``number`` (``threshold``).
    """

    way: Way = "top"
    number: float = TOP

    def __post_init__(self) -> None:
        if self.way != "threshold" and self.number < 1:
            raise InputError(f"{self.number} triplets: give at least 1")
        if not isfinite(self.number):
            raise InputError(f"threshold {self.number}: not a score; give a finite number")

    @property
    def description(self) -> str:
        """Description of the rule: ``top 5 triplets of each image``."""
        return WAYS[self.way].format(self.number)


def detected_answers(
    predictions: Scenes,
    questions: Questions,
    *,
    selection: Selection | None = None,
    match: Match | None = None,
    label: str = "",
) -> Answers:
    """Answer questions with a detector's predictions.

    Parameters
    ----------
    predictions : Scenes
        Predictions with scores; images are joined by name.
    questions : Questions
        The questions.
    selection : Selection, optional
        Rule for the triplets that count; by default the five best of each image.
    match : {"scene", "person", "pair"}, optional
        Whether triplets count anywhere in the image, on the person, or on both boxes of the
        question; by default on the person, if questions have the person's box.
    label : str
        Name of the detector.

    Raises
    ------
    InputError
        If the predictions have no scores, image names or object categories, share no image with
        the questions, or the questions lack the boxes that ``match`` needs.
    """
    if predictions.unread is not None:
        raise InputError(
            f"{predictions.source or 'predictions'}: the detector gives no scores, so none of its "
            "triplets ranks above another; give a detector with scores"
        )
    selection, match = selection or Selection(), match_of(questions, match)
    # Row of the predicted image of each question, -1 for none.
    rows = questions.rows_of(predictions)
    row = np.array([rows.get(each.image, -1) for each in questions.questions], dtype=np.int64)
    question, triplet = expand(*runs(predictions.triplet_image, row))
    on = _reached(predictions, questions, match, question, triplet)
    on &= ~np.isnan(predictions.scores[triplet])
    question, triplet = question[on], triplet[on]
    taken = _selected(predictions, selection, question, triplet)
    picked = _picked(predictions, questions, question[taken], triplet[taken])
    return Answers(
        label=label,
        questions=questions,
        answers=tuple(
            Answer(picked=in_order(each, options), how=MISSING if image < 0 else DETECTED)
            for each, options, image in zip(questions.questions, picked, row.tolist(), strict=True)
        ),
        notes=tuple(_notes(predictions, questions, match, row, len(np.unique(question)))),
        how=selection.description,
        where=WHERE[match],
    )


def match_of(questions: Questions, match: str | None) -> Match:
    """Choose where triplets count, and check that the questions have the needed boxes."""
    if match is None:
        return "person" if any(each.human for each in questions.questions) else "scene"
    if match not in MATCHES:
        raise InputError(
            f"--match {match}{close_matches(match, MATCHES)}: give one of {', '.join(MATCHES)}"
        )
    boxes = MATCHES.index(match)
    if boxes:
        give = f"give questions with boxes, or --match {MATCHES[boxes - 1]}"
        questions.check_boxes(ROLES[:boxes], give)
    return MATCHES[boxes]


def _reached(
    predictions: Scenes, questions: Questions, match: Match, question: IntArray, triplet: IntArray
) -> BoolArray:
    """Return a mask of the triplets that lie on the boxes of the question."""
    on = np.ones(len(question), dtype=bool)
    protocol = questions.protocol(predictions.vocabulary)
    pair = predictions.triplet_pair[triplet]
    for role in ROLES[: MATCHES.index(match)]:
        box = (predictions.pair_human if role == "human" else predictions.pair_object)[pair]
        asked = questions.boxes(role)[question]
        with np.errstate(invalid="ignore"):
            reached = reaches(protocol, box_iou(predictions.box_xyxy[box], asked, protocol.margin))
        on &= reached & (box >= 0)
    return on


def _selected(
    predictions: Scenes, selection: Selection, question: IntArray, triplet: IntArray
) -> BoolArray:
    """Return a mask of the triplets that count as answers."""
    scores, number = predictions.scores, selection.number
    if selection.way == "threshold":
        return np.asarray(scores[triplet] >= number)
    if selection.way == "top_question":
        return _best(question, scores[triplet], number)
    image = predictions.triplet_image
    group = image if selection.way == "top" else np.zeros_like(image)
    return _best(group, scores, number)[triplet]


def _best(group: IntArray, score: FloatArray, top: float) -> BoolArray:
    """Return a mask of the ``top`` highest scores per group, including ties with the last."""
    # NaN scores come last.
    order = np.lexsort((-score, group))
    last = order[place_in_group(group[order]) == top - 1]
    least = np.full(group.max(initial=0) + 1, -np.inf)
    least[group[last]] = np.nan_to_num(score[last], nan=-np.inf)
    return np.asarray(score >= least[group])


def _picked(
    predictions: Scenes, questions: Questions, question: IntArray, triplet: IntArray
) -> list[set[str]]:
    """Return the options of each question that name the class of a triplet."""
    vocabulary, label = predictions.vocabulary, predictions.pair_label
    if len(label) and (label < 0).all():
        raise InputError(
            f"{predictions.source}: options name objects, but the predictions have no object "
            "categories; give predictions in a format that has them"
        )
    # Question and class are encoded as one number, so that all options are looked up at once.
    codes: dict[Interaction, int] = {}
    rows: list[tuple[int, int, str]] = []
    for place, each in enumerate(questions.questions):
        for option in each.options:
            name = normalised(questions.interaction_of(option))
            rows.append((place, codes.setdefault(name, len(codes)), option))
    # The last row is for unknown objects, with index -1.
    objects = object_names(vocabulary)
    table = np.full((len(objects) + 1, len(vocabulary.verbs)), -1, dtype=np.int64)
    for number, verb in enumerate(verb_names(vocabulary)):
        for place, thing in enumerate(objects if verb else ()):
            table[place, number] = codes.get(normalised(Interaction(verb or "", thing)), -1)
    code = table[label[predictions.triplet_pair[triplet]], predictions.triplet_verb[triplet]]
    detected = np.unique(question[code >= 0] * len(codes) + code[code >= 0])
    asked = np.array([place * len(codes) + number for place, number, _ in rows], dtype=np.int64)
    picked: list[set[str]] = [set() for _ in questions.questions]
    for hit in np.flatnonzero(np.isin(asked, detected)).tolist():
        place, _, option = rows[hit]
        picked[place].add(option)
    return picked


def _notes(
    predictions: Scenes, questions: Questions, match: Match, row: IntArray, met: int
) -> Iterator[str]:
    """List notes on questions without predictions, one sentence each."""
    missing = [questions.questions[place].image for place in np.flatnonzero(row < 0).tolist()]
    if missing:
        yield (
            f"{predictions.source}: {len(missing)} of {len(questions)} questions are on images "
            f"without predictions and count as empty: {some_of(list(dict.fromkeys(missing)))}"
        )
    if match != "scene":
        what = "the person" if match == "person" else "person and object"
        yield (
            f"{predictions.source}: finds {what} in {met:,} of {len(questions):,} questions; the "
            "answers to all other questions are empty"
        )
    if match == "person" and all(each.object is not None for each in questions.questions):
        yield (
            f"{questions.file}: the questions also have object boxes, which are not used; --match "
            "pair uses them"
        )
