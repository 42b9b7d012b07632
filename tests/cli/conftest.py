"""Running the command line: in this process for the dozens, as a program for the essentials."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Outcome, alone_in, call, outcome
from support.desk import lay_out

from diaghoi import simulate
from diaghoi.formats import write, write_pair_lists, write_triplet_lists

BOXES = [
    {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
    {"bbox": [30.0, 40.0, 90.0, 95.0], "category_id": 1},
]
OFFICE = """
name = "office"
objects = ["person", "keyboard", "mug", "document", "phone"]
verbs = ["type on", "drink from", "read", "hold"]
numbers = { objects = 1, verbs = 1 }
annotations = "office_test.json"
"""
RIDE = {"subject_id": 0, "object_id": 1, "category_id": 76}


@dataclass(frozen=True)
class Data:
    annotations: Path
    predictions: Path
    pairs: Path
    columnar: Path


@pytest.fixture(autouse=True)
def alone(tmp_path: Path) -> Iterator[Path]:
    """Run in an empty folder, without the data of whoever runs the tests."""
    with alone_in(tmp_path) as work:
        yield work


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def command(*words: object) -> Outcome:
        capsys.readouterr()
        code = call(*words)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def refuse(run) -> Callable[..., str]:
    """Return a function that runs a command that must fail, and gives its one line."""

    def command(*words: object) -> str:
        before = {path: path.stat().st_mtime_ns for path in sorted(Path().rglob("*"))}
        done = run(*words)
        assert done.code == 2
        assert done.out == ""
        assert done.err.startswith("diaghoi: error: ")
        assert done.err.endswith("\n")
        assert done.err.count("\n") == 1
        assert len(done.err) < 2100  # as long as any message
        assert {path: path.stat().st_mtime_ns for path in sorted(Path().rglob("*"))} == before
        return done.err.removeprefix("diaghoi: error: ").rstrip("\n")

    return command


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outcome]:
    """Return a function that runs a command, in a folder of its own, for all tests of a module."""

    def command(*words: object) -> Outcome:
        with alone_in(tmp_path_factory.mktemp("once")):
            return outcome(*words)

    return command


@pytest.fixture
def program() -> Callable[..., Outcome]:
    def command(*words: object, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "diaghoi", *map(str, words)],
            capture_output=True,
            encoding="utf-8",
            env=os.environ | environment,
            timeout=900,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return command


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Write a simulated data set and the predictions of a simulated detector."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(1)
    truth = simulate.annotations(12, rng)
    found = simulate.detect(truth, simulate.TWO_STAGE, rng)
    files = Data(*(folder / name for name in ("gt.pkl", "preds.pkl", "pairs.pkl", "preds.npz")))
    write_triplet_lists(files.annotations, truth)
    write_triplet_lists(files.predictions, found)
    write_pair_lists(files.pairs, found)
    write(files.columnar, found)
    return files


@pytest.fixture
def truth() -> list[dict[str, Any]]:
    """Two annotated images, as the pickles of the field hold them."""
    return [
        {
            "filename": name,
            "annotations": copy.deepcopy(BOXES),
            "hoi_annotation": [copy.deepcopy(RIDE)],
        }
        for name in ("one.jpg", "two.jpg")
    ]


@pytest.fixture
def found() -> list[dict[str, Any]]:
    return [
        {
            "filename": name,
            "predictions": copy.deepcopy(BOXES),
            "hoi_prediction": [RIDE | {"score": 0.5, "action_score": 0.7}],
        }
        for name in ("one.jpg", "two.jpg")
    ]


@pytest.fixture
def save(alone: Path) -> Callable[[str, Any], Path]:
    """Return a function that pickles a value in the working directory."""

    def write_pickle(name: str, value: Any) -> Path:
        path = alone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(value, protocol=4))
        return path

    return write_pickle


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write files of all data sets, of few images, and of a detector without scores."""
    folder = tmp_path_factory.mktemp("desk")
    lay_out(folder)
    images = pickle.loads((folder / "preds.pkl").read_bytes())
    (folder / "few.pkl").write_bytes(pickle.dumps(images[:5]))
    (folder / "most.pkl").write_bytes(pickle.dumps(images[:15]))
    for image in images:
        image["hoi_prediction"] = [
            {key: triplet[key] for key in ("subject_id", "object_id", "category_id")}
            for triplet in image["hoi_prediction"][:12]
        ]
    (folder / "unscored.pkl").write_bytes(pickle.dumps(images))
    (folder / "office.toml").write_text(OFFICE)
    return folder
