"""Protocols are frozen choices with a name and a signature."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diaghoi import PROTOCOLS, InputError, Protocol, protocol
from diaghoi.data.iou import reaches
from diaghoi.data.protocol import Group, choices_of, short_signature
from diaghoi.data.splits import split_classes
from diaghoi.data.vocabulary import hico_det


def test_a_changed_protocol_shows_it_in_its_signature() -> None:
    standard = protocol("hico-det-520")
    changed = protocol("hico-det-520", iou=0.75, top=50, rare="test")
    assert changed.name == standard.name
    for words in ("IoU >= 0.75", "top 50 per image", "rare: < 10 test instances"):
        assert words in changed.signature
        assert words not in standard.signature
    assert protocol(changed) == changed


def test_every_choice_moves_the_signature() -> None:
    signatures = {each.signature for each in PROTOCOLS.values()}
    as_official = ("gen-vlkt", "ppdm")
    assert len(signatures) == len(PROTOCOLS) - len(as_official)
    for name in as_official:
        assert PROTOCOLS[name].signature == PROTOCOLS["hico-det"].signature


def test_the_hundred_and_one_levels_are_those_of_coco() -> None:
    levels = protocol("hico-det", average_precision="101-point").levels
    assert levels is not None
    assert levels.tolist() == np.linspace(0.0, 1.0, 101).tolist()
    tenths = protocol("swig-hoi", average_precision="101-point")
    assert tenths.levels is not None
    assert tenths.levels.tolist() == [step / 100 for step in range(101)]
    assert "recall levels: hundredths" in tenths.signature


GROUPS = st.builds(
    Group,
    name=st.text(" |:a", min_size=1) | st.sampled_from(["seen", "AP: area", "x | triplets: y"]),
    classes=st.sampled_from([(), (1, 2)]),
)


@settings(max_examples=100)
@given(
    st.builds(
        Protocol,
        **{
            key: st.sampled_from(values)
            for key, values in {
                "classes": ("all", "interactions", "roles", "evaluated"),
                "pairing": ("triplet", "person"),
                "missing_role": ("empty", "anything"),
                "considered": (None, 100),
                "duplicates": ("not assigned", "assigned"),
                "fitting_boxes": ("own", "stored at the rank"),
                "average_precision": ("11-point", "area", "101-point"),
                "class_without_true_positive": ("zero", "left out"),
                "class_without_prediction": ("counted", "left out of groups"),
                "class_without_annotation": ("left out", "zero", "zero in groups"),
                "claim": ("best", "first left", "all left"),
                "iou": (0.5, 0.75),
                "strict": (False, True),
                "boxes": ("inclusive", "continuous"),
                "added_to_union": (0.0, 1e-6),
                "rare": ("train", "test", "described"),
                "top": (None, 100),
                "top_of_class": (None, 19_999),
                "images_without_predictions": ("counted", "passed over"),
                "images_without_annotations": ("counted", "left out"),
                "levels_from": ("zero", "both ends", "tenths"),
                "single_precision_recall": (False, True),
            }.items()
        },
        name=st.just("any"),
        groups=st.lists(GROUPS, max_size=3).map(tuple),
    )
)
def test_choices_are_read_back_from_the_signature(any_protocol: Protocol) -> None:
    assert choices_of(any_protocol.signature) == any_protocol.choices


@pytest.mark.parametrize(
    ("name", "splits"),
    [
        ("hico-det", (600, 138, 462)),
        ("hico-det-520", (520, 132, 388)),
        ("diag-hoi", (520, 132, 388)),
    ],
)
def test_sizes_of_the_splits(name: str, splits: tuple[int, int, int]) -> None:
    sizes = [int(members.sum()) for members in split_classes(protocol(name), hico_det()).values()]
    assert tuple(sizes) == splits


def test_the_rare_split_by_test_instances() -> None:
    splits = split_classes(protocol("hico-det-520", rare="test"), hico_det())
    assert int(splits["rare"].sum()) == 185


def test_protocols_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        protocol("hico-det").iou = 0.6


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("hico-dett", {}, "unknown protocol 'hico-dett' .did you mean 'hico-det'"),
        ("hico-det", {"iou": 0}, r"IoU threshold must lie in \(0, 1\], not 0"),
        ("hico-det", {"iou": 50}, r"IoU threshold must lie in \(0, 1\], not 50"),
        ("hico-det", {"top": 0}, "must be 1 or more: 0"),
        ("hico-det", {"rare": "val"}, "'train' or the 'test' set, not in 'val'"),
        (
            "hico-det",
            {"average_precision": "11point"},
            r"one of 11-point, area, 101-point, not '11point' \(did you mean '11-point'",
        ),
    ],
)
def test_bad_choices_are_refused(name: str, changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        protocol(name, **changes)


@pytest.mark.parametrize(("strict", "expected"), [(False, [True, True]), (True, [False, True])])
def test_one_rule_says_what_reaches_the_iou_threshold(strict: bool, expected: list[bool]) -> None:
    chosen = protocol("hico-det", strict=strict)
    values = np.array([0.5, np.nextafter(0.5, 1), 0.49, np.nan])
    assert reaches(chosen, values).tolist() == [*expected, False, False]
    assert [reaches(chosen, value) for value in values.tolist()] == [*expected, False, False]


@pytest.mark.parametrize(
    ("changes", "short"),
    [
        ({}, "11pt|zero|iou.5|rare.train"),
        (
            {"iou": 0.75, "average_precision": "area", "rare": "test", "top": 100},
            "area|zero|iou.75|rare.test|top.100",
        ),
        ({"groups": (Group("mine", (1, 2)),)}, "11pt|zero|iou.5|rare.train|groups: mine (2)"),
        ({"claim": "all left"}, "claims: all annotations left|11pt|zero|iou.5|rare.train"),
        ({"boxes": "continuous"}, "11pt|zero|iou.5|continuous boxes|rare.train"),
        ({"ranking": "as one"}, "11pt|zero|iou.5|rare.train|all-of-one-rank"),
    ],
)
def test_a_short_signature_names_what_was_chosen(changes: dict[str, Any], short: str) -> None:
    chosen = protocol("hico-det-520", **changes)
    assert short_signature(chosen.name, chosen.signature) == f"hico-det-520|{short}"


def test_every_choice_moves_the_short_signature() -> None:
    others: dict[str, Any] = {"classes": "verbs", "pairing": "triplet", "missing_role": "empty"}
    others |= {"duplicates": "not assigned", "considered": 7, "fitting_boxes": "own", "iou": 0.25}
    others |= {"class_without_true_positive": "left out", "strict": True, "top_of_class": 5}
    others |= {"images_without_predictions": "counted", "levels_from": "both ends"}
    for name, usual in PROTOCOLS.items():
        for field, value in others.items():
            changed = dataclasses.replace(usual, **{field: value})
            shorts = {short_signature(name, each.signature) for each in (usual, changed)}
            assert len(shorts) == len({usual.signature, changed.signature}), (name, field)
