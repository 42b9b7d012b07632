"""The words that a message recommends: pasted into the command, they work."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import vcoco

from diaghoi import simulate
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det, object_numberings
from diaghoi.formats import write_triplet_lists

GIVEN = ("report", "preds.pkl", "--annotations", "gt.pkl")


def recommended(text: str) -> list[tuple[str, str]]:
    return re.findall(r"(--read) ([\w-]+=[^\s;,:)]+)", text)


def files(change: Callable[[Scenes], Scenes] = lambda found: found, images: int = 200) -> None:
    rng = np.random.default_rng(1)
    truth = simulate.annotations(images, rng)
    write_triplet_lists("gt.pkl", truth)
    write_triplet_lists("preds.pkl", change(simulate.detect(truth, simulate.TWO_STAGE, rng)))


def changed(change: Callable[[list[dict[str, Any]]], object]) -> None:
    rows = pickle.loads(Path("preds.pkl").read_bytes())
    change(rows)
    Path("preds.pkl").write_bytes(pickle.dumps(rows))


def test_numbering_of_objects(run) -> None:
    files()
    vocabulary = hico_det()
    number = {"person": 81} | {name: 100 + n for n, name in enumerate(vocabulary.objects[1:])}

    def renumber(rows: list[dict[str, Any]]) -> None:
        for box in (box for row in rows for box in row["predictions"]):
            box["category_id"] = number[vocabulary.objects[box["category_id"]]]

    changed(renumber)
    refused = run(*GIVEN)
    assert refused.code == 2
    ((option, words),) = recommended(refused.err)
    assert words == "objects=NUMBERING"
    again = run(*GIVEN, option, words).err
    assert "--read objects: unknown numbering 'NUMBERING'; known: coco80, coco91" in again


def test_numbering_of_objects_by_the_largest_label(run) -> None:
    files()
    number = {place: number for number, place in object_numberings()["coco91-0"].items()}

    def renumber(rows: list[dict[str, Any]]) -> None:
        for box in (box for row in rows for box in row["predictions"]):
            box["category_id"] = number[box["category_id"]]

    changed(renumber)
    refused = run(*GIVEN, "--read", "objects=coco80")
    assert refused.code == 2
    ((option, words),) = recommended(refused.err)
    assert words == "objects=coco91-0"
    assert run(*GIVEN, option, words).code == 0


@pytest.mark.parametrize(("by", "origin"), [(1, 1), (-1, 0)])
def test_origin_of_boxes(run, by: int, origin: int) -> None:
    files(lambda found: replace(found, box_xyxy=found.box_xyxy + max(by, 0)))
    words = (*GIVEN, "--detail", *(() if by == 1 else ("--read", "origin=1")))
    noted = run(*words)
    assert noted.code == 0
    found = recommended(noted.err)
    assert found == [("--read", f"origin={origin}")]
    again = run(*GIVEN, "--detail", *found[0])
    assert again.code == 0
    assert "pixels (weighted mean)" not in again.err


def test_files_of_v_coco(run, alone: Path) -> None:
    truth = vcoco.write_annotations(alone / "a", places=("b", "c"))
    Path("preds.json").write_text(json.dumps([vcoco.result(hold_agent=0.5)]))
    words = ["report", "preds.json", "--annotations", truth, "--force"]
    for key, file in (
        ("instances", "a/b/instances_vcoco_all_2014.json"),
        ("ids", "a/c/vcoco_test.ids"),
    ):
        refused = run(*words)
        ((option, word),) = recommended(refused.err)
        assert word == f"{key}=FILE"
        assert "FILE: No such file or directory" in run(*words, option, word).err
        words += [option, word.replace("FILE", file)]
    assert run(*words).code == 0


def test_image_of_v_coco(refuse, run, alone: Path) -> None:
    truth = vcoco.write_annotations(alone)
    Path("preds.json").write_text(json.dumps([vcoco.result(None, hold_agent=0.5)]))
    words = ("report", "preds.json", "--annotations", truth)
    ((option, word),) = recommended(run(*words).err)
    assert word == "image-id=ID"
    assert "image" in refuse(*words, option, word)
    assert run(*words, option, word.replace("ID", "7")).code == 0


def test_numbering_of_triplets(run) -> None:
    files(images=300)

    def mix(rows: list[dict[str, Any]]) -> None:
        numbered_from_1 = (row for place, row in enumerate(rows) if place % 3)
        for triplet in (triplet for row in numbered_from_1 for triplet in row["hoi_prediction"]):
            triplet["category_id"] = min(triplet["category_id"] + 1, 116)

    changed(mix)
    refused = run(*GIVEN)
    assert refused.code == 2
    assert recommended(refused.err) == [("--read", "verbs=0"), ("--read", "verbs=1")]
    for option, word in recommended(refused.err):
        again = run(*GIVEN, option, word)
        assert again.code == 0 or "unknown verb 0; verbs of hico-det are numbered 1" in again.err


@pytest.mark.parametrize("origin", [0, 1])
def test_verbs_that_were_read_as_the_next_ones(run, origin: int) -> None:
    files()

    def renumber(rows: list[dict[str, Any]]) -> None:
        for triplet in (triplet for row in rows for triplet in row["hoi_prediction"]):
            triplet["category_id"] = min(max(triplet["category_id"] + origin, 1), 116)

    changed(renumber)
    refused = run(*GIVEN, "--read", f"verbs={1 - origin}")
    assert refused.code == 2
    assert recommended(refused.err) == [("--read", f"verbs={origin}")]
    assert run(*GIVEN, "--read", f"verbs={origin}").code == 0


def test_annotations_of_the_training_set(run) -> None:
    files()
    write_triplet_lists("train.pkl", simulate.annotations(20, np.random.default_rng(7)))
    noted = run(*GIVEN, "--also", "shortcuts", "--detail")
    (words,) = re.findall(r"--also shortcuts=FILE", noted.err)
    again = run(*GIVEN, *words.replace("FILE", "train.pkl").split(), "--detail")
    assert again.code == 0
    assert "--also" not in again.err
