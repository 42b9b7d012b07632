"""The data that the benchmark works on: each data set has a function that writes it.

The module is run as a program (``data.py NAME SIZE``) in the folder of the data set: see
:func:`store.prepare`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from store import CONFORMANCE, MODELS, STEPS

from diaghoi import read_annotations, read_predictions, simulate
from diaghoi.data.scenes import COLUMNS, Scenes
from diaghoi.formats import (
    write,
    write_dense_arrays,
    write_pair_lists,
    write_triplet_lists,
    write_v_coco,
)
from diaghoi.formats.description import vocabulary

# By the names of files or jobs: how many triplets, pictures or questions they hold or make.
Counts = dict[str, int]

DETECTORS = {
    "one_stage": simulate.ONE_STAGE,
    "two_stage": simulate.TWO_STAGE,
    "weak": simulate.WEAK,
}
STAGES = {"one_stage": "one", "two_stage": "two", "weak": "two"}
PICTURE = (480, 640)  # pixels, height and width


def hico(images: int) -> Counts:
    """Write HICO-DET and three detectors, as pickles, columns and dense arrays."""
    counts = {}
    truth = simulate.annotations(images, np.random.default_rng(0))
    write("annotations.npz", truth)
    write_triplet_lists("annotations.pkl", truth)
    for number, (name, detector) in enumerate(DETECTORS.items(), 1):
        found = simulate.detect(truth, detector, np.random.default_rng(number))
        counts[name] = _detector(name, found)
        if name == "one_stage":
            write_dense_arrays(f"{name}_arrays.pkl", found)
    _studies()
    _similarity("verbs.csv", truth.vocabulary.verbs)
    _similarity("objects.csv", truth.vocabulary.objects)
    return counts


def repeated(images: int) -> Counts:
    """Write the conformance case of HICO-DET, its images repeated under new names."""
    truth = read_annotations(CONFORMANCE / "gt_wo_nointer.pkl")
    times = -(-images // len(truth))
    truth = under_new_names(truth, times).between(0, images)
    write("annotations.npz", truth)
    write_triplet_lists("annotations.pkl", truth)
    counts = {}
    for name in DETECTORS:
        files = (CONFORMANCE / f"{name}_{kind}.pkl" for kind in ("preds", "pairs"))
        found = under_new_names(read_predictions(next(files), pairs=next(files)), times)
        counts[name] = _detector(name, found.between(0, images))
    _studies()
    return counts


def _detector(name: str, found: Scenes) -> int:
    """Write a detector as columns and pickles, and count its triplets."""
    write(f"{name}.npz", found)
    write_triplet_lists(f"{name}.pkl", found)
    write_pair_lists(f"{name}_pairs.pkl", found)
    return len(found.triplet_verb)


def _studies() -> None:
    """Write studies of two, three and six models, the latter with each detector twice."""
    for file, labels in (
        ("two.toml", MODELS[:2]),
        ("study.toml", MODELS),
        ("six.toml", (*MODELS, *(f"{name} again" for name in MODELS))),
    ):
        study = 'annotations = "annotations.npz"\n'
        for label in labels:
            name = label.removesuffix(" again")
            study += (
                f'[[model]]\nlabel = "{label}"\nfile = "{name}.npz"\nstage = "{STAGES[name]}"\n'
                f'backbone = "{label}"\n'
            )
        Path(file).write_text(study)


def _similarity(file: str, names: Any) -> None:
    """Write a table of similarity between all names, at random."""
    rng = np.random.default_rng(3)
    rows = [
        f"{one},{other},{rng.integers(0, 5) / 4}\n"
        for number, one in enumerate(names)
        for other in list(names)[:number]
    ]
    Path(file).write_text("a,b,score\n" + "".join(rows))


def v_coco(images: int) -> Counts:
    """Write V-COCO and a detector, as columns and as the official pickle."""
    rng = np.random.default_rng(0)
    truth = simulate.v_coco_annotations(images, rng)
    found = simulate.v_coco_detect(truth, rng)
    write("annotations.npz", truth)
    write("detector.npz", found)
    write_v_coco("detector.pkl", found)
    return {"detector": len(found.triplet_verb)}


def growth(images: int) -> Counts:
    """Write HICO-DET and a detector with all images repeated under new names."""
    truth = simulate.annotations(images, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    for times in STEPS:
        write(f"annotations_{times}.npz", under_new_names(truth, times))
        write(f"detector_{times}.npz", under_new_names(found, times))
    return {f"detector_{times}": times * len(found.triplet_verb) for times in STEPS}


def under_new_names(scenes: Scenes, times: int) -> Scenes:
    """Repeat all images, each time under other names."""
    above = {"box_image": len(scenes), "pair_human": len(scenes.box_label)}
    above |= {"pair_object": len(scenes.box_label), "triplet_pair": len(scenes.pair_human)}
    changed: dict[str, Any] = {}
    for column in COLUMNS:
        array = getattr(scenes, column)
        if column == "names":
            changed[column] = np.concatenate(
                [np.char.add(f"{number:02d}_", array) for number in range(times)]
            )
        elif array is not None:
            parts = [_raised(array, number * above.get(column, 0)) for number in range(times)]
            changed[column] = np.concatenate(parts)
    return replace(scenes, **changed)


def _raised(rows: Any, by: int) -> Any:
    """Raise references to another table; -1 stands for none."""
    return np.where(rows < 0, rows, rows + by) if by else rows


def sweep(images: int) -> Counts:
    """Write a study of three detectors under 101 conditions."""
    from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES
    from diaghoi.robustness.simulated import under_corruption

    truth = simulate.annotations(images, np.random.default_rng(0))
    write("annotations.npz", truth)
    study = 'annotations = "annotations.npz"\n'
    counts = {"all": 0}
    for name, detector in DETECTORS.items():
        Path(name).mkdir(exist_ok=True)
        conditions = [(corruption, each) for corruption in CORRUPTIONS for each in SEVERITIES]
        runs = {"clean": detector} | {
            f"{corruption}_{each}": under_corruption(detector, corruption, each)
            for corruption, each in conditions
        }
        for number, (run, worse) in enumerate(runs.items()):
            found = simulate.detect(truth, worse, np.random.default_rng(number))
            counts[f"{name}/{run}"] = len(found.triplet_verb)
            counts["all"] += len(found.triplet_verb)
            write(f"{name}/{run}.npz", found)
        study += (
            f'[[model]]\nlabel = "{name}"\nstage = "{STAGES[name]}"\nclean = "{name}/clean.npz"\n'
            f'files = "{name}/{{corruption}}_{{severity}}.npz"\n'
        )
    Path("study.toml").write_text(study)
    return counts


def pictures(number: int) -> Counts:
    """Write pictures of the usual size: soft shapes with some grain."""
    from PIL import Image

    from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES

    rng = np.random.default_rng(0)
    Path("clean").mkdir(exist_ok=True)
    for picture in range(number):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        soft = np.asarray(coarse.resize(PICTURE[::-1], Image.Resampling.BICUBIC), dtype=np.int16)
        grain = rng.normal(0, 6, soft.shape)
        shown = np.clip(soft + grain, 0, 255).astype(np.uint8)
        Image.fromarray(shown).save(f"clean/{picture:03d}.jpg", quality=95)
    return {name: len(SEVERITIES) * number for name in CORRUPTIONS}


def questions(number: int) -> Counts:
    rng = np.random.default_rng(0)
    words = vocabulary("hico-det")
    options: dict[int, list[str]] = {}
    for hoi in range(len(words.class_object)):
        thing, verb = words.class_object[hoi], words.verbs[words.class_verb[hoi]]
        link = " with a/an " if verb == "no_interaction" else " a/an "
        options.setdefault(int(thing), []).append(f"{verb}{link}{words.objects[thing]}")
    asked = [each for each in options.values() if len(each) >= 4]
    told, replies = {}, []
    for question, (name, shown) in enumerate(_asked(asked, number, rng)):
        right = int(rng.integers(1, 4))
        told[name] = {"gt_choices": shown[:right], "wrong_choices": shown[right:]}
        order = rng.permutation(4)
        reply = ",".join(sorted(rng.choice(list("ABCD"), rng.integers(1, 4), replace=False)))
        row = {"image": name, "question": "QA_0", "options": [shown[each] for each in order]}
        replies.append(row | {"reply": reply if question % 7 else f"The answer is ({reply[0]})."})
    Path("questions.json").write_text(json.dumps(told))
    Path("answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in replies))
    return {"questions": number}


def _asked(
    options: list[list[str]], number: int, rng: np.random.Generator
) -> Iterator[tuple[str, list[str]]]:
    for question in range(number):
        drawn = options[int(rng.integers(len(options)))]
        yield (
            f"HICO_test2015_{question:08d}.jpg",
            [str(each) for each in rng.choice(drawn, 4, replace=False)],
        )


def literals(images: int) -> Counts:
    """Write results and annotations as GEN-VLKT does, with plain numbers and NumPy 2 scalars.

    Each file of one string has the same as a plain dict beside it.
    """
    truth = simulate.annotations(images, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    for kind, item in (("plain", float), ("numpy2", np.float32)):
        with (
            Path(f"{kind}.json").open("w") as text,
            Path(f"{kind}_dict.json").open("w") as plain,
            np.printoptions(legacy=False),
        ):
            text.write('"')
            # Written image by image: all of them at once take gigabytes.
            for part, scenes, end in (("{'preds': [", found, "], "), ("'gts': [", truth, "]}")):
                text.write(part)
                plain.write(part.replace("'", '"'))
                for number in range(images):
                    comma = ", " if number else ""
                    value = _genvlkt_image(scenes.between(number, number + 1), item)
                    text.write(comma + json.dumps(str(value))[1:-1])
                    plain.write(comma + json.dumps(value, default=lambda each: float(str(each))))
                text.write(end)
                plain.write(end)
            text.write('"')
    return dict.fromkeys(("plain", "numpy2"), len(found.triplet_verb))


def _genvlkt_image(image: Scenes, item: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the predictions of an image, or its annotations where they have no scores."""
    human, thing = (
        each[image.triplet_pair].tolist() for each in (image.pair_human, image.pair_object)
    )
    classes = image.vocabulary.class_of[image.box_label[thing], image.triplet_verb].tolist()
    boxes = [{"bbox": list(map(item, box))} for box in image.box_xyxy.astype(np.float32)]
    rows = [
        {"subject_id": subject, "object_id": other, "category_id": hoi}
        for subject, other, hoi in zip(human, thing, classes, strict=True)
    ]
    if image.triplet_score is None:
        labelled = [
            box | {"category_id": label}
            for box, label in zip(boxes, image.box_label.tolist(), strict=True)
        ]
        return {"filename": str(image.names[0]), "annotations": labelled, "hoi_annotation": rows}
    scored = [
        row | {"score": item(score)}
        for row, score in zip(rows, image.triplet_score.astype(np.float32), strict=True)
    ]
    return {"filename": str(image.names[0]), "predictions": boxes, "hoi_prediction": scored}


MAKERS: dict[str, Callable[[int], Counts]] = {
    each.__name__: each
    for each in (hico, repeated, v_coco, growth, sweep, pictures, questions, literals)
}

if __name__ == "__main__":
    made = MAKERS[sys.argv[1]](int(sys.argv[2]))
    Path("counts.json").write_text(json.dumps(made | {"size": int(sys.argv[2])}))
