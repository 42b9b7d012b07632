"""Objects numbered in another way: found in the file, or named by the annotated boxes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import simulate
from diaghoi.data.vocabulary import object_numberings
from diaghoi.formats import write_triplet_lists

GIVEN = ("preds.pkl", "--annotations", "gt.pkl")
USUAL = {"coco80-1": "coco91", "coco91-0": "coco80"}


def files(numbering: str, *, both: bool) -> None:
    """Write annotations and predictions, of images that fit both numberings or of all."""
    rng = np.random.default_rng(1)
    truth = simulate.annotations(200, rng)
    found = simulate.detect(truth, simulate.TWO_STAGE, rng)
    tables = object_numberings()
    numbers = {place: number for number, place in tables[numbering].items()}
    unfit = [place for place, number in numbers.items() if number not in tables[USUAL[numbering]]]
    images = np.arange(len(truth))
    if both:
        images = np.setdiff1d(images, found.box_image[np.isin(found.box_label, unfit)])
    write_triplet_lists("gt.pkl", truth.take(images))
    write_triplet_lists("preds.pkl", found.take(images))
    rows = pickle.loads(Path("preds.pkl").read_bytes())
    for box in (box for row in rows for box in row["predictions"]):
        box["category_id"] = numbers[box["category_id"]]
    Path("preds.pkl").write_bytes(pickle.dumps(rows))


def figures(result: dict[str, Any]) -> dict[str, Any]:
    return {key: result[key] for key in ("map", "errors", "oracles", "pairs", "counts")}


@pytest.mark.slow
@pytest.mark.parametrize("numbering", USUAL)
def test_labels_show_the_numbering(run, numbering: str) -> None:
    files(numbering, both=False)
    found = json.loads(run("report", *GIVEN, "--json", "-").out)
    given = json.loads(run("report", *GIVEN, "--json", "-", "--read", f"objects={numbering}").out)
    assert figures(found) == figures(given)
    (note,) = set(found["notes"]) - set(given["notes"])
    person, usual = {"coco80-1": 1, "coco91-0": 0}[numbering], USUAL[numbering]
    assert note.startswith(f"preds.pkl: all human boxes have label {person}, and label ")
    assert note.endswith(f" does not exist in {usual}: objects are numbered as {numbering}")
    done = run("inspect", *GIVEN)
    assert note in done.out
    assert any(
        line.split() == ["objects", "read", "as", numbering] for line in done.out.split("\n")
    )


@pytest.mark.parametrize("numbering", USUAL)
def test_annotated_boxes_name_the_numbering(refuse, run, numbering: str) -> None:
    files(numbering, both=True)
    usual = USUAL[numbering]
    text = (
        f"are close to an annotated object, and that {usual} and {numbering} number differently, "
    )
    hint = f" % would: give --read objects={numbering}"
    told = refuse("report", *GIVEN)
    assert text in told
    assert f"{hint}; give --force to evaluate the predictions anyway" in told
    done = run("inspect", *GIVEN)
    assert text in done.out
    assert hint in done.out
    done = run("report", *GIVEN, "--read", f"objects={numbering}")
    assert done.code == 0
    assert "number differently" not in done.out
    assert hint in refuse("report", *GIVEN, "--read", f"objects={usual}")
