"""The diagnosis of HICO-DET against its definitions written out as loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import reference_figures
from support.cases import cases
from support.reference import tell
from support.scenes import problems

from diaghoi import Diagnosis, diagnose, protocol
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import ORACLES
from diaghoi.statistics.attribution import attribute
from diaghoi.statistics.weighted_figures import Resampler

Problem = tuple[Scenes, Scenes]
NAMES = st.sampled_from(["hico-det", "hico-det-520", "diag-hoi", "upt"])
PROTOCOLS = st.builds(
    protocol,
    NAMES,
    average_precision=st.sampled_from(["11-point", "area", "101-point"]),
    strict=st.booleans(),
    class_without_prediction=st.sampled_from(["counted", "left out of groups"]),
    class_without_annotation=st.sampled_from(["left out", "zero", "zero in groups"]),
    claim=st.sampled_from(["best", "first left", "all left"]),
    added_to_union=st.sampled_from([0.0, 1e-6]),
    images_without_annotations=st.sampled_from(["counted", "left out"]),
    boxes=st.sampled_from(["inclusive", "continuous"]),
    iou=st.sampled_from([0.3, 0.5, 0.9]),
    levels_from=st.sampled_from(["zero", "tenths", "both ends"]),
    top=st.sampled_from([None, 1, 3]),
    top_of_class=st.sampled_from([None, None, 2]),
    rare=st.sampled_from(["train", "test"]),
)
CHOSEN = st.one_of(NAMES.map(protocol), PROTOCOLS)


def close(expected: Any) -> Any:
    """Compare figures to twelve digits, and what is undefined exactly."""
    if isinstance(expected, dict):
        return {key: close(value) for key, value in expected.items()}
    if expected is None or isinstance(expected, int):
        return expected
    return pytest.approx(expected, abs=1e-12, nan_ok=True)


@cases()
@given(problems(others=True), CHOSEN)
def test_every_label_and_assignment_is_that_of_the_loops(problem, chosen) -> None:
    story = tell(*problem, chosen)
    ledger = diagnose(*problem, chosen).ledger
    found = {
        row: (LABELS[label], annotation, attempt)
        for row, label, annotation, attempt in zip(
            ledger.row_input.tolist(),
            ledger.row_label.tolist(),
            ledger.row_annotation.tolist(),
            ledger.row_attempt.tolist(),
            strict=True,
        )
    }
    assert found == {
        row["input"]: (row["label"], row["annotation"], row["attempt"]) for row in story.rows
    }
    assert ledger.missed.tolist() == [a["missed"] for a in story.annotated]


@cases()
@given(problems(others=True), CHOSEN)
def test_every_figure_is_that_of_the_loops(problem: Problem, chosen: Protocol) -> None:
    expected = reference_figures.diagnose(*problem, chosen)
    result = diagnose(*problem, chosen)
    assert {label: count for label, count in result.errors.items() if count} == {
        label: count for label, count in expected["errors"].items() if count
    }
    assert result.mean_ap == close(expected["map"])
    assert result.max_recall == close(expected["max_recall"])
    for name in ORACLES:
        for key in ("map", "max_recall"):
            assert result.oracles[name][key] == close(expected["oracles"][name][key]), (name, key)
    for name, outcome in result.localised.items():
        for key in ("map", "max_recall"):
            assert outcome[key] == close(expected["localised"][name][key]), (name, key)
    assert result.negatives == close(expected["negatives"])
    splits = {"full": result.actions} | {
        name: result.actions[name] for name in result.splits if name != "full"
    }
    for name, actions in splits.items():
        assert {key: actions[key] for key in ("map", "max_recall")} == close(
            expected["actions"][name]
        )
    assert_pairs(result, expected["pairs"])


def assert_pairs(result: Diagnosis, expected: dict[str, dict[str, float | None]]) -> None:
    single = result.protocol.single_precision_recall
    for split, wanted in expected.items():
        found = result.pairs if split == "full" else result.pairs[split]
        for key in wanted.keys() & found.keys():
            value = wanted[key]
            if single and key == "recall" and value is not None:
                value = float(np.float32(value))
            assert found[key] == close(value), (split, key)


@cases()
@given(problems())
def test_the_official_figures_are_those_of_the_loops(problem: Problem) -> None:
    expected = reference_figures.official(*problem)
    official = diagnose(*problem).official
    assert official["default"] == close(expected["default"])
    assert official["known_object"] == close(
        expected["known_object"] | {"source": "box annotations"}
    )


@pytest.mark.slow
@cases()
@given(problems(max_images=3), CHOSEN, st.sampled_from(["full", "rare", "non_rare"]))
def test_shapley_values_are_means_over_all_orders(problem, chosen, split) -> None:
    expected = reference_figures.shapley(tell(*problem, chosen), split)
    found = attribute(diagnose(*problem, chosen), split)
    assert (None if found is None else found.values) == close(expected)


@pytest.mark.slow
@cases()
@given(problems(), CHOSEN, st.data())
def test_weighted_images_are_repeated_images(problem, chosen, data) -> None:
    story = tell(*problem, chosen)
    drawn = st.lists(st.integers(0, 3), min_size=story.images, max_size=story.images)
    weights = data.draw(drawn)
    expected = flat(reference_figures.figures(story.repeated(weights)))
    found = Resampler.of(diagnose(*problem, chosen)).figures(
        np.array(weights, dtype=np.int32)[:, None]
    )
    assert expected.keys() <= found.keys()
    for path, value in expected.items():
        wanted = float("nan") if value is None else value
        assert found[path][0] == close(float(wanted)), path


def flat(expected: dict[str, Any]) -> dict[str, Any]:
    """Figures by their path in the JSON of a report."""
    paths = {f"errors.{name}": count for name, count in expected["errors"].items()}
    for key in ("map", "max_recall"):
        paths |= {f"{key}.{split}": value for split, value in expected[key].items()}
        for name, outcome in expected["oracles"].items():
            paths |= {f"oracles.{name}.{key}.{s}": value for s, value in outcome[key].items()}
    paths |= {f"negatives.{key}": expected["negatives"][key] for key in ("ap", "ap_published")}
    for part in ("pairs", "actions"):
        for split, figures in expected[part].items():
            at = part if split == "full" else f"{part}.{split}"
            keys = (
                figures
                if split == "full"
                else figures.keys() & {"recall", "precision", "map", "max_recall"}
            )
            paths |= {f"{at}.{key}": figures[key] for key in keys}
    return paths
