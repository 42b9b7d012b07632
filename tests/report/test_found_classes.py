"""Where means omit classes without a true positive, tables, pages and figures say so."""

from pathlib import Path

import numpy as np
import pytest

from diaghoi import Diagnosis, diagnose, plots, simulate
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.results import CHANGED
from diaghoi.comparison.selection import selected
from diaghoi.plots import notes_of
from diaghoi.report.html import page_model, write_comparison_html
from diaghoi.report.text import report_tables

PROTOCOLS = pytest.mark.parametrize(
    ("protocol", "said"), [("diag-hoi", True), ("hico-det-520", False)]
)


def detectors(protocol: str) -> list[Diagnosis]:
    rng = np.random.default_rng(5)
    truth = simulate.annotations(40, rng)
    return [
        diagnose(truth, simulate.detect(truth, kind, rng), label=name, protocol=protocol)
        for name, kind in (("A", simulate.WEAK), ("B", simulate.TWO_STAGE))
    ]


@PROTOCOLS
def test_tables(protocol: str, said: bool) -> None:
    both = detectors(protocol)
    comparison = compare(*both)
    tables = {table.key: table for table in comparison.tables}
    (errors,) = [table for table in report_tables(both[0].to_dict()) if "Errors" in table.heads]
    for caption in (
        *(tables[key].caption for key in ("delta_map_full", "delta_map_rare", "localised")),
        selected(comparison, ["compact"]).tables[0].caption,
        " ".join(errors.caption.split()),
    ):
        assert (CHANGED in caption) == said
    means = tables["map"]
    for key in ("map", "delta_map_full", "delta_map_rare", "localised"):
        assert any(column.better for column in tables[key].columns) != said
    best = {column.key: column.better for column in tables["pairs"].columns}
    assert (best["map"] is None) == said
    # A random order of pairs has another AP for each detector.
    best = {column.key: column.better for column in tables["negatives_actions"].columns}
    assert (best["negatives.ap"], best["actions.map"]) == (None, "higher")
    assert "no value is marked as best" in tables["negatives_actions"].caption
    for each in both:
        number = each.counts["classes_in_mean"]
        words = f"{each.label} {number['full']} classes ({number['rare']} rare, "
        assert (words in means.caption) == said


@PROTOCOLS
def test_pages_and_figures(protocol: str, said: bool, tmp_path: Path) -> None:
    both = detectors(protocol)
    path = tmp_path / "page.html"
    write_comparison_html(path, compare(*both), [page_model(each) for each in both])
    assert (CHANGED in path.read_text()) == said
    figure = plots.figure_of(plots.FIGURES["delta_map"], both, plots.SINGLE_COLUMN)
    caption = " ".join(notes_of(figure))
    assert ("a repair changes which classes are in the mean" in caption) == said
