"""Soft mAP, mF1 and miss rates."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import (
    BICYCLE,
    CAR,
    EAT,
    HOLD,
    HUG,
    NO_INTERACTION,
    PERSON,
    RIDE,
    VOCABULARY,
    WASH,
    image,
    problems,
    scenes,
)
from support.semantic import identity
from support.shoe import KEYS

from diaghoi import read_annotations, read_predictions, simulate
from diaghoi.data.vocabulary import Vocabulary, v_coco
from diaghoi.exceptions import InputError
from diaghoi.semantic import Measure, Similarity, evaluate, read_similarity
from diaghoi.semantic.examples import examples_of
from diaghoi.semantic.run_evaluation import score_ranks

VERBS, OBJECTS = identity(VOCABULARY.verbs), identity(VOCABULARY.objects)


def table(names, pairs) -> Similarity:
    values = np.eye(len(names))
    for (one, other), value in pairs.items():
        values[one, other] = values[other, one] = 1.0 if one == other else value
    return Similarity(names=tuple(names), values=values, name="drawn")


def figures(evaluation):
    result = evaluation.to_dict()
    return {key: result[key] for key in KEYS}


def annotated_really(truth) -> bool:
    return bool((truth.triplet_verb != NO_INTERACTION).any())


def same(found, expected):
    for key in KEYS:
        if expected[key] is None:
            assert found[key] is None, key
        else:
            assert found[key] == pytest.approx(expected[key], abs=1e-12), key


def test_golden(shared):
    folder = shared / "conformance"
    expected = json.loads((folder / "semantic/one_stage_expected.json").read_text())
    found = evaluate(
        read_annotations(folder / "hico_det_diagnosis/gt_wo_nointer.pkl"),
        read_predictions(folder / "hico_det_diagnosis/one_stage_preds.pkl"),
        read_similarity(folder / "semantic/verbs.csv"),
        read_similarity(folder / "semantic/objects.csv"),
    ).to_dict()
    for key in KEYS:
        assert found[key] == pytest.approx(expected[key], abs=1e-9), key
    assert found["counts"]["images"] == expected["images"]
    assert found["counts"]["classes"] == expected["classes"]


def test_images_by_the_thousand_are_matched_in_blocks():
    truth = simulate.annotations(40, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    # Fifty thousand predictions are a block.
    times = 50_000 // len(found.triplet_pair) + 2
    copies = np.tile(np.arange(len(truth)), times)
    names = np.array([f"{number}.jpg" for number in range(len(copies))])
    truth, found = (replace(each.take(copies), names=names) for each in (truth, found))
    done = []
    whole = evaluate(truth, found, VERBS, OBJECTS, progress=done.append)
    assert len(done) > 1
    assert sum(done) == len(copies)
    mixed = np.random.default_rng(2).permutation(len(copies))
    same(figures(evaluate(truth.take(mixed), found.take(mixed), VERBS, OBJECTS)), figures(whole))


@given(problems(), st.randoms(use_true_random=False))
def test_permuting_images_changes_nothing(problem, random):
    truth, found = problem
    if not annotated_really(truth):
        return
    # Equal scores of two images are ranked by the order of the images.
    distinct = np.linspace(0.1, 0.9, len(found.triplet_pair))
    found = replace(found, triplet_score=np.random.default_rng(0).permutation(distinct))
    order = list(range(len(found)))
    random.shuffle(order)
    other = list(range(len(truth)))
    random.shuffle(other)
    measure = Measure(weight=0.7)
    before = evaluate(truth, found, VERBS, OBJECTS, measure=measure)
    after = evaluate(truth.take(other), found.take(order), VERBS, OBJECTS, measure=measure)
    same(figures(after), figures(before))


LEVEL = st.floats(0, 1)


@given(LEVEL, LEVEL, LEVEL, LEVEL, LEVEL, st.sampled_from(["arithmetic", "geometric", "minimum"]))
def test_more_similarity_never_lowers_sigma(verb, thing, more, other_more, weight, combine):
    measure = Measure(weight=weight, combine=combine)
    one = measure.sigma(np.array([verb]), np.array([thing]))
    other = measure.sigma(np.array([max(verb, more)]), np.array([max(thing, other_more)]))
    assert other[0] >= one[0] - 1e-15
    assert -1e-15 <= one[0] <= 1 + 1e-15


MAN, BIKE, FAR = (0, 0, 9, 9), (10, 0, 19, 9), (50, 50, 69, 69)
TRUTH = [(PERSON, MAN), (BICYCLE, BIKE)]


def run(annotated, predicted, pairs=None, boxes=None, **measure):
    verbs = table(VOCABULARY.verbs, pairs or {})
    return evaluate(
        scenes([image("a.jpg", TRUTH, annotated)], scored=False),
        scenes([image("a.jpg", boxes or TRUTH, predicted)], scored=True),
        verbs,
        OBJECTS,
        measure=Measure(**measure),
    )


def test_a_similar_verb_earns_part_of_the_credit():
    found = run([(0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9)], {(RIDE, HOLD): 0.4})
    assert found.soft_map == pytest.approx(0.7 * 0.7)  # recall 0.7 at precision 0.7
    assert found.standard_map == 0
    assert found.classes["soft_ap"].tolist() == [pytest.approx(0.49)]
    assert found.miss_rates["gt_miss_rate"] == 0


def test_what_similarity_adds_is_the_difference_to_tables_in_which_nothing_is_similar():
    # A ride on nothing annotated is a false positive for AP alone: no gain by similarity.
    annotated = [image("a.jpg", TRUTH, [(0, 1, RIDE)]), image("b.jpg", TRUTH, [])]
    ride = (0, 1, RIDE, 0.9, 0.9)
    predicted = [image("a.jpg", TRUTH, [(0, 1, RIDE, 0.5, 0.5)]), image("b.jpg", TRUTH, [ride])]
    truth, found = scenes(annotated, scored=False), scenes(predicted, scored=True)
    (row,) = evaluate(truth, found, VERBS, OBJECTS).to_dict()["classes"]
    assert (row["soft_ap"], row["soft_ap_exact"], row["ap"]) == (1, 1, 0.5)
    gain = run([(0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9)], {(RIDE, HOLD): 0.4}).to_dict()
    # The object alone earns half of the credit.
    assert gain["splits"]["soft_map_exact"]["full"] == 0.25
    assert gain["classes"][0]["soft_ap_exact"] == 0.25
    assert gain["soft_map"] == pytest.approx(0.49)


@given(problems())
def test_tables_in_which_nothing_is_similar_add_nothing(problem):
    truth, found = problem
    if annotated_really(truth):
        figures = evaluate(truth, found, VERBS, OBJECTS).to_dict()["splits"]
        assert figures["soft_map_exact"] == figures["soft_map"]


# Figure 6 of the supplement: only "pet a giraffe" is annotated in the picture.
GIRAFFE = VOCABULARY.objects.index("giraffe")
PET, FEED = map(VOCABULARY.verbs.index, ("pet", "feed"))


@pytest.fixture
def giraffes(tmp_path):
    """Predictions "touch" (0.4) and "feed" (0.9) where "pet" is annotated, with other images."""
    boxes = [(PERSON, MAN), (GIRAFFE, BIKE)]
    shared = {"image": "a.jpg", "human_box": MAN, "object_box": BIKE, "object": "giraffe"}
    lines = [{**shared, "verb": "feed", "score": 0.9}, {**shared, "verb": "touch", "score": 0.4}]
    (tmp_path / "words.json").write_text(json.dumps(lines))
    verbs = table(("pet", "touch", "feed"), {(0, 1): 0.55, (0, 2): 0.3})

    def evaluated(*elsewhere: int, **measure):
        truth = [image("a.jpg", boxes, [(0, 1, PET)])]
        truth += [image(f"{verb}.jpg", boxes, [(0, 1, verb)]) for verb in elsewhere]
        found = read_predictions(tmp_path / "words.json", dataset="hico-det")
        measured = Measure(tau=0, **measure)
        return evaluate(scenes(truth, scored=False), found, verbs, OBJECTS, measure=measured)

    return evaluated


def test_a_wrong_prediction_counts_against_a_class_of_its_image_or_of_the_data_set(giraffes):
    # "touch" takes the annotation with 0.5 * (0.55 + 1); "feed" ranks above it.
    by_image = giraffes()
    assert by_image.classes["soft_ap"].tolist() == [pytest.approx(0.775 * 0.775 / 2)]
    assert by_image.classes["precision"].tolist() == [pytest.approx(0.775 / 2)]
    by_class = giraffes(rule="figure")
    assert by_class.classes["soft_ap"].tolist() == [pytest.approx(0.775 * 0.775)]
    assert by_class.classes["precision"].tolist() == [pytest.approx(0.775)]
    # Where "feed a giraffe" is annotated as well, the prediction counts against it.
    both = giraffes(FEED, rule="figure")
    assert dict(zip(both.classes["name"], both.classes["soft_ap"], strict=True)) == {
        "pet giraffe": pytest.approx(0.775 * 0.775),
        "feed giraffe": 0,
    }
    matched, free = examples_of(both, images=1)
    assert (matched.annotated, matched.predicted) == ("pet giraffe", "touch giraffe")
    assert matched.total == pytest.approx(0.775)
    assert (free.annotated, free.predicted, free.total) == ("feed giraffe", "feed giraffe", 1.0)
    assert examples_of(by_image)[1].annotated == "pet giraffe"


def test_the_rule_of_wrong_predictions_is_told(giraffes):
    algorithm, figure = (giraffes(rule=rule).to_dict() for rule in ("algorithm", "figure"))
    assert (algorithm["measure"]["rule"], figure["measure"]["rule"]) == ("algorithm", "figure")
    assert giraffes().measure.rule == "algorithm"
    for result, words in ((algorithm, "of its image"), (figure, "of the data set")):
        assert (
            f"false positives of the closest class {words} at sigma >= 0.5"
            in (result["measure"]["signature"])
        )


def test_by_the_figure_wrong_predictions_of_other_images_count_against_their_class():
    truth = [image("a.jpg", TRUTH, [(0, 1, RIDE)]), image("b.jpg", TRUTH, [])]
    ride, wash = (0, 1, RIDE, 0.9, 0.9), (0, 1, WASH, 0.8, 0.8)
    predicted = [
        image("a.jpg", TRUTH, [(0, 1, RIDE, 0.5, 0.5)]),
        image("b.jpg", TRUTH, [ride, wash]),
    ]
    # A verb that the table takes for "ride" counts against its own class, as in mAP.
    verbs = table(VOCABULARY.verbs, {(RIDE, WASH): 1})
    for weight in (0.5, 1.0):
        (row,) = evaluate(
            scenes(truth, scored=False),
            scenes(predicted, scored=True),
            verbs,
            OBJECTS,
            measure=Measure(rule="figure", weight=weight),
        ).to_dict()["classes"]
        assert row["soft_ap"] == row["ap"] == 0.5


def test_the_most_similar_prediction_is_taken_whatever_its_score():
    found = run([(0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9), (0, 1, RIDE, 0.1, 0.1)])
    assert found.matched.prediction.tolist() == [1]
    assert found.matched.sigma.tolist() == [1.0]
    # The other one is charged to the class and ranks above it.
    assert found.soft_map == pytest.approx(0.5)


def test_of_equally_similar_predictions_the_higher_score_is_taken_then_the_earlier():
    found = run(
        [(0, 1, RIDE)],
        [(0, 1, HOLD, 0.3, 0.3), (0, 1, WASH, 0.5, 0.5), (0, 1, HUG, 0.5, 0.5)],
        {(RIDE, HOLD): 0.4, (RIDE, WASH): 0.4, (RIDE, HUG): 0.4},
    )
    assert found.matched.prediction.tolist() == [1]


def test_annotated_triplets_take_in_stored_order():
    pairs = {(RIDE, HOLD): 0.4}
    first = run([(0, 1, RIDE), (0, 1, HOLD)], [(0, 1, HOLD, 0.9, 0.9)], pairs)
    assert first.matched.prediction.tolist() == [0, -1]
    other = run([(0, 1, HOLD), (0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9)], pairs)
    assert other.matched.prediction.tolist() == [0, -1]
    assert other.matched.sigma.tolist() == [1.0, 0.0]


def test_scores_below_zero_rank_what_was_missed_last_too():
    annotated, boxes = [(0, 1, RIDE), (2, 1, RIDE)], [*TRUTH, (PERSON, FAR)]
    truth = scenes([image("a.jpg", boxes, annotated)], scored=False)
    found = [
        evaluate(
            truth,
            scenes([image("a.jpg", TRUTH, [(0, 1, RIDE, score, score)])], scored=True),
            VERBS,
            OBJECTS,
        ).soft_map
        for score in (0.9, -0.1)
    ]
    assert found == [0.5, 0.5]


def test_a_missed_triplet_comes_before_wrong_predictions_of_score_zero_in_later_images():
    """Algorithm 1 lists what is missed with score 0, in the order of the images."""
    names = ["a.jpg", "b.jpg"]
    truth = scenes([image(name, TRUTH, [(0, 1, RIDE)]) for name in names], scored=False)
    rows = [[], [(0, 1, RIDE, 0.0, 0.0)]]
    found = [image(name, TRUTH, row) for name, row in zip(names, rows, strict=True)]
    result = evaluate(truth, scenes(found, scored=True), VERBS, OBJECTS)
    assert result.soft_map == pytest.approx(1 / 4)


def test_of_equal_scores_what_is_annotated_in_an_image_comes_before_its_wrong_predictions():
    """Images come one after the other: only those of earlier images can precede."""
    names = [f"{number}.jpg" for number in range(4)]
    boxes = [*TRUTH, (PERSON, FAR)]
    truth = scenes([image(name, boxes, [(0, 1, RIDE)]) for name in names], scored=False)
    rows = [(0, 1, RIDE, 0.5, 0.5), (2, 1, RIDE, 0.5, 0.5)]
    found = scenes([image(name, boxes, rows) for name in names], scored=True)
    precision = [(n + 1) / (2 * n + 1) for n in range(4)]
    assert evaluate(truth, found, VERBS, OBJECTS).soft_map == pytest.approx(np.mean(precision))


def test_no_interaction_may_be_the_first_verb_of_a_data_set():
    data = Vocabulary(
        name="small", objects=("person", "cup"), verbs=("no_interaction", "hold"), person=0,
        class_object=np.array([1, 1]), class_verb=np.array([0, 1]), no_interaction=0,
        protocol=VOCABULARY.protocol,
    )  # fmt: skip
    boxes = [(0, MAN), (1, BIKE)]
    truth, found = (
        replace(scenes([image("a.jpg", boxes, rows)], scored=scored), vocabulary=data)
        for rows, scored in (([(0, 1, 1), (0, 1, 0)], False), ([(0, 1, 1, 0.9, 0.9)], True))
    )
    tables = identity(data.verbs), identity(data.objects)
    result = evaluate(truth, found, *tables, protocol="hico-det-520")
    assert result.soft_map == 1
    assert len(result.annotated.rows) == 1


def test_a_result_shows_its_scores():
    truth = [(0, 1, RIDE)]
    assert "soft mAP 100.00 %" in repr(run(truth, [(0, 1, RIDE, 0.9, 0.9)]))
    unscored = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    unscored = replace(unscored, triplet_score=None, triplet_action_score=None)
    annotations = scenes([image("a.jpg", TRUTH, truth)], scored=False)
    assert "soft mAP undefined" in repr(evaluate(annotations, unscored, VERBS, OBJECTS))


def test_categories_of_boxes_do_not_count():
    boxes = [(PERSON, MAN), (CAR, BIKE)]
    found = run([(0, 1, RIDE)], [(0, 1, RIDE, 0.9, 0.9)], boxes=boxes)
    assert found.matched.prediction.tolist() == [0]
    assert found.matched.sigma.tolist() == [0.5]


def test_what_nothing_took_is_charged_from_delta_on():
    boxes = [*TRUTH, (PERSON, FAR)]
    predicted = [(0, 1, RIDE, 0.5, 0.5), (2, 1, HOLD, 0.9, 0.9)]
    charged = run([(0, 1, RIDE)], predicted, boxes=boxes, delta=0.5)
    free = run([(0, 1, RIDE)], predicted, boxes=boxes, delta=0.51)
    assert charged.soft_map == pytest.approx(0.5)
    assert free.soft_map == pytest.approx(1.0)
    assert charged.miss_rates == free.miss_rates


def test_tau_goes_by_the_rank_of_the_score():
    predicted = [(0, 1, RIDE, score, score) for score in (0.1, 0.11, 0.12, 0.9)]
    part = run([(0, 1, RIDE)], predicted, tau=0.6)
    assert part.counted is not None
    assert part.counted.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [
        ([], []),
        ([0.3], [1.0]),
        ([0.2, 0.9, 0.5], [0.0, 1.0, 0.5]),
        ([0.5, 0.5, 0.1], [1.0, 0.5, 0.0]),
    ],
)
def test_ranks_run_from_the_lowest_score_to_the_highest(scores, ranks):
    assert score_ranks(np.array(scores, dtype=float)).tolist() == ranks


@pytest.mark.parametrize("scores", [True, False])
def test_without_scores_every_prediction_counts(scores):
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE)])], scored=False)
    predicted = [(0, 1, RIDE, 0.1, 0.1), (0, 1, HOLD, 0.9, 0.9)]
    found = scenes([image("a.jpg", TRUTH, predicted)], scored=True)
    if scores:  # the file has none
        found = replace(found, triplet_score=None, triplet_action_score=None)
    result = evaluate(truth, found, VERBS, OBJECTS, scores=scores)
    figures = result.to_dict()
    assert figures["soft_map"] is None
    assert figures["map"] is None
    assert figures["counts"]["predicted_triplets_of_mf1"] == 2
    # One true positive, and one false one of the same class: F1 = 2/3.
    assert figures["mf1"] == pytest.approx(2 / 3)
    assert figures["prediction_miss_rate"] == 0.5
    assert "score rank" not in figures["measure"]["signature"]
    assert any("every prediction counts" in note for note in figures["notes"])
    assert json.dumps(figures, allow_nan=False)


def test_splits_and_classes():
    truth = scenes(
        [image("a.jpg", [*TRUTH, (CAR, BIKE)], [(0, 1, RIDE), (0, 2, WASH)])], scored=False
    )
    found = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    result = evaluate(truth, found, VERBS, OBJECTS).to_dict()
    assert set(result["splits"]["soft_map"]) == {"full", "rare", "non_rare"}
    assert result["splits"]["soft_map"]["full"] == result["soft_map"] == 0.5
    assert [row["name"] for row in result["classes"]] == ["ride bicycle", "wash car"]
    assert [row["soft_ap"] for row in result["classes"]] == [1.0, 0.0]
    assert result["classes"][0]["class"] == VOCABULARY.class_named["ride bicycle"] + 1


def test_all_classes_of_the_data_set_count_unless_the_protocol_leaves_some_out():
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE), (0, 1, NO_INTERACTION)])], scored=False)
    found = scenes([image("a.jpg", TRUTH, [(0, 1, NO_INTERACTION, 0.9, 0.9)])], scored=True)
    counted = evaluate(truth, found, VERBS, OBJECTS)
    assert (len(counted.annotated), len(counted.predicted)) == (2, 1)
    assert counted.to_dict()["class_set"] == {"name": "all", "number": 600}
    left_out = evaluate(truth, found, VERBS, OBJECTS, protocol="hico-det-520")
    assert (len(left_out.annotated), len(left_out.predicted)) == (1, 0)
    assert left_out.miss_rates["prediction_miss_rate"] is None
    assert left_out.to_dict()["class_set"] == {"name": "no_interaction left out", "number": 520}


def test_the_single_hoi_subset_has_images_with_one_human_object_pair():
    taller = (0, 0, 9, 10)  # IoU 10 / 11 with the man
    one = image("one.jpg", [*TRUTH, (PERSON, taller)], [(0, 1, RIDE), (2, 1, HOLD)])
    two = image("two.jpg", [*TRUTH, (BICYCLE, FAR)], [(0, 1, RIDE), (0, 2, WASH)])
    none = image("none.jpg", TRUTH, [])
    truth = scenes([none, two, one], scored=False)
    predicted = [(0, 1, RIDE, 0.9, 0.9), (0, 1, WASH, 0.8, 0.8)]
    found = scenes([image(name, TRUTH, predicted) for name in ("one.jpg", "two.jpg")], scored=True)
    single = evaluate(truth, found, VERBS, OBJECTS, measure=Measure(subset="single-hoi"))
    alone = evaluate(scenes([one], scored=False), found.take([0]), VERBS, OBJECTS)
    assert figures(single) == figures(alone)
    result = single.to_dict()
    assert result["counts"]["images"] == 1
    assert "images with a single human-object pair" in result["measure"]["signature"]
    with pytest.raises(InputError, match="no image has a single human-object pair"):
        evaluate(truth.take([0, 1]), found, VERBS, OBJECTS, measure=Measure(subset="single-hoi"))


def test_the_single_hoi_subset_has_575_classes_as_in_the_supplement(shared):
    truth = read_annotations(shared / "data/hico_det/instances_test2015.json")
    measure = Measure(subset="single-hoi")
    counts = evaluate(truth, truth, VERBS, OBJECTS, measure=measure).to_dict()["counts"]
    assert counts["classes"] == 575
    assert counts["images"] == 3923


def test_no_interaction_does_not_count_where_the_file_has_none():
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE)])], scored=False)
    predicted = [(0, 1, RIDE, 0.5, 0.5), (0, 1, NO_INTERACTION, 0.9, 0.9)]
    found = evaluate(truth, scenes([image("a.jpg", TRUTH, predicted)], scored=True), VERBS, OBJECTS)
    assert found.protocol.name == "hico-det-520"
    assert found.soft_map == 1


def test_tau_may_be_a_score_and_also_decide_on_soft_map():
    predicted = [(0, 1, HOLD, 0.9, 0.9), (0, 1, RIDE, 0.3, 0.3), (0, 1, WASH, 0.2, 0.2)]
    rank, score, both = (
        run([(0, 1, RIDE)], predicted, tau=0.3, **more)
        for more in ({}, {"tau_by": "score"}, {"tau_by": "score", "tau_before_map": True})
    )
    assert rank.counted.tolist() == [True, True, False]
    assert score.counted.tolist() == [True, True, False]
    assert run([(0, 1, RIDE)], predicted, tau=0.4).counted.tolist() == [True, True, False]
    assert run([(0, 1, RIDE)], predicted, tau=0.4, tau_by="score").counted.tolist() == [
        *(True, False, False)
    ]
    assert score.soft_map == both.soft_map == 0.5
    late = run([(0, 1, RIDE)], predicted, tau=0.4, tau_by="score", tau_before_map=True)
    assert late.soft_map == 0.25  # the match is HOLD, for its object alone
    assert late.to_dict()["measure"]["threshold"] == "mF1 and soft mAP: score >= 0.4"
    assert rank.to_dict()["measure"]["threshold"] == "mF1: score rank >= 0.3"


@pytest.mark.parametrize(
    ("integrator", "expected", "named"),
    [
        # Recall 0.5 at precision 0.5, 1 at 2/3: the envelope is 2/3 throughout.
        ("area", 2 / 3, "soft AP: area under the envelope |"),
        # From recall 0 at precision 0.
        ("trapezoid", 0.5 * 0.25 + 0.5 * (0.5 + 2 / 3) / 2, "soft AP: area under the curve by"),
        ("11-point", 2 / 3, "soft AP: 11-point |"),
    ],
)
def test_the_integrator_of_soft_map_is_a_choice(integrator, expected, named):
    boxes = [*TRUTH, (PERSON, FAR), (PERSON, (100, 100, 119, 119))]
    truth = scenes([image("a.jpg", boxes[:3], [(0, 1, RIDE), (2, 1, RIDE)])], scored=False)
    predicted = [(3, 1, RIDE, 0.9, 0.9), (0, 1, RIDE, 0.8, 0.8), (2, 1, RIDE, 0.7, 0.7)]
    found = evaluate(
        truth,
        scenes([image("a.jpg", boxes, predicted)], scored=True),
        VERBS,
        OBJECTS,
        measure=Measure(integrator=integrator),
    )
    assert found.soft_map == pytest.approx(expected)
    assert named in found.to_dict()["measure"]["signature"]


def test_trapezoids_start_with_the_precision_of_the_first_row():
    boxes = [*TRUTH, (PERSON, FAR), (PERSON, (100, 100, 119, 119))]
    truth = scenes([image("a.jpg", boxes[:3], [(0, 1, RIDE), (2, 1, RIDE)])], scored=False)
    predicted = [(0, 1, RIDE, 0.9, 0.9), (3, 1, RIDE, 0.8, 0.8), (2, 1, RIDE, 0.7, 0.7)]
    found = scenes([image("a.jpg", boxes, predicted)], scored=True)
    result = evaluate(truth, found, VERBS, OBJECTS, measure=Measure(integrator="trapezoid"))
    assert result.soft_map == pytest.approx(0.5 * 1 + 0.5 * (1 / 2 + 2 / 3) / 2)


def test_levels_beyond_the_highest_recall_have_no_precision():
    boxes = [*TRUTH, (PERSON, (100, 100, 119, 119))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE), (2, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    measure = Measure(integrator="11-point")
    result = evaluate(truth, found, VERBS, OBJECTS, measure=measure)
    assert result.soft_map == pytest.approx(6 / 11)  # recall 0.5


def test_people_as_the_only_objects_are_compared():
    people = [(PERSON, (0, 0, 9, 9)), (PERSON, (20, 0, 29, 9))]
    truth = scenes([image("a.jpg", people, [(0, 1, HUG)])], scored=False)
    found = scenes([image("a.jpg", people, [(0, 1, HUG, 0.9, 0.9)])], scored=True)
    assert evaluate(truth, found, VERBS, OBJECTS).compares_objects


def test_combinations_that_are_no_class_take_part():
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, EAT)])], scored=False)
    found = scenes([image("a.jpg", TRUTH, [(0, 1, EAT, 0.9, 0.9)])], scored=True)
    result = evaluate(truth, found, VERBS, OBJECTS).to_dict()
    assert result["soft_map"] == 1
    assert result["classes"][0] == {
        "class": 0,
        "name": "eat bicycle",
        "annotated": 1,
        "soft_ap": 1.0,
        "soft_ap_exact": 1.0,
        "ap": None,
        "precision": pytest.approx(1, abs=1e-7),
        "recall": pytest.approx(1, abs=1e-7),
        "f1": pytest.approx(1, abs=1e-7),
    }


def test_top_cuts_the_predictions_of_an_image():
    from diaghoi.data.protocol import protocol

    truth = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE)])], scored=False)
    predicted = [(0, 1, RIDE, 0.1, 0.1), (0, 1, HOLD, 0.9, 0.9)]
    found = scenes([image("a.jpg", TRUTH, predicted)], scored=True)
    result = evaluate(truth, found, VERBS, OBJECTS, protocol=protocol("hico-det-520", top=1))
    assert len(result.predicted) == 1
    assert result.soft_map == pytest.approx(0.25)


def test_images_of_one_side_are_named():
    truth = scenes(
        [image(name, TRUTH, [(0, 1, RIDE)]) for name in ("a.jpg", "b.jpg")], scored=False
    )
    found = scenes(
        [image(name, TRUTH, [(0, 1, RIDE, 0.9, 0.9)]) for name in ("a.jpg", "c.jpg")], scored=True
    )
    result = evaluate(truth, found, VERBS, OBJECTS)
    assert result.miss_rates["gt_miss_rate_all_predictions"] == 0.5
    assert result.miss_rates["prediction_miss_rate_all_predictions"] == 0.5
    assert result.notes == (
        "1 annotated images are not in the prediction file; their triplets count as missed: b.jpg",
        "1 predicted images are not in the annotation file; their predictions match nothing: c.jpg",
    )


def test_words_that_a_table_lacks_are_counted_and_named():
    words = Similarity(names=("ride", "sit_on"), values=np.eye(2), name="two")
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    result = evaluate(truth, found, words, OBJECTS)
    assert result.soft_map == 1
    assert result.to_dict()["similarity"]["verbs"]["covered"] == 2
    (note,) = [note for note in result.notes if "'two'" in note]
    assert note == (
        "115 of 117 verbs are not in the table 'two' and are similar only to themselves: "
        "adjust, assemble, block, blow, board and 110 more"
    )


def test_objects_that_a_table_lacks_are_named() -> None:
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    objects = Similarity(names=("bicycle", "car"), values=np.eye(2), name="two")
    notes = evaluate(truth, found, VERBS, objects).notes
    assert any(note.startswith("78 of 80 objects are not in the table 'two'") for note in notes)


def test_the_first_object_of_a_data_set_is_named() -> None:
    boxes = [(PERSON, MAN), (PERSON, BIKE)]
    truth = scenes([image("a.jpg", boxes, [(0, 1, HUG)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, HUG, 0.9, 0.9)])], scored=True)
    result = evaluate(truth, found, VERBS, OBJECTS)
    assert result.classes["name"].tolist() == ["hug person"]


def test_predictions_of_v_coco_may_lack_objects() -> None:
    """Only verbs are compared then, and every action of the data set is an interaction."""
    data = v_coco()
    ride, hold = (data.verbs.index(name) for name in ("ride instr", "hold obj"))
    truth, found = (
        replace(scenes([image("1", TRUTH, rows)], scored=scored), vocabulary=data)
        for rows, scored in (([(0, 1, ride)], False), ([(0, 1, hold, 0.9, 0.9)], True))
    )
    found = replace(found, box_label=np.array([data.person, -1]))
    both = [
        found,
        replace(
            found,
            box_label=np.array([-1, data.person]),
            pair_human=np.array([1]),
            pair_object=np.array([0]),
            box_xyxy=found.box_xyxy[::-1],
        ),
    ]
    for predictions in both:
        result = evaluate(
            truth,
            predictions,
            identity(data.verbs),
            identity(data.objects),
            measure=Measure(rule="figure"),
        )
        assert "the predictions do not name their objects: only verbs are compared" in result.notes
        assert result.classes["name"].tolist() == ["ride instr"]
        words = Similarity(names=("ride",), values=np.eye(1), name="one")
        few = evaluate(truth, predictions, words, replace(words, name="no object")).notes
        assert any("verbs are not in the table 'one'" in note for note in few)
        assert not any("'no object'" in note for note in few)
        # The wrong one is closest to its own action, which is annotated nowhere.
        assert result.candidates.nearest_sigma.tolist() == [1.0]


@pytest.mark.parametrize(("annotated", "label"), [(HUG, BICYCLE), (RIDE, -1)])
def test_every_class_of_the_data_set_is_compared_by_the_figure(annotated: int, label: int) -> None:
    """People may be the only annotated objects, or predictions may lack objects."""
    thing = PERSON if annotated == HUG else BICYCLE
    boxes = [(PERSON, MAN), (thing, BIKE)]
    truth = scenes([image("a.jpg", boxes, [(0, 1, annotated)])], scored=False)
    found = scenes(
        [image("a.jpg", [(PERSON, MAN), (BICYCLE, FAR)], [(0, 1, HOLD, 0.9)])], scored=True
    )
    found = replace(found, box_label=np.array([PERSON, label]))
    result = evaluate(truth, found, VERBS, OBJECTS, measure=Measure(rule="figure"))
    assert result.candidates.nearest.tolist() == result.predicted.interaction.tolist()


def test_nothing_annotated_is_refused():
    truth = scenes([image("a.jpg", TRUTH, [(0, 1, NO_INTERACTION)])], scored=False)
    found = scenes([image("a.jpg", TRUTH, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    with pytest.raises(InputError, match="no annotated triplet is evaluated"):
        evaluate(truth, found, VERBS, OBJECTS, protocol="hico-det-520")


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"weight": 1.5}, "weight 1.5: must lie between 0 and 1"),
        ({"tau": -0.1}, "tau -0.1: must lie between 0 and 1"),
        ({"theta": 0}, "theta 0: boxes that do not overlap would match"),
        ({"combine": "arithmetik"}, "did you mean 'arithmetic'"),
        ({"delta": float("nan")}, "delta nan: must lie between 0 and 1"),
        ({"tau_by": "ranks"}, r"tau_by 'ranks': not known \(did you mean 'rank'"),
        ({"tau": float("inf"), "tau_by": "score"}, "tau inf: must be a finite number"),
        ({"rule": "figures"}, r"rule 'figures': not known \(did you mean 'figure'"),
        ({"integrator": "101-point"}, "give one of area, trapezoid, 11-point"),
    ],
)
def test_bad_choices_are_refused(choices, words):
    with pytest.raises(InputError, match=words):
        Measure(**choices)
