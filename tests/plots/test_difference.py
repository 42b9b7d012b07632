"""Figures of a difference: in which verbs it lies, and what became of annotated triplets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.figures import faint

from diaghoi import Diagnosis, InputError, diagnose, plots, simulate
from diaghoi.comparison.shares import LEAST, sampled_shares, shares
from diaghoi.comparison.transitions import transitions
from diaghoi.plots.figures.intervals import SHARE_NOTE, SHOWN_VERBS, Difference, difference_table


@pytest.fixture(scope="module")
def models() -> list[Diagnosis]:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(40, rng)
    found = [
        diagnose(truth, simulate.detect(truth, detector, rng), label=label)
        for label, detector in (("A", simulate.ONE_STAGE), ("$B_1$", simulate.TWO_STAGE))
    ]
    turned = simulate.detect(truth, simulate.WEAK, rng).take(np.arange(40)[::-1])
    return [*found, diagnose(truth, turned, label="C")]


def test_the_matrix_holds_every_count(models: list[Diagnosis]) -> None:
    found = transitions(*models[:2])
    ax = plots.transitions(models[:2])
    written = [text.get_text() for text in ax.texts if text.get_text()[0].isdigit()]
    assert sorted(written) == sorted(f"{n:,}" for n in found.matrix().ravel().tolist() if n)
    assert faint(ax, ax.collections[0], found.matrix()) == []
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("Under A", "Under $B_1$")


def test_verbs_are_those_of_the_comparison(models: list[Diagnosis]) -> None:
    table = plots.difference(models[:2])
    names = [label.get_text() for label in table.get_yticklabels()]
    largest = shares(*models[:2]).of["verb"][:SHOWN_VERBS]
    assert set(names) == {each.name for each in largest}
    dots = [line for line in table.lines if line.get_linestyle() == "None"]
    drawn = {names[round(at)]: x for each in dots for x, at in each.get_xydata()}
    for each in largest:
        assert drawn[each.name] == pytest.approx(100 * each.share)


def test_verbs_without_an_interval_are_hollow() -> None:
    nothing = np.nan
    found = Difference(
        ("ride", "hold", "wash"),
        np.array([2.0, 1.0, -1.0]),
        np.array([1.5, nothing, -2.0]),
        np.array([2.5, nothing, 0.0]),
    )
    filled = {
        found.names[round(at)]: each.get_markerfacecolor() != "white"
        for each in plots.difference(found).lines
        if each.get_linestyle() == "None"
        for at in each.get_ydata()
    }
    assert filled == {"ride": True, "hold": False, "wash": True}
    assert (
        f"Hollow: no interval, as the verb is annotated in fewer than {LEAST} images" in SHARE_NOTE
    )


def test_each_other_model_is_drawn_against_the_first(models: list[Diagnosis]) -> None:
    figure = plots.figure_of(plots.FIGURES["transitions"], models, plots.DOUBLE_COLUMN)
    assert [ax.get_xlabel() for ax in figure.axes] == ["Under $B_1$", "Under C"]
    (ax,) = plots.figure_of(plots.FIGURES["difference"], models, plots.SINGLE_COLUMN).axes
    assert ax.get_xlabel() == "Points of mAP: each model minus the first"


@pytest.mark.parametrize("name", ["difference", "transitions"])
def test_one_model_or_other_annotations_have_no_difference(
    models: list[Diagnosis], name: str
) -> None:
    kind = plots.FIGURES[name]
    with pytest.raises(plots.NotApplicable, match="needs at least two models"):
        plots.figure_of(kind, models[:1], plots.SINGLE_COLUMN)
    rng = np.random.default_rng(1)
    truth = simulate.annotations(20, rng)
    other = diagnose(truth, simulate.detect(truth, simulate.WEAK, rng), label="D")
    with pytest.raises(plots.NotApplicable, match=r"diagnosed with (different|other) annotations"):
        plots.figure_of(kind, [models[0], other], plots.SINGLE_COLUMN)


def test_bounds_contain_the_shares(models: list[Diagnosis]) -> None:
    one, other = (sampled_shares(each) for each in models[:2])
    table = difference_table(one, other)
    enough = dict(zip(one.names, one.images >= LEAST, strict=True))
    has = np.array([enough[name] for name in table.names])
    assert has.any()
    assert not has.all()
    assert (table.low[has] <= table.share[has] + 1e-12).all()
    assert (table.share[has] <= table.high[has] + 1e-12).all()
    # Resamples of a few images say too little.
    assert np.isnan([table.low[~has], table.high[~has]]).all()
    with pytest.raises(InputError, match=r"diagnosed with (different|other) annotations"):
        difference_table(one, one._replace(names=other.names[:-1]))


def test_unused_names_are_not_needed(models: list[Diagnosis]) -> None:
    # Models without labels are told apart by their place.
    ax = plots.transitions([replace(each, label="") for each in models[:2]])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("Under the first", "Under the second")
