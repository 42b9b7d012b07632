"""The small files on the desk of someone who reads the manual, under the names that it uses."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.io import savemat

import diaghoi
from diaghoi import simulate
from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det, hoi_a, swig_hoi
from diaghoi.formats import write, write_pair_lists, write_triplet_lists
from diaghoi.report.json import write_json
from diaghoi.robustness.simulated import under_corruption
from support import vcoco

IMAGES = 20
SMALLER = 4  # pictures may be of any resolution
CONDITIONS = [(name, severity) for name in ("motion_blur", "occlusion") for severity in (1, 5)]


def lay_out(folder: Path) -> None:
    rng = np.random.default_rng(1)  # somebody rides a bicycle
    truth = _named(simulate.annotations(IMAGES, rng))
    one = simulate.detect(truth, simulate.ONE_STAGE, rng)
    two = simulate.detect(truth, simulate.TWO_STAGE, rng)
    (folder / "instances_test2015.json").write_text(json.dumps(hico_instances(truth)))
    training = simulate.annotations(20, np.random.default_rng(7))
    training = replace(training, names=np.char.replace(training.names, "demo", "train"))
    (folder / "trainval.json").write_text(json.dumps(hico_instances(training)))
    write_triplet_lists(folder / "preds.pkl", one)
    write_pair_lists(folder / "pairs.pkl", one)
    write(folder / "preds.npz", one)
    for name, found in (("one", one), ("qpic", one), ("two", two)):
        write(folder / f"{name}.npz", found)
    for name in ("two", "upt"):
        write_triplet_lists(folder / f"{name}.pkl", two)
    write_json(folder / "three.json", diaghoi.diagnose(truth, two, label="three").to_dict())
    _corrupted(folder, truth)
    _pictures(folder / "images" / "test2015", truth)
    _v_coco(folder)
    _swig(folder)
    _code_bases(folder, truth, one)
    _hoi_a(folder)
    _office(folder)
    _words(folder, truth)
    _tables(folder)
    _studies(folder)
    _choice(folder, truth)


def _named(truth: Scenes) -> Scenes:
    names = [f"HICO_test2015_{number:08}.jpg" for number in range(1, len(truth) + 1)]
    return replace(truth, names=np.array(names))


def hico_instances(truth: Scenes) -> dict[str, Any]:
    """Write annotations out as ``instances_test2015.json`` holds them."""
    words = hico_det()
    alphabetical = sorted(words.objects)
    things = [alphabetical.index(words.objects[number]) for number in words.class_object]
    assert truth.sizes is not None
    rows: list[dict[str, list[Any]]] = [
        {key: [] for key in ("boxes_h", "boxes_o", "hoi", "object", "verb")} for _ in truth.names
    ]
    for triplet, hoi in enumerate(truth.triplet_class):
        pair = truth.triplet_pair[triplet]
        row = rows[truth.triplet_image[triplet]]
        for key, box in (("boxes_h", truth.pair_human), ("boxes_o", truth.pair_object)):
            row[key].append((truth.box_xyxy[box[pair]] + 1).tolist())
        row["hoi"].append(int(hoi))
        row["object"].append(things[hoi])
        row["verb"].append(int(words.class_verb[hoi]))
    return {
        "filenames": truth.names.tolist(),
        "size": truth.sizes.tolist(),
        "annotation": rows,
        "objects": alphabetical,
        "verbs": list(words.verbs),
        "correspondence": [
            [hoi, things[hoi], int(verb)] for hoi, verb in enumerate(words.class_verb)
        ],
    }


def _corrupted(folder: Path, truth: Scenes) -> None:
    for name, detector in (("qpic", simulate.ONE_STAGE), ("upt", simulate.TWO_STAGE)):
        (folder / name).mkdir()
        found = simulate.detect(truth, detector, np.random.default_rng(1))
        write(folder / name / "clean.npz", found)
        for corruption, severity in CONDITIONS:
            worse = under_corruption(detector, corruption, severity)
            found = simulate.detect(truth, worse, np.random.default_rng(severity))
            write(folder / name / f"{corruption}_{severity}.npz", found)


def _pictures(folder: Path, truth: Scenes) -> None:
    assert truth.sizes is not None
    folder.mkdir(parents=True)
    for number, (name, size) in enumerate(zip(truth.names, truth.sizes, strict=True)):
        shade = (8 * number % 256, 120, 160)
        Image.new("RGB", tuple((size // SMALLER).tolist()), shade).save(folder / str(name))


def _v_coco(folder: Path) -> None:
    vcoco.write_annotations(folder)
    rows = [vcoco.result(hold_agent=0.9, hold_obj=[1, 2, 10, 10, 0.8])]
    (folder / "vcoco_cache").mkdir()
    for name in ("vcoco_preds.pkl", "vcoco.pickle", "vcoco_cache/cache.pkl"):
        (folder / name).write_bytes(pickle.dumps(rows))
    boxes, name = [[0, 0, 9, 20], [30, 0, 39, 9]], "COCO_val2014_000000000165.jpg"
    listed = [
        {"bbox": box, "category_id": number} for box, number in zip(boxes, (1, 2), strict=True)
    ]
    held = {"subject_id": 0, "object_id": 1, "category_id": 0}
    image = {"file_name": name, "annotations": listed, "hoi_annotation": [held]}
    (folder / "test_vcoco.json").write_text(json.dumps([image]))
    arrays = {
        "filename": name,
        "boxes": boxes,
        "labels": [0, 1],
        "verb_scores": np.full((1, 29), 0.5),
        "sub_ids": [0],
        "obj_ids": [1],
    }
    (folder / "vcoco_arrays.pkl").write_bytes(pickle.dumps([arrays]))


def _code_bases(folder: Path, truth: Scenes, found: Scenes) -> None:
    """Write what evaluations of code bases leave: CDN's JSON, UPT's folder, PPDM's annotations."""
    words = hico_det()
    preds, gts = (pickle.loads(_pickled(folder, scenes)) for scenes in (found, truth))
    (folder / "results.json").write_text(json.dumps(str({"preds": preds, "gts": gts})))
    write_triplet_lists(folder / "test_hico.json", truth)
    (folder / "matlab").mkdir()
    pair, score = found.triplet_pair, found.scores[:, None]
    boxes = (found.box_xyxy[of[pair]] for of in (found.pair_human, found.pair_object))
    rows = np.hstack([*boxes, score])
    for number in range(len(words.objects)):
        classes = np.flatnonzero(words.class_object == number)
        cells = np.empty((len(classes), len(found)), dtype=object)
        for place, image in np.ndindex(*cells.shape):
            chosen = (found.triplet_class == classes[place]) & (found.triplet_image == image)
            cells[place, image] = rows[chosen]
        savemat(folder / "matlab" / f"detections_{number + 1:02}.mat", {"all_boxes": cells})
    # Without pairs of its own: GEN-VLKT's are in another file.
    write(folder / "gen_vlkt.npz", diaghoi.read_predictions(folder / "preds.pkl"))


