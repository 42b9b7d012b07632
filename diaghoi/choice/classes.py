"""Which HOI class an option names, and which classes count for Macro-F1.

Options are written ``ride a/an bicycle``; those of SWIG-HOI are verbs alone, of what one person
does to another. As in the published scorer, spaces in verbs and objects are underscores, every
option that says ``no_interaction`` is the class of its object, and Macro-F1 runs over the classes
of the benchmark alone: the 600 of HICO-DET, on V-COCO also its own actions with any object, on
SWIG-HOI its verbs. The published files contain some options beyond these (``work on a/an
laptotp``), which count in the other figures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from diaghoi.data.vocabulary import Vocabulary, hico_det, swig_hoi, v_coco

ARTICLE = " a/an "
NO_INTERACTION = "no_interaction"
PERSON = "person"

# The roles of V-COCO as the questions word them; others are called by their action alone.
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
# Has no object worth asking for, and no option in the published questions.
V_COCO_LEFT_OUT = "point instr"


class Interaction(NamedTuple):
    """A verb and an object, with underscores for spaces."""

    verb: str
    thing: str

    @property
    def name(self) -> str:
        """Both as people read them: ``ride bicycle``."""
        return f"{self.verb} {self.thing}".strip().replace("_", " ")


def interaction(option: str, *, alone: str = PERSON) -> Interaction:
    """Find what an option names.

    Parameters
    ----------
    option : str
        As the questions write it.
    alone : str
        The object of an option that names none.
    """
    words, article, thing = option.partition(ARTICLE)
    verb = words.replace(" ", "_")
    if not article:
        return Interaction(verb, alone)
    # Written "no_interaction", "no_interaction with" and "no interaction with" in one file.
    if NO_INTERACTION in verb:
        verb = NO_INTERACTION
    return Interaction(verb, thing.replace(" ", "_"))


@lru_cache(maxsize=1 << 16)
def matching_name(found: Interaction) -> Interaction:
    """Return an interaction spelt so that slips of the pen match: no underscore too many."""
    verb, thing = ("_".join(filter(None, part.lower().split("_"))) for part in found)
    return Interaction(verb, thing)


@dataclass(frozen=True, kw_only=True)
class Classes:
    """The classes over which Macro-F1 runs.

    Parameters
    ----------
    dataset : str
        Name of the data set that the questions are about.
    known : frozenset of Interaction or None
        The classes; None where every option names one.
    """

    dataset: str
    known: frozenset[Interaction] | None

    def __contains__(self, found: object) -> bool:
        return self.known is None or found in self.known


def classes_of(vocabulary: Vocabulary) -> Classes:
    """Return the classes of a data set; those of one's own are all that the options name."""
    if not vocabulary.known:
        return Classes(dataset=vocabulary.name, known=None)
    if vocabulary.name == "swig-hoi":
        verbs = frozenset(Interaction(verb, PERSON) for verb in swig_hoi().verbs)
        return Classes(dataset=vocabulary.name, known=verbs)
    known = frozenset(filter(None, predicted_interactions(hico_det())))
    if vocabulary.name == "v-coco":
        own = set(filter(None, verb_names(v_coco())))
        known |= {Interaction(verb, thing) for verb in own for thing in thing_names(v_coco())}
    return Classes(dataset=vocabulary.name, known=known)


def predicted_interactions(vocabulary: Vocabulary) -> Iterable[Interaction]:
    """Name the classes of a vocabulary that have an object of their own."""
    things = thing_names(vocabulary)
    for thing, verb in zip(vocabulary.class_object, vocabulary.class_verb, strict=True):
        if thing >= 0:
            yield Interaction(vocabulary.verbs[verb].replace(" ", "_"), things[thing])


def thing_names(vocabulary: Vocabulary) -> list[str]:
    """Word the objects of a vocabulary as questions do."""
    return [thing.replace(" ", "_") for thing in vocabulary.objects]


def verb_names(vocabulary: Vocabulary) -> list[str | None]:
    """Word the verbs of a vocabulary as questions do; None for those that no option names.

    On V-COCO these are its roles without an object.
    """
    if vocabulary.name != "v-coco":
        return [verb.replace(" ", "_") for verb in vocabulary.verbs]
    return [
        None
        if verb.endswith(" agent") or verb == V_COCO_LEFT_OUT
        else V_COCO_VERBS.get(verb, verb.split()[0])
        for verb in vocabulary.verbs
    ]
