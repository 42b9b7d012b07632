"""Fit tables of similarity to the words of a data set and the free words of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diaghoi.data.vocabulary import Vocabulary
from diaghoi.language.open_vocabulary import OpenVocabulary
from diaghoi.language.words import plain, verb_words
from diaghoi.semantic.open_fitting import fit_open
from diaghoi.semantic.tables.annotated_senses import annotated_synsets
from diaghoi.semantic.tables.similarity import SYNSET, FittedSimilarity, Similarity, fit

Senses = Mapping[str, str] | None


def fit_to(
    predicted: Vocabulary,
    annotated: Vocabulary,
    verbs: Similarity,
    objects: Similarity,
    verb_senses: Senses = None,
    object_senses: Senses = None,
) -> tuple[FittedSimilarity, FittedSimilarity]:
    """Fit tables of verbs and of objects to the words of annotations and predictions.

    Parameters
    ----------
    predicted, annotated : Vocabulary
        Vocabularies of predictions and annotations; the former may have free words after those of
        the data set.
    verbs, objects : Similarity
        The tables.
    verb_senses, object_senses : mapping, optional
        The name in the table for words of the data set. Where a table names senses and nothing is
        given, words of HICO-DET have the senses that the authors of SHOE chose, and others their
        most frequent one.
    """
    if isinstance(predicted, OpenVocabulary):
        from diaghoi.language.lexicon import load_lexicon

        wordnet = load_lexicon()
        return (
            fit_open(verbs, predicted, "v", wordnet, verb_senses),
            fit_open(objects, predicted, "n", wordnet, object_senses),
        )
    actions = verb_words(annotated)
    return (
        fit(verbs, actions, _senses(verbs, actions, "v", verb_senses)),
        fit(objects, annotated.objects, _senses(objects, annotated.objects, "n", object_senses)),
    )


def _senses(similarity: Similarity, words: Sequence[str], pos: Any, given: Senses) -> Senses:
    """Choose the senses of words where a table names senses and none are given."""
    if given is not None or not any(SYNSET.fullmatch(plain(name)) for name in similarity.names):
        return given
    from diaghoi.language.lexicon import load_lexicon

    found = annotated_synsets(words, pos, load_lexicon())
    # A table may mix words and senses: a word that it lists literally needs no sense.
    return {word: sense for word, sense in found.items() if plain(word) not in similarity.index_of}
