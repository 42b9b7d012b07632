"""Named groups of HOI classes: zero-shot splits, and a user's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from diaghoi.data.files import ordinary
from diaghoi.data.protocol import Group
from diaghoi.data.vocabulary import Vocabulary, facts
from diaghoi.exceptions import InputError, close_matches


def zero_shot_splits(vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    """Unseen classes of the zero-shot splits of a data set, by name.

    HICO-DET: RF-UC and NF-UC (unseen combinations, rare or non-rare first), UO (unseen objects) and
    UV (unseen verbs). None are known for other data sets.
    """
    if vocabulary.name != "hico-det":
        return {}
    splits: dict[str, list[int]] = {}
    for row in facts("hico_det_zero_shot.csv"):
        splits.setdefault(row["split"], []).append(int(row["class"]) - 1)
    return {name: tuple(classes) for name, classes in splits.items()}


def zero_shot(name: str, vocabulary: Vocabulary) -> tuple[Group, ...]:
    """Return the unseen and the seen classes of a zero-shot split.

    Raises
    ------
    InputError
        For a name that is not known.
    """
    known = zero_shot_splits(vocabulary)
    if name not in known:
        raise InputError(
            f"unknown zero-shot split '{name}'{close_matches(name, known)}; known for "
            f"{vocabulary.name}: {', '.join(known) or 'none'}; give others with --groups FILE"
        )
    return seen_and_unseen(known[name], vocabulary)


def seen_and_unseen(unseen: Sequence[int], vocabulary: Vocabulary) -> tuple[Group, ...]:
    """Make groups of the unseen classes and all others."""
    seen = tuple(hoi for hoi in range(len(vocabulary)) if hoi not in set(unseen))
    return (Group("unseen", tuple(unseen)), Group("seen", seen))


def read_groups(path: str | PathLike[str], vocabulary: Vocabulary) -> tuple[Group, ...]:
    """Read groups of classes from a JSON file.

    Parameters
    ----------
    path : path
        ``{"group": [class, ...], ...}``; a class is its one-based official number or its name
        (``ride bicycle``). A group ``unseen`` alone brings its complement ``seen``.
    vocabulary : Vocabulary
        The data set.

    Raises
    ------
    InputError
        For a file that cannot be read, an empty group, or an unknown class.
    """
    try:
        content = json.loads(ordinary(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON ({error!s:.120})") from None
    if not isinstance(content, Mapping) or not content:
        raise InputError(f'{path}: expected {{"group": [classes], ...}}')
    groups = []
    for name, members in content.items():
        if not isinstance(members, list) or not members:
            raise InputError(f"{path}: group '{name}': expected a list of classes")
        where = f"{path}: group '{name}'"
        classes = sorted({find_class(where, one, vocabulary) for one in members})
        groups.append(Group(name, tuple(classes)))
    if [group.name for group in groups] == ["unseen"]:
        return seen_and_unseen(groups[0].classes, vocabulary)
    return tuple(groups)


def find_class(where: str, given: Any, vocabulary: Vocabulary) -> int:
    """Find the HOI class that a number, counted from one, or a name means.

    Raises
    ------
    InputError
        Where there is no such class; ``where`` says where it was asked for.
    """
    numbers = vocabulary.class_named
    # JSON's true would be class 1.
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= len(vocabulary):
        return given - 1
    name = str(given).replace("_", " ")
    if name in numbers:
        return numbers[name]
    raise InputError(
        f"{where}: unknown class {given!r:.60}{close_matches(name, numbers)}; give a "
        f"number from 1 to {len(vocabulary)} or a name like '{next(iter(numbers))}'"
    )
