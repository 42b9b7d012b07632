"""The registry of numbers, and a number that a user registers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import diaghoi
from diaghoi import Diagnosis, Measure, simulate
from diaghoi.comparison.comparison import compare
from diaghoi.diagnosis.alignment import arranged
from diaghoi.diagnosis.saved import scenes_of
from diaghoi.measures import MEASURES, cost
from diaghoi.report.text import report_tables
from diaghoi.statistics.bootstrap import bootstrap
from diaghoi.statistics.significance import compare_pair

IMAGES = 40


def counts(diagnosis: Diagnosis, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Count the predicted triplets of people in the left half of the plane, and all."""
    ledger, predictions = diagnosis.ledger, scenes_of(diagnosis)[1]
    rows = diagnosis.splits[split][ledger.row_class]
    person = predictions.pair_human[predictions.triplet_pair[ledger.row_input[rows]]]
    left = predictions.box_xyxy[person, 0] < 200
    image = ledger.row_image[rows]
    return tuple(np.bincount(of, minlength=IMAGES) for of in (image[left], image))  # type: ignore[return-value]


OWN = Measure(
    path="pairs.{}.left",
    title="People on the left",
    doc="Share of the predicted triplets whose person begins on the left.",
    report="parts",
    table="pairs",
    short="Left",
    group="{}",
    quoted=True,
    tested=True,
    counts=counts,
)


@pytest.fixture
def detectors(monkeypatch: pytest.MonkeyPatch) -> list[Diagnosis]:
    monkeypatch.setitem(MEASURES, OWN.path, OWN)
    rng = np.random.default_rng(3)
    truth = simulate.annotations(IMAGES, rng)
    return [
        diaghoi.diagnose(truth, simulate.detect(truth, kind, rng), label=label)
        for label, kind in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE))
    ]


def test_every_number_is_explained_and_stands_in_a_result(detectors: list[Diagnosis]) -> None:
    result = detectors[0].to_dict()
    for measure in (*MEASURES.values(), cost("action")):
        assert measure.doc.endswith("."), measure.path
        assert measure.title, measure.path
        foreign = measure.path.startswith(("official.agent", "official.scenario", "shortcuts"))
        assert measure.is_in(result) != foreign, measure.path


def test_places_of_all_classes_and_of_a_group() -> None:
    assert MEASURES["map.{}"].at() == "map.full"
    assert MEASURES["map.{}"].at("rare") == "map.rare"
    assert MEASURES["pairs.{}.recall"].at() == "pairs.recall"
    assert MEASURES["pairs.{}.recall"].at("rare") == "pairs.rare.recall"
    assert MEASURES["pairs.human_recall"].splits(["full", "rare"]) == ["full"]


def test_a_registered_ratio_is_reported_compared_resampled_and_tested(detectors) -> None:
    one, two = detectors
    counted, whole = (of.sum() for of in counts(one, "full"))
    result = one.to_dict()
    assert result["pairs"]["left"] == counted / whole
    assert "left" not in one.pairs
    assert [row.title for row in report_tables(result)[2].rows][-1] == OWN.title

    (table,) = (table for table in compare(one, two).tables if table.key == "pairs")
    columns = {column.key: column for column in table.columns}
    assert columns["left"].title == "Left"
    assert columns["rare.left"].group == "Rare"

    low, high = bootstrap(one, 50).intervals["pairs.left"] or (1.0, 0.0)
    assert low < counted / whole < high

    (tested,) = (each for each in compare_pair(one, two, 50) if each.path == "pairs.left")
    assert tested.first == counted / whole
    other, among = (of.sum() for of in counts(two, "full"))
    assert tested.second == pytest.approx(other / among, rel=1e-12)
    assert tested.title == OWN.title


def test_a_detector_is_tested_without_its_boxes_and_in_another_order(detectors) -> None:
    one, two = detectors
    expected = compare_pair(one, two, 30)
    assert compare_pair(one.without_scenes(), two.without_scenes(), 30) == expected
    annotations, predictions = scenes_of(two)
    turned = np.arange(IMAGES)[::-1]
    order = [each.arranged(turned, each.names[turned]) for each in (annotations, predictions)]
    again = diaghoi.diagnose(order[0], order[1], label="two")
    found = {each.path: each for each in compare_pair(one, again, 30)}
    assert found["pairs.left"] == next(e for e in expected if e.path == "pairs.left")


def test_parts_add_up(detectors: list[Diagnosis]) -> None:
    one = detectors[0]
    halves = [
        diaghoi.diagnose(annotations, predictions, one.protocol, label="one")
        for annotations, predictions in (
            tuple(each.between(first, first + IMAGES // 2) for each in scenes_of(one))
            for first in (0, IMAGES // 2)
        )
    ]
    whole = sum(halves[1:], start=halves[0])
    assert whole.to_dict()["pairs"]["left"] == one.to_dict()["pairs"]["left"]
    freed = Diagnosis.sum(half.without_scenes() for half in halves)
    assert freed.to_dict()["pairs"] == one.to_dict()["pairs"]


def test_images_in_another_order_keep_their_counts(detectors: list[Diagnosis]) -> None:
    one = detectors[0]
    turned = arranged(one, one.names[::-1])
    for mine, other in zip(one.counts_of(OWN, "full"), turned.counts_of(OWN, "full"), strict=True):
        np.testing.assert_array_equal(mine[::-1], other)
    assert turned.to_dict()["pairs"] == one.to_dict()["pairs"]


def test_numbers_of_another_data_set_are_left_out() -> None:
    published = MEASURES["negatives.ap_published"]
    result = {"dataset": "v-coco", "negatives": {"ap_published": 0.5}}
    assert not published.is_in(result)
    assert replace(published, dataset="").is_in(result)
