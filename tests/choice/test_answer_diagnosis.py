"""What answers hang on: distractors, how much is picked, and the order of the options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from support.choice import HOLD, NOTHING, OPTIONS, RIDE, WASH, answered, asked

from diaghoi import InputError
from diaghoi.choice import Answer, Answers, evaluate_answers
from diaghoi.choice.analyses import count_distractors, position_bias, selection_rates
from diaghoi.choice.comparison import compare_choices
from diaghoi.choice.evaluation import choice_bootstrap, tally

DRIVE, BUS = "drive a/an car", "board a/an bus"


def distractors(*rows: Any) -> dict[str, list[tuple[Any, ...]]]:
    tables = count_distractors(answered(rows))
    return {name: [tuple(row.values()) for row in table] for name, table in tables.items()}


def test_wrong_options_are_counted_where_they_fool() -> None:
    rows = [
        ([RIDE], [HOLD, DRIVE], [HOLD]),
        ([RIDE], [HOLD], [RIDE, HOLD]),
        ([WASH], [HOLD, DRIVE], [WASH]),
    ]
    found = count_distractors(answered(rows))
    names = ("shown", "picked", "rate")
    assert tuple(found["classes"][0]) == ("class", "verb", "object", *names)
    assert tuple(found["confused_verbs"][0]) == ("picked_for", "right", *names, "instead")
    tables = distractors(*rows)
    assert tables["classes"][0] == ("hold bicycle", "hold", "bicycle", 3, 2, 2 / 3)
    assert tables["verbs"][1] == ("drive", 2, 0, 0)
    assert [row[0] for row in tables["objects"]] == ["bicycle", "car"]
    assert tables["confused_verbs"] == [("hold", "ride", 2, 2, 1, 1), ("hold", "wash", 1, 0, 0, 0)]
    assert tables["confused_objects"] == [("car", "bicycle", 2, 0, 0, 0)]


def test_a_wrong_option_counts_once_for_each_right_object() -> None:
    # One pick, three right options of the bicycle: one of them is picked, too.
    right = [RIDE, HOLD, WASH, "eat a/an apple"]
    assert distractors((right, [DRIVE, BUS], [DRIVE, WASH]))["confused_objects"] == [
        ("car", "bicycle", 1, 1, 1, 0),
        ("car", "apple", 1, 1, 1, 1),
        ("bus", "bicycle", 1, 0, 0, 0),
        ("bus", "apple", 1, 0, 0, 0),
    ]


def test_an_option_twice_is_one_distractor_or_none() -> None:
    twice = ([NOTHING, NOTHING.replace("_", " ")], [RIDE], [RIDE])
    assert distractors(twice)["confused_verbs"] == [("ride", "no_interaction", 1, 1, 1, 1)]
    assert distractors(([HOLD], [HOLD, RIDE], [HOLD]))["verbs"] == [("ride", 1, 0, 0)]


def test_how_much_is_picked_is_compared_with_what_is_right() -> None:
    answers = answered(
        [
            ([RIDE], [HOLD, WASH], [RIDE, HOLD]),
            ([RIDE], [HOLD, WASH], []),
            ([RIDE, HOLD], [WASH], [RIDE, WASH]),
        ]
    )
    found = selection_rates(answers, tally(answers))
    assert (found["right"], found["picked"]) == (pytest.approx(4 / 3), pytest.approx(4 / 3))
    assert (found["right_picked"], found["wrong_picked"]) == (0.5, 0.4)
    assert [found[key] for key in ("under", "equal", "over", "empty")] == pytest.approx([1 / 3] * 4)
    assert [(row["right_options"], row["questions"]) for row in found["by_right"]] == [
        (1, 2),
        (2, 1),
    ]


def ordered(rows: Sequence[tuple[Sequence[str], Sequence[int]]], right: Sequence[str]) -> Answers:
    """Answer questions with the given right options: order shown, and places picked."""
    wrong = [option for option in OPTIONS if option not in right]
    answers = [
        Answer(tuple(shown[place] for place in places), tuple(shown), tuple(places), "letters")
        for shown, places in rows
    ]
    questions = asked([(right, wrong)] * len(rows))
    return Answers(label="model", questions=questions, answers=tuple(answers))


def bias(rows: Sequence[tuple[Sequence[str], Sequence[int]]]) -> dict[str, Any]:
    found = position_bias(ordered(rows, [RIDE, HOLD]))
    assert found is not None
    return found


def simulated(rng: np.random.Generator, pick: Callable[[Any], Any], number: int) -> dict[str, Any]:
    rows = []
    for _ in range(number):
        shown = rng.permutation(OPTIONS).tolist()
        rows.append((shown, np.flatnonzero(pick(shown)).tolist()))
    return bias(rows)


def test_the_first_option_that_always_wins_is_found() -> None:
    rng = np.random.default_rng(0)
    found = simulated(rng, lambda shown: np.arange(4) == 0, 200)
    assert found["degrees"] == 3
    assert found["p"] < 1e-6
    first = found["positions"][0]
    assert (first["position"], first["shown"], first["picked"]) == ("A", 200, 200)
    assert (first["expected"], first["excess"]) == pytest.approx((100, 0.5))
    sentence = found["sentence"]
    assert sentence.startswith("the order of the options matters (chi-square ")
    assert "A is picked more often than chance, 200 times against 100.0 (p < 0.001)" in sentence


def test_a_p_value_too_small_for_a_float_is_named_too() -> None:
    rows = [((RIDE, HOLD, WASH, NOTHING), (0,))] * 1600
    found = bias(rows)
    assert found["positions"][0]["p_holm"] == 0
    assert "A is picked more often than chance, 1,600 times against 800.0" in found["sentence"]


def test_a_model_that_knows_the_answer_has_no_bias_wherever_it_stands() -> None:
    # The right options are always shown first, and always picked: nothing is due to the order.
    found = bias([((RIDE, HOLD, WASH, NOTHING), (0, 1))] * 50)
    assert (found["degrees"], found["p"]) == (0, None)
    assert [row["picked"] - row["expected"] for row in found["positions"]] == [0, 0, 0, 0]
    assert "do not show whether the order" in found["sentence"]


def test_of_two_alike_options_the_test_is_that_of_a_coin() -> None:
    rows = [((RIDE, HOLD, WASH, NOTHING), (place,)) for place in [0] * 33 + [1] * 17]
    found = bias(rows)
    assert found["statistic"] == pytest.approx((33 - 25) ** 2 / (50 / 4))
    assert found["degrees"] == 1
    assert found["positions"][0]["p"] == pytest.approx(found["p"])
    assert found["p"] == pytest.approx(binomtest(33, 50).pvalue, abs=0.01)


@pytest.mark.slow
def test_without_bias_p_values_are_spread_evenly() -> None:
    rng = np.random.default_rng(1)

    def pick(shown: list[str]) -> Any:
        return rng.random(4) < np.where(np.isin(shown, [RIDE, HOLD]), 0.8, 0.2)

    p = [simulated(rng, pick, 60)["p"] or 1.0 for _ in range(200)]
    assert 0.01 <= np.mean(np.array(p) < 0.05) <= 0.1
    assert 0.4 <= np.mean(p) <= 0.6
    assert "no sign that the order" in simulated(np.random.default_rng(2), pick, 60)["sentence"]


def test_answers_without_an_order_have_no_positions() -> None:
    assert position_bias(answered([([RIDE], [HOLD], [RIDE])])) is None


def test_intervals_hold_the_figures_and_follow_the_seed() -> None:
    rng = np.random.default_rng(0)
    rows = [([RIDE], [HOLD], [RIDE] if rng.random() < 0.7 else [HOLD]) for _ in range(80)]
    people = {f"HICO_{number}.jpg": number % 2 == 0 for number in range(80)}
    evaluation = evaluate_answers(answered(rows), people=people)
    found = choice_bootstrap(evaluation, 200, seed=3)
    metrics = ("instance_f1", "macro_f1", "micro_f1", "micro_precision", "micro_recall")
    parts = ("", "single.", "multi.")
    names = {f"{part}{name}" for part in parts for name in (*metrics, "exact_match")}
    assert set(found.intervals) == names
    low, high = found.intervals["exact_match"] or (1, 0)
    assert low < evaluation.metrics["exact_match"] < high
    assert choice_bootstrap(evaluation, 200, seed=3) == found
    assert choice_bootstrap(evaluation, 200, seed=4) != found
    spread = np.sqrt(0.7 * 0.3 / 80)
    assert (high - low) / 2 == pytest.approx(1.96 * spread, rel=0.25)


def test_a_better_model_differs_and_an_equal_one_does_not() -> None:
    rng = np.random.default_rng(0)
    right = [([RIDE], [HOLD], [RIDE]) for _ in range(60)]
    worse = [(*row[:2], [HOLD] if rng.random() < 0.3 else [RIDE]) for row in right]
    good, bad = (evaluate_answers(answered(rows)) for rows in (right, worse))
    found = compare_choices(good, bad, 200)
    assert [each.title for each in found] == ["Instance-F1", "Macro-F1", "Micro-F1", "exact match"]
    assert found[0].path == "choice.instance_f1.overall"
    assert all(each.difference < 0 and each.p_holm < 0.05 for each in found)
    assert found[0].second == bad.metrics["instance_f1"]
    for each in compare_choices(good, good, 50):
        assert (each.difference, each.p, each.p_holm) == (0, 1, 1)


def test_answers_to_other_questions_are_not_compared() -> None:
    one = evaluate_answers(answered([([RIDE], [HOLD], [RIDE])] * 2))
    other = evaluate_answers(answered([([HOLD], [RIDE], [RIDE])] * 2))
    with pytest.raises(InputError, match="compare answers to the same questions"):
        compare_choices(one, other, 10)
