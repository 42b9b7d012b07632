"""Comparisons as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from support.results import example

from diaghoi.comparison.comparison import Comparison, compare
from diaghoi.comparison.study import Model, StudyModel
from diaghoi.data.protocol import PROTOCOLS
from diaghoi.formats.output import harmless
from diaghoi.report.comparison import print_comparison, print_overview, shortened, to_text
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv
from diaghoi.statistics.significance import Difference


def comparison(*labels: str, stages: str = "", backbone: str = "", **changes: Any) -> Comparison:
    """Compare models of which each is one point better than the one before."""
    words = {"1": "one", "2": "two", "-": ""}
    models, results = [], []
    for number, label in enumerate(labels):
        stage = words[stages[number]] if stages else ""
        models.append(Model(label=label, file=Path("x"), stage=stage, backbone=backbone))
        result = example() | changes
        result["map"] = {"full": 0.3 + number / 100, "rare": None, "non_rare": 0.2}
        results.append(result)
    return compare(*results, models=models)


def table_of(text: str, title: str) -> str:
    return text.split(f"\n{title}\n")[1].split("\n\n")[0]


ONCE = """

One-stage: QPIC.
Difference: two-stage minus one-stage, before rounding.
*: best of its column.
*: for ΔmAP, the smallest of its column: the model that loses least to the
error.

Protocol"""


TEXT = """\
3 models on HICO-DET, 1,234 images, protocol hico-det-520
"""
MAP = """\
                                 mAP           Mean of the highest recalls
Model       Backbone     Full  Rare  Non-rare     Full    Rare    Non-rare
──────────────────────────────────────────────────────────────────────────
QPIC        ResNet-50   30.00     –    20.00*   80.00*       –      80.00*
Two-stage
  UPT       ResNet-50   31.00     –    20.00*   80.00*       –      80.00*
  SCG       ResNet-50  32.00*     –    20.00*   80.00*       –      80.00*
  Mean                  31.50     –     20.00    80.00       –       80.00
