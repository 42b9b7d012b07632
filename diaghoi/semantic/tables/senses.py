"""Similarity tables for any words: the ratings of this package, or WordNet's hierarchy.

The ratings compare the senses of HICO-DET and V-COCO (``rated_verbs.csv``, ``rated_objects.csv``).
Another sense gets the ratings of nearby senses in WordNet, discounted by distance: see
docs/similarity_ratings.md for the rule and its agreement with published ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray
from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.lexicon import Lexicon, Pos, load_lexicon
from diaghoi.language.words import (
    BEING,
    DETERMINERS,
    PARTICLES,
    WordForms,
    plain,
    read_object,
    read_verb,
    tokens,
    word_set,
)
from diaghoi.semantic.tables.baselines import ROOT, baseline, distances
from diaghoi.semantic.tables.ratings import mean_scores
from diaghoi.semantic.tables.similarity import SYNSET, Similarity, read_similarity, symmetric
from diaghoi.semantic.tables.words import (
    KINDS,
    NO_INTERACTION,
    Term,
    packaged,
    rated_terms,
    read_senses,
)

OWN, WORDNET = "own", "wordnet"
NAME = "ratings of this package, version 1"
SOURCE = "mean of three passes of one language model"
HIGHEST = 4
"""Highest score of the ratings."""
V_COCO = {"lay": "lie", "talk_on_phone": "talk_on", "point": "point_at"}
"""Actions of V-COCO that have another name in the list of rated senses."""


class Nearness(NamedTuple):
    """Factors by which ratings shrink with each step between a rated and an unrated sense.

    Parameters
    ----------
    up : float
        Factor for a step up, from the unrated sense to a more general sense.
    down : float
        Factor for a step down, from the more general sense to the rated sense.
    mentioned : float
        Factor if the definition of the unrated sense names the rated sense.
    least : float
        Least product of factors that counts; a smaller product becomes 0.
    """

    up: float
    down: float
    mentioned: float
    least: float


NEARNESS: dict[Pos, Nearness] = {
    "v": Nearness(up=0.75, down=0.8, mentioned=0.6, least=0.3),
    "n": Nearness(up=0.9, down=0.6, mentioned=0.7, least=0.3),
}
"""The factors are fitted to half of the pairs that the authors of SHOE published."""
BROAD = 50
"""Maximum number of direct hyponyms of a sense that makes its hyponyms near each other.
"""
# Number of words used from the start of a definition, and words to ignore.
DEFINING = 12
VAGUE = word_set("do get give go have let make move put set take turn use")
VAGUE |= BEING | DETERMINERS | PARTICLES


class SenseTable(NamedTuple):
    """A table of senses, and the meanings of words in it.

    Parameters
    ----------
    similarity : Similarity
        A table whose names are senses.
    senses : dict of str to str
        The sense of each annotated word that has a sense.
    names : mapping of str to str
        Words with a fixed meaning, and their sense.
    """

    similarity: Similarity
    senses: dict[str, str]
    names: Mapping[str, str]


def sense_table(
    kind: str,
    pos: Pos,
    words: Sequence[str],
    forms: Sequence[WordForms],
    dataset: str,
    given: Mapping[str, str] | None = None,
) -> SenseTable:
    """Create the verb or object table for the words of a data set and of predictions.

    Parameters
    ----------
    kind : {"own", "wordnet"}
        The ratings of this package, or Wu-Palmer similarity.
    pos : {"v", "n"}
        Verbs or objects.
    words : sequence of str
        Words of the data set.
    forms : sequence of WordForms
        Forms of each word of the data set, followed by the forms of the predictions' other words;
        empty if the predictions have no other words.
    dataset : str
        Name of the data set.
    given : mapping of str to str, optional
        Synsets of some words of the data set.

    Raises
    ------
    InputError
        If the kind or a synset is unknown.
    """
    if kind not in (OWN, WORDNET):
        raise InputError(
            f"similarity '{kind}': not known{close_matches(kind, (OWN, WORDNET))}; give two tables "
            f"(verbs, objects), '{WORDNET}' or '{OWN}'"
        )
    names = {name: term.sense for term in rated_terms(pos) for name in term.names}
    if pos == "v" and dataset == "v-coco":
        names |= {word: names[name] for word, name in V_COCO.items()}
    if kind == WORDNET:
        names = {name: sense for name, sense in names.items() if SYNSET.fullmatch(sense)}
    meant = names | {plain(word): sense for word, sense in (given or {}).items()}
    senses = {word: meant[plain(word)] for word in words if plain(word) in meant}
    others = [word for word in words if word not in senses]
    if kind == OWN and not (others or forms or given):
        return SenseTable(_rated(pos), senses, names)
    lexicon = load_lexicon()
    read: Any = read_verb if pos == "v" else read_object
    meanings: dict[str, list[int]] = {}
    for word in others:
        form = read(word, lexicon)
        if known := [names[name] for name in form.names if name in names]:
            senses[word] = known[0]
        elif plain(word) != NO_INTERACTION:
            meanings[word] = _senses_of([form], pos, lexicon)
    if kind == WORDNET:
        number = {word: lexicon.find(sense) for word, sense in senses.items()}
        number |= {word: next(iter(few), None) for word, few in meanings.items()}
        found = {word: each for word, each in number.items() if each is not None}
        terms = sorted({*found.values(), *_senses_of(forms, pos, lexicon)})
        listed = [Term(name=(name := lexicon.names[n]), gloss="", synset=name) for n in terms]
        table = baseline(listed, "wu-palmer", lexicon)
        return SenseTable(table, {word: lexicon.names[n] for word, n in found.items()}, {})
    senses |= _closest(pos, meanings, lexicon)
    rated = {lexicon.find(sense): sense for sense in _rated(pos).names}
    for word, sense in senses.items():
        if sense not in rated.values():  # another name for a rated sense, or for a sense in WordNet
            synset = lexicon.number(sense)
            senses[word] = rated.get(synset, lexicon.names[synset])
    free = [form for form in forms[len(words) :] if names.keys().isdisjoint(form.names)]
    table = _extended(pos, [*senses.values()], _senses_of(free, pos, lexicon), lexicon)
    return SenseTable(table, senses, names)


def _senses_of(forms: Iterable[WordForms], pos: Pos, lexicon: Lexicon) -> list[int]:
    """List all senses of words, the most frequent senses first."""
    lemmas = dict.fromkeys(lemma for form in forms for lemma in form.lemmas)
    return list(dict.fromkeys(sense for each in lemmas for sense in lexicon.senses(each, pos)))


def _closest(pos: Pos, meanings: Mapping[str, Sequence[int]], lexicon: Lexicon) -> dict[str, str]:
    """Choose each word's sense: rated, else near a rated sense, else the most frequent."""
    rated = [lexicon.find(sense) for sense in _rated(pos).names]
    numbers = sorted({number for few in meanings.values() for number in few})
    near = (_nearness(pos, numbers, rated, lexicon) > 0).sum(axis=1)
    rank = {number: 1 if near[row] else 2 for row, number in enumerate(numbers)}
    rank |= {number: 0 for number in rated if number is not None}
    return {
        word: lexicon.names[min(few, key=rank.__getitem__)] for word, few in meanings.items() if few
    }


