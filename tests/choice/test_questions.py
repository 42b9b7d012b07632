"""Reading questions, and the classes that their options name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diaghoi import InputError
from diaghoi.choice import read_questions
from diaghoi.choice.classes import Interaction, classes_of, normalised, parse_option
from diaghoi.formats.description import vocabulary

ONE = {"gt_choices": ["ride a/an horse"], "wrong_choices": ["feed a/an horse"]}


def saved(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_an_image_has_one_question_or_several(tmp_path: Path) -> None:
    value = {"HICO_1.jpg": ONE, "HICO_2.jpg": {"QA_0": ONE, "QA_2": ONE}}
    questions = read_questions(saved(tmp_path, value))
    assert [(each.image, each.name) for each in questions.questions] == [
        ("HICO_1.jpg", "QA_0"),
        ("HICO_2.jpg", "QA_0"),
        ("HICO_2.jpg", "QA_2"),
    ]
    assert (questions.images, questions.image_of.tolist()) == (
        ("HICO_1.jpg", "HICO_2.jpg"),
        [0, 1, 1],
    )


def test_the_boxes_are_of_person_and_object(tmp_path: Path) -> None:
    boxes = {"human": [1, 2, 30, 40], "object": [5.5, 6, 7, 8], "object_class": "horse"}
    (question,) = read_questions(saved(tmp_path, {"HICO_1.jpg": ONE | {"boxes": boxes}})).questions
    assert (question.human, question.object) == ((1, 2, 30, 40), (5.5, 6, 7, 8))


@pytest.mark.parametrize(
    ("image", "option", "dataset"),
    [
        ("HICO_test2015_00000001.jpg", "ride a/an horse", "hico-det"),
        ("COCO_val2014_000000000764.jpg", "ride a/an horse", "v-coco"),
        ("adjusting_133.jpg", "adjusting", "swig-hoi"),
        ("mine.jpg", "ride a/an horse", "questions"),
        ("mine.jpg", "something else", "questions"),
    ],
)
def test_the_data_set_is_told_by_images_and_options(tmp_path, image, option, dataset) -> None:
    value = {image: {"gt_choices": [option], "wrong_choices": []}}
    assert read_questions(saved(tmp_path, value)).dataset == dataset


def test_the_data_set_can_be_given(tmp_path: Path) -> None:
    assert read_questions(saved(tmp_path, {"x.jpg": ONE}), dataset="v-coco").dataset == "v-coco"


def with_box(role: str, *box: Any) -> dict[str, Any]:
    return {"a.jpg": ONE | {"boxes": {role: list(box)}}}


BAD = [
    ([], "holds no questions"),
    ({}, "holds no questions"),
    ({"a.jpg": 3}, "image 'a.jpg': QA_0: 3 is not a question"),
    ({"a.jpg": {}}, "image 'a.jpg': QA_0: 'gt_choices' is missing; there are: none"),
    ({"a.jpg": {"QA_0": 3}}, "image 'a.jpg': QA_0: 3 is not a question"),
    (
        {"a.jpg": {"gt_choices": [], "wrong_choice": []}},
        r"QA_0: 'wrong_choices' is missing \(did you mean 'wrong_choice' or",
    ),
    ({"a.jpg": ONE | {"gt_choices": "x"}}, "QA_0: gt_choices: 'x'; give a list of option texts"),
    ({"a.jpg": ONE | {"wrong_choices": [1]}}, r"wrong_choices: \[1\]; give a list of option texts"),
    ({"a.jpg": ONE | {"wrong_choices": [" "]}}, r"the 2 options .*' '\); .* none empty"),
    ({"a.jpg": {"gt_choices": [], "wrong_choices": []}}, "the 0 options .*give 1 to 26"),
    ({"a.jpg": ONE | {"gt_choices": [*map(str, range(26))]}}, "has the 27 options"),
    ({"a.jpg": ONE | {"boxes": [1]}}, r"QA_0: boxes: \[1\] is not an object"),
    (with_box("human", 1, 2, 3), r"boxes.human: \[1, 2, 3\] is not a box"),
    (with_box("human", 9, 2, 3, 4), r"boxes.human: \[9, 2, 3, 4\] is not a box; give left, top, r"),
    (with_box("object", 1, 2, 3, "4"), "boxes.object: .* is not a box"),
    (with_box("object", 1, 2, 3, True), "boxes.object: .* is not a box"),
]


@pytest.mark.parametrize(("value", "message"), BAD)
def test_bad_questions_are_named(tmp_path: Path, value: Any, message: str) -> None:
    path = saved(tmp_path, value)
    with pytest.raises(InputError, match=message) as caught:
        read_questions(path)
    assert str(caught.value).startswith(str(path))


def test_published_files_are_read_as_they_are(shared: Path) -> None:
    counts = {}
    for path in sorted((shared / "data" / "choice").glob("*/*.json")):
        questions = read_questions(path)
        counts[path.stem] = (questions.dataset, len(questions), len(questions.images))
    assert counts == {
        **{
            f"crosshoi_bench_{name}_final": ("hico-det", 1274, 1274)
            for name in ("allscene", "hum_box", "hum_obj_box")
        },
        **{
            f"{data}_newbench_{name}": sizes
            for data, sizes in (
                ("swighoi", ("swig-hoi", 1852, 1851)),
                ("vcoco", ("v-coco", 647, 499)),
            )
            for name in ("ho", "none", "person")
        },
    }


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("ride a/an bicycle", ("ride", "bicycle")),
        ("sit_on a/an sports ball", ("sit_on", "sports_ball")),
        ("look at a/an frisbee", ("look_at", "frisbee")),
        ("no_interaction with a/an car", ("no_interaction", "car")),
        ("no_interaction a/an car", ("no_interaction", "car")),
        ("no interaction with a/an car", ("no_interaction", "car")),
        ("hugging", ("hugging", "person")),
    ],
)
def test_options_name_a_verb_and_an_object(option: str, named: tuple[str, str]) -> None:
    assert parse_option(option) == named


def test_slips_of_the_pen_match_predictions() -> None:
    assert normalised(parse_option("cut_ with a/an knife")) == ("cut_with", "knife")


def test_people_read_spaces() -> None:
    assert Interaction("sit_on", "sports_ball").name == "sit on sports ball"


def test_the_classes_are_those_of_the_benchmark() -> None:
    hico = classes_of(vocabulary("hico-det"))
    assert len(hico) == 600
    assert parse_option("ride a/an zebra") not in hico
    coco = classes_of(vocabulary("v-coco"))
    assert parse_option("look at a/an zebra") in coco
    assert parse_option("ride a/an horse") in coco
    assert parse_option("feed a/an horse") in coco
    assert parse_option("work on a/an laptotp") not in coco
    assert parse_option("smile a/an dog") not in coco
    swig = classes_of(vocabulary("swig-hoi"))
    assert parse_option("hugging") in swig
    assert parse_option("None") not in swig


def test_what_the_published_questions_name_beyond_the_classes(shared: Path) -> None:
    beyond: dict[str, set[str]] = {}
    for path in sorted((shared / "data" / "choice").glob("*/*.json")):
        questions = read_questions(path)
        options = {option for each in questions.questions for option in each.options}
        classes = questions.classes or frozenset()
        strange = {each for each in options if questions.interaction_of(each) not in classes}
        beyond.setdefault(questions.dataset, set()).update(strange)
    assert beyond["v-coco"] == {
        "lift a/an spoon",
        "ride on a/an skateboard",
        "work on a/an laptotp",
    }
    assert beyond["swig-hoi"] == {"None", "discipling"}
    assert {"ride a/an zebra", "cut_ with a/an knife"} < beyond["hico-det"]


def test_a_described_data_set_has_the_classes_of_its_questions(tmp_path: Path) -> None:
    value = {"a.jpg": {"gt_choices": ["poke a/an cloud"], "wrong_choices": ["sing"]}}
    questions = read_questions(saved(tmp_path, value))
    assert questions.classes is None
    assert questions.interaction_of("poke a/an cloud") == ("poke", "cloud")
    assert questions.interaction_of("sing") == ("sing", "")
