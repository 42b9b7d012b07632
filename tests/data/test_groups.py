"""Groups of classes: zero-shot splits and a user's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support.scenes import problems

from diaghoi import InputError, diagnose, protocol
from diaghoi.data.groups import read_groups, split_classes, zero_shot, zero_shot_splits
from diaghoi.data.protocol import Group
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det, v_coco, v_coco_thesis

WORDS = hico_det()


def test_splits_equal_the_published_lists(shared: Path) -> None:
    published = json.loads((shared / "data/hico_det/zero_shot.json").read_text())["unseen"]
    known = zero_shot_splits(WORDS)
    for name, classes in published.items():
        assert sorted(classes) == list(known[name])
    assert [len(known[name]) for name in ("RF-UC", "NF-UC", "UO", "UV")] == [120, 120, 100, 84]


def test_the_five_draws_of_unseen_combinations() -> None:
    known = zero_shot_splits(WORDS)
    draws = [known[f"uc{number}"] for number in range(5)]
    # As ConsNet, EoID and HOICLIP list them, from zero: how many, the first, the last and the sum.
    assert [(len(set(draw)), draw[0], draw[-1], sum(draw)) for draw in draws] == [
        (120, 0, 598, 38360),
        (120, 0, 597, 38974),
        (120, 9, 599, 41128),
        (120, 4, 599, 38521),
        (120, 0, 597, 38592),
    ]
    seen = np.setdiff1d(np.arange(600), draws[0])
    assert len(np.unique(WORDS.class_object[seen])) == 80
    assert zero_shot("UC3", WORDS) == zero_shot("uc3", WORDS)
    unseen, rest = zero_shot("rf-uc", WORDS)
    assert (unseen, rest.name) == (Group("unseen", known["RF-UC"]), "seen")
    assert sorted(unseen.classes + rest.classes) == list(range(600))


@given(problems())
def test_groups_are_columns_with_their_harmonic_mean(problem: tuple[Scenes, Scenes]) -> None:
    chosen = protocol("hico-det", groups=zero_shot("RF-UC", WORDS))
    assert "groups: unseen (120), seen (480)" in chosen.signature
    result = diagnose(*problem, chosen).to_dict()
    columns = ["full", "rare", "non_rare", "unseen", "seen", "harmonic"]
    assert list(result["map"]) == columns
    for outcome in result["oracles"].values():
        assert list(outcome["delta_map"]) == columns
    seen, unseen, both = (result["map"][key] for key in ("seen", "unseen", "harmonic"))
    if seen is None or unseen is None:
        assert both is None
    else:
        assert both == (pytest.approx(2 / (1 / seen + 1 / unseen)) if seen and unseen else 0)


def test_groups_follow_the_classes_of_the_protocol() -> None:
    chosen = protocol("hico-det-520", groups=zero_shot("UV", WORDS))
    masks = split_classes(chosen, WORDS)
    assert not (masks["unseen"] & masks["seen"]).any()
    assert np.array_equal(masks["unseen"] | masks["seen"], masks["full"])


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[Group, ...]]:
    def read(content: Any, *more: Any, words: Vocabulary = WORDS) -> tuple[Group, ...]:
        path = tmp_path / "g.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_groups(path, words, *more)

    return read


def test_a_file_names_classes_by_number_or_name(read) -> None:
    wheels, last = read({"wheels": ["ride bicycle", "ride_motorcycle", 1], "last": [600]})
    names = [WORDS.class_name(hoi) for hoi in wheels.classes]
    assert names == ["board airplane", "ride bicycle", "ride motorcycle"]
    assert (last.name, last.classes) == ("last", (599,))


def test_unseen_alone_brings_the_seen(read) -> None:
    groups = read({"unseen": [1, 2], "base": 1})
    assert [group.name for group in groups] == ["unseen", "seen"]
    assert len(groups[1].classes) == 598


# All without class 0, which would say from what they count.
BY_THEMSELVES = {
    "RF-UC": list(zero_shot("RF-UC", WORDS)[0].classes),
    "uc2": list(zero_shot("uc2", WORDS)[0].classes),
    "rare classes": np.flatnonzero(WORDS.splits["rare"]).tolist(),
    "whole objects": np.flatnonzero(np.isin(WORDS.class_object, [1, 5, 40])).tolist(),
    "whole verbs": np.flatnonzero(np.isin(WORDS.class_verb, [WORDS.no_interaction])).tolist(),
}


@pytest.mark.parametrize("kind", BY_THEMSELVES)
@pytest.mark.parametrize("base", [0, 1])
def test_numbers_show_from_what_they_count(read, kind: str, base: int) -> None:
    classes = BY_THEMSELVES[kind]
    assert 0 not in classes
    notes: list[str] = []
    content = {"mine": [hoi + base for hoi in classes], "wheels": ["ride bicycle"]}
    mine, _ = read(content, notes)
    assert mine.classes == tuple(classes)
    said = ": classes are read as counted from 0: then 'mine' is "
    assert [said in note for note in notes] == [True][base:]


@pytest.mark.parametrize(
    ("content", "classes"),
    [
        ({"a": [0, 7], "b": [7]}, [7]),
        ({"a": [5], "b": [600]}, [599]),
        ({"a": [5], "b": [7], "base": 0}, [7]),
        ({"a": [5], "b": [7], "base": 1}, [6]),
        ({"base": [5, 600], "b": [7]}, [6]),
    ],
)
def test_one_number_or_the_base_decides_for_all(read, content: Any, classes: list[int]) -> None:
    assert list(read(content)[1].classes) == classes


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ([hoi + 1 for hoi in zero_shot("NF-UC", WORDS)[0].classes], "is NF-UC"),
        ([7, 600], "holds 600"),
    ],
)
def test_groups_that_count_from_two_numbers_are_refused(read, other, text) -> None:
    lists = {"rf": BY_THEMSELVES["RF-UC"], "mine": other}
    for content in (lists, dict(reversed(lists.items()))):
        with pytest.raises(InputError) as caught:
            read(content)
        assert "from 0, 'rf' is RF-UC, but counted from 1, 'mine' " + text in str(caught.value)


def test_verbs_as_classes_show_nothing_by_being_whole(read) -> None:
    with pytest.raises(InputError, match="'mine' begins with 'stand', 'sit instr', 'ride instr'; "):
        read({"mine": list(range(1, 15))}, words=v_coco_thesis())


def test_a_question_shows_the_classes_under_both_readings(read) -> None:
    with pytest.raises(InputError) as caught:
        read({"unseen": [27, 22, 8, 44]})
    assert str(caught.value).endswith(
        "g.json: classes may be counted from 0 or from 1: from 0, 'unseen' begins with 'wash "
        "airplane', 'wash bicycle', 'pet bird'; from 1, with 'sit on airplane', 'walk bicycle', "
        '\'hold bird\'; add "base": 0 or "base": 1 to the file'
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"mine": [3], "base": 2}, "base: is 2; classes are counted from 0 or 1"),
        ({"mine": [3], "base": True}, "base: is True"),
        ({"mine": [600], "base": 0}, "unknown class 600; give a number from 0 to 599"),
        ({"mine": [0, 600]}, "unknown class 600; give a number from 0 to 599"),
        ({"base": 1}, 'expected {"group"'),
        ("{", "not valid JSON"),
        ([1, 2], 'expected {"group"'),
        ({}, 'expected {"group"'),
        ({"mine": []}, "group 'mine': expected a list of classes"),
        ({"mine": [601]}, "unknown class 601; give a number from 1 to 600"),
        ({"mine": [0]}, "unknown class 0"),
        ({"mine": [0]}, "or a name like 'board airplane'"),
        ({"mine": [True]}, "unknown class True"),
        ({"mine": ["ride bycicle"]}, "unknown class 'ride bycicle' (did you mean 'ride bicycle'"),
    ],
)
def test_bad_files(read, content: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(content)
    assert message in str(caught.value)
    assert "g.json" in str(caught.value)


def test_unknown_splits_and_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'RFUC' .did you mean 'RF-UC'.*`groups` FILE"):
        zero_shot("RFUC", WORDS)
    with pytest.raises(InputError, match="known for v-coco: none"):
        zero_shot("UO", v_coco())
    with pytest.raises(InputError, match=r"none\.json: No such file"):
        read_groups(tmp_path / "none.json", WORDS)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        *(
            ([name], "that is taken")
            for name in (
                "full",
                "Rare",
                "non-rare",
                "harmonic",
                "recall",
                "source",
                "map",
                "action",
            )
        ),
        (["mine", "Mine"], "that is taken"),
        ([" "], "give it a name"),
    ],
)
def test_names_that_would_hide_other_figures_are_refused(names: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=f"cannot be called '{names[-1]}': {problem}"):
        protocol("hico-det", groups=tuple(Group(name, (0,)) for name in names))
