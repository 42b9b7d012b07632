"""The lexicon, and how free text is read."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats.wordnet_extract import build
from diaghoi.language.lexicon import (
    Lexicon,
    load_lexicon,
    pack,
    read_dict,
    unpack,
    using_wordnet,
)
from diaghoi.language.words import read_object, read_phrase, read_verb
from diaghoi.semantic.tables.baselines import baseline
from diaghoi.semantic.tables.rater import read_reply
from diaghoi.semantic.tables.words import Term

LICENCE = "  1 This software and database is being provided to you\n"
NOUNS = """\
00000001 03 n 01 entity 0 001 ~ 00000002 n 0000 | that which exists; "it is"
00000002 05 n 02 dog 0 Domestic_Dog 0 001 @ 00000001 n 0000 | an animal that barks: "the dog"
00000003 06 n 01 dog 1 001 @ 00000001 n 0000 | a hook
00000004 18 n 01 Rex 0 001 @i 00000002 n 0000 | a dog of this name
"""
NOUN_INDEX = """\
dog n 2 1 @ 2 1 00000002 00000003
domestic_dog n 1 1 @ 1 0 00000002
entity n 1 1 ~ 1 1 00000001
rex n 1 1 @i 1 0 00000004
"""
VERBS = '00000009 38 v 02 ride 0 sit 2 000 01 + 02 00 | be carried; "ride a horse"\n'
VERB_INDEX = "ride v 1 0 1 1 00000009\nsit v 1 0 1 1 00000009\n"


@pytest.fixture(scope="session")
def words() -> Lexicon:
    return load_lexicon()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "data.noun": NOUNS,
        "index.noun": NOUN_INDEX,
        "noun.exc": "dogge dog\nmice mouse\n",
        "data.verb": VERBS,
        "index.verb": VERB_INDEX,
        "verb.exc": "rode ride\n",
    }.items():
        (tmp_path / name).write_text((LICENCE if "exc" not in name else "") + text)
    (tmp_path / "LICENSE").write_text("WordNet Release 3.0  \n")
    return tmp_path


def test_a_dict_folder_is_read(folder: Path) -> None:
    found = load_lexicon(folder)
    assert found.names == ("entity.n.01", "dog.n.01", "dog.n.02", "rex.n.01", "ride.v.01")
    assert found.number("domestic_dog.n.01") == found.number("dog.n.01") == 1
    assert found.hypernyms[1] == (0,)
    assert found.definition(1) == "an animal that barks"
    assert found.definition(4) == "be carried"
    assert found.senses("dog", "n") == (1, 2)
    assert found.lemmas("dogge", "n") == ("dog",)
    assert found.lemmas("mice", "n") == ()
    assert str(folder) in found.source


def test_lines_of_spaces_are_passed_over(folder: Path) -> None:
    (folder / "noun.exc").write_text("dogge dog\n\t\n")
    assert load_lexicon(folder).lemmas("dogge", "n") == ("dog",)


def test_the_extract_leaves_individuals_out_and_nothing_else(folder: Path) -> None:
    lexicon = read_dict(folder, individuals=False)
    assert lexicon.synsets == [
        ("n", [("entity", 1)]),
        ("n", [("dog", 1), ("Domestic_Dog", 1)]),
        ("n", [("dog", 2)]),
        ("v", [("ride", 1), ("sit", 1)]),
    ]
    assert len(lexicon.definitions or ()) == 4
    copy = unpack(pack(lexicon))
    for field in ("synsets", "hypernyms", "exceptions"):
        assert getattr(copy, field) == getattr(lexicon, field)


def test_the_extract_is_made_by_its_script(folder: Path, tmp_path: Path) -> None:
    written = build(folder, tmp_path)
    assert [path.name for path in written] == [
        "wordnet30.txt.xz", "wordnet30_glosses.txt.xz", "WORDNET_LICENSE",
    ]  # fmt: skip
    first = [path.read_bytes() for path in written]
    assert first == [path.read_bytes() for path in build(folder, tmp_path)]
    assert first[2] == b"WordNet Release 3.0\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.verb", None, "No such file"),
        ("index.noun", "dog n 2 1 @ 2 1 00000003\n", "do not fit WordNet's layout"),
        ("data.noun", "rubbish\n", "do not fit WordNet's layout"),
        ("data.noun", "00000001 03 n 00 000 | nothing\n", "do not fit WordNet's layout"),
    ],
)
def test_a_folder_that_is_none_of_wordnets(folder: Path, name, content, message) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_lexicon(folder)


def test_a_folder_holds_within_its_context(tmp_path: Path) -> None:
    usual = load_lexicon()
    with using_wordnet(None):
        assert load_lexicon() is usual
    with using_wordnet(tmp_path):
        with pytest.raises(InputError, match="`wordnet` needs WordNet's dict folder"):
            load_lexicon()
        with using_wordnet(None), pytest.raises(InputError, match="`wordnet`"):
            load_lexicon()
    assert load_lexicon() is usual


def test_the_lexicon_of_the_package(words: Lexicon) -> None:
    assert len(words.names) == 88_138
    assert len(set(words.names)) == len(words.names)
    assert words.definition(words.number("sit.v.01")) == "be seated"
    assert words.names[words.number("sofa.n.01")] == "sofa.n.01"
    assert words.number("couch.n.01") == words.number("sofa.n.01")
    # Numbers of senses may have any length.
    assert words.find("sit.v.1") == words.find("sit.v.0001") == words.number("sit.v.01")
    assert words.find("sit.v." + "1" * 5000) is None
    with pytest.raises(InputError, match=r"no synset 'sit\.v\.99' \(did you mean 'sit\.v\."):
        words.number("sit.v.99")


def test_the_synsets_of_hico_are_those_of_shoes_authors(shared: Path, words: Lexicon) -> None:
    from diaghoi.data.vocabulary import hico_det
    from diaghoi.semantic.tables.words import annotated_synsets

    data = hico_det()
    for names, pos, file, word, synset in (
        (data.verbs, "v", "matched_verb_synsets_hico_annotated.csv", "original_verb", "synset"),
        (data.objects, "n", "hico_objects_with_synsets.csv", "Object", "Synset"),
    ):
        with (shared / "data" / "shoe" / file).open() as stream:
            theirs = {row[word]: row[synset] for row in csv.DictReader(stream)}
        ours = annotated_synsets(names, pos, words)
        assert {name: theirs.get(name, theirs.get("stop")) for name in ours} == ours
        assert set(names) - set(ours) <= {"no_interaction"}


LEMMAS = {
    "v": {
        "riding": "ride rid", "swinging": "swinge swing", "lying": "lie", "sat": "sit",
        "brushes": "brush", "frobnicate": "",
    },
    "n": {"knives": "knife", "skis": "ski", "glasses": "glasses glass"},
}  # fmt: skip
VERBS_READ = {
    "Riding": ("ride", "ride rid"), "sitting on": ("sit_on", "sit"),
    "picking_up": ("pick_up", "pick_up pick"), "is being held by": ("hold_by", "hold"),
    "happily riding": ("ride", "ride rid"), "texting on": ("text_on", "text"),
    "blorping": ("blorping", ""),
}  # fmt: skip
OBJECTS_READ = {
    "a dining_table": ({"dining_table"}, "dining_table dining table"),
    "hot dogs": ({"hot_dogs", "hot_dog"}, "hot_dog dog"),
    "motorcycle handlebar": ({"motorcycle_handlebar"}, "motorcycle handlebar"),
    "the blorp": ({"blorp"}, ""),
}
PHRASES = {
    "person riding a horse": ("riding", "horse"),
    "A man is sitting on the couch.": ("sitting on", "couch"),
    "The woman holds an umbrella in the rain": ("holds", "umbrella"),
    "ride a horse": ("ride", "horse"),
    "two people carrying a surfboard on the beach": ("carrying", "surfboard"),
    "a boy standing next to a cow": ("standing next to", "cow"),
    "A building with a man jumping over a skateboard": ("jumping over", "skateboard"),
    "I see a person who is feeding the giraffe.": ("feeding", "giraffe"),
    "Sure! The woman holds a cup while standing.": ("holds", "cup"),
    "person talking on a cell phone": ("talking on", "cell phone"),
    **dict.fromkeys(
        ("person walking", "The person is not riding the horse", "no interaction", "horse", "")
    ),
}


@pytest.mark.parametrize(("pos", "word"), [(pos, word) for pos in LEMMAS for word in LEMMAS[pos]])
def test_base_forms(words: Lexicon, word: str, pos) -> None:
    assert words.lemmas(word, pos) == tuple(LEMMAS[pos][word].split())


@pytest.mark.parametrize("text", VERBS_READ)
def test_verbs(words: Lexicon, text: str) -> None:
    found = read_verb(text, words, known=("text",))
    assert (found.name, " ".join(found.lemmas)) == VERBS_READ[text]


@pytest.mark.parametrize("text", OBJECTS_READ)
def test_objects(words: Lexicon, text: str) -> None:
    found = read_object(text, words)
    assert (set(found.names), " ".join(found.lemmas)) == OBJECTS_READ[text]


@pytest.mark.parametrize("text", PHRASES)
def test_phrases(words: Lexicon, text: str) -> None:
    assert read_phrase(text, words) == PHRASES[text]


RATED = {
    (0,): ["The similarity rating is 0."],
    (2,): [" **2** ", "2 out of 4", "<think>1 or 2?</think>\n2", "1 or 2?\n</think>2"],
    (3,): ["3", "3/4", "1: 3"],
    (4,): ["Score: 4", "4.0"],
    (None,): ["-1", "5", "2.5", "3 or 4", "10", "", "I cannot say."],
    (3, 0): ["1: 3\n2: 0", "1. 3\n2) 0\n2) 0"],
    (None, 0): ["2: 0"],
    (None, 1): ["9" * 5000 + ": 3\n2: 1"],
    (None, None): ["<think>\n1: 3\n2: 0", "1: 3\n1: 4\n2: 7", "3\n4"],
}


@pytest.mark.parametrize(
    ("reply", "scores"), [(reply, scores) for scores in RATED for reply in RATED[scores]]
)
def test_replies_of_raters(reply: str, scores: tuple[int | None, ...]) -> None:
    assert tuple(read_reply(reply, len(scores))) == scores


@pytest.mark.parametrize(
    ("one", "other", "path", "wu_palmer"),
    [
        ("dog.n.01", "cat.n.01", 0.2, 0.8571428571428571),
        ("hit.v.01", "slap.v.01", 0.14285714285714285, 0.25),
        ("couch.n.01", "sofa.n.01", 1.0, 1.0),
    ],
)
def test_baselines_are_those_of_nltk(words: Lexicon, one, other, path, wu_palmer) -> None:
    """The figures that the documentation of NLTK shows for WordNet 3.0."""
    terms = [Term(name=name, gloss="", synset=name) for name in (one, other)]
    assert baseline(terms, "path", words).of(one, other) == pytest.approx(path, abs=1e-15)
    assert baseline(terms, "wu-palmer", words).of(one, other) == pytest.approx(wu_palmer, abs=1e-15)


def test_a_term_without_a_sense_has_no_baseline(words: Lexicon) -> None:
    with pytest.raises(InputError, match="'blorp' has no synset in WordNet"):
        baseline([Term(name="blorp", gloss="x")], "path", words)
