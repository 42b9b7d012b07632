"""The figures of diagnoses on data sets without rare classes, objects or detection scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.figures import complaints
from support.scenes import image, scenes

from diaghoi import diagnose, plots, simulate
from diaghoi.formats.description import vocabulary
from diaghoi.plots.figure import source_of

DESCRIPTION = """
name = "zoo"
objects = ["person", "cat", "ball"]
verbs = ["feed", "throw"]
"""
NAMES = ["pair_recall", "negatives_curve", "action_ap", "oracle_curve"]


def v_coco(number: int) -> plots.Source:
    truth = simulate.v_coco_annotations(30, np.random.default_rng(0))
    return source(truth, simulate.v_coco_detect(truth, np.random.default_rng(number)))


def zoo(folder: Path) -> plots.Source:
    path = folder / "zoo.toml"
    path.write_text(DESCRIPTION, encoding="utf-8")
    words = vocabulary(str(path))
    boxes = [(0, (0, 0, 9, 9)), (1, (10, 0, 19, 9)), (2, (50, 0, 59, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, 0), (0, 2, 1)])], scored=False)
    rows = [(0, 1, 0, 0.9), (0, 1, 1, 0.4), (1, 2, 1, 0.3)]
    found = scenes([image("a.jpg", boxes, rows)], scored=True)
    return source(*(replace(each, vocabulary=words) for each in (truth, found)))


def source(truth: Any, found: Any) -> plots.Source:
    return source_of(diagnose(truth, found, label="a"))


def figure(name: str, *sources: plots.Source) -> Any:
    kind = plots.FIGURES[name]
    models = [
        plots.ModelData(label=f"m{number}", data=kind.data(each))
        for number, each in enumerate(sources)
    ]
    return plots.figure_of(kind, models, plots.SINGLE_COLUMN)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_v_coco(name: str) -> None:
    drawn = figure(name, v_coco(1), v_coco(2))
    assert complaints(drawn) == []
    if name == "pair_recall":
        assert [ax.get_title("left") for ax in drawn.axes] == ["Best pairs", "Pair NMS"]


@pytest.mark.parametrize("name", NAMES)
def test_described_data_sets(name: str, tmp_path: Path) -> None:
    assert complaints(figure(name, zoo(tmp_path))) == []
