"""Variants of a run beside the run itself."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from diaghoi.data.table import Column
from diaghoi.report.extras import extra_tables
from diaghoi.report.text import print_report


@pytest.fixture
def with_variants(result) -> dict[str, Any]:
    pairs = {"recall": 0.6, "precision": 0.05, "per_image": 30.0, "source": "pairs"}
    difference = {"recall": -0.1, "precision": 0.03, "per_image": -50.04}
    nothing = {"recall": 0.0, "precision": None, "per_image": 0.0, "source": "pairs"}
    undefined = {"recall": -0.7, "precision": None, "per_image": -80.04}
    variants = {
        "pair NMS 0.7": {
            "pairs": pairs,
            "map": {"full": 0.567501},
            "difference": {"pairs": difference, "map": {"full": 0.000001}},
            "notes": [],
        },
        "detection threshold 0.99": {
            "pairs": nothing,
            "map": {"full": None},
            "difference": {"pairs": undefined, "map": {"full": None}},
            "notes": [],
        },
    }
    return {**result, "variants": variants}


EXPECTED = """\

                                Pairs        Pair           Pair
Variants                    per image   recall, %   precision, %      mAP, %
────────────────────────────────────────────────────────────────────────────
As given                         80.0       70.00           2.00       56.75
Pair NMS 0.7                     30.0       60.00           5.00       56.75
                              (−50.0)    (−10.00)        (+3.00)      (0.00)
Detection threshold 0.99          0.0        0.00              –           –
                              (−80.0)    (−70.00)            (–)         (–)
In brackets: difference from the unmodified run.

Protocol hico-det-520: """


def shown(result: dict[str, Any]) -> str:
    stream = io.StringIO()
    print_report(result, Console(file=stream, width=80, highlight=False))
    return stream.getvalue()


def test_the_report_shows_each_variant_with_its_differences(with_variants) -> None:
    assert EXPECTED in shown(with_variants)


def test_a_report_without_variants_says_nothing_of_them(result) -> None:
    assert "Variants" not in shown(result)


def test_every_row_has_a_cell_for_each_heading(with_variants) -> None:
    (table,) = extra_tables(with_variants, [Column(key="full", title="Full")])
    names = [row.title for row in table.rows]
    assert names == ["As given", "Pair NMS 0.7", "", "Detection threshold 0.99", ""]
    assert {len(row.cells) for row in table.rows} == {len(table.columns)}


def test_an_interval_that_is_undefined_is_a_dash(result) -> None:
    settings = {"confidence": 0.95, "resamples": 20, "method": "centred", "seed": 3}
    intervals = {"map.full": [0.25, 0.5], "map.rare": None}
    (row,) = [
        line
        for line in shown({**result, "bootstrap": settings, "intervals": intervals}).splitlines()
        if line.startswith("Protocol hico-det-520 ") and "25.00" in line
    ]
    assert row.split()[2:] == ["25.00", "to", "50.00", "–", "–"]


def test_an_interval_of_no_width_is_a_value(result) -> None:
    settings = {"confidence": 0.95, "resamples": 20, "method": "centred", "seed": 3}
    intervals = {
        "oracles.action.delta_map.full": [0.1, 0.2],
        "oracles.action.delta_map.rare": [0.0, 1e-9],
        "shares.action": [0.2, 0.3],
    }
    text = shown({**result, "bootstrap": settings, "intervals": intervals})
    assert "+10.00 to +20.00   only 0.00" in text
    caption = " ".join(text.split())
    assert (
        "seed 3. ΔmAP: by the published rule. --json writes 1 further interval. Only: (nearly)"
        in caption
    )
    intervals["oracles.action.delta_map.rare"] = [0.0, 1e-4]
    text = shown({**result, "bootstrap": settings, "intervals": intervals})
    assert "0.00 to +0.01" in text
    assert "nly" not in text.partition("Intervals, 95 %")[2]


def test_a_cost_that_few_carry_has_no_interval_and_the_table_says_so(result) -> None:
    path = "oracles.missed_gt.delta_map.full"
    settings = {"confidence": 0.95, "resamples": 20, "method": "centred", "seed": 3}
    given = {**result, "bootstrap": settings | {"few": {path: 3}}, "intervals": {path: None}}
    text = shown(given)
    (row,) = [line for line in text.splitlines() if line.startswith("ΔmAP, missed")]
    assert row.split()[-3:] == ["–", "–", "–"]
    why = "–: no interval, as fewer than 30 annotated triplets or predictions carry this cost."
    assert why in " ".join(text.split())
