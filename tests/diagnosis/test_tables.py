"""Tables per class and per image agree with the totals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from support.reference import by_image
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, WASH, image, problems, scenes

from diaghoi import ORACLES, InputError, diagnose, protocol, simulate
from diaghoi.data.groups import zero_shot
from diaghoi.data.protocol import Group
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.tables import CLASS_COLUMNS, IMAGE_COLUMNS, sorted_table


@given(problems())
def test_rows_sum_to_the_totals(problem: tuple[Scenes, Scenes]) -> None:
    diagnosis = diagnose(*problem)
    for table in (diagnosis.classes, diagnosis.images):
        assert len({len(column) for column in table.values()}) == 1
        for name, count in diagnosis.errors.items():
            assert table[name].sum() == count, name
    assert diagnosis.images["annotated"].sum() == diagnosis.counts["annotated_triplets"]
    assert diagnosis.images["predicted"].sum() == diagnosis.counts["predicted_triplets"]
    classes = diagnosis.classes
    assert len(classes["class"]) == 520
    if diagnosis.mean_ap["full"] is not None:
        assert np.nanmean(classes["ap"]) == pytest.approx(diagnosis.mean_ap["full"])
    for name in ORACLES:
        assert f"delta_{name}" in classes
    assert tuple(classes) == CLASS_COLUMNS
    assert tuple(diagnosis.images) == IMAGE_COLUMNS


MAN = (PERSON, (0.0, 0.0, 9.0, 9.0))
BIKE = (BICYCLE, (20.0, 0.0, 29.0, 9.0))
AUTO = (CAR, (40.0, 0.0, 49.0, 9.0))
TRUTH = scenes(
    [
        image("a.jpg", [MAN, BIKE, AUTO], [(0, 1, RIDE), (0, 1, HOLD), (0, 2, WASH)]),
        image("b.jpg", [MAN, BIKE], [(0, 1, RIDE)]),
        image("c.jpg", [MAN], []),
    ],
    scored=False,
)
FOUND = scenes(
    [
        image(
            "a.jpg",
            [MAN, BIKE],
            [(0, 1, RIDE, 0.9), (0, 1, RIDE, 0.6), (0, 1, HOLD, 0.3), (0, 1, WASH, 0.7)],
        ),
        image("c.jpg", [MAN, BIKE], [(0, 1, RIDE, 0.2)]),
    ],
    scored=True,
)


def row_of(table: dict, column: str, value: object) -> dict:
    (row,) = np.flatnonzero(table[column] == value)
    return {name: values[row].item() for name, values in table.items()}


def test_a_class_by_its_official_number() -> None:
    diagnosis = diagnose(TRUTH, FOUND)
    row = row_of(diagnosis.classes, "name", "ride bicycle")
    number = diagnosis.vocabulary.class_named["ride bicycle"] + 1
    assert row["class"] == number
    assert (row["verb"], row["object"], row["splits"]) == ("ride", "bicycle", "non_rare")
    assert (row["annotated"], row["predicted"], row["true_positive"]) == (2, 3, 1)
    assert (row["duplicate"], row["object_box"], row["missed_gt"]) == (1, 1, 1)
    assert row["max_recall"] == 0.5
    assert row["ap"] == pytest.approx(6 / 11)
    all_classes = diagnose(TRUTH, FOUND, "hico-det").classes
    assert row_of(all_classes, "name", "ride bicycle")["class"] == number


def test_what_is_undefined_is_nan() -> None:
    classes = diagnose(TRUTH, FOUND).classes
    never = row_of(classes, "name", "wash bicycle")
    assert (never["annotated"], never["predicted"], never["action"]) == (0, 1, 1)
    assert all(np.isnan(never[name]) for name in ("ap", "max_recall", "delta_action"))


@pytest.mark.parametrize(
    ("name", "missed", "never"),
    [
        ("hico-det-520", "full; non_rare", "full; non_rare"),
        ("diag-hoi", "", "full"),
        ("hoiclip", "full; non_rare", "full"),
    ],
)
def test_classes_that_a_mean_leaves_out_say_so(name: str, missed: str, never: str) -> None:
    # "hold bicycle" is predicted once, with a wrong box; "wash car" is annotated, never predicted.
    elsewhere = (BICYCLE, (60.0, 0.0, 69.0, 9.0))
    rows = [(0, 1, RIDE, 0.9), (0, 2, HOLD, 0.2)]
    found = scenes([image("a.jpg", [MAN, BIKE, elsewhere], rows)], scored=True)
    diagnosis = diagnose(TRUTH, found, name)
    table = diagnosis.classes
    for of, means in (("hold bicycle", missed), ("wash car", never), ("ride bicycle", None)):
        row = row_of(table, "name", of)
        if means is None:
            assert row["ap"] > 0
            assert row["means"] == "full; non_rare"
            continue
        assert row["means"] == means
        for column in ("ap", "max_recall", "ap_best_order"):
            assert row[column] == 0 if "full" in means else np.isnan(row[column])
    assert row_of(table, "name", "wash bicycle")["means"] == ""
    for split, mean in diagnosis.mean_ap.items():
        inside = [split in text.split("; ") for text in table["means"].tolist()]
        assert mean == (pytest.approx(table["ap"][inside].mean()) if any(inside) else None)


def test_splits_are_those_of_the_protocol() -> None:
    groups = (*zero_shot("UV", TRUTH.vocabulary), Group("wheels", (1, 2)))
    classes = diagnose(TRUTH, FOUND, protocol("hico-det-520", groups=groups)).classes
    assert classes["splits"][0] == "non_rare; seen"
    assert classes["splits"][1] == "non_rare; seen; wheels"
    assert set(classes["splits"]) <= {
        f"{rare}; {seen}{wheels}"
        for rare in ("rare", "non_rare")
        for seen in ("seen", "unseen")
        for wheels in ("", "; wheels")
    }


def test_a_data_set_without_splits_has_empty_ones() -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.v_coco_annotations(5, rng)
    predictions = simulate.v_coco_detect(annotations, rng)
    table = diagnose(annotations, predictions).classes
    assert set(table["splits"]) == {""}
    assert set(table["object"]) == {""}


def test_an_image_by_its_name() -> None:
    images = diagnose(TRUTH, FOUND).images
    first = row_of(images, "image", "a.jpg")
    assert (first["annotated"], first["predicted"]) == (3, 4)
    assert (first["true_positive"], first["false_positive"]) == (2, 2)
    assert first["recall"] == pytest.approx(2 / 3)
    assert (first["best_true"], first["best_false"]) == (0.9, 0.7)
    empty = row_of(images, "image", "b.jpg")
    assert (empty["recall"], empty["predicted"], empty["missed_gt"]) == (0, 0, 1)
    assert np.isnan(empty["best_true"])
    assert np.isnan(empty["best_false"])
    unannotated = row_of(images, "image", "c.jpg")
    assert np.isnan(unannotated["recall"])
    assert (unannotated["false_positive"], unannotated["best_false"]) == (1, 0.2)


def test_images_without_names_go_by_their_place() -> None:
    two = TRUTH.between(0, 2)
    nameless = [replace(some, names=np.array(["", ""])) for some in (two, FOUND)]
    assert diagnose(*nameless).images["image"].tolist() == ["image 1", "image 2"]


@given(problems())
def test_figures_of_images_are_exact(problem: tuple[Scenes, Scenes]) -> None:
    diagnosis = diagnose(*problem)
    found = by_image(problem[1])
    counted = set((np.flatnonzero(diagnosis.splits["full"])).tolist())
    for row, name in enumerate(diagnosis.images["image"].tolist()):
        one = {key: values[row].item() for key, values in diagnosis.images.items()}
        assert one["predicted"] == one["true_positive"] + one["false_positive"]
        triplets = found[name]["triplets"] if name in found else []
        scores = [t["score"] for t in triplets if t["class"] in counted]
        best = np.fmax(one["best_true"], one["best_false"])
        assert best == max(scores) if scores else np.isnan(best)
        assert np.isnan(one["best_true"]) == (one["true_positive"] == 0)
        if one["annotated"]:
            assert one["recall"] == one["true_positive"] / one["annotated"]


TABLE = {
    "name": np.array(["b", "a", "d", "c"]),
    "ap": np.array([0.5, np.nan, 0.5, 0.1]),
    "count": np.array([3, 2, 1, 4]),
}


@pytest.mark.parametrize(
    ("column", "descending", "expected"),
    [
        ("name", False, "abcd"),
        ("name", True, "dcba"),
        ("count", False, "dabc"),
        ("count", True, "cbad"),
        ("ap", False, "cbda"),  # ties keep their order, the undefined one stands last
        ("ap", True, "bdca"),
    ],
)
def test_tables_sort_by_any_column(column: str, descending: bool, expected: str) -> None:
    table = sorted_table(TABLE, column, descending=descending)
    assert "".join(table["name"]) == expected
    rows = zip(table["name"], table["count"], strict=True)
    assert dict(rows) == {"a": 2, "b": 3, "c": 4, "d": 1}


def test_an_unknown_column_is_refused_with_those_that_look_like_it() -> None:
    with pytest.raises(
        InputError,
        match=r"unknown column 'nane' \(did you mean 'name'\?\); known: name, ap, count",
    ):
        sorted_table(TABLE, "nane")
