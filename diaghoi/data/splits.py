"""Which HOI classes of a data set a protocol counts, and the groups that it reports."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.ragged import marked
from diaghoi.data.arrays.types import BoolArray
from diaghoi.data.protocol import PROTOCOLS, Protocol
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.exceptions import InputError


def counted_classes(protocol: Protocol, vocabulary: Vocabulary) -> BoolArray:
    """(C,) true for the HOI classes that count."""
    if protocol.classes == "interactions":
        return vocabulary.interacting
    if protocol.classes == "roles" and vocabulary.agents is not None:
        return ~vocabulary.agents
    if protocol.classes == "evaluated" and vocabulary.evaluated is not None:
        return vocabulary.evaluated
    return np.ones(len(vocabulary), dtype=bool)


def split_classes(protocol: Protocol, vocabulary: Vocabulary) -> dict[str, BoolArray]:
    """(C,) masks of the groups of classes that are reported.

    ``full``; those of the data set, ``rare`` and ``non_rare`` for instance; the groups of the
    protocol.
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
    """Check that a protocol can be used on a data set.

    Raises
    ------
    InputError
        Where the data set has roles of people and the protocol not, or the other way round, and
        where the classes of one of them alone are verbs.
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
        raise InputError(f"{vocabulary.name} has no rare classes by test instances")
