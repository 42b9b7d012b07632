"""Two readings of errors: captions and sentences say which one they go by, on V-COCO in full."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, scenes

from diaghoi import Diagnosis, diagnose, plots, protocol, simulate
from diaghoi.cases.causes import annotation_causes
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.explained import explained
from diaghoi.comparison.figures import comparison_tables
from diaghoi.comparison.selection import selected
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.transitions import FATES, MISSED
from diaghoi.data.boxes import box_iou
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import Column, Table, shown
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import ERRORS
from diaghoi.oracles.localised import LEFT_OUT, OWN_OBJECT, PUBLISHED
from diaghoi.plots import notes_of
from diaghoi.plots.figure import ModelData, Source
from diaghoi.report.extras import extra_tables
from diaghoi.report.html import page_model, write_comparison_html
from diaghoi.report.text import report_tables
from diaghoi.semantic.confusions import word_confusions
from diaghoi.statistics.attribution import attribute

LOST = "if no prediction finds a triplet's pair, the triplet is missed, not a wrong action"


def simulated(data_set: str, labels: str = "A") -> tuple[tuple[Scenes, ...], list[Diagnosis]]:
    """Return annotations and predictions of a data set, and a diagnosis of each label."""
    rng = np.random.default_rng(3)
    if data_set == "V-COCO":
        truth = simulate.v_coco_annotations(40, rng)
        found = [simulate.v_coco_detect(truth, rng) for _ in labels]
    else:
        truth = simulate.annotations(40, rng)
        found = [simulate.detect(truth, simulate.WEAK, rng) for _ in labels]
    diagnoses = [
        diagnose(truth, each, label=name) for each, name in zip(found, labels, strict=True)
    ]
    return (truth, *found), diagnoses


DATA_SETS = pytest.mark.parametrize("data_set", ["HICO-DET", "V-COCO"])


def says_own_object(text: str) -> bool:
    return OWN_OBJECT.lower() in " ".join(text.split())


def table_named(tables: Any, title: str) -> Table:
    (found,) = [table for table in tables if (table.title or table.heads[0]).startswith(title)]
    return found


@DATA_SETS
def test_costs_alone_are_of_the_reading_of_those_that_add_up(data_set: str) -> None:
    _, (diagnosis,) = simulated(data_set)
    found = attribute(diagnosis)
    assert found is not None
    read = diagnosis.oracles | diagnosis.localised
    alone = {name: read[name]["delta_map"]["full"] for name in ERRORS}
    assert alone == pytest.approx(
        {name: found.coalitions[frozenset([name])] - found.start for name in ERRORS}
    )
    result = diagnosis.to_dict() | {"attribution": found.to_dict()}
    table = table_named(
        extra_tables(result, [Column(key="full", title="Full")]), "What errors cost"
    )
    printed = {row.key: row.cells[0].shown for row in table.rows if row.key in ERRORS}
    assert printed == {name: shown(value, "points") for name, value in alone.items()}
    assert LOST in table.caption
    assert says_own_object(table.caption) == (data_set == "V-COCO")


@DATA_SETS
def test_causes_and_confusions_say_which_errors_are_wrong_actions(data_set: str) -> None:
    both, (diagnosis,) = simulated(data_set)
    causes = annotation_causes(diagnosis, *both)
    (verb, carried), *_ = (
        (each.predicted, each.annotated) for each in word_confusions(diagnosis, *both)
    )
    names = diagnosis.vocabulary.verbs
    taken = {"predicted": names[verb], "annotated": names[carried], "count": 1, "delta_map": 0.1}
    more = {"annotation_causes": causes.to_dict(), "confusions": {"verbs": [taken]}}
    tables = list(extra_tables(diagnosis.to_dict() | more, [Column(key="full", title="Full")]))
    own = data_set == "V-COCO"
    caption = table_named(tables, "False positives by").caption
    assert (
        "By the published rule, a wrong verb with an object box is an association" in caption
    ) == own
    assert says_own_object(table_named(tables, "Wrong verbs on").caption) == own
    if own:
        found = join(*both)[1]
        label = diagnosis.ledger.row_label[causes.row_cause == causes.names.index("other_verb")]
        pair = found.triplet_pair[diagnosis.ledger.row_input]
        boxed = found.pair_object[pair][causes.row_cause == causes.names.index("other_verb")] >= 0
        assert set(label[boxed]) == {LABELS.index("association")}
        assert LABELS.index("association") not in label[~boxed]


@DATA_SETS
def test_tables_of_comparisons_say_how_errors_are_read(data_set: str) -> None:
    _, diagnoses = simulated(data_set, "AB")
    comparison = compare(*diagnoses, explain=True)
    captions = {table.key: table.caption for table in comparison.tables}
    captions["compact"] = selected(comparison, ["compact"]).tables[0].caption
    own = data_set == "V-COCO"
    for name in ("localised", "difference"):
        assert says_own_object(captions[name]) == own, name
    for name in ("delta_map_full", "errors", "compact"):
        assert (PUBLISHED in captions[name]) == own, name
    if data_set == "HICO-DET":
        assert not [name for name in captions if "person's own object" in captions[name]]


@DATA_SETS
def test_action_map_says_what_it_leaves_out(data_set: str) -> None:
    _, (diagnosis,) = simulated(data_set)
    result = diagnosis.to_dict()
    tables = [*report_tables(result), *comparison_tables([StudyModel(label="A")], [result])]
    for title in ("Pairs, negatives", "Negatives and actions"):
        said = LEFT_OUT in table_named(tables, title).caption
        assert said == (data_set == "V-COCO")


@DATA_SETS
def test_the_sentence_of_a_difference_says_how_errors_are_read(data_set: str) -> None:
    _, (first, second) = simulated(data_set, "AB")
    found = explained(first, second)
    made = found.sentence.partition("made of ")[2].partition(". ")[0]
    assert says_own_object(made) == (data_set == "V-COCO")
    lost = dict(zip(FATES, found.annotated.matrix()[0], strict=True))
    most = max(FATES[1:], key=lost.__getitem__)
    assert f"{lost[most]:,} of them" in found.sentence
    read = most == MISSED or data_set == "V-COCO"
    assert (" on found pairs)." in found.sentence) == read


def test_triplets_without_an_attempt_are_missed_by_the_pair() -> None:
    """A wrong action elsewhere, and two wrong boxes, are assigned to triplets, but no attempts."""
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (20, 0, 29, 9)), (BICYCLE, (40, 0, 49, 9))]
    truth = scenes([image("a", boxes, [(0, 1, RIDE), (0, 2, HOLD)])], scored=False)
    found = [(0, 1, RIDE, 0.9), (0, 2, HOLD, 0.8)], [(0, 1, RIDE, 0.9), (0, 1, HOLD, 0.8)]
    first, second = (
        diagnose(truth, scenes([image("a", boxes, each)], scored=True), label=label)
        for each, label in zip(found, "AB", strict=True)
    )
    assert second.errors["missed_gt"] == 0
    sentence = explained(first, second).sentence
    assert "only A 1 (1 of them missed by B on found pairs)." in sentence


@DATA_SETS
def test_pages_and_figures_of_annotated_triplets_say_what_a_wrong_action_is(
    data_set: str, tmp_path: Path
) -> None:
    (truth, *found), diagnoses = simulated(data_set, "AB")
    own = data_set == "V-COCO"
    drawn = plots.transitions(diagnoses).figure
    models = [
        ModelData(
            label=f.label, data=plots.FIGURES["transitions"].data(Source(result={}, diagnosis=f))
        )
        for f in diagnoses
    ]
    for figure in (
        drawn,
        plots.figure_of(plots.FIGURES["transitions"], models, plots.SINGLE_COLUMN),
    ):
        assert says_own_object(" ".join(notes_of(figure)).lower()) == own
    pages = [page_model(d, (truth, each)) for d, each in zip(diagnoses, found, strict=True)]
    write_comparison_html(tmp_path / "c.html", compare(*diagnoses), pages)
    matrix = (tmp_path / "c.html").read_text().partition("These are errors on found pairs")[2]
    said = html.unescape(matrix.partition("</p>")[0])
    assert says_own_object(said) == own


@given(v_coco.problems(), st.sampled_from([1, 2]))
def test_what_the_page_says_of_errors_holds_on_v_coco(problem: tuple, scenario: int) -> None:
    """See ``BY_PERSON`` of :mod:`diaghoi.report.html.words`."""
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    diagnosis = diagnose_images(truth, found, protocol(f"v-coco-s{scenario}"))
    truth, found, _ = join(truth, found)
    of_label = {name: diagnosis.ledger.row_label == n for n, name in enumerate(LABELS)}
    pair = found.triplet_pair[diagnosis.ledger.row_input]
    human, role = found.pair_human[pair], found.pair_object[pair]
    enough = _reach(truth, found)
    people = truth.box_label == truth.vocabulary.person
    right, near = enough[human][:, people].any(axis=1), enough[human].any(axis=1)
    meets = enough[role].any(axis=1) & (role >= 0)
    assert (right & (role < 0))[of_label["action"]].all()
    assert not near[of_label["human_box"]].any()
    assert (right & ~meets)[of_label["object_box"]].all()
    assert not right[of_label["both_boxes"]].any()
    assert np.where(right, meets, near)[of_label["association"]].all()


def _reach(truth: Scenes, found: Scenes) -> Any:
    """(Bp, Ba) whether boxes of an image reach IoU 0.5; one more row, so that -1 reaches none."""
    overlap = np.zeros((len(found.box_xyxy) + 1, len(truth.box_xyxy)), dtype=bool)
    for row, box in enumerate(found.box_xyxy):
        mine = np.flatnonzero(truth.box_image == found.box_image[row])
        same = np.repeat(box[None], len(mine), axis=0)
        overlap[row, mine] = box_iou(same, truth.box_xyxy[mine], 1.0) >= 0.5
    return overlap
