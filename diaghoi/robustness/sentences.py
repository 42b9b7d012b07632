"""What a corruption does to a detector, in a sentence: how far it falls, and which error grows."""

from __future__ import annotations

from collections.abc import Sequence

from diaghoi.comparison.results import figure
from diaghoi.data.table import percent
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.robustness.corruptions import CORRUPTIONS
from diaghoi.robustness.metric import metric_title
from diaghoi.robustness.profile import Profile, costliest
from diaghoi.robustness.study import CLEAN, Condition
from diaghoi.statistics.significance import Difference

# ΔmAP, a fraction, below which an error is not said to grow.
LEAST = 0.0005


def sentences(profile: Profile) -> dict[str, str]:
    """Say what each corruption does, at its highest severity that there is.

    Parameters
    ----------
    profile : Profile
        Of a detector.

    Returns
    -------
    dict
        By corruption; without those of which, or of clean pictures, there is no result.
    """
    found = {name: profile.strongest(name) for name in profile.corruptions}
    if CLEAN not in profile.results:
        return {}
    return {
        name: _sentence(profile, condition)
        for name, condition in found.items()
        if condition is not None
    }


def every(profiles: Sequence[Profile]) -> list[tuple[str, str]]:
    """List all sentences with the labels of their detectors."""
    return [(each.model.label, line) for each in profiles for line in sentences(each).values()]


def worst(profiles: Sequence[Profile], most: int = 5) -> list[tuple[str, str]]:
    """Choose the sentences on the corruptions that cost most mAP, as many of each detector.

    Parameters
    ----------
    profiles : sequence of Profile
        One a detector.
    most : int
        How many sentences at most; of equal places the greatest falls.

    Returns
    -------
    list of (str, str)
        Label and sentence, detector by detector, the greatest fall of each first.
    """
    ranked = []
    for number, profile in enumerate(profiles):
        said = sentences(profile)
        falls = {name: _change(profile, name) for name in said}
        ordered = sorted(said, key=lambda name: falls[name])
        ranked += [(place, falls[name], number, said[name]) for place, name in enumerate(ordered)]
    chosen = sorted(sorted(ranked)[:most], key=lambda each: each[2])
    return [(profiles[number].model.label, sentence) for *_, number, sentence in chosen]


def summary(profiles: Sequence[Profile]) -> str:
    """Say how much of their clean score detectors keep, and which corruption costs most.

    Parameters
    ----------
    profiles : sequence of Profile
        One a detector; of more than two, the most and the least robust are named.
    """
    kept = [
        (mean / clean, profile.model.label, f"({percent(clean)} to {percent(mean)})")
        for profile in profiles
        if (mean := profile.index().mri) is not None and (clean := profile.clean)
    ]
    kept.sort(key=lambda each: -each[0])
    if not kept:
        return ""
    metric = metric_title(profiles[0].metric, next(iter(profiles[0].results.values())))
    (most, label, scores), *others = kept
    of = f"of its clean {metric.partition(',')[0]} under corruption"
    said = f"{label} keeps {100 * most:.0f} % {of} {scores}"
    if len(others) > 1:
        said = f"Of {len(kept)} models, {label} keeps most {of}, {100 * most:.0f} % {scores}"
    if others:
        least, label, scores = others[-1]
        said += f", {label} {'least, ' if len(others) > 1 else ''}{100 * least:.0f} % {scores}"
    name = costliest(profiles)[0]
    drops = [drop for profile in profiles if (drop := profile.drop(name)) is not None]
    cost = 100 * sum(drops) / len(drops)
    if cost <= 0:
        return f"{said}. No corruption costs anything."
    mean_of = " on average" if len(drops) > 1 else ""
    return f"{said}. {CORRUPTIONS[name].label} costs most, {cost:.0f} %{mean_of}."


def _change(profile: Profile, corruption: str) -> float:
    """Change of mAP at the highest severity that there is, a fraction; 0 where undefined."""
    condition = profile.strongest(corruption)
    here, clean = (
        None if each is None else figure(profile.results[each], "map", "full")
        for each in (condition, CLEAN)
    )
    return 0.0 if here is None or clean is None else here - clean


def _sentence(profile: Profile, condition: Condition) -> str:
    label = CORRUPTIONS[condition.corruption].label
    return (
        f"{label}, severity {condition.severity}: {_fall(profile, condition)}; "
        f"{_growth(profile, condition)}."
    )


def _fall(profile: Profile, condition: Condition) -> str:
    here, clean = (figure(profile.results[each], "map", "full") for each in (condition, CLEAN))
    if here is None or clean is None:
        return "mAP is undefined"
    before, after = (f"{100 * each:.1f}" for each in (clean, here))
    if before == after:
        return f"mAP stays at {after}"
    verb = "falls" if here < clean else "rises"
    before, after = (
        f"{value}{_interval(profile, each)}"
        for value, each in ((before, CLEAN), (after, condition))
    )
    return f"mAP {verb} from {before} to {after}{_certainty(profile, condition, 'map.full')}"


def _interval(profile: Profile, condition: Condition) -> str:
    """Give the interval of mAP under a condition, where there is one."""
    result = profile.results[condition]
    bounds = result.get("intervals", {}).get("map.full")
    if bounds is None:
        return ""
    low, high = (f"{100 * bound:.1f}" for bound in bounds)
    return f" ({100 * result['bootstrap']['confidence']:g} % {low} to {high})"


def _growth(profile: Profile, condition: Condition) -> str:
    grown = {error: profile.growth(condition, error) for error in ERRORS}
    known = {error: value for error, value in grown.items() if value is not None}
    if not known:
        return "the growth of errors is undefined"
    most = max(known, key=lambda error: known[error])
    if known[most] < LEAST:
        return "no error costs more than on clean pictures"
    before, after = profile.delta(CLEAN, most), profile.delta(condition, most)
    sentence = f"most grows {ORACLES[most].title.lower()}, whose ΔmAP goes from "
    sentence += f"{_points(before)} to {_points(after)}"
    sentence += _certainty(profile, condition, f"oracles.{most}.delta_map.full")
    shares = [profile.share(each, most) for each in (CLEAN, condition)]
    if None in shares:
        return sentence
    whole = "annotations" if most == "missed_gt" else "predictions"
    one, other = (f"{100 * (share or 0):.1f}" for share in shares)
    return f"{sentence} and whose share of the {whole} from {one} to {other} %"


def _points(value: float | None) -> str:
    return f"{100 * (value or 0):+.1f}".replace("-", "−")


def _certainty(profile: Profile, condition: Condition, path: str) -> str:
    """Say how sure a difference is, where it was tested."""
    tests: list[Difference] = profile.tests.get(condition, [])
    test = next((each for each in tests if each.path == path), None)
    return "" if test is None else f" ({test.shown_p})"
