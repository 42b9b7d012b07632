"""The definitions of the specification as slow, obvious loops.

Written apart from the package: it shares nothing with it but the data structure and the facts of
the vocabulary. Every figure of the package is compared with these on random small cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from diaghoi.data.groups import split_classes
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes

CONVERTED = ("human_box", "object_box", "association", "action")
REMOVED = ("both_boxes", "duplicate")
ERRORS = (*CONVERTED, *REMOVED, "missed_gt")
LEVELS: dict[str, list[float] | None] = {
    "area": None,
    "11-point": [level * 0.1 for level in range(11)],
    "11-point tenths": [level / 10 for level in range(11)],
    "11-point both ends": [
        level * 0.1 if level < 5 else 1 - (10 - level) * 0.1 for level in range(11)
    ],
    "101-point": [level * 0.01 for level in range(101)],
    "101-point tenths": [level / 100 for level in range(101)],
    "101-point both ends": [
        level * 0.01 if level < 50 else 1 - (100 - level) * 0.01 for level in range(101)
    ],
    "published negatives": [level * 0.01 for level in range(110)],
}


def iou(a: Any, b: Any, margin: float, added: float = 0.0) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0]) + margin
    height = min(a[3], b[3]) - max(a[1], b[1]) + margin
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    area_a = (a[2] - a[0] + margin) * (a[3] - a[1] + margin)
    area_b = (b[2] - b[0] + margin) * (b[3] - b[1] + margin)
    return float(shared / (area_a + area_b - shared + added))


def by_image(scenes: Scenes) -> dict[str, dict[str, Any]]:
    """Boxes, pairs and triplets of each image as plain lists."""
    images = {name: {"boxes": {}, "pairs": [], "triplets": []} for name in scenes.names.tolist()}
    name_of = [scenes.names[image] for image in scenes.box_image]
    for row, name in enumerate(name_of):
        images[name]["boxes"][row] = (int(scenes.box_label[row]), scenes.box_xyxy[row].tolist())
    for row, human in enumerate(scenes.pair_human):
        score = None if scenes.pair_score is None else float(scenes.pair_score[row])
        images[name_of[human]]["pairs"].append((int(human), int(scenes.pair_object[row]), score))
    for row, pair in enumerate(scenes.triplet_pair):
        human, thing = int(scenes.pair_human[pair]), int(scenes.pair_object[pair])
        verb = int(scenes.triplet_verb[row])
        triplet = {
            "human": human,
            "object": thing,
            "verb": verb,
            "class": int(scenes.vocabulary.class_of[scenes.box_label[thing], verb]),
        }
        if scenes.triplet_score is not None:
            triplet["input"] = row
            triplet["score"] = float(scenes.triplet_score[row])
            triplet["action_score"] = float(scenes.triplet_action_score[row])
        images[name_of[human]]["triplets"].append(triplet)
    return images


def in_order(truth: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """List the annotated images in their order, then the others by name."""
    return [*truth, *sorted(name for name in found if name not in truth)]


EMPTY: dict[str, Any] = {"boxes": {}, "pairs": [], "triplets": []}


@dataclass
class Story:
    """Everything that happens in the images, one after the other.

    ``rows`` are the predictions that count, ``annotated`` the annotated triplets; both know their
    ``image``, by number. ``pairs`` holds the counts of the pairs of each image, ``negatives`` the
    predicted pairs.
    """

    protocol: Protocol
    vocabulary: Any
    splits: dict[str, set[int]]
    images: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    annotated: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    negatives: list[dict[str, Any]] = field(default_factory=list)

    def repeated(self, weights: Sequence[int]) -> Story:
        """Write every image out as often as it counts, the copies of a row side by side."""
        return Story(
            self.protocol,
            self.vocabulary,
            self.splits,
            sum(weights),
            *(
                [one for one in column for _ in range(weights[one["image"]])]
                for column in (self.rows, self.annotated, self.pairs, self.negatives)
            ),
        )


def tell(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> Story:
    """Go through the images: the annotated ones first, then those predicted alone."""
    vocabulary = annotations.vocabulary
    splits = {
        split: {int(c) for c in np.flatnonzero(members)}
        for split, members in split_classes(protocol, vocabulary).items()
    }
    story = Story(protocol, vocabulary, splits)
    truth, found = by_image(annotations), by_image(predictions)
    place = 0
    for name in in_order(truth, found):
        t, p = truth.get(name, EMPTY), found.get(name, EMPTY)
        for one in p["triplets"]:
            one["input"] = place
            place += 1
        rows, annotated = one_image(t, p, splits["full"], protocol, vocabulary.person)
        pairs, negatives = image_pairs(t, p, protocol, vocabulary, splits)
        for one in (*rows, *annotated, pairs, *negatives):
            one["image"] = story.images
        story.images += 1
        story.rows += rows
        story.annotated += annotated
        story.pairs.append(pairs)
        story.negatives += negatives
    for place, a in enumerate(story.annotated):
        for row in (a["tp"], a["row"]):
            if row is not None:
                row["annotation"] = place
        for row in (a["tp"], a["attempt"]):
            if row is not None:
                row["attempt"] = place
    return story


def one_image(t: Any, p: Any, counted: set[int], protocol: Protocol, person: int) -> Any:
    overlap, reaches, meets = _comparing(t, p, protocol)
    true = [a for a in t["triplets"] if a["class"] in counted]
    ranked = [dict(row) for row in _best(p, protocol) if row["class"] in counted]
    if protocol.images_without_annotations == "left out" and not t["triplets"]:
        ranked = []
    state: list[dict[str, Any]] = [
        {"class": a["class"], "verb": a["verb"], "tp": None, "row": None, "attempt": None}
        for a in true
    ]
    taken = {}  # annotated triplet: the one that the prediction which took it has found
    for row in ranked:
        human_ok = any(meets(row["human"], box) for box in t["boxes"])
        human_ok &= p["boxes"][row["human"]][0] == person
        object_ok = any(meets(row["object"], box) for box in t["boxes"])
        best, candidate, joined = 0.0, None, False
        for number, a in enumerate(true):
            least = min(overlap(row["human"], a["human"]), overlap(row["object"], a["object"]))
            if reaches(least):
                joined = True
                if a["class"] != row["class"]:
                    continue
                if protocol.claim != "best":
                    if number not in taken and (candidate is None or candidate in taken):
                        candidate, mine = number, [number]
                    elif number not in taken and protocol.claim == "all left":
                        mine.append(number)
                    elif candidate is None:
                        candidate, mine = taken[number], []
                elif least > best:
                    best, candidate = least, number
        row |= {"human_ok": human_ok, "object_ok": object_ok, "free": True, "annotation": -1}
        row |= {"attempt": -1, "attempts": False, "claimed": candidate}
        if candidate is not None and state[candidate]["tp"] is None:
            row["attempts"] = True
            state[candidate]["tp"] = row
            if protocol.claim != "best":
                taken |= dict.fromkeys(mine, candidate)
            row |= {"label": "true_positive", "free": False}
        elif candidate is not None:
            row["label"] = "duplicate"
        elif human_ok and object_ok:
            row["label"] = "action" if joined else "association"
        elif human_ok:
            row["label"] = "object_box"
        elif object_ok:
            row["label"] = "human_box"
        else:
            row["label"] = "both_boxes"
    for a, mine in zip(true, state, strict=True):
        for row in ranked:
            if row is mine["tp"]:
                break
            if not row["free"]:
                continue
            if row["label"] == "duplicate" and protocol.duplicates == "not assigned":
                continue
            if row["human_ok"]:
                fits = meets(row["human"], a["human"])
            elif row["object_ok"]:
                fits = meets(row["object"], a["object"])
            else:
                fits = False
            if fits:
                mine["row"], row["free"] = row, False
                break
        passed_over = protocol.images_without_predictions == "passed over" and not ranked
        mine["examined"] = not passed_over
        mine["missed"] = not passed_over and mine["tp"] is None and mine["row"] is None
        mine["reachable"] = not ranked or any(
            meets(row["human"], a["human"]) and meets(row["object"], a["object"]) for row in ranked
        )
    attempt(list(zip(true, state, strict=True)), ranked, _wants(t, p, true, ranked, protocol))
    return ranked, state


def _wants(t: Any, p: Any, true: Any, ranked: Any, protocol: Protocol) -> Any:
    """Whether a wrong prediction attempts an annotated triplet, if it may."""
    meets = _comparing(t, p, protocol)[2]

    def there(predicted: int, true: int) -> bool:
        mine, other = p["boxes"][predicted][1], t["boxes"][true][1]
        margin = 1.0 if protocol.boxes == "inclusive" else 0.0
        value = iou(mine, other, margin, protocol.added_to_union)
        return value > protocol.iou if protocol.strict else value >= protocol.iou

    def wants(a: Any, row: Any) -> bool:
        same_human, same_object = meets(row["human"], a["human"]), meets(row["object"], a["object"])
        if row["label"] == "action":
            found = [
                other["claimed"]
                for other in ranked
                if (other["human"], other["object"]) == (row["human"], row["object"])
                and (other["class"], other["label"]) == (a["class"], "true_positive")
            ]
            mine = [number for number, one in enumerate(true) if one is a]
            return bool(same_human and same_object and (not found or mine[0] in found))
        named = p["boxes"][row["object"]][0] == t["boxes"][a["object"]][0]
        if row["label"] == "object_box":
            return bool(same_human and (named or there(row["object"], a["object"])))
        if row["label"] == "association":
            return bool(same_human and named)
        return bool(row["label"] == "human_box" and same_object and named)

    return wants


def attempt(annotated: Any, ranked: Any, wants: Any) -> None:
    """Let annotated triplets take what attempts them, in four rounds; see `docs/errors.md`."""
    for found, same_class in ((False, True), (False, False), (True, True), (True, False)):
        for a, mine in annotated:
            if (mine["tp"] is not None) != found or mine["attempt"] is not None:
                continue
            for row in ranked:
                if row is mine["tp"]:
                    break
                if row["attempts"] or (same_class and row["class"] != mine["class"]):
                    continue
                if wants(a, row):
                    mine["attempt"], row["attempts"] = row, True
                    break
    for _, mine in annotated:
        mine["lost"] = mine["examined"] and mine["tp"] is None and mine["attempt"] is None


def _comparing(t: Any, p: Any, protocol: Protocol) -> Any:
    """How a predicted box is compared with an annotated one."""
    margin = 1.0 if protocol.boxes == "inclusive" else 0.0

    def overlap(predicted: int, true: int) -> float:
        mine, other = p["boxes"][predicted], t["boxes"][true]
        if mine[0] != other[0]:
            return 0.0
        return iou(mine[1], other[1], margin, protocol.added_to_union)

    def reaches(value: float) -> bool:
        return value > protocol.iou if protocol.strict else value >= protocol.iou

    def meets(predicted: int, true: int) -> bool:
        return reaches(overlap(predicted, true))

    return overlap, reaches, meets


def _best(p: Any, protocol: Protocol) -> list[dict[str, Any]]:
    return sorted(p["triplets"], key=lambda row: -row["score"])[: protocol.top]


def image_pairs(
    t: Any, p: Any, protocol: Protocol, vocabulary: Any, splits: dict[str, set[int]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Counts of pairs by split, and the predicted pairs, of one image."""
    _, _, meets = _comparing(t, p, protocol)
    listed = [pair for pair in p["pairs"] if pair[2] is None or not np.isnan(pair[2])]
    counts = True
    if protocol.images_without_annotations == "left out" and not t["triplets"]:
        listed, counts = [], False
    if p["pairs"] and p["pairs"][0][2] is None:
        mentioned = {(row["human"], row["object"]) for row in _best(p, protocol)}
        listed = [pair for pair in listed if pair[:2] in mentioned]
    wanted = {
        split: list(
            dict.fromkeys((a["human"], a["object"]) for a in t["triplets"] if a["class"] in members)
        )
        for split, members in splits.items()
    }
    totals: dict[str, Any] = {
        split: _pair_counts(listed, sought, meets, t["boxes"]) | {"images": counts}
        for split, sought in wanted.items()
    }
    negatives = []
    for human, thing, score in listed:
        if score is None:
            score = max(
                [
                    row["action_score"]
                    for row in p["triplets"]
                    if (row["human"], row["object"]) == (human, thing)
                    and row["verb"] != vocabulary.no_interaction
                ],
                default=0.0,
            )
        hit = any(meets(human, a) and meets(thing, b) for a, b in wanted["full"])
        negatives.append({"score": 1 - score, "negative": not hit})
    return totals, negatives


