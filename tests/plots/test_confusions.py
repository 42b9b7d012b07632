"""The figure of wrong verbs on annotated pairs."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from support.figures import complaints
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, WASH, image, scenes
from support.semantic import identity

from diaghoi import diagnose, plots
from diaghoi.diagnosis.saved import scenes_of
from diaghoi.exceptions import InputError
from diaghoi.plots import DOUBLE_COLUMN, SINGLE_COLUMN, NotApplicable, Source, figure_of, notes_of
from diaghoi.plots.figures.confusions import SHOWN, confusions, confusions_table
from diaghoi.semantic import Similarity, evaluate
from diaghoi.semantic.diagnosis import semantic_diagnosis

FOUND = [
    {"predicted": "ride", "annotated": "sit on", "similarity": 0.4, "count": 3, "delta_map": 0.006},
    {"predicted": "hold", "annotated": "carry", "similarity": 0.9, "count": 9, "delta_map": 0.002},
    {"predicted": "eat", "annotated": "wash", "similarity": 0.0, "count": 1, "delta_map": -0.001},
    {"predicted": "pet", "annotated": "hug", "similarity": 0.5, "count": 1, "delta_map": None},
]


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_it_is_registered():
    assert plots.FIGURES["confusions"] is plots.FIGURES["confusions"]


def test_the_table_is_in_percent_points():
    costs = confusions_table(FOUND)
    assert [cost.delta for cost in costs] == [pytest.approx(each) for each in (0.6, 0.2, -0.1)]
    assert [cost.similarity for cost in costs] == [0.4, 0.9, 0.0]
    assert len(confusions_table(FOUND * 10)) == SHOWN


def test_bars_stand_from_the_most_costly_down():
    ax = confusions(confusions_table(FOUND))
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["ride (sit on)", "hold (carry)", "eat (wash)"]
    assert [bar.get_width() for bar in ax.patches[:3]] == [
        pytest.approx(each) for each in (0.6, 0.2, -0.1)
    ]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    # The numbers at the ends are those of the x-axis; similarity is the shade alone.
    shown = set(words(ax.figure))
    assert {"0.60", "0.20", "−0.10"} <= shown
    assert not {"0.40", "0.90", "0.00"} & shown
    assert {"Similarity of the two verbs", "0.5 or more", "below 0.5", "0"} <= shown
    # Three shades for three kinds.
    assert len({bar.get_facecolor() for bar in ax.patches[:3]}) == 3


def test_the_names_are_explained(models_of):
    alone = confusions(confusions_table(FOUND)).figure
    study = figure_of(
        plots.FIGURES["confusions"], models_of(plots.FIGURES["confusions"], 3), DOUBLE_COLUMN
    )
    own = Figure().add_subplot()
    confusions(confusions_table(FOUND), own)
    for figure in (alone, study, own.figure):
        text = " ".join(notes_of(figure))
        assert "Wrong verb (verb annotated for the pair" in text
        assert "Another prediction may find the annotated verb" in " ".join(text.split())
        assert "→" not in text


def test_a_confusion_costs_the_same_here_and_in_the_semantic_evaluation(sources):
    source = sources[0]
    vocabulary = source.diagnosis.vocabulary
    # Whatever the table of similarity says.
    values = np.eye(len(vocabulary.verbs)) * 0.5 + 0.5
    verbs = Similarity(names=vocabulary.verbs, values=values, name="alike")
    tables = verbs, identity(vocabulary.objects)
    diagnosis = source.diagnosis
    evaluation = evaluate(*scenes_of(diagnosis), *tables, protocol=diagnosis.protocol)
    meaning = semantic_diagnosis(evaluation).to_dict()
    here = [tuple(cost)[:3] for cost in plots.FIGURES["confusions"].data(source)]
    there = [
        tuple(cost)[:3]
        for cost in plots.FIGURES["confusions"].data(Source(result={"diagnosis": meaning}))
    ]
    assert here == there


def test_a_confusion_is_between_verbs_of_the_same_boxes():
    """The assigned triplet may be what the person does with another object."""
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (BICYCLE, (50, 50, 69, 69))]
    truth = scenes([image("a.jpg", boxes, [(0, 2, WASH), (0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes[:2], [(0, 1, HOLD, 0.9, 0.9)])], scored=True)
    diagnosis = diagnose(truth, found)
    (assigned,) = diagnosis.ledger.row_annotation
    assert truth.triplet_verb[diagnosis.ledger.annotation_input[assigned]] == WASH
    source = Source(result=diagnosis.to_dict(), diagnosis=diagnosis)
    (cost,) = plots.FIGURES["confusions"].data(source)
    assert (cost.predicted, cost.annotated) == ("hold", "ride")


def test_a_saved_result_with_its_diagnosis_is_enough():
    data = plots.FIGURES["confusions"].data(Source(result={"diagnosis": {"confusions": FOUND}}))
    assert data == confusions_table(FOUND)
    report = {"oracles": {}, "semantic": {"diagnosis": {"confusions": FOUND}}}
    assert plots.FIGURES["confusions"].data(Source(result=report)) == data


def test_without_table_there_is_no_similarity(sources):
    data = plots.FIGURES["confusions"].data(sources[0])
    assert 0 < len(data) <= SHOWN
    assert all(cost.similarity is None for cost in data)
    assert [cost.delta for cost in data] == sorted((c.delta for c in data), reverse=True)


def test_nothing_to_draw():
    with pytest.raises(NotApplicable, match="a saved result is not enough"):
        plots.FIGURES["confusions"].data(Source(result={}))
    with pytest.raises(NotApplicable, match="no annotated pair has a wrong verb"):
        plots.FIGURES["confusions"].data(Source(result={"diagnosis": {"confusions": []}}))
    with pytest.raises(InputError, match="there is nothing to draw for confusions"):
        confusions([])
    with pytest.raises(InputError, match="'confusions' cannot be drawn"):
        confusions_table([{"predicted": "ride"}])


@pytest.mark.slow
@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
@pytest.mark.parametrize("number", [1, 3, 12])
def test_no_words_overlap_or_leave_the_paper(models_of, width, number):
    long = " with a backbone that has a very long name"
    figure = figure_of(
        plots.FIGURES["confusions"], models_of(plots.FIGURES["confusions"], number, long), width
    )
    assert complaints(figure) == []
