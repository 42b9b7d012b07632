"""HOI-A and HOI-W: lists in PPDM's layout, told from HICO-DET's, and evaluated."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Outcome, alone_in, outcome

import diaghoi
from diaghoi import InputError, diagnose, protocol, read_annotations, read_predictions
from diaghoi.data.vocabulary import hoi_a
from diaghoi.formats import read, recognise
from diaghoi.formats.base import OwnDataError

WORDS = hoi_a()
HUMAN, THING = [0, 0, 100, 200], [300, 300, 400, 400]
# (verb, object) numbers of all classes.
CLASSES = [
    (int(verb) + 1, int(thing) + 1)
    for verb, thing in zip(WORDS.class_verb, WORDS.class_object, strict=True)
]
# Boards, drives and sits on buses and the like: classes of HICO-DET by COCO's ids, not of HOI-A.
OF_HICO_DET = [(5, 5), (5, 6), (5, 7), (9, 2)]
Image = dict[str, Any]
Save = Callable[[Any, str], Path]


def annotated(classes: list[tuple[int, int]], images: int = 24, **more: Any) -> list[Image]:
    """Images with a triplet each, as HOI-A has them: numbers of objects are strings."""
    return [
        {
            "file_name": f"test_{number:06}.png",
            "annotations": [
                {"bbox": HUMAN, "category_id": "1"},
                {"bbox": THING, "category_id": str(thing)},
            ],
            "hoi_annotation": [{"subject_id": 0, "object_id": 1, "category_id": verb, **more}],
        }
        for number in range(images)
        for verb, thing in [classes[number % len(classes)]]
    ]


def predicted(truth: list[Image], seed: int = 0) -> list[Image]:
    """Predictions in PPDM's layout: boxes moved, triplets dropped, repeated and made up."""
    draw = np.random.default_rng(seed)
    images = []
    for image in truth:
        boxes = []
        for box in image["annotations"]:
            x1, y1, x2, y2 = box["bbox"]
            move = draw.normal(0, 0.12, 4) * min(x2 - x1, y2 - y1)
            a, b, c, d = (np.array(box["bbox"]) + move).tolist()
            moved = [min(a, c), min(b, d), max(a, c), max(b, d)]
            boxes.append({"bbox": moved, "category_id": box["category_id"]})
        rows = [row for row in image["hoi_annotation"] for _ in range(draw.choice([0, 1, 1, 1, 2]))]
        rows += [
            {"subject_id": 0, "object_id": number, "category_id": verb}
            for number, box in enumerate(boxes)
            for verb, thing in CLASSES
            if thing == int(box["category_id"]) and draw.random() < 0.3
        ]
        scored = [{**row, "score": float(draw.random())} for row in rows]
        images.append(
            {
                "file_name": image["file_name"],
                "predictions": boxes,
                "hoi_prediction": scored,
            }
        )
    return images


def copied(truth: list[Image]) -> list[Image]:
    """Predictions in PPDM's layout that repeat the annotations."""
    return [
        {
            "file_name": image["file_name"],
            "predictions": image["annotations"],
            "hoi_prediction": [row | {"score": 0.5} for row in image["hoi_annotation"]],
        }
        for image in truth
    ]


def named(truth: list[Image]) -> list[Image]:
    """Predictions in the layout of HoiTransformer that repeat the annotations."""
    return [
        {
            "image_id": image["file_name"],
            "hoi_list": [
                {
                    "h_box": HUMAN,
                    "o_box": THING,
                    "h_cls": 0.5,
                    "o_cls": 0.5,
                    "i_cls": 1,
                    "o_name": WORDS.objects[int(image["annotations"][1]["category_id"]) - 1],
                    "i_name": WORDS.verbs[image["hoi_annotation"][0]["category_id"] - 1],
                }
            ],
        }
        for image in truth
    ]


def plain_ap(
    truth: list[Image], found: list[Image], *, by_verb: bool = False
) -> dict[tuple[int, int], float]:
    """AP of each (verb, object) by the rules of PPDM's evaluator for HOI-A, without arrays.

    By verb it is that evaluator itself: objects are 0 and a hit uses up all that it could have hit.
    """
    predictions = {image["file_name"]: image for image in found}
    total: dict[tuple[int, int], int] = defaultdict(int)
    ranked: dict[tuple[int, int], list[tuple[float, bool]]] = defaultdict(list)

    def _class(row: dict[str, Any], boxes: list[dict[str, Any]]) -> tuple[int, int]:
        return row["category_id"], 0 if by_verb else int(boxes[row["object_id"]]["category_id"])

    for image in truth:
        boxes, wanted = image["annotations"], list(image["hoi_annotation"])
        for row in wanted:
            total[_class(row, boxes)] += 1
        mine = predictions[image["file_name"]]
        for row in sorted(mine["hoi_prediction"], key=lambda row: -row["score"]):
            hits = [
                other
                for other in wanted
                if other["category_id"] == row["category_id"]
                and all(
                    _reaches(boxes[other[end]], mine["predictions"][row[end]])
                    for end in ("subject_id", "object_id")
                )
            ]
            for hit in hits if by_verb else hits[:1]:
                wanted.remove(hit)
            key = _class(row, mine["predictions"])
            ranked[key].append((row["score"], bool(hits)))
    return {key: _area([hit for _, hit in sorted(ranked[key])[::-1]], total[key]) for key in total}


