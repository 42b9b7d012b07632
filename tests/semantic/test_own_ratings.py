"""The ratings of this package, and words that they do not have."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.description import vocabulary
from diaghoi.language.lexicon import load_lexicon
from diaghoi.language.open_vocabulary import number_words
from diaghoi.language.words import plain, verb_words
from diaghoi.semantic.fitting import fit_to
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.tables.similarity import FittedSimilarity, Similarity


def fitted(data: Vocabulary, kind: str = "own") -> tuple[FittedSimilarity, FittedSimilarity]:
    return fit_to(data, data, kind, kind)


def similarity(table: Similarity, one: str, other: str) -> float:
    numbers = [np.array([table.names.index(word)]) for word in (one, other)]
    return float(table.at(*numbers)[0])


@pytest.mark.parametrize("name", ["hico-det", "v-coco"])
def test_every_verb_and_object_has_a_rated_sense(name: str) -> None:
    for table in fitted(vocabulary(name)):
        assert table.missing == table.ambiguous == ()
        assert table.similarity.name == "ratings of this package, version 1"
    rated = fitted(vocabulary("hico-det"))[0].table
    senses = fitted(vocabulary(name))[0]
    assert rated is not None
    assert senses.rows is not None
    assert (senses.rows >= 0).all()
    assert senses.table is rated  # nothing was looked up in WordNet


def test_actions_of_v_coco_mean_what_its_roles_are() -> None:
    data = vocabulary("v-coco")
    verbs = fitted(data)[0]
    assert verbs.table is not None
    assert verbs.rows is not None
    sense = {
        word: verbs.table.names[row]
        for word, row in zip(verb_words(data), verbs.rows.tolist(), strict=True)
    }
    assert sense["lay"] == "lie.v.02"
    assert sense["talk_on_phone"] == "call.v.03"
    assert sense["point"] == "point.v.01"
    assert sense["work_on_computer"] == "work_on_computer"


def test_the_values_are_the_means_of_the_ratings(shared: Path) -> None:
    verbs, objects = fitted(vocabulary("hico-det"))
    terms = shared / "data/similarity"
    sense_of = {}
    for line in (terms / "verb_terms.tsv").read_text().splitlines():
        sense, names, _ = line.split("\t")
        sense_of[sense] = names.split(" / ")[0]
    for file, table, word_of in (("verbs", verbs, sense_of), ("objects", objects, {})):
        words = [plain(word) for word in table.similarity.names]
        seen = 0
        with (terms / f"{file}.csv").open() as stream:
            for row in csv.DictReader(stream):
                pair = [word_of.get(row[key], row[key]) for key in "ab"]
                if not set(pair) <= set(words):
                    continue  # of V-COCO alone
                mean = sum(float(row[f"pass_{number}"]) for number in (1, 2, 3)) / 12
                rows = [np.array([words.index(word)]) for word in pair]
                assert table.similarity.at(*rows)[0] == pytest.approx(mean, abs=1e-12)
                seen += 1
        above = np.asarray(table.similarity.values) > 0
        assert seen > 250
        if file == "objects":
            assert (above.sum() - 80) // 2 == seen  # the others are 0


def test_the_examples_of_the_paper() -> None:
    verbs, objects = (table.similarity for table in fitted(vocabulary("hico-det")))
    sigma = Measure().sigma
    names = dict.fromkeys(["clean", "lie_on", "eat", "touch"], "")

    def interaction(one: str, other: str, thing: str) -> float:
        verb = np.array([similarity(verbs, one, other)])
        return float(sigma(verb, np.array([similarity(objects, thing, thing)]))[0])

    assert names
    assert interaction("wash", "clean", "train") == pytest.approx(0.85, abs=0.1)
    assert interaction("sit_on", "eat", "couch") <= 0.5  # wrong
    assert interaction("sit_on", "straddle", "couch") > 0.75


def open_words(verbs: list[str], objects: list[str]) -> tuple[FittedSimilarity, FittedSimilarity]:
    data = vocabulary("hico-det")
    words = number_words(data, verbs, objects, load_lexicon())
    return fit_to(words.vocabulary, data, "own", "own")


def test_a_synonym_has_the_rating_and_other_words_less() -> None:
    verbs, objects = (
        table.similarity for table in open_words(["rinse", "lean_on"], ["aeroplane", "poodle"])
    )
    assert similarity(objects, "airplane", "aeroplane") == 1
    assert similarity(objects, "bus", "aeroplane") == similarity(objects, "bus", "airplane") > 0
    assert 0.5 < similarity(objects, "dog", "poodle") < 1
    assert similarity(objects, "cat", "poodle") < similarity(objects, "dog", "poodle")
    assert 0.5 < similarity(verbs, "wash", "rinse") < 1
    assert similarity(objects, "pizza", "poodle") == 0


@pytest.mark.parametrize(
    ("kind", "rated", "word", "expected"),
    [
        (1, "dog", "poodle", 0.9),  # a kind of dog
        (1, "horse", "stallion", 0.9**2),  # two steps below
        (1, "cat", "poodle", 0.9 * 2 / 3),  # by the rating of cat and dog
        (1, "cup", "teapot", 0.243),
        (1, "bird", "poodle", 0.3188646),
        (1, "snowboard", "snowboarding", 0),  # its definition names one only at the end
        (0, "wash", "rinse", 0.75),
        (0, "clean", "scrub", 0.6),  # the definition of one names the other
        (0, "cut", "manicure", 0.75),  # a kind of a broad one that is rated itself
        (0, "hold", "scrub", 0),  # which are both kinds of "touch", a broad one
    ],
)
def test_other_words_share_in_the_ratings(
    kind: int, rated: str, word: str, expected: float
) -> None:
    tables = open_words(
        ["manicure", "rinse", "scrub"], ["poodle", "snowboarding", "stallion", "teapot"]
    )
    assert similarity(tables[kind].similarity, rated, word) == pytest.approx(expected)


def test_of_the_senses_of_a_word_one_near_a_rated_one_is_chosen() -> None:
    verbs, objects = fitted(vocabulary("swig-hoi"))
    assert {"calming", "circling"} < set(verbs.missing)  # near none
    assert {"couple", "award"} < set(objects.missing)
    # The first two are rated, the third is near a rated one.
    chosen = {"lapping": "lick.v.02", "rubbing": "rub.v.03", "admiring": "admire.v.02"}, {}
    for table, expected in zip((verbs, objects), chosen, strict=True):
        assert table.table is not None
        assert table.rows is not None
        sense = {
            word: table.table.names[row]
            for word, row in zip(table.similarity.names, table.rows.tolist(), strict=True)
        }
        assert {word: sense[word] for word in expected} == expected


def test_words_near_nothing_are_named() -> None:
    verbs, _ = open_words(["frobnicate", "giggle"], ["horse", "horse"])
    notes = " ".join(verbs.similarity.notes)
    assert "unknown to WordNet and to the table" in notes
    assert "frobnicate" in notes
    assert "giggle" in notes
    assert not verbs.similarity.at(np.arange(117), np.full(117, 117)).any()


def test_names_of_the_data_set_mean_their_sense_alone() -> None:
    closed, _ = fitted(vocabulary("hico-det"))
    opened, _ = open_words(["groom"], ["horse"])
    size = len(closed.similarity)
    pairs = np.repeat(np.arange(size), size), np.tile(np.arange(size), size)
    np.testing.assert_array_equal(closed.similarity.at(*pairs), opened.similarity.at(*pairs))


@pytest.mark.parametrize("kind", ["own", "wordnet"])
@pytest.mark.parametrize("name", ["swig-hoi", "hoi-a"])
def test_other_data_sets_are_looked_up_in_wordnet(name: str, kind: str) -> None:
    for table in fitted(vocabulary(name), kind):
        missing = len(table.missing) / len(table.similarity)
        assert missing < 0.3
        assert table.similarity.pairs > 0


def test_another_kind_of_table_is_refused() -> None:
    data = vocabulary("hico-det")
    with pytest.raises(InputError, match=r"'wordnett': not known \(did you mean 'wordnet'\?\)"):
        fit_to(data, data, "wordnett", "own")
    with pytest.raises(InputError, match=r"no synset 'ride\.v\.99'"):
        fit_to(data, data, "own", "own", {"ride": "ride.v.99"})
    verbs, _ = fit_to(data, data, "own", "own", {"ride": "sit.v.01"})
    assert similarity(verbs.similarity, "ride", "sit_on") == 1
    # Other names of a rated synset, and of one that is not rated.
    other = {"ride": "sit_down.v.03", "wash": "lave.v.01"}
    verbs, _ = fit_to(data, data, "own", "own", other)
    assert not verbs.missing
    assert similarity(verbs.similarity, "ride", "sit_on") == 1
