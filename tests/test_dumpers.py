"""What the dumpers keep of each code base is what comes back from the file.

The objects here have the names, shapes and order of those in the evaluation loops of UPT, PViC,
QPIC, CDN and GEN-VLKT.
"""

from __future__ import annotations

import ast
import pickle
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import diaghoi
from diaghoi import PredictionWriter, Scenes
from diaghoi.data.vocabulary import hico_det

DUMPERS = Path(__file__).resolve().parents[1] / "examples" / "dumpers"
NAMES = ("cdn", "gen_vlkt", "pvic", "qpic", "upt")
WORDS = hico_det()
NO_INTERACTION = WORDS.verbs.index("no_interaction")

if not DUMPERS.is_dir():
    pytest.skip("the examples are not installed with the package", allow_module_level=True)


class Tensor:
    """The part of a tensor that the dumpers and the package may use."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.values[key])

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> SimpleNamespace:
        return SimpleNamespace(numpy=lambda: self.values)

    def sigmoid(self) -> Tensor:
        return Tensor(sigmoid(self.values))

    def tolist(self) -> Any:
        return self.values.tolist()


class Module:
    """A module that calls its hooks, as those of PyTorch do."""

    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def register_forward_hook(self, hook: Any) -> None:
        self.hooks.append(hook)

    def __call__(self, returned: Any) -> None:
        for hook in self.hooks:
            hook(self, (), returned)


def sigmoid(values: Any) -> np.ndarray:
    return (1 / (1 + np.exp(-np.asarray(values)))).astype(np.float32)


def dumper(name: str) -> Any:
    spec = spec_from_file_location(f"dumper_{name}", DUMPERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def triplets(scenes: Scenes) -> dict[Any, tuple[float, float]]:
    """Give the scores of each triplet: image, boxes, object and verb."""
    assert scenes.triplet_action_score is not None
    box = [tuple(row) for row in scenes.box_xyxy.tolist()]
    found = {}
    for row, (pair, verb) in enumerate(zip(scenes.triplet_pair, scenes.triplet_verb, strict=True)):
        human, other = scenes.pair_human[pair], scenes.pair_object[pair]
        assert scenes.box_label[human] == 0
        image = str(scenes.names[scenes.triplet_image[row]])
        key = (image, box[human], box[other], int(scenes.box_label[other]), int(verb))
        assert key not in found
        found[key] = (float(scenes.scores[row]), float(scenes.triplet_action_score[row]))
    return found


def pairs(scenes: Scenes) -> set[Any]:
    """Give the pairs that the detector lists: boxes, object and score."""
    assert scenes.pair_score is not None
    box = [tuple(row) for row in scenes.box_xyxy.tolist()]
    columns = zip(scenes.pair_human, scenes.pair_object, scenes.pair_score, strict=True)
    return {
        (box[human], box[other], int(scenes.box_label[other]), float(score))
        for human, other, score in columns
        if not np.isnan(score)
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_piece_is_short(name: str) -> None:
    assert {path.stem for path in DUMPERS.glob("*.py")} == set(NAMES)
    text = (DUMPERS / f"{name}.py").read_text()
    end = ast.parse(text).body[0].end_lineno
    assert sum(bool(line.strip()) for line in text.splitlines()[end:]) <= 25


# Two people and a bicycle (1) in an image of 200 x 100 that the network saw at 400 x 200.
BOXES = np.array([[20, 40, 120, 160], [200, 40, 280, 180], [100, 80, 220, 180]], dtype=np.float32)
PIXELS = [(10.0, 20.0, 59.0, 79.0), (100.0, 20.0, 139.0, 89.0), (50.0, 40.0, 109.0, 89.0)]
LABELS = [0, 0, 1]
PAIRS = [(0, 1), (0, 2), (1, 0), (1, 2)]
BOX_SCORES = np.array([0.9, 0.8, 0.7], dtype=np.float32)
DATASET = SimpleNamespace(filename=lambda i: f"{i}.jpg", image_size=lambda i: (200, 100))


def two_stage() -> tuple[np.ndarray, np.ndarray]:
    """Give the logits (P, 117) of the pairs, and their priors (P, 117), 0 for impossible verbs."""
    logits = np.random.default_rng(0).normal(size=(4, 117)).astype(np.float32)
    prior = np.zeros((2, 4, 117), dtype=np.float32)
    for number, (human, other) in enumerate(PAIRS):
        verbs = WORDS.class_verb[WORDS.class_object == LABELS[other]]
        prior[0, number, verbs], prior[1, number, verbs] = BOX_SCORES[[human, other]] ** 2.8
    return logits, prior


def expected_two_stage(name: str, action: np.ndarray, score: np.ndarray) -> dict[Any, Any]:
    return {
        (name, PIXELS[human], PIXELS[other], LABELS[other], verb): (
            float(score[number, verb]),
            float(action[number, verb]),
        )
        for number, (human, other) in enumerate(PAIRS)
        for verb in np.flatnonzero(score[number]).tolist()
    }


def pass_forward(name: str, module: Module, count: int) -> dict[str, Tensor]:
    """Run the hooked module on the first pairs, and return what the network does."""
    logits, prior = (part[..., :count, :] for part in two_stage())
    chosen = np.array(PAIRS)[:count]
    objects = np.array(LABELS)[chosen[:, 1]]
    row, verb = np.nonzero(prior.prod(axis=0))
    score = (sigmoid(logits) * prior.prod(axis=0))[row, verb]
    output = {"boxes": BOXES, "scores": score, "labels": verb, "objects": objects[row]}
    output |= {"pairing": chosen[row].T if name == "upt" else chosen[row], "size": [200, 400]}
    if name == "upt":
        lists = ([Tensor(part)] for part in (prior, *chosen.T, objects))
        module((Tensor(logits), *lists, []))
    else:
        module(Tensor(np.stack([logits - 1, logits])))
        output["x"] = row
    return {key: Tensor(value) for key, value in output.items()}


@pytest.mark.parametrize("name", ["upt", "pvic"])
def test_two_stages(tmp_path: Path, name: str) -> None:
    piece, module = dumper(name), Module()
    piece.keep(module)
    with PredictionWriter(tmp_path / "preds.npz", top=10_000) as writer:
        for image, count in ((7, len(PAIRS)), (8, 0)):
            output = pass_forward(name, module, count)
            piece.dump(writer, DATASET, image, output, module)
    logits, prior = two_stage()
    action = sigmoid(logits)
    score = action * prior.prod(axis=0)
    scenes = diaghoi.read_predictions(tmp_path / "preds.npz")
    assert scenes.names.tolist() == ["7.jpg", "8.jpg"]
    assert scenes.box_image.tolist() == [0, 0, 0]
    assert triplets(scenes) == expected_two_stage("7.jpg", action, score)
    real = np.arange(117) != NO_INTERACTION
    assert pairs(scenes) == {
        (PIXELS[h], PIXELS[o], LABELS[o], float(score[number, real].max()))
        for number, (h, o) in enumerate(PAIRS)
    }


def queries(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Draw what the post-processors of one-stage detectors have in common: human boxes first."""
    corner = rng.integers(0, 100, (2 * count, 2))
    boxes = np.hstack([corner, corner + rng.integers(5, 100, corner.shape)]).astype(np.float32)
    labels = np.concatenate([np.zeros(count, dtype=int), rng.integers(1, 80, count)])
    ids = np.arange(2 * count)
    return {"labels": labels, "boxes": boxes, "sub_ids": ids[:count], "obj_ids": ids[count:]}


