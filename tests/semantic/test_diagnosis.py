"""What action and object errors mean, and what they cost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from support import v_coco
from support.scenes import (
    BICYCLE,
    CAR,
    HOLD,
    NO_INTERACTION,
    PERSON,
    RIDE,
    VOCABULARY,
    WASH,
    image,
    problems,
    scenes,
)
from support.semantic import error_table, identity

from diaghoi import diagnose, simulate
from diaghoi.cases.similarities import KINDS
from diaghoi.diagnosis.saved import scenes_of
from diaghoi.exceptions import InputError
from diaghoi.report.examples import examples_text
from diaghoi.report.semantic import semantic_tables
from diaghoi.semantic import Measure, Similarity, evaluate, read_similarity
from diaghoi.semantic.confusions import PartialOracle, word_confusions
from diaghoi.semantic.diagnosis import semantic_diagnosis
from diaghoi.semantic.examples import examples_of

CARRY = VOCABULARY.verbs.index("carry")
OBJECTS = identity(VOCABULARY.objects)
MAN, BIKE, FAR = (0, 0, 9, 9), (10, 0, 19, 9), (50, 50, 69, 69)
BOXES = [(PERSON, MAN), (BICYCLE, BIKE)]


def table(names, pairs) -> Similarity:
    values = np.eye(len(names))
    for (one, other), value in pairs.items():
        values[one, other] = values[other, one] = value
    return Similarity(names=tuple(names), values=values, name="hand-made")


VERBS = table(VOCABULARY.verbs, {(RIDE, HOLD): 0.6, (RIDE, WASH): 0.4})


def diagnosed(annotated, predicted, boxes=None, objects=OBJECTS):
    truth = scenes([image("a.jpg", BOXES, annotated)], scored=False)
    found = scenes([image("a.jpg", boxes or BOXES, predicted)], scored=True)
    return semantic_diagnosis(evaluate(truth, found, VERBS, objects))


def test_action_errors_are_near_plausible_or_wrong():
    found = diagnosed(
        [(0, 1, RIDE)],
        [(0, 1, HOLD, 0.9, 0.9), (0, 1, WASH, 0.8, 0.8), (0, 1, CARRY, 0.7, 0.7)],
    )
    cases = error_table(found)
    # Rows stand by class.
    kinds = dict(zip(cases["predicted"].tolist(), cases["kind"].tolist(), strict=True))
    assert kinds == {"hold bicycle": "near", "wash bicycle": "plausible"} | {
        name: "wrong" for name in kinds if name.startswith("carry")
    }
    assert set(cases["annotated"].tolist()) == {"ride bicycle"}
    similarity = dict(zip(cases["predicted"].tolist(), cases["similarity"].tolist(), strict=True))
    assert similarity["hold bicycle"] == pytest.approx(0.8)
    assert similarity["wash bicycle"] == pytest.approx(0.7)


def test_the_assigned_annotation_is_the_one_that_is_meant_where_its_boxes_are_found():
    # The first annotated triplet takes the prediction, though the second is more similar.
    found = diagnosed([(0, 1, CARRY), (0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9)])
    assert error_table(found)["annotated"].tolist() == ["carry bicycle"]


def test_an_error_that_is_not_assigned_means_the_most_similar_triplet_it_finds():
    found = diagnosed(
        [(0, 1, CARRY), (0, 1, RIDE)],
        [
            (0, 1, CARRY, 0.95, 0.9),
            (0, 1, RIDE, 0.9, 0.9),
            (0, 1, HOLD, 0.5, 0.5),
        ],
    )
    assert found.diagnosis.ledger.row_annotation[found.errors["action"].rows].tolist() == [-1]
    assert error_table(found)["annotated"].tolist() == ["ride bicycle"]


def test_an_action_error_does_not_mean_its_own_class_on_another_pair():
    truth = scenes(
        [image("a.jpg", [*BOXES, (BICYCLE, FAR)], [(0, 2, RIDE), (0, 1, CARRY)])], scored=False
    )
    found = scenes([image("a.jpg", BOXES, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    meaning = semantic_diagnosis(evaluate(truth, found, VERBS, OBJECTS))
    ledger = meaning.diagnosis.ledger
    (assigned,) = ledger.row_annotation[meaning.errors["action"].rows]
    assert truth.triplet_verb[ledger.annotation_input[assigned]] == RIDE
    cases = error_table(meaning)
    assert (cases["annotated"].tolist(), cases["kind"].tolist()) == (["carry bicycle"], ["wrong"])
    assert meaning.to_dict()["action"]["compared_with"].endswith("annotated at both boxes")


@pytest.mark.parametrize("theta", [0.5, 0.3])
def test_missing_the_object_of_its_own_class_is_no_confusion(theta):
    beside = (14, 0, 23, 9)  # IoU 6 / 14 with the bicycle
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    boxes = [(PERSON, MAN), (BICYCLE, beside)]
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    evaluation = evaluate(truth, found, VERBS, OBJECTS, measure=Measure(theta=theta))
    meaning = semantic_diagnosis(evaluation)
    ledger = meaning.diagnosis.ledger
    assert ledger.row_annotation[meaning.errors["object_box"].rows].tolist() == [0]
    assert error_table(meaning)["kind"].tolist() == ["nothing"]


@pytest.mark.parametrize("scenario", ["v-coco-s1", "v-coco-s2"])
def test_an_action_error_of_v_coco_means_what_its_person_does(scenario):
    def person(left, **doing):
        return {"box": (left, 0, left + 9, 9), "doing": doing, "ignored": False}

    truth = v_coco.annotations(
        [
            {
                "people": [person(0, hold=[0], stand=[]), person(40, cut=[0, 1])],
                "things": [(20, 0, 29, 9), (60, 0, 69, 9)],
            },
            {"people": [person(0, stand=[])], "things": []},
        ]
    )
    cut = {"cut instr": (None, 0.9)}
    found = v_coco.predictions([[{"box": (1, 0, 9, 9), "scores": cut}]] * 2)
    verbs = Similarity(names=("hold", "cut"), values=np.array([[1, 0.8], [0.8, 1]]), name="two")
    meaning = semantic_diagnosis(evaluate(truth, found, verbs, OBJECTS, protocol=scenario))
    # Standing has no role, so that it takes no part.
    assert error_table(meaning)["annotated"].tolist() == ["hold obj bicycle", ""]
    assert error_table(meaning)["kind"].tolist() == ["near", "nothing"]
    assert meaning.errors["action"].sigma[0] == pytest.approx(0.8)
    assert meaning.to_dict()["action"]["compared_with"] == "other actions of the annotated person"


def test_object_errors_mean_the_object_whose_box_they_find():
    things = table(VOCABULARY.objects, {(BICYCLE, CAR): 0.5})
    boxes = [(PERSON, MAN), (CAR, BIKE), (CAR, FAR)]
    found = diagnosed([(0, 1, WASH)], [(0, 1, WASH, 0.9, 0.9)], boxes, things)
    cases = error_table(found)
    assert cases["error"].tolist() == ["object_box"]
    assert cases["annotated"].tolist() == ["wash bicycle"]
    assert cases["similarity"].tolist() == [0.75]
    (confusion,) = found.object_confusions()
    assert (confusion["predicted"], confusion["annotated"]) == ("car", "bicycle")
    assert confusion["similarity"] == 0.5


def test_an_object_box_on_nothing_means_nothing():
    boxes = [(PERSON, MAN), (BICYCLE, FAR), (BICYCLE, BIKE)]
    predicted = [(0, 2, RIDE, 0.9, 0.9), (0, 1, RIDE, 0.8, 0.8)]
    found = diagnosed([(0, 1, RIDE)], predicted, boxes)
    cases = error_table(found)
    assert cases["kind"].tolist() == ["nothing"]
    assert cases["annotated"].tolist() == [""]
    assert np.isnan(cases["similarity"]).all()


@given(problems())
def test_similarities_are_those_of_the_cases(problem):
    truth, found = problem
    if not (truth.triplet_verb != NO_INTERACTION).any():
        return
    meaning = semantic_diagnosis(evaluate(truth, found, VERBS, OBJECTS))
    known, cases = meaning.similarities(), error_table(meaning)
    assert (known.kind >= 0).sum() == len(cases["kind"])
    ledger = meaning.diagnosis.ledger
    rows = np.concatenate([each.rows for each in meaning.errors.values()])
    for row, kind, value, meant in zip(
        rows, cases["kind"], cases["similarity"], cases["annotated"], strict=True
    ):
        similar = known.of(ledger.row_input[row])
        wanted = (None, kind, None) if np.isnan(value) else (value, kind, meant)
        assert tuple(similar) == wanted
    for kind in KINDS:
        assert known.of_kinds([kind]).sum() == (cases["kind"] == kind).sum()


def test_similarities_name_their_tables():
    known = diagnosed([(0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9)]).similarities()
    assert known.sigma == "sigma = 0.5 S_v + 0.5 S_o"
    assert known.tables["verbs"] == {"name": "hand-made", "source": ""}
    assert set(known.tables) == {"verbs", "objects"}


def test_costs_of_confusions_and_verbs():
    found = diagnosed([(0, 1, RIDE)], [(0, 1, HOLD, 0.9, 0.9), (0, 1, CARRY, 0.7, 0.7)])
    (confusion,) = found.verb_confusions()[:1]
    assert confusion == {
        "predicted": "hold",
        "annotated": "ride",
        "similarity": 0.6,
        "in_table": None,
        "count": 1,
        "not_found": 1,
        "delta_map": pytest.approx(1.0),
    }
    (verb,) = found.verbs()
    assert (verb["verb"], verb["count"], verb["delta_map"]) == ("ride", 2, pytest.approx(1.0))
    assert verb["shares"] == {"near": 0.5, "plausible": 0.0, "wrong": 0.5, "nothing": 0.0}
    result = found.to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    near = result["action"]["kinds"][0]
    assert (near["kind"], near["count"], near["delta_share"]) == ("near", 1, pytest.approx(1.0))


def test_a_pair_that_is_not_in_the_table_is_told_from_one_that_is_rated_0(tmp_path):
    (tmp_path / "v.csv").write_text("a,b,x,y\nride,hold,2,0\nride,wash,0,0\nwash,carry,0,1\n")
    (tmp_path / "o.csv").write_text("a,b,score\ncar,bus,1\n")
    verbs, objects = (read_similarity(tmp_path / f"{name}.csv") for name in "vo")
    predicted = [(0, 1, verb, 0.9, 0.9) for verb in (HOLD, WASH, CARRY)]
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", BOXES, predicted)], scored=True)
    meaning = semantic_diagnosis(evaluate(truth, found, verbs, objects))
    rows = {row["predicted"]: row for row in meaning.verb_confusions()}
    assert {name: row["in_table"] for name, row in rows.items()} == {
        "hold": True,
        "wash": True,
        "carry": False,
    }
    assert [rows[name]["similarity"] for name in ("hold", "wash", "carry")] == [0.25, 0, 0]
    result = evaluate(truth, found, verbs, objects).to_dict() | {"diagnosis": meaning.to_dict()}
    (table,) = (
        each
        for each in semantic_tables(result)
        if each.heads == ("Wrong verbs that cost the most",)
    )
    shown = {row.title.partition(",")[0]: row.cells[2].text for row in table.rows}
    assert shown == {"hold": "0.25", "wash": "0.00", "carry": "–"}


def test_of_a_square_table_no_pair_is_missing(tmp_path):
    np.savez(tmp_path / "v.npz", names=["ride", "hold"], values=np.eye(2))
    verbs = read_similarity(tmp_path / "v.npz")
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", BOXES, [(0, 1, HOLD, 0.9, 0.9)])], scored=True)
    (row,) = semantic_diagnosis(evaluate(truth, found, verbs, OBJECTS)).verb_confusions()
    assert (row["similarity"], row["in_table"]) == (0, None)


@pytest.mark.parametrize(("score", "missed"), [(0.95, 0), (None, 1)])
def test_an_annotated_verb_that_is_found_too_is_not_counted_as_not_found(score, missed):
    ride = [] if score is None else [(0, 1, RIDE, score, score)]
    found = diagnosed([(0, 1, RIDE)], [*ride, (0, 1, HOLD, 0.9, 0.9)])
    (confusion,) = found.verb_confusions()
    assert (confusion["count"], confusion["not_found"]) == (1, missed)
    diagnosis = found.diagnosis
    (same,) = word_confusions(diagnosis, *scenes_of(diagnosis))
    assert (same.count, same.not_found) == (1, missed)


def test_a_verb_is_found_if_it_is_found_on_any_of_the_boxes_that_are_reached():
    """Annotators draw boxes anew for each interaction, so that one pair can be annotated twice."""
    boxes = [*BOXES, (PERSON, (0, 0, 9, 10))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE), (2, 1, RIDE)])], scored=False)
    wrong = [(0, 1, HOLD, 0.8, 0.8)]
    for predicted, missed in ((wrong, 1), ([(2, 1, RIDE, 0.9, 0.9), *wrong], 0)):
        found = scenes([image("a.jpg", boxes, predicted)], scored=True)
        (confusion,) = word_confusions(diagnose(truth, found), truth, found)
        assert confusion.not_found == missed


def test_an_object_that_is_found_too_is_not_counted_as_not_found():
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    wrong = [(0, 2, RIDE, 0.8, 0.8)]
    for predicted, missed in ((wrong, 1), ([(0, 1, RIDE, 0.9, 0.9), *wrong], 0)):
        found = scenes([image("a.jpg", [*BOXES, (CAR, BIKE)], predicted)], scored=True)
        (confusion,) = word_confusions(diagnose(truth, found), truth, found, "object_box")
        assert (confusion.predicted, confusion.annotated) == (CAR, BICYCLE)
        assert (confusion.count, confusion.not_found) == (1, missed)


@given(problems())
def test_every_error_has_one_kind_and_costs_add_up(problem):
    truth, found = problem
    if not (truth.triplet_verb != NO_INTERACTION).any():
        return
    meaning = semantic_diagnosis(evaluate(truth, found, VERBS, OBJECTS))
    for error, meanings in meaning.errors.items():
        assert np.sum(list(meanings.kinds.values()), axis=0).tolist() == [1] * len(meanings.rows)
        costs, total = meaning.costs(error), meaning.diagnosis.oracles[error]["delta_map"]["full"]
        assert set(costs) == set(KINDS)
        if total is not None:
            assert sum(costs.values()) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("protocol", ["hico-det-520", "diag-hoi"])
@pytest.mark.parametrize("error", ["action", "object_box", "human_box", "association"])
def test_repairing_all_errors_of_a_kind_is_its_oracle(error, protocol):
    truth = simulate.annotations(40, np.random.default_rng(2))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(3))
    diagnosis = diagnose(truth, found, protocol)
    oracle = PartialOracle(diagnosis=diagnosis, error=error)
    whole = oracle.delta(oracle.error_rows)
    assert whole == pytest.approx(diagnosis.oracles[error]["delta_map"]["full"], abs=1e-12)
    assert oracle.delta(np.zeros_like(oracle.error_rows)) == 0


def test_there_is_no_diagnosis_without_scores():
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", BOXES, [(0, 1, RIDE, 0.9, 0.9)])], scored=True)
    with pytest.raises(InputError, match="needs scores"):
        semantic_diagnosis(evaluate(truth, found, VERBS, OBJECTS, scores=False))


def few_examples():
    truth = scenes(
        [
            image("exact.jpg", BOXES, [(0, 1, RIDE)]),
            image("near.jpg", BOXES, [(0, 1, RIDE), (0, 1, CARRY)]),
        ],
        scored=False,
    )
    found = scenes(
        [
            image("exact.jpg", BOXES, [(0, 1, RIDE, 0.9, 0.9)]),
            image(
                "near.jpg",
                [*BOXES, (PERSON, FAR)],
                [(0, 1, HOLD, 0.8, 0.8), (2, 1, WASH, 0.7, 0.7)],
            ),
        ],
        scored=True,
    )
    measure = Measure(tau=0)
    return evaluate(truth, found, VERBS, OBJECTS, measure=measure)


def test_examples_show_what_was_predicted_for_annotations():
    text = examples_text(examples_of(few_examples(), images=1))
    assert text == (
        "near.jpg\n"
        "  annotated: ride bicycle\n"
        "    predicted: hold bicycle (score 0.800)\n"
        "    similarity: verb 0.600, object 1.000, both 0.800\n"
        "  annotated: carry bicycle\n"
        "    nothing predicted\n"
        "  unmatched: wash bicycle (score 0.700)\n"
        "    most similar to: ride bicycle, verb 0.400, object 1.000, both 0.700\n"
    )
    assert [each.image for each in examples_of(few_examples())] == ["near.jpg"] * 3 + ["exact.jpg"]


@pytest.mark.parametrize(("scores", "said"), [(True, "3 best of 5"), (False, "3 of 5")])
def test_of_many_unmatched_predictions_it_is_said_how_many_there_are(scores, said):
    predicted = [(0, 1, RIDE, 0.9, 0.9), *((2, 1, RIDE, 0.1 * n, 0.1 * n) for n in range(1, 6))]
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", [*BOXES, (PERSON, FAR)], predicted)], scored=True)
    evaluation = evaluate(truth, found, VERBS, OBJECTS, measure=Measure(tau=0), scores=scores)
    listed = examples_of(evaluation)
    assert [each.unmatched for each in listed] == [None, 5, 5, 5]
    text = examples_text(listed)
    assert f"\n  unmatched, {said}:\n  unmatched: ride bicycle" in text
    assert text.count("unmatched: ") == 3


def test_examples_are_written_for_programs_too():
    chosen = examples_of(few_examples())
    rows = json.loads(examples_text(chosen, ".json"))
    assert rows[0]["total"] == 0.8
    assert rows[1]["predicted"] == ""
    assert examples_text(chosen, ".csv").startswith("image,annotated,predicted")