def _pickled(folder: Path, scenes: Scenes) -> bytes:
    write_triplet_lists(folder / "listed.pkl", scenes)
    content = (folder / "listed.pkl").read_bytes()
    (folder / "listed.pkl").unlink()
    return content


def _swig(folder: Path) -> None:
    words = swig_hoi()
    hoi = int(np.flatnonzero(words.evaluated)[0]) if words.evaluated is not None else 0
    boxes = [
        {"bbox": [10, 20, 110, 220], "category_id": 0},
        {"bbox": [60, 5, 160, 105], "category_id": int(words.class_object[hoi])},
    ]
    done = {"subject_id": 0, "object_id": 1, "action_id": int(words.class_verb[hoi])}
    image = {"img_id": "a.jpg", "box_annotations": boxes, "hoi_annotations": [done]}
    (folder / "swig_test_1000.json").write_text(json.dumps([image]))
    found = {"a.jpg": [[hoi, 0.9, 10, 20, 110, 220, 60, 5, 160, 105]]}
    (folder / "swig_preds.pkl").write_bytes(pickle.dumps(found))


def _hoi_a(folder: Path) -> None:
    words = hoi_a()
    classes = np.stack([words.class_verb, words.class_object], axis=1) + 1
    _as_ppdm(folder, np.tile(classes, (2, 1)), "test_hoia.json", "hoia_preds.json")


def _office(folder: Path) -> None:
    valid = np.zeros((4, 5))
    valid[[0, 1, 2, 3, 3], [1, 2, 3, 1, 4]] = 1
    np.save(folder / "office_classes.npy", valid)
    _as_ppdm(folder, np.argwhere(valid) + 1, "office_test.json", "office_preds.json")


