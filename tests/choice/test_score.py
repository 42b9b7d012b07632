"""The figures, by hand and by another way of counting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.choice import HOLD, NOTHING, OPTIONS, RIDE, WASH, Row, answered, by_loops

from diaghoi.choice import evaluate_answers, read_answers, read_questions
from diaghoi.choice.evaluation import Tally, scores, tally


def test_the_f1_of_a_question_is_of_picked_and_right_options() -> None:
    counts = tally(
        answered(
            [
                ([RIDE, HOLD], [WASH], [RIDE, WASH]),  # one of two right, one wrong: 1/2
                ([RIDE], [HOLD], []),
                ([], [HOLD], []),
                ([], [HOLD], [HOLD]),
                ([RIDE], [HOLD], [RIDE]),
            ]
        )
    )
    assert counts.instance.tolist() == [0.5, 0.0, 1.0, 0.0, 1.0]
    assert counts.exact.tolist() == [False, False, False, False, True]
    both_lists = scores(tally(answered([([RIDE, HOLD], [HOLD], [RIDE, HOLD])])))
    assert (both_lists["instance_f1"], both_lists["exact_match"]) == (1, 1)
    figures = scores(counts)
    assert figures["instance_f1"] == pytest.approx(0.5)
    assert figures["exact_match"] == pytest.approx(0.2)
    assert (figures["micro_precision"], figures["micro_recall"]) == (0.5, 0.5)
    assert figures["micro_f1"] == 0.5


def test_macro_f1_runs_over_classes_that_are_right_or_picked() -> None:
    counts = tally(
        answered(
            [
                ([RIDE], [HOLD, WASH], [RIDE, HOLD]),
                ([RIDE], [HOLD, WASH], []),
                (["no_interaction a/an bicycle"], [], ["no_interaction a/an bicycle"]),
                ([NOTHING], [], [NOTHING]),
                (["ride a/an zebra"], [], []),  # is no class of HICO-DET
            ]
        )
    )
    rows = {row["class"]: (row["right"], row["picked"], row["f1"]) for row in counts.class_rows()}
    assert rows == {
        "ride bicycle": (2, 1, pytest.approx(2 / 3)),
        "hold bicycle": (0, 1, 0),
        "no interaction bicycle": (2, 2, 1),
    }
    figures = scores(counts)
    assert figures["macro_classes"] == 3
    assert figures["macro_f1"] == pytest.approx((2 / 3 + 0 + 1) / 3)


def test_figures_of_nothing_are_undefined() -> None:
    figures = scores(tally(answered([([], [HOLD], [])])))
    assert figures["macro_f1"] is figures["micro_f1"] is figures["micro_precision"] is None
    assert (figures["instance_f1"], figures["exact_match"], figures["macro_classes"]) == (1, 0, 0)


def test_exact_match_is_of_questions_and_the_published_one_of_images() -> None:
    evaluation = evaluate_answers(answered([([RIDE], [HOLD], [RIDE])] * 3, images=["a", "a", "b"]))
    figures = evaluation.metrics
    assert (figures["exact_match"], figures["exact_match_published"]) == (1.0, 1.5)
    assert (figures["questions"], figures["images"]) == (3, 2)
    assert "the published script divides by images, 150.00" in evaluation.notes[0]


def class_rows(option: str, hits: int, missed: int, fooled: int) -> list[Row]:
    return (
        [([option], [], [option])] * hits
        + [([option], [], [])] * missed
        + [([], [option], [option])] * fooled
    )


def test_the_example_of_appendix_b() -> None:
    single = class_rows(RIDE, 1, 4, 4) + class_rows(HOLD, 1, 1, 1)  # F1 0.2 and 0.5
    multi = class_rows(RIDE, 2, 3, 3) + class_rows(WASH, 3, 7, 7)  # F1 0.4 and 0.3
    answers = answered(single + multi)
    images = [question.image for question in answers.questions.questions]
    people = {name: place >= len(single) for place, name in enumerate(images)}
    figures = evaluate_answers(answers, people=people).metrics
    found = [part["macro_f1"] for part in (figures["single"], figures["multi"], figures)]
    assert found == pytest.approx([0.35, 0.35, 11 / 30])
    assert [round(each + 1e-9, 2) for each in found] == [0.35, 0.35, 0.37]
    f1 = {row["class"]: row["f1"] for row in tally(answers).class_rows()}
    assert f1 == pytest.approx({"ride bicycle": 0.3, "hold bicycle": 0.5, "wash bicycle": 0.3})


def test_images_of_unknown_number_of_people_count_overall_alone() -> None:
    answers = answered([([RIDE], [HOLD], [RIDE])] * 3)
    figures = evaluate_answers(answers).metrics
    assert figures["single"] is figures["multi"] is None
    figures = evaluate_answers(answers, people={"HICO_0.jpg": True}).metrics
    counts = [figures["questions"], *(figures[part]["questions"] for part in ("multi", "single"))]
    assert counts == [3, 1, 0]
    assert figures["single"]["instance_f1"] is None


_LISTS = st.lists(st.sampled_from(OPTIONS), max_size=3)
_ROWS = st.lists(
    st.tuples(_LISTS, _LISTS, _LISTS).filter(lambda row: bool(row[0] or row[1])),
    min_size=1,
    max_size=12,
)


@given(_ROWS, st.randoms(use_true_random=False))
def test_weights_are_copies_of_images(rows: list[Row], random: object) -> None:
    rows = [
        (good, bad, [each for each in chosen if each in [*good, *bad]])
        for good, bad, chosen in rows
    ]
    images = [str(number % 3) for number in range(len(rows))]
    counts = tally(answered(rows, images))
    times = [random.randint(0, 2) for _ in range(counts.images)]  # type: ignore[attr-defined]
    copied: list[Row] = []
    names: list[str] = []
    for row, name in zip(rows, images, strict=True):
        for copy in range(times[list(dict.fromkeys(images)).index(name)]):
            copied.append(row)
            names.append(f"{name} {copy}")
    weighted = counts.metrics(np.array(times, dtype=np.int32)[:, None])
    if not copied:
        assert np.isnan(weighted["instance_f1"][0])
        return
    for name, value in scores(tally(answered(copied, names))).items():
        if name in weighted and name != "exact_match_published":
            expected = np.nan if value is None else value
            assert weighted[name][0] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_two_models_stand_beside_one_another() -> None:
    rows: list[Row] = [([RIDE], [HOLD], [RIDE]), ([HOLD], [WASH], [WASH])]
    one = tally(answered(rows))
    other = tally(answered([(*row[:2], []) for row in rows]))
    both: Tally = one.with_images_of(other)
    for counts, weights in ((one, [1, 1, 0, 0]), (other, [0, 0, 1, 1])):
        mine = counts.metrics(np.ones((2, 1), dtype=np.int32))
        for name, value in both.metrics(np.array(weights, dtype=np.int32)[:, None]).items():
            assert value[0] == pytest.approx(mine[name][0], nan_ok=True)


@pytest.mark.parametrize("data", ["vcoco/vcoco_newbench_ho", "swighoi/swighoi_newbench_none"])
def test_other_data_sets_are_scored_alike(shared: Path, tmp_path: Path, data: str) -> None:
    questions = read_questions(shared / "data" / "choice" / f"{data}.json")
    rng = np.random.default_rng(0)
    lines, rows = [], []
    for each in questions.questions:
        options = list(each.options)
        rng.shuffle(options)
        places = np.flatnonzero(rng.random(len(options)) < 0.4).tolist()
        reply = ", ".join("ABCDEFG"[place] for place in places)
        lines.append(
            {"image": each.image, "question": each.name, "options": options, "reply": reply}
        )
        rows.append((list(each.right), list(each.wrong), [options[place] for place in places]))
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    figures = evaluate_answers(read_answers(path, questions)).metrics
    known = {option for row in rows for option in row[0] + row[1]}
    named = {option: questions.interaction_of(option) for option in known}
    classes = questions.classes or frozenset()
    counted = {option for option, found in named.items() if found in classes}
    expected = by_loops(rows)
    for name in ("instance_f1", "exact_match", "micro_f1"):
        assert figures[name] == pytest.approx(expected[name], abs=1e-9)
    joined = [
        tuple([str(named[option]) for option in part if option in counted] for part in row)
        for row in rows
    ]
    macro = by_loops([row for row in joined if row[0] or row[1]])  # type: ignore[misc]
    assert figures["macro_classes"] == macro["macro_classes"]
    assert figures["macro_f1"] == pytest.approx(macro["macro_f1"], abs=1e-9)
