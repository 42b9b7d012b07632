"""Fit similarity tables to the words of a data set and the free words of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import some_of
from diaghoi.language.lexicon import Lexicon, Pos, load_lexicon
from diaghoi.language.open_vocabulary import OpenVocabulary
from diaghoi.language.words import WordForms, plain, verb_words
from diaghoi.semantic.tables.senses import sense_table
from diaghoi.semantic.tables.similarity import SYNSET, FittedSimilarity, FreeWord, Similarity, fit
from diaghoi.semantic.tables.words import annotated_synsets, hico_synsets

Senses = Mapping[str, str] | None


def fit_to(
    predicted: Vocabulary,
    annotated: Vocabulary,
    verbs: Similarity | str,
    objects: Similarity | str,
    verb_senses: Senses = None,
    object_senses: Senses = None,
) -> tuple[FittedSimilarity, FittedSimilarity]:
    """Fit verb and object tables to the words of annotations and predictions.

    Parameters
    ----------
    predicted, annotated : Vocabulary
        Vocabularies of predictions and annotations; in predictions, free words may follow the data
        set's words.
    verbs, objects : Similarity or {"own", "wordnet"}
        The tables; a name stands for a table that is created for the words of the vocabularies
        (:func:`diaghoi.semantic.tables.senses.sense_table`).
    verb_senses, object_senses : mapping, optional
        Names that the tables use for words of the data set. By default, in a table of senses,
        HICO-DET words have the senses chosen by the authors of SHOE, and other words their most
        frequent sense.
    """

    def fitted(
        table: Similarity | str, words: Sequence[str], pos: Pos, senses: Senses
    ) -> FittedSimilarity:
        names: Mapping[str, str] = {}
        if isinstance(table, str):
            forms = _forms(predicted, pos) if isinstance(predicted, OpenVocabulary) else ()
            table, senses, names = sense_table(table, pos, words, forms, annotated.name, senses)
        if isinstance(predicted, OpenVocabulary):
            return fit_open(table, predicted, pos, load_lexicon(), senses, names)
        if senses is None and _has_senses(table):
            senses = _annotated_senses(table, words, pos, load_lexicon())
        return fit(table, words, senses)

    return (
        fitted(verbs, verb_words(annotated), "v", verb_senses),
        fitted(objects, annotated.objects, "n", object_senses),
    )


def _forms(vocabulary: OpenVocabulary, pos: Pos) -> tuple[WordForms, ...]:
    return vocabulary.verb_forms if pos == "v" else vocabulary.object_forms


def _has_senses(similarity: Similarity) -> bool:
    return any(SYNSET.fullmatch(plain(name)) for name in similarity.names)


def _annotated_senses(
    similarity: Similarity, words: Sequence[str], pos: Pos, lexicon: Lexicon
) -> dict[str, str]:
    """Return the annotated synset of each word, except for words that the table itself lists."""
    synsets = annotated_synsets(words, pos, lexicon)
    return {word: name for word, name in synsets.items() if plain(word) not in similarity.index_of}


@dataclass(frozen=True, kw_only=True, eq=False)
class DirectedSimilarity(Similarity):
    """Similarity of annotated words (rows) to predicted words (columns).

    The similarity is not symmetric: an annotated word has one sense, and a predicted word takes the
    closest of its senses.
    """

    def __post_init__(self) -> None:
        """Skip checks that apply only to symmetric tables."""


def fit_open(
    similarity: Similarity,
    vocabulary: OpenVocabulary,
    pos: Pos,
    lexicon: Lexicon,
    senses: Senses = None,
    names: Mapping[str, str] | None = None,
) -> FittedSimilarity:
    """Fit a table to the words of a data set and the free words of predictions.

    Parameters
    ----------
    similarity : Similarity
        Table whose names are words, or senses like ``sit.v.01``.
    vocabulary : OpenVocabulary
        The words.
    pos : {"v", "n"}
        Verbs or objects.
    lexicon : Lexicon
        WordNet, which provides the senses of words.
    senses : mapping, optional
        Synset of each word of the data set; by default the annotated synset.
    names : mapping, optional
        Words with a fixed meaning, and their sense in the table.

    Returns
    -------
    FittedSimilarity
        The table in the result is indexed like the vocabulary and is a :class:`DirectedSimilarity`;
        the notes of the table name the free words that are similar to nothing. A predicted word is
        as similar to an annotated word as its closest sense is to the annotated sense. Equal words
        are identical, as are words that share the annotated sense. In a table of words rather than
        senses, a listed word means only itself, so predictions in the data set's words score the
        same as predictions by class number.
    """
    base = vocabulary.base
    annotated = verb_words(base) if pos == "v" else base.objects
    readings = _forms(vocabulary, pos)
    table = _Table(similarity, pos, lexicon, names or {})
    if senses is None:
        senses = _annotated_senses(similarity, annotated, pos, lexicon)
    closed = fit(similarity, annotated, senses)
    sense = [lexicon.find(senses.get(word, word)) for word in annotated]
    rows = [
        table.rows((plain(word), plain(senses.get(word, ""))), () if number is None else (number,))
        for word, number in zip(annotated, sense, strict=True)
    ]
    size = len(annotated)
    candidates, known = _candidates(table, readings, size, pos, lexicon)
    values = _highest(similarity, rows, candidates)
    for row, synset in enumerate(sense):
        if synset is not None:
            values[row, [synset in synsets for synsets in known]] = 1.0
    # Words of the data set are at least as similar as in the closed-vocabulary table.
    if not table.of_senses:
        values[:, :size] = 0.0
    own = closed.similarity.values
    own = own.toarray() if hasattr(own, "toarray") else own
    values[:, :size] = np.maximum(values[:, :size], own)
    words = vocabulary.verbs if pos == "v" else vocabulary.objects
    covered = np.any(values > 0, axis=0).tolist()
    dissimilar = [n for n in range(size, len(words)) if not candidates[n] and not covered[n]]
    free = []
    for number in range(size, len(words)):
        column, understood = values[:, number], number not in dissimilar
        if not column.any():
            free.append(FreeWord(number, words[number], None, None, 0.0, understood))
            continue
        best = int(column.argmax())
        own = sense[best]
        if own is not None and own in known[number]:
            name = lexicon.names[own]
        else:
            few = np.array(candidates[number], dtype=np.int64)
            close = similarity.at(np.full(len(few), rows[best][0]), few)
            name = similarity.names[few[close.argmax()]]
        named = (name, annotated[best], float(column[best]))
        free.append(FreeWord(number, words[number], *named, understood))
    name, notes = similarity.name, similarity.notes
    for in_wordnet, what in (
        (False, "predicted words are unknown to WordNet and to the table"),
        (True, "predicted words have no sense in the table"),
    ):
        lost = [words[n] for n in dissimilar if bool(known[n]) == in_wordnet]
        if lost:
            notes += (f"{len(lost)} {what} '{name}' and are similar to nothing: {some_of(lost)}",)
    return FittedSimilarity(
        similarity=DirectedSimilarity(
            names=words,
            values=_square(values, len(words)),
            name=name,
            source=similarity.source,
            notes=notes,
        ),
        missing=tuple(word for word, row in zip(annotated, rows, strict=True) if not row),
        free=tuple(free),
    )


def _candidates(
    table: _Table, readings: Sequence[WordForms], size: int, pos: Pos, lexicon: Lexicon
) -> tuple[list[list[int]], list[set[int]]]:
    """List rows and synsets that words may mean; the first ``size`` words are the data set's."""
    candidates: list[list[int]] = []
    known: list[set[int]] = []
    for number, reading in enumerate(readings):
        forms = (*reading.names, *reading.lemmas)
        named = table.rows(forms, ())
        if not table.of_senses and (named or number < size):
            # The table lists this word, or it is a word of the data set, which has only its
            # annotated meaning.
            candidates.append(named)
            known.append(set())
            continue
        synsets = [each for lemma in reading.lemmas for each in lexicon.senses(lemma, pos)]
        candidates.append(table.rows(forms, synsets))
        known.append(set(synsets))
    return candidates, known


