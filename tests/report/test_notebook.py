"""What a notebook shows."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

from diaghoi import ORACLES, diagnose, protocol, simulate
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.explained import explained
from diaghoi.comparison.slices import slices
from diaghoi.comparison.transitions import transitions
from diaghoi.oracles.oracle import Oracle
from diaghoi.report.notebook import (
    diagnosis_html,
    load_ipython_extension,
    oracle_html,
    protocol_html,
)

VOID = {"br"}


class Page(HTMLParser):
    """Text, elements and attributes of HTML whose elements are all closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.elements, self.attributes = "", [], set()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag in VOID:
            self.text += "\n"
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"th", "td"} & set(self.open):
            self.tables[-1][-1][-1] += data


def test_the_summary_and_both_tables_stand_first(result) -> None:
    page = Page(diagnosis_html(result))
    head, *_ = diagnosis_html(result).split("<details>")
    assert Page(head + "</div>").text.startswith(
        "model on HICO-DET (hico-det-520)\n"
        "Official mAP 31.00 (Default, Full); 56.75 under hico-det-520.\n"
        "Wrong actions cost most: repaired, they would add 11.68.\n"
        "1,234 images, 2,000 annotated and 2,000 predicted triplets"
    )
    mean_ap, errors, parts = page.tables
    assert mean_ap[0] == ["mAP, %", "Full", "Rare", "Non-rare"]
    assert ["Protocol hico-det-520", "56.75", "–", "56.75"] in mean_ap
    assert ["Action", "1,000", "50.00", "+11.68", "–", "+11.68"] in errors
    assert ["Pair recall", "70.00", "–", "71.00"] in parts
    assert len(Page(head + "</div>").tables) == 2


def test_the_rest_unfolds(result) -> None:
    page = Page(diagnosis_html(result))
    assert page.elements.count("details") == 3
    assert "1 note" in page.text
    assert "a note" in page.text
    assert "rare: < 10 train instances" in page.text
    without = Page(diagnosis_html({**result, "notes": []}))
    assert without.elements.count("details") == 2


def test_nothing_in_the_data_is_taken_for_html(result) -> None:
    result["label"] = "<script>alert(1)</script> & \"quotes\" 'too'"
    result["notes"] = ["</li><img src=x onerror=alert(1)>"]
    result["dataset"] = "<b>hoi</b>"
    page = Page(diagnosis_html(result))
    assert not {"script", "img", "b"} & set(page.elements)
    assert "<script>alert(1)</script> & \"quotes\" 'too' on <b>hoi</b>" in page.text


def test_labels_that_are_not_unicode_can_be_saved(result) -> None:
    html = diagnosis_html(result | {"label": "\udcff"})
    assert "? on HICO-DET" in html
    html.encode("utf-8")


def test_light_and_dark_are_the_notebook_s(result) -> None:
    html = diagnosis_html(result)
    assert not re.search(r"color|background|#[0-9a-f]{3}|rgb", html)
    assert Page(html).attributes == {"style", "scope"}


def test_result_objects_show_themselves() -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(5, rng)
    predictions = simulate.detect(annotations, simulate.ONE_STAGE, rng)
    diagnosis = diagnose(annotations, predictions, label="one")
    # A whole shell would leave its thread for the history behind, beside which Dask cannot start.
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    load_ipython_extension(shell)
    shown = shell.display_formatter.formatters["text/html"]
    assert shown(diagnosis) == diagnosis_html(diagnosis.to_dict())
    assert shown(diagnosis.protocol) == protocol_html(diagnosis.protocol)
    assert shown(ORACLES["action"]) == oracle_html(ORACLES["action"])


@pytest.mark.slow
def test_a_notebook_needs_no_more_than_the_import() -> None:
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "import diaghoi\n"
        "print(shell.display_formatter.format(diaghoi.protocol('diag-hoi'))[0]['text/html'])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Protocol diag-hoi" in shown.stdout, shown.stderr


def test_v_coco_has_its_own_rows() -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.v_coco_annotations(5, rng)
    page = Page(
        diagnosis_html(diagnose(annotations, simulate.v_coco_detect(annotations, rng)).to_dict())
    )
    names = [row[0] for table in page.tables for row in table]
    assert {"Official, agent", "without point (24 roles)", "Ignored"} <= set(names)


def test_a_protocol_lists_its_choices() -> None:
    page = Page(protocol_html(protocol("hico-det-520", iou=0.75)))
    assert page.text.startswith("Protocol hico-det-520")
    assert page.elements.count("li") == len(protocol("hico-det-520").signature.split(" | "))
    assert "IoU >= 0.75, inclusive boxes" in page.text


def test_an_oracle_says_what_it_repairs() -> None:
    page = Page(oracle_html(ORACLES["action"]))
    assert page.text == (
        "Oracle Action actionCorrect the action of assigned predictions, "
        "or the pair where theirs is another one."
        "The other action errors are removed."
    )
    assert page.elements.count("p") == 3


@pytest.mark.parametrize("text", ["<i>odd</i>", "a & b"])
def test_an_oracle_of_your_own_is_escaped(text: str) -> None:
    made = Oracle(name=text, title=text, definition=text, repair=lambda ledger: ledger)
    page = Page(oracle_html(made))
    assert "i" not in page.elements
    assert page.text.count(text) == 3


def test_the_core_loads_no_presentation() -> None:
    code = (
        "import sys, diaghoi; "
        "loaded = [name for name in sys.modules if name.startswith('diaghoi.report')]; "
        "print(loaded)"
    )
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def test_slices_are_tables_with_their_attributes() -> None:
    truth = simulate.annotations(12, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(1))
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    load_ipython_extension(shell)
    own = {"<weather>": lambda name: "rain" if name < "demo_000007" else "sun"}
    sliced = slices(diagnose(truth, found), own=own, attributes=False, resamples=5)
    html = shell.display_formatter.formatters["text/html"](sliced)
    (main, deltas) = Page(html).tables
    assert [row[0] for row in main] == ["Slice", "All", "<weather>", "rain", "sun"]
    assert len(deltas[1]) == 8
    assert sliced.search.sentence in Page(html).text


def test_comparisons_are_their_tables_and_sentences() -> None:
    truth = simulate.annotations(12, np.random.default_rng(0))
    one, two = (
        diagnose(truth, simulate.detect(truth, detector, np.random.default_rng(1)), label=label)
        for label, detector in (("<A>", simulate.ONE_STAGE), ("B", simulate.TWO_STAGE))
    )
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    load_ipython_extension(shell)
    show = shell.display_formatter.formatters["text/html"]
    difference = explained(one, two)
    comparison = compare(one, two).explain([difference])
    page = Page(show(comparison))
    assert "<A>, B on HICO-DET, 12 images" in page.text
    assert difference.sentence in page.text
    assert len(page.tables) == len(comparison.tables) + len(comparison.listings)
    assert "Known ObjectRare" in page.tables[0][0]
    matrix = transitions(one, two)
    (table,) = Page(show(matrix)).tables
    assert table[0][:3] == ["Under <A>", "Found", "Human box"]
    found = [[int(cell.replace(",", "")) for cell in row[1:]] for row in table[1:]]
    assert found == matrix.matrix().tolist()
