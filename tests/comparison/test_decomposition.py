"""What a difference in mAP is made of: it adds up, and it names what changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.scenes import BICYCLE, PERSON, RIDE, WASH, image, problems, scenes

from diaghoi import Diagnosis, InputError, diagnose, protocol
from diaghoi.comparison.decomposition import PARTS, ap_difference
from diaghoi.comparison.transitions import FATES, transitions
from diaghoi.evaluation.errors import LABELS

ANN, BOB = (0.0, 0.0, 9.0, 19.0), (100.0, 0.0, 109.0, 19.0)
ANNS, BOBS = (10.0, 10.0, 29.0, 29.0), (110.0, 10.0, 129.0, 29.0)
FAR = (300.0, 300.0, 319.0, 319.0)
ANNOTATED = [(PERSON, ANN), (PERSON, BOB), (BICYCLE, ANNS), (BICYCLE, BOBS)]
PREDICTED = [*ANNOTATED, (BICYCLE, FAR), (PERSON, FAR)]
TRUTH = [(0, 2, RIDE), (1, 3, RIDE)]
RIDES = [(0, 2, RIDE, 0.9), (1, 3, RIDE, 0.5)]


def diagnosed(*found: tuple[int, int, int, float], label: str = "") -> Diagnosis:
    annotations = scenes([image("a.jpg", ANNOTATED, TRUTH)], scored=False)
    predictions = scenes([image("a.jpg", PREDICTED, list(found))], scored=True)
    return diagnose(annotations, predictions, label=label)


@pytest.mark.parametrize("name", ["hico-det-520", "diag-hoi", "cdn", "cmd-se"])
@pytest.mark.parametrize("ap", ["11-point", "area", "101-point"])
@given(problem=problems(), rows=st.randoms(use_true_random=False))
def test_parts_add_up_to_the_difference(name, ap, problem, rows) -> None:
    annotations, predictions = problem
    assume(len(predictions.triplet_pair) > 1)
    order = list(range(len(predictions.scores)))
    rows.shuffle(order)
    other = replace(predictions, triplet_score=predictions.scores[np.array(order)])
    chosen = replace(protocol(name), average_precision=ap)
    first, second = (diagnose(annotations, each, chosen) for each in (predictions, other))
    found = ap_difference(first, second)
    np.testing.assert_allclose(found.parts.sum(axis=1), found.of_class, atol=1e-12)
    for split, means in found.means.items():
        if not np.isnan(means["total"]):
            assert means["total"] == second.mean_ap[split] - first.mean_ap[split]
            assert means["total"] == pytest.approx(sum(means[each] for each in PARTS), abs=1e-12)
    # The other way round it is the same, less.
    np.testing.assert_allclose(ap_difference(second, first).parts, -found.parts, atol=1e-12)


def test_parts_are_means_over_the_classes_that_both_means_include() -> None:
    """The published code leaves out classes with rows but no true positive."""
    truth = scenes([image("a.jpg", ANNOTATED, [*TRUTH, (1, 3, WASH)])], scored=False)
    lost = (5, 4, WASH, 0.9)
    for others in ([lost, (1, 3, WASH, 0.9)], [(1, 3, WASH, 0.9), lost]):
        first, second = (
            diagnose(
                truth,
                scenes([image("a.jpg", PREDICTED, [*rows, wash])], scored=True),
                "diag-hoi",
            )
            for rows, wash in zip([RIDES, RIDES[:1]], others, strict=True)
        )
        found = ap_difference(first, second)
        # Only riding is in both means, where Bob is no longer found: 1 to 6/11.
        assert found.means["full"]["true_positive"] == pytest.approx(-5 / 11)
        rest = found.means["full"]["total"] + 5 / 11
        assert found.means["full"][PARTS[-1]] == pytest.approx(rest)


def test_a_wrong_box_that_goes_is_a_false_positive_less() -> None:
    first = diagnosed((0, 4, RIDE, 0.95), *RIDES, label="first")
    second = diagnosed(*RIDES, label="second")
    found = ap_difference(first, second)
    assert found.labels == ("first", "second")
    means = found.means["full"]
    # 11 points: precision 2/3 at all levels, then 1 at all.
    assert means["total"] == pytest.approx(1 / 3)
    assert means["object_box"] == pytest.approx(1 / 3)
    assert [means[each] for each in LABELS if each != "object_box"] == pytest.approx([0.0] * 6)


def test_what_only_one_finds_is_a_matter_of_true_positives() -> None:
    means = ap_difference(diagnosed(RIDES[0]), diagnosed(*RIDES)).means["full"]
    # Six of eleven levels were reached before.
    assert means["total"] == pytest.approx(5 / 11)
    assert means["true_positive"] == pytest.approx(5 / 11)


def test_a_trade_of_one_kind_for_another_cancels_out() -> None:
    first = diagnosed((0, 4, RIDE, 0.95), *RIDES)
    second = diagnosed((5, 2, RIDE, 0.95), *RIDES)
    means = ap_difference(first, second).means["full"]
    changed = {name: value for name, value in means.items() if abs(value) > 1e-12}
    # n / ((n + F1) (n + F2)) with two true positives and one false one.
    assert changed == pytest.approx({"object_box": 2 / 9, "human_box": -2 / 9})


def test_no_difference_has_no_parts() -> None:
    found = ap_difference(diagnosed(*RIDES), diagnosed(*RIDES))
    assert not np.nan_to_num(found.parts).any()
    (only,) = found.to_dict()["classes"]
    assert (only["class"], only["total"]) == ("ride bicycle", 0)


def test_classes_that_only_one_counts() -> None:
    # Diag-HOI's code leaves classes without a true positive out of the mean.
    annotations = scenes([image("a.jpg", ANNOTATED, [*TRUTH, (0, 2, WASH)])], scored=False)
    rows = [RIDES, [*RIDES, (0, 2, WASH, 0.3)], [*RIDES, (1, 3, WASH, 0.3)]]
    found = [
        diagnose(annotations, scenes([image("a.jpg", PREDICTED, each)], scored=True), "diag-hoi")
        for each in rows
    ]
    # Without any prediction a class counts 0; with a wrong one alone it does not count.
    assert ap_difference(found[0], found[1]).means["full"]["classes"] == 0.0
    means = ap_difference(found[0], found[2]).means["full"]
    assert means["total"] == pytest.approx(0.5)
    assert means["classes"] == pytest.approx(0.5)


def test_other_protocols_and_annotations_are_refused() -> None:
    first = diagnosed(*RIDES)
    predictions = scenes([image("a.jpg", PREDICTED, RIDES)], scored=True)
    annotations = scenes([image("a.jpg", ANNOTATED, TRUTH)], scored=False)
    washed = scenes([image("a.jpg", ANNOTATED, [(0, 2, WASH)])], scored=False)
    for other, message in (
        (diagnose(annotations, predictions, "diag-hoi"), "different protocols"),
        (diagnose(washed, predictions), "other annotations"),
    ):
        for function in (ap_difference, transitions):
            with pytest.raises(InputError, match=message):
                function(first, other)


# What becomes of annotated triplets.


def test_fates_of_annotated_triplets() -> None:
    first = diagnosed(RIDES[0], (1, 3, WASH, 0.4), label="first")
    second = diagnosed((5, 2, RIDE, 0.9), label="second")
    found = transitions(first, second)
    names = [[FATES[place] for place in fate] for fate in found.fate.tolist()]
    assert names == [["true_positive", "action"], ["human_box", "missed_gt"]]
    result = found.to_dict()
    assert (result["annotated"], result["only_first"], result["only_second"]) == (2, 1, 0)
    assert result["matrix"]["true_positive"]["human_box"] == 1
    assert result["matrix"]["action"]["missed_gt"] == 1
    assert found.matrix(np.array([True, False])).sum() == 1
    back = transitions(second, first)
    for both, first_alone, second_alone in ((found, 1, 0), (back, 0, 1)):
        assert both.only_first.sum() == first_alone
        assert both.only_second.sum() == second_alone


def test_a_prediction_with_two_wrong_boxes_attempts_nothing() -> None:
    # The rule of V-COCO assigns annotated triplets to some of them.
    one = diagnosed((5, 4, RIDE, 0.9))
    assigned = replace(one.ledger, row_annotation=np.zeros(1, dtype=np.int64))
    assert assigned.row_label.tolist() == [LABELS.index("both_boxes")]
    found = transitions(replace(one, ledger=assigned), one)
    assert found.to_dict()["matrix"]["missed_gt"]["missed_gt"] == 2


@given(problem=problems(), rows=st.randoms(use_true_random=False))
def test_transitions_hold_the_counts_of_both(problem, rows) -> None:
    annotations, predictions = problem
    order = list(range(len(predictions.scores)))
    rows.shuffle(order)
    other = replace(predictions, triplet_score=predictions.scores[np.array(order, dtype=int)])
    first, second = (diagnose(annotations, each) for each in (predictions, other))
    found = transitions(first, second)
    matrix = found.matrix()
    assert matrix.sum() == len(found.annotation_class)
    for each, counts in ((first, matrix.sum(axis=1)), (second, matrix.sum(axis=0))):
        assert counts[0] == each.errors["true_positive"]
        assert counts[-1] == each.lost["triplets"]
    np.testing.assert_array_equal(transitions(second, first).matrix(), matrix.T)
    np.testing.assert_array_equal(transitions(first, first).matrix(), np.diag(matrix.sum(axis=1)))


def test_images_may_be_in_another_order_and_left_out() -> None:
    names = ["a.jpg", "b.jpg", "c.jpg"]
    annotations = scenes([image(name, ANNOTATED, TRUTH) for name in names], scored=False)
    found = [
        image("a.jpg", PREDICTED, [(0, 2, RIDE, 0.9)]),
        image("b.jpg", PREDICTED, [(5, 2, RIDE, 0.8), (1, 3, RIDE, 0.7)]),
    ]
    first = diagnose(annotations, scenes(found[:1], scored=True))
    second = diagnose(annotations.take([1, 0, 2]), scenes(found, scored=True))
    assert first.names.tolist() != second.names.tolist()
    matrix = transitions(first, second).to_dict()["matrix"]
    assert matrix["true_positive"] == dict.fromkeys(FATES, 0) | {"true_positive": 1}
    assert matrix["missed_gt"] == dict.fromkeys(FATES, 0) | {
        "true_positive": 1,
        "human_box": 1,
        "missed_gt": 3,
    }
    difference = ap_difference(first, second).means["full"]
    assert difference["total"] == second.mean_ap["full"] - first.mean_ap["full"]
