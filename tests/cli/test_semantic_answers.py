"""``diaghoi semantic`` on free-text answers of language models, with boxes and without."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TRUTH = {
    "a.jpg": [("ride", "bicycle"), ("hold", "bicycle"), ("ride", "bicycle")],
    "b.jpg": [("wash", "train")],
}


@pytest.fixture
def truth(alone: Path) -> Path:
    """Annotations of two images; in one, two people do the same."""
    from diaghoi.data.vocabulary import hico_det

    data = hico_det()
    images = []
    for image, triplets in TRUTH.items():
        boxes, listed = [], []
        for number, (verb, thing) in enumerate(triplets):
            box = [10.0 + 30 * number, 10.0, 60.0 + 30 * number, 60.0]
            boxes += [
                {"bbox": box, "category_id": data.person},
                {"bbox": box, "category_id": data.objects.index(thing)},
            ]
            pair = {"subject_id": 2 * number, "object_id": 2 * number + 1}
            listed.append(pair | {"category_id": data.verbs.index(verb)})
        images.append({"filename": image, "annotations": boxes, "hoi_annotation": listed})
    (alone / "gt.json").write_text(json.dumps(images))
    return alone / "gt.json"


@pytest.fixture
def evaluate(run, truth: Path):
    """Return a function that evaluates lines and gives the result and what is printed."""

    def command(*lines: dict[str, Any], more: tuple[object, ...] = ()) -> tuple[dict, Any]:
        Path("answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
        words = ("semantic", "answers.jsonl", "--annotations", truth, "--json", "r.json", *more)
        done = run(*words)
        assert done.code == 0, done.err
        return json.loads(Path("r.json").read_text()), done

    return command


def test_without_boxes_each_class_of_an_image_counts_once(evaluate) -> None:
    result, done = evaluate(
        {"image": "a.jpg", "text": "a man riding a bicycle; a man holds a bike", "score": 0.9},
        {"image": "a.jpg", "verb": "ride", "object": "bicycle", "score": 0.4},
        {"image": "b.jpg", "text": "cleaning a train", "score": 0.8},
    )
    assert result["measure"]["matching"] == "class"
    assert "by class alone" in result["measure"]["signature"]
    assert "match predictions by class alone: each class once per image" in " ".join(
        done.out.split()
    )
    assert (result["counts"]["annotated_triplets"], result["counts"]["predicted_triplets"]) == (
        3,
        3,
    )
    assert result["gt_miss_rate_all_predictions"] == 0
    assert {row["name"]: row["soft_ap"] for row in result["classes"]} == pytest.approx(
        # "Clean" is rated 0.75 of "wash"; the train is right.
        {"ride bicycle": 1, "hold bicycle": 1, "wash train": 0.875 * 0.875}
    )
    assert result["map"] == pytest.approx(1 / 3)  # "bike" is another word than "bicycle"
    assert len(done.out.splitlines()) <= 24


def test_sizes_of_images_change_nothing(truth: Path) -> None:
    from diaghoi import read_annotations, read_predictions
    from diaghoi.semantic import evaluate

    annotations = read_annotations(truth, dataset="hico-det")
    lines = [{"image": "a.jpg", "text": "ride bicycle; hold bicycle", "score": 0.9}]
    Path("x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    predictions = read_predictions("x.jsonl", dataset="hico-det")
    sized = replace(annotations, sizes=np.full((2, 2), 500))
    for given in (annotations, sized):
        found = evaluate(given, predictions)
        assert found.standard_map == pytest.approx(2 / 3)
        assert not any("fractions" in note for note in found.notes)


def test_frequent_words_are_listed_first(evaluate) -> None:
    answers = [{"image": "a.jpg", "verb": verb, "object": "train"} for verb in ("grab", "rinse")]
    again = {"image": "b.jpg", "verb": "rinse", "object": "train"}
    result, _ = evaluate(*answers, again, more=("--detail",))
    words = result["similarity"]["verbs"]["free_words"]
    assert [(word["word"], word["predictions"]) for word in words] == [("rinse", 2), ("grab", 1)]


def test_words_and_the_sense_chosen_for_each(evaluate) -> None:
    result, done = evaluate(
        {"image": "a.jpg", "verb": "grab", "object": "motorbike"},
        {"image": "a.jpg", "verb": "ride", "object": "velocipede"},
        {"image": "b.jpg", "verb": "frobnicate", "object": "train"},
        more=("--detail",),
    )
    verbs, objects = (result["similarity"][what] for what in ("verbs", "objects"))
    assert verbs["not_understood"] == ["frobnicate"]
    assert objects["not_understood"] == []
    word = verbs["free_words"][0]
    assert (word["word"], word["sense"], word["closest"]) == ("grab", "catch.v.04", "catch")
    senses = {word["word"]: (word["closest"], word["similarity"]) for word in objects["free_words"]}
    assert senses["motorbike"] == ("motorcycle", pytest.approx(0.9))
    assert senses["velocipede"][0] == "bicycle"
    assert "Predicted verbs" in done.out
    assert "Not understood, and so similar to nothing: frobnicate." in done.out
    screen = evaluate({"image": "b.jpg", "verb": "frobnicate", "object": "train"})[1]
    assert "Words that are not in the data set: 1; not understood 1: frobnicate" in screen.out
    assert "--also diagnose" not in screen.out
    assert result["soft_map"] is None
    assert result["mf1"] > 0


def test_with_boxes_they_are_matched_as_usual_unless_asked(evaluate) -> None:
    line = {"human_box": [10, 10, 60, 60], "object_box": [10, 10, 60, 60], "score": 0.5}
    away = {"human_box": [300, 300, 400, 400], "object_box": [300, 300, 400, 400], "score": 0.5}
    lines = (
        {"image": "a.jpg", "text": "ride bicycle"} | line,
        {"image": "b.jpg", "text": "wash train"} | away,
    )
    result, _ = evaluate(*lines, more=("--force",))
    assert "matching" not in result["measure"]
    assert result["gt_miss_rate_all_predictions"] == 0.75
    result, _ = evaluate(*lines, more=("--force", "--matching", "class"))
    assert result["gt_miss_rate_all_predictions"] == pytest.approx(1 / 3)


def test_by_class_alone_nothing_in_common_is_no_match(evaluate) -> None:
    """Without boxes, only the meaning says what a prediction is of."""
    result, _ = evaluate(
        {"image": "a.jpg", "text": "ride bicycle"}, {"image": "b.jpg", "text": "flurb the gronk"}
    )
    assert result["gt_miss_rate_all_predictions"] == pytest.approx(2 / 3)
    assert result["prediction_miss_rate_all_predictions"] == 0.5


def test_images_that_have_no_answer_are_told_of_first(evaluate) -> None:
    _, done = evaluate({"image": "a.jpg", "text": "ride bicycle"})
    marks = [line for line in done.out.splitlines() if line.startswith("! ")]
    assert marks[0].startswith("! 1 annotated image without predictions, where all triplets count")
    assert "--only-predicted-images" in done.out


def test_an_image_in_which_nothing_is_done(evaluate) -> None:
    result, done = evaluate(
        {"image": "a.jpg", "text": "ride bicycle"}, {"image": "b.jpg", "text": None}
    )
    assert result["counts"]["predicted_triplets"] == 1
    assert "1 pairs are reported to have no interaction" in " ".join(result["notes"])
    assert done.code == 0


@pytest.mark.parametrize(
    ("line", "words", "message"),
    [
        ({"object_box": [0, 0, 1, 1]}, (), "line 2: object_box: the first line has no boxes; give"),
        (
            {},
            ("--also", "diagnose"),
            "--also diagnose: needs scores to describe the meaning of errors",
        ),
        ({"score": 0.5}, (), "line 2: score: given here, but not in line 1; give a score to"),
    ],
)
def test_what_cannot_be_evaluated(refuse, truth: Path, line, words, message) -> None:
    lines = [{"image": "a.jpg", "text": "ride bicycle"}, {"image": "b.jpg", "text": "wash train"}]
    lines[1] |= line
    Path("x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert message in refuse("semantic", "x.jsonl", "--annotations", truth, *words)


def test_a_line_without_an_answer(refuse, truth: Path) -> None:
    Path("x.jsonl").write_text('{"image": "a.jpg", "text": "ride bicycle"}\n{"image": "b.jpg"}')
    said = refuse("semantic", "x.jsonl", "--annotations", truth)
    assert "line 2: has no answer; give text, or verb and object" in said


@pytest.mark.parametrize("command", ["report", "compare"])
def test_other_commands_need_boxes(refuse, truth: Path, command: str) -> None:
    line = {"image": "a.jpg", "text": "ride bicycle", "score": 1}
    Path("x.jsonl").write_text(json.dumps(line))
    message = refuse(command, "x.jsonl", "--annotations", truth)
    assert "x.jsonl: has no boxes; 'diaghoi semantic' evaluates it by class alone" in message


def test_results_by_class_and_by_boxes_do_not_compare(evaluate, refuse) -> None:
    evaluate({"image": "a.jpg", "text": "ride bicycle", "score": 1}, more=("--label", "one"))
    Path("r.json").rename("one.json")
    line = {"human_box": [10, 10, 60, 60], "object_box": [10, 10, 60, 60], "score": 0.5}
    evaluate({"image": "a.jpg", "text": "ride bicycle"} | line, more=("--label", "two"))
    message = refuse("compare", "one.json", "r.json")
    assert "'one' has matching class, 'two' has matching boxes" in message