Difference              +1.50     –      0.00     0.00       –        0.00
Means of AP and of the highest recall over the classes of the protocol."""


def test_a_table_in_text() -> None:
    text = to_text(comparison("QPIC", "UPT", "SCG", stages="122", backbone="ResNet-50"))
    assert text.startswith(TEXT)
    assert table_of(text, "mAP under hico-det-520, %") == MAP
    assert ONCE in text
    for remark in ONCE.strip().splitlines()[:-2]:
        assert text.count(remark) == 1
    assert text.endswith(
        "\nProtocol hico-det-520: classes: no_interaction left out | AP: 11-point |\n"
        "  IoU >= 0.5 | rare: < 10 train instances\nNote: a note\n"
    )


@pytest.mark.parametrize("models", [1, 3, 12])
def test_text_fits_its_width(models: int) -> None:
    labels = [f"A detector with the number {n}" for n in range(models)]
    text = to_text(comparison(*labels, backbone="ResNet-101"))
    assert max(map(len, text.splitlines())) <= 80
    assert not [line for line in text.splitlines() if line.endswith(" ")]


def test_descriptions_that_leave_no_room_for_figures_have_a_block_of_their_own() -> None:
    words = {"venue": "NeurIPS 2021", "backbone": "Swin-Tiny", "detector": "A long one " * 3}
    models = [StudyModel(label="CDN", classifier="Interactions", **words)]
    text = to_text(compare(example(), models=models), 70)
    assert max(map(len, text.splitlines())) <= 70
    described = table_of(text, "mAP under hico-det-520, %")
    assert "NeurIPS" in described
    assert "Full" not in described
    figures = text.split(described)[1].split("\n\n")[1]
    assert "Full" in figures
    assert "NeurIPS" not in figures


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_every_figure_stands_in_text_of_any_width(width: int) -> None:
    """Tables are continued below; in the first block stand the backbones."""
    found = comparison("one model", "other", backbone="R50")
    _, narrow, _ = re.split(r"\nΔmAP, percentage\s|\nΔmAP \(Rare\)", to_text(found, width))
    for figure in ("−0.12", "+5.00", "+11.68", "+30.00", "+20.00"):
        assert narrow.count(figure) == 2
    heads = [line for line in narrow.splitlines() if line.startswith("Model")]
    assert len(heads) == 1 if width == 200 else len(heads) > 1
    assert ["Backbone" in line for line in heads] == [True] + [False] * (len(heads) - 1)


def test_long_labels_are_broken_and_nothing_else() -> None:
    label = "A very long name of a detector with-no-blanks-in-its-last-word-at-all"
    text = table_of(to_text(comparison(label, "short")), "mAP under hico-det-520, %")
    lines = [line.split("  ")[0] for line in text.splitlines()[3:]]
    broken = lines[: lines.index("short")]
    assert len(broken) > 2
    assert "".join(broken).replace(" ", "") == label.replace(" ", "")
    assert max(map(len, broken)) <= 28
    assert text.splitlines()[2 + len(broken)].endswith("20.00*")


def test_terminals_show_the_best_in_bold() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system="standard")
    print_comparison(comparison("a", "b"), console)
    text = stream.getvalue()
    bold = re.findall(r"\x1b\[1m *([\d.]+) *\x1b\[0m", text)
    assert "31.00" in bold
    assert "30.00" not in bold
    assert "*" not in text
    assert "Bold: best of its column." in text


def test_notes_of_a_comparison_can_be_left_out(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_comparison(comparison("a"), notes=False)
    with_notes = to_text(comparison("a"))
    assert capsys.readouterr().out + "Note: a note\n" == with_notes


def test_one_model_is_not_the_best() -> None:
    text = to_text(comparison("a"))
    assert text.startswith("1 model on HICO-DET")
    assert "*" not in text


def test_caveats_stand_on_top() -> None:
    models = [Model(label=label, file=Path("x")) for label in ("a", "b")]
    results = [example(), example()]
    results[1]["counts"] = results[1]["counts"] | {"images": 7}
    found = compare(*results, models=models)
    caveat = "images differ (a: 1,234; b: 7)"
    assert to_text(found).splitlines()[:2] == [
        "2 models on HICO-DET, protocol hico-det-520",
        f"Caution: {caveat}.",
    ]
    assert f"**Caution:** {caveat}.".replace("~", "") in to_markdown(found)


def test_labels_are_no_markup() -> None:
    text = to_text(comparison("[red]a[/red]", "[/x]"))
    assert "\n[red]a[/red] " in text
    assert "\n[/x] " in text


MARKDOWN = """\
### mAP under hico-det-520, %

| Model | mAP Full | mAP Rare | mAP Non-rare | Mean of the highest recalls Full \
| Mean of the highest recalls Rare | Mean of the highest recalls Non-rare |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| QPIC | 30.00 | – | **20.00** | **80.00** | – | **80.00** |
| UPT | **31.00** | – | **20.00** | **80.00** | – | **80.00** |
| Difference | +1.00 | – | 0.00 | 0.00 | – | 0.00 |

Means of AP and of the highest recall over the classes of the protocol.

###"""
MARKDOWN_ONCE = """

One-stage: QPIC. Two-stage: UPT. Difference: two-stage minus one-stage, before rounding. \
Bold: best of its column. Bold: for ΔmAP, the smallest of its column: the model that loses least \
to the error.

Protocol"""


def test_a_table_in_markdown() -> None:
    text = to_markdown(comparison("QPIC", "UPT", stages="12"))
    assert MARKDOWN in text
    assert MARKDOWN_ONCE in text
    assert text.count("Bold: best of its column.") == text.count("Difference: two-stage") == 1
    assert text.startswith("Models on HICO-DET, 1,234 images, protocol hico-det-520.\n\n### ")
    assert text.endswith("rare: \\< 10 train instances\n\nNote: a note\n")


