"""Numbers in the cells of heat maps can be read: contrast of at least 4.5 by WCAG 2.1."""

from __future__ import annotations

import numpy as np
import pytest
from support.figures import faint

from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import ERRORS
from diaghoi.plots import DOUBLE_COLUMN, FIGURES, SINGLE_COLUMN, ModelData, figure_of
from diaghoi.plots.figures.answers import agreement_figure
from diaghoi.plots.figures.matrices import ErrorProfile
from diaghoi.plots.figures.robustness import ROBUSTNESS_FIGURES, ErrorGrowth
from diaghoi.plots.style import COLOURS, colour, contrast, ink_on


def profile(seed: int) -> ErrorProfile:
    names = tuple(f"verb {number}" for number in range(25))
    counts = np.random.default_rng(seed).geometric(0.02, (len(names), len(LABELS)))
    return ErrorProfile(names, np.arange(len(names)), counts)


def test_error_profiles() -> None:
    tables = [profile(0), profile(1)]
    models = [ModelData(label=label, data=data) for label, data in zip("ab", tables, strict=True)]
    figure = figure_of(FIGURES["error_profile_verb"], models, DOUBLE_COLUMN)
    shares = [100 * table.shares[::-1] for table in tables]
    for ax, shown in zip(figure.axes, (*shares, shares[1] - shares[0]), strict=True):
        assert len(ax.texts) == shown.size
        assert faint(ax, ax.collections[0], shown) == []


def test_growth_of_errors() -> None:
    names = tuple("ABCDE")
    growth = np.linspace(-9, 9, len(ERRORS) * len(names)).reshape(len(ERRORS), -1)
    model = ModelData(label="a", data=ErrorGrowth(ERRORS, names, growth))
    ax = figure_of(ROBUSTNESS_FIGURES["robustness_errors"], [model], SINGLE_COLUMN).axes[0]
    assert len(ax.texts) == growth.size
    assert faint(ax, ax.images[0], growth) == []


def test_agreement() -> None:
    names = [f"p{number}" for number in range(12)]
    pairs = [(a, b) for n, a in enumerate(names) for b in names[:n]]
    values = [None, *np.linspace(-1, 1, len(pairs) - 1).tolist()]
    votes = {name: [1, 2] for name in names}
    ax = agreement_figure(
        {
            "annotators": names,
            "scale": 1,
            "distribution": votes,
            "by_majority": [votes, votes],
            "kappa": {
                "pairs": [
                    {"a": a, "b": b, "value": value}
                    for (a, b), value in zip(pairs, values, strict=True)
                ]
            },
        }
    ).axes[1]
    shown = np.asarray(ax.images[0].get_array())
    assert len(ax.texts) == shown.size
    assert faint(ax, ax.images[0], shown) == []


def test_contrast_of_black_and_white_and_of_every_colour() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    grey = 0x77 / 0xFF  # the usual example: #777777 on white has 4.48
    assert contrast((grey,) * 3, (1, 1, 1)) == pytest.approx(4.48, abs=0.005)
    assert all(contrast(ink_on(colour(name)), colour(name)) >= 4.5 for name in COLOURS)