def _reaches(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if int(one["category_id"]) != int(other["category_id"]):
        return False
    (a, b, c, d), (e, f, g, h) = one["bbox"], other["bbox"]
    shared = max(0, min(c, g) - max(a, e)) * max(0, min(d, h) - max(b, f))
    return shared / ((c - a) * (d - b) + (g - e) * (h - f) - shared) >= 0.5


def _area(hits: list[bool], total: int) -> float:
    """Area under the envelope of the precision-recall curve."""
    precision = [sum(hits[: end + 1]) / (end + 1) for end in range(len(hits))]
    return sum(max(precision[end:]) for end, hit in enumerate(hits) if hit) / total


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def saved(value: Any, name: str) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(value))
        return path

    return saved


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Outcome]]:
    with alone_in(tmp_path):
        yield outcome


def test_the_vocabulary() -> None:
    assert (len(WORDS.verbs), len(WORDS.objects), len(WORDS)) == (10, 11, 17)
    assert WORDS.class_name(0) == "smoke cigarette"
    assert WORDS.objects[WORDS.person] == "person"
    assert WORDS.protocol == protocol("hoi-a")
    assert WORDS.rare is None


def test_the_classes_are_those_of_the_published_table(shared: Path) -> None:
    path = shared / "data/hoi_a/corre_hoia.npy"
    if not path.is_file():
        pytest.skip("HOI-A (../shared/data/hoi_a) is not on this machine")
    assert [[verb - 1, thing - 1] for verb, thing in CLASSES] == np.argwhere(np.load(path)).tolist()


def test_files_of_hoi_a_are_recognised_and_say_why(save: Save) -> None:
    truth = annotated(CLASSES)
    files = (save(truth, "truth.json"), save(predicted(truth), "found.json"))
    for path, what in zip(files, ("cdn-json", "ppdm"), strict=True):
        assert (recognise(path).format, recognise(path).dataset) == (what, "hoi-a")
        _, scenes = read(path)
        (note,) = scenes.notes
        assert note.startswith(f"{path}: taken for hoi-a: no object is above 11, no verb above 10")
        assert "100 % of the" in note
        assert read(path, dataset="hoi-a")[1].notes == ()  # nothing had to be found out
    scenes = read_annotations(files[0])
    assert scenes.triplet_class.tolist() == [number % 17 for number in range(24)]
    assert scenes.box_label[:2].tolist() == [0, 2]
    assert scenes.box_xyxy[0].tolist() == HUMAN


def test_files_of_hico_det_stay_what_they_are(save: Save) -> None:
    for truth in (
        annotated(OF_HICO_DET),
        annotated(OF_HICO_DET, images=1),
        annotated([*CLASSES, (77, 4)]),  # rides a motorcycle: no verb of HOI-A
        annotated([*CLASSES, (1, 90)]),
        [image | {"file_name": f"HICO_{n}.jpg"} for n, image in enumerate(annotated(CLASSES))],
    ):
        assert recognise(save(truth, "truth.json")).dataset == "hico-det"
        assert recognise(save(copied(truth), "found.json")).dataset == "hico-det"
    scenes = read_annotations(save(annotated(OF_HICO_DET), "truth.json"))
    assert (scenes.triplet_class >= 0).all()


def test_what_may_be_of_either_is_refused(save: Save, run: Any) -> None:
    for truth in (annotated(CLASSES, images=3), annotated(CLASSES[3:], images=4)):
        path = save(truth, "truth.json")
        problem = (
            f"{path}: may be for hoi-a or hico-det: its numbers exist in both; give --dataset "
            "hoi-a or --dataset hico-det"
        )
        with pytest.raises(InputError) as error:
            read_annotations(path)
        assert str(error.value) == problem.replace("--dataset", "`dataset`")
        assert read_annotations(path, dataset="hoi-a").vocabulary is WORDS
        found = save(predicted(truth), "found.json")
        done = run("report", found, "--annotations", path)
        assert (done.code, done.err) == (2, f"diaghoi: error: {problem}\n")
        done = run("report", found, "--annotations", path, "--dataset", "hoi-a", "--json", "-")
        assert json.loads(done.out)["dataset"] == "hoi-a", done.err


