"""The jobs that are disturbed: what they read, and what they write below ``out``."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.faults import WORDS, Job, rate
from support.rater_server import Model, serving
from support.robustness import CORRUPTIONS, write_study

from diaghoi import simulate
from diaghoi.formats import write, write_pair_lists, write_triplet_lists


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """Let Ctrl-C reach the jobs, also where the tests run in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what the jobs read; do not change it."""
    folder = write_study(tmp_path_factory.mktemp("faults"))
    study = folder / "study.toml"
    study.write_text(study.read_text().replace(str(list(CORRUPTIONS)), '["occlusion"]'))
    rng = np.random.default_rng(1)
    truth = simulate.annotations(60, rng)
    found = simulate.detect(truth, simulate.TWO_STAGE, rng)
    write(folder / "truth.npz", truth)
    write_triplet_lists(folder / "preds.pkl", found)
    write_pair_lists(folder / "pairs.pkl", found)
    (folder / "verbs.txt").write_text("\n".join(WORDS))
    (folder / "images").mkdir()
    for number in range(6):
        pixels = rng.integers(0, 255, (90, 120, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{number}.png")
    return folder


@pytest.fixture(scope="session")
def rater() -> Iterator[str]:
    """Serve a language model that takes its time; give its address."""
    with serving(Model(rate, lambda words, number: {"wait": 0.02})) as model:
        yield f"{model.url},model"


@pytest.fixture
def job(inputs: Path, rater: str, tmp_path: Path) -> Callable[[str], Job]:
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "out").mkdir()
    words = {
        "report": "report preds.pkl --annotations truth.npz --pairs pairs.pkl --json out/r.json "
        "--out out/r.pdf --out out/classes.csv",
        "convert": "convert preds.pkl out/preds.npz --pairs pairs.pkl",
        "corrupt": "robustness corrupt images out/worse --workers 2 "
        "--corruption exposure,occlusion",
        "robustness": "robustness study.toml --cache out/cache --workers 2 "
        "--json out/indices.json --out out/indices.csv",
        "questions": "choice build truth.npz --judge time-sensitive --out out/questions",
        "similarity": f"similarity build --verbs verbs.txt --rater {rater} --out out/verbs.csv "
        "--concurrent 2 --pause 0.01 --yes",
    }
    return lambda name: Job(words[name].split(), tmp_path)
