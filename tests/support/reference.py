"""The definitions of the specification as slow, obvious loops.

Written apart from the package: it shares nothing with it but the data structure and the facts of
the vocabulary. Every figure of the package is compared with these on random small cases.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from diaghoi.protocol import Protocol
from diaghoi.scenes import Scenes

CONVERTED = ("human_box", "object_box", "association", "action")


def iou(a: Any, b: Any, margin: float) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0]) + margin
    height = min(a[3], b[3]) - max(a[1], b[1]) + margin
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    area_a = (a[2] - a[0] + margin) * (a[3] - a[1] + margin)
    area_b = (b[2] - b[0] + margin) * (b[3] - b[1] + margin)
    return float(shared / (area_a + area_b - shared))


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


EMPTY: dict[str, Any] = {"boxes": {}, "pairs": [], "triplets": []}


def diagnose(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> dict[str, Any]:
    vocabulary = annotations.vocabulary
    counted = {int(c) for c in np.flatnonzero(protocol.counted(vocabulary))}
    truth, found = by_image(annotations), by_image(predictions)
    names = [*found, *(name for name in truth if name not in found)]
    rows, annotated = [], []
    pairs = {"predicted": 0, "annotated": 0, "localised": 0, "credited": 0, "negatives": []}
    for name in names:
        t, p = truth.get(name, EMPTY), found.get(name, EMPTY)
        some = one_image(t, p, counted, protocol, vocabulary, pairs)
        rows += some[0]
        annotated += some[1]
    labels = defaultdict(int)
    for row in rows:
        labels[row["label"]] += 1
    labels["missed_gt"] = sum(a["missed"] for a in annotated)
    splits = {
        split: {int(c) for c in np.flatnonzero(members)}
        for split, members in protocol.splits(vocabulary).items()
    }
    base = [(row["class"], row["score"], row["label"] == "true_positive") for row in rows]
    positives = defaultdict(int)
    for a in annotated:
        positives[a["class"]] += 1
    result = {"errors": dict(labels), "oracles": {}}
    result["map"], result["max_recall"] = means(base, positives, protocol, splits)
    for name, (ledger, left) in repaired(rows, annotated, base, positives).items():
        mean_ap, recall = means(ledger, left, protocol, splits)
        result["oracles"][name] = {"map": mean_ap, "max_recall": recall}
    result["pairs"] = pairs
    result["actions"] = {}
    for split, members in splits.items():
        scores = actions(rows, annotated, protocol, vocabulary, split, members)
        result["actions"] |= scores if split == "full" else {split: scores}
    return result


def one_image(
    t: Any, p: Any, counted: set[int], protocol: Protocol, vocabulary: Any, pairs: Any
) -> Any:
    margin = 1.0 if protocol.boxes == "inclusive" else 0.0

    def overlap(predicted: int, true: int) -> float:
        mine, other = p["boxes"][predicted], t["boxes"][true]
        return iou(mine[1], other[1], margin) if mine[0] == other[0] else 0.0

    def reaches(value: float) -> bool:
        return value > protocol.iou if protocol.strict else value >= protocol.iou

    def meets(predicted: int, true: int) -> bool:
        return reaches(overlap(predicted, true))

    true = [a for a in t["triplets"] if a["class"] in counted]
    ranked = sorted(p["triplets"], key=lambda row: -row["score"])
    if protocol.top is not None:
        ranked = ranked[: protocol.top]
    ranked = [dict(row) for row in ranked if row["class"] in counted]
    if protocol.images_without_annotations == "left out" and not t["triplets"]:
        ranked = []
    state = [{"class": a["class"], "verb": a["verb"], "tp": None, "row": None} for a in true]
    for row in ranked:
        human_ok = any(meets(row["human"], box) for box in t["boxes"])
        object_ok = any(meets(row["object"], box) for box in t["boxes"])
        best, candidate, joined = 0.0, None, False
        for number, a in enumerate(true):
            least = min(overlap(row["human"], a["human"]), overlap(row["object"], a["object"]))
            if reaches(least):
                joined = True
                if a["class"] == row["class"] and least > best:
                    best, candidate = least, number
        row |= {"human_ok": human_ok, "object_ok": object_ok, "free": True}
        if candidate is not None and state[candidate]["tp"] is None:
            state[candidate]["tp"] = row
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
    _count_pairs(t, p, true, meets, pairs, vocabulary, protocol)
    return ranked, state


def _count_pairs(
    t: Any, p: Any, true: Any, meets: Any, pairs: Any, vocabulary: Any, protocol: Protocol
) -> None:
    listed = [pair for pair in p["pairs"] if pair[2] is None or not np.isnan(pair[2])]
    if protocol.images_without_annotations == "left out" and not t["triplets"]:
        listed = []
    if p["pairs"] and p["pairs"][0][2] is None:
        best = sorted(p["triplets"], key=lambda row: -row["score"])[: protocol.top]
        mentioned = {(row["human"], row["object"]) for row in best}
        listed = [pair for pair in listed if pair[:2] in mentioned]
    wanted = list(dict.fromkeys((a["human"], a["object"]) for a in true))
    pairs["predicted"] += len(listed)
    pairs["annotated"] += len(wanted)
    credited = set()
    for human, thing in wanted:
        hits = [
            number
            for number, pair in enumerate(listed)
            if meets(pair[0], human) and meets(pair[1], thing)
        ]
        pairs["localised"] += bool(hits)
        credited |= set(hits[:1])
    pairs["credited"] += len(credited)
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
        hit = any(meets(human, a) and meets(thing, b) for a, b in wanted)
        pairs["negatives"].append((1 - score, not hit))


def repaired(rows: Any, annotated: Any, base: Any, positives: Any) -> dict[str, Any]:
    outcome = {}
    for label in CONVERTED:
        kept, added = [row for row in rows if row["label"] != label], []
        for a in annotated:
            if a["row"] is not None and a["row"]["label"] == label:
                added.append((a["row"], a["class"]))
                kept = [row for row in kept if row is not a["tp"]]
        # Rows keep their place in the input, which decides between equal scores.
        place = {id(row): number for number, row in enumerate(rows)}
        ledger = [
            (place[id(r)], r["class"], r["score"], r["label"] == "true_positive") for r in kept
        ]
        ledger += [(place[id(r)], c, r["score"], True) for r, c in added]
        outcome[label] = ([row[1:] for row in sorted(ledger)], positives)
    for label in ("both_boxes", "duplicate"):
        keep = [row["label"] != label for row in rows]
        outcome[label] = ([b for b, k in zip(base, keep, strict=True) if k], positives)
    left, hits = defaultdict(int, positives), defaultdict(int)
    for a in annotated:
        left[a["class"]] -= a["missed"]
        hits[a["class"]] += a["tp"] is not None or not a["examined"]
    outcome["missed_gt"] = (base, left)
    outcome["false_positive"] = ([b for b in base if b[2]], positives)
    outcome["false_negative"] = (base, hits)
    return outcome


def average_precision(ranked: list[bool], positives: int, kind: str) -> tuple[float, float]:
    true, curve = 0, []
    for number, hit in enumerate(ranked, start=1):
        true += hit
        curve.append((true / positives, true / number))
    if kind == "11-point":
        total = 0.0
        for level in range(11):
            total += max([p for r, p in curve if r >= level * 0.1], default=0.0)
        area = total / 11
    else:
        area, reached = 0.0, 0.0
        for number, (recall, _) in enumerate(curve):
            area += (recall - reached) * max(p for _, p in curve[number:])
            reached = recall
    return area, max([r for r, _ in curve], default=0.0)


def means(ledger: Any, positives: Any, protocol: Protocol, splits: Any) -> Any:
    ranked = defaultdict(list)
    for group, score, hit in ledger:
        ranked[group].append((score, hit))
    scores, recalls = defaultdict(list), defaultdict(list)
    for group, number in positives.items():
        if number <= 0:
            continue
        hits = [hit for _, hit in sorted(ranked[group], key=lambda row: -row[0])]
        ap, recall = average_precision(hits, number, protocol.average_precision)
        for split, members in splits.items():
            if group not in members:
                continue
            left_out = protocol.class_without_true_positive == "left out" and not any(hits)
            if left_out and (hits or split != "full"):
                continue
            scores[split].append(ap)
            recalls[split].append(recall)
    return tuple(
        {split: float(np.mean(kind[split])) if kind[split] else None for split in splits}
        for kind in (scores, recalls)
    )


def actions(
    rows: Any, annotated: Any, protocol: Protocol, vocabulary: Any, split: str, members: Any
) -> dict[str, float | None]:
    ledger = [
        (row["verb"], row["action_score"], row["label"] == "true_positive")
        for row in sorted(rows, key=lambda row: row["input"])
        if row["label"] in ("true_positive", "action", "duplicate") and row["class"] in members
    ]
    positives = defaultdict(int)
    for a in annotated:
        if a["class"] in members:
            positives[a["verb"]] += a["reachable"]
    every_verb = {split: set(range(len(vocabulary.verbs)))}
    mean_ap, recall = means(ledger, positives, protocol, every_verb)
    return {"map": mean_ap[split], "max_recall": recall[split]}
