"""The schedule of SAMPL: algorithm 1 replayed by hand, states, bad scores."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.exceptions import InputError
from diaghoi.robustness.sampl import ProgressiveSchedule

# One epoch a row: Q of clean and of level p; the level trained on, p and N afterwards, worked out
# by hand from algorithm 1 with tau_init = 0.15.
REPLAY = [
    # 3 x 0.20 = 0.60 against 1 x 0.30: clean.
    ((0.30, 0.20), 1, 2, (2, 1, 1, 1)),
    # 3 x 0.22 = 0.66 against 2 x 0.34 = 0.68: masked. |dQ| = 0.1 < tau = 0.15 x 0.1 / 0.1: up.
    ((0.34, 0.22), 3, 3, (2, 1, 2, 1)),
    # 4 x 0.10 = 0.40 against 0.80: masked. Level 3 has no score of the epoch before: stays.
    ((0.40, 0.10), 3, 3, (2, 1, 3, 1)),
    # 5 x 0.14 = 0.70 against 0.80: masked. |dQ| = 0.4, not below tau = 0.15: stays.
    ((0.40, 0.14), 3, 3, (2, 1, 4, 1)),
    # 6 x 0.147 = 0.882 against 0.88: clean; nothing is learnt about dQ.
    ((0.44, 0.147), 1, 3, (3, 1, 4, 1)),
    # 6 x 0.1617 = 0.9702 against 1.32: masked. |dQ| = 0.1 < tau = 0.15 x 0.4 / 0.1 = 0.6: up.
    ((0.44, 0.1617), 4, 4, (3, 1, 4, 2)),
    # 7 x 0.05 = 0.35 against 1.35: masked, new.
    ((0.45, 0.05), 4, 4, (3, 1, 4, 3)),
    # 8 x 0.051 against 1.35: masked. There is nothing above level 4.
    ((0.45, 0.051), 4, 4, (3, 1, 4, 4)),
    # 9 x 0.125 = 1.125 against 3 x 0.375: equal, and clean is named first.
    ((0.375, 0.125), 1, 4, (4, 1, 4, 4)),
]


def replay(schedule: ProgressiveSchedule, epochs: list[Any]) -> None:
    for (clean, current), severity, level, counts in epochs:
        assert schedule.next_severity({1: clean, schedule.level: current}) == severity
        assert schedule.level == level
        assert schedule.evaluated == (1, level)
        assert tuple(schedule.chosen.values()) == counts


def test_algorithm_1_replayed_by_hand() -> None:
    replay(ProgressiveSchedule(), REPLAY)


@pytest.mark.parametrize("epoch", range(len(REPLAY)))
def test_goes_on_from_a_saved_state(epoch: int) -> None:
    schedule, restored = ProgressiveSchedule(), ProgressiveSchedule()
    replay(schedule, REPLAY[:epoch])
    restored.load_state_dict(json.loads(json.dumps(schedule.state_dict())))
    assert restored.state_dict() == schedule.state_dict()
    replay(restored, REPLAY[epoch:])


@pytest.mark.parametrize(("threshold", "level"), [(0.15, 3), (0.05, 2)])
def test_the_threshold_decides_when_it_steps_up(threshold: float, level: int) -> None:
    schedule = ProgressiveSchedule(initial_threshold=threshold)
    for scores in ({1: 0.3, 2: 0.2}, {1: 0.34, 2: 0.22}):
        schedule.next_severity(scores)
    assert schedule.level == level


def test_the_largest_change_is_forgotten_after_a_step_up() -> None:
    schedule = ProgressiveSchedule()
    replay(schedule, REPLAY[:4])
    assert schedule.state_dict()["largest_change"] == pytest.approx(0.4)
    replay(schedule, REPLAY[4:6])
    assert schedule.state_dict()["largest_change"] is None


@pytest.mark.parametrize("score", [0.0, 0.1])
def test_without_a_change_it_does_not_step_up(score: float) -> None:
    """A score of 0 has no relative change; where it never changes, the threshold is 0, too."""
    schedule = ProgressiveSchedule()
    for _ in range(4):
        schedule.next_severity({1: 0.5, 2: score})
    assert (schedule.level, schedule.chosen[2] > 1) == (2, True)


def test_scores_of_other_levels_serve_after_a_step_up() -> None:
    schedule = ProgressiveSchedule()
    schedule.next_severity({1: 0.30, 2: 0.20, 3: 0.08})
    schedule.next_severity({1: 0.34, 2: 0.22, 3: 0.10})
    assert schedule.level == 3
    assert schedule.next_severity({1: 0.40, 3: 0.101}) == 4


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30))
def test_levels_never_fall_and_every_epoch_is_counted(scores: list[tuple[float, float]]) -> None:
    schedule, before = ProgressiveSchedule(), 2
    for clean, current in scores:
        severity = schedule.next_severity({1: clean, schedule.level: current})
        assert severity in (1, schedule.level)
        assert before <= schedule.level <= min(before + 1, 4)
        before = schedule.level
    assert sum(schedule.chosen.values()) == 4 + len(scores)


class TestRefuses:
    @pytest.mark.parametrize(
        ("scores", "words"),
        [
            ({1: 0.5}, r"no score of level 2 \(low\); give the scores of 1 and 2"),
            ({2: 0.5}, r"no score of level 1 \(clean\)"),
            ({1: 0.5, 2: -0.1}, "the score of level 2 is -0.1; give a number that is 0 or more"),
            ({1: math.nan, 2: 0.1}, "the score of level 1 is nan"),
            ({1: 0.5, 2: None}, "the score of level 2 is None; give a number"),
            ({1: 0.5, 2: "high"}, "the score of level 2 is high; give a number"),
            ({1: 0.5, 2: 0.5, 7: 0.1}, "level 7: not known; give 1, 2, 3 or 4"),
        ],
    )
    def test_bad_scores_and_stays_as_it_was(self, scores, words) -> None:
        schedule = ProgressiveSchedule()
        replay(schedule, REPLAY[:1])
        before = schedule.state_dict()
        with pytest.raises(InputError, match=words):
            schedule.next_severity(scores)
        assert schedule.state_dict() == before

    @pytest.mark.parametrize("name", ["initial_threshold", "epsilon"])
    @pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
    def test_bad_thresholds(self, name, value) -> None:
        with pytest.raises(InputError, match=f"{name} is .*; give a number above 0"):
            ProgressiveSchedule(**{name: value})

    @pytest.mark.parametrize(
        "change",
        [
            {"level": 1},
            {"level": 5},
            {"level": "x"},
            {"chosen": [1, 1, 1]},
            {"chosen": [0, 1, 1, 1]},
            {"chosen": None},
            {"largest_change": "x"},
            {"previous": [[1, math.nan]]},
            {"previous": [[9, 0.1]]},
            {"previous": {"1": 0.5}},
        ],
    )
    def test_bad_states_and_stays_as_it_was(self, change) -> None:
        schedule = ProgressiveSchedule()
        replay(schedule, REPLAY[:3])
        before = schedule.state_dict()
        with pytest.raises(InputError, match=r"the state of a schedule .* state_dict\(\) returned"):
            schedule.load_state_dict(before | change)
        with pytest.raises(InputError, match="KeyError: 'level'"):
            schedule.load_state_dict({})
        assert schedule.state_dict() == before
