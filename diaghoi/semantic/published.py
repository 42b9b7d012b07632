"""Measure how well similarity tables agree with published similarity levels of interactions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, StrArray
from diaghoi.exceptions import InputError
from diaghoi.language.lexicon import Lexicon, Pos, load_lexicon
from diaghoi.semantic.tables.baselines import TITLES, baseline
from diaghoi.semantic.tables.people import HumanScores
from diaghoi.semantic.tables.senses import OWN, WORDNET, sense_table
from diaghoi.semantic.tables.similarity import fit, pearson, read_similarity
from diaghoi.semantic.tables.words import Term, rated_terms


def agreement_with_published(
    published: HumanScores, sources: Sequence[Path | str], scale: float | None = None
) -> dict[str, Any]:
    """Compare tables and two WordNet baselines with the levels of interaction pairs.

    If verb and object both differ, the smaller similarity is compared, because each published level
    is the smaller of the levels for verb and object. Every second pair of a category belongs to the
    half to which the constants were fitted.

    Parameters
    ----------
    published : HumanScores
        Levels of pairs of interactions, as synsets or words.
    sources : sequence of two
        Verb and object tables: files, or "own" or "wordnet".
    scale : float, optional
        Highest score of the scale in table files.

    Returns
    -------
    dict
        ``source``, ``tables`` (names of the compared tables), ``rows`` and ``notes``. A row has
        ``differs`` (the part that differs within pairs), the ``half`` ("fitted", "other" or "all"),
        the number of ``pairs``, and, by table, the share at 0 (``zero``),
        ``mean_absolute_difference`` and ``correlation`` (Pearson; None if undefined).

    Raises
    ------
    InputError
        If the file has pairs of words instead of interactions, or a table cannot be read.
    """
    if not published.of_interactions:
        raise InputError(f"{published.source}: has pairs of words; give pairs of interactions")
    lexicon = load_lexicon()
    columns = [np.array(column) for column in zip(*published.words, strict=True)]
    (verb, thing), (other_verb, other_thing) = columns[:2], columns[2:]
    tables = [tuple("wu-palmer" if each == WORDNET else each for each in sources)]
    tables += [(each, each) for each in TITLES if each not in tables[0]]
    sigma: dict[str, FloatArray] = {}
    for of_verbs, of_objects in tables:
        name, verbs = _similar(of_verbs, "v", verb, other_verb, lexicon, scale)
        also, objects = _similar(of_objects, "n", thing, other_thing, lexicon, scale)
        sigma[name if also == name else f"{name} and {also}"] = np.minimum(verbs, objects)
    rows = []
    for differs, mask in (
        ("object", (verb == other_verb) & (thing != other_thing)),
        ("verb", (verb != other_verb) & (thing == other_thing)),
        ("both", (verb != other_verb) & (thing != other_thing)),
    ):
        chosen = np.flatnonzero(mask)
        for half, part in (("fitted", chosen[::2]), ("other", chosen[1::2]), ("all", chosen)):
            if not len(part):
                continue
            found = {name: _compared(of[part], published.mean[part]) for name, of in sigma.items()}
            rows.append({"differs": differs, "half": half, "pairs": len(part), "tables": found})
    return {
        "source": published.source,
        "tables": [*sigma],
        "rows": rows,
        "notes": list(published.notes),
    }


def _similar(
    source: Path | str,
    pos: Pos,
    one: StrArray,
    other: StrArray,
    lexicon: Lexicon,
    scale: float | None,
) -> tuple[str, FloatArray]:
    """Return the name of a table, and the (P,) similarity of synset pairs."""
    names, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    shoe = {term.shoe: term for term in rated_terms(pos)}
    known = [name for name in names.tolist() if lexicon.find(name) is not None]
    meant: dict[str, str] = {}
    if isinstance(source, Path):
        similarity = read_similarity(source, scale=scale)
        for name in shoe.keys() & set(names.tolist()) - similarity.index_of.keys():
            words = (word for word in shoe[name].names if word in similarity.index_of)
            meant[name] = next(words, name)
    elif source == OWN:
        meant = {name: shoe[name].sense if name in shoe else name for name in known}
        similarity, *_ = sense_table(OWN, pos, known, (), "", meant)
    else:
        similarity = baseline(
            [Term(name=name, gloss="", synset=name) for name in known], source, lexicon
        )
    first, second = np.split(places.ravel(), 2)
    return similarity.name, fit(similarity, names.tolist(), meant).similarity.at(first, second)


def _compared(similar: FloatArray, level: FloatArray) -> dict[str, float | None]:
    return {
        "zero": float((similar == 0).mean()),
        "mean_absolute_difference": float(np.abs(similar - level).mean()),
        "correlation": pearson(similar, level),
    }
