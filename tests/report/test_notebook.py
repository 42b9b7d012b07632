"""What Python and a notebook show first, and that each line of the manual works in a notebook."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
from IPython.core.formatters import DisplayFormatter
from support.commands import call
from support.desk import hico_instances

from diaghoi import ORACLES, InputError, diagnose, protocol, simulate
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.slices import slices
from diaghoi.comparison.transitions import transitions
from diaghoi.data.protocol import Group
from diaghoi.formats import write, write_triplet_lists
from diaghoi.oracles import Oracle
from diaghoi.report.notebook import load_ipython_extension

CELLS = """\
import diaghoi
d = diaghoi.diagnose("gt.json", "preds.pkl")
print(d)
--
d
--
d.summary()
--
d.delta_map["association"], d.delta_map["association", "rare"]
--
d.plot("delta_map", column="single", path="f.pdf")
None
--
d.to_frame("errors")
--
dir(d)
--
c = diaghoi.compare(d, diaghoi.diagnose("gt.json", "two.npz"))
print(c)
--
c
--
c.summary()
--
c.to_frame()
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two detectors, in the forms of code bases."""
    folder = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(1)
    truth = simulate.annotations(20, rng)
    (folder / "gt.json").write_text(json.dumps(hico_instances(truth)))
    write_triplet_lists(folder / "preds.pkl", simulate.detect(truth, simulate.ONE_STAGE, rng))
    write(folder / "two.npz", simulate.detect(truth, simulate.TWO_STAGE, rng))
    return folder


@pytest.fixture(autouse=True)
def at_the_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("COLUMNS", "80")


def screen(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command prints on stdout."""
    capsys.readouterr()
    assert call(*words) == 0
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


def text_of(html: str) -> str:
    """Return the text of HTML that is one preformatted paragraph without colours."""
    (found,) = re.findall(r'^<pre style="[^"#]*">([^<]*)</pre>$', html)
    assert "color" not in html
    return unescape(found)


@pytest.mark.long
def test_each_line_works_in_a_notebook(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat (the extra test) is not installed")
    client = pytest.importorskip("nbclient", reason="nbclient (the extra test) is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel (the extra test) is not installed")
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS.split("--\n")]
    )
    client.NotebookClient(book, timeout=120, resources={"metadata": {"path": desk}}).execute()
    outputs = [output for cell in book.cells for output in cell.outputs]
    assert [output.output_type for output in outputs if output.output_type == "stream"] == [
        "stream"
    ] * 2
    printed, shown, said, costs, errors, names, both, side, also, frame = outputs
    report = screen(capsys, "report", "preds.pkl", "--annotations", "gt.json")
    comparison = screen(capsys, "compare", "preds.pkl", "two.npz", "--annotations", "gt.json")
    for first, others in ((report, (printed, shown, said)), (comparison, (both, side, also))):
        assert others[0].text == first
        for output in others[1:]:
            assert f"{text_of(output.data['text/html'])}\n" == first
        assert f"{others[2].data['text/plain']}\n" == first
    d = diagnose("gt.json", "preds.pkl")
    gains = d.oracles["association"]["delta_map"]
    assert costs.data["text/plain"] == str((gains["full"], gains["rare"]))
    assert (desk / "f.pdf").read_bytes()[:4] == b"%PDF"
    assert "false_negative" in errors.data["text/plain"]
    assert "delta_map" in names.data["text/plain"]
    assert "official_default_rare" in frame.data["text/html"]


def test_costs_are_fractions_by_error_and_by_group(desk: Path) -> None:
    d = diagnose("gt.json", "preds.pkl")
    assert list(d.delta_map) == list(ORACLES)
    for error, outcome in d.oracles.items():
        assert d.delta_map[error] == outcome["delta_map"]["full"]
        for group, gain in outcome["delta_map"].items():
            assert d.delta_map[error, group] == gain
    for key in ("asociation", ("association", "rar"), ("asociation", "rare")):
        with pytest.raises(KeyError):
            d.delta_map[key]


def test_a_figure_is_as_wide_as_a_column(tmp_path: Path) -> None:
    d = diagnose("gt.json", "preds.pkl")
    for column, width in (("single", 3.25), ("double", 6.875)):
        for name in ("delta_map", "error_profile_verb", "action_ap"):
            ax = d.plot(name, column=column, path=tmp_path / f"{name}.svg")
            assert ax.figure.get_figwidth() == width
            assert f'width="{width * 72:g}pt"' in (tmp_path / f"{name}.svg").read_text()
    with pytest.raises(InputError, match=r"column: 'singel' is not known \(did you mean 'single'"):
        d.plot(column="singel")
    for name, more in (("ax", {"ax": ax}), ("split", {"split": "rare"})):
        with pytest.raises(InputError, match=f"{name}: cannot be combined with column"):
            d.plot("delta_map", column="single", **more)
    with pytest.raises(InputError, match=r"f\.txt: cannot be drawn: the file type '\.txt'"):
        d.plot(path="f.txt")