def test_markdown_is_escaped() -> None:
    text = to_markdown(
        comparison("a|b", "*x* _y_ `z` [l](u) <b> \\ &amp; $m$ #1 ~s~", "two\nlines")
    )
    assert "| a\\|b |" in text
    assert (
        "| \\*x\\* \\_y\\_ \\`z\\` \\[l\\](u) \\<b\\> \\\\ \\&amp; \\$m\\$ \\#1 \\~s\\~ |" in text
    )
    assert "| two lines |" in text


def test_every_row_of_a_markdown_table_has_all_its_cells() -> None:
    text = to_markdown(comparison("a|b", "c", stages="1-", backbone="x|y"))
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("| ")]
        cells = {len(line.replace("\\|", "").split("|")) for line in rows}
        assert len(cells) <= 1


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_one_row_for_each_figure() -> None:
    found = comparison("QPIC", "UPT", stages="12", backbone="R50")
    text = to_csv(found)
    assert (
        text.splitlines()[0]
        == "topic,dataset,protocol,model,stage,venue,backbone,detector,classifier,column,value,"
        "low,high,difference,difference_low,difference_high,p_holm"
    )
    rows = rows_of(text)
    tables = found.to_dict()["tables"]
    assert len(rows) == 2 * sum(len(part["columns"]) for part in tables.values())
    for row in rows:
        value = tables[row["topic"]]["models"][row["model"]][row["column"]]
        assert row["value"] == ("" if value is None else repr(value))
        assert row["backbone"] == "R50"
        assert row["stage"] == {"QPIC": "one", "UPT": "two"}[row["model"]]


def test_csv_has_the_interval_of_a_number_and_its_test_against_the_first_model() -> None:
    results = [example(), example()]
    results[1]["intervals"] = {
        "map.rare": [0.1, 0.4],
        "oracles.action.delta_map.full": [0.01, 0.02],
        "oracles.action.map.full": [0.3, 0.5],
        "actions.map": [0.5, 0.75],
        "pairs.recall": None,
    }
    models = [StudyModel(label=label) for label in "ab"]
    tests = [difference("map.rare", (-0.25, 0.5)), difference("actions.map", None)]
    rows = rows_of(to_csv(compare(*results, models=models).with_differences(tests)))
    found = {
        (row["model"], row["topic"], row["column"]): [row[key] for key in list(row)[-6:]]
        for row in rows
        if any(row[key] for key in list(row)[-6:])
    }
    assert found == {
        ("b", "map", "map.rare"): ["0.1", "0.4", "0.125", "-0.25", "0.5", "0.03125"],
        ("b", "delta_map_full", "action"): ["0.01", "0.02", "", "", "", ""],
        ("b", "negatives_actions", "actions.map"): ["0.5", "0.75", "0.125", "", "", "0.03125"],
    }


def difference(path: str, interval: tuple[float, float] | None) -> Difference:
    return Difference(
        path=path,
        title=path,
        labels=("a", "b"),
        first=0.5,
        second=0.625,
        difference=0.125,
        interval=interval,
        p=0.015625,
        p_bootstrap=0.5,
        p_holm=0.03125,
        sentence="",
    )


def test_csv_keeps_all_digits() -> None:
    result = example()
    result["map"]["full"] = 0.1 + 0.2
    text = to_csv(compare(result, models=[Model(label="a", file=Path("x"))]))
    assert "map,hico-det,hico-det-520,a,,,,,,map.full,0.30000000000000004,,,,,,\r\n" in text


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx"])
def test_formulas_are_defused(text: str) -> None:
    assert harmless(text) == f"'{text}"
    rows = rows_of(to_csv(comparison(text, "b", backbone=text)))
    assert {row["model"] for row in rows} == {f"'{text}", "b"}
    assert {row["backbone"] for row in rows} == {f"'{text}"}


@pytest.mark.parametrize("text", ["a=b", "a,b", 'say "x"', "", "1", "two\nlines"])
def test_other_text_stays(text: str) -> None:
    assert harmless(text) == text
    if text:
        assert {row["model"] for row in rows_of(to_csv(comparison(text)))} == {text}


def test_negative_figures_are_no_formulas() -> None:
    assert "delta_map_full,hico-det,hico-det-520,a,,,,,,human_box,-0.00123,,,,,,\r\n" in to_csv(
        comparison("a")
    )


