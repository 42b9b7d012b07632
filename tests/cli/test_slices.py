"""``--also slices`` of ``diaghoi report`` and ``diaghoi compare``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from diaghoi import diagnose, read_annotations, read_predictions, simulate
from diaghoi.comparison.slices import slices
from diaghoi.data.attributes import read_tags
from diaghoi.formats import write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sliced")
    rng = np.random.default_rng(2)
    truth = simulate.annotations(24, rng)
    write(folder / "gt.npz", truth)
    for name, detector in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE)):
        write(folder / f"{name}.npz", simulate.detect(truth, detector, rng))
    rows = [f"{name},{'sun' if n % 2 else 'rain'}" for n, name in enumerate(truth.names[:-1])]
    (folder / "tags.csv").write_text("\n".join(["image,weather", *rows]))
    return folder


def test_a_report_in_slices(run, folder: Path) -> None:
    words = ("report", folder / "two.npz", "--annotations", folder / "gt.npz")
    done = run(*words, "--also", f"slices={folder / 'tags.csv'}", "--bootstrap", 100, "--detail")
    assert done.code == 0
    assert "\nSlices, %\n" in done.out
    assert "\nΔmAP per error in slices\n" in done.out
    assert "weather: 1 image without a tag: demo_000024.jpg" in done.err
    saved = run(
        *words, "--also", f"slices={folder / 'tags.csv'}", "--bootstrap", 100, "--json", "-"
    )
    assert saved.code == 0, saved.err
    found = json.loads(saved.out)["slices"]
    assert [each["name"] for each in found["slices"][:2]] == ["rain", "sun"]
    assert found["bootstrap"] == {"resamples": 100, "seed": 0, "confidence": 0.95}
    bounds = found["slices"][0]["models"][0]["intervals"]
    assert len(bounds["map"]) == 2
    assert bounds["delta_map.missed_gt"] is None  # fewer than 30 carry this cost


def test_a_comparison_in_slices(run, folder: Path) -> None:
    words = ("compare", folder / "one.npz", folder / "two.npz", "--annotations", folder / "gt.npz")
    words = (*words, "--also", f"slices={folder / 'tags.csv'}", "--seed", 3)
    done = run(*words, "--table", "slices")
    assert done.code == 0
    assert "\nmAP in slices, %\n" in done.out
    assert "Pair recall" not in done.out
    found = json.loads(run(*words, "--json", "-").out)["slices"]
    truth = read_annotations(folder / "gt.npz")
    expected = slices(
        *(
            diagnose(truth, read_predictions(folder / f"{name}.npz"), label=name)
            for name in ("one", "two")
        ),
        own=read_tags(folder / "tags.csv"),
        attributes=False,
        source=str(folder / "tags.csv"),
        seed=3,
    )
    assert found == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("weather", "--also slices=weather: give 'attributes' or a .csv file with a tag per image"),
        ("none.csv", "none.csv: No such file or directory; check the path"),
    ],
)
def test_what_cannot_be_sliced_by(refuse, folder: Path, given: str, message: str) -> None:
    words = (folder / "two.npz", "--annotations", folder / "gt.npz", "--also", f"slices={given}")
    for command in ("report", "compare"):
        assert message in refuse(command, *words)


@pytest.mark.slow
def test_attributes_and_tags_in_one_table(run, folder: Path) -> None:
    words = (folder / "two.npz", "--annotations", folder / "gt.npz", "--json", "-", "--also")
    by_tags = f"slices={folder / 'tags.csv'}"
    attributes, tags, both = (
        [
            each["attribute"]
            for each in json.loads(run("report", *words, by).out)["slices"]["slices"]
        ]
        for by in ("slices", by_tags, f"slices, {by_tags}")
    )
    assert tags == ["weather", "weather"]
    assert both == tags + attributes


def test_saved_results_cannot_be_sliced(refuse, run, folder: Path, alone: Path) -> None:
    run("report", folder / "two.npz", "--annotations", folder / "gt.npz", "--json", "two.json")
    assert (
        "two.json: is a saved result, but --also slices assigns single predictions to slices"
        in refuse("compare", "two.json", "--also", "slices")
    )


def test_tags_are_not_overwritten(run, folder: Path) -> None:
    tags = folder / "tags.csv"
    words = (folder / "two.npz", "--annotations", folder / "gt.npz", "--also", f"slices={tags}")
    before = tags.read_text()
    assert run("compare", *words, "--out", tags).code == 2
    assert tags.read_text() == before
