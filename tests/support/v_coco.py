"""V-COCO: small random cases, and the official evaluator and diagnosis written out as loops."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from diaghoi.scenes import Scenes
from diaghoi.vocabulary import v_coco
from support import reference
from support.scenes import _SCORES, _XYXY

WORDS = v_coco()
ACTIONS: dict[str, list[str]] = {}
for verb in WORDS.verbs:
    ACTIONS.setdefault(verb.rsplit(" ", 1)[0], []).append(verb)
SOME = ("hold", "stand", "cut")
NUMBER = {verb: number for number, verb in enumerate(WORDS.verbs)}


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Draw annotated images (people, things) and predicted ones (a dict for each pair)."""
    annotated, predicted = [], []
    for _ in range(draw(st.integers(1, 3))):
        things = draw(st.lists(_XYXY, max_size=3))
        people = []
        for box in draw(st.lists(_XYXY, max_size=3)):
            doing = draw(st.dictionaries(st.sampled_from(SOME), st.none(), max_size=2))
            for action in doing:
                roles = ACTIONS[action][1:]
                doing[action] = [draw(st.integers(-1, len(things) - 1)) for _ in roles]
            ignored = not doing and draw(st.booleans())
            people.append({"box": box, "doing": doing, "ignored": ignored})
        annotated.append({"people": people, "things": things})
        rows = []
        for box in draw(st.lists(_XYXY, max_size=4)):
            scores = {}
            for action in SOME:
                for verb in ACTIONS[action]:
                    if draw(st.booleans()):
                        role = None if verb.endswith("agent") else draw(st.none() | _XYXY)
                        scores[verb] = (role, draw(_SCORES))
            rows.append({"box": box, "scores": scores})
        predicted.append(rows)
    note(f"{annotated=}")
    note(f"{predicted=}")
    return annotated, predicted


def annotations(images: list[Any]) -> Scenes:
    """Scenes of annotated images."""
    table = _Table()
    for number, image in enumerate(images):
        things = [table.box(number, box, 1) for box in image["things"]]
        people = [table.box(number, one["box"], 0, one["ignored"]) for one in image["people"]]
        for row, one in zip(people, image["people"], strict=True):
            for action in sorted(one["doing"], key=list(ACTIONS).index):
                roles = [-1, *one["doing"][action]]
                for verb, role in zip(ACTIONS[action], roles, strict=True):
                    table.triplet(row, things[role] if role >= 0 else -1, verb)
    return table.scenes(len(images), scored=False)


def predictions(images: list[Any]) -> Scenes:
    """Scenes of predicted images."""
    table = _Table()
    for number, rows in enumerate(images):
        for one in rows:
            person = table.box(number, one["box"], 0)
            for verb in WORDS.verbs:
                if verb in one["scores"]:
                    role, score = one["scores"][verb]
                    thing = -1 if role is None else table.box(number, role, -1)
                    table.triplet(person, thing, verb, score)
    return table.scenes(len(images), scored=True)


class _Table:
    def __init__(self) -> None:
        self.boxes: list[Any] = []
        self.pairs: list[Any] = []
        self.triplets: list[Any] = []

    def box(self, image: int, box: Any, label: int, ignored: bool = False) -> int:
        self.boxes.append((image, box, label, ignored))
        return len(self.boxes) - 1

    def triplet(self, person: int, thing: int, verb: str, score: float = 0) -> None:
        self.pairs.append((person, thing))
        self.triplets.append((len(self.pairs) - 1, NUMBER[verb], score))

    def scenes(self, images: int, *, scored: bool) -> Scenes:
        def column(rows: list[Any], which: int, kind: type = int) -> Any:
            return np.array([row[which] for row in rows], dtype=kind)

        score = column(self.triplets, 2, float) if scored else None
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
            triplet_score=score,
            triplet_action_score=score,
        )