def read_tables(
    sources: Sequence[Path | str],
    synsets: Mapping[str, Path] | None = None,
    scale: float | None = None,
) -> dict[str, Any]:
    """Read verb and object tables, as arguments of :func:`diaghoi.semantic.evaluate`.

    Parameters
    ----------
    sources : sequence of two
        Files, or names of tables to create for the words: "own" or "wordnet".
    synsets : mapping of str to pathlib.Path, optional
        The files ``verb_synsets`` and ``object_synsets``, if any.
    scale : float, optional
        Highest score of the scale in the files.

    Raises
    ------
    InputError
        If the file cannot be used.
    """
    read: dict[str, Any] = {}
    for kind, source in zip(("verb", "object"), sources, strict=True):
        made = isinstance(source, str)
        read[f"{kind}s"] = source if made else read_similarity(source, scale=scale)
        if senses := (synsets or {}).get(f"{kind}_synsets"):
            read[f"{kind}_senses"] = read_senses(senses)
    return read


@cache
def _rated(pos: Pos) -> Similarity:
    """Return the ratings of this package."""
    senses = tuple(term.sense for term in rated_terms(pos))
    row_of = {sense: row for row, sense in enumerate(senses)}
    rows = packaged(f"ratings_of_{KINDS[pos]}.csv")
    first, second = (np.array([row_of[row[at]] for row in rows]) for at in (0, 1))
    score = mean_scores(np.array([row[2:] for row in rows], dtype=np.float64) / HIGHEST)
    values = symmetric(len(senses), first, second, score)
    return Similarity(names=senses, values=values, name=NAME, source=SOURCE)


