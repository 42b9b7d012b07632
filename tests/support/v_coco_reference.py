"""The official evaluator of V-COCO and its diagnosis written out as loops.

Written apart from the package; the images are those of :mod:`support.v_coco`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from diaghoi.data.protocol import Protocol, protocol
from support import reference
from support.reference import average_precision, iou
from support.v_coco import ACTIONS, NUMBER, WORDS, action_score, role_box

ROLES = {verb for verb in WORDS.verbs if not verb.endswith("agent")}


def diagnose(
    annotated: list[Any],
    predicted: list[Any],
    scenario: int,
    considered: int = 100,
    *,
    in_file_order: bool = False,
) -> dict[str, Any]:
    """All figures of one scenario; the rows and annotated triplets of the roles with them.

    ``in_file_order`` repeats the defect of the published diagnosis: see :func:`_looked_up`.
    """
    rows, wanted = [], []
    for number, (image, found) in enumerate(zip(annotated, predicted, strict=True)):
        mine = _match(image, found, scenario)
        roles = [row for row in mine if row["verb"] in ROLES]
        for row in roles:
            row["looked_up"] = row
        if in_file_order:
            _looked_up(roles)
        theirs = _assign(image, roles, scenario, considered)
        for one in mine + theirs:
            one["image"] = number
        rows += mine
        wanted += theirs
    for place, a in enumerate(wanted):
        for row in (a["tp"], a["row"]):
            if row is not None:
                row["annotation"] = place
        for row in (a["tp"], a["attempt"]):
            if row is not None:
                row["attempt"] = place
    ledger = [row for row in rows if row["verb"] in ROLES and row["label"] != "ignored"]
    errors = defaultdict(int)
    for row in rows:
        errors[row["label"]] += row["verb"] in ROLES
    errors["missed_gt"] = sum(a["missed"] for a in wanted)
    result: dict[str, Any] = {"errors": dict(errors), "rows": ledger, "annotated": wanted}
    result["official"] = _official(annotated, rows)
    chosen = protocol(f"v-coco-s{scenario}")
    result["map"], result["max_recall"] = _means(*reference.repair(ledger, wanted, ()), chosen)
    # An assignment to an ignored prediction repairs nothing, but the annotation is not missed.
    result["oracles"] = {
        name: dict(zip(("map", "max_recall"), _means(some, left, chosen), strict=True))
        for name, (some, left) in reference.repaired(ledger, wanted).items()
    }
    result["actions"] = _actions(ledger, wanted, chosen)
    result |= _pairs(annotated, predicted)
    return result


def _means(ledger: Any, positives: Any, chosen: Protocol) -> tuple[float | None, float | None]:
    mean_ap, recall = reference.means(ledger, positives, chosen, {"full": ROLES})
    return mean_ap["full"], recall["full"]


def _official(annotated: list[Any], rows: list[Any]) -> dict[str, float]:
    """AP of each annotated agent and role; the positives are the people doing the action."""
    positives: dict[str, int] = defaultdict(int)
    for image in annotated:
        for one in image["people"]:
            for action in one["doing"]:
                for verb in ACTIONS[action]:
                    positives[verb] += 1
    counted = [row for row in rows if row["label"] != "ignored"]
    found = {}
    for verb, number in positives.items():
        of_verb = sorted((r for r in counted if r["verb"] == verb), key=lambda row: -row["score"])
        hits = [row["label"] == "true_positive" for row in of_verb]
        found[verb] = average_precision(hits, number, "area")[0]
    return found


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
            (*one["scores"][verb], one, (number, NUMBER[verb]))
            for number, one in enumerate(found)
            if verb in one["scores"]
        ]
        for role, score, one, place_of_input in sorted(ranked, key=lambda row: -row[1]):
            box = one["box"]
            row = {"verb": verb, "class": verb, "score": score, "box": box, "role": role}
            row |= {"input": place_of_input, "free": True, "annotation": -1}
            row |= {"attempt": -1, "attempts": False}
            row["action_score"] = action_score(one, verb)
            rows.append(row)
            overlaps = [iou(one["box"], box, 1) for one in people]
            person = int(np.argmax(overlaps)) if people else -1
            if person < 0 or people[person]["ignored"]:
                row["label"] = "ignored"
                continue
            doing = people[person]["doing"]
            thing = doing[action][place] if action in doing and place >= 0 else -1
            role_ok = _fits(image, thing, role)
            role_ok |= thing < 0 and scenario == 2 and action in doing
            person_ok = overlaps[person] >= 0.5
            row["not_done"] = person_ok and action not in doing
            role_any = role is not None and any(iou(b, role, 1) >= 0.5 for b in boxes)
            if action in doing and person_ok and role_ok:
                row["label"] = "duplicate" if person in covered else "true_positive"
                row["person"], row["attempts"] = person, person not in covered
                covered.add(person)
            elif person_ok and role_ok:
                row["label"] = "action"
            elif person_ok:
                row["label"] = "association" if role_any else "object_box"
            elif role_ok:
                any_ = any(iou(b, box, 1) >= 0.5 for b in boxes)
                row["label"] = "association" if any_ else "human_box"
            else:
                row["label"] = "both_boxes"
    return sorted(rows, key=lambda row: row["input"])


def _fits(image: Any, thing: int, role: Any) -> bool:
    """Whether a predicted role fits the annotated one: both empty, or one on the other."""
    if thing < 0 or role is None:
        return thing < 0 and role is None
    return iou(role_box(image, thing), role, 1) >= 0.5


def _looked_up(rows: list[dict[str, Any]]) -> None:
    """Give the k-th best row of each verb the boxes of the k-th in the file."""
    for verb in ROLES:
        stored = [row for row in rows if row["verb"] == verb]
        ranked = sorted(stored, key=lambda row: -row["score"])
        for best, other in zip(ranked, stored, strict=True):
            best["looked_up"] = other


def _assign(
    image: Any, rows: list[dict[str, Any]], scenario: int, most: int
) -> list[dict[str, Any]]:
    considered = sorted(rows, key=lambda row: -row["score"])[:most]
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
                a = {"verb": verb, "class": verb, "tp": hits[0] if hits else None, "row": None}
                a |= {"person": number, "thing": thing, "attempt": None}
                wanted.append(a)
                for row in considered:
                    if row is a["tp"]:
                        break
                    if row["label"] == "true_positive" or not row["free"]:
                        continue
                    boxes = row["looked_up"]
                    fits = iou(one["box"], boxes["box"], 1) >= 0.5
                    if fits or (thing >= 0 and _fits(image, thing, boxes["role"])):
                        a["row"], row["free"] = row, False
                        break
                a["missed"], a["examined"] = a["tp"] is a["row"] is None, True
                a["reachable"] = not rows or any(
                    iou(one["box"], row["box"], 1) >= 0.5
                    and (_fits(image, thing, row["role"]) or (thing < 0 and scenario == 2))
                    for row in rows
                )
    wants = _wants(image, rows, wanted, scenario)
    reference.attempt([(a, a) for a in wanted], considered, wants)
    return wanted


def _wants(image: Any, rows: list[dict[str, Any]], wanted: Any, scenario: int) -> Any:
    """Whether a wrong prediction attempts an annotated triplet, if it may."""

    def person_of(a: Any) -> Any:
        return image["people"][a["person"]]["box"]

    def localises(row: Any, a: Any) -> bool:
        fits = _fits(image, a["thing"], row["role"]) or (a["thing"] < 0 and scenario == 2)
        return bool(fits and iou(person_of(a), row["box"], 1) >= 0.5)

    def wants(a: Any, row: Any) -> bool:
        own = any(a["thing"] >= 0 and localises(row, a) for a in wanted)
        if row["label"] == "action" or (row["label"] == "association" and row["not_done"] and own):
            found = [
                other["person"]
                for other in rows
                if (other["input"][0], other["role"]) == (row["input"][0], row["role"])
                and other["verb"] == a["verb"]
                and other["label"] == "true_positive"
            ]
            return localises(row, a) and (not found or a["person"] in found)
        if row["label"] not in ("human_box", "object_box", "association"):
            return False
        if own or row["verb"] != a["verb"] or (row["role"] is None and a["thing"] >= 0):
            return False
        by_object = a["thing"] >= 0 and _fits(image, a["thing"], row["role"])
        return bool(iou(person_of(a), row["box"], 1) >= 0.5 or by_object)

    return wants


def _actions(rows: Any, wanted: Any, chosen: Protocol) -> dict[str, float | None]:
    """Mean AP of the verbs on localised pairs."""
    ledger = [
        (row["verb"], row["action_score"], row["label"] == "true_positive")
        for row in rows
        if row["label"] in ("true_positive", "action", "duplicate")
    ]
    positives = defaultdict(int)
    for a in wanted:
        positives[a["verb"]] += a["reachable"]
    mean_ap, recall = _means(ledger, positives, chosen)
    return {"map": mean_ap, "max_recall": recall}


def _pairs(annotated: list[Any], predicted: list[Any]) -> dict[str, Any]:
    """Pairs of a person and a box, whatever they do; and rejecting those that do nothing."""
    counts = dict.fromkeys(("predicted", "annotated", "localised", "credited"), 0)
    negatives = []
    for image, found in zip(annotated, predicted, strict=True):
        if not image["people"] and not image["things"]:
            continue
        wanted = dict.fromkeys(
            (number, thing)
            for number, one in enumerate(image["people"])
            for roles in one["doing"].values()
            for thing in roles
            if thing >= 0
        )
        boxes = [(image["people"][one]["box"], role_box(image, thing)) for one, thing in wanted]
        listed: dict[Any, float] = {}
        for number, one in enumerate(found):
            for verb, (role, _) in one["scores"].items():
                if role is not None:
                    pair = (number, one["box"], role)
                    listed[pair] = max(listed.get(pair, 0.0), action_score(one, verb))
        credited = set()
        for person, thing in boxes:
            hits = [
                pair
                for pair in listed
                if iou(person, pair[1], 1) >= 0.5 and iou(thing, pair[2], 1) >= 0.5
            ]
            counts["localised"] += bool(hits)
            credited |= set(hits[:1])
        counts["predicted"] += len(listed)
        counts["annotated"] += len(wanted)
        counts["credited"] += len(credited)
        for pair, score in listed.items():
            hit = any(iou(a, pair[1], 1) >= 0.5 and iou(b, pair[2], 1) >= 0.5 for a, b in boxes)
            negatives.append((1 - score, not hit))
    ranked = [negative for _, negative in sorted(negatives, key=lambda row: -row[0])]
    some = any(ranked)
    return {
        "pairs": counts,
        "negatives": average_precision(ranked, sum(ranked), "area")[0] if some else None,
    }
