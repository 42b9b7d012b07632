"""Free words: how they are numbered, read from files, and compared with what is annotated."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import diagnose
from diaghoi.data.vocabulary import hico_det, swig_hoi, v_coco
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions, recognise
from diaghoi.language.lexicon import Lexicon, load_lexicon
from diaghoi.language.open_vocabulary import number_words, verb_names
from diaghoi.semantic.fitting import fit_open
from diaghoi.semantic.run_evaluation import evaluate
from diaghoi.semantic.tables.similarity import FittedSimilarity, Similarity

LINE: dict[str, Any] = {
    "image": "one.jpg",
    "human_box": [10, 20, 50, 80],
    "object_box": [30, 40, 90, 95],
    "verb": "riding",
    "object": "horses",
    "score": 0.5,
}


BOX: list[float] = [10, 20, 50, 80]
COLUMNS: dict[str, Any] = {
    "h_boxes": [BOX, BOX, BOX],
    "o_boxes": [[30, 40, 90, 95]] * 3,
    "ho_scores": [0.9, 0.5, 0.25],
    "ao_names": [
        "cut_with a/an cell_phone",
        "no_interaction with a/an bicycle",
        "ride a/an bicycle",
    ],
}


@pytest.fixture(scope="session")
def words() -> Lexicon:
    return load_lexicon()


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: dict[str, Any], name: str = "free.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path

    return write


def table(pairs: dict[tuple[str, str], float]) -> Similarity:
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    values = np.eye(len(names))
    for (a, b), value in pairs.items():
        one, other = names.index(a), names.index(b)
        values[one, other] = values[other, one] = value
    return Similarity(names=names, values=values, name="table")


def similarity(fit: FittedSimilarity, annotated: str, predicted: str) -> float:
    names = list(fit.similarity.names)
    places = (np.array([names.index(each)]) for each in (annotated, predicted))
    return float(fit.similarity.at(*places)[0])


def test_words_of_the_data_set_get_its_numbers(words: Lexicon) -> None:
    base = hico_det()
    texts = [*base.verbs, "Riding", "sits on", "sat_on", "talking on", "no interaction"]
    found = number_words(base, texts, ["horse"] * len(texts), words)
    assert found.verb[: len(base.verbs)].tolist() == list(range(len(base.verbs)))
    named = [base.verbs[number] for number in found.verb[len(base.verbs) :]]
    assert named == ["ride", "sit_on", "sit_on", "talk_on", "no_interaction"]
    things = [*base.objects, "hot dogs", "a dining table", "Cell-Phone"]
    found = number_words(base, ["ride"] * len(things), things, words)
    assert found.object[:80].tolist() == list(range(80))
    assert [base.objects[n] for n in found.object[80:]] == ["hot_dog", "dining_table", "cell_phone"]


IRREGULAR = """
blow blown, break broken, buy bought, catch caught, cut cut, drink drunk, drive driven, eat eaten,
feed fed, fly flown, grind ground, hit hit, hold held, light lit, lie lain, lose lost, make made,
pay paid, read read, ride ridden, run run, set set, shear shorn, sit sat, slide slid, spin spun,
stand stood, stick stuck, swing swung, teach taught, throw thrown, wear worn
"""
PARTICIPLES = dict(re.findall(r"(\w+) (\w+)", IRREGULAR))
DOUBLED = "cut drag flip hit hop hug pet run set sit spin stab stir stop tag zip"


def inflected(verb: str, form: str) -> str:
    """Put the first word of a verb into its form in -ing, the third person or the participle."""
    head, *rest = verb.split("_")
    stem = head + head[-1] * (head in DOUBLED.split())
    soft = head[:-1] if head.endswith("e") and not head.endswith("ee") else stem
    if form == "third":
        ends = head.endswith(("s", "x", "z", "ch", "sh"))
        head = f"{head[:-1]}ies" if head in ("carry", "dry", "fly") else head + "es"[1 - ends :]
    elif form == "ing":
        head = {"lie": "lying", "tie": "tying"}.get(head, f"{soft}ing")
    else:
        regular = f"{head[:-1]}ied" if head in ("carry", "dry") else f"{soft}ed"
        head = PARTICIPLES.get(head, regular)
    return " ".join((head, *rest))


def phrases(verb: str, thing: str) -> list[str]:
    """Say an interaction in many forms."""
    name = thing.replace("_", " ")
    several = {"person": "people", "knife": "knives", "scissors": "scissors", "skis": "skis"}.get(
        thing, f"{name}es" if name.endswith(("ch", "s")) else f"{name}s"
    )
    if verb == "no_interaction":
        return [
            f"no_interaction {thing}",
            f"no-interaction-{thing.replace('_', '-')}",
            f"no interaction with a {name}",
            f"A person is not interacting with the {name}.",
            f"the man doesn't interact with the {name}",
            f"There is no interaction between the person and the {name}",
        ]
    ing, third, participle = (inflected(verb, form) for form in ("ing", "third", "participle"))
    return [
        f"{verb} {thing}",
        f"{verb}_{thing}",
        f"{verb}-{thing}".replace("_", "-"),
        f"{verb.replace('_', ' ')} the {name}",
        f"{ing} a {name}",
        f"{ing} {several}",
        f"A person is {ing} the {name}.",
        f"a photo of a person {ing} {thing}",
        f"The man {third} the {name}",
        f"the young woman happily {third} this {name}",
        f"{name} being {participle}",
        f"A {thing} is being {participle} by a person",
        f"the {name} is {participle} by the man.",
    ]


def test_all_classes_are_read_from_phrases_in_many_forms(file: Callable[..., Path]) -> None:
    base = hico_det()
    said = [
        (hoi, phrase)
        for hoi, (verb, thing) in enumerate(zip(base.class_verb, base.class_object, strict=True))
        for phrase in phrases(base.verbs[verb], base.objects[thing])
    ]
    boxes = {key: LINE[key] for key in ("human_box", "object_box", "score")}
    lines = [{"image": f"{n}.jpg", **boxes, "text": phrase} for n, (_, phrase) in enumerate(said)]
    found = read_predictions(file(*lines), dataset="hico-det")
    vocabulary = found.vocabulary
    read = zip(found.triplet_verb, found.box_label[found.pair_object], strict=True)
    wrong = {
        phrase: (vocabulary.verbs[verb], vocabulary.objects[thing])
        for (hoi, phrase), (verb, thing) in zip(said, read, strict=True)
        if (verb, thing) != (base.class_verb[hoi], base.class_object[hoi])
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("eat at the dining table", "eat_at dining_table"),
        ("pay parking_meter", "pay parking_meter"),
        ("stop at the stop sign", "stop_at stop_sign"),
        ("wash train", "wash train"),
        ("train dog", "train dog"),
        ("a man in a park is holding a parking meter", "hold parking_meter"),
        ("two people in the park watching a baseball bat", "watch baseball_bat"),
        ("bicycle ridden by a man", "ride bicycle"),
        ("a cake cut by a woman", "cut cake"),
        ("the horse is ridden on the beach", "ride horse"),
        ("a person being hugged", "hug person"),
        ("A person is hugged by a person.", "hug person"),
        ("a man sits on the bench by a woman", "sit_on bench"),
        ("the man sits by the bench", "sit_by bench"),
        ("the man is seated on the couch", "seat_on couch"),
        ("a person with a light jacket holds a cup", "hold cup"),
        ("walking with a dog in a park", "walk_with dog"),
        ("a hot dog is eaten by a dog", "eat hot_dog"),
    ],
)
def test_phrases_are_read(file: Callable[..., Path], text: str, read: str) -> None:
    line = {key: value for key, value in LINE.items() if key not in ("verb", "object")}
    found = read_predictions(file({**line, "text": text}), dataset="hico-det")
    verb, thing = found.triplet_verb[0], found.box_label[found.pair_object[0]]
    assert f"{found.vocabulary.verbs[verb]} {found.vocabulary.objects[thing]}" == read


def test_other_words_stand_behind_them_and_are_no_class(words: Lexicon) -> None:
    base = hico_det()
    found = number_words(base, ["mounting", "mount", "ride"], ["sofa", "horse", "sofas"], words)
    vocabulary = found.vocabulary
    assert found.verb.tolist() == [117, 117, base.verbs.index("ride")]
    assert found.object.tolist() == [80, base.objects.index("horse"), 80]
    assert vocabulary.verbs[117:] == ("mount",)
    assert vocabulary.objects[80:] == ("sofa",)
    assert len(vocabulary) == 600
    assert (vocabulary.class_of[:80, :117] == base.class_of[:80]).all()
    assert (vocabulary.class_of[80:] == -1).all()
    assert (vocabulary.class_of[:, 117:] == -1).all()
    assert pickle.loads(pickle.dumps(vocabulary)).verbs == vocabulary.verbs


def test_other_data_sets(words: Lexicon) -> None:
    found = number_words(v_coco(), ["cutting", "talk on phone"], ["cake", "phone"], words)
    assert [v_coco().verbs[n] for n in found.verb] == ["cut instr", "talk_on_phone instr"]
    found = number_words(swig_hoi(), ["ride", "riding"], ["horses", "horse"], words)
    assert [swig_hoi().verbs[n] for n in found.verb] == ["riding", "riding"]
    assert [swig_hoi().objects[n] for n in found.object] == ["horse", "horse"]


def test_the_closest_sense_counts(words: Lexicon) -> None:
    found = number_words(hico_det(), ["mount", "touch", "lean on"], ["sofa"] * 3, words)
    senses = table(
        {
            ("ride.v.01", "mount.v.07"): 0.25,
            ("ride.v.01", "hop_on.v.01"): 0.75,
            ("pet.v.01", "touch.v.01"): 0.5,
            ("pet.v.01", "touch.v.05"): 0.1,
        }
    )
    fit = fit_open(senses, found.vocabulary, "v", words)
    assert similarity(fit, "ride", "mount") == 0.75
    assert similarity(fit, "pet", "touch") == 0.5
    assert similarity(fit, "hop_on", "mount") == 1  # the annotated sense itself
    assert similarity(fit, "ride", "ride") == 1
    assert similarity(fit, "ride", "lean_on") == 0
    assert any(
        "1 predicted words have no sense in the table" in note and note.endswith("lean_on")
        for note in fit.similarity.notes
    )


def test_an_annotated_word_has_one_sense_a_predicted_one_all(words: Lexicon) -> None:
    """Of "sit" one sense is that of "ride": sitting is then riding, but riding is not sitting."""
    found = number_words(hico_det(), ["sit on", "ride"], ["horse"] * 2, words)
    fit = fit_open(table({("ride.v.01", "sit.v.01"): 0.5}), found.vocabulary, "v", words)
    assert similarity(fit, "ride", "sit_on") == 1
    assert similarity(fit, "sit_on", "ride") == 0.5


def test_each_word_of_an_object_is_tried(words: Lexicon) -> None:
    things = ["motorcycle handlebar", "sofas", "street sign", "blorp"]
    found = number_words(hico_det(), ["ride"] * 4, things, words)
    fit = fit_open(table({("motorcycle.n.01", "bus.n.01"): 0.5}), found.vocabulary, "n", words)
    assert similarity(fit, "motorcycle", "motorcycle_handlebar") == 1
    assert similarity(fit, "bus", "motorcycle_handlebar") == 0.5
    assert similarity(fit, "couch", "sofas") == 1
    assert similarity(fit, "stop_sign", "street_sign") == 1
    assert any(
        "1 predicted words are unknown to WordNet" in note and note.endswith("blorp")
        for note in fit.similarity.notes
    )


def test_in_a_table_of_words_a_word_stands_for_itself(words: Lexicon) -> None:
    found = number_words(hico_det(), ["sit on", "mount", "lean on"], ["horse"] * 3, words)
    named = table({("ride", "sit_on"): 0.25, ("sit_on", "lean_on"): 0.75, ("ride", "hop_on"): 0.5})
    fit = fit_open(named, found.vocabulary, "v", words)
    assert similarity(fit, "ride", "sit_on") == 0.25
    assert similarity(fit, "sit_on", "lean_on") == 0.75
    assert similarity(fit, "ride", "mount") == 0.5  # by the sense of "hop on"
    assert similarity(fit, "wash", "wash") == 1  # though the table does not have it
    assert "wash" in fit.missing


def test_json_lines_are_read(file) -> None:
    path = file(
        LINE,
        LINE | {"verb": "lean on", "object": "fence", "score": 0.4},
        LINE | {"image": "two.jpg", "score": 0.3},
        LINE | {"score": 0.2, "verb": "hold"},
    )
    assert recognise(path).format == "words"
    found = read_predictions(path)
    words = found.vocabulary
    assert found.names.tolist() == ["one.jpg", "two.jpg"]
    assert [words.verbs[verb] for verb in found.triplet_verb] == ["ride", "lean_on", "hold", "ride"]
    assert [words.objects[n] for n in found.pair_label] == ["horse", "fence", "horse"]
    assert found.triplet_pair.tolist() == [0, 1, 0, 2]
    assert found.scores.tolist() == [0.5, 0.4, 0.2, 0.3]
    assert found.box_xyxy[0].tolist() == [10, 20, 50, 80]
    assert (found.triplet_class >= 0).tolist() == [True, False, True, True]


def test_a_single_line_a_list_and_other_names_of_keys(file, tmp_path: Path) -> None:
    assert len(read_predictions(file(LINE))) == 1
    other = {"filename": "one.jpg", "human": LINE["human_box"]} | {
        key: LINE[key] for key in ("object_box", "verb", "object")
    }
    path = tmp_path / "list.json"
    path.write_text(json.dumps([other]))
    found = read_predictions(path)
    assert found.triplet_score is None
    assert found.triplet_class.tolist() == read_predictions(file(LINE)).triplet_class.tolist()


def test_replies_in_sentences(file) -> None:
    line = {key: LINE[key] for key in ("image", "human_box", "object_box")}
    texts = ("A person riding a horse.", "I see nothing.", "The man is feeding the horse with hay")
    found = read_predictions(file(*({**line, "text": text} for text in texts)))
    verbs = [found.vocabulary.verbs[verb] for verb in found.triplet_verb]
    assert (verbs[0], verbs[2]) == ("ride", "feed")
    assert found.triplet_class[1] == -1
    assert found.notes == (
        f"{found.source}: 1 of 3 replies do not name a verb with an object; they match nothing: "
        "'I see nothing.'",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({**LINE, "verb": ""}, "image 'one.jpg': predictions[1].verb: '' is not a word"),
        ({**LINE, "verb": 3}, "predictions[1].verb: 3 is not a word"),
        ({**LINE, "human_box": [1, 2, 3]}, "human_box: [1, 2, 3] is not four numbers"),
        ({**LINE, "object_box": [5, 5, 1, 9]}, "object_box: the box [5.0, 5.0, 1.0, 9.0] ends"),
        ({**LINE, "score": "high"}, "predictions[1].score: 'high' is not a number"),
        ({**LINE, "score": float("nan")}, "the score is nan"),
        ({k: v for k, v in LINE.items() if k != "score"}, "line 2: score: missing, but given"),
        ({k: v for k, v in LINE.items() if k != "object"}, "the key 'object' is missing"),
        ({"object_bx" if k == "object_box" else k: v for k, v in LINE.items()},
         "line 2: the key 'object_box' is missing (did you mean 'object_bx' or 'object'?)"),
        ({**LINE, "image": 7}, "line 2: image: 7 is not the name of an image"),
    ],
)  # fmt: skip
def test_bad_lines(file, line: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_predictions(file(LINE, line))
    assert message in str(caught.value)


def test_a_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + json.dumps(LINE)[:-5])
    with pytest.raises(InputError, match=r"^\S*cut\.jsonl: line 2: cut off or damaged JSON"):
        read_predictions(path)


def test_free_words_are_no_class_for_exact_matching(file) -> None:
    truth_row = {"bbox": [10, 20, 50, 80], "category_id": 0}
    thing = {"bbox": [30, 40, 90, 95], "category_id": 17}
    ride = {"subject_id": 0, "object_id": 1, "category_id": 77}
    path = file(name="gt.json")
    path.write_text(
        json.dumps(
            [{"file_name": "one.jpg", "annotations": [truth_row, thing], "hoi_annotation": [ride]}]
        )
    )
    truth = read_annotations(path)
    free = [
        LINE | {"verb": "galloping", "score": 0.9},
        LINE | {"object": "unicorn", "score": 0.8},
        LINE | {"human_box": [0, 0, 5, 5], "score": 0.7},
        LINE,
    ]
    mixed, known = (
        read_predictions(file(*lines, name=f"{len(lines)}.jsonl")) for lines in (free, free[2:])
    )
    words = mixed.vocabulary
    tables = [
        Similarity(names=names, values=np.eye(len(names)), name="identity")
        for names in (words.verbs, words.objects)
    ]
    one, other = (evaluate(truth, each, *tables) for each in (mixed, known))
    assert one.standard_map == other.standard_map == 0.5
    assert one.soft_map is not None
    assert other.soft_map is not None
    assert one.soft_map < other.soft_map
    for found in (one, other):
        splits = found.split_figures
        assert splits["soft_map_exact"] == splits["soft_map"]


@pytest.mark.slow
def test_written_in_words_a_detector_is_the_same_detector(shared: Path, tmp_path: Path) -> None:
    """Exact matching, soft mAP and mF1 of real boxes, from numbers and from words."""
    from diaghoi.semantic.tables.similarity import read_similarity

    folder = shared / "conformance"
    truth = read_annotations(folder / "hico_det_diagnosis" / "gt_wo_nointer.pkl")
    found = read_predictions(folder / "hico_det_diagnosis" / "one_stage_preds.pkl")
    # A third of the images says as much as all of them.
    some = np.arange(0, len(found.names), 3)
    found = found.take(some)
    wanted = set(found.names.tolist())
    truth = truth.take(np.flatnonzero([name in wanted for name in truth.names.tolist()]))
    data, path = found.vocabulary, tmp_path / "words.jsonl"
    with path.open("w") as stream:
        for row, pair in enumerate(found.triplet_pair.tolist()):
            human, thing = found.pair_human[pair], found.pair_object[pair]
            line = {
                "image": str(found.names[found.triplet_image[row]]),
                "human_box": found.box_xyxy[human].tolist(),
                "object_box": found.box_xyxy[thing].tolist(),
                "verb": data.verbs[found.triplet_verb[row]],
                "object": data.objects[found.box_label[thing]],
                "score": float(found.scores[row]),
            }
            stream.write(json.dumps(line) + "\n")
    free = read_predictions(path)
    assert diagnose(truth, free).mean_ap == diagnose(truth, found).mean_ap
    tables = [read_similarity(folder / "semantic" / f"{name}.csv") for name in ("verbs", "objects")]
    one, other = (evaluate(truth, each, *tables) for each in (found, free))
    assert other.soft_map == pytest.approx(one.soft_map, abs=1e-12)
    assert other.split_figures["soft_map_exact"] == pytest.approx(
        one.split_figures["soft_map_exact"], abs=1e-12
    )
    assert other.mf1 == pytest.approx(one.mf1, abs=1e-12)
    assert other.miss_rates == one.miss_rates


def by_name(path: Path, **images: Any) -> Path:
    path.write_text(json.dumps({f"HICO_{name}.jpg": image for name, image in images.items()}))
    return path


def test_columns_by_image_name_are_lines(tmp_path: Path) -> None:
    empty: dict[str, list[Any]] = {key: [] for key in COLUMNS}
    path = by_name(tmp_path / "x.json", none=empty, one=COLUMNS)
    assert (recognise(path).format, recognise(path).kind) == ("words", "predictions")
    found = read_predictions(path)
    assert found.names.tolist() == ["HICO_none.jpg", "HICO_one.jpg"]
    assert found.triplet_image.tolist() == [1, 1, 1]
    assert found.scores.tolist() == [0.9, 0.5, 0.25]
    assert found.box_xyxy[found.pair_human].tolist() == [BOX, BOX]
    objects = found.pair_label[found.triplet_pair]
    names = [
        (found.vocabulary.verbs[verb], found.vocabulary.objects[thing])
        for verb, thing in zip(found.triplet_verb, objects, strict=True)
    ]
    nothing = ("no_interaction", "bicycle")
    assert names == [("cut_with", "cell_phone"), nothing, ("ride", "bicycle")]


@pytest.mark.parametrize(
    ("dataset", "text"), [("hico-det", "{} a/an {}"), ("v-coco", "{} a/an cup")]
)
def test_every_name_of_the_benchmark_is_read(dataset: str, text: str, tmp_path: Path) -> None:
    words = hico_det() if dataset == "hico-det" else v_coco()
    if dataset == "hico-det":
        pairs = list(zip(words.class_verb.tolist(), words.class_object.tolist(), strict=True))
        named = [text.format(words.verbs[verb], words.objects[thing]) for verb, thing in pairs]
    else:
        named_verbs = enumerate(verb_names(words))
        pairs = [(number, words.objects.index("cup")) for number, name in named_verbs if name]
        named = [text.format(name) for name in verb_names(words) if name]
    for names in (named, [name.replace("_", " ") for name in named]):
        image = {
            "h_boxes": [BOX] * len(names),
            "o_boxes": [BOX] * len(names),
            "ho_scores": [0.5] * len(names),
            "ao_names": names,
        }
        found = read_predictions(by_name(tmp_path / "x.json", one=image), dataset=dataset)
        things = found.pair_label[found.triplet_pair].tolist()
        assert list(zip(found.triplet_verb.tolist(), things, strict=True)) == pairs


def test_a_name_without_object_is_what_one_person_does_to_another(tmp_path: Path) -> None:
    image = COLUMNS | {"ao_names": ["hugging", "kissing", "hugging a/an person"]}
    path = by_name(tmp_path / "x.json", one=image)
    found = read_predictions(path, dataset="swig-hoi")
    verbs = [found.vocabulary.verbs[verb] for verb in found.triplet_verb]
    assert verbs == ["hugging", "kissing", "hugging"]
    assert {found.vocabulary.objects[thing] for thing in found.pair_label} == {"person"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ho_scores": [0.9]}, "lengths differ: h_boxes 3, o_boxes 3, ho_scores 1, ao_names 3"),
        ({"ho_scores": 0.9}, "image 'HICO_one.jpg': ho_scores: is 0.9; give a list"),
        ({"ho_scores": [0.9, "x", 0.1]}, "image 'HICO_one.jpg': ho_scores[1]: "),
        ({"h_boxes": [BOX, BOX[:3], BOX]}, "image 'HICO_one.jpg': h_boxes[1]: "),
        ({"o_boxes": [BOX, BOX, [9, 9, 1, 1]]}, "image 'HICO_one.jpg': o_boxes[2]: "),
        ({"ao_names": ["ride a/an bicycle", 5, "x"]}, "image 'HICO_one.jpg': ao_names[1]: 5 is no"),
        ({"ao_names": ["ride a/an bicycle", " a/an cup", "x"]}, "ao_names[1]: '' is not a word"),
    ],
)
def test_columns_that_are_wrong_are_named(change, problem, tmp_path) -> None:
    path = by_name(tmp_path / "x.json", two=COLUMNS, one=COLUMNS | change)
    with pytest.raises(InputError) as refusal:
        read_predictions(path)
    assert problem in str(refusal.value)
    path = by_name(tmp_path / "x.json", two=COLUMNS, one=[])
    with pytest.raises(InputError, match=r"'HICO_one\.jpg': is \[\]; give a dict"):
        read_predictions(path)
