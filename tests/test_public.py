"""The public face of the package, as somebody sees it who explores it in Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from inspect import isfunction, ismodule

import numpy as np
import pandas
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import diaghoi
from diaghoi import Diagnosis, InputError, plots, simulate

# What draws into one axes; each takes a diagnosis.
DRAWING = (
    *("delta_map", "waterfall", "error_shares", "error_profile", "pair_recall", "negatives_curve"),
    *("action_ap", "oracle_curve", "annotation_causes", "calibration", "confusions"),
    "operating_points",
    "slices",
)
# Those that a result in JSON is enough for.
FROM_RESULTS = ("delta_map",)


@pytest.fixture(scope="module")
def diagnoses() -> list[Diagnosis]:
    truth = simulate.annotations(40, np.random.default_rng(0))
    return [
        diaghoi.diagnose(
            truth, simulate.detect(truth, detector, np.random.default_rng(1)), label=label
        )
        for label, detector in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE))
    ]


def test_exploring_shows_public_names_alone() -> None:
    assert dir(diaghoi) == sorted(diaghoi.__all__)
    assert dir(plots) == sorted(plots.__all__)
    assert not [name for name in dir(plots) if ismodule(getattr(plots, name))]
    assert all(hasattr(diaghoi, name) for name in dir(diaghoi))
    assert all(isfunction(getattr(plots, name)) for name in DRAWING)
    with pytest.raises(AttributeError, match="module 'diaghoi' has no attribute 'diagnoze'"):
        _ = diaghoi.diagnoze


def test_importing_takes_along_nothing_that_is_slow() -> None:
    code = (
        "import sys, diaghoi; diaghoi.compare; "
        "print([name for name in ('matplotlib', 'pandas', 'scipy.stats') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", DRAWING)
def test_each_figure_draws_a_diagnosis(diagnoses: list[Diagnosis], name: str) -> None:
    draw: Callable[..., Axes] = getattr(plots, name)
    own = Figure().add_subplot()
    assert draw(diagnoses[0], own) is own
    assert own.has_data()


@pytest.mark.parametrize(
    "name", ["delta_map", "pair_recall", "negatives_curve", "action_ap", "calibration"]
)
def test_several_diagnoses_share_axes(diagnoses: list[Diagnosis], name: str) -> None:
    ax = getattr(plots, name)(diagnoses)
    legends = [*ax.figure.legends, *filter(None, [ax.get_legend()])]
    texts = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert any("one" in text for text in texts)
    assert any("two" in text for text in texts)


@pytest.mark.parametrize("name", DRAWING)
def test_results_are_drawn_or_say_what_is_missing(diagnoses: list[Diagnosis], name: str) -> None:
    draw, result = getattr(plots, name), diagnoses[0].to_dict()
    if name in FROM_RESULTS:
        assert draw(result).has_data()
        return
    with pytest.raises(InputError, match=r"saved result .*; give the predictions"):
        draw(result)


@pytest.mark.parametrize("name", DRAWING)
def test_what_is_no_detector_is_refused(diagnoses: list[Diagnosis], name: str) -> None:
    with pytest.raises(InputError, match="a detector to draw is a str; give its diagnosis or its"):
        getattr(plots, name)("one.json")
    if name in ("waterfall", "error_shares", "error_profile", "oracle_curve"):
        with pytest.raises(InputError, match="a detector to draw is a list; give its diagnosis"):
            getattr(plots, name)(diagnoses)


def test_a_figure_can_be_chosen(diagnoses: list[Diagnosis]) -> None:
    one, _ = diagnoses
    assert isinstance(one.plot("delta_map"), Axes)
    rows = [text.get_text() for text in one.plot("error_profile", by="object").get_yticklabels()]
    objects = {name.replace("_", " ") for name in one.vocabulary.objects}
    assert set(rows) <= objects | {"all others"}
    annotated = int(np.argmax(one.ledger.positives))
    name = one.vocabulary.class_name(annotated)
    for hoi in (name, annotated + 1):
        legend = plots.oracle_curve(one, hoi=hoi).figure.legends[0]
        assert legend.get_title().get_text().startswith(name)
    with pytest.raises(InputError, match=r"figure: 'waterfal' is not known \(did you mean 'water"):
        one.plot("waterfal")


def test_a_figure_of_a_study_takes_diagnoses(diagnoses: list[Diagnosis]) -> None:
    figure = plots.figure_of(plots.FIGURES["waterfall"], diagnoses, plots.DOUBLE_COLUMN)
    assert [ax.get_title("left") for ax in figure.axes] == ["one", "two"]


def test_tables_are_data_frames(diagnoses: list[Diagnosis]) -> None:
    for of in ("classes", "images"):
        frame = diagnoses[0].to_frame(of)
        table = getattr(diagnoses[0], of)
        assert list(frame.columns) == list(table)
        pandas.testing.assert_frame_equal(frame, pandas.DataFrame(table))
    assert len(diagnoses[0].to_frame()) == 520
    with pytest.raises(InputError, match="of: 'verbs' is not known; give one of classes, images"):
        diagnoses[0].to_frame("verbs")


def test_errors_and_cases_are_data_frames(diagnoses: list[Diagnosis]) -> None:
    errors = diagnoses[0].to_frame("errors").set_index("error")
    assert errors["number"]["action"] == diagnoses[0].errors["action"]
    gain = diagnoses[0].oracles["action"]["delta_map"]["full"]
    assert errors["delta_map_full"]["action"] == gain
    counts, right = diagnoses[0].counts, diagnoses[0].errors["true_positive"]
    assert errors["number"]["false_positive"] == counts["predicted_triplets"] - right > 0
    assert errors["number"]["false_negative"] == counts["annotated_triplets"] - right > 0
    assert errors["number"].dtype == int
    cases = diagnoses[0].to_frame("cases")
    assert set(cases["error"]) <= set(errors.index)
    for error, number in cases["error"].value_counts().items():
        assert number <= min(100, diagnoses[0].errors[str(error)])


def test_comparisons_are_data_frames(diagnoses: list[Diagnosis]) -> None:
    found = diaghoi.compare(*diagnoses, explain=True)
    frame = found.to_frame("map").set_index("model")
    assert frame["map.full"]["one"] == diagnoses[0].mean_ap["full"]
    with pytest.raises(InputError, match=r"table: 'mapp' is not known \(did you mean 'map'"):
        found.to_frame("mapp")
    fates = found.explained[0].annotated
    np.testing.assert_array_equal(fates.to_frame().drop(columns="fate").to_numpy(), fates.matrix())


def test_data_frames_need_pandas(diagnoses: list[Diagnosis], monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="to_frame needs pandas; install it with: pip install pa"):
        diagnoses[0].to_frame()


def test_intervals_are_those_of_the_bootstrap(diagnoses: list[Diagnosis]) -> None:
    from diaghoi.statistics.bootstrap import bootstrap

    found = diagnoses[0].bootstrap(100, seed=3)
    assert found == bootstrap(diagnoses[0], 100, seed=3)


def test_diagnoses_and_results_are_compared_alike(diagnoses: list[Diagnosis]) -> None:
    one, two = diagnoses
    found = diaghoi.compare(one, two)
    assert repr(found) == "<Comparison of one, two on HICO-DET, 40 images, protocol hico-det-520>"
    assert diaghoi.compare(one.to_dict(), two).to_dict() == found.to_dict()
    with pytest.raises(InputError, match="label 'one': used for two models; give each a label of"):
        diaghoi.compare(one, one)
    with pytest.raises(InputError, match="a detector to compare is a str; give diagnoses or"):
        diaghoi.compare("one.json", two)
    with pytest.raises(InputError, match="models: 0 are given for 1 detectors"):
        diaghoi.compare(one, models=[])


def test_errors_speak_of_parameters() -> None:
    error = InputError(
        "p: give --read top=3 (--pairs) or --read objects=hico80, not what --json writes to a--b"
    )
    assert str(error) == (
        'p: give `top=3` (`pairs`) or `objects="hico80"`, not what --json writes to a--b'
    )