def _as_ppdm(folder: Path, triplets: IntArray, annotations: str, predictions: str) -> None:
    """Write a verb and object per image: numbers count from one, those of objects as strings."""
    annotated, predicted = [], []
    for number, (verb, thing) in enumerate(triplets):
        boxes = [
            {"bbox": [10, 20, 110, 220], "category_id": "1"},
            {"bbox": [60, 50, 160, 150], "category_id": str(thing)},
        ]
        triplet = {"subject_id": 0, "object_id": 1, "category_id": int(verb)}
        image = {"file_name": f"test_{number:06}.png"}
        found = triplet | {"score": 0.5 + number / 100, "action_score": 0.7}
        annotated.append(image | {"annotations": boxes, "hoi_annotation": [triplet]})
        predicted.append(image | {"predictions": boxes, "hoi_prediction": [found]})
    (folder / annotations).write_text(json.dumps(annotated))
    (folder / predictions).write_text(json.dumps(predicted))


def _words(folder: Path, truth: Scenes) -> None:
    human, thing = truth.pair_human[0], truth.pair_object[0]
    line = {
        "image": str(truth.names[truth.box_image[human]]),
        "human_box": truth.box_xyxy[human].tolist(),
        "object_box": truth.box_xyxy[thing].tolist(),
        "text": "person riding a bicycle",
    }
    (folder / "words.jsonl").write_text(json.dumps(line) + "\n")
    answer = {key: line[key] for key in ("image", "text")}
    (folder / "answers.jsonl").write_text(json.dumps(answer) + "\n")


def _tables(folder: Path) -> None:
    (folder / "verbs.csv").write_text("a,b,score\nride,straddle,3\nwash,hold,1\nride,race,4\n")
    (folder / "objects.csv").write_text("a,b,score\nbicycle,motorcycle,3\ncup,bottle,2\n")
    (folder / "verbs.txt").write_text("ride\nstraddle\nhold\n")
    rated = "a,b,DeepSeek,Gemini,Qwen\n"
    (folder / "rated_verbs.csv").write_text(f"{rated}ride,straddle,3,4,3\nride,hold,1,1,2\n")
    (folder / "rated_objects.csv").write_text(f"{rated}bicycle,motorcycle,3,2,3\n")
    (folder / "user_study.csv").write_text(
        "verb_a,object_a,verb_b,object_b,ann,bob\nride,bicycle,ride,motorcycle,3,4\n"
        "ride,bicycle,straddle,bicycle,4,3\nride,bicycle,hold,motorcycle,1,0\n"
    )
    first, again = (
        ((0, 1), (4, 4), (2, 1), (3, 1), (1, 1)),
        ((0, 1), (4, 3), (2, 1), (3, 2), (1, 1)),
    )
    lines = [f"{item},{a},{b},{item / 5}" for item, (a, b) in enumerate(first)]
    (folder / "ratings.csv").write_text("\n".join(["item,ann,bob,score", *lines, ""]))
    lines = [f"{item},a.jpg,{a},{b}" for item, (a, b) in enumerate(again)]
    (folder / "again.csv").write_text("\n".join(["item,image,ann,bob", *lines, ""]))
    (folder / "levels.csv").write_text(
        "gt_verb_synset,gt_object_synset,pred_verb_synset,pred_object_synset,similarity_level\n"
        "wash.v.03,train.n.01,clean.v.01,train.n.01,3\n"
        "ride.v.01,bicycle.n.01,ride.v.01,motorcycle.n.01,3\n"
    )
    (folder / "tags.csv").write_text("image,weather\nHICO_test2015_00000001.jpg,rain\n")


def _studies(folder: Path) -> None:
    head = 'annotations = "instances_test2015.json"\n'
    model = '[[model]]\nlabel = "{0}"\nfile = "{1}"\nstage = "{2}"\n'
    two = model.format("QPIC", "qpic.npz", "one") + model.format("UPT", "upt.pkl", "two")
    (folder / "study.toml").write_text(head + two)
    conditions = 'corruptions = ["motion_blur", "occlusion"]\nseverities = [1, 5]\n'
    model = '[[model]]\nlabel = "{0}"\nclean = "{1}/clean.npz"\n'
    model += 'files = "{1}/{{corruption}}_{{severity}}.npz"\n'
    two = model.format("QPIC", "qpic") + model.format("UPT", "upt")
    (folder / "robust.toml").write_text(head + conditions + two)


def _choice(folder: Path, truth: Scenes) -> None:
    options = ["ride a/an bicycle", "hold a/an bicycle", "wash a/an bicycle", "jump a/an bicycle"]
    question = {"gt_choices": options[:1], "wrong_choices": options[1:]}
    questions = {str(name): question for name in truth.names[:4]}
    (folder / "questions.json").write_text(json.dumps(questions))
