"""What is fuzzed: every reader, with small right files for it and what a right result is."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image
from support.vcoco import INSTANCES, actions

from diaghoi.choice import replies
from diaghoi.choice.answers import load_answers, read_answers
from diaghoi.choice.people import read_people as read_image_people
from diaghoi.choice.questions import read_questions
from diaghoi.comparison.results import read_result
from diaghoi.comparison.study import read_study
from diaghoi.data.groups import read_groups
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.formats import read, write
from diaghoi.formats.description import vocabulary
from diaghoi.formats.hico_mat import read_image_labels
from diaghoi.formats.pictures import read_picture
from diaghoi.formats.reading import open_file
from diaghoi.formats.text import load_literal
from diaghoi.language.lexicon import load_lexicon
from diaghoi.language.words import read_phrase
from diaghoi.robustness.study import read_robustness_study
from diaghoi.semantic.tables.people import read_human_ratings, read_human_scores
from diaghoi.semantic.tables.rater import read_reply as read_rating
from diaghoi.semantic.tables.similarity import read_similarity
from diaghoi.semantic.tables.words import read_senses, read_terms
from fuzz.code_bases import (
    AGENT_HOI,
    ANNO_LIST,
    BY_IMAGE,
    BY_IMAGE_AND_COLUMN,
    CMD_SE,
    CONVERTED,
    DA_HOI,
    GEN_VLKT,
    GEN_VLKT_NUMPY,
    HOI_A,
    HOI_R1,
    HOI_TRANSFORMER,
    HOIDET,
    ICAN,
    IDN,
    PPDM,
    THID,
    VSGNET,
)
from fuzz.examples import (
    ANNO_BBOX,
    ANNOTATIONS,
    ANSWERS,
    DESCRIPTION,
    DETECTIONS,
    JUDGED,
    JUDGED_INTERACTIONS,
    LABELS,
    MATRIX,
    ONE_A_ROW,
    OPTIONS,
    PAIRS,
    PEOPLE,
    PREDICTIONS,
    PRINTED,
    PUBLISHED,
    QUESTIONS,
    REPLIES,
    RESULTS,
    ROBUSTNESS,
    SENSES,
    SPARSE,
    SQUARE,
    STUDY,
    SWIG,
    SWIG_ROWS,
    TABLE,
    TERMS,
    V_COCO_PAIRS,
    WORDS,
    WORDS_ALONE,
    WORDS_BY_IMAGE,
    columns,
    dense,
    instances,
    listed,
    objects,
)
from fuzz.seeds import (
    Arrays,
    Bytes,
    Json,
    Matlab,
    Pickled,
    Printed,
    Seed,
    Text,
    Torch,
    archive,
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader, which raises AssertionError for a wrong result; seeds are right files."""

    file: str
    seeds: tuple[Seed, ...]
    read: Callable[[Path], object]
    beside: Mapping[str, bytes] | Callable[[Path], None] | None = None
    weight: float = 1.0

    def prepare(self, folder: Path) -> None:
        if callable(self.beside):
            self.beside(folder)
            return
        for name, content in (self.beside or {}).items():
            (folder / name).write_bytes(content)

    def spoilt(self, random: Random) -> bytes:
        return random.choice(self.seeds).spoilt(random)


def check_scenes(path: Path, **options: Any) -> None:
    """Read a file; what it holds must be consistent, and come back from the package's own file."""
    _, scenes = read(path, **options)
    _check_columns(scenes)
    if path.suffix != ".npz" and not options and scenes.vocabulary.known:
        again = path.with_name("again.npz")
        write(again, scenes)
        assert _same(scenes, read(again, dataset=scenes.vocabulary.name)[1])


def _check_columns(scenes: Scenes) -> None:
    boxes, pairs = len(scenes.box_image), len(scenes.pair_human)
    assert len(scenes.names) == len(scenes)
    assert np.isfinite(scenes.box_xyxy).all()
    for places, least, stop in (
        (scenes.box_image, 0, len(scenes)),
        (scenes.pair_human, 0, boxes),
        (scenes.pair_object, -1, boxes),
        (scenes.triplet_pair, 0, pairs),
        (scenes.triplet_verb, 0, len(scenes.vocabulary.verbs)),
    ):
        assert ((places >= least) & (places < stop)).all()
    if scenes.triplet_score is not None:
        assert np.isfinite(scenes.triplet_score).all()


def _same(one: Scenes, other: Scenes) -> bool:
    return (
        np.array_equal(one.names, other.names)
        and np.array_equal(one.box_xyxy, other.box_xyxy)
        and np.array_equal(one.triplet_pair, other.triplet_pair)
        and np.array_equal(one.triplet_verb, other.triplet_verb)
    )