def test_what_fits_neither_is_of_another_data_set(save: Save) -> None:
    path = save(annotated([*CLASSES[:4], *OF_HICO_DET]), "truth.json")
    with pytest.raises(OwnDataError, match=r"50 % are HOI classes of hoi-a, and 50 % .* own.toml"):
        read_annotations(path)
    for name in ("hoi-a", "hico-det"):
        read_annotations(path, dataset=name)


def test_annotations_decide_where_predictions_do_not(save: Save, run: Any) -> None:
    truth = annotated(CLASSES)
    few = save(predicted(truth)[:2], "few.json")
    done = run("report", few, "--annotations", save(truth, "truth.json"), "--json", "-")
    assert json.loads(done.out)["dataset"] == "hoi-a", done.err


def test_files_of_two_data_sets_are_refused(save: Save) -> None:
    path = save(annotated(CLASSES), "truth.json")
    with pytest.raises(InputError, match=r"is for hoi-a \(cdn-json\), but hico-det is expected"):
        read_annotations(path, dataset="hico-det")


def test_numbers_that_hoi_a_lacks(save: Save) -> None:
    truth = annotated([(11, 3)], images=1)
    with pytest.raises(InputError, match="unknown verb 11; verbs of hoi-a are numbered 1 to 10"):
        read_annotations(save(truth, "truth.json"), dataset="hoi-a")
    truth = annotated([(1, 12)], images=1)
    with pytest.raises(InputError, match=r"category 12; hoi-a objects are numbered 1 to 11$"):
        read_annotations(save(truth, "truth.json"), dataset="hoi-a")


def test_combinations_that_are_not_classes_are_counted(save: Save) -> None:
    truth = annotated([*CLASSES * 2, (7, 10)], images=35)  # holds a computer
    annotations = read_annotations(save(truth, "truth.json"))
    predictions = read_predictions(save(predicted(truth), "found.json"))
    notes = diagnose(annotations, predictions).notes
    wanted = "1 annotated triplets are left out because their object and verb form no HOI class"
    assert any(note.startswith(wanted) for note in notes)


def test_a_case_by_hand(save: Save) -> None:
    """Two people smoke; a miss, a hit and a repetition: AP 1/2 * 1/2, and 16 classes count 0."""
    smoke = annotated([CLASSES[0]], images=24)
    for image in smoke[2:]:
        image["hoi_annotation"] = []
    boxes = [dict(box) for box in smoke[0]["annotations"]]
    boxes.append({"bbox": [500, 0, 520, 20], "category_id": "3"})
    rows = [
        {"subject_id": 0, "object_id": thing, "category_id": 1, "score": score}
        for thing, score in ((2, 0.9), (1, 0.8), (1, 0.7))
    ]
    found = [{"file_name": "test_000000.png", "predictions": boxes, "hoi_prediction": rows}]
    diagnosis = diagnose(
        read_annotations(save(smoke, "truth.json"), dataset="hoi-a"),
        read_predictions(save(found, "found.json"), dataset="hoi-a"),
    )
    assert diagnosis.mean_ap["full"] == pytest.approx(0.25 / 17, abs=1e-15)
    # Boxes are measured by their edges: half of the width is an IoU of exactly 1/2.
    found[0]["predictions"][0]["bbox"] = [0, 0, 50, 200]
    again = read_predictions(save(found, "found.json"), dataset="hoi-a")
    annotations = read_annotations(save(smoke, "truth.json"), dataset="hoi-a")
    assert diagnose(annotations, again).mean_ap == diagnosis.mean_ap
    assert diagnose(annotations, again, "hico-det").mean_ap["full"] == pytest.approx(3 / 11)