def _pair_counts(listed: Any, wanted: Any, meets: Any, boxes: Any) -> dict[Any, int]:
    localised, credited = 0, set()
    for human, thing in wanted:
        hits = [
            number
            for number, pair in enumerate(listed)
            if meets(pair[0], human) and meets(pair[1], thing)
        ]
        localised += bool(hits)
        credited |= set(hits[:1])
    humans, things = {human for human, _ in wanted}, {thing for _, thing in wanted}
    found = {thing for thing in things if any(meets(pair[1], thing) for pair in listed)}
    of_category: dict[Any, int] = defaultdict(int)
    for thing in things:
        of_category["objects of", boxes[thing][0]] += 1
        of_category["found of", boxes[thing][0]] += thing in found
    return of_category | {
        "predicted": len(listed),
        "annotated": len(wanted),
        "localised": localised,
        "credited": len(credited),
        "humans": len(humans),
        "humans_found": sum(any(meets(pair[0], human) for pair in listed) for human in humans),
        "objects": len(things),
        "objects_found": len(found),
    }


def unrepaired(story: Story) -> Any:
    """The ranked list and the number of annotated triplets of each class."""
    return repair(story.rows, story.annotated, ())


def repair(
    rows: Any,
    annotated: Any,
    errors: Any,
    *,
    turned_round: bool = False,
    localised: bool = False,
) -> Any:
    """Ranked list and positives once some of the seven errors are repaired, all at once.

    ``localised``: by what attempts a triplet, instead of what is assigned to it.
    ``turned_round``: each image is sorted in rising order, repaired triplets last, and reversed.
    """
    kept, added = [row for row in rows if row["label"] not in errors], []
    positives: dict[Any, int] = defaultdict(int)
    for a in annotated:
        positives[a["class"]] += 1
        wrong = a["attempt"] if localised else a["row"]
        label = None if wrong is None else wrong["label"]
        if "missed_gt" in errors:
            positives[a["class"]] -= a["lost"] if localised else a["missed"]
        if label in CONVERTED and label in errors:
            added.append((wrong, a["class"]))
            kept = [row for row in kept if row is not a["tp"]]
    # Rows keep their place in the input, which decides between equal scores.
    place: dict[int, int] = {}
    for row in rows:
        place.setdefault(id(row), len(place))
    ledger = [(place[id(r)], r["class"], r["score"], r["label"] == "true_positive") for r in kept]
    ledger += [(place[id(r)], c, r["score"], True) for r, c in added]
    if turned_round:
        images = [r["image"] for r in kept] + [r["image"] for r, _ in added]
        by_image = sorted(zip(images, ledger, strict=True), key=lambda pair: pair[0])
        ledger = []
        for _, members in groupby(by_image, key=lambda pair: pair[0]):
            rising = sorted((row for _, row in members), key=lambda row: row[2])
            ledger += rising[::-1]
        return [row[1:] for row in ledger], positives
    return [row[1:] for row in sorted(ledger)], positives


