"""Similarity of free words to what is annotated, by the sense that comes closest.

Paper 000, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.exceptions import some_of
from diaghoi.language.lexicon import Lexicon, Pos
from diaghoi.language.open_vocabulary import OpenVocabulary
from diaghoi.language.words import WordForms, plain, verb_words
from diaghoi.semantic.tables.annotated_senses import annotated_senses, hico_synsets
from diaghoi.semantic.tables.similarity import SYNSET, Fitted, Similarity, fit


@dataclass(frozen=True, kw_only=True, eq=False)
class Directed(Similarity):
    """Similarity of annotated words, the rows, to predicted ones, the columns.

    Not symmetric: an annotated word has one sense, a predicted one whichever comes closest to it.
    """

    def __post_init__(self) -> None:
        """Skip what only holds for symmetric tables."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenFit(Fitted):
    """A table brought to the words of a data set and to free words.

    ``similarity`` is :class:`Directed`, and its notes list the free words that are similar to
    nothing; ``missing`` and ``ambiguous`` are words of the data set.

    Parameters
    ----------
    closest : (A, W) int array
        For each of the A words of the data set and each of the W predicted ones, the row of the
        table that came closest; -1 where no sense of the word is in the table.
    unknown : tuple of str
        Free words that neither WordNet nor the table has.
    uncovered : tuple of str
        Free words that WordNet has, but no sense of them is in the table.
    """

    closest: IntArray
    unknown: tuple[str, ...]
    uncovered: tuple[str, ...]


def _told(name: str, unknown: Sequence[str], uncovered: Sequence[str]) -> tuple[str, ...]:
    """Say how many free words are similar to nothing, and which."""
    told = [
        (unknown, "predicted words are unknown to WordNet and to the table"),
        (uncovered, "predicted words have no sense in the table"),
    ]
    return tuple(
        f"{len(words)} {what} '{name}' and are similar to nothing: {some_of(words)}"
        for words, what in told
        if words
    )


def fit_open(
    similarity: Similarity,
    vocabulary: OpenVocabulary,
    pos: Pos,
    lexicon: Lexicon,
    senses: Mapping[str, str] | None = None,
) -> OpenFit:
    """Bring a table to the words of a data set and the free words of predictions.

    Parameters
    ----------
    similarity : Similarity
        Its names are words, or senses like ``sit.v.01``.
    vocabulary : OpenVocabulary
        The words.
    pos : {"v", "n"}
        Verbs or objects.
    lexicon : Lexicon
        Gives the senses of words.
    senses : mapping, optional
        Synset of each word of the data set; by default :func:`annotated_senses`.

    Returns
    -------
    OpenFit
        Its table has the numbers of the vocabulary. A predicted word and an annotated one are as
        similar as the closest of the senses of the former to the sense of the latter; words that
        are the same are identical, and so are those that share the annotated sense. In a table of
        words, not of senses, a word that it has stands for itself alone, so that predictions in
        the words of the data set get what numbered ones get.
    """
    base = vocabulary.base
    annotated = verb_words(base) if pos == "v" else base.objects
    readings = vocabulary.verb_forms if pos == "v" else vocabulary.object_forms
    table = _Table(similarity, pos, lexicon)
    if senses is None:
        senses = annotated_senses(annotated, pos, lexicon)
        # A word that the table has is meant as it stands.
        senses = {
            word: name for word, name in senses.items() if plain(word) not in similarity.place
        }
    closed = fit(similarity, annotated, senses)
    sense = [lexicon.find(senses.get(word, word)) for word in annotated]
    rows = [
        table.rows((plain(word), plain(senses.get(word, ""))), () if number is None else (number,))
        for word, number in zip(annotated, sense, strict=True)
    ]
    size = len(annotated)
    candidates, known = _candidates(table, readings, size, pos, lexicon)
    values, closest = _closest(similarity, [each[:1] for each in rows], candidates)
    for row, meant in enumerate(sense):
        if meant is not None:
            values[row, [meant in meanings for meanings in known]] = 1.0
    if not table.of_senses:
        values[:, :size] = 0.0
    values[:, :size] = np.maximum(values[:, :size], _dense(closed.similarity.values))
    words = vocabulary.verbs if pos == "v" else vocabulary.objects
    covered = np.any(values > 0, axis=0).tolist()
    silent = [n for n in range(size, len(words)) if not candidates[n] and not covered[n]]
    unknown = tuple(words[n] for n in silent if not known[n])
    uncovered = tuple(words[n] for n in silent if known[n])
    return OpenFit(
        similarity=Directed(
            names=words,
            values=_square(values, len(words)),
            name=similarity.name,
            source=similarity.source,
            notes=similarity.notes + _told(similarity.name, unknown, uncovered),
        ),
        missing=tuple(word for word, row in zip(annotated, rows, strict=True) if not row),
        closest=closest,
        unknown=unknown,
        uncovered=uncovered,
    )


