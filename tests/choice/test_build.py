"""Benchmarks made of annotations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.scenes import BICYCLE, HOLD, HUG, PERSON, RIDE, VOCABULARY, WASH, image, scenes

from diaghoi.choice.answers import Answer, Answers
from diaghoi.choice.build import ChoiceBenchmark, build_benchmark, published_name
from diaghoi.choice.candidates import Target, Verdicts, targets_in_images
from diaghoi.choice.classes import indistinct_from, parse_option
from diaghoi.choice.detect import detected_answers
from diaghoi.choice.evaluation import evaluate_answers
from diaghoi.choice.judges import time_sensitive_judge
from diaghoi.choice.people import read_people
from diaghoi.choice.questions import Questions, read_questions
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, v_coco
from diaghoi.exceptions import InputError
from diaghoi.report.benchmark_files import write_benchmark

LEFT, RIGHT, THING = (0.0, 0.0, 19.0, 39.0), (100.0, 0.0, 119.0, 39.0), (30.0, 30.0, 49.0, 49.0)
BOXES = [(PERSON, LEFT), (PERSON, RIGHT), (BICYCLE, THING)]
KITE = VOCABULARY.objects.index("kite")
FIGURES = (
    "instance_f1", "macro_f1", "micro_f1", "micro_precision", "micro_recall", "exact_match"
)  # fmt: skip


class AllNegative:
    """Calls everything a negative, whatever the picture shows."""

    name, sees_pictures, notes = "all negative", True, ()

    def judge(self, asked: list[Target]) -> list[Verdicts]:
        return [dict.fromkeys(one.candidates, False) for one in asked]


class Sparing(AllNegative):
    """Confirms two negatives of each target, and all of the person at the left."""

    def judge(self, asked: list[Target]) -> list[Verdicts]:
        return [
            dict.fromkeys(one.candidates[: None if one.person == 0 else 2], False) for one in asked
        ]


def annotated(number: int = 6) -> Scenes:
    """Images in each of which one person rides and another holds and washes a bicycle."""
    done = [(0, 2, RIDE), (1, 2, HOLD), (1, 2, WASH)]
    return scenes([image(f"HICO_{n}.jpg", BOXES, done) for n in range(number)], scored=False)


def built(annotations: Scenes, *judges: Any, **more: Any) -> ChoiceBenchmark:
    return build_benchmark(
        annotations, targets_in_images(annotations), judges or (AllNegative(),), **more
    )


def reread(benchmark: ChoiceBenchmark, folder: Path, setting: int, **more: Any) -> Questions:
    write_benchmark(folder, benchmark)
    return read_questions(folder / f"setting_{setting}.json", **more)


@pytest.mark.parametrize("setting", [1, 2, 3])
def test_a_perfect_answer_to_what_was_built_is_1_everywhere(tmp_path: Path, setting: int) -> None:
    made = built(annotated())
    asked = reread(made, tmp_path, setting)
    several, notes = read_people(tmp_path / "people.json", asked)
    answers = tuple(Answer(picked=each.right, how="letters") for each in asked.questions)
    found = evaluate_answers(
        Answers(label="perfect", questions=asked, answers=answers), people=several
    ).to_dict()
    assert len(asked) == 6
    assert notes == ()
    for group in (found, found["multi"]):
        assert [group[key] for key in FIGURES] == [1.0] * len(FIGURES)


def test_a_detector_that_repeats_the_annotations_answers_perfectly(tmp_path: Path) -> None:
    annotations = annotated()
    certain = np.ones(len(annotations.triplet_pair))
    detector = replace(annotations, triplet_score=certain, triplet_action_score=certain)
    for setting in (1, 2):
        asked = reread(built(annotations), tmp_path, setting)
        found = detected_answers(detector, asked)
        picked = [set(each.picked) for each in found.answers]
        assert picked == [set(each.right) for each in asked.questions]


def test_boxes_on_hico_det_are_counted_from_one_as_in_the_published_questions() -> None:
    boxes = {each.human for each in built(annotated(), all_people=True).people}
    assert boxes == {(1, 1, 20, 40), (101, 1, 120, 40)}


def test_what_the_questions_of_the_settings_are_about() -> None:
    made = built(annotated())
    assert all(each.human is None for each in made.of_setting("setting_1"))
    assert made.of_setting("setting_2") == made.of_setting("setting_3")
    made = built(annotated(1), all_people=True)
    right = [{parse_option(o).verb for o in each.right} for each in (*made.scenes, *made.people)]
    assert right == [{"ride", "hold", "wash"}, {"ride"}, {"hold", "wash"}]
    assert [each.name for each in made.people] == ["QA_0", "QA_1"]


def test_people_and_options_are_drawn_by_the_seed() -> None:
    drawn = {
        tuple(each.human for each in built(annotated(), seed=seed).people) for seed in range(6)
    }
    assert len(drawn) > 3
    assert all(len(boxes) == 6 for boxes in drawn)
    first, again, other = (built(annotated(), seed=seed).scenes for seed in (1, 1, 2))
    assert first == again != other


def test_questions_do_not_depend_on_the_order_of_images() -> None:
    annotations = annotated()
    turned = built(annotations.take(np.arange(6)[::-1]))
    made = built(annotations)
    for setting in ("setting_1", "setting_2"):
        assert set(made.of_setting(setting)) == set(turned.of_setting(setting))


def test_counterparts_are_no_option_whatever_judges_say() -> None:
    words, taken = VOCABULARY, []
    for hoi, (thing, verb) in enumerate(zip(words.class_object, words.class_verb, strict=True)):
        other = RIGHT if thing == words.person else THING
        boxes = [(PERSON, LEFT), (int(thing), other)]
        taken.append(image(f"HICO_{hoi}.jpg", boxes, [(0, 1, int(verb))]))
    made = built(scenes(taken, scored=False))
    assert len(made.scenes) > 500
    for each in (*made.scenes, *made.people):
        wrong = {parse_option(option) for option in each.wrong}
        assert not wrong & indistinct_from(map(parse_option, each.right))
    catch = [each for each in made.scenes if "catch a/an frisbee" in each.right]
    assert catch
    assert all("throw a/an frisbee" not in each.options for each in catch)


def test_what_cannot_be_filled_is_left_out_and_counted() -> None:
    # The only object of HICO-DET with three actions.
    (small,) = np.flatnonzero(np.bincount(VOCABULARY.class_object, minlength=80) == 3).tolist()
    verb = int(VOCABULARY.class_verb[VOCABULARY.class_object == small][0])
    images = [
        image("HICO_good.jpg", BOXES, [(0, 2, v) for v in (RIDE, HOLD, WASH)]),
        image("HICO_judged.jpg", BOXES, [(0, 2, RIDE)]),
        image("HICO_empty.jpg", BOXES, []),
        image("HICO_small.jpg", [BOXES[0], (small, THING)], [(0, 1, verb)]),
    ]
    made = built(scenes(images, scored=False), Sparing())
    assert [each.image for each in made.scenes] == ["HICO_good.jpg"]
    assert made.left_out == {
        "not_annotated": ("HICO_empty.jpg",),
        "few_actions": ("HICO_small.jpg",),
        "few_negatives": ("HICO_judged.jpg",),
    }


def test_an_object_with_too_few_actions_is_left_out_before_any_judge_is_asked() -> None:
    words = Vocabulary(
        name="small", objects=("person", "cup"), verbs=("hold", "drink", "wash"), person=0,
        class_object=np.array([1, 1, 1]), class_verb=np.array([0, 1, 2]),
        protocol=VOCABULARY.protocol,
    )  # fmt: skip
    boxes = [(0, LEFT), (1, THING)]
    cups = scenes([image("a.jpg", boxes, [(0, 1, 0)])], scored=False)
    cups = replace(cups, vocabulary=words)
    judge = AllNegative()
    judge.judge = lambda asked: pytest.fail("asked") if asked else []  # type: ignore[method-assign]
    problem = (
        "no question with 4 options can be built: 1 images have too few other actions that "
        "the objects allow"
    )
    with pytest.raises(InputError, match=problem):
        built(cups, judge)


def test_people_without_negatives_are_counted_where_others_have_some() -> None:
    # A scene with enough right options needs no negative; one of the two people lacks them.
    done = [(0, 2, RIDE), (1, 2, HOLD)]
    done += [(0, 2, WASH), (0, 2, VOCABULARY.verbs.index("push"))]
    made = built(
        scenes([image("HICO_a.jpg", BOXES, done)], scored=False), Sparing(), all_people=True
    )
    assert [len(each.right) for each in made.people] == [3]
    assert made.people_left_out == 1
    assert made.to_dict()["people_left_out"] == 1


def test_targets_that_need_no_negative_are_not_judged() -> None:
    verbs = (RIDE, HOLD, WASH, VOCABULARY.verbs.index("push"), VOCABULARY.verbs.index("walk"))
    full = scenes([image("HICO_a.jpg", BOXES, [(0, 2, v) for v in verbs])], scored=False)
    made = built(full)
    assert made.records[0].to_dict()["asked"] == 0
    assert [len(each.right) for each in made.scenes] == [4]
    assert made.scenes[0].wrong == ()


def test_images_without_names_are_refused() -> None:
    nameless = scenes([image("", BOXES, [(0, 2, RIDE)])], scored=False)
    with pytest.raises(InputError, match="the images have no names"):
        built(nameless)


def test_the_summary_counts_what_was_made(tmp_path: Path) -> None:
    alone = image("HICO_z.jpg", [BOXES[0], BOXES[2]], [(0, 1, RIDE)])
    together = image("HICO_y.jpg", BOXES[:2], [(0, 1, HUG)])
    two = scenes([alone, together], scored=False)
    found = built(two, time_sensitive_judge(), seed=3).to_dict()
    assert (found["images"], found["single"], found["multi"]) == (2, 1, 1)
    assert found["questions"] == {"setting_1": 2, "setting_2": 2, "setting_3": 2}
    assert found["right_options"]["setting_1"] == {"1": 2, "2": 0, "3": 0, "4": 0}
    assert found["judges"][0]["judge"] == "time-sensitive"
    assert (found["seed"], found["dataset"], found["notes"]) == (3, "hico-det", [])


def test_v_coco_images_are_named_as_in_coco() -> None:
    assert published_name("764", v_coco()) == "COCO_val2014_000000000764.jpg"
    assert published_name("165", v_coco()) == "COCO_train2014_000000000165.jpg"
    assert published_name("764", VOCABULARY) == "764"


def test_the_candidates_of_v_coco_are_what_is_annotated_with_the_object() -> None:
    words = v_coco()
    verbs = [words.verbs.index(f"{verb}") for verb in (
        "ride instr", "hold obj", "look obj", "carry obj", "jump instr", "ride agent"
    )]  # fmt: skip
    boxes = [(PERSON, LEFT), (BICYCLE, THING), (KITE, THING)]
    images = [image(str(n), boxes, [(0, 1, verb)]) for n, verb in enumerate(verbs, 764)]
    images.append(image("900", boxes, [(0, 2, words.verbs.index("hold obj"))]))
    made = built(replace(scenes(images, scored=False), vocabulary=words))
    options = {parse_option(option) for each in made.scenes for option in each.options}
    assert {each.verb for each in options} <= {"ride", "hold", "look_at", "carry", "jump_on"}
    assert {each.object for each in options} == {"bicycle"}
    assert len(made.scenes) == 5
    assert made.people[0].human == LEFT


def test_a_data_set_that_images_do_not_tell_is_named(tmp_path: Path) -> None:
    own = replace(annotated(), names=np.array([f"{n}.jpg" for n in range(6)]))
    made = built(own)
    assert made.notes[-1].startswith(
        "image names like 0.jpg do not reveal the data set; give --dataset"
    )
    assert reread(made, tmp_path, 2, dataset="hico-det").dataset == "hico-det"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as refusal:
        write_benchmark(tmp_path / "file" / "out", built(annotated(1)))
    assert str(refusal.value) == (
        f"{tmp_path / 'file' / 'out'}: cannot be made: Not a directory; give another `out`"
    )
