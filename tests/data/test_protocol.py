"""Protocols are frozen choices with a name and a signature."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diaghoi import PROTOCOLS, InputError, Protocol, protocol
from diaghoi.data.boxes import reaches
from diaghoi.data.groups import split_classes
from diaghoi.data.protocol import Group, choices_of, short_signature
from diaghoi.data.vocabulary import hico_det


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


NUMBERS: dict[str, list[Any]] = {
    "iou": [0.05, 1 / 3, 0.75, 1.0, 1e-7],
    "added_to_union": [0.0, 1e-6, 0.5, 3.0, 1e20],
    **{key: [None, 1, 100, 19_999] for key in ("considered", "top", "top_of_class")},
}
CHANGES: list[tuple[str, Any]] = [
    (field, value)
    for field, kind in get_type_hints(Protocol).items()
    for value in NUMBERS.get(
        field, [True, False] if kind is bool else get_args(kind) if field != "groups" else ()
    )
]


@settings(max_examples=100)
@given(
    st.builds(
        Protocol,
        **{
            field: st.sampled_from([value for name, value in CHANGES if name == field])
            for field, _ in CHANGES
        },
        name=st.just("any"),
        groups=st.lists(GROUPS, max_size=3).map(tuple),
    )
)
def test_choices_are_read_back_from_the_signature(any_protocol: Protocol) -> None:
    assert choices_of(any_protocol.signature) == any_protocol.choices


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("hico-det", [600, 138, 462]),
        ("hico-det-520", [520, 132, 388]),
        ("diag-hoi", [520, 132, 388]),
        ("hico-det-520,rare=test", [520, 185, 335]),
    ],
)
def test_sizes_of_the_splits(text: str, sizes: list[int]) -> None:
    splits = split_classes(protocol(text), hico_det())
    assert [int(members.sum()) for members in splits.values()] == sizes


def test_protocols_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        protocol("hico-det").iou = 0.6


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


def line(chosen: Protocol) -> str:
    return f"{short_signature(chosen.name, chosen.signature)}|diaghoi.0.2"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_line_of_each_protocol_is_read_back_with_any_choice_changed(name: str) -> None:
    usual = PROTOCOLS[name]
    assert protocol(line(usual)) == usual
    all_of_them = name in ("hico-det-520", "v-coco-s1", "swig-hoi", "hoi-a")
    for field, value in CHANGES if all_of_them else CHANGES[::4]:
        changed = dataclasses.replace(usual, **{field: value})
        back = protocol(line(changed))
        # What has no effect is in no signature: claims of boxes where persons are matched.
        silent = changed.signature == usual.signature
        assert back == (usual if silent else changed), (field, value)


def test_every_choice_with_an_effect_moves_the_line() -> None:
    silent = {
        field
        for name, usual in PROTOCOLS.items()
        for field, value in CHANGES
        for changed in [dataclasses.replace(usual, **{field: value})]
        if changed != usual and line(changed) == line(usual)
    }
    assert silent == {"claim", "rare"}  # with pairing by person, and of actions with a role


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(PROTOCOLS)), st.lists(st.sampled_from(CHANGES), min_size=2, max_size=2))
def test_two_changes_are_read_back(name: str, changes: list[tuple[str, Any]]) -> None:
    changed = dataclasses.replace(PROTOCOLS[name], **dict(changes))
    back = protocol(line(changed))
    assert back.signature == changed.signature


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "iou": st.floats(1e-9, 1),
            "ap": st.sampled_from(["area", "11pt", "11-point", "101-point"]),
            "rare": st.sampled_from(["train", "test"]),
            "top": st.integers(1, 10**9),
            "strict": st.sampled_from(["true", "False"]),
            "class-without-annotation": st.sampled_from(["zero", "zero-in-groups"]),
        },
    )
)
def test_keys_are_read_and_their_line_is_read_back(changes: dict[str, Any]) -> None:
    text = ",".join(["cdn", *(f"{key}={value}" for key, value in changes.items())])
    chosen = protocol(text)
    assert protocol(line(chosen)) == chosen
    assert chosen.iou == changes.get("iou", 0.5)
    assert chosen.top == changes.get("top")
    assert chosen.strict == (changes.get("strict") == "true")


@given(GROUPS)
def test_a_line_with_groups_needs_the_same_groups(group: Group) -> None:
    usual = dataclasses.replace(PROTOCOLS["diag-hoi"], groups=(group,))
    try:
        protocol(usual)
    except InputError:
        return  # such a name is taken
    assert protocol(line(usual), groups=(group,)) == usual
    for groups in ((), (Group("other", (1,)),)):
        if groups and groups[0].name == group.name:
            continue
        with pytest.raises(InputError, match=r"has the groups .*; give the same groups with"):
            protocol(line(usual), groups=groups)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hico-det,app=area", "'app' is not known (did you mean 'ap'?); give ap, iou, rare, top"),
        ("hico-det,iou=0.5,", "`protocol` hico-det,iou=0.5,: '' is not known; give ap, iou,"),
        ("hico-det,iou", "`protocol` iou: give a value: iou=VALUE"),
        ("hico-det,iou=0.5,iou=0.6", "iou is given twice"),
        ("hico-dett", "unknown protocol 'hico-dett' (did you mean 'hico-det'"),
        ("hico-det,iou=half", "protocol.iou: is 'half'; give a number"),
        ("hico-det,iou=0", "protocol.iou: is 0.0; give a number above 0, up to 1"),
        ("hico-det,iou=50", "protocol.iou: is 50.0; give a number above 0, up to 1"),
        ("hico-det,added-to-union=-1", "added_to_union: is -1.0; give a number of at least 0"),
        ("hico-det,considered=0", "protocol.considered: is 0; give a whole number from 1 to"),
        ("hico-det,ap=11point", "is '11point' (did you mean '11-point'"),
        (f"hico-det,top-of-class={10**30}", "protocol.top_of_class: is 1000000"),
        ("hico-det,iou=nan", "protocol.iou: is nan; give a number above 0"),
        ("hico-det,top=1.5", "protocol.top: is '1.5'; give a whole number"),
        ("hico-det,top=0", "protocol.top: is 0; give a whole number from 1 to 1,000,000,000"),
        ("hico-det,ap=11", "protocol.average_precision: is '11'"),
        ("hico-det,rare=val", "protocol.rare: is 'val'; give 'train' or 'test'"),
        ("hico-det,groups=a", "'groups' is not known"),
        ("hico-det,name=a", "'name' is not known"),
        ("", "unknown protocol ''"),
        ("iou=0.75|zero", "unknown protocol 'iou=0.75'"),
        ("hico-det|11pt|zero|iou.5", "the line is incomplete; copy the protocol line of a report"),
        (
            "hico-det|11pt|zero|iou.5|rare.train|never",
            "'never' is not a choice of this protocol; copy the protocol line",
        ),
        ("hico-det|11pt|zero|iou7|rare.train", "protocol.iou: is 7.0; give a number above 0"),
    ],
)
def test_texts_that_name_no_protocol(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        protocol(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"iou": True}, "protocol.iou: is True; give a number above 0, up to 1"),
        ({"top": 1.5}, "protocol.top: is 1.5; give a whole number"),
        ({"strict": 1}, "protocol.strict: is 1; give True or False"),
        ({"rare": "val"}, "protocol.rare: is 'val'; give 'train' or 'test' or 'described'"),
    ],
)
def test_values_that_no_choice_has(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        protocol("hico-det", **changes)