def diagnose(annotated: list[Any], predicted: list[Any], scenario: int) -> dict[str, Any]:
    """Labels, ranked lists and oracles of one scenario, for agents and roles."""
    rows, wanted = [], []
    for image, found in zip(annotated, predicted, strict=True):
        mine = _match(image, found, scenario)
        rows += mine
        wanted += _assign(image, [row for row in mine if not row["verb"].endswith("agent")])
    roles = [row for row in rows if not row["verb"].endswith("agent")]
    errors = defaultdict(int)
    for row in roles:
        errors[row["label"]] += 1
    errors["missed_gt"] = sum(a["tp"] is None and a["row"] is None for a in wanted)
    positives = defaultdict(int)
    for image in annotated:
        for one in image["people"]:
            for action in one["doing"]:
                for verb in ACTIONS[action]:
                    positives[verb] += 1
    counted = [row for row in rows if row["label"] != "ignored"]
    base = [(row["verb"], row["score"], row["label"] == "true_positive") for row in counted]
    result = {"errors": dict(errors), "classes": _average_precision(base, positives)}
    ledger = [row for row in counted if not row["verb"].endswith("agent")]
    base = [(row["verb"], row["score"], row["label"] == "true_positive") for row in ledger]
    of_roles = defaultdict(
        int, {verb: n for verb, n in positives.items() if not verb.endswith("agent")}
    )
    for a in wanted:
        a["class"], a["missed"], a["examined"] = a["verb"], a["tp"] is a["row"] is None, True
    for row in ledger:
        row["class"] = row["verb"]
    # An assignment to an ignored prediction repairs nothing, but the annotation is not missed.
    result["oracles"] = {
        name: _average_precision(some, left)
        for name, (some, left) in reference.repaired(ledger, wanted, base, of_roles).items()
    }
    return result


def _match(image: Any, found: Any, scenario: int) -> list[dict[str, Any]]:
    people = image["people"]
    boxes = [one["box"] for one in people] + image["things"]
    rows: list[dict[str, Any]] = []
    if not boxes:
        return rows  # an image without annotations is not in the split
    for verb in WORDS.verbs:
        action = verb.rsplit(" ", 1)[0]
        place = ACTIONS[action].index(verb) - 1
        covered = set()
        ranked = [
            (*one["scores"][verb], one["box"], (number, NUMBER[verb]))
            for number, one in enumerate(found)
            if verb in one["scores"]
        ]
        for role, score, box, place_of_input in sorted(ranked, key=lambda row: -row[1]):
            row = {"verb": verb, "score": score, "box": box, "role": role, "free": True}
            row["input"] = place_of_input
            rows.append(row)
            overlaps = [reference.iou(one["box"], box, 1) for one in people]
            person = int(np.argmax(overlaps)) if people else -1
            if person < 0 or people[person]["ignored"]:
                row["label"] = "ignored"
                continue
            doing = people[person]["doing"]
            thing = doing[action][place] if action in doing and place >= 0 else -1
            if thing < 0:
                role_ok = role is None or (scenario == 2 and action in doing)
            else:
                role_ok = role is not None and reference.iou(image["things"][thing], role, 1) >= 0.5
            person_ok = overlaps[person] >= 0.5
            role_any = role is not None and any(reference.iou(b, role, 1) >= 0.5 for b in boxes)
            if action in doing and person_ok and role_ok:
                row["label"] = "duplicate" if person in covered else "true_positive"
                row["person"] = person
                covered.add(person)
            elif person_ok and role_ok:
                row["label"] = "action"
            elif person_ok:
                row["label"] = "association" if role_any else "object_box"
            elif role_ok:
                any_ = any(reference.iou(b, box, 1) >= 0.5 for b in boxes)
                row["label"] = "association" if any_ else "human_box"
            else:
                row["label"] = "both_boxes"
    return sorted(rows, key=lambda row: row["input"])


def _assign(image: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    considered = sorted(rows, key=lambda row: -row["score"])[:100]
    wanted = []
    for number, one in enumerate(image["people"]):
        for action in sorted(one["doing"], key=list(ACTIONS).index):
            for verb, thing in zip(ACTIONS[action][1:], one["doing"][action], strict=True):
                hits = [
                    row
                    for row in rows
                    if row["label"] == "true_positive"
                    and (row["verb"], row["person"]) == (verb, number)
                ]
                a = {"verb": verb, "tp": hits[0] if hits else None, "row": None}
                wanted.append(a)
                for row in considered:
                    if row is a["tp"]:
                        break
                    if row["label"] == "true_positive" or not row["free"]:
                        continue
                    fits = reference.iou(one["box"], row["box"], 1) >= 0.5
                    if not fits and thing >= 0 and row["role"] is not None:
                        fits = reference.iou(image["things"][thing], row["role"], 1) >= 0.5
                    if fits:
                        a["row"], row["free"] = row, False
                        break
    return wanted


def _average_precision(ledger: Any, positives: Any) -> dict[str, float]:
    ranked = defaultdict(list)
    for verb, score, hit in ledger:
        ranked[verb].append((score, hit))
    return {
        verb: reference.average_precision(
            [hit for _, hit in sorted(ranked[verb], key=lambda row: -row[0])], number, "area"
        )[0]
        for verb, number in positives.items()
        if number > 0
    }
