"""Extend the vocabulary of a data set with free words of a detector or language model.

Words of the data set keep their numbers, so that exact matching works as usual; other words are
numbered after them and belong to no HOI class. :mod:`diaghoi.semantic.fitting` determines the
similarity of words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.language.lexicon import Lexicon
from diaghoi.language.words import WordForms, known_names, read_object, read_verb, verb_words

# Roles of V-COCO as spelled in CrossHOI-Bench; other roles are spelled like their action.
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
# The instrument of pointing is omitted, because no published question has it as an option.
V_COCO_LEFT_OUT = "point instr"


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenVocabulary(Vocabulary):
    """A data set extended by the free words of predictions.

    Parameters
    ----------
    base : Vocabulary
        The data set, whose objects, verbs and classes come first.
    object_forms, verb_forms : tuple of WordForms
        Possible names of each object and verb.
    """

    base: Vocabulary
    object_forms: tuple[WordForms, ...] = field(repr=False)
    verb_forms: tuple[WordForms, ...] = field(repr=False)

    def __reduce__(self) -> Any:
        # Pickling by name would restore the data set without the free words.
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return partial(OpenVocabulary, **fields), ()


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedWords:
    """Free words as (T,) int arrays of vocabulary numbers."""

    vocabulary: OpenVocabulary
    verb: IntArray
    object: IntArray


def verb_names(vocabulary: Vocabulary) -> list[str | None]:
    """Return verb names as in CrossHOI-Bench; None for verbs that the benchmark does not name.

    On V-COCO, the benchmark does not name agents and the instrument of pointing.
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
    """Assign numbers to free words: words of the data set keep their numbers, other words follow.

    Parameters
    ----------
    base : Vocabulary
        The data set.
    verbs, objects : sequence of str
        The words of each triplet.
    lexicon : Lexicon
        Provides base forms: ``riding`` is the verb ``ride``.

    Returns
    -------
    NumberedWords
    """
    heads = known_names(base).heads
    # In V-COCO "ride" means the role with an object if one exists, not the agent.
    agents = np.zeros(len(base.verbs)) if base.agents is None else base.agents
    verb, new_verbs, verb_forms = _numbered(
        verbs,
        verb_words(base),
        lambda text: read_verb(text, lexicon, heads),
        np.argsort(agents, kind="stable").tolist(),
    )
    object_, new_objects, object_forms = _numbered(
        objects, base.objects, lambda text: read_object(text, lexicon), range(len(base.objects))
    )
    columns = {name: getattr(base, name) for name in base.__dataclass_fields__} | {
        "verbs": base.verbs + new_verbs,
        "objects": base.objects + new_objects,
    }
    vocabulary = OpenVocabulary(
        **columns, base=base, verb_forms=verb_forms, object_forms=object_forms
    )
    return NumberedWords(vocabulary=vocabulary, verb=verb, object=object_)


def _numbered(
    texts: Sequence[str],
    names: Sequence[str],
    read: Callable[[str], WordForms],
    order: Sequence[int],
) -> tuple[IntArray, tuple[str, ...], tuple[WordForms, ...]]:
    """Assign numbers to texts by their possible names; earlier names take precedence.

    Return the numbers, the names of the new words, and the forms of all words, old and new.
    """
    forms = [read(name) for name in names]
    place: dict[str, int] = {}
    for rank in range(max((len(form.names) for form in forms), default=0)):
        for number in order:
            if rank < len(forms[number].names):
                place.setdefault(forms[number].names[rank], number)
    number_of: dict[str, int] = {}
    new: list[str] = []
    for text in dict.fromkeys(texts):
        form = read(text)
        number = next((place[name] for name in form.names if name in place), len(forms))
        if number == len(forms):
            new.append(form.name or text)
            forms.append(form)
            for name in form.names:
                place.setdefault(name, number)
        number_of[text] = number
    numbers = np.array([number_of[text] for text in texts], dtype=np.int64)
    return numbers, tuple(new), tuple(forms)