def test_a_comparison_is_one_wide_frame() -> None:
    d, e = (diagnose("gt.json", name) for name in ("preds.pkl", "two.npz"))
    frame = compare(d, e).to_frame()
    assert frame["model"].tolist() == ["preds", "two"]
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in frame)
    assert len(set(frame)) == len(frame.columns)
    known = {
        "map": lambda each: each.mean_ap["full"],
        "map_non_rare": lambda each: each.mean_ap["non_rare"],
        "official_default": lambda each: each.official["default"]["full"],
        "official_known_object_rare": lambda each: each.official["known_object"]["rare"],
        **{f"delta_map_{name}": lambda each, name=name: each.delta_map[name] for name in ORACLES},
        "delta_map_action_rare": lambda each: each.delta_map["action", "rare"],
        "pairs_recall": lambda each: each.pairs["recall"],
        "pairs_precision_rare": lambda each: each.pairs["rare"]["precision"],
        "pairs_per_image": lambda each: each.pairs["per_image"],
        "negatives_ap": lambda each: each.negatives["ap"],
        "actions_map": lambda each: each.actions["map"],
        "actions_map_rare": lambda each: each.actions["rare"]["map"],
    }
    for column, value in known.items():
        expected = pandas.Series([value(d), value(e)], dtype=float)
        pandas.testing.assert_series_equal(frame[column].astype(float), expected, check_names=False)


def test_names_of_columns_are_words_whatever_groups_are_called() -> None:
    groups = (Group("my group!", (0, 1, 2)), Group("a.b", tuple(range(9, 600))))
    d = diagnose("gt.json", "preds.pkl", protocol("hico-det", groups=groups))
    frame = compare(d).to_frame()
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in frame)
    assert frame["delta_map_action_a_b"][0] == d.delta_map["action", "a.b"]
    assert frame["actions_map_a_b"][0] == d.actions["a.b"]["map"]
    assert {"map_my_group", "pairs_recall_my_group", "max_recall_my_group"} <= set(frame)


def test_errors_are_counted_in_every_row() -> None:
    truth = simulate.v_coco_annotations(8, np.random.default_rng(0))
    for found in (
        diagnose("gt.json", "preds.pkl"),
        diagnose(truth, simulate.v_coco_detect(truth, np.random.default_rng(1))),
    ):
        frame = found.to_frame("errors").set_index("error")
        assert list(frame.index) == list(ORACLES)
        assert frame["number"].dtype == int
        assert (frame["number"] >= 0).all()
        right = found.errors["true_positive"]
        counts = found.counts
        assert frame["number"]["false_positive"] == counts["predicted_triplets"] - right
        assert frame["number"]["false_negative"] == counts["annotated_triplets"] - right
        assert frame["delta_map_full"].tolist() == list(found.delta_map.values())


def test_exploring_a_diagnosis_shows_what_users_need() -> None:
    d = diagnose("gt.json", "preds.pkl")
    names = dir(d)
    assert names == sorted(names)
    assert all(hasattr(d, name) for name in names)
    assert {"mean_ap", "delta_map", "notes", "to_frame", "plot", "summary", "save"} <= set(names)
    assert not {"ledger", "benchmark", "image_pairs", "answers", "class_scores"} & set(names)
    assert not [name for name in names if name.startswith("_")]
    for owner in (d, type(d).summary, type(d).delta_map, compare(d)):
        assert "fraction" in owner.__doc__
        assert "percent" in owner.__doc__


def shown(given: Any) -> str:
    """Return the text that a notebook shows of an object."""
    # A whole shell would leave its thread for the history behind, beside which Dask cannot start.
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    load_ipython_extension(shell)
    return text_of(shell.display_formatter.formatters["text/html"](given))


def test_other_objects_show_what_they_are() -> None:
    d, e = (diagnose("gt.json", name) for name in ("preds.pkl", "two.npz"))
    assert shown(protocol("hico-det-520", iou=0.75)).startswith("Protocol hico-det-520\n")
    assert "IoU >= 0.75, inclusive boxes" in shown(protocol("hico-det-520", iou=0.75))
    assert shown(ORACLES["action"]).splitlines() == [
        "Oracle Action (action)",
        "Correct the action, or the pair, of predictions assigned to an annotated",
        "triplet.",
        "Unassigned action errors are removed.",
    ]
    matrix = transitions(d, e)
    rows = [re.findall(r"[\d,]+", line) for line in shown(matrix).splitlines()[-6:]]
    assert [[int(cell.replace(",", "")) for cell in row] for row in rows] == (
        matrix.matrix().tolist()
    )
    own = {"<weather>": lambda name: "rain" if name < "demo_000007" else "sun"}
    sliced = slices(d, own=own, attributes=False, resamples=5)
    text = shown(sliced)
    assert re.search(r"<weather>\n  rain .*\n  sun ", text)
    assert " ".join(sliced.search.sentence.split()) in " ".join(text.split())


def test_labels_are_text_whatever_they_hold() -> None:
    for label, said in (("<b>A & B</b>", "<b>A & B</b>"), ("\udcff", r"\udcff")):
        d = diagnose("gt.json", "preds.pkl", label=label)
        for found in (d, compare(d)):
            html = found._repr_html_()
            html.encode("utf-8")
            assert said in text_of(html)
    made = Oracle(name="<i>", title="<i>", definition="<i>", repair=lambda ledger: ledger)
    assert shown(made) == "Oracle <i> (<i>)\n<i>"


def test_a_screen_is_as_wide_as_it_is_asked_to_be() -> None:
    d = diagnose("gt.json", "preds.pkl")
    assert str(d) == d.summary() == d.summary(80)
    wide = d.summary(120)
    assert max(map(len, wide.splitlines())) > 80
    assert repr(wide) == wide
    assert "mAP" in repr(d)
    assert len(repr(d).splitlines()) == 1


@pytest.mark.slow
def test_a_notebook_needs_no_more_than_the_import() -> None:
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "import diaghoi\n"
        "print(shell.display_formatter.format(diaghoi.protocol('diag-hoi'))[0]['text/html'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Protocol diag-hoi" in done.stdout, done.stderr


def test_the_core_loads_no_presentation() -> None:
    code = (
        "import sys, diaghoi; "
        "loaded = [name for name in sys.modules if name.startswith('diaghoi.report')]; "
        "print(loaded)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
