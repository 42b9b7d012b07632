"""Groups of HOI classes: classes that count, splits of data sets, and user-defined groups."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, marked
from diaghoi.data.files import ordinary
from diaghoi.data.protocol import PROTOCOLS, Group, Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary, facts
from diaghoi.exceptions import InputError, close_matches


def counted_classes(protocol: Protocol, vocabulary: Vocabulary) -> BoolArray:
    """Return a mask, (C,), of the HOI classes that count."""
    if protocol.classes == "interactions":
        return vocabulary.interacting
    if protocol.classes == "roles" and vocabulary.agents is not None:
        return ~vocabulary.agents
    if protocol.classes == "evaluated" and vocabulary.evaluated is not None:
        return vocabulary.evaluated
    return np.ones(len(vocabulary), dtype=bool)


def split_classes(protocol: Protocol, vocabulary: Vocabulary) -> dict[str, BoolArray]:
    """Return (C,) masks of the reported groups of classes.

    The splits are ``full``, the splits of the data set (such as ``rare`` and ``non_rare``) and the
    groups of the protocol.
    """
    counted = counted_classes(protocol, vocabulary)
    splits = vocabulary.splits
    if protocol.rare == "test" and vocabulary.test_instances is not None:
        rare = vocabulary.test_instances < 10
        splits = {"rare": rare, "non_rare": ~rare}
    masks = {"full": counted} | {name: counted & members for name, members in splits.items()}
    for group in protocol.groups:
        masks[group.name] = counted & marked(np.array(group.classes), len(vocabulary))
    return masks


def check_protocol(protocol: Protocol, vocabulary: Vocabulary) -> None:
    """Raise an ``InputError`` if the protocol cannot be used on the data set.

    Data sets with roles (V-COCO) need a protocol that pairs by person. Other data sets whose
    classes are verbs need a protocol whose classes are verbs.
    """

    def fits(protocol: Protocol) -> bool:
        by_person = vocabulary.agents is not None
        by_verb = vocabulary.any_object and not by_person
        return (protocol.pairing == "person", protocol.classes == "verbs") == (by_person, by_verb)

    if not fits(protocol):
        fitting = ", ".join(each.name for each in PROTOCOLS.values() if fits(each))
        other = f"choose {fitting}"
        if protocol.name in VOCABULARIES and VOCABULARIES[protocol.name]().of == vocabulary.name:
            other = f"give --dataset {protocol.name}, or choose {fitting}"
        raise InputError(f"protocol {protocol.name} is not for {vocabulary.name}; {other}")
    if protocol.rare == "test" and vocabulary.test_instances is None:
        raise InputError(
            f"{vocabulary.name} has no counts of test instances, so rare classes cannot be "
            "defined by them"
        )


def time_sensitive(vocabulary: Vocabulary) -> BoolArray | None:
    """Return a mask, (C,), of the time-sensitive classes; None except for HICO-DET."""
    classes = _time_sensitive(vocabulary)
    if classes is None:
        return None
    return marked(np.array([hoi for hoi, *_ in classes]), len(vocabulary))


def counterparts(vocabulary: Vocabulary) -> BoolArray | None:
    """Return a (C, C) mask: in the row of each time-sensitive class, its counterparts are True.

    The result is None except for HICO-DET; other data sets have no list of time-sensitive classes.
    """
    classes = _time_sensitive(vocabulary)
    if classes is None:
        return None
    table = np.zeros((len(vocabulary), len(vocabulary)), dtype=bool)
    for hoi, *others in classes:
        table[hoi, others] = True
    return table


def _time_sensitive(vocabulary: Vocabulary) -> list[list[int]] | None:
    """List each time-sensitive class, followed by its counterparts."""
    if vocabulary.name != "hico-det":
        return None
    objects, verbs = vocabulary.objects, vocabulary.verbs
    return [
        [
            int(vocabulary.class_of[objects.index(row["object"]), verbs.index(verb)])
            for verb in (row["verb"], *row["counterparts"].split())
        ]
        for row in facts("hico_det_time_sensitive.csv")
    ]


def annotated_objects(annotations: Scenes) -> BoolArray:
    """Return a mask, (N, objects), of the categories annotated in each image (Known Object).

    All annotated boxes count, even boxes that belong to no triplet. Every image has people, so the
    person category requires a person as the object of a triplet.
    """
    vocabulary = annotations.vocabulary
    objects = np.zeros((len(annotations), len(vocabulary.objects)), dtype=bool)
    shown = annotations.box_label != vocabulary.person
    targets = annotations.pair_object[annotations.triplet_pair]
    shown[targets[targets >= 0]] = True
    objects[annotations.box_image[shown], annotations.box_label[shown]] = True
    return objects


# A group of at least this many classes is unlikely to consist of all classes of some objects or
# verbs by coincidence.
ENOUGH = 10


def zero_shot_splits(vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    """Return the unseen classes of each zero-shot split of the data set, by split name.

    HICO-DET: RF-UC and NF-UC (unseen combinations, rare or non-rare first), UO (unseen objects), UV
    (unseen verbs), and uc0 to uc4 (unseen combinations, drawn five times), as in the code of
    ConsNet, EoID and HOICLIP. Other data sets have no known splits.
    """
    if vocabulary.name != "hico-det":
        return {}
    splits: dict[str, list[int]] = {}
    for row in facts("hico_det_zero_shot.csv"):
        splits.setdefault(row["split"], []).append(int(row["class"]) - 1)
    return {name: tuple(classes) for name, classes in splits.items()}


def zero_shot(name: str, vocabulary: Vocabulary) -> tuple[Group, ...]:
    """Return the unseen and the seen classes of a zero-shot split; case is ignored."""
    splits = zero_shot_splits(vocabulary)
    unseen = {split.lower(): classes for split, classes in splits.items()}.get(name.lower())
    if unseen is None:
        raise InputError(
            f"unknown zero-shot split '{name}'{close_matches(name, splits)}; known for "
            f"{vocabulary.name}: {', '.join(splits) or 'none'}; give others with --groups FILE"
        )
    return seen_and_unseen(unseen, vocabulary)


def seen_and_unseen(unseen: Sequence[int], vocabulary: Vocabulary) -> tuple[Group, ...]:
    """Create two groups: the unseen classes and all other classes."""
    seen = tuple(hoi for hoi in range(len(vocabulary)) if hoi not in set(unseen))
    return (Group("unseen", tuple(unseen)), Group("seen", seen))


class UnclearBaseError(InputError):
    """The numbers in a group file may count classes from 0 or from 1."""


def read_groups(
    path: str | PathLike[str], vocabulary: Vocabulary, notes: list[str] | None = None
) -> tuple[Group, ...]:
    """Read groups of classes from a JSON file: ``{"group": [class, ...], ..., "base": 1}``.

    A class is its official number or its name (``ride bicycle``). ``base`` is the number of the
    first class, 0 or 1. Without ``base``, the class numbers must show the base; if the base is 0,
    ``notes`` gets a remark. If ``unseen`` is the only group, its complement is added as ``seen``.

    Raises
    ------
    UnclearBaseError
        If the numbers do not show whether they count from 0 or 1.
    InputError
        If the file cannot be read, a group is empty, or a class is unknown.
    """
    try:
        content = json.loads(ordinary(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON ({error!s:.120})") from None
    lists, base = content if isinstance(content, dict) else {}, None
    if not isinstance(lists.get("base"), list | None):  # a list is a group with the name "base"
        base = lists.pop("base")
    if not lists:
        raise InputError(f'{path}: expected {{"group": [classes], ...}}')
    for name, members in lists.items():
        if not isinstance(members, list) or not members:
            raise InputError(f"{path}: group '{name}': expected a list of classes")
    if base is None:
        base, found = _base_of(str(path), lists, vocabulary)
        if notes is not None:
            notes += found
    elif type(base) is not int or base not in (0, 1):
        raise InputError(f"{path}: base: is {base!r:.60}; classes are counted from 0 or 1")
    groups = []
    for name, members in lists.items():
        where = f"{path}: group '{name}'"
        classes = {find_class(where, member, vocabulary, base) for member in members}
        groups.append(Group(name, tuple(sorted(classes))))
    if [group.name for group in groups] == ["unseen"]:
        return seen_and_unseen(groups[0].classes, vocabulary)
    return tuple(groups)


def _base_of(
    file: str, lists: Mapping[str, list[Any]], vocabulary: Vocabulary
) -> tuple[int, list[str]]:
    """Determine whether class numbers in groups start at 0 or 1; note the evidence if at 0."""
    numbers = {name: {hoi for hoi in of if type(hoi) is int} for name, of in lists.items()}
    every, last = set().union(*numbers.values()), len(vocabulary)
    if every <= {0}:
        # Without class numbers, there is nothing to determine; if 0 is the only number, it is more
        # likely a mistake.
        return 1, []
    if any(not 0 <= number <= last for number in every) or {0, last} <= every:
        return int(0 not in every), []  # find_class reports the wrong number
    signs: dict[int, str] = {}  # the first evidence that numbers start at 0, and at 1
    for name, members in numbers.items():
        kinds = {base: _kind({hoi - base for hoi in members}, vocabulary) for base in (0, 1)}
        said = {base: f"'{name}' is {kind}" for base, kind in kinds.items() if kind}
        said |= {b: f"'{name}' holds {end}" for b, end in ((0, 0), (1, last)) if end in members}
        signs |= said if len(said) == 1 and not said.keys() & signs.keys() else {}
    if len(signs) == 2:
        raise InputError(
            f"{file}: counted from 0, {signs[0]}, but counted from 1, {signs[1]}: count the "
            "classes of all groups from 0, or all from 1"
        )
    for base, sign in signs.items():
        why = ", because one class number is 0" if 0 in every else f": then {sign}"
        return base, [] if base else [f"{file}: classes are read as counted from 0{why}"]
    name, members = next((name, members) for name, members in numbers.items() if members)
    first = [
        ", ".join(f"'{vocabulary.class_name(hoi - base)}'" for hoi in sorted(members)[:3])
        for base in (0, 1)
    ]
    raise UnclearBaseError(
        f"{file}: classes may be counted from 0 or from 1: from 0, '{name}' begins with "
        f'{first[0]}; from 1, with {first[1]}; add "base": 0 or "base": 1 to the file'
    )


def _kind(classes: set[int], vocabulary: Vocabulary) -> str:
    """Name a split, or all classes of some objects or verbs; empty for other sets of classes."""
    every = set(range(len(vocabulary)))
    splits = {name: set(unseen) for name, unseen in zero_shot_splits(vocabulary).items()}
    splits |= {f"the seen classes of {name}": every - unseen for name, unseen in splits.items()}
    splits |= {
        f"the {name.replace('_', '-')} classes": set(np.flatnonzero(members).tolist())
        for name, members in vocabulary.splits.items()
    }
    name = next((name for name, members in splits.items() if members == classes), "")
    if name or len(classes) < ENOUGH or not classes < every:
        return name
    inside = np.isin(np.arange(len(vocabulary)), list(classes))
    for name, of in (("objects", vocabulary.class_object), ("verbs", vocabulary.class_verb)):
        if not np.isin(of[inside], of[~inside]).any():
            return f"all classes of some {name}"
    return ""


def find_class(where: str, given: Any, vocabulary: Vocabulary, base: int = 1) -> int:
    """Find the HOI class denoted by a name, or by a number counted from ``base``.

    Hyphens and underscores are equivalent to spaces; ``where`` begins the message about an unknown
    class.
    """
    numbers = vocabulary.class_named
    # JSON's true is no class number, although `True == 1` in Python.
    number = given - base if type(given) is int else -1
    if 0 <= number < len(vocabulary):
        return number
    name = str(given).replace("_", " ")
    if name not in numbers:
        plain = name.replace("-", " ")
        name = next((each for each in numbers if each.replace("-", " ") == plain), name)
    if name in numbers:
        return numbers[name]
    raise InputError(
        f"{where}: unknown class {given!r:.60}{close_matches(name, numbers)}; give a "
        f"number from {base} to {len(vocabulary) - 1 + base} or a name like '{next(iter(numbers))}'"
    )