def _read_answers(path: Path) -> None:
    questions = read_questions(path.with_name("questions.json"))
    if load_answers(path) is not None:
        answers = read_answers(path, questions)
        assert len(answers.answers) == len(questions)
        for question, answer in zip(questions.questions, answers.answers, strict=True):
            assert set(answer.picked) <= set(question.options)


def _read_reply(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    for options in (OPTIONS, OPTIONS[:1], [*OPTIONS * 7][:26]):
        found = replies.read_reply(text, options)
        assert list(found.picked) == sorted({*found.picked} & {*range(len(options))})
    read_phrase(text[:2000], load_lexicon())
    assert len(read_rating(text, 3)) == 3


def _read_printed(path: Path) -> None:
    """Read a text; where Python can read it, too, and it has no tuples, the value is the same."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    value = load_literal(text, str(path))
    with suppress(ValueError, SyntaxError):
        assert "(" in text or str(value) == str(ast.literal_eval(text))


def _read_both(path: Path) -> None:
    """Read predictions, and the annotations beside them as a report does."""
    annotations = open_file(path).annotations
    if annotations is not None:
        _check_columns(annotations.load())
    check_scenes(path)


def _read_parts(path: Path) -> None:
    check_scenes(path.parent, dataset="hico-det")


def _read_vcoco(path: Path) -> None:
    check_scenes(path.with_name("vcoco_test.json"), dataset="v-coco")


def _read_folder(path: Path) -> None:
    check_scenes(path.parent, format="hico-detections-mat")


def _other_detections(folder: Path) -> None:
    from scipy.io import savemat

    words = hico_det()
    for n in range(80):
        rows = int((words.class_object == n).sum())
        cells = np.empty((rows, 2), dtype=object)
        cells[:] = [[np.zeros((0, 9))] * 2] * rows
        savemat(folder / f"detections_{n + 1:02d}.mat", {"all_boxes": cells})


def _read_converted(path: Path) -> None:
    check_scenes(path.parent, format="hico-converted-mat")


def _other_converted(folder: Path) -> None:
    from scipy.io import savemat

    empty = np.empty((0, 5), dtype=object)
    for n in range(80):
        savemat(folder / f"detections_{n + 1:02d}.mat", {"all_boxes": empty})


def _read_person(path: Path) -> None:
    read_image_people(path, read_questions(path.with_name("questions.json")))


def _saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _picture(kind: str, **options: Any) -> Bytes:
    stream = io.BytesIO()
    pixels = np.arange(48 * 40 * 3, dtype=np.uint8).reshape(48, 40, 3)
    Image.fromarray(pixels).save(stream, kind, **options)
    return Bytes(stream.getvalue())


def _columnar(name: str) -> Arrays:
    """Return the columns of the package's own file for one of the values above."""
    import pickle
    import tempfile

    value = {"predictions": PREDICTIONS, "annotations": ANNOTATIONS, "results": RESULTS}[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "seed.pkl")
        path.write_bytes(pickle.dumps(value))
        write(path.with_suffix(".npz"), read(path)[1])
        with np.load(path.with_suffix(".npz")) as found:
            return Arrays(dict(found))


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


_COLUMNS = _columnar("predictions")
# Of the same detector, with other images.
_FIRST_PART = archive(dict(_COLUMNS.value) | {"names": np.array(["a.jpg", "b.jpg"])})
_V_COCO = {
    "vcoco_test.json": _bytes(actions()),
    "vcoco_test.ids": b"7\n5\n",
    "instances_vcoco_all_2014.json": _bytes(INSTANCES),
}
_HICO = hico_det()
_DENSE = dense(117, "HICO_test2015_00000001.jpg")
# As RLIP writes it, by the path of the picture.
_DENSE_BY_PICTURE = {"pictures/one.jpg": _DENSE[0]}
_DENSE_V_COCO = dense(25, "COCO_val2014_000000000007.jpg")
_SAME_SIZES = [_DENSE[0], _DENSE[0] | {"filename": "two.jpg"}]

TARGETS: dict[str, Target] = {
    "triplet-lists": Target(
        file="x.pkl",
        seeds=(Pickled(PREDICTIONS), Pickled(ANNOTATIONS)),
        read=check_scenes,
        weight=3,
    ),
    "triplet-lists-json": Target(
        file="x.json", seeds=(Json(PREDICTIONS), Json(ANNOTATIONS)), read=check_scenes
    ),
    "pair-lists": Target(
        file="x.pkl", seeds=(Pickled(PAIRS), Pickled(V_COCO_PAIRS), Json(PAIRS)), read=check_scenes
    ),
    "dense-arrays": Target(
        file="x.pkl",
        seeds=(Pickled(_DENSE), Pickled(columns(_DENSE)), Pickled(_DENSE_V_COCO)),
        read=check_scenes,
        weight=2,
    ),
    "dense-npz": Target(
        file="x.npz",
        seeds=(
            Arrays(objects(_DENSE)),
            Arrays({k: np.array(v) for k, v in columns(_SAME_SIZES).items()}),
            Arrays({"images": np.array(_DENSE, dtype=object)}),
            Pickled(_DENSE_BY_PICTURE),
        ),
        read=check_scenes,
    ),
    "hico-instances": Target(file="x.json", seeds=(Json(instances()),), read=check_scenes),
    "cdn-json": Target(
        file="x.json",
        seeds=(Json(listed("HICO_test2015_", 1, False)), Json(listed("COCO_val2014_", 0, True))),
        read=check_scenes,
    ),
    "swig": Target(
        file="x.json",
        seeds=(Json(SWIG), Json(SWIG_ROWS), Pickled(SWIG_ROWS), Pickled(SWIG)),
        read=lambda path: check_scenes(path, dataset="swig-hoi"),
    ),
    "thid": Target(
        file="x.pkl",
        seeds=(Pickled(THID), Json(THID)),
        read=lambda path: check_scenes(path, dataset="hico-det"),
    ),
    "anno-list": Target(
        file="x.json", seeds=(Json(ANNO_LIST), Pickled(ANNO_LIST)), read=check_scenes
    ),
    "gen-vlkt": Target(
        file="x.json",
        seeds=(
            Printed(GEN_VLKT),
            Printed(GEN_VLKT_NUMPY),
            Printed(GEN_VLKT_NUMPY, bare=True),
            Json(GEN_VLKT),
            Json(GEN_VLKT["preds"]),
            Pickled(GEN_VLKT),
        ),
        read=_read_both,
        weight=2,
    ),
    "ppdm": Target(
        file="x.json", seeds=(Json(PPDM), Pickled(PPDM), Json(HOI_A)), read=check_scenes
    ),
    "hoi-transformer": Target(
        file="x.json",
        seeds=(Json(HOI_TRANSFORMER), Json(HOI_TRANSFORMER, lines=True), Pickled(HOI_TRANSFORMER)),
        read=check_scenes,
    ),
    "hoidet": Target(file="x.json", seeds=(Json(HOIDET), Pickled(HOIDET)), read=check_scenes),
    "cmd-se": Target(
        file="x.pkl", seeds=(Pickled(CMD_SE), Pickled(CMD_SE["gts"])), read=_read_both
    ),
    "ican": Target(file="x.pkl", seeds=(Pickled(ICAN),), read=check_scenes),
    "hoi-r1": Target(file="x.json", seeds=(Json(HOI_R1),), read=check_scenes),
    "agent-hoi": Target(file="x.json", seeds=(Json(AGENT_HOI),), read=check_scenes),
    "da-hoi": Target(
        file="x.pkl", seeds=(Pickled(DA_HOI), Torch(DA_HOI)), read=check_scenes, weight=2
    ),
    "hico-converted-mat": Target(
        file="detections_02.mat",
        seeds=(Matlab({"all_boxes": CONVERTED}),),
        read=_read_converted,
        beside=_other_converted,
        weight=0.05,
    ),
    "vsgnet": Target(file="x.pkl", seeds=(Pickled(VSGNET),), read=check_scenes),
    "idn": Target(file="x.pkl", seeds=(Pickled(IDN),), read=check_scenes, weight=0.5),
    "by-image": Target(
        file="x.json",
        seeds=(Json(BY_IMAGE), Pickled(BY_IMAGE), Json(BY_IMAGE_AND_COLUMN)),
        read=check_scenes,
    ),
    "words": Target(
        file="x.jsonl",
        seeds=(
            Json(WORDS, lines=True),
            Json(WORDS),
            Json(WORDS_ALONE, lines=True),
            Json(WORDS_BY_IMAGE),
        ),
        read=check_scenes,
    ),
    "v-coco-results": Target(
        file="x.pkl", seeds=(Pickled(RESULTS), Json(RESULTS)), read=check_scenes, weight=2
    ),
    "v-coco": Target(
        file="vcoco_test.json", seeds=(Json(actions()),), read=_read_vcoco, beside=_V_COCO
    ),
    "v-coco-instances": Target(
        file="instances_vcoco_all_2014.json",
        seeds=(Json(INSTANCES),),
        read=_read_vcoco,
        beside=_V_COCO,
    ),
    "v-coco-ids": Target(
        file="vcoco_test.ids", seeds=(Text("7\n5\n"),), read=_read_vcoco, beside=_V_COCO, weight=0.3
    ),
    "anno-bbox": Target(file="x.mat", seeds=(Matlab(ANNO_BBOX),), read=check_scenes),
    "hico-detections": Target(
        file="detections_02.mat",
        seeds=(Matlab({"all_boxes": [[DETECTIONS, DETECTIONS[:0]]] * 2}),),
        read=_read_folder,
        beside=_other_detections,
        weight=0.05,
    ),
    "image-labels": Target(
        file="anno.mat", seeds=(Matlab(LABELS),), read=read_image_labels, weight=0.5
    ),
    "columnar": Target(
        file="x.npz",
        seeds=(_COLUMNS, _columnar("annotations"), _columnar("results")),
        read=check_scenes,
        weight=2,
    ),
    "parts": Target(
        file="000002.npz",
        seeds=(_COLUMNS,),
        read=_read_parts,
        beside={"000001.npz": _FIRST_PART},
        weight=0.5,
    ),
    "description": Target(
        file="x.toml", seeds=(Text(DESCRIPTION),), read=lambda path: vocabulary(str(path))
    ),
    "class-matrix": Target(
        file="corre_hoia.npy",
        seeds=(Bytes(_saved(np.array([[0, 1], [1, 1]]))),),
        read=lambda path: vocabulary(str(path.with_name("x.toml"))),
        beside={"x.toml": MATRIX.encode()},
        weight=0.5,
    ),
    "study": Target(file="x.toml", seeds=(Text(STUDY),), read=read_study),
    "robustness-study": Target(
        file="x.toml",
        seeds=(Text(ROBUSTNESS),),
        read=lambda path: list(read_robustness_study(path).runs()),
    ),
    "saved-result": Target(
        file="x.json",
        seeds=(Json({"oracles": {}, "map": {"full": 0.5}, "errors": {"action": 3}}),),
        read=read_result,
        weight=0.3,
    ),
    "groups": Target(
        file="x.json",
        seeds=(Json({"unseen": [1, "ride bicycle"]}), Json({"a": [1], "b": ["hug cat", 600]})),
        read=lambda path: read_groups(path, _HICO),
    ),
    "similarity-csv": Target(file="x.csv", seeds=(Text(TABLE),), read=read_similarity),
    "similarity-npz": Target(
        file="x.npz", seeds=(Arrays(SPARSE), Arrays(SQUARE)), read=read_similarity
    ),
    "ratings": Target(file="x.csv", seeds=(Text(PEOPLE), Text(ONE_A_ROW)), read=read_human_ratings),
    "judgements": Target(
        file="x.csv", seeds=(Text(JUDGED), Text(JUDGED_INTERACTIONS)), read=read_human_scores
    ),
    "senses": Target(file="x.csv", seeds=(Text(SENSES),), read=read_senses, weight=0.5),
    "terms": Target(
        file="x.csv", seeds=(Text(TERMS),), read=lambda path: read_terms(path, "v", load_lexicon())
    ),
    "questions": Target(file="x.json", seeds=(Json(QUESTIONS),), read=read_questions, weight=2),
    "answers": Target(
        file="x.jsonl",
        seeds=(Json(ANSWERS, lines=True), Json(ANSWERS), Json(PUBLISHED)),
        read=_read_answers,
        beside={"questions.json": _bytes(QUESTIONS)},
        weight=2,
    ),
    "image-people": Target(
        file="x.json",
        seeds=(
            Json(dict.fromkeys(QUESTIONS, "multi")),
            Json({"single": list(QUESTIONS), "multi": []}),
            Text("".join(f"{name},{n}\n" for n, name in enumerate(QUESTIONS, 1))),
            Json(ANNOTATIONS),
        ),
        read=_read_person,
        beside={"questions.json": _bytes(QUESTIONS)},
    ),
    "replies": Target(
        file="reply.txt", seeds=tuple(Text(reply * n) for reply in REPLIES for n in (1, 3)),
        read=_read_reply, weight=3,
    ),
    "literals": Target(
        file="x.txt", seeds=tuple(map(Text, PRINTED)), read=_read_printed, weight=2
    ),
    "pictures": Target(
        file="x.png",
        seeds=(_picture("PNG"), _picture("JPEG"), _picture("JPEG", progressive=True)),
        read=read_picture,
    ),
}  # fmt: skip
