"""Names and numbers of a data set: objects, verbs, HOI classes and the rare split.

The facts are the CSV files in ``diaghoi/vocabularies``. Inside the package objects, verbs and HOI
classes are always the zero-based positions in a :class:`Vocabulary`; the numberings of the file
formats are translated when a file is read.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError, close_matches

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """Objects, verbs and HOI classes of a data set.

    Parameters
    ----------
    name : str
        Name of the data set, as in ``--dataset``.
    objects, verbs : tuple of str
        Names; their positions are the numbers used in the package.
    class_object, class_verb : (C,) int array
        Object and verb of each HOI class, in the official order of the classes; object -1 where
        the class holds for every object and for none (V-COCO).
    person : int
        The object category of human boxes.
    no_interaction : int
        The verb that says "these two do not interact", -1 where the data set has none.
    rare : (C,) bool array or None
        Fewer than ten visible training instances; None where the data set has no such split.
    test_instances : (C,) int array or None
        Visible annotated triplets in the complete test set, where known.
    agents : (C,) bool array or None
        Classes that say what a person does, without a role for an object; None where there are
        none.
    """

    name: str
    objects: tuple[str, ...]
    verbs: tuple[str, ...]
    class_object: IntArray
    class_verb: IntArray
    person: int
    no_interaction: int = -1
    rare: BoolArray | None = None
    test_instances: IntArray | None = None
    agents: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.class_object)

    def __repr__(self) -> str:
        return (
            f"<Vocabulary {self.name}: {len(self.objects)} objects, {len(self.verbs)} verbs, "
            f"{len(self)} HOI classes>"
        )

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # A vocabulary is identified by its name: unpickling gives the one of this process.
        return vocabulary, (self.name,)

    @cached_property
    def class_of(self) -> IntArray:
        """(objects + 1, verbs) table of HOI classes; -1 where the combination is not a class.

        The last row is that of object -1: no object, or one of unknown category.
        """
        table = np.full((len(self.objects) + 1, len(self.verbs)), -1, dtype=np.int32)
        for hoi, (thing, verb) in enumerate(zip(self.class_object, self.class_verb, strict=True)):
            table[slice(None) if thing < 0 else thing, verb] = hoi
        table.flags.writeable = False
        return table

    @cached_property
    def interacting(self) -> BoolArray:
        """(C,) true for the classes whose verb is a real interaction."""
        return np.asarray(self.class_verb != self.no_interaction)

    def class_name(self, hoi: int) -> str:
        """Name of an HOI class for people: ``ride bicycle``; in V-COCO ``cut instr``."""
        verb, thing = self.verbs[self.class_verb[hoi]], self.class_object[hoi]
        name = verb if thing < 0 else f"{verb} {self.objects[thing]}"
        return name.replace("_", " ")


def facts(table: str) -> list[dict[str, str]]:
    """Read the rows of one of the CSV files of facts."""
    with (resources.files("diaghoi.vocabularies") / table).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@cache
def hico_det() -> Vocabulary:
    """HICO-DET: 80 objects in COCO-80 order (person = 0), 117 verbs, 600 HOI classes."""
    objects = tuple(row["name"] for row in facts("coco_objects.csv"))
    rows = facts("hico_det.csv")
    verbs = tuple(sorted({row["verb"] for row in rows}))
    object_number = {name: number for number, name in enumerate(objects)}
    verb_number = {name: number for number, name in enumerate(verbs)}
    return Vocabulary(
        name="hico-det",
        objects=objects,
        verbs=verbs,
        class_object=_frozen([object_number[row["object"]] for row in rows]),
        class_verb=_frozen([verb_number[row["verb"]] for row in rows]),
        person=object_number["person"],
        no_interaction=verb_number["no_interaction"],
        rare=np.asarray(_frozen([int(row["rare"]) for row in rows]), dtype=bool),
        test_instances=_frozen([int(row["test_instances"]) for row in rows]),
    )


@cache
def v_coco() -> Vocabulary:
    """V-COCO: 80 objects in COCO-80 order, and 51 classes, each an action and a role of it.

    26 classes say that a person does something (role ``agent``), 25 also with what (``obj``,
    ``instr``). As verbs they are called ``cut agent``, ``cut instr``, ``cut obj``.
    """
    rows = facts("v_coco.csv")
    objects = tuple(row["name"] for row in facts("coco_objects.csv"))
    return Vocabulary(
        name="v-coco",
        objects=objects,
        verbs=tuple(f"{row['action']} {row['role']}" for row in rows),
        class_object=_frozen([-1] * len(rows)),
        class_verb=_frozen(list(range(len(rows)))),
        person=objects.index("person"),
        agents=np.array([row["role"] == "agent" for row in rows]),
    )


def _frozen(values: list[int]) -> IntArray:
    array = np.asarray(values, dtype=np.int32)
    array.flags.writeable = False
    return array


VOCABULARIES = {"hico-det": hico_det, "v-coco": v_coco}


def vocabulary(name: str) -> Vocabulary:
    """Return the vocabulary of a data set by its name.

    Raises
    ------
    InputError
        Where no data set of that name is known.
    """
    if name not in VOCABULARIES:
        raise InputError(
            f"unknown data set '{name}'{close_matches(name, VOCABULARIES)}; "
            f"known: {', '.join(VOCABULARIES)}"
        )
    return VOCABULARIES[name]()


@cache
def object_numberings() -> dict[str, dict[int, int]]:
    """Object numbers of the field, each as ``{number in the file: position in COCO-80}``.

    ``coco80`` counts 0-79 in COCO order, ``coco91`` is COCO's own category id (1-90 with gaps) and
    ``hico80`` the zero-based position in HICO-DET's alphabetical list.
    """
    rows = facts("coco_objects.csv")
    alphabetical = {name: n for n, name in enumerate(sorted(row["name"] for row in rows))}
    return {
        "coco80": {int(row["coco80"]): int(row["coco80"]) for row in rows},
        "coco91": {int(row["coco91"]): int(row["coco80"]) for row in rows},
        "hico80": {alphabetical[row["name"]]: int(row["coco80"]) for row in rows},
    }
