"""Files larger than memory: the package's own files are read and examined in blocks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.formats import write

resource = pytest.importorskip("resource", reason="memory can be limited on POSIX systems only")

IMAGES, BOXES, PAIRS, TRIPLETS = 2_400, 2_600, 300, 60


def _scenes(rng: np.random.Generator, boxes: int, pairs: int, triplets: int) -> dict[str, Any]:
    """Draw what a detector lists that keeps all its boxes; every second box is a person."""
    image = np.arange(IMAGES)
    corner = rng.integers(0, 300, (IMAGES * boxes, 2)).astype(float)
    label = rng.integers(0, 80, IMAGES * boxes)
    label[::2] = 0
    human = 2 * np.arange(pairs) + image[:, None] * boxes
    pair = np.arange(triplets) * pairs // triplets + image[:, None] * pairs
    return {
        "vocabulary": hico_det(),
        "names": np.array([f"{number}.jpg" for number in image]),
        "box_image": np.repeat(image, boxes),
        "box_xyxy": np.hstack([corner, corner + rng.integers(1, 200, (len(corner), 2))]),
        "box_label": label,
        "pair_human": human.ravel(),
        "pair_object": human.ravel() + 1,
        "triplet_pair": pair.ravel(),
        "triplet_verb": rng.integers(0, 117, IMAGES * triplets),
    }


def _limited(memory: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python where it may have so many bytes of its own, on one core."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    return subprocess.run(
        [sys.executable, *arguments],
        preexec_fn=limit,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts all memory of a process")
def test_a_file_larger_than_memory_reports_correctly(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = _scenes(rng, BOXES, PAIRS, TRIPLETS)
    scores = {
        "triplet_score": rng.random(len(columns["triplet_pair"])),
        "triplet_action_score": rng.random(len(columns["triplet_pair"])),
        "pair_score": rng.random(len(columns["pair_human"])),
    }
    # Every hundredth image holds what is annotated, so that there is something to find.
    annotated = _scenes(rng, 4, 2, 2)
    shown = np.flatnonzero(annotated["box_image"] % 100 == 0)
    place = annotated["box_image"][shown] * BOXES + shown % 4
    columns["box_xyxy"][place] = annotated["box_xyxy"][shown]
    columns["box_label"][place] = annotated["box_label"][shown]
    predictions, annotations = tmp_path / "predictions.npz", tmp_path / "annotations.npz"
    write(predictions, Scenes(**columns, **scores))
    write(annotations, Scenes(**annotated))

    size = predictions.stat().st_size
    memory = size * 3 // 4
    loading = f"import diaghoi; diaghoi.read_predictions({str(predictions)!r})"
    assert "MemoryError" in _limited(memory, "-c", loading).stderr, "the limit limits nothing"

    command = ["-m", "diaghoi", "report", str(predictions), "--annotations", str(annotations)]
    limited, free = tmp_path / "limited.json", tmp_path / "free.json"
    run = _limited(memory, *command, "--quiet", "--json", str(limited))
    assert run.returncode == 0, run.stderr
    assert _limited(10 * size, *command, "--quiet", "--json", str(free)).returncode == 0
    assert limited.read_bytes() == free.read_bytes()
    found = json.loads(limited.read_text())
    assert sum(found["errors"][label] for label in found["errors"] if label != "missed_gt") > 0
    assert found["pairs"]["recall"] > 0


def _crowd(rng: np.random.Generator, pairs: int) -> dict[str, Any]:
    """Draw one image with very many people on very many bicycles."""
    corner = rng.uniform(0, 900, (2 * pairs, 2))
    return {
        "vocabulary": hico_det(),
        "names": np.array(["crowd.jpg"]),
        "box_image": np.zeros(2 * pairs, dtype=int),
        "box_xyxy": np.hstack([corner, corner + rng.uniform(20, 200, (2 * pairs, 2))]),
        "box_label": np.tile([0, 1], pairs),
        "pair_human": 2 * np.arange(pairs),
        "pair_object": 2 * np.arange(pairs) + 1,
        "triplet_pair": np.arange(pairs),
        "triplet_verb": np.full(pairs, 76),
    }


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts all memory of a process")
def test_one_image_may_hold_very_many_boxes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    # All with all would be 16 million people compared, a gigabyte at once.
    write(tmp_path / "truth.npz", Scenes(**_crowd(rng, 4000)))
    write(tmp_path / "found.npz", Scenes(**_crowd(rng, 4000), triplet_score=rng.random(4000)))
    command = ["-m", "diaghoi", "report", str(tmp_path / "found.npz"), "--force", "--quiet"]
    command += ["--annotations", str(tmp_path / "truth.npz"), "--json", str(tmp_path / "a.json")]
    run = _limited(500_000_000, *command)
    assert run.returncode == 0, run.stderr
    assert sum(json.loads((tmp_path / "a.json").read_text())["errors"].values()) > 4000
    run = _limited(500_000_000, *command, "--memory", "5")
    assert run.returncode == 2
    assert run.stderr.startswith(
        "diaghoi: error: image crowd.jpg: boxes that overlap in the same images: about 6 MB of "
    )
    assert run.stderr.endswith("; give --memory 6 or more\n")
