"""Slices that stand out: planted ones are found, and where none is planted none is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom
from support.scenes import problems

from diaghoi import Diagnosis, Scenes, diagnose, protocol, simulate
from diaghoi.data.arrays import BoolArray
from diaghoi.data.attributes import Slice, attribute_slices, tag_slices
from diaghoi.data.groups import time_sensitive
from diaghoi.statistics.found_precision import FoundAt
from diaghoi.statistics.slice_figures import Sliced, image_names
from diaghoi.statistics.slice_search import Search, search

IMAGES = 400
SEEDS = int(os.environ.get("DIAGHOI_SEEDS", "4"))
"""`make agreement` takes 50."""
MOST_ALARMS = binom.ppf(0.995, SEEDS, 0.05)
"""More searches have a false alarm less than once in 200 times, where 5 % should."""


def searched(
    annotations: Scenes, detectors: Sequence[Diagnosis], cuts: Sequence[Slice], **settings: Any
) -> Search:
    names = image_names(annotations, detectors)
    found = [FoundAt.of(Sliced(each, annotations, names)) for each in detectors]
    return search(found, annotations, len(names), cuts, **settings)


def detected(truth: Scenes, rng: np.random.Generator) -> Scenes:
    return simulate.detect(truth, simulate.TWO_STAGE, rng)


def shifted(found: Scenes, images: BoolArray) -> Scenes:
    """Move the human boxes of some images by a third of their widths."""
    boxes = found.box_xyxy.copy()
    moved = (found.box_label == found.vocabulary.person) & images[found.box_image]
    by = 0.35 * (boxes[moved, 2] - boxes[moved, 0])
    boxes[moved, 0] += by
    boxes[moved, 2] += by
    return replace(found, box_xyxy=boxes)


def confused(found: Scenes, classes: BoolArray) -> Scenes:
    """Turn the scores of some classes round, so that other verbs come before the right one."""
    of = np.append(classes, False)[found.triplet_class]
    scores = np.where(of, 1 - found.scores, found.scores)
    return replace(found, triplet_score=scores)


def random_tags(truth: Scenes, rng: np.random.Generator) -> list[Slice]:
    """Tags that have nothing to do with anything."""
    names = truth.names.tolist()
    own = {
        f"tag {number}": dict(zip(names, rng.choice(["x", "y", "z"], len(names)), strict=True))
        for number in range(6)
    }
    return tag_slices(truth.names, own)[0]


# What the search goes by.


@pytest.mark.parametrize("name", ["hico-det-520", "swig-hoi", "diag-hoi", "qahoi"])
@given(problem=problems())
def test_the_mean_over_a_class_is_its_area(name: str, problem: tuple[Scenes, Scenes]) -> None:
    annotations, predictions = problem
    chosen = replace(protocol(name), average_precision="area", classes="all", name="own")
    diagnosis = diagnose(annotations, predictions, chosen)
    found = FoundAt.of(Sliced(diagnosis, annotations, image_names(annotations, [diagnosis])))
    hoi = annotations.triplet_class
    for each in np.unique(hoi[found.counted]).tolist():
        mean = found.precision[found.counted & (hoi == each)].mean()
        assert mean == pytest.approx(diagnosis.class_scores.average_precision[each])


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_the_change_with_the_weight_of_an_image(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    annotations = simulate.annotations(30, rng)
    predictions = detected(annotations, rng)
    # Distinct scores, as weights do not reorder equal ones.
    scores = rng.permutation(np.linspace(0.9, 0.1, len(predictions.triplet_pair)))
    diagnosis = diagnose(annotations, replace(predictions, triplet_score=scores))
    names = image_names(annotations, [diagnosis])
    sliced = Sliced(diagnosis, annotations, names)
    found = FoundAt.of(sliced)
    weights = rng.random((len(annotations.triplet_pair), 2))
    influence = found.of_others(weights)
    assert influence.shape == (len(names), 2)
    assert np.abs(influence).max() > 0.1
    np.testing.assert_allclose(influence.sum(axis=0), 0, atol=1e-12)
    ranked = sliced.unrepaired
    ends = {}
    for image in range(len(names)):
        step = 1e-6
        weight = np.ones(len(names))
        weight[image] += step
        change = np.zeros(2)
        for hoi in np.unique(ranked.evaluated.row_class).tolist():
            rows = np.flatnonzero(ranked.evaluated.row_class == hoi)
            true = ranked.evaluated.row_true[rows]
            triplet = sliced.triplet[ranked.row_annotation[rows[true]]]
            precision = []
            for given_ in (np.ones(len(names)), weight):
                mine = given_[ranked.evaluated.row_image[rows]]
                precision.append((np.cumsum(mine * true) / np.cumsum(mine))[true])
            if not len(triplet):
                continue
            # The end stays where it is: at the last of equal ones.
            backwards = precision[0][::-1]
            best = np.maximum.accumulate(backwards)[::-1]
            end = [np.flatnonzero(precision[0][n:] == best[n])[-1] + n for n in range(len(best))]
            ends[hoi] = end
            change += ((precision[1] - precision[0])[end][:, None] * weights[triplet]).sum(axis=0)
        np.testing.assert_allclose(influence[image], change / step, atol=1e-4)


def by_definition(
    found: Sequence[FoundAt],
    truth: Scenes,
    images: int,
    cuts: Sequence[Slice],
    least: tuple[int, int] = (30, 50),
    draws: int = 4000,
) -> tuple[int, float, list[dict[str, Any]]]:
    """Search slices with loops; return the number tried, how far chance reaches, and findings."""
    image, hoi, counted = truth.triplet_image, truth.triplet_class, found[0].counted
    alone = len(found) == 1
    inside = {(n,): cut.triplets(truth) & counted for n, cut in enumerate(cuts)}

    def enough(members: BoolArray) -> bool:
        return members.sum() >= least[1] and len(set(image[members].tolist())) >= least[0]

    inside = {parts: members for parts, members in inside.items() if enough(members)}
    for (one,), (other,) in combinations(list(inside), 2):
        both = inside[one,] & inside[other,]
        nested = both.sum() in (inside[one,].sum(), inside[other,].sum())
        if cuts[one].attribute != cuts[other].attribute and not nested and enough(both):
            inside[one, other] = both
    values = found[0].precision if alone else found[1].precision - found[0].precision
    groups = [counted & (hoi == n) for n in np.unique(hoi[counted])] if alone else [counted]
    weights, total, influence = {}, {}, {}
    for parts, members in inside.items():
        weight, residual = np.zeros(len(hoi)), np.zeros(len(hoi))
        for group in groups:
            number = group.sum()
            weight[group] = members[group] - members[group].mean()
            if number > 1:
                away = values[group] - values[group].mean()
                residual[group] = away * np.sqrt(number / (number - 1))
        effect = np.bincount(image, weight * residual, minlength=images)
        for sign, detector in [(1, found[0])] if alone else [(-1, found[0]), (1, found[1])]:
            effect += sign * detector.of_others(weight[:, None])[:, 0]
        weights[parts], total[parts], influence[parts] = weight, values @ weight, effect

    def sided(statistic: Any) -> Any:
        return -statistic if alone else np.abs(statistic)

    error = {parts: np.linalg.norm(effect) for parts, effect in influence.items()}
    known = [parts for parts in inside if error[parts] > 1e-9]
    signs = np.random.default_rng(99).choice([-1.0, 1.0], (draws, images))
    drawn = signs @ np.stack([influence[parts] / error[parts] for parts in known], axis=1)
    most = (drawn if alone else np.abs(drawn)).max(axis=1)
    reach = float(np.quantile(most, 0.95))

    def left(parts: tuple[int, ...], chosen: list[tuple[int, ...]]) -> float:
        """Return the statistic after removing what the chosen slices explain."""
        if not chosen:
            return float(sided(total[parts] / error[parts]))
        share = np.linalg.lstsq(
            np.stack([weights[each] for each in chosen], axis=1), weights[parts], rcond=None
        )[0]
        explained = sum(part * influence[each] for part, each in zip(share, chosen, strict=True))
        rest = total[parts] - sum(part * total[c] for part, c in zip(share, chosen, strict=True))
        spread = np.linalg.norm(influence[parts] - explained)
        return float(sided(rest / spread)) if spread > 1e-9 * error[parts] else 0.0

    clear = [parts for parts in known if left(parts, []) > reach]
    chosen: list[tuple[int, ...]] = []
    findings = []
    while clear and len(findings) < 10:
        statistic = {parts: left(parts, chosen) for parts in clear}
        best = max(clear, key=lambda parts: statistic[parts])
        if statistic[best] <= reach:
            break
        for parts in sorted(clear, key=lambda parts: -statistic[parts]):
            if set(parts) < set(best) and left(best, [*chosen, parts]) <= reach:
                best = parts
                break
        if statistic[best] <= reach:
            break
        alike = [parts for parts in clear if np.isclose(statistic[parts], statistic[best], 1e-6)]
        best = min(alike, key=lambda parts: inside[parts].sum())
        spread = (weights[best] ** 2).sum()
        findings.append(
            {
                "parts": [cuts[part].name for part in best],
                "annotated": int(inside[best].sum()),
                "images": len(set(image[inside[best]].tolist())),
                "difference": total[best] / spread,
                "error": error[best] / spread,
                "here": values[inside[best]].mean(),
                "p": (1 + (most >= statistic[best]).sum()) / (1 + draws),
            }
        )
        chosen.append(best)
    return len(inside), reach, findings


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("detectors", [1, 2])
def test_the_search_follows_its_definition(seed: int, detectors: int) -> None:
    """Random parts of the images are harder, and people in groups are."""
    rng = np.random.default_rng([seed, 13])
    truth = simulate.annotations(IMAGES, rng)
    names = truth.names.tolist()
    tags = {
        "light": np.where(rng.random(IMAGES) < 0.75, "day", "night"),
        "lens": rng.choice(["long", "short", "wide"], IMAGES),
        "place": rng.choice(["in", "out"], IMAGES),
    }
    own = {name: dict(zip(names, values.tolist(), strict=True)) for name, values in tags.items()}
    cuts = [*tag_slices(truth.names, own)[0], *attribute_slices(truth)[:6]]
    hard = (tags["light"] == "night") & (tags["place"] == "in") | (tags["lens"] == "wide")
    first = diagnose(truth, detected(truth, rng), label="A")
    second = diagnose(truth, shifted(detected(truth, rng), hard), label="B")
    both = [first, second][-detectors:]
    images = image_names(truth, both)
    found = [FoundAt.of(Sliced(each, truth, images)) for each in both]
    search_ = searched(truth, both, cuts, resamples=4000)
    tried, reach, findings = by_definition(found, truth, len(images), cuts)
    assert search_.tried == tried
    assert len(search_.findings) == len(findings) > 0
    findings.sort(key=lambda each: each["p"])
    for mine, plain in zip(search_.findings, findings, strict=True):
        assert [name for *_, name in mine.parts] == plain["parts"]
        assert (mine.annotated, mine.images) == (plain["annotated"], plain["images"])
        assert mine.difference == pytest.approx(plain["difference"])
        assert mine.values == pytest.approx((plain["here"] - plain["difference"], plain["here"]))
        half = (mine.interval[1] - mine.interval[0]) / 2
        assert half == pytest.approx(plain["error"] * reach, rel=0.03)
        assert mine.p == pytest.approx(plain["p"], abs=0.01)


def test_the_order_of_two_detectors_changes_only_the_sign() -> None:
    rng = np.random.default_rng([7, 13])
    truth = simulate.annotations(IMAGES, rng)
    night = rng.random(IMAGES) < 0.2
    tags = dict(zip(truth.names.tolist(), night.tolist(), strict=True))
    cuts, _ = tag_slices(truth.names, {"night": tags})
    one = diagnose(truth, detected(truth, rng), label="A")
    other = diagnose(truth, shifted(detected(truth, rng), night), label="B")
    (there,), (back,) = (
        searched(truth, pair, cuts).findings for pair in ([one, other], [other, one])
    )
    assert back.difference == pytest.approx(-there.difference)
    low, high = there.interval
    assert back.interval == pytest.approx((-high, -low))


# Planted slices.


PLANTED = ("one detector", "tag", "crowded", "verbs")


def planted(seed: int, which: Iterable[str] = PLANTED) -> dict[str, tuple[str, Search]]:
    """Search where a slice was planted; by what it is, its title and what was found."""
    rng = np.random.default_rng([seed, 5])
    truth = simulate.annotations(IMAGES, rng)
    one, other = detected(truth, rng), detected(truth, rng)
    night = rng.random(len(truth)) < 0.2
    own, _ = tag_slices(
        truth.names, {"night": dict(zip(truth.names.tolist(), night.tolist(), strict=True))}
    )
    built = attribute_slices(truth)
    crowded = next(each.members for each in built if each.key == "people: 3 to 5")
    classes = time_sensitive(truth.vocabulary)
    assert classes is not None
    first = diagnose(truth, one, label="A")

    def second(predictions: Scenes) -> list[Diagnosis]:
        return [first, diagnose(truth, predictions, label="B")]

    cases: dict[str, tuple[str, Callable[[], Search]]] = {
        "one detector": (
            "night",
            lambda: searched(truth, [diagnose(truth, shifted(one, night))], [*own, *built]),
        ),
        "tag": ("night", lambda: searched(truth, second(shifted(other, night)), [*own, *built])),
        "crowded": (
            "People in the image: 3 to 5",
            lambda: searched(truth, second(shifted(other, crowded)), built),
        ),
        "verbs": (
            "Verb: time-sensitive",
            lambda: searched(truth, second(confused(other, classes)), built),
        ),
    }
    return {name: (cases[name][0], cases[name][1]()) for name in which}


def silent(seed: int) -> dict[str, Search]:
    """Search where nothing was planted: equal detectors, and tags without meaning."""
    rng = np.random.default_rng([seed, 11])
    truth = simulate.annotations(IMAGES, rng)
    one, other = (diagnose(truth, detected(truth, rng), label=label) for label in "AB")
    return {
        "equal detectors": searched(truth, [one, other], attribute_slices(truth)),
        "meaningless tags": searched(truth, [one], random_tags(truth, rng)),
    }


def test_planted_slices_are_found() -> None:
    for title, found in planted(0, ["tag"]).values():
        # And nothing else, for all the slices that overlap with it.
        (first,) = found.findings
        assert first.title == title
        assert first.p < 0.05
        low, high = first.interval
        assert low < first.difference < high < 0
        here, elsewhere = first.values[1], first.values[0]
        assert here - elsewhere == pytest.approx(first.difference)
        if len(first.labels) == 1:
            below = (
                f"{100 * here:.2f} %, {-100 * first.difference:.2f} points below other triplets "
            )
            assert below in found.sentence
        else:
            assert f": −{-100 * here:.2f}, elsewhere " in found.sentence


def half_moved(seed: int, chosen: Callable[[Scenes, BoolArray], BoolArray]) -> tuple[Any, ...]:
    """Move the boxes of some images; return annotations, a diagnosis, and slices by a tag."""
    rng = np.random.default_rng([seed, 7])
    truth = simulate.annotations(IMAGES, rng)
    night = rng.random(len(truth)) < 0.4
    names = truth.names.tolist()
    cuts, _ = tag_slices(truth.names, {"night": dict(zip(names, night.tolist(), strict=True))})
    return truth, diagnose(truth, shifted(detected(truth, rng), chosen(truth, night))), cuts


def test_the_difference_of_one_detector_is_a_mean_over_classes() -> None:
    truth, diagnosis, cuts = half_moved(0, lambda _, night: night)
    (finding,) = searched(truth, [diagnosis], cuts).findings
    assert finding.title == "night"
    found = FoundAt.of(Sliced(diagnosis, truth, image_names(truth, [diagnosis])))
    (cut,) = (cut for cut in cuts if cut.name == finding.parts[0][2])
    inside, total, weight = cut.triplets(truth), 0.0, 0.0
    for hoi in np.unique(truth.triplet_class[found.counted]).tolist():
        mine = found.counted & (truth.triplet_class == hoi)
        here, elsewhere = found.precision[mine & inside], found.precision[mine & ~inside]
        if len(here) and len(elsewhere):
            shared = len(here) * len(elsewhere) / (len(here) + len(elsewhere))
            total += shared * (here.mean() - elsewhere.mean())
            weight += shared
    assert finding.difference == pytest.approx(total / weight)


def test_one_detector_is_not_told_where_it_is_better() -> None:
    truth, diagnosis, cuts = half_moved(1, lambda _, night: ~night)
    for finding in searched(truth, [diagnosis], cuts).findings:
        assert finding.title != "night"
        assert finding.difference < 0


def test_a_second_attribute_stands_there_where_it_adds_something() -> None:
    def crowded(truth: Scenes) -> Slice:
        return next(cut for cut in attribute_slices(truth) if cut.key == "people: 3 to 5")

    truth, diagnosis, cuts = half_moved(2, lambda truth, night: night & crowded(truth).members)
    first = searched(truth, [diagnosis], [*cuts, crowded(truth)]).findings[0]
    assert first.title == "night, People in the image: 3 to 5"
    truth, diagnosis, cuts = half_moved(2, lambda _, night: night)
    first = searched(truth, [diagnosis], [*cuts, crowded(truth)]).findings[0]
    assert first.title == "night"


def test_nothing_is_found_where_nothing_is_planted() -> None:
    for found in silent(0).values():
        assert found.findings == ()
        assert found.tried > 100
        assert (
            found.sentence == f"none of {found.tried:,} slices of one or two attributes stands out"
        )


@pytest.mark.slow
def test_planted_slices_are_named_first_with_nearly_all_seeds() -> None:
    named = dict.fromkeys(PLANTED, 0)
    for seed in range(SEEDS):
        for name, (title, found) in planted(seed).items():
            named[name] += bool(found.findings) and title in found.findings[0].title
    assert min(named.values()) >= int(0.9 * SEEDS), named


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    alarms = {"equal detectors": 0, "meaningless tags": 0}
    for seed in range(SEEDS):
        for name, found in silent(seed).items():
            alarms[name] += bool(found.findings)
    assert max(alarms.values()) <= MOST_ALARMS, alarms


@pytest.mark.parametrize("small", ["a", "z"])
def test_of_two_halves_the_smaller_is_named(small: str) -> None:
    """One half is worse by as much as the other is better."""
    rng = np.random.default_rng(4)
    truth = simulate.annotations(IMAGES, rng)
    few = rng.random(IMAGES) < 0.25
    halves = dict(zip(truth.names.tolist(), np.where(few, small, "m").tolist(), strict=True))
    one, other = (detected(truth, rng) for _ in range(2))
    both = [diagnose(truth, one, label="A"), diagnose(truth, shifted(other, few), label="B")]
    (finding,) = searched(truth, both, tag_slices(truth.names, {"half": halves})[0]).findings
    assert finding.parts[0][2] == small


def test_the_clearest_slices_of_all_comparisons_are_named() -> None:
    rng = np.random.default_rng(6)
    truth = simulate.annotations(2 * IMAGES, rng)
    part = np.arange(len(truth)) % 16
    names = truth.names.tolist()
    tags = {f"part {n}": dict(zip(names, (part == n).tolist(), strict=True)) for n in range(12)}
    cuts = [cut for cut in tag_slices(truth.names, tags)[0] if cut.name != "no"]
    first = detected(truth, rng)
    found = [diagnose(truth, first, label="A")]
    for label, begin in (("B", 0), ("C", 6)):
        worse = shifted(first, (begin <= part) & (part < begin + 6))
        found.append(diagnose(truth, worse, label=label))
    findings = searched(truth, found, cuts, least=(10, 10)).findings
    assert len(findings) == 10
    assert {finding.labels for finding in findings} == {("A", "B"), ("A", "C")}


def test_too_small_slices_are_not_tried() -> None:
    rng = np.random.default_rng(3)
    truth = simulate.annotations(40, rng)
    one = diagnose(truth, detected(truth, rng))
    few, _ = tag_slices(truth.names, {"few": lambda name: name.endswith("7.jpg")})
    assert searched(truth, [one], few).tried == 0
    found = FoundAt.of(Sliced(one, truth, image_names(truth, [one])))
    members = few[0].triplets(truth) & found.counted
    images, triplets = len(set(truth.triplet_image[members].tolist())), int(members.sum())
    for least, tried in {
        (images, triplets): 1,
        (images + 1, triplets): 0,
        (images, triplets + 1): 0,
    }.items():
        assert searched(truth, [one], few, least=least).tried == tried