def _candidates(
    table: _Table, readings: Sequence[WordForms], size: int, pos: Pos, lexicon: Lexicon
) -> tuple[list[list[int]], list[set[int]]]:
    """Rows of the table and synsets that each word may mean; the first ``size`` are annotated."""
    candidates: list[list[int]] = []
    known: list[set[int]] = []
    for number, reading in enumerate(readings):
        forms = (*reading.names, *reading.lemmas)
        named = table.rows(forms, ())
        if not table.of_senses and (named or number < size):
            # A table of words has this very word, or knows no more of it than of an annotated one.
            candidates.append(named)
            known.append(set())
            continue
        meanings = [each for lemma in reading.lemmas for each in lexicon.senses(lemma, pos)]
        candidates.append(table.rows(forms, meanings))
        known.append(set(meanings))
    return candidates, known


class _Table:
    """Rows of a table by word and by synset."""

    def __init__(self, similarity: Similarity, pos: Pos, lexicon: Lexicon) -> None:
        self.of_senses = any(SYNSET.fullmatch(plain(name)) for name in similarity.names)
        self.place = similarity.place
        self._of_synset: dict[int, list[int]] = {}
        chosen = hico_synsets()[pos]
        for row, name in enumerate(map(plain, similarity.names)):
            number = lexicon.find(chosen.get(name, name))
            if number is not None:
                self._of_synset.setdefault(number, []).append(row)

    def rows(self, names: Sequence[str], synsets: Sequence[int]) -> list[int]:
        """Rows that names or synsets stand for, those of the names first."""
        found = [self.place[name] for name in names if name in self.place]
        found += [row for number in synsets for row in self._of_synset.get(number, ())]
        return list(dict.fromkeys(found))


def _closest(
    similarity: Similarity, annotated: list[list[int]], candidates: list[list[int]]
) -> tuple[FloatArray, IntArray]:
    """Highest similarity of each annotated row (A) to the candidates of each word (W)."""
    values = np.zeros((len(annotated), len(candidates)))
    closest = np.full(values.shape, -1, dtype=np.int64)
    covered = [n for n, rows in enumerate(annotated) if rows]
    target = np.array([annotated[n][0] for n in covered], dtype=np.int64)
    for word, rows in enumerate(candidates):
        if rows and covered:
            of = np.array(rows, dtype=np.int64)
            one, other = np.repeat(target, len(of)), np.tile(of, len(target))
            found = similarity.at(one, other).reshape(len(target), len(of))
            best = found.argmax(axis=1)
            values[covered, word] = found[np.arange(len(target)), best]
            closest[covered, word] = of[best]
    return values, closest


def _dense(values: Any) -> FloatArray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _square(values: FloatArray, size: int) -> Any:
    """Put (A, W) into a table of all words; free words are never annotated."""
    from scipy.sparse import coo_array

    row, column = values.nonzero()
    itself = np.arange(len(values), size)
    data = np.concatenate([values[row, column], np.ones(len(itself))])
    places = np.concatenate([row, itself]), np.concatenate([column, itself])
    return coo_array((data, places), shape=(size, size)).tocsr()