class _Table:
    """Rows of a table by word and by synset."""

    def __init__(
        self, similarity: Similarity, pos: Pos, lexicon: Lexicon, named: Mapping[str, str]
    ) -> None:
        self.of_senses = _has_senses(similarity) and not named
        rows = similarity.index_of
        self.index_of = rows | {word: rows[sense] for word, sense in named.items()}
        self._of_synset: dict[int, list[int]] = {}
        chosen = hico_synsets()[pos]
        for row, name in enumerate(map(plain, similarity.names)):
            number = lexicon.find(chosen.get(name, name))
            if number is not None:
                self._of_synset.setdefault(number, []).append(row)

    def rows(self, names: Sequence[str], synsets: Sequence[int]) -> list[int]:
        """Return the table rows of the names, followed by the rows of the synsets."""
        found = [self.index_of[name] for name in names if name in self.index_of]
        found += [row for number in synsets for row in self._of_synset.get(number, ())]
        return list(dict.fromkeys(found))


def _highest(
    similarity: Similarity, annotated: list[list[int]], candidates: list[list[int]]
) -> FloatArray:
    """Find the highest similarity, (A, W), of each annotated row to any candidate of each word."""
    values = np.zeros((len(annotated), len(candidates)))
    covered = [n for n, rows in enumerate(annotated) if rows]
    target = np.array([annotated[n][0] for n in covered], dtype=np.int64)
    for word, rows in enumerate(candidates):
        if rows and covered:
            senses = np.array(rows, dtype=np.int64)
            one, other = np.repeat(target, len(senses)), np.tile(senses, len(target))
            found = similarity.at(one, other).reshape(len(target), len(senses))
            values[covered, word] = found.max(axis=1)
    return values


def _square(values: FloatArray, size: int) -> Any:
    """Extend an (A, W) table to all words; the row of a free word has only the word itself."""
    from scipy.sparse import coo_array

    row, column = values.nonzero()
    itself = np.arange(len(values), size)
    data = np.concatenate([values[row, column], np.ones(len(itself))])
    places = np.concatenate([row, itself]), np.concatenate([column, itself])
    return coo_array((data, places), shape=(size, size)).tocsr()
