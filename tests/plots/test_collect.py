"""From a study to the data of its figures."""

import gc
import json
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.figures import complaints

from diaghoi import simulate
from diaghoi.comparison.study import Model, Study
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.exceptions import InputError
from diaghoi.formats import write
from diaghoi.oracles import ORACLES
from diaghoi.plots import (
    FIGURES,
    Collection,
    FigureKind,
    ModelData,
    NotApplicable,
    collect,
    figure_of,
    joined,
    notes_of,
)
from diaghoi.plots.figure import source_of
from diaghoi.plots.style import DOUBLE_COLUMN, SINGLE_COLUMN
from diaghoi.report.json import write_json


def kind(data, needs="diagnoses"):
    return FigureKind(name="mine", title="Mine", needs=needs, data=data, draw=lambda *_: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Annotations, predictions of two detectors, and the results of both."""
    path = tmp_path_factory.mktemp("study")
    truth = simulate.annotations(12, np.random.default_rng(0))
    write(path / "truth.npz", truth)
    for name, detector in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE)):
        found = simulate.detect(truth, detector, np.random.default_rng(1))
        write(path / f"{name}.npz", found)
        result = diagnose(truth, found, label="saved").to_dict()
        write_json(path / f"{name}.json", result | {"notes": ["of all", f"of {name}"]})
    return path


def study(folder, *files, **more):
    models = tuple(
        Model(label=f"m{number}", file=folder / file) for number, file in enumerate(files)
    )
    return Study(models=models, **{"annotations": folder / "truth.npz"} | more)


def test_predictions_are_diagnosed(folder):
    mine = kind(lambda source: (source.diagnosis.label, len(source.diagnosis.scenes), source.hoi))
    found = collect(study(folder, "one.npz", "two.npz"), [mine])
    assert [model.data for model in found.models["mine"]] == [("m0", 1, None), ("m1", 1, None)]
    assert [model.label for model in found.models["mine"]] == ["m0", "m1"]
    assert found.models["mine"][0].protocol == "hico-det-520"
    assert found.left_out == {"mine": {}}
    assert list(found.results) == ["m0", "m1"]


def test_results_are_those_of_the_diagnosis(folder):
    def data(source):
        return source.result["oracles"]

    written = json.loads((folder / "one.json").read_text())["oracles"]
    found = collect(study(folder, "one.npz", "one.json"), [kind(data, "results")])
    fresh, saved = (model.data for model in found.models["mine"])
    assert fresh == saved == written


def test_what_the_study_tells_of_a_model_is_handed_on(folder):
    models = (Model(label="a", file=folder / "one.json", stage="one", backbone="R50"),)
    found = collect(Study(models=models), [kind(lambda source: None, "results")])
    (model,) = found.models["mine"]
    assert (model.stage, model.backbone) == ("one", "R50")
    assert found.results["a"]["label"] == "a"


def test_saved_results_need_no_annotations(folder):
    wanted = kind(lambda source: source.result["label"], "results")
    found = collect(study(folder, "one.json", annotations=None), [wanted])
    assert found.models["mine"][0].data == "m0"


def test_saved_results_are_left_out_where_they_do_not_do(folder):
    wanted = [kind(lambda source: 1)]
    found = collect(study(folder, "one.npz", "two.json"), wanted)
    assert [model.label for model in found.models["mine"]] == ["m0"]
    ((reason, labels),) = found.left_out["mine"].items()
    assert "a saved result is not enough for this figure" in reason
    assert labels == ["m1"]


def test_figures_may_leave_models_out(folder):
    def refuse(source):
        raise NotApplicable("no scores")

    found = collect(study(folder, "one.npz", "two.json"), [kind(refuse, "results")])
    assert found.models["mine"] == []
    assert found.left_out["mine"] == {"no scores": ["m0", "m1"]}


def test_notes_say_whose_they_are(folder):
    found = collect(study(folder, "one.json", "two.json"), [])
    assert found.notes[-3:] == ("of all", "m0: of one", "m1: of two")


def test_captions_say_that_costs_lose_classes(folder):
    mine, other = FIGURES["delta_map"], FIGURES["negatives_curve"]
    found = collect(study(folder, "one.npz"), [mine, other])
    (note,) = found.remarks.values()
    assert found.caption("delta_map").endswith(note)
    assert "drop out of the mean" in note
    assert "False negative up to " in note
    assert not collect(study(folder, "one.npz"), [other]).remarks
    result = json.loads((folder / "one.json").read_text())
    result["counts"] |= {"leave_mean_by_pair": {"missed_gt": {"full": 2}}}
    (folder / "lost.json").write_text(json.dumps(result))
    both = [FIGURES["delta_map_rare"], FIGURES["waterfall"]]
    remarks = collect(study(folder, "lost.json"), both).remarks.values()
    assert [remark.partition("gain: ")[2] for remark in remarks] == [
        note.partition("gain: ")[2],
        "Missed up to 2 classes.",
    ]


def test_progress_names_the_models(folder):
    told = []
    collect(study(folder, "one.json", "two.json"), [], progress=told.append)
    assert told == ["m0", "m1"]


@pytest.mark.parametrize("hoi", ["ride_bicycle", "ride bicycle"])
def test_a_class_goes_by_its_name(folder, hoi):
    found = collect(study(folder, "one.npz"), [kind(lambda source: source.hoi)], hoi=hoi)
    assert found.models["mine"][0].data == 18


def test_a_class_goes_by_its_number(folder):
    found = collect(study(folder, "one.npz"), [kind(lambda source: source.hoi)], hoi="7")
    assert found.models["mine"][0].data == 6


def test_a_class_is_of_no_use_to_saved_results(folder):
    found = collect(study(folder, "one.json"), [], hoi="ride bicycle")
    assert found.notes[0] == "class 'ride bicycle': not used; saved results show no single class"


def test_an_unknown_class(folder):
    with pytest.raises(InputError, match=r"class: unknown class 'ride bicicle' \(did you mean"):
        collect(study(folder, "one.npz"), [], hoi="ride bicicle")


def test_annotations_are_looked_for_where_the_study_has_none(folder):
    asked = []

    def locate(words):
        asked.append(words.name)
        return folder / "truth.npz", ["found"]

    wanted = study(folder, "one.npz", "two.npz", annotations=None)
    found = collect(wanted, [kind(lambda source: 1)], locate=locate)
    assert len(found.models["mine"]) == 2
    assert asked == ["hico-det"]
    assert found.notes[0] == "found"
    with pytest.raises(InputError, match="annotations: missing"):
        collect(wanted, [])


def test_models_on_different_data_sets_do_not_compare(folder, tmp_path):
    other = json.loads((folder / "one.json").read_text()) | {"dataset": "v-coco"}
    (tmp_path / "other.json").write_text(json.dumps(other))
    wanted = Study(
        models=tuple(
            Model(label=label, file=file)
            for label, file in (("a", folder / "one.json"), ("b", tmp_path / "other.json"))
        )
    )
    with pytest.raises(InputError, match="'a' is on hico-det, 'b' on v-coco"):
        collect(wanted, [])


def test_one_model_is_freed_before_the_next_is_read(folder, monkeypatch):
    alive: list[weakref.ref] = []

    def data(source):
        gc.collect()
        assert [reference() for reference in alive] == [None] * len(alive)
        alive.append(weakref.ref(source.diagnosis))

    collect(study(folder, "one.npz", "two.npz", "one.npz"), [kind(data)])
    assert len(alive) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_keeps_the_diagnosis(name):
    truth = simulate.annotations(30, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(1))
    diagnosis = diagnose(truth, found)
    source = source_of(diagnosis)
    references = [weakref.ref(diagnosis), weakref.ref(found)]
    data = FIGURES[name].data(source)
    del diagnosis, found, source
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert data is not None


# Several data sets.


def of(name: str, protocol: str, *labels: str) -> Collection:
    """Data of one data set, whose models have the cost of one error."""
    costs = {"oracles": {each: {"delta_map": {"full": 0.1}} for each in ORACLES}}
    models = [
        ModelData(label=label, data=costs, protocol=protocol, stage="one") for label in labels
    ]
    return Collection(
        models={"delta_map": models, "delta_map_rare": models},
        left_out={"delta_map": {"no pairs": ["odd"]}, "delta_map_rare": {}},
        results={label: {"dataset": name, "protocol": {"name": protocol}} for label in labels},
        notes=("a note",),
    )


def test_data_sets_are_joined_under_their_names() -> None:
    kinds = [FIGURES["delta_map"], FIGURES["delta_map_rare"]]
    both = joined([of("hico-det", "cdn", "A", "B"), of("v-coco", "v-coco-s1", "B")], kinds)
    models = both.models["delta_map"]
    assert [model.key for model in models] == ["HICO-DET: A", "HICO-DET: B", "V-COCO: B"]
    assert both.left_out["delta_map"] == {"no pairs": ["HICO-DET: odd", "V-COCO: odd"]}
    assert both.notes == ("HICO-DET: a note", "V-COCO: a note")
    assert "v-coco" in both.caption("delta_map")
    with pytest.raises(InputError, match="two are on hico-det under protocol cdn"):
        joined([of("hico-det", "cdn", "A"), of("hico-det", "cdn", "B")], kinds)


@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
def test_a_model_keeps_its_place_in_every_data_set(width: float) -> None:
    kind = FIGURES["delta_map"]
    both = joined([of("hico-det", "cdn", "A", "B"), of("v-coco", "v-coco-s1", "B")], [kind])
    figure = figure_of(kind, both.models["delta_map"], width)
    assert complaints(figure) == []
    panels = [ax for ax in figure.axes if ax.patches]
    assert [ax.get_title(loc="left") for ax in panels] == ["HICO-DET", "", "V-COCO", ""]
    colours = [[bar.get_facecolor() for bar in ax.patches] for ax in (panels[0], panels[2])]
    # Where a data set lacks a model, its bars are missing and those of the others are the same.
    assert set(colours[1]) < set(colours[0])
    assert notes_of(figure) == [
        "Protocol v-coco-s1: a wrong action with a person's own object is an association error."
    ]


@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
def test_figures_of_the_published_rule_say_what_it_is_on_v_coco(width: float) -> None:
    kind = FIGURES["delta_map"]
    for protocol, said in (("v-coco-s2", True), ("hico-det-520", False)):
        figure = figure_of(kind, of("any", protocol, "A").models["delta_map"], width)
        rule = "a wrong action with a person's own object is an association error."
        assert (f"Protocol {protocol}: {rule}" in notes_of(figure)) == said


def test_groups_of_classes_of_one_data_set() -> None:
    kind = FIGURES["delta_map_rare"]
    hico = of("hico-det", "cdn", "A")
    rare = {"oracles": {each: {"delta_map": {"full": 0.1, "rare": 0.2}} for each in ORACLES}}
    hico.models[kind.name][0] = replace(hico.models[kind.name][0], data=rare)
    both = joined([hico, of("v-coco", "v-coco-s1", "A")], [kind])
    figure = figure_of(kind, both.models[kind.name], DOUBLE_COLUMN)
    assert "HICO-DET, Rare classes" in [ax.get_title(loc="left") for ax in figure.axes]
    assert "V-COCO has no groups of classes." in notes_of(figure)