@pytest.mark.parametrize("seed", range(3))
def test_ap_of_every_class_is_that_of_the_evaluator(seed: int, save: Save) -> None:
    truth = annotated(CLASSES, images=120)
    found = predicted(truth, seed)
    diagnosis = diagnose(
        read_annotations(save(truth, "truth.json")), read_predictions(save(found, "found.json"))
    )
    expected = plain_ap(truth, found)
    assert 0.1 < min(expected.values()) < 1
    ap = [expected[key] for key in CLASSES]
    np.testing.assert_allclose(diagnosis.classes["ap"], ap, rtol=0, atol=1e-12)
    assert diagnosis.mean_ap["full"] == pytest.approx(np.mean(ap), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_by_verb_it_is_the_figure_of_the_evaluator(seed: int, save: Save) -> None:
    # The last two are no classes of HOI-A: they count where classes are verbs.
    truth = annotated([*CLASSES, (7, 10), (1, 3)], images=120)
    for number, image in enumerate(truth[::3]):  # an object annotated twice, nearly or exactly
        x1, y1, x2, y2 = THING
        label = image["annotations"][1]["category_id"]
        image["annotations"].append({"bbox": [x1 + number % 3, y1, x2, y2], "category_id": label})
        image["hoi_annotation"].append(image["hoi_annotation"][0] | {"object_id": 2})
    found = predicted(truth, seed)
    diagnosis = diagnose(
        read_annotations(save(truth, "truth.json"), dataset="hoi-a-verbs"),
        read_predictions(save(found, "found.json"), dataset="hoi-a-verbs"),
    )
    expected = plain_ap(truth, found, by_verb=True)
    ap = [expected.get((verb, 0), 0.0) for verb in range(1, 11)]
    np.testing.assert_allclose(diagnosis.classes["ap"], ap, rtol=0, atol=1e-12)
    assert diagnosis.classes["verb"].tolist() == list(WORDS.verbs)
    assert diagnosis.mean_ap["full"] == pytest.approx(np.mean(ap), abs=1e-12)
    assert not any("no HOI class" in note for note in diagnosis.notes)


def test_the_protocol_of_verbs_names_its_data_set(save: Save, run: Any) -> None:
    truth = annotated(CLASSES)
    files = save(predicted(truth), "found.json"), "--annotations", save(truth, "truth.json")
    done = run("report", *files, "--protocol", "hoi-a-verbs")
    assert done.code == 2
    assert "hoi-a-verbs is not for hoi-a; give --dataset hoi-a-verbs, or choose" in done.err
    done = run("report", *files, "--dataset", "hoi-a-verbs", "--detail")
    assert done.code == 0, done.err
    assert "classes: verbs, whatever the object" in done.out


def test_all_of_it_through_the_command_line(save: Save, run: Any) -> None:
    truth = annotated(CLASSES, images=60)
    annotations = save(truth, "truth.json")
    files = [save(predicted(truth, seed), f"{seed}.json") for seed in (0, 1)]
    done = run("report", files[0], "--annotations", annotations, "--detail")
    assert done.code == 0, done.err
    assert "on HOI-A (hoi-a)" in done.out
    assert "Official" not in done.out
    assert "Rare" not in done.out
    assert "taken for hoi-a" in done.err
    for words in (("inspect", files[0]), ("compare", *files)):
        done = run(*words, "--annotations", annotations)
        assert done.code == 0, done.err
    assert run("inspect", annotations).code == 0
    data = Path("data/hoia")  # of the folder that the command runs in
    data.mkdir(parents=True)
    annotations.rename(data / "test_hoia.json")
    done = run("report", files[0], "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["notes"][0].startswith("annotations: data/hoia/test_hoia.json")


def test_named_triplets_of_hoi_transformer(save: Save) -> None:
    images = named(annotated(CLASSES))
    path = save(images, "named.json")
    assert recognise(path).dataset == "hoi-a"
    scenes = read_predictions(path)
    assert scenes.triplet_class.tolist() == [number % 17 for number in range(24)]
    for image in images:  # a horse is an object of both data sets
        image["hoi_list"][0] |= {"o_name": "horse", "i_name": "ride"}
    assert recognise(save(images, "named.json")).dataset == "hico-det"


def test_the_published_files(shared: Path, save: Save) -> None:
    folder = shared / "data"
    if not (folder / "hoi_a").is_dir() or not (folder / "hoi_w").is_dir():
        pytest.skip("HOI-A and HOI-W (../shared/data) are not on this machine")
    scenes = read_annotations(folder / "hoi_w" / "example.json")
    assert (scenes.vocabulary, len(scenes), len(scenes.triplet_verb)) == (WORDS, 30, 79)
    truth = json.loads((folder / "hoi_a" / "test_hoia.json").read_text())[:400]
    found = predicted(truth)
    annotations = read_annotations(save(truth, "truth.json"))
    predictions = read_predictions(save(found, "found.json"))
    assert annotations.vocabulary is predictions.vocabulary is WORDS
    first = [WORDS.class_name(hoi) for hoi in annotations.triplet_class[:2].tolist()]
    assert first == ["smoke cigarette", "hold cigarette"]
    expected = plain_ap(truth, found)
    mean = sum(expected.get(key, 0) for key in CLASSES) / len(CLASSES)
    assert diaghoi.diagnose(annotations, predictions).mean_ap["full"] == pytest.approx(
        mean, abs=1e-12
    )
