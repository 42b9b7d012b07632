"""Detectors in slices, side by side."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from diaghoi import Diagnosis, InputError, Scenes, diagnose, simulate
from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.comparison.slices import slices
from diaghoi.statistics.slice_figures import FIGURES


def detected(truth: Scenes, label: str, seed: int = 1) -> Diagnosis:
    detector = simulate.TWO_STAGE if label == "A" else simulate.ONE_STAGE
    found = simulate.detect(truth, detector, np.random.default_rng(seed))
    return diagnose(truth, found, label=label)


@pytest.fixture(scope="module")
def truth() -> Scenes:
    return simulate.annotations(60, np.random.default_rng(0))


@pytest.fixture(scope="module")
def pair(truth: Scenes) -> tuple[Diagnosis, Diagnosis]:
    return detected(truth, "A"), detected(truth, "B")


def odd(name: str) -> bool:
    return int(name.removesuffix(".jpg")[-1]) % 2 == 1


def test_slices_of_images_are_diagnoses_of_these_images(truth, pair) -> None:
    found = slices(*pair, own={"odd": odd}, attributes=False, resamples=None)
    (mine,) = found.slices
    images = [row for row, name in enumerate(truth.names.tolist()) if odd(name)]
    for place, each in enumerate(pair):
        (given,) = each.scenes
        alone = diagnose(given[0].take(images), given[1].take(images), each.protocol)
        figures = mine.models[place].figures
        assert figures["map"] == pytest.approx(alone.mean_ap["full"])
        assert figures["pair_recall"] == pytest.approx(alone.pairs["recall"])
        for name, outcome in alone.oracles.items():
            if f"delta_map.{name}" in FIGURES:
                expected = outcome["delta_map"]["full"]
                assert figures[f"delta_map.{name}"] == pytest.approx(expected, abs=1e-12)
        threshold = found.thresholds[place]
        assert figures["f1"] == alone.detections(threshold)["full"]["f1"]
    assert (mine.images, mine.annotated) == (30, alone.counts["annotated_triplets"])
    assert found.everything.models[1].figures["map"] == pair[1].mean_ap["full"]


@pytest.mark.parametrize("labels", ["A", "AB"])
def test_rare_classes_of_the_annotations_alone_are_defined(truth, pair, labels: str) -> None:
    people = simulate.v_coco_annotations(40, np.random.default_rng(0))
    detected = [simulate.v_coco_detect(people, np.random.default_rng(n)) for n in (1, 2)]
    actors = [diagnose(people, each, label=f"V{n}") for n, each in enumerate(detected)]
    said = "Rare: classes with fewer than 10 annotated triplets in these annotations"
    for diagnoses, defined in ((pair, False), (actors, True)):
        found = slices(*diagnoses[: len(labels)], resamples=None)
        assert [each.name for each in found.slices if each.attribute == "rarity"]
        tables = {table.key: table.caption for table in slice_tables(found.to_dict())}
        assert (said in tables["slices"]) == defined
        assert found.to_dict()["rare_below"] == (10 if defined else None)
    without = slices(actors[0], attributes=False, own={"odd": bool}, resamples=None)
    assert "Rare" not in next(slice_tables(without.to_dict())).caption


def test_all_images_have_the_intervals_of_the_bootstrap(truth) -> None:
    mixed = np.random.default_rng(0).permutation(len(truth))
    found = simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(1)).take(mixed)
    diagnosis = diagnose(truth.take(mixed[::-1]), found)
    everything = slices(
        diagnosis, annotations=truth, attributes=False, own={"odd": odd}, resamples=40, search=False
    ).everything
    drawn = diagnosis.bootstrap(40).intervals
    assert everything.models[0].intervals["map"] == pytest.approx(drawn["map.full"])
    assert everything.models[0].intervals["pair_recall"] == pytest.approx(drawn["pairs.recall"])


def test_slices_of_classes_have_the_intervals_of_the_splits() -> None:
    truth = simulate.annotations(300, np.random.default_rng(3))
    diagnosis = detected(truth, "one")
    found = slices(diagnosis, annotations=truth, resamples=40, search=False).slices
    drawn = diagnosis.bootstrap(40).intervals
    both = {each.name: each.models[0].intervals for each in found if each.title == "Class"}
    assert both.keys() == {"rare", "non-rare"}
    for name, intervals in both.items():
        split = name.replace("-", "_")
        assert intervals["map"] == pytest.approx(drawn[f"map.{split}"])
        assert intervals["pair_recall"] == pytest.approx(drawn[f"pairs.{split}.recall"])


def test_differences_are_paired(pair) -> None:
    found = slices(*pair, own={"odd": odd}, attributes=False, resamples=40, deltas=True)
    (mine,) = found.slices
    first, second = (each.figures for each in mine.models)
    for name in FIGURES:
        assert mine.models[1].difference[name] == second[name] - first[name]
        bounds = mine.models[1].difference_intervals[name]
        if bounds is None:  # a cost that few carry
            assert None in (each.intervals[name] for each in mine.models)
            continue
        assert bounds[0] <= mine.models[1].difference[name] <= bounds[1]
    # A detector differs from itself by nothing in any resample.
    twin = replace(pair[0], label="twin")
    (same,) = slices(pair[0], twin, own={"odd": odd}, attributes=False, resamples=40).slices
    assert same.models[1].difference_intervals["map"] == (0, 0)
    low, high = same.models[0].intervals["map"]
    assert low < same.models[0].figures["map"] < high


@pytest.mark.slow
def test_order_of_images_and_parts_do_not_matter(truth, pair) -> None:
    once = slices(*pair, resamples=None).to_dict()
    (given,) = pair[1].scenes
    turned = diagnose(truth.take(np.arange(len(truth))[::-1]), given[1], label="B")
    assert turned.names.tolist() == pair[1].names.tolist()[::-1]
    halves = [
        diagnose(given[0].between(*some), given[1].between(*some), label="B")
        for some in ((0, 20), (20, 60))
    ]
    for other in (turned, halves[0] + halves[1]):
        again = slices(pair[0], other, annotations=truth, resamples=None).to_dict()
        for one, two in zip(once["slices"], again["slices"], strict=True):
            assert one["models"][0] == two["models"][0]
            for kind in ("figures", "difference"):
                assert one["models"][1][kind] == pytest.approx(two["models"][1][kind], abs=1e-12)


def test_small_slices_have_no_intervals(pair) -> None:
    own = {"one": lambda name: name.endswith("7.jpg")}
    found = slices(pair[0], own=own, attributes=False, resamples=10)
    few = found.slices[0]
    assert few.images == 6
    assert few.models[0].intervals == {}
    assert found.everything.models[0].intervals["map"] is not None


def test_map_alone_is_that_of_all_figures(pair) -> None:
    settings = {"own": {"odd": odd}, "attributes": False, "resamples": 10, "search": False}
    every, alone = (slices(*pair, **settings, **more).slices[0] for more in ({}, {"figures": ()}))
    for one, other in zip(alone.models, every.models, strict=True):
        for kind, values in vars(one).items():
            assert values == {name: getattr(other, kind)[name] for name in values}
            assert set(values) <= {"map"}
    assert alone.models[0].intervals["map"] is not None


def test_v_coco_with_pairs_of_one_box() -> None:
    truth = simulate.v_coco_annotations(30, np.random.default_rng(0))
    found = simulate.v_coco_detect(truth, np.random.default_rng(1))
    diagnosis = diagnose(truth, found, label="A")
    sliced = slices(diagnosis, resamples=10)
    keys = {each.attribute for each in sliced.slices}
    assert {"object_box", "people"} <= keys
    assert "time_sensitive" not in keys
    assert sliced.everything.models[0].figures["map"] == diagnosis.mean_ap["full"]


def test_frame_and_tables(pair, monkeypatch: pytest.MonkeyPatch) -> None:
    found = slices(*pair, own={"odd": odd}, attributes=False, resamples=10)
    frame = found.to_frame()
    assert frame["model"].tolist() == ["A", "B", "A", "B"]
    assert frame["name"].tolist() == ["All", "All", "odd", "odd"]
    assert frame["difference_map"].iloc[3] == found.slices[0].models[1].difference["map"]
    assert frame["map_low"].iloc[2] == found.slices[0].models[0].intervals["map"][0]
    tables = list(slice_tables(found.to_dict()))
    assert [table.heading for table in tables] == [
        "mAP in slices, %",
        "Difference in mAP from A in slices, points",
        "Pair recall and F1 in slices, %",
    ]
    assert tables[1].caption.startswith("Intervals: 10 resamples of the images;")
    alone = slices(pair[0], own={"odd": odd}, attributes=False, resamples=10)
    (figures, _) = slice_tables(alone.to_dict())
    assert "Intervals: 10 resamples" in figures.caption
    without = slices(pair[0], own={"odd": odd}, attributes=False, resamples=None)
    (figures, _) = slice_tables(without.to_dict())
    assert "resamples" not in figures.caption
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        found.to_frame()


def test_what_cannot_be_sliced(truth, pair) -> None:
    with pytest.raises(InputError, match="give at least one diagnosis"):
        slices()
    with pytest.raises(InputError, match="has no annotations"):
        slices(replace(pair[0], scenes=()))
    with pytest.raises(InputError, match="different protocols"):
        slices(pair[0], diagnose(*pair[0].scenes[0], "diag-hoi"))
    with pytest.raises(InputError, match="none of its 1 images is annotated"):
        slices(pair[0], own={"x": {"k.jpg": "y"}})
    with pytest.raises(InputError, match="0 resamples"):
        slices(pair[0], resamples=0)
    with pytest.raises(InputError, match=r"figure .f2.: not a number of slices.*pair_recall, f1"):
        slices(pair[0], figures=("f2",))


def test_costs_that_few_of_a_slice_carry_have_no_interval(pair) -> None:
    found = slices(*pair, own={"odd": odd}, attributes=False, resamples=40, deltas=True)
    whole = [each.bootstrap(2).few for each in pair]
    for place, few in enumerate(whole):
        for name, bounds in found.everything.models[place].intervals.items():
            assert (bounds is None) == (
                f"oracles.{name.replace('delta_map.', '')}.delta_map.full" in few
            )
    (mine,) = found.slices
    for name, bounds in mine.models[0].intervals.items():
        # A slice of the images has no more that carries a cost than all of them.
        assert bounds is None or found.everything.models[0].intervals[name] is not None