def tensors(row: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {key: Tensor(value) for key, value in row.items()}


@pytest.mark.parametrize("name", ["qpic", "cdn"])
def test_one_stage(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(1)
    files = [
        "HICO_test2015_00000004.jpg",
        "HICO_test2015_00000009.jpg",
        "HICO_test2015_00000012.jpg",
    ]
    dataset = SimpleNamespace(annotations=[{"file_name": file} for file in files])
    logits = rng.normal(size=(3, 5, 117)).astype(np.float32)
    action = sigmoid(logits)
    rows = [queries(rng, 5) for _ in files]
    for number, row in enumerate(rows):
        row["verb_scores"] = action[number] * rng.random((5, 1)).astype(np.float32)
    piece = dumper(name)
    with PredictionWriter(tmp_path / "preds.npz") as writer:
        for batch in (slice(0, 2), slice(2, 3)):
            results = [tensors(row) for row in rows[batch]]
            outputs = {"pred_verb_logits": Tensor(logits[batch])}
            if name == "qpic":
                targets = [{"id": number} for number in range(3)][batch]
                piece.dump(writer, dataset, targets, outputs, results)
            else:
                piece.dump(writer, [{"filename": file} for file in files[batch]], outputs, results)
    expected = {}
    for number, (file, row) in enumerate(zip(files, rows, strict=True)):
        cells = [
            (row["verb_scores"][query, verb], query, verb)
            for query in range(5)
            for verb in WORDS.class_verb[WORDS.class_object == row["labels"][5 + query]].tolist()
        ]
        for score, query, verb in sorted(cells, reverse=True)[:100]:
            human, other = (tuple(row["boxes"][n].tolist()) for n in (query, 5 + query))
            key = (file, human, other, int(row["labels"][5 + query]), verb)
            expected[key] = (float(score), float(action[number, query, verb]))
    scenes = diaghoi.read_predictions(tmp_path / "preds.npz")
    assert triplets(scenes) == expected
    assert len(pairs(scenes)) == 15


def test_gen_vlkt(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    files = ["HICO_test2015_00000004.jpg", "HICO_test2015_00000009.jpg"]
    classes = list(zip(WORDS.class_verb.tolist(), WORDS.class_object.tolist(), strict=True))
    rows = [queries(rng, 6) for _ in files]
    for row in rows:
        row["hoi_scores"] = rng.random((6, 600)).astype(np.float32)
        row["obj_scores"] = rng.random((6, 81)).astype(np.float32)
    piece, listed = dumper("gen_vlkt"), []
    with PredictionWriter(tmp_path / "preds.npz") as writer:
        targets = [{"filename": file} for file in files]
        listed += piece.dump(writer, classes, targets, [tensors(row) for row in rows])
    (tmp_path / "pairs.pkl").write_bytes(pickle.dumps(listed))
    expected, expected_pairs = {}, set()
    for file, row in zip(files, rows, strict=True):
        cells = [
            (
                row["hoi_scores"][query, number] + np.square(row["obj_scores"][query, label]),
                query,
                number,
            )
            for query in range(6)
            for number, (_, label) in enumerate(classes)
        ]
        boxes = [tuple(box) for box in row["boxes"].tolist()]
        for score, query, number in sorted(cells, reverse=True)[:100]:
            verb, label = classes[number]
            action = float(row["hoi_scores"][query, number])
            expected[file, boxes[query], boxes[6 + query], label, verb] = (float(score), action)
        for query in range(6):
            real = [n for n, (verb, _) in enumerate(classes) if verb != NO_INTERACTION]
            best = float(row["hoi_scores"][query, real].max())
            label = int(row["labels"][6 + query])
            expected_pairs.add((boxes[query], boxes[6 + query], label, best))
    scenes = diaghoi.read_predictions(tmp_path / "preds.npz", pairs=tmp_path / "pairs.pkl")
    assert triplets(scenes) == expected
    assert pairs(scenes) == expected_pairs
