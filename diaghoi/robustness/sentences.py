"""What a corruption does to a detector, in a sentence: how far it falls, and which error grows."""

from __future__ import annotations

from collections.abc import Sequence

from diaghoi.data.table import percent
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.robustness.corruptions import CORRUPTIONS
from diaghoi.robustness.profile import DELTA, Profile, costliest, metric_title
from diaghoi.robustness.study import CLEAN, Condition

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
    return {
        name: f"{CORRUPTIONS[name].label}, severity {condition.severity}: "
        f"{_fall(profile, condition)}; {_growth(profile, condition)}."
        for name, condition in profile.strongest().items()
    }


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
        falls = sorted(
            (profile.change(condition, "map.full") or 0.0, place, name)
            for place, (name, condition) in enumerate(profile.strongest().items())
        )
        ranked += [(n, fall, number, said[name]) for n, (fall, _, name) in enumerate(falls)]
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
    result = next(result for profile in profiles for result in profile.results.values())
    metric = metric_title(profiles[0].metric, result)
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


def _fall(profile: Profile, condition: Condition) -> str:
    here, clean = (profile.number(each, "map.full") for each in (condition, CLEAN))
    if here is None or clean is None:
        return "mAP is undefined"
    before, after = (f"{100 * value:.1f}" for value in (clean, here))
    if before == after:
        return f"mAP stays at {after}"
    verb = "falls" if here < clean else "rises"
    before, after = before + _interval(profile, CLEAN), after + _interval(profile, condition)
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
    sentence = (
        f"most grows {ORACLES[most].title.lower()}, whose ΔmAP goes from {_points(before)} to "
        f"{_points(after)}{_certainty(profile, condition, DELTA.format(most))}"
    )
    first, last = (profile.share(each, most) for each in (CLEAN, condition))
    if first is None or last is None:
        return sentence
    whole = "annotations" if most == "missed_gt" else "predictions"
    shares = f"from {100 * first:.1f} to {100 * last:.1f} %"
    return f"{sentence} and whose share of the {whole} {shares}"


def _points(value: float | None) -> str:
    return f"{100 * (value or 0):+.1f}".replace("-", "−")


def _certainty(profile: Profile, condition: Condition, path: str) -> str:
    """Say how sure a difference is, where it was tested."""
    tests = (test for test in profile.tests.get(condition, []) if test.path == path)
    return next((f" ({test.shown_p})" for test in tests), "")
