"""Extend the vocabulary of a data set by free words of a detector or language model.

Words of the data set get its numbers, so that exact matching works as usual; other words get the
numbers after them and belong to no HOI class. Their similarity is determined in
:mod:`diaghoi.semantic.open_fitting`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.language.lexicon import Lexicon
from diaghoi.language.words import WordForms, known_names, read_object, read_verb, verb_words

# The roles of V-COCO as CrossHOI-Bench writes them; others are written as their action alone.
V_COCO_VERBS = {
    "look obj": "look_at",
    "sit instr": "sit_on",
    "hit instr": "hit_with",
    "eat instr": "eat_with",
    "jump instr": "jump_on",
    "lay instr": "lie_on",
    "talk_on_phone instr": "talk_on",
    "cut instr": "cut_with",
    "work_on_computer instr": "work_on",
    "ski instr": "ski_on",
    "drink instr": "drink_with",
}
# What somebody points with is not asked for: no published question has it as an option.
V_COCO_LEFT_OUT = "point instr"


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenVocabulary(Vocabulary):
    """A data set with the free words of some predictions.

    Parameters
    ----------
    base : Vocabulary
        The data set; its objects, verbs and classes come first.
    object_forms, verb_forms : tuple of WordForms
        What each object and verb can be called.
    """

    base: Vocabulary
    object_forms: tuple[WordForms, ...] = field(repr=False)
    verb_forms: tuple[WordForms, ...] = field(repr=False)

    def __reduce__(self) -> Any:
        # Not by name, which would give the data set without the free words.
        return _restored, ({name: getattr(self, name) for name in self.__dataclass_fields__},)


def _restored(columns: dict[str, Any]) -> OpenVocabulary:
    return OpenVocabulary(**columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedWords:
    """Free words as numbers of a vocabulary.

    Parameters
    ----------
    vocabulary : OpenVocabulary
        Defines the numbers.
    verb, object : (T,) int array
        The numbers of the words given.
    """

    vocabulary: OpenVocabulary
    verb: IntArray
    object: IntArray


def verb_names(vocabulary: Vocabulary) -> list[str | None]:
    """Return the names of verbs as CrossHOI-Bench writes them, None for those it does not name.

    On V-COCO the latter are the roles without an object.
    """
    if vocabulary.name != "v-coco":
        return [verb.replace(" ", "_") for verb in vocabulary.verbs]
    return [
        None
        if verb.endswith(" agent") or verb == V_COCO_LEFT_OUT
        else V_COCO_VERBS.get(verb, verb.split()[0])
        for verb in vocabulary.verbs
    ]


def number_words(
    base: Vocabulary, verbs: Sequence[str], objects: Sequence[str], lexicon: Lexicon
) -> NumberedWords:
    """Give free words numbers: those of the data set as there, others after them.

    Parameters
    ----------
    base : Vocabulary
        The data set.
    verbs, objects : sequence of str
        The words of each triplet.
    lexicon : Lexicon
        Gives base forms: ``riding`` is the verb ``ride``.

    Returns
    -------
    NumberedWords
    """
    heads = known_names(base).heads
    base_verbs = [read_verb(name, lexicon, heads) for name in verb_words(base)]
    base_objects = [read_object(name, lexicon) for name in base.objects]
    if base.agents is not None:
        # In V-COCO "ride" means the role with an object if there is one, not the agent.
        order = np.argsort(base.agents, kind="stable").tolist()
    else:
        order = list(range(len(base.verbs)))
    verb = _numbered(
        verbs, {text: read_verb(text, lexicon, heads) for text in verbs}, base_verbs, order
    )
    object_ = _numbered(
        objects,
        {text: read_object(text, lexicon) for text in objects},
        base_objects,
        list(range(len(base.objects))),
    )
    columns = {name: getattr(base, name) for name in base.__dataclass_fields__}
    columns["verbs"] = base.verbs + verb.names
    columns["objects"] = base.objects + object_.names
    vocabulary = OpenVocabulary(
        **columns,
        base=base,
        verb_forms=(*base_verbs, *verb.readings),
        object_forms=(*base_objects, *object_.readings),
    )
    return NumberedWords(vocabulary=vocabulary, verb=verb.number, object=object_.number)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Numbered:
    number: IntArray
    names: tuple[str, ...]
    readings: tuple[WordForms, ...]


def _numbered(
    texts: Sequence[str],
    readings: Mapping[str, WordForms],
    base: Sequence[WordForms],
    order: Sequence[int],
) -> _Numbered:
    """Give texts numbers by their possible names; earlier names of a word take precedence."""
    place: dict[str, int] = {}
    for rank in range(max((len(each.names) for each in base), default=0)):
        for number in order:
            if rank < len(base[number].names):
                place.setdefault(base[number].names[rank], number)
    of_text: dict[str, int] = {}
    names: list[str] = []
    free: list[WordForms] = []
    for text, reading in readings.items():
        number = next((place[name] for name in reading.names if name in place), -1)
        if number < 0:
            number = len(base) + len(names)
            names.append(reading.name or text)
            free.append(reading)
            for name in reading.names:
                place.setdefault(name, number)
        of_text[text] = number
    return _Numbered(
        number=np.array([of_text[text] for text in texts], dtype=np.int64),
        names=tuple(names),
        readings=tuple(free),
    )
