"""Algorithms 1 and 2 of the SHOE supplement as slow, obvious loops.

Written apart from the package: it shares nothing with it but the data structure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from diaghoi.data.scenes import Scenes
from support.reference import in_order, iou

EPSILON = 1e-8
KEYS = (
    "soft_map",
    "mf1",
    "gt_miss_rate",
    "prediction_miss_rate",
    "gt_miss_rate_all_predictions",
    "prediction_miss_rate_all_predictions",
)


def triplets(scenes: Scenes) -> dict[str, list[dict[str, Any]]]:
    images: dict[str, list[dict[str, Any]]] = {name: [] for name in scenes.names.tolist()}
    for row, pair in enumerate(scenes.triplet_pair.tolist()):
        human, thing = int(scenes.pair_human[pair]), int(scenes.pair_object[pair])
        images[str(scenes.names[scenes.box_image[human]])].append(
            {
                "class": (int(scenes.triplet_verb[row]), int(scenes.box_label[thing])),
                "human": scenes.box_xyxy[human].tolist(),
                "object": scenes.box_xyxy[thing].tolist(),
                "score": None if scenes.triplet_score is None else float(scenes.triplet_score[row]),
            }
        )
    return images


def sigma(verb: float, thing: float, weight: float, combine: str) -> float:
    """Similarity of two interactions, from that of their verbs and objects."""
    if combine == "minimum":
        return min(verb, thing)
    if combine == "geometric":
        return float(verb**weight * thing ** (1 - weight))
    return weight * verb + (1 - weight) * thing


def evaluate(
    annotations: Scenes,
    predictions: Scenes,
    similarity: Callable[[tuple[int, int], tuple[int, int]], float],
    *,
    theta: float = 0.5,
    delta: float = 0.5,
    tau: float = 0.5,
    tau_by: str = "rank",
    tau_before_map: bool = False,
    integrator: str = "area",
    classes: tuple[tuple[int, int], ...] | None = None,
    left_out: tuple[int, ...] = (),
    scored: bool = True,
) -> dict[str, float | None]:
    """Soft mAP, mF1 and miss rates; triplets of some verbs are left out on both sides.

    Without scores every prediction counts, the earlier one first, and there is no soft mAP.
    Unmatched predictions count against what is annotated in their image, or, by figure 6 of the
    supplement, against the closest of some classes, their own before others.
    """
    truth, found = (
        {
            name: [one for one in rows if one["class"][0] not in left_out]
            for name, rows in triplets(scenes).items()
        }
        for scenes in (annotations, predictions)
    )
    names = in_order(truth, found)
    everything = [one for name in names for one in found.get(name, [])]
    if not scored:
        for one in everything:
            one["score"] = 0.0
    order = sorted(range(len(everything)), key=lambda n: (everything[n]["score"], -n))
    ranked = [everything[n] for n in order]
    for place, one in enumerate(ranked):
        one["rank"] = place / (len(ranked) - 1) if len(ranked) > 1 else 1.0

    if classes is not None:
        # What is annotated and no class takes part as well.
        annotated = [one["class"] for name in names for one in truth.get(name, [])]
        classes = tuple(dict.fromkeys([*classes, *annotated]))

    def run(counts: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return _run(names, truth, found, similarity, theta, delta, classes, counts)

    whole = run(lambda one: True)
    part = run(lambda one: not scored or one[tau_by] >= tau)
    of_map = part if tau_before_map else whole
    area = {"area": _area, "trapezoid": _trapezoids, "11-point": _eleven_points}[integrator]
    areas = [area(*_curve(of_map["rows"][hoi], n)) for hoi, n in of_map["positives"].items()]
    f1 = [_f1(part["counts"][hoi]) for hoi in part["positives"]]
    return {
        "soft_map": float(np.mean(areas)) if scored else None,
        "mf1": float(np.mean(f1)),
        "gt_miss_rate": part["missed"],
        "prediction_miss_rate": part["unmatched"],
        "gt_miss_rate_all_predictions": whole["missed"],
        "prediction_miss_rate_all_predictions": whole["unmatched"],
    }


def _run(
    names: list[str],
    truth: dict[str, list[dict[str, Any]]],
    found: dict[str, list[dict[str, Any]]],
    similarity: Callable[[tuple[int, int], tuple[int, int]], float],
    theta: float,
    delta: float,
    classes: tuple[tuple[int, int], ...] | None,
    counts: Callable[[dict[str, Any]], bool],
) -> dict[str, Any]:
    rows = defaultdict(list)
    positives: dict[tuple[int, int], int] = defaultdict(int)
    sums: dict[tuple[int, int], dict[str, float]] = defaultdict(
        lambda: {"tp": 0.0, "fp": 0.0, "fn": 0.0}
    )
    annotated = missed = predicted = unmatched = 0
    for name in names:
        mine = truth.get(name, [])
        theirs = [one for one in found.get(name, []) if counts(one)]
        matched = [False] * len(theirs)
        for wanted in mine:
            hoi = wanted["class"]
            positives[hoi] += 1
            annotated += 1
            best, best_key = -1, None
            for place, one in enumerate(theirs):
                if matched[place] or iou(wanted["human"], one["human"], 1.0) < theta:
                    continue
                if iou(wanted["object"], one["object"], 1.0) < theta:
                    continue
                key = (similarity(hoi, one["class"]), one["score"])
                if best_key is None or key > best_key:
                    best, best_key = place, key
            if best_key is None:
                rows[hoi].append((0.0, 0.0))
                sums[hoi]["fn"] += 1
                missed += 1
                continue
            matched[best] = True
            rows[hoi].append((theirs[best]["score"], best_key[0]))
            sums[hoi]["tp"] += best_key[0]
            sums[hoi]["fp"] += 1 - best_key[0]
        predicted += len(theirs)
        for place, one in enumerate(theirs):
            if matched[place]:
                continue
            unmatched += 1
            against = [wanted["class"] for wanted in mine] if classes is None else [*classes]
            if classes is not None and one["class"] in classes:
                against.insert(0, one["class"])
            sigma = [similarity(hoi, one["class"]) for hoi in against]
            if sigma and max(sigma) >= delta:
                hoi = against[sigma.index(max(sigma))]
                rows[hoi].append((one["score"], 0.0))
                sums[hoi]["fp"] += 1
    return {
        "rows": rows,
        "positives": positives,
        "counts": sums,
        "missed": missed / annotated,
        "unmatched": unmatched / predicted if predicted else None,
    }


def _curve(rows: list[tuple[float, float]], positives: int) -> tuple[list[float], list[float]]:
    ranked = sorted(rows, key=lambda row: -row[0])
    total, precision, recall = 0.0, [], []
    for place, (_, credit) in enumerate(ranked, 1):
        total += credit
        precision.append(total / place)
        recall.append(total / positives)
    return recall, precision


def _area(recall: list[float], precision: list[float]) -> float:
    """Area under the envelope of precision over recall."""
    area, last = 0.0, 0.0
    for place, level in enumerate(recall):
        area += (level - last) * max(precision[place:])
        last = level
    return area


def _trapezoids(recall: list[float], precision: list[float]) -> float:
    """Area under straight lines between the points; the first one has its precision from 0 on."""
    area, last, height = 0.0, 0.0, precision[0]
    for level, value in zip(recall, precision, strict=True):
        area += (level - last) * (height + value) / 2
        last, height = level, value
    return area


def _eleven_points(recall: list[float], precision: list[float]) -> float:
    """Mean of the highest precision from each of eleven recall levels on."""
    points = list(zip(recall, precision, strict=True))
    levels = [0.1 * number for number in range(11)]
    return sum(max((p for r, p in points if r >= level), default=0.0) for level in levels) / 11


def _f1(counts: dict[str, float]) -> float:
    precision = counts["tp"] / (counts["tp"] + counts["fp"] + EPSILON)
    recall = counts["tp"] / (counts["tp"] + counts["fn"] + EPSILON)
    return 2 * precision * recall / (precision + recall + EPSILON)
