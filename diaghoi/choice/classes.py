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
from diaghoi.language.open_vocabulary import verb_names

ARTICLE = " a/an "
NO_INTERACTION = "no_interaction"
PERSON = "person"


class Interaction(NamedTuple):
    """A verb and an object, with underscores for spaces."""

    verb: str
    object: str

    @property
    def name(self) -> str:
        """Both for display: ``ride bicycle``."""
        return f"{self.verb} {self.object}".strip().replace("_", " ")


def parse_option(option: str, *, alone: str = PERSON) -> Interaction:
    """Parse the text of an option.

    Parameters
    ----------
    option : str
        As the questions write it.
    alone : str
        The object of an option that names none.
    """
    verb_text, article, object_text = option.partition(ARTICLE)
    verb = verb_text.replace(" ", "_")
    if not article:
        return Interaction(verb, alone)
    # Written "no_interaction", "no_interaction with" and "no interaction with" in one file.
    if NO_INTERACTION in verb:
        verb = NO_INTERACTION
    return Interaction(verb, object_text.replace(" ", "_"))


@lru_cache(maxsize=1 << 16)
def normalised(found: Interaction) -> Interaction:
    """Return an interaction in lower case and without surplus underscores, so that typos match."""
    verb, object_name = ("_".join(filter(None, part.lower().split("_"))) for part in found)
    return Interaction(verb, object_name)


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
    """Return the classes of a data set; of an unknown data set, all that the options name."""
    if not vocabulary.known:
        return Classes(dataset=vocabulary.name, known=None)
    if vocabulary.name == "swig-hoi":
        verbs = frozenset(Interaction(verb, PERSON) for verb in swig_hoi().verbs)
        return Classes(dataset=vocabulary.name, known=verbs)
    known = frozenset(filter(None, interactions_of(hico_det())))
    if vocabulary.name == "v-coco":
        known |= {
            Interaction(verb, name)
            for verb in filter(None, verb_names(v_coco()))
            for name in object_names(v_coco())
        }
    return Classes(dataset=vocabulary.name, known=known)


def interactions_of(vocabulary: Vocabulary) -> Iterable[Interaction]:
    """Name the classes of a vocabulary that have one fixed object."""
    names = object_names(vocabulary)
    for category, verb in zip(vocabulary.class_object, vocabulary.class_verb, strict=True):
        if category >= 0:
            yield Interaction(vocabulary.verbs[verb].replace(" ", "_"), names[category])


def object_names(vocabulary: Vocabulary) -> list[str]:
    """Return the names of objects as questions write them."""
    return [name.replace(" ", "_") for name in vocabulary.objects]
