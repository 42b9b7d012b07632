"""Senses of the words of a data set: those chosen by the authors of SHOE, or the most frequent."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib import resources

from diaghoi.language.lexicon import Lexicon, Pos
from diaghoi.language.words import plain, read_object, read_verb


@cache
def hico_synsets() -> dict[str, dict[str, str]]:
    """Synset of each word of HICO-DET: of verbs under "v", of objects under "n"."""
    found: dict[str, dict[str, str]] = {"v": {}, "n": {}}
    table = resources.files("diaghoi.semantic.tables") / "hico_synsets.csv"
    text = table.read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        found["v" if row["kind"] == "verb" else "n"][row["name"]] = row["synset"]
    return found


def annotated_synsets(words: Sequence[str], pos: Pos, lexicon: Lexicon) -> dict[str, str]:
    """Return the synset in which each word of a data set is annotated.

    Parameters
    ----------
    words : sequence of str
        Verbs or objects of the data set.
    pos : {"v", "n"}
        Which of the two.
    lexicon : Lexicon
        Gives the most frequent sense of words that HICO-DET does not have.

    Returns
    -------
    dict of str to str
        Words without a sense are left out, such as ``no_interaction``. Words of HICO-DET have the
        synsets that the authors of SHOE chose.
    """
    chosen = hico_synsets()[pos]
    read = read_verb if pos == "v" else read_object
    found = {}
    for word in words:
        key = plain(word)
        if key == "no_interaction":
            continue
        if key in chosen:
            found[word] = chosen[key]
            continue
        senses = [
            each for lemma in read(word, lexicon).lemmas for each in lexicon.senses(lemma, pos)
        ]
        if senses:
            found[word] = lexicon.names[senses[0]]
    return found
