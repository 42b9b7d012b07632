"""The bars of ΔmAP: their data, and what is on the axes."""

import copy
import json
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support.figures import SIZES

from diaghoi import plots, simulate
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.exceptions import InputError
from diaghoi.oracles import ORACLES
from diaghoi.plots import notes_of
from diaghoi.plots.figures.delta_map import DeltaBar
from diaghoi.plots.style import colour
from diaghoi.statistics.bootstrap import bootstrap

DELTAS = dict(zip(ORACLES, (0.01, 0.03, -0.002, 0.08, 0.05, 0.1, 0.006, 0.32, 0.1), strict=True))


def result(label="one-stage", **changes):
    """What the figure uses of a report, in the form of its JSON file."""
    deltas = DELTAS | changes
    return {
        "label": label,
        "oracles": {
            name: {"delta_map": {"full": delta, "rare": 0.5, "non_rare": None}}
            for name, delta in deltas.items()
        },
    }


def bars(ax):
    """Height of each bar by its name, error/model."""
    return {bar.get_gid(): bar.get_height() for bar in ax.patches}


def drawn(ax):
    """Draw for real, with warnings as errors: the layout works."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.figure.draw_without_rendering()
    return ax


# Data


def test_table():
    rows = plots.delta_map_table([result("a"), result("b", action=None)])
    assert len(rows) == 18
    assert rows[0] == DeltaBar(model="a", oracle="human_box", delta=1.0)
    assert [row.oracle for row in rows[:9]] == list(ORACLES)
    assert [row.model for row in rows] == ["a"] * 9 + ["b"] * 9
    by_name = {(row.model, row.oracle): row.delta for row in rows}
    assert by_name["b", "action"] is None
    assert by_name["a", "both_boxes"] == pytest.approx(-0.2)


@pytest.mark.parametrize(("split", "value"), [("full", 1.0), ("rare", 50.0), ("non_rare", None)])
def test_table_of_a_split(split, value):
    assert plots.delta_map_table([result()], split=split)[0].delta == value


def test_table_of_some_oracles():
    rows = plots.delta_map_table([result()], oracles=["duplicate", "action"])
    assert [(row.oracle, row.delta) for row in rows] == [("duplicate", 10.0), ("action", 5.0)]


def test_table_takes_what_the_report_writes():
    scenes = simulate.annotations(40, np.random.default_rng(0))
    found = simulate.detect(scenes, simulate.TWO_STAGE, np.random.default_rng(1))
    written = diagnose(scenes, found, label="two-stage").to_dict()
    rows = plots.delta_map_table([json.loads(json.dumps(written))])
    assert [row.oracle for row in rows] == list(ORACLES)
    expected = written["oracles"]["action"]["delta_map"]["full"]
    assert rows[4].delta == pytest.approx(100 * expected)


def test_oracles_follow_the_registry_whatever_the_file_says():
    turned = result()
    turned["oracles"] = dict(reversed(turned["oracles"].items()))
    turned["oracles"] = {"new": turned["oracles"]["action"], **turned["oracles"]}
    assert [row.oracle for row in plots.delta_map_table([turned])] == [*ORACLES, "new"]


def test_an_oracle_that_one_model_lacks_is_undefined_there():
    old = result("old")
    del old["oracles"]["duplicate"]
    rows = plots.delta_map_table([result("new"), old])
    assert {row.model: row.delta for row in rows if row.oracle == "duplicate"} == {
        "new": 10.0,
        "old": None,
    }


def test_models_without_or_with_equal_labels_are_told_apart():
    rows = plots.delta_map_table([result(""), result("a"), result("a"), result(None), result("a")])
    names = list(dict.fromkeys(row.model for row in rows))
    assert names == ["model 1", "a", "a (2)", "model 4", "a (3)"]


def test_results_are_unchanged():
    given = [result("a"), result("a")]
    before = copy.deepcopy(given)
    plots.delta_map(given)
    assert given == before


# Axes


def test_bars_heights_and_names():
    ax = drawn(plots.delta_map([result("a"), result("b", action=0.2)]))
    assert len(ax.patches) == 18
    heights = bars(ax)
    assert heights["action/a"] == pytest.approx(5)
    assert heights["action/b"] == pytest.approx(20)
    titles = [text.get_text().replace("\n", " ") for text in ax.get_xticklabels()]
    assert titles == [oracle.title for oracle in ORACLES.values()]
    assert ax.get_ylabel() == "ΔmAP (points)"


def test_split_is_named():
    assert plots.delta_map([result()], split="rare").get_ylabel() == "ΔmAP (points, rare classes)"


def test_negative_bars_hang_below_zero():
    ax = drawn(plots.delta_map([result()]))
    assert bars(ax)["both_boxes/one-stage"] == pytest.approx(-0.2)
    assert ax.get_ylim()[0] < -0.2


def test_undefined_bars_are_left_out_but_keep_their_place():
    ax = drawn(plots.delta_map([result(action=None)]))
    assert "action/one-stage" not in bars(ax)
    assert len(ax.patches) == 8
    assert len(ax.get_xticks()) == 9


def test_all_undefined():
    ax = drawn(plots.delta_map([result()], split="non_rare"))
    assert not ax.patches


def test_colour_tells_the_error():
    ax = plots.delta_map([result("a")])
    for bar in ax.patches:
        assert to_rgb(bar.get_facecolor()) == pytest.approx(colour(bar.get_gid().split("/")[0]))


@pytest.mark.parametrize("models", [2, 3, 4])
def test_bars_of_models_differ_without_colour(models):
    ax = plots.delta_map([result(f"m{n}") for n in range(models)])
    of_action = [bar for bar in ax.patches if bar.get_gid().startswith("action/")]
    brightness = [sum(to_rgb(bar.get_facecolor())) for bar in of_action]
    assert all(np.diff(brightness) > 0)
    hatches = {bar.get_hatch() for bar in of_action}
    assert len(hatches) == models
    centres = [bar.get_x() + bar.get_width() / 2 for bar in of_action]
    assert all(np.diff(centres) > 0)
    assert np.mean(centres) == pytest.approx(list(ORACLES).index("action"))


def test_legend_names_the_models():
    assert plots.delta_map([result()]).get_legend() is None
    texts = plots.delta_map([result("a"), result("b")]).get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["a", "b"]


def protocol(name):
    return {"name": name, "signature": "AP: 11-point"}


def test_label_and_protocol_head_the_figure():
    ax = plots.delta_map([result("a $2$") | {"protocol": protocol("hico-det")}])
    assert ax.get_title("left") == "a $2$ (hico-det)"
    assert plots.delta_map([result("")]).get_title("left") == ""
    unnamed = plots.delta_map([result("") | {"protocol": protocol("hico-det")}])
    assert unnamed.get_title("left") == "Protocol hico-det"


def test_one_protocol_heads_the_legend():
    results = [result(name) | {"protocol": protocol("hico-det")} for name in "ab"]
    assert plots.delta_map(results).get_legend().get_title().get_text() == "Protocol hico-det"


def test_models_of_different_protocols_are_told_apart():
    results = [result("x") | {"protocol": protocol(name)} for name in ("hico-det", "diag-hoi")]
    legend = plots.delta_map(results).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["x (hico-det)", "x (2) (diag-hoi)"]
    assert legend.get_title().get_text() == ""


def test_long_and_odd_labels():
    names = [f"detector-{'x' * 90}-{n}" for n in range(2)]
    for models in (names[:1], names):
        drawn(plots.delta_map([result(name) for name in models]))
    texts = [
        text.get_text()
        for text in plots.delta_map([result(name) for name in names]).get_legend().get_texts()
    ]
    assert texts[0].startswith("detector-x")
    assert texts[0].endswith("…" + "x" * (len(texts[0].split("…")[1]) - 2) + "-0")
    assert texts[1].endswith("-1")
    odd = plots.delta_map([result("two\nlines \udcff $x")])
    assert drawn(odd).get_title("left") == "two lines ? $x"


def test_caption():
    results = [
        result("a") | {"dataset": "hico-det", "protocol": protocol("hico-det")},
        result("b") | {"dataset": "hico-det", "protocol": protocol("hico-det")},
        result("c") | {"dataset": "hico-det", "protocol": protocol("diag-hoi")},
    ]
    assert plots.caption(results) == (
        "a, b on HICO-DET, protocol hico-det (AP: 11-point). "
        "c on HICO-DET, protocol diag-hoi (AP: 11-point)."
    )
    assert plots.caption([result("")]) == "model 1."


@pytest.mark.parametrize("models", [5, 12])
def test_more_than_four_models_have_colours(models):
    ax = drawn(plots.delta_map([result(f"m{n}", action=0.01 * n) for n in range(models)]))
    bars = [bar for bar in ax.patches if str(bar.get_gid()).startswith("action/")]
    assert [bar.get_height() for bar in bars] == pytest.approx(range(models))
    places = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    assert all(np.diff(places) > 0)
    assert np.mean(places) == pytest.approx(list(ORACLES).index("action"))
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == models
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"m{n}" for n in range(models)
    ]


def certain(label="a", confidence=0.95):
    """A result with an interval of the action errors alone."""
    path = "oracles.action.delta_map.full"
    return result(label) | {
        "intervals": {path: [0.03, 0.09], "oracles.duplicate.delta_map.full": None},
        "bootstrap": {"confidence": confidence},
    }


@pytest.mark.parametrize("models", [1, 4, 5])
def test_intervals_are_lines(models):
    ax = drawn(plots.delta_map([certain(f"m{n}") for n in range(models)]))
    lines = {
        line.get_gid(): line.get_ydata()
        for line in ax.lines
        if str(line.get_gid()).startswith("interval/")
    }
    assert list(lines) == [f"interval/action/m{n}" for n in range(models)]
    assert lines["interval/action/m0"] == pytest.approx([3, 9])
    assert notes_of(ax.figure) == ["Lines: 95 % bootstrap intervals."]


def test_an_interval_of_no_width_is_not_drawn():
    path = "oracles.action.delta_map.full"
    ax = plots.delta_map([certain() | {"intervals": {path: [0.05, 0.05 + 1e-9]}}])
    assert not [line for line in ax.lines if str(line.get_gid()).startswith("interval/")]


def test_numbers_are_above_the_intervals():
    ax = plots.delta_map([certain()])
    (number,) = (text for text in ax.texts if text.get_text() == "5.0")
    assert number.xy[1] == pytest.approx(9)


def test_results_with_and_without_intervals():
    both = plots.delta_map([certain(), result("b"), certain("c", 0.9)])
    assert notes_of(both.figure)[0] == (
        "Lines: 90 % and 95 % bootstrap intervals, where a result has them."
    )
    assert not notes_of(plots.delta_map([result()]).figure)


def test_costs_that_few_carry_have_no_line_and_a_note():
    path = "oracles.action.delta_map.full"
    few = {"confidence": 0.95, "few": {path: 3}}
    ax = plots.delta_map([certain() | {"intervals": {path: None}, "bootstrap": few}])
    assert not [line for line in ax.lines if str(line.get_gid()).startswith("interval/")]
    assert notes_of(ax.figure)[0] == (
        "Lines: 95 % bootstrap intervals. None where fewer than 30 annotated triplets or "
        "predictions carry this cost."
    )


def test_intervals_of_a_bootstrap_are_found():
    scenes = simulate.annotations(60, np.random.default_rng(0))
    found = simulate.detect(scenes, simulate.TWO_STAGE, np.random.default_rng(1))
    diagnosis = diagnose(scenes, found, label="a")
    written = diagnosis.to_dict() | bootstrap(diagnosis, 20).to_dict()
    row = next(r for r in plots.delta_map_table([written], "full") if r.oracle == "association")
    low, high = written["intervals"]["oracles.association.delta_map.full"]
    assert row.interval == pytest.approx((100 * low, 100 * high))


def test_figures_are_written_where_there_is_room():
    assert "−0.2" in [text.get_text() for text in plots.delta_map([result()]).texts]
    narrow = Figure(figsize=(3.25, 2.4), layout="constrained").add_subplot()
    dots = [result(f"m{n}", action=0.01 * n) for n in range(12)]
    assert not plots.delta_map(dots, ax=narrow).texts
    small = plots.delta_map([result(both_boxes=-0.0004, missed_gt=0.00004, action=0.00096)])
    assert {"−0.04", "0", "0.1"} < {text.get_text() for text in small.texts}


@pytest.mark.parametrize(("width", "models"), SIZES)
def test_everything_lies_inside_the_paper(width, models):
    figure = Figure(figsize=(width, 2.4), layout="constrained")
    ax = figure.add_subplot()
    results = [result(f"Detector-{n}") for n in range(models)]
    assert plots.delta_map(results, ax=ax) is ax
    drawn(ax)
    inside = figure.bbox.padded(1)
    for artist in (ax.get_legend(), ax.yaxis.label, *ax.get_xticklabels(), *ax.texts):
        if artist is not None:
            box = artist.get_window_extent()
            assert inside.x0 <= box.x0
            assert box.x1 <= inside.x1
            assert inside.y0 <= box.y0
            assert box.y1 <= inside.y1
    assert ax.get_window_extent().height > 0.18 * figure.bbox.height
    turned = {text.get_rotation() for text in ax.get_xticklabels()}
    assert turned == ({60.0} if width == plots.SINGLE_COLUMN else {0.0})


# Bad input


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ([], {}, "diagnoses: there is nothing to draw; give at least one diagnosis"),
        (
            [result()],
            {"split": "non-rare"},
            "one-stage: split 'non-rare' is not known (did you mean 'non_rare' or 'rare'?); "
            "give one of full, rare, non_rare",
        ),
        (
            [{"label": "x"}],
            {},
            "x: the result has no 'oracles'; give what diaghoi report --json writes",
        ),
        (
            [{"label": "x", "oracles": {"action": {}}}],
            {},
            "x: oracle 'action' has no number in 'delta_map' for 'full'; "
            "give what diaghoi report --json writes",
        ),
        (
            [result("x", action="high")],
            {},
            "x: oracle 'action' has no number in 'delta_map' for 'full'; "
            "give what diaghoi report --json writes",
        ),
        (
            [result("x")],
            {"oracles": ["acton"]},
            "x: the result has no oracle 'acton' (did you mean 'action' or 'association'?); it has "
            + ", ".join(ORACLES),
        ),
    ],
)
def test_bad_results(results, options, message):
    with pytest.raises(InputError) as caught:
        plots.delta_map(results, **options)
    assert str(caught.value) == message
