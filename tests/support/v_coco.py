"""V-COCO: small random cases, as scenes and as files of the official layout.

An annotated image has ``things`` (boxes) and ``people``: ``box``, whether it is ``ignored``, and
what it is ``doing``: by action, for each role the number of a thing, of a person (counted on from
the things), or -1. A predicted image is a list of ``box`` and ``scores``: by verb a role box, or
None, and a score.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import v_coco
from support import vcoco
from support.scenes import SCORES, XYXY, near

WORDS = v_coco()
ACTIONS: dict[str, list[str]] = {}
for verb in WORDS.verbs:
    ACTIONS.setdefault(verb.rsplit(" ", 1)[0], []).append(verb)
SOME = ("hold", "stand", "cut")
NUMBER = {verb: number for number, verb in enumerate(WORDS.verbs)}
# The official evaluator leaves out annotated boxes of one pixel in width or height.
_TRUE = XYXY.filter(lambda box: box[0] < box[2] and box[1] < box[3])
_NONE = [float("nan")] * 4, [0.0] * 4


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    annotated, predicted = [], []
    for _ in range(draw(st.integers(1, 3))):
        things = draw(st.lists(_TRUE, max_size=3))
        boxes = draw(st.lists(_TRUE, max_size=3))
        people = []
        for box in boxes:
            doing = draw(st.dictionaries(st.sampled_from(SOME), st.none(), max_size=2))
            for action in doing:
                role = st.integers(-1, len(things) + len(boxes) - 1)
                doing[action] = [draw(role) for _ in ACTIONS[action][1:]]
            ignored = not doing and draw(st.booleans())
            people.append({"box": box, "doing": doing, "ignored": ignored})
        annotated.append({"people": people, "things": things})
        predicted.append(draw(_predicted(annotated[-1])))
    note(f"{annotated=}")
    note(f"{predicted=}")
    return annotated, predicted


@st.composite
def _predicted(draw: st.DrawFn, image: Any) -> list[Any]:
    """Draw predictions, some of them attempts at what the people of an image do."""
    attempts = [one for one in image["people"] for _ in range(draw(st.integers(0, 2)))]
    attempts += [{"box": box, "doing": {}} for box in draw(st.lists(XYXY, max_size=2))]
    rows = []
    for one in draw(st.permutations(attempts)):
        scores = {}
        for action in SOME:
            for place, verb in enumerate(ACTIONS[action]):
                if not draw(st.booleans()):
                    continue
                role = None
                if place:
                    sought = one["doing"].get(action, [-1, -1])[place - 1]
                    free = st.one_of(st.none(), XYXY)
                    known = near(role_box(image, sought)) if sought >= 0 else free
                    role = draw(st.one_of(known, known, free))
                scores[verb] = (role, draw(SCORES))
        rows.append({"box": draw(near(one["box"])), "scores": scores})
    return rows


def role_box(image: Any, number: int) -> Any:
    """Box of a role: that of a thing, or of a person."""
    boxes = image["things"] + [one["box"] for one in image["people"]]
    return boxes[number]


def annotations(images: list[Any]) -> Scenes:
    table = _Table()
    for number, image in enumerate(images):
        things = [table.box(number, box, 1) for box in image["things"]]
        people = [table.box(number, one["box"], 0, one["ignored"]) for one in image["people"]]
        for row, one in zip(people, image["people"], strict=True):
            for action in sorted(one["doing"], key=list(ACTIONS).index):
                roles = [-1, *one["doing"][action]]
                for verb, role in zip(ACTIONS[action], roles, strict=True):
                    table.triplet(row, (things + people)[role] if role >= 0 else -1, verb)
    return table.scenes(len(images), scored=False)


def predictions(images: list[Any]) -> Scenes:
    """Scenes of predicted images, as the reader of the official layout makes them."""
    table = _Table()
    for number, rows in enumerate(images):
        for one in rows:
            person, boxes = table.box(number, one["box"], 0), {}
            for verb in WORDS.verbs:
                if verb not in one["scores"]:
                    continue
                role, score = one["scores"][verb]
                if role is not None and role not in boxes:
                    boxes[role] = table.box(number, role, -1)
                table.triplet(person, boxes.get(role, -1), verb, score, action_score(one, verb))
    return table.scenes(len(images), scored=True)


def action_score(row: Any, verb: str) -> float:
    """Score of the action alone: that of the agent, where there is one."""
    agent = verb.rsplit(" ", 1)[0] + " agent"
    return float(row["scores"].get(agent, row["scores"][verb])[1])


def write_files(folder: Path, annotated: list[Any], predicted: list[Any]) -> tuple[Path, Path]:
    """Write both in the official layout; the images are numbered from 1."""
    instances: list[Any] = []
    people, done, split = [], {}, []
    for number, image in enumerate(annotated, 1):
        first = 100 * number
        boxes = image["things"] + [one["box"] for one in image["people"]]
        for place, (left, top, right, bottom) in enumerate(boxes):
            instances.append(
                {
                    "id": first + place,
                    "image_id": number,
                    "category_id": 18 if place < len(image["things"]) else 1,
                    "iscrowd": 0,
                    "area": 9.0,
                    "bbox": [left, top, right - left + 1, bottom - top + 1],
                }
            )
        known = [one for one in image["people"] if not one["ignored"]]
        if known:
            split.append(number)
        for place, one in enumerate(image["people"], len(image["things"])):
            if one["ignored"]:
                continue
            people.append((number, first + place))
            for action, roles in one["doing"].items():
                names = [verb.rsplit(" ", 1)[1] for verb in ACTIONS[action][1:]]
                things = [first + role if role >= 0 else 0 for role in roles]
                done[action, first + place] = dict(zip(names, things, strict=True))
    content = vcoco.INSTANCES | {
        "images": [
            {"id": number, "width": 100, "height": 100, "file_name": f"{number}.jpg"}
            for number in range(1, len(annotated) + 1)
        ],
        "annotations": instances,
    }
    truth = vcoco.write_annotations(folder, vcoco.actions(people, done), content, split)
    found = folder / "found.pkl"
    rows = [_row(number, one) for number, rows in enumerate(predicted, 1) for one in rows]
    found.write_bytes(pickle.dumps(rows))
    return truth, found


def _row(image: int, one: Any) -> dict[str, Any]:
    """One dict of the official layout; what is missing is told in both ways by turns."""
    values: dict[str, Any] = {}
    for verb, (role, score) in one["scores"].items():
        box = _NONE[NUMBER[verb] % 2] if role is None else list(role)
        values[verb.replace(" ", "_")] = score if verb.endswith("agent") else [*box, score]
    return vcoco.result(image, one["box"], **values)


class _Table:
    def __init__(self) -> None:
        self.boxes: list[Any] = []
        self.pairs: list[Any] = []
        self.triplets: list[Any] = []

    def box(self, image: int, box: Any, label: int, ignored: bool = False) -> int:
        self.boxes.append((image, box, label, ignored))
        return len(self.boxes) - 1

    def triplet(
        self, person: int, thing: int, verb: str, score: float = 0, action_score: float = 0
    ) -> None:
        if (person, thing) not in self.pairs:
            self.pairs.append((person, thing))
        pair = self.pairs.index((person, thing))
        self.triplets.append((pair, NUMBER[verb], score, action_score))

    def scenes(self, images: int, *, scored: bool) -> Scenes:
        def column(rows: list[Any], which: int, kind: type = int) -> Any:
            return np.array([row[which] for row in rows], dtype=kind)

        return Scenes(
            vocabulary=WORDS,
            names=np.array([str(number) for number in range(images)]),
            box_image=column(self.boxes, 0),
            box_xyxy=column(self.boxes, 1, float).reshape(-1, 4),
            box_label=column(self.boxes, 2),
            box_ignored=column(self.boxes, 3, bool),
            pair_human=column(self.pairs, 0),
            pair_object=column(self.pairs, 1),
            triplet_pair=column(self.triplets, 0),
            triplet_verb=column(self.triplets, 1),
            triplet_score=column(self.triplets, 2, float) if scored else None,
            triplet_action_score=column(self.triplets, 3, float) if scored else None,
        )
