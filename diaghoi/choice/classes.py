"""Map options to HOI classes, and choose the classes that count for Macro-F1.

Options are written ``ride a/an bicycle``; on SWIG-HOI they are verbs between two people. As in the
published scorer, spaces in verbs and objects become underscores, and each option that contains
``no_interaction`` gets the verb ``no_interaction``. Macro-F1 covers only the benchmark's classes:
the 600 classes of HICO-DET; on V-COCO, also its actions with any object; on SWIG-HOI, its verbs.
The published files contain a few other options (``work on a/an laptotp``), which count in all
metrics except Macro-F1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from diaghoi.data.vocabulary import Vocabulary, facts, hico_det, swig_hoi, v_coco
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
        """Verb and object for display: ``ride bicycle``."""
        return f"{self.verb} {self.object}".strip().replace("_", " ")


def parse_option(option: str, *, alone: str = PERSON) -> Interaction:
    """Parse an option's text; an option without an object gets the object ``alone``."""
    verb_text, article, object_text = option.partition(ARTICLE)
    verb = verb_text.replace(" ", "_")
    if not article:
        return Interaction(verb, alone)
    # Published files write "no_interaction", "no_interaction with" or "no interaction with".
    if NO_INTERACTION in verb:
        verb = NO_INTERACTION
    return Interaction(verb, object_text.replace(" ", "_"))


def option_text(interaction: Interaction) -> str:
    """Format an interaction as in the published questions: ``ride a/an bicycle``."""
    verb, thing = interaction
    return f"{verb} with{ARTICLE}{thing}" if verb == NO_INTERACTION else f"{verb}{ARTICLE}{thing}"


@lru_cache(maxsize=1 << 16)
def normalised(interaction: Interaction) -> Interaction:
    """Return an interaction in lower case without extra underscores, so that variants match."""
    verb, thing = ("_".join(filter(None, part.lower().split("_"))) for part in interaction)
    return Interaction(verb, thing)


def classes_of(vocabulary: Vocabulary | None) -> frozenset[Interaction] | None:
    """Return the classes that Macro-F1 covers; None if every option names a class."""
    if vocabulary is None or not vocabulary.known:
        return None
    if vocabulary.name == "swig-hoi":
        return frozenset(Interaction(verb, PERSON) for verb in swig_hoi().verbs)
    classes = frozenset(interactions_of(hico_det()))
    if vocabulary.name == "v-coco":
        classes |= {
            Interaction(verb, name)
            for verb in filter(None, verb_names(v_coco()))
            for name in object_names(v_coco())
        }
    return classes


def interactions_of(vocabulary: Vocabulary) -> Iterable[Interaction]:
    """List the classes of a vocabulary that have one fixed object."""
    names = object_names(vocabulary)
    for category, verb in zip(vocabulary.class_object, vocabulary.class_verb, strict=True):
        if category >= 0:
            yield Interaction(vocabulary.verbs[verb].replace(" ", "_"), names[category])


def object_names(vocabulary: Vocabulary) -> list[str]:
    """Return object names as in questions."""
    return [name.replace(" ", "_") for name in vocabulary.objects]


def time_sensitive_classes() -> frozenset[Interaction]:
    """Return the 68 classes of HICO-DET in appendix A of CrossHOI-Bench, table 5.

    A still picture does not show in which direction a time-sensitive action proceeds. Classes are
    compared by name, so the list applies to any data set with the same verbs and objects.
    """
    return frozenset(_counterparts()[0])


def indistinct_from(annotated: Iterable[Interaction]) -> set[Interaction]:
    """Find the classes that look like an annotated class in a still picture, normalised.

    The relation is symmetric, no matter which of two counterparts is listed: ``throw frisbee`` is
    found for ``catch frisbee``, and ``hop_on bicycle`` for ``ride bicycle``.
    """
    table = _counterparts()[1]
    return {other for each in annotated for other in table.get(normalised(each), ())}


@cache
def _counterparts() -> tuple[list[Interaction], dict[Interaction, set[Interaction]]]:
    """List the time-sensitive classes, their counterparts, and the counterparts' counterparts."""
    listed: list[Interaction] = []
    table: dict[Interaction, set[Interaction]] = {}
    for row in facts("hico_det_time_sensitive.csv"):
        verbs = (row["verb"], *row["counterparts"].split())
        first, *others = (normalised(Interaction(verb, row["object"])) for verb in verbs)
        listed.append(first)
        for other in others:
            table.setdefault(first, set()).add(other)
            table.setdefault(other, set()).add(first)
    return listed, table