def _extended(
    pos: Pos, annotated: Iterable[str], candidates: Iterable[int], lexicon: Lexicon
) -> Similarity:
    """Add senses to the ratings; each added sense gets the discounted ratings of nearby senses.

    The candidates are compared only with rated and annotated senses. A candidate that is near no
    rated or annotated sense is omitted.
    """
    rated = _rated(pos)
    number = [lexicon.find(sense) for sense in rated.names]
    size = len(number)
    targets = [*number, *sorted(set(map(lexicon.number, set(annotated) - set(rated.names))))]
    senses = [*targets, *sorted(set(candidates) - set(targets))]
    near = np.eye(len(senses), len(targets))
    near[size:] = np.maximum(near[size:], _nearness(pos, senses[size:], targets, lexicon))
    similar = np.eye(len(targets))
    similar[:size, :size] = rated.values
    values = _best_product(_best_product(near[: len(targets)], similar), near.T)
    values[:, : len(targets)] = np.maximum(values[:, : len(targets)], values[:, : len(targets)].T)
    kept: BoolArray = np.asarray((values > 0).any(axis=0))
    kept[size : len(targets)] = (values[size:] > 0).sum(axis=1) > 1
    names = [*rated.names, *(lexicon.names[sense or 0] for sense in senses[size:])]
    one, other = np.triu(values, 1).nonzero()
    row_of = np.cumsum(kept) - 1
    return Similarity(
        names=tuple(names[row] for row in np.flatnonzero(kept).tolist()),
        values=symmetric(int(kept.sum()), row_of[one], row_of[other], values[one, other]),
        name=NAME,
        source=SOURCE,
    )


def _nearness(
    pos: Pos, senses: Sequence[int | None], targets: Sequence[int | None], lexicon: Lexicon
) -> FloatArray:
    """Return the share, (S, T), of each target's ratings that each sense gets."""
    up, down, mentioned, least = NEARNESS[pos]
    below: dict[int, list[tuple[int, float]]] = {}
    named: dict[str, list[int]] = {}
    for column, target in enumerate(targets):
        if target is None:
            continue
        for higher, steps in distances(target, lexicon).items():
            if higher != ROOT and down**steps >= least:
                below.setdefault(higher, []).append((column, down**steps))
        for word, _ in lexicon.synsets[target][1]:
            named.setdefault(word.lower(), []).append(column)
    near = np.zeros((len(senses), len(targets)))
    for row, sense in zip(near, senses, strict=True):
        if sense is None:
            continue
        for word in tokens(lexicon.definition(sense))[:DEFINING]:
            lemmas = () if word in VAGUE else lexicon.lemmas(word, pos)
            row[[column for lemma in lemmas for column in named.get(lemma, ())]] = mentioned
        for higher, steps in distances(sense, lexicon).items():
            for column, share in below.get(higher, ()):
                if not (steps and share < 1 and lexicon.kinds[higher] > BROAD):
                    row[column] = max(row[column], up**steps * share)
    near[near < least] = 0.0
    return near


def _best_product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Multiply (A, B) and (B, C) like matrices, with the maximum instead of the sum."""
    best = np.zeros((len(one), other.shape[1]))
    for column, row in zip(one.T, other, strict=True):
        part = np.ix_(column.nonzero()[0], row.nonzero()[0])
        best[part] = np.maximum(best[part], np.outer(column[part[0].ravel()], row[part[1].ravel()]))
    return best