def repaired(rows: Any, annotated: Any, *, turned_round: bool = False) -> dict[str, Any]:
    outcome = {
        error: repair(rows, annotated, (error,), turned_round=turned_round and error in CONVERTED)
        for error in ERRORS
    }
    base, positives = repair(rows, annotated, ())
    hits: dict[Any, int] = defaultdict(int)
    for a in annotated:
        hits[a["class"]] += a["tp"] is not None or not a["examined"]
    outcome["false_positive"] = ([row for row in base if row[2]], positives)
    outcome["false_negative"] = (base, hits)
    return outcome


def average_precision(ranked: list[bool], positives: int, kind: str) -> tuple[float, float]:
    true, curve = 0, []
    for number, hit in enumerate(ranked, start=1):
        true += hit
        curve.append((true / positives, true / number))
    levels = LEVELS[kind]
    if levels is not None:
        total = 0.0
        for level in levels:
            total += max([p for r, p in curve if r >= level], default=0.0)
        area = total / len(levels)
    else:
        area, reached = 0.0, 0.0
        for number, (recall, _) in enumerate(curve):
            area += (recall - reached) * max(p for _, p in curve[number:])
            reached = recall
    return area, max([r for r, _ in curve], default=0.0)


def means(ledger: Any, positives: Any, protocol: Protocol, splits: Any) -> Any:
    kind: str = protocol.average_precision
    if kind != "area" and protocol.levels_from != "zero":
        kind += f" {protocol.levels_from}"
    ranked = defaultdict(list)
    for group, score, hit in ledger:
        ranked[group].append((score, hit))
    scores, recalls = defaultdict(list), defaultdict(list)
    for group, number in positives.items():
        if number <= 0:
            continue
        hits = [hit for _, hit in sorted(ranked[group], key=lambda row: -row[0])]
        hits = hits[: protocol.top_of_class]
        ap, recall = average_precision(hits, number, kind)
        for split, members in splits.items():
            if group not in members:
                continue
            left_out = protocol.class_without_true_positive == "left out" and not any(hits)
            unnamed = protocol.class_without_prediction == "left out of groups" and not hits
            if (left_out and (hits or split != "full")) or (unnamed and split != "full"):
                continue
            scores[split].append(ap)
            recalls[split].append(recall)
    if protocol.class_without_annotation != "left out":
        for split, members in splits.items():
            if split == "full" and protocol.class_without_annotation == "zero in groups":
                continue
            nothing = [0.0] * sum(positives.get(group, 0) <= 0 for group in members)
            scores[split] += nothing
            recalls[split] += nothing
    return tuple(
        {split: float(np.mean(kind[split])) if kind[split] else None for split in splits}
        for kind in (scores, recalls)
    )
