"""Data sets that a TOML file describes: every key, and its default."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.described import NEEDED

from diaghoi import InputError, Scenes, diagnose, protocol
from diaghoi.data.groups import counted_classes, split_classes
from diaghoi.data.protocol import Protocol
from diaghoi.data.vocabulary import Conventions, Vocabulary
from diaghoi.formats.description import CHOICES, KEYS, read_description, vocabulary

Describe = Callable[..., Path]


def class_names(words: Vocabulary) -> list[str]:
    return [words.class_name(hoi) for hoi in range(len(words))]


def test_three_names_are_enough(describe: Describe) -> None:
    words = vocabulary(str(describe()))
    assert (words.name, words.known) == ("zoo", False)
    assert words.objects == ("person", "cat", "ball")
    assert words.verbs == ("feed", "throw")
    assert class_names(words) == [
        *("feed person", "feed cat", "feed ball"),
        *("throw person", "throw cat", "throw ball"),
    ]
    assert (words.person, words.no_interaction) == (0, -1)
    assert words.interacting.all()
    assert words.conventions == Conventions(objects=(0, 1, 2), verbs=(0, 1), origin=0, boxes="xyxy")
    assert words.protocol == Protocol(name="zoo", classes="all", rare="described")
    assert (words.benchmarks, words.splits, words.rare) == ((), {}, None)
    assert (words.agents, words.evaluated, words.annotations) == (None, None, None)


def test_every_key(describe: Describe, tmp_path: Path) -> None:
    path = describe(
        """
        person = "keeper"
        no_interaction = "ignore"
        annotations = "boxes/zoo.json"
        numbers = { objects = [7, 3, 9], verbs = 1 }
        boxes = { origin = 1, layout = "xywh" }

        [classes]
        throw = ["ball", "cat"]
        ignore = ["keeper"]

        [rare]
        classes = ["throw cat"]

        [protocol]
        boxes = "continuous"
        """,
        'name = "zoo"\nobjects = ["cat", "keeper", "ball"]\nverbs = ["ignore", "feed", "throw"]\n',
    )
    words = read_description(path)
    assert (words.person, words.no_interaction) == (1, 0)
    assert words.annotations == tmp_path / "boxes" / "zoo.json"
    assert words.conventions == Conventions(
        objects=(7, 3, 9), verbs=(1, 2, 3), origin=1, boxes="xywh"
    )
    # In the order of the table, not of the verbs.
    assert class_names(words) == ["throw ball", "throw cat", "ignore keeper"]
    assert words.class_of.tolist() == [[-1, -1, 1], [2, -1, -1], [-1, -1, 0], [-1, -1, -1]]
    assert words.interacting.tolist() == [True, True, False]
    assert {name: members.tolist() for name, members in words.splits.items()} == {
        "rare": [False, True, False],
        "non_rare": [True, False, True],
    }
    assert words.protocol == Protocol(
        name="zoo", classes="interactions", boxes="continuous", rare="described"
    )
    read_keys = "name objects verbs person no_interaction classes annotations numbers boxes rare"
    assert set(KEYS) == {*read_keys.split(), "protocol"}


def test_classes_from_a_matrix_of_verbs_and_objects(describe: Describe, tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    for kind in (float, int, bool):
        np.save(tmp_path / "facts" / "go.npy", np.array([[0, 1, 1], [1, 0, 1]], dtype=kind))
        words = read_description(describe('classes = "facts/go.npy"'))
        assert class_names(words) == ["feed cat", "feed ball", "throw person", "throw ball"]


def test_classes_may_be_verbs(describe: Describe) -> None:
    words = read_description(describe('classes = "verbs"\nno_interaction = "throw"'))
    assert class_names(words) == ["feed", "throw"]
    assert (words.class_of == [0, 1]).all()
    assert words.protocol == Protocol(name="zoo", classes="verbs", rare="described")
    boxes = np.array([[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9]], dtype=float)
    scenes = Scenes(
        vocabulary=words,
        names=np.array(["1"]),
        box_image=np.zeros(3, dtype=int),
        box_xyxy=boxes,
        box_label=np.array([0, 1, 2]),
        pair_human=np.array([0, 0]),
        pair_object=np.array([1, 2]),
        triplet_pair=np.array([0, 1]),
        triplet_verb=np.array([0, 0]),
    )
    # One of two is found, behind a wrong box of another object.
    found = replace(
        scenes, box_xyxy=boxes + np.array([[0], [0], [30]]), triplet_score=np.array([0.5, 0.9])
    )
    assert diagnose(scenes, found).mean_ap["full"] == pytest.approx(6 * 0.5 / 11)
    with pytest.raises(InputError, match=r"hico-det is not for zoo; choose v-coco-thesis, hoi-a-v"):
        read_description(describe('classes = "verbs"\nprotocol = "hico-det"'))


def test_paths_start_from_the_description(describe, tmp_path, monkeypatch) -> None:
    np.save(tmp_path / "go.npy", np.eye(2, 3))
    path = describe('classes = "go.npy"\nannotations = "gt.json"')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    words = read_description(os.path.relpath(path))
    assert class_names(words) == ["feed person", "throw cat"]
    assert words.annotations is not None
    assert words.annotations.resolve() == (tmp_path / "gt.json").resolve()
    absolute = read_description(describe(f'annotations = "{elsewhere / "gt.json"}"'))
    assert absolute.annotations == elsewhere / "gt.json"


RARE = {
    "names": ('classes = ["throw ball", "feed cat"]', [1, 5]),
    "numbers from one": ("classes = [1, 6]", [0, 5]),
    "no class": ("classes = []", []),
    "a count for each class": ("counts = [10, 9, 11, 0, 100, 10]", [1, 3]),
    "named counts, the others have none": ('counts = { "feed cat" = 10, "throw cat" = 9 }', None),
    "fewer than": ("counts = [10, 9, 11, 0, 100, 10]\nbelow = 11", [0, 1, 3, 5]),
}


@pytest.mark.parametrize(("text", "rare"), RARE.values(), ids=RARE)
def test_rare_classes(text: str, rare: list[int] | None, describe: Describe) -> None:
    words = read_description(describe(f"[rare]\n{text}"))
    expected = [0, 2, 3, 4, 5] if rare is None else rare
    assert list(words.splits) == ["rare", "non_rare"]
    assert np.flatnonzero(words.splits["rare"]).tolist() == expected
    assert (words.splits["non_rare"] == ~words.splits["rare"]).all()
    assert list(split_classes(words.protocol, words)) == ["full", "rare", "non_rare"]


def test_classes_of_one_name_have_a_number_each(describe: Describe) -> None:
    verbs = ["sit_on", "sit on"]
    needed = f'name = "zoo"\nobjects = ["person", "cat"]\nverbs = {json.dumps(verbs)}\n'
    words = read_description(describe("[rare]\nclasses = [1, 4]", needed))
    assert words.splits["rare"].tolist() == [True, False, False, True]


OF_PROTOCOL: dict[str, tuple[str, Any]] = {
    "classes": ('"interactions"', "interactions"),
    "average_precision": ('"area"', "area"),
    "class_without_true_positive": ('"left out"', "left out"),
    "iou": ("0.75", 0.75),
    "strict": ("true", True),
    "boxes": ('"continuous"', "continuous"),
    "top": ("50", 50),
    "top_of_class": ("1000", 1000),
    "images_without_predictions": ('"passed over"', "passed over"),
    "images_without_annotations": ('"left out"', "left out"),
    "levels_from": ('"tenths"', "tenths"),
    "claim": ('"first left"', "first left"),
    "class_without_annotation": ('"zero"', "zero"),
    "added_to_union": ("1e-6", 1e-6),
    "duplicates": ("'assigned'", "assigned"),
    "class_without_prediction": ('"left out of groups"', "left out of groups"),
}


def test_every_choice_of_a_protocol_is_tried() -> None:
    assert set(OF_PROTOCOL) == set(CHOICES)


@pytest.mark.parametrize("choice", OF_PROTOCOL)
def test_choices_of_the_protocol(choice: str, describe: Describe) -> None:
    written, value = OF_PROTOCOL[choice]
    words = read_description(describe(f"[protocol]\n{choice} = {written}"))
    assert words.protocol == replace(
        Protocol(name="zoo", classes="all", rare="described"), **{choice: value}
    )
    assert (
        words.protocol.signature != Protocol(name="zoo", classes="all", rare="described").signature
    )


def test_the_threshold_may_be_a_whole_number(describe: Describe) -> None:
    assert read_description(describe("protocol = { iou = 1 }")).protocol.iou == 1


@pytest.mark.parametrize("name", ["hico-det", "diag-hoi", "upt"])
def test_a_protocol_by_its_name(name: str, describe: Describe) -> None:
    words = read_description(describe(f'protocol = "{name}"'))
    assert words.protocol == replace(protocol(name), rare="described")


def test_interactions_count_where_there_is_a_verb_for_none(describe: Describe) -> None:
    words = read_description(describe('no_interaction = "throw"'))
    assert words.protocol.classes == "interactions"
    assert counted_classes(words.protocol, words).tolist() == [True] * 3 + [False] * 3
    words = read_description(describe('no_interaction = "throw"\nprotocol = { classes = "all" }'))
    assert counted_classes(words.protocol, words).all()


def test_unknown_data_sets_are_told_of_descriptions() -> None:
    with pytest.raises(
        InputError, match=r"swig-hoi, hoi-a, and any data set that a \.toml file describes$"
    ):
        vocabulary("hoi-b")


def test_described_vocabularies_pickle(describe: Describe) -> None:
    words = read_description(
        describe('annotations = "gt.json"\n[rare]\nclasses = [1]\n[classes]\nfeed = ["cat"]')
    )
    assert words.class_of.tolist()[1] == [0, -1]  # kept once it was asked for
    for protocol_number in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(words, protocol=protocol_number))
        assert copy is not words
        assert (copy.name, copy.objects, copy.verbs) == (words.name, words.objects, words.verbs)
        assert (copy.protocol, copy.conventions) == (words.protocol, words.conventions)
        assert (copy.annotations, copy.fingerprint) == (words.annotations, words.fingerprint)
        assert copy.class_of.tolist() == words.class_of.tolist()
        assert copy.rare.tolist() == [True]


def test_the_fingerprint_tells_names_and_classes(describe: Describe) -> None:
    fingerprints = [
        read_description(describe(text, needed)).fingerprint
        for text, needed in (
            ("", NEEDED),
            ('classes = { feed = ["cat"] }', NEEDED),
            ("", NEEDED.replace("cat", "lion")),
            ("", NEEDED.replace("feed", "groom")),
            ("", NEEDED.replace('"cat", "ball"', '"ball", "cat"')),
        )
    ]
    assert len(set(fingerprints)) == len(fingerprints)
    assert all(len(told) == 8 for told in fingerprints)
    same = read_description(describe("numbers = { verbs = 1 }\nprotocol = { iou = 0.7 }"))
    assert same.fingerprint == fingerprints[0]
