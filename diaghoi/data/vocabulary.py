"""Describe data sets: objects, verbs, HOI classes, splits and evaluation protocols.

The facts about known data sets are in CSV files in ``diaghoi/data/vocabularies``; the facts about
any other data set come from a description (:mod:`diaghoi.formats.description`). Inside the package,
objects, verbs and HOI classes are always zero-based indices into a :class:`Vocabulary`; numberings
of files are translated on reading.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray
from diaghoi.data.protocol import PROTOCOLS, Protocol

# Ledgers store the classes of predictions in 16 bits.
MOST_CLASSES = 2**15 - 2


class Numbers(NamedTuple):
    """The numbers that files use for objects and verbs, in the order of the vocabulary."""

    objects: tuple[int, ...]
    verbs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """How the files of a data set number objects and verbs, and how they write boxes.

    Parameters
    ----------
    objects, verbs : tuple of int
        Numbers of objects and verbs in the files, unless a file shows that its numbers start at
        another number.
    predictions : Numbers or None
        Numbers in all prediction files; None if annotation files use the same numbers.
    origin, boxes
        Pixel origin, zero or one, and the layout: ``xyxy`` or ``xywh``.
    """

    objects: tuple[int, ...]
    verbs: tuple[int, ...]
    predictions: Numbers | None = None
    origin: Literal[0, 1] = 0
    boxes: Literal["xyxy", "xywh"] = "xyxy"

    def numbers(self, *, predictions: bool) -> Numbers:
        """Return the numbers in prediction or annotation files."""
        stated = self.predictions if predictions else None
        return Numbers(self.objects, self.verbs) if stated is None else stated


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """Objects, verbs and HOI classes of a data set.

    Parameters
    ----------
    name : str
        Name of the data set, as in ``--dataset``.
    of : str or None
        The data set whose files are used, if this data set only defines other classes for the same
        files; otherwise None.
    objects, verbs : tuple of str
        Names; their indices are the numbers used in the package.
    class_object, class_verb : (C,) int array
        Object and verb of each HOI class, in the official order of the classes; the object is -1 if
        the class covers pairs with any object and without an object (V-COCO, or if classes are
        verbs).
    person : int
        The object category of human boxes.
    no_interaction : int
        The verb for "these two do not interact", -1 if the data set has none.
    protocol : Protocol
        Default protocol of a diagnosis.
    benchmarks : tuple of Protocol
        Protocols of the data set's benchmark, whose numbers are in every report.
    splits : dict of (C,) bool array
        Groups of classes reported in addition to the full mean, by key in results. In HICO-DET,
        `rare` classes have fewer than ten visible training instances.
    evaluated : (C,) bool array or None
        The classes that the benchmark evaluates; None for all.
    test_instances : (C,) int array or None
        Number of visible annotated triplets in the complete test set, if known.
    agents : (C,) bool array or None
        Classes that name an action of a person and have no object role; None if the data set has no
        such classes.
    conventions : Conventions or None
        Conventions of the files; None if each format of the data set has its own conventions.
    annotations : pathlib.Path or None
        The annotation file, if the data set names one.
    """

    name: str
    objects: tuple[str, ...]
    verbs: tuple[str, ...]
    class_object: IntArray
    class_verb: IntArray
    person: int
    protocol: Protocol
    of: str | None = None
    benchmarks: tuple[Protocol, ...] = ()
    no_interaction: int = -1
    splits: Mapping[str, BoolArray] = field(default_factory=dict)
    evaluated: BoolArray | None = None
    test_instances: IntArray | None = None
    agents: BoolArray | None = None
    conventions: Conventions | None = None
    annotations: Path | None = None

    def __len__(self) -> int:
        return len(self.class_object)

    def __repr__(self) -> str:
        return (
            f"<Vocabulary {self.name}: {len(self.objects)} objects, {len(self.verbs)} verbs, "
            f"{len(self)} HOI classes>"
        )

    def __reduce__(self) -> Any:
        # A known vocabulary is identified by name, so unpickling returns the vocabulary of this
        # process.
        if self.known:
            return VOCABULARIES[self.name], ()
        return super().__reduce__()

    @property
    def known(self) -> bool:
        """Whether the package knows the data set."""
        return self.name in VOCABULARIES

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that change if any name or class changes."""
        classes = (self.class_object.tolist(), self.class_verb.tolist())
        content = repr((self.objects, self.verbs, classes)).encode()
        return hashlib.sha256(content).hexdigest()[:8]

    @property
    def any_object(self) -> bool:
        """Whether any class covers pairs with any object and also pairs without an object."""
        return bool((self.class_object < 0).any())

    @property
    def rare(self) -> BoolArray | None:
        """(C,) mask of the rare classes; None if the data set has no such split."""
        return self.splits.get("rare")

    @cached_property
    def class_of(self) -> IntArray:
        """(objects + 1, verbs) table of HOI classes; -1 if the combination is not a class.

        The last row is for object -1: no object, or an object of unknown category.
        """
        table = np.full((len(self.objects) + 1, len(self.verbs)), -1, dtype=np.int32)
        for hoi, (label, verb) in enumerate(zip(self.class_object, self.class_verb, strict=True)):
            # A class that covers pairs with any object and without an object fills the column of
            # its verb, including the last row.
            table[slice(None) if label < 0 else label, verb] = hoi
        table.flags.writeable = False
        return table

    @cached_property
    def interacting(self) -> BoolArray:
        """(C,) mask of the classes whose verb is a real interaction."""
        return np.asarray(self.class_verb != self.no_interaction)

    @cached_property
    def class_named(self) -> dict[str, int]:
        """HOI class of each name; if several classes share a name, the last of these classes."""
        return {self.class_name(hoi): hoi for hoi in range(len(self))}

    def class_name(self, hoi: int) -> str:
        """Return the display name of an HOI class: ``ride bicycle``; in V-COCO ``cut instr``."""
        verb, label = self.verbs[self.class_verb[hoi]], self.class_object[hoi]
        name = verb if label < 0 else f"{verb} {self.objects[label]}"
        return name.replace("_", " ")