def test_data_frames_read_the_csv() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.read_csv(io.StringIO(to_csv(comparison("a", "b"))))
    wide = frame[frame.topic == "map"].pivot(index="model", columns="column", values="value")
    assert wide.loc["b", "map.full"] == 0.31
    assert frame.value.dtype == float


def screen(data_set: str, labels: list[str], *, same: bool = True) -> Comparison:
    """Compare models with numbers that are as wide as they get."""
    results = []
    for number, _ in enumerate(labels):
        result = example()
        oracles = {name: dict(of) for name, of in result["oracles"].items()}
        splits = ["full"] if data_set == "v-coco" else list(result["map"])
        for place, of in enumerate(oracles.values()):
            of["delta_map"] = dict.fromkeys(splits, (-1) ** number * (0.1 + (place + number) / 100))
        official: dict[str, Any] = {"default": dict.fromkeys(splits, 0.5 + number / 100)}
        if data_set == "v-coco":
            scenario = {"ap": 0.6 + number / 100, "ap_without_point": 0.7, "classes": {}}
            official = {"agent": {"ap": 0.9}, "scenario_1": scenario, "scenario_2": scenario}
        result |= {"dataset": data_set, "official": official, "oracles": oracles}
        name = {"hico-det": "hico-det-520", "v-coco": "v-coco-s1"}[data_set]
        result["protocol"] = {"name": name, "signature": PROTOCOLS[name].signature}
        result |= {key: dict.fromkeys(splits, 0.4) for key in ("map", "max_recall")}
        result["counts"] = result["counts"] | ({} if same else {"images": 9_000 + number})
        results.append(result)
    return compare(*results, models=[StudyModel(label=label) for label in labels])


LONG = {
    "short": "model {}",
    "end": "a-detector-of-which-the-name-takes-all-the-room-{}",
    "start": "{} is a detector of which the name takes all room",
    "middle": "a detector of which the number {} is in the middle of its name",
    "very long": "a detector of which the name has many more words than {0} " * 4,
    "wide": "一个检测器的名字很长很长很长很长很长很长{}很长很长很长",
}


@pytest.mark.parametrize("data_set", ["hico-det", "v-coco"])
@pytest.mark.parametrize("models", [2, 6])
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("same", [True, False])
def test_the_overview_is_one_screen(
    capsys, monkeypatch, data_set: str, models: int, name: str, same: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    labels = [LONG[name].format(number) for number in range(models)]
    print_overview(screen(data_set, labels, same=same))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 30
    assert max(map(cell_len, lines)) <= 80
    assert any(line.startswith("! images differ") for line in lines) is not same
    place = next(n for n, line in enumerate(lines) if line.startswith("Model ")) + 2
    rows = lines[place : place + models]
    found = [re.split(r" {2,}", line)[0] for line in rows]
    assert len(set(found)) == models
    if name == "short":
        assert found == labels
    if models == 2 and name in ("end", "start"):
        assert [line for line in lines if line in map(": ".join, zip(found, labels, strict=True))]
    assert "more: --detail" in lines[-1]


def test_labels_are_shortened_where_they_are_the_same() -> None:
    assert shortened(["abc", "0123456789abcdef"], 8) == ["abc", "012…cdef"]
    for size in (1, 2, 8):
        assert shortened(["A", "B"], size) == ["A", "B"]
    assert shortened(["a name that is 1 long", "a name that is 2 long"], 10) == [
        "a n…1 long",
        "a n…2 long",
    ]
    same = ["the same start 1 and the same end", "the same start 2 and the same end"]
    assert shortened(same, 10) == ["1 th…e end", "2 th…e end"]


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
        unique=True,
        min_size=1,
        max_size=7,
    ),
    st.integers(8, 28),
)
def test_short_labels_fit_and_differ(labels: list[str], size: int) -> None:
    short = shortened(labels, size)
    assert len(set(short)) == len(labels)
    assert max(map(cell_len, short)) <= size
