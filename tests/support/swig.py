"""SWIG-HOI: small random cases, and its official evaluation written out as loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from diaghoi.data.vocabulary import swig_hoi
from support import reference
from support.scenes import SCORES, XYXY, near

WORDS = swig_hoi()
CAR, DOG = WORDS.objects.index("car"), WORDS.objects.index("dog")
FREQUENCIES = ("zero_shot", "rare", "non_rare")
MOST = 19_999


def _some_classes() -> list[int]:
    """Two classes of each frequency that are evaluated and one that is not, of cars and dogs."""
    found = []
    for thing in (CAR, DOG):
        for name in FREQUENCIES:
            of_kind = (WORDS.class_object == thing) & WORDS.splits[name]
            found += np.flatnonzero(of_kind & WORDS.evaluated)[:2].tolist()
            found += np.flatnonzero(of_kind & ~WORDS.evaluated)[:1].tolist()
    return found


CLASSES = _some_classes()


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    """Draw an annotation file and predictions, as SWIG-HOI keeps them."""
    some = st.sampled_from(CLASSES)
    annotated, predicted = [], {}
    names = [f"{number}.jpg" for number in range(draw(st.integers(1, 3)))]
    for name in names:
        boxes, hois = [], []
        for hoi, human, thing in draw(st.lists(st.tuples(some, XYXY, XYXY), max_size=6)):
            boxes.append({"bbox": list(human), "category_id": 0})
            boxes.append({"bbox": list(thing), "category_id": int(WORDS.class_object[hoi])})
            subject = draw(st.sampled_from([n for n, b in enumerate(boxes) if n % 2 == 0]))
            hois.append(
                {
                    "subject_id": subject,
                    "object_id": len(boxes) - 1,
                    "action_id": int(WORDS.class_verb[hoi]),
                }
            )
        annotated.append({"img_id": name, "box_annotations": boxes, "hoi_annotations": hois})
    annotated[0]["box_annotations"] += [
        {"bbox": [0, 0, 9, 9], "category_id": 0},
        {"bbox": [10, 0, 19, 9], "category_id": CAR},
    ]
    last = len(annotated[0]["box_annotations"]) - 1
    annotated[0]["hoi_annotations"].append(
        {"subject_id": last - 1, "object_id": last, "action_id": int(WORDS.class_verb[CLASSES[0]])}
    )
    free = st.tuples(some, SCORES, XYXY, XYXY).map(lambda r: [r[0], r[1], *r[2], *r[3]])
    for name in draw(st.permutations([*names, "unannotated.jpg"])):
        attempts = [
            st.tuples(st.just(hoi), SCORES, near(human), near(thing)).map(
                lambda r: [r[0], r[1], *r[2], *r[3]]
            )
            for hoi, of_class in _annotated_pairs(annotated).items()
            for human, thing in of_class.get(name, ())
            if hoi >= 0
        ]
        predicted[name] = draw(st.lists(st.one_of(free, *attempts), max_size=10))
    predicted[names[0]].append([CLASSES[0], 0.5, 0, 0, 9, 9, 10, 0, 19, 9])
    note(f"{annotated=}")
    note(f"{predicted=}")
    return annotated, predicted


def mean_ap(annotated: list[Any], predicted: dict[str, Any], most: int = MOST) -> dict[str, Any]:
    """Mean AP of the evaluated classes that are annotated, all and by frequency."""
    truth = _annotated_pairs(annotated)
    # Images in the order of the annotations, as the evaluators of the code bases go through them.
    names = reference.in_order({image["img_id"]: image for image in annotated}, predicted)
    predicted = {name: predicted[name] for name in names if name in predicted}
    scores = {
        hoi: _average_precision(of_class, _ranked(predicted, hoi)[:most])
        for hoi, of_class in truth.items()
    }
    return _means(scores)


def _annotated_pairs(annotated: list[Any]) -> dict[int, dict[str, list[Any]]]:
    truth: dict[int, dict[str, list[Any]]] = {}
    for image in annotated:
        boxes = image["box_annotations"]
        for row in image["hoi_annotations"]:
            human, thing = boxes[row["subject_id"]], boxes[row["object_id"]]
            hoi = int(WORDS.class_of[thing["category_id"], row["action_id"]])
            of_image = truth.setdefault(hoi, {}).setdefault(image["img_id"], [])
            of_image.append((human["bbox"], thing["bbox"]))
    return truth


def _ranked(predicted: dict[str, Any], hoi: int) -> list[Any]:
    rows = [(name, row) for name, rows in predicted.items() for row in rows if row[0] == hoi]
    return sorted(rows, key=lambda row: -row[1][1])


def _average_precision(truth: dict[str, list[Any]], ranked: list[Any]) -> float:
    used, hits = set(), []
    for name, row in ranked:
        best, which = 0.0, None
        for number, (human, thing) in enumerate(truth.get(name, ())):
            overlap = min(reference.iou(row[2:6], human, 0), reference.iou(row[6:], thing, 0))
            if overlap > best:
                best, which = overlap, (name, number)
        hits.append(best >= 0.5 and which not in used)
        if best >= 0.5:
            used.add(which)
    return reference.average_precision(hits, sum(map(len, truth.values())), "11-point tenths")[0]


def _means(scores: dict[int, float]) -> dict[str, Any]:
    groups = {"full": WORDS.evaluated} | {name: WORDS.splits[name] for name in FREQUENCIES}
    means = {}
    for name, members in groups.items():
        some = [score for hoi, score in scores.items() if members[hoi] and WORDS.evaluated[hoi]]
        means[name] = sum(some) / len(some) if some else None
    return means
