"""Numbers in the cells of heat maps can be read: contrast of at least 4.5 by WCAG 2.1."""

from __future__ import annotations

import numpy as np
import pytest
from support.figures import faint

from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import ERRORS
from diaghoi.plots.figures.agreement import kappa_matrix
from diaghoi.plots.figures.error_profile import ErrorProfile, error_profile
from diaghoi.plots.robustness.errors import ErrorGrowth, robustness_errors
from diaghoi.plots.style import COLOURS, colour, contrast, ink_on


def profile(seed: int) -> ErrorProfile:
    names = tuple(f"verb {number}" for number in range(25))
    counts = np.random.default_rng(seed).geometric(0.02, (len(names), len(LABELS)))
    return ErrorProfile(names, np.arange(len(names)), counts)


@pytest.mark.parametrize("minus", [None, profile(1)])
def test_error_profiles(minus: ErrorProfile | None) -> None:
    table = profile(0)
    ax = error_profile(table, names=table.names, minus=minus)
    shares = 100 * (table.shares - (0 if minus is None else minus.shares))
    assert len(ax.texts) == shares.size
    assert faint(ax, ax.collections[0], shares) == []


def test_growth_of_errors() -> None:
    names = tuple("ABCDE")
    growth = np.linspace(-9, 9, len(ERRORS) * len(names)).reshape(len(ERRORS), -1)
    ax = robustness_errors(ErrorGrowth(ERRORS, names, growth))
    assert len(ax.texts) == growth.size
    assert faint(ax, ax.images[0], growth) == []


def test_agreement() -> None:
    names = [f"p{number}" for number in range(12)]
    pairs = [(a, b) for n, a in enumerate(names) for b in names[:n]]
    values = [None, *np.linspace(-1, 1, len(pairs) - 1).tolist()]
    ax = kappa_matrix(
        {
            "annotators": names,
            "kappa": {
                "pairs": [
                    {"a": a, "b": b, "value": value}
                    for (a, b), value in zip(pairs, values, strict=True)
                ]
            },
        }
    )
    shown = np.asarray(ax.images[0].get_array())
    assert len(ax.texts) == shown.size
    assert faint(ax, ax.images[0], shown) == []


def test_contrast_of_black_and_white_and_of_every_colour() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    grey = 0x77 / 0xFF  # the usual example: #777777 on white has 4.48
    assert contrast((grey,) * 3, (1, 1, 1)) == pytest.approx(4.48, abs=0.005)
    assert all(contrast(ink_on(colour(name)), colour(name)) >= 4.5 for name in COLOURS)
