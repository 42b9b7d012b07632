"""The families' protocols against evaluators that are written out as loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from support import evaluators
from support.cases import cases
from support.scenes import VOCABULARY, problems

from diaghoi import PROTOCOLS, diagnose
from diaghoi.data.groups import split_classes
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis import rosetta

EVERY = range(len(VOCABULARY))
INTERACTIONS = np.flatnonzero(VOCABULARY.interacting).tolist()


def found(problem: tuple[Scenes, Scenes], *protocols: Protocol) -> dict[str, dict[str, float]]:
    # An official protocol first, whose overlaps the others may share.
    return rosetta.figures(diagnose(*problem, "hico-det", also=protocols))


def expected(scores: dict[int, float]) -> dict[str, float | None]:
    """Mean of each split over the classes that have a score."""
    means = {}
    for split, members in split_classes(PROTOCOLS["hico-det"], VOCABULARY).items():
        values = [score for hoi, score in scores.items() if members[hoi]]
        means[split] = pytest.approx(np.mean(values), abs=1e-12) if values else None
    return means


def hoiclip(scores: dict[int, float], predictions: Scenes) -> dict[str, float | None]:
    """Means as of GEN-VLKT, but those of rare and non-rare over classes that are predicted."""
    named = {hoi: ap for hoi, ap in scores.items() if hoi in set(predictions.triplet_class)}
    return expected(named) | {"full": expected(scores)["full"]}


def wide(scenes: Scenes) -> Scenes:
    """Widen boxes of a single pixel: what these overlap is nothing in most code bases."""
    boxes = scenes.box_xyxy.copy()
    boxes[:, 2:] = np.where(boxes[:, 2:] - boxes[:, :2] < 2, boxes[:, :2] + 9, boxes[:, 2:])
    return replace(scenes, box_xyxy=boxes)


@cases()
@given(problems())
def test_every_family_finds_what_its_evaluator_finds(problem: tuple[Scenes, Scenes]) -> None:
    problem = wide(problem[0]), wide(problem[1])
    images = evaluators.images_of(*problem)
    every = evaluators.cmd_se(images, EVERY)
    annotated = {row[0] for image in images for row in image.annotated}
    figures = found(problem, *rosetta.FAMILIES.values())
    assert list(figures) == list(rosetta.FAMILIES)
    assert figures["cdn"] == expected(evaluators.cdn(images))
    assert figures["gen-vlkt"] == expected(evaluators.gen_vlkt(images))
    assert figures["hoiclip"] == hoiclip(evaluators.gen_vlkt(images), problem[1])
    assert figures["ppdm"] == expected(evaluators.ppdm(images))
    assert figures["cmd-se"] == expected({hoi: every[hoi] for hoi in annotated})
    assert figures["cmd-se-600"] == expected(every)
    assert figures["cmd-se-520"] == expected({hoi: every[hoi] for hoi in INTERACTIONS})
    assert figures["qahoi"] == expected(evaluators.qahoi(images))


@cases()
@given(problems())
def test_cmd_se_looks_at_the_best_of_each_class(problem: tuple[Scenes, Scenes]) -> None:
    problem = wide(problem[0]), wide(problem[1])
    few = replace(PROTOCOLS["cmd-se-600"], top_of_class=2)
    scores = evaluators.cmd_se(evaluators.images_of(*problem), EVERY, best=2)
    assert found(problem, few) == {"cmd-se-600": expected(scores)}


@cases()
@given(problems())
def test_figures_are_those_of_a_diagnosis_by_the_protocol(problem: tuple[Scenes, Scenes]) -> None:
    figures = found(problem, *rosetta.FAMILIES.values())
    for name, chosen in rosetta.FAMILIES.items():
        assert figures[name] == diagnose(*problem, chosen).mean_ap