def facts(table: str) -> list[dict[str, str]]:
    """Read the rows of a CSV file of facts about a data set."""
    with (resources.files("diaghoi.data") / "vocabularies" / table).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _classes(
    objects: tuple[str, ...], verbs: tuple[str, ...], classes: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """Return the fields of a vocabulary that define classes, given as (object, verb) pairs."""
    label, verb = (_frozen(np.array(column, np.int32)) for column in zip(*classes, strict=True))
    names = {"objects": objects, "verbs": verbs, "person": objects.index("person")}
    return {**names, "class_object": label, "class_verb": verb}


def _names(table: str) -> tuple[str, ...]:
    return tuple(row["name"] for row in facts(table))


def _column(rows: list[dict[str, str]], name: str) -> IntArray:
    return _frozen(np.array([int(row[name]) for row in rows], dtype=np.int32))


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


@cache
def hico_det() -> Vocabulary:
    """HICO-DET: 80 objects in COCO-80 order (person = 0), 117 verbs, 600 HOI classes."""
    rows, objects = facts("hico_det.csv"), _names("coco_objects.csv")
    verbs = tuple(sorted({row["verb"] for row in rows}))
    rare = _column(rows, "rare")
    classes = [(objects.index(row["object"]), verbs.index(row["verb"])) for row in rows]
    return Vocabulary(
        name="hico-det",
        **_classes(objects, verbs, classes),
        protocol=PROTOCOLS["hico-det-520"],
        no_interaction=verbs.index("no_interaction"),
        benchmarks=(PROTOCOLS["hico-det"],),
        splits={"rare": _frozen(rare == 1), "non_rare": _frozen(rare == 0)},
        test_instances=_column(rows, "test_instances"),
    )


@cache
def v_coco() -> Vocabulary:
    """V-COCO: 80 objects in COCO-80 order, and 51 classes, each an action with a role.

    26 classes state that a person does something (role ``agent``), 25 also with which object
    (``obj``, ``instr``). The vocabulary's verbs are combinations of action and role: ``cut agent``,
    ``cut instr``, ``cut obj``.
    """
    rows = facts("v_coco.csv")
    benchmarks = PROTOCOLS["v-coco-s1"], PROTOCOLS["v-coco-s2"]
    verbs = tuple(f"{row['action']} {row['role']}" for row in rows)
    return Vocabulary(
        name="v-coco",
        **_classes(_names("coco_objects.csv"), verbs, [(-1, verb) for verb in range(len(rows))]),
        protocol=benchmarks[0],
        benchmarks=benchmarks,
        agents=np.array([row["role"] == "agent" for row in rows]),
    )


@cache
def v_coco_images() -> dict[str, frozenset[str]]:
    """Names of the images in the val and the test split of V-COCO, by split."""
    rows = facts("v_coco_images.csv")
    return {
        split: frozenset(row["image"] for row in rows if row["split"] == split)
        for split in ("val", "test")
    }


@cache
def swig_hoi() -> Vocabulary:
    """SWIG-HOI: 1,000 objects, 407 verbs and 14,130 HOI classes, of which 5,539 are evaluated.

    Objects are distinguished by their number: some have the same name.
    """
    rows, protocol = facts("swig_hoi.csv"), PROTOCOLS["swig-hoi"]
    objects, verbs = _names("swig_hoi_objects.csv"), _names("swig_hoi_actions.csv")
    frequency = _column(rows, "frequency")
    return Vocabulary(
        name="swig-hoi",
        **_classes(objects, verbs, [(int(row["object"]), int(row["action"])) for row in rows]),
        protocol=protocol,
        benchmarks=(protocol,),
        splits={
            name: _frozen(frequency == number)
            for number, name in enumerate(("zero_shot", "rare", "non_rare"))
        },
        evaluated=_frozen(_column(rows, "evaluation") == 1),
        conventions=Conventions(objects=tuple(range(len(objects))), verbs=tuple(range(len(verbs)))),
    )


@cache
def hoi_a() -> Vocabulary:
    """HOI-A, also HOI-W of the PIC challenge: 11 objects, 10 verbs, 17 HOI classes.

    The classes are the combinations that HOI-A's matrix of verbs and objects allows, verb by verb.
    The official number is a mean over verbs, not over HOI classes, so no benchmark is declared.
    """
    rows, objects = facts("hoi_a.csv"), _names("hoi_a_objects.csv")
    # The classes of each verb follow one another, in the order of the verbs' numbers.
    verbs = tuple(dict.fromkeys(row["verb"] for row in rows))
    classes = [(objects.index(row["object"]), verbs.index(row["verb"])) for row in rows]
    return Vocabulary(
        name="hoi-a",
        **_classes(objects, verbs, classes),
        protocol=PROTOCOLS["hoi-a"],
        conventions=Conventions(
            objects=tuple(range(1, len(objects) + 1)), verbs=tuple(range(1, len(verbs) + 1))
        ),
    )


@cache
def v_coco_thesis() -> Vocabulary:
    """V-COCO as QPIC and its descendants evaluate it during training.

    29 classes: the 25 roles of actions, and the 4 actions without a role. The mean that QPIC's code
    calls `thesis` covers all roles except ``point instr``.
    """
    actions = [verb.rsplit(" ", 1) for verb in v_coco().verbs]
    with_role = {action for action, role in actions if role != "agent"}
    verbs = tuple(
        action if role == "agent" else f"{action} {role}"
        for action, role in actions
        if role != "agent" or action not in with_role
    )
    thesis = np.array([" " in verb and verb != "point instr" for verb in verbs])
    return by_verb(
        replace(
            v_coco(),
            name="v-coco-thesis",
            of="v-coco",
            verbs=verbs,
            protocol=PROTOCOLS["v-coco-thesis"],
            benchmarks=(),
            splits={"thesis": thesis},
            agents=None,
        )
    )


@cache
def hoi_a_verbs() -> Vocabulary:
    """HOI-A with its 10 verbs as classes; the official number of HOI-A is a mean over verbs."""
    changed = replace(hoi_a(), name="hoi-a-verbs", of="hoi-a", protocol=PROTOCOLS["hoi-a-verbs"])
    return by_verb(changed)


def by_verb(vocabulary: Vocabulary) -> Vocabulary:
    """Return the data set with its verbs as classes, regardless of the object."""
    verbs = np.arange(len(vocabulary.verbs), dtype=np.int32)
    return replace(
        vocabulary, class_verb=_frozen(verbs), class_object=_frozen(np.full_like(verbs, -1))
    )


VOCABULARIES = {
    "hico-det": hico_det,
    "v-coco": v_coco,
    "v-coco-thesis": v_coco_thesis,
    "hoi-a-verbs": hoi_a_verbs,
    "swig-hoi": swig_hoi,
    "hoi-a": hoi_a,
}


def printed_name(dataset: str) -> str:
    """Return a data set's name as papers print it (``HICO-DET``); unknown names stay unchanged."""
    return dataset.upper() if dataset in VOCABULARIES else dataset


@cache
def object_numberings() -> dict[str, dict[int, int]]:
    """Object numberings of the field, each as ``{number in the file: COCO-80 index}``.

    ``coco80`` counts 0-79 in COCO order, ``coco91`` is COCO's own category id (1-90 with gaps) and
    ``hico80`` the zero-based position in HICO-DET's alphabetical list. ``coco80-1`` is ``coco80``
    counted from one, ``coco91-0`` is ``coco91`` minus one.
    """
    rows = facts("coco_objects.csv")
    names = sorted(row["name"] for row in rows)
    coco80, coco91 = ([int(row[key]) for row in rows] for key in ("coco80", "coco91"))
    return {
        "coco80": dict(zip(coco80, coco80, strict=True)),
        "coco91": dict(zip(coco91, coco80, strict=True)),
        "hico80": {names.index(row["name"]): at for row, at in zip(rows, coco80, strict=True)},
        "coco80-1": {number + 1: number for number in coco80},
        "coco91-0": {number - 1: at for number, at in zip(coco91, coco80, strict=True)},
    }
