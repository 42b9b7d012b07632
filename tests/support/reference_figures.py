"""The figures of a diagnosis, from the loops of :mod:`support.reference`."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import Any

from diaghoi.data.protocol import HICO_DET, Protocol
from diaghoi.data.scenes import Scenes
from support.reference import (
    CONVERTED,
    EMPTY,
    ERRORS,
    Story,
    average_precision,
    by_image,
    in_order,
    means,
    repair,
    repaired,
    tell,
    unrepaired,
)


def diagnose(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> dict[str, Any]:
    return figures(tell(annotations, predictions, protocol))


def figures(story: Story) -> dict[str, Any]:
    labels = defaultdict(int)
    for row in story.rows:
        labels[row["label"]] += 1
    labels["missed_gt"] = sum(a["missed"] for a in story.annotated)
    result = {"errors": dict(labels), "oracles": {}}
    result["map"], result["max_recall"] = means(*unrepaired(story), story.protocol, story.splits)
    for name, (ledger, left) in repaired(
        story.rows, story.annotated, turned_round=story.protocol.repaired_ties == "turned round"
    ).items():
        mean_ap, recall = means(ledger, left, story.protocol, story.splits)
        result["oracles"][name] = {"map": mean_ap, "max_recall": recall}
    result["localised"] = {}
    turned = story.protocol.repaired_ties == "turned round"
    for name in (*CONVERTED, "missed_gt"):
        ledger, left = repair(
            story.rows,
            story.annotated,
            (name,),
            turned_round=turned and name in CONVERTED,
            localised=True,
        )
        mean_ap, recall = means(ledger, left, story.protocol, story.splits)
        result["localised"][name] = {"map": mean_ap, "max_recall": recall}
    result["pairs"] = pairs(story)
    result["negatives"] = negatives(story)
    result["actions"] = {split: actions(story, split) for split in story.splits}
    return result


def pairs(story: Story) -> dict[str, dict[str, float | None]]:
    """Pair recall and precision, and the like, by split."""
    result = {}
    for split in story.splits:
        total: dict[Any, Any] = defaultdict(int)
        for image in story.pairs:
            for key, value in image[split].items():
                total[key] += value
        result[split] = {
            name: total[part] / total[whole] if total[whole] else None
            for name, part, whole in (
                ("recall", "localised", "annotated"),
                ("precision", "credited", "predicted"),
                ("per_image", "predicted", "images"),
                ("human_recall", "humans_found", "humans"),
                ("object_recall", "objects_found", "objects"),
            )
        }
        recalls = [
            total["found of", key[1]] / number
            for key, number in list(total.items())
            if key[0] == "objects of"
        ]
        result[split]["mean_object_recall"] = sum(recalls) / len(recalls) if recalls else None
    return result


def negatives(story: Story) -> dict[str, Any]:
    """AP of rejecting pairs that do not interact, truly and as published."""
    ranked = sorted(story.negatives, key=lambda row: -row["score"])
    hits = [row["negative"] for row in ranked]
    found: dict[str, Any] = {"pairs": len(ranked), "negatives": sum(hits)}
    for key, kind in (("ap", "area"), ("ap_published", "published negatives")):
        found[key] = average_precision(hits, sum(hits), kind)[0] if any(hits) else None
    return found


def actions(story: Story, split: str) -> dict[str, float | None]:
    """Action mAP and mean max recall on localised pairs, in a split of the HOI classes."""
    members = story.splits[split]
    by_score = story.protocol.action_ties == "triplet score"  # as the rows of an image are
    ledger = [
        (row["verb"], row["action_score"], row["label"] == "true_positive")
        for row in (story.rows if by_score else sorted(story.rows, key=lambda row: row["input"]))
        if row["label"] in ("true_positive", "action", "duplicate") and row["class"] in members
    ]
    positives = defaultdict(int)
    for a in story.annotated:
        if a["class"] in members:
            positives[a["verb"]] += a["reachable"]
    every_verb = {split: {*positives, *(verb for verb, _, _ in ledger)}}
    # What is said of classes is said of HOI classes, not of verbs.
    protocol = story.protocol.of_verbs
    mean_ap, recall = means(ledger, positives, protocol, every_verb)
    return {"map": mean_ap[split], "max_recall": recall[split]}


def official(annotations: Scenes, predictions: Scenes) -> dict[str, dict[str, float | None]]:
    """Default and Known Object of HICO-DET; the objects of an image are those of its boxes."""
    story = tell(annotations, predictions, HICO_DET)
    truth, found = by_image(annotations), by_image(predictions)
    names = in_order(truth, found)
    thing_of, person = story.vocabulary.class_object, story.vocabulary.person
    known = []
    for name in names:
        boxes, triplets = truth.get(name, EMPTY)["boxes"], truth.get(name, EMPTY)["triplets"]
        things = {label for label, _ in boxes.values() if label != person}
        # Every image has people: a person is an object where it is one of a triplet.
        known.append(things | {boxes[a["object"]][0] for a in triplets})

    def of(rows: Any, annotated: Any) -> dict[str, float | None]:
        mean_ap: dict[str, float | None] = means(
            *repair(rows, annotated, ()), HICO_DET, story.splits
        )[0]
        return mean_ap

    def shown(one: Any) -> bool:
        return thing_of[one["class"]] in known[one["image"]]

    return {
        "default": of(story.rows, story.annotated),
        "known_object": of(
            [row for row in story.rows if shown(row)], [a for a in story.annotated if shown(a)]
        ),
    }


def shapley(story: Story, split: str) -> dict[str, float] | None:
    """Mean of what each repair adds, over all orders of the seven; None where one is undefined."""
    members = {split: story.splits[split]}
    worth: dict[frozenset[str], Any] = {}
    for number in range(2 ** len(ERRORS)):
        chosen = frozenset(error for bit, error in enumerate(ERRORS) if number >> bit & 1)
        ledger, positives = repair(story.rows, story.annotated, chosen, localised=True)
        worth[chosen] = means(ledger, positives, story.protocol, members)[0][split]
    if None in worth.values():
        return None
    gains = dict.fromkeys(ERRORS, 0.0)
    orders = list(permutations(ERRORS))
    for order in orders:
        done: frozenset[str] = frozenset()
        for error in order:
            gains[error] += worth[done | {error}] - worth[done]
            done |= {error}
    return {error: gain / len(orders) for error, gain in gains.items()}
