"""Which class an option names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diaghoi.choice import read_questions
from diaghoi.choice.classes import Interaction, classes_of, normalised, parse_option
from diaghoi.formats.description import vocabulary


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
    path = tmp_path / "q.json"
    path.write_text(
        json.dumps({"a.jpg": {"gt_choices": ["poke a/an cloud"], "wrong_choices": ["sing"]}})
    )
    questions = read_questions(path)
    assert questions.classes is None
    assert questions.interaction_of("poke a/an cloud") == ("poke", "cloud")
    assert questions.interaction_of("sing") == ("sing", "")
