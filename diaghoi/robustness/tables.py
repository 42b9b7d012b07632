"""Tables and sentences of a robustness study: those of the RoHOI paper, and which errors grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from diaghoi.comparison.selection import meant, unknown_table
from diaghoi.comparison.semantic import measured_by
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.tables import table_of
from diaghoi.data.table import Better, Cell, Column, Table, Unit, percent
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS, SEVERITIES
from diaghoi.robustness.profile import (
    DELTA,
    SOFT,
    Profile,
    costliest,
    metric_title,
    scores_with,
)
from diaghoi.robustness.study import CLEAN, Condition, RobustnessStudy

PARTIAL = "‡"
DEAREST = 3  # corruptions in the overview
LEAST = 0.0005  # growth of ΔmAP, as a fraction, below which an error is not mentioned
GROWTH = "growth_"
"""Key prefix of the error tables."""
HEADINGS = {
    "overview": "Clean scores, MRI and CRI",
    "robustness": "Robustness",
    "corruptions": "MRI of each corruption, %",
    "corruptions_cri": "CRI of each corruption",
    "groups": "Groups of corruptions",
    "severities": "MRI of each severity, %",
    **{f"{GROWTH}{error}": f"{ORACLES[error].title}: growth of ΔmAP, points" for error in ERRORS},
}
"""Titles of the tables, by key."""
OF_SEVERAL = ("corruptions_cri", "severities")
"""Keys of the tables that only studies with several severities have."""
SCALE = "CRI as in the RoHOI paper, with sigma of scores in percent and the natural logarithm"
MEANING = (
    "MRI, %: mean under corruption. CRI: mean relative score, reduced by its variation over "
    "severities; 1 if nothing is lost."
)
NO_CRI = "CRI is undefined: it needs scores at two or more severities."
UNITS: Mapping[str, Unit] = {"mri": "percent", "cri": "index"}
Number = tuple[Column, Callable[[Profile], Cell]]
"""A column, and the function that creates its cell for a detector."""


def check_names(names: Iterable[str], study: RobustnessStudy, *, errors: bool = False) -> None:
    """Reject names of tables that a study will not have; the message lists the possible names.

    ``names`` are as in :func:`diaghoi.comparison.selection.selected`, and ``errors`` as in
    :func:`robustness_tables`.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    titles = {key: HEADINGS[key] for key in _keys(study.severities, errors=errors)}
    for name in names:
        if not meant(name, titles):
            raise unknown_table(name, titles)


def _keys(severities: Sequence[int], *, errors: bool) -> list[str]:
    left_out = ("overview",) if len(severities) > 1 else ("overview", *OF_SEVERAL)
    return [key for key in HEADINGS if key not in left_out and (errors or GROWTH not in key)]


def robustness_tables(
    profiles: Sequence[Profile], metric: str, *, errors: bool = False, overview: bool = False
) -> tuple[Table, ...]:
    """Lay out the tables of a study.

    Parameters
    ----------
    profiles : sequence of Profile
        One profile per detector.
    metric : str
        The metric.
    errors : bool
        Whether to add a table for each error.
    overview : bool
        Whether to replace all tables by an ``overview``: scores on clean pictures, MRI and CRI, and
        the MRI of the costliest corruptions.

    Returns
    -------
    tuple of Table
        ``robustness`` (table 1 of the paper), ``corruptions`` (table 3), ``corruptions_cri`` (CRI
        instead of MRI), ``groups``, ``severities``, and ``growth_human_box`` and so on. Numbers are
        marked if some of their conditions have no score.
    """
    keys = _keys(profiles[0].severities, errors=errors)
    if overview:
        keys = ["overview", *(key for key in keys if GROWTH in key)]
    return tuple(_table(key, profiles, metric) for key in keys)


def _table(key: str, profiles: Sequence[Profile], metric: str) -> Table:
    """Lay out a table as in a comparison; the caption explains the mark of incomplete numbers."""
    numbers, remarks = _content(key, profiles, metric)
    models = [profile.model for profile in profiles]
    if key == "overview":
        models = [StudyModel(label=model.label) for model in models]
    cells = [[cell(profile) for _, cell in numbers] for profile in profiles]
    if any(cell.mark for row in cells for cell in row):
        remarks.append(f"{PARTIAL}: computed over the available conditions only.")
    return table_of(
        models,
        [column for column, _ in numbers],
        cells,
        key=key,
        title=HEADINGS[key],
        caption=" ".join(filter(None, remarks)),
    )


def _content(key: str, profiles: Sequence[Profile], metric: str) -> tuple[list[Number], list[str]]:
    """Choose the columns of a table and its caption."""
    first, names = profiles[0], list(profiles[0].corruptions)
    result = next(result for profile in profiles for result in profile.results.values())
    score, scope = metric_title(metric, result, sourced=True), first.scope
    single = len(first.severities) == 1
    severities = f"{'at' if single else 'over'} {scope.severities}"
    limits = [NO_CRI] if single else []
    if not scope.complete:
        whole = f"all {len(CORRUPTIONS)} corruptions at {len(SEVERITIES)} severities"
        limits.append(f"Over {scope.words}: not comparable with MRI and CRI over {whole}.")
    both = _both("", scope.title)
    scores = [_clean(path, head) for path, head in scores_with(metric, result).items()]
    if key == "overview":
        scores = [number for number in scores if number[0].key == f"clean.{metric}"]
        names = costliest(profiles)[:DEAREST]
        by_corruption = _by_corruption(names, "mri", "MRI of the costliest")
        caption = f"Scores: {score}, %. {MEANING}"
        return [*scores, *both, *by_corruption], [caption, _abbreviations(names), *limits]
    if key == "robustness":
        sources = measured_by(result) if metric in SOFT else []
        caption = f"Scores: {metric_title(metric, result)}, %. {MEANING} {SCALE}."
        return [*scores, *both], [caption, *limits, *sources]
    if key == "corruptions":
        return _by_corruption(names, "mri"), [f"{score}, {severities}.", _abbreviations(names)]
    if key == "corruptions_cri":
        caption = f"{score}, {severities}. {SCALE}."
        return _by_corruption(names, "cri"), [caption, _abbreviations(names)]
    if key == "groups":
        of = [_both(f"{g}.", GROUPS[g].label, members) for g, members in first.groups().items()]
        caption = f"{score}, over the corruptions of each group; MRI in %. {SCALE}."
        return [*chain(*of)], [caption, *limits]
    if key == "severities":
        levels = [_index("mri", f"{n}", f"L{n}", "Severity", None, [n]) for n in first.severities]
        return levels, [f"{score}, over {scope.corruptions}."]
    mean = "" if single else "mean "
    caption = (
        f"ΔmAP of the error under corruption minus its ΔmAP on clean pictures, {mean}{severities}."
    )
    error = key.removeprefix(GROWTH)
    return _by_corruption(names, error), [caption, _abbreviations(names)]


def _abbreviations(names: Sequence[str]) -> str:
    corruptions = [CORRUPTIONS[name] for name in names]
    said = ", ".join(f"{each.abbreviation}: {each.label}" for each in corruptions)
    return f"{said}." if said else ""


def _clean(path: str, title: str) -> Number:
    column = Column(key=f"clean.{path}", title=title, better="higher", group="Clean")
    return column, lambda profile: Cell(value=profile.number(CLEAN, path))


def _index(
    which: str,
    key: str,
    title: str,
    group: str,
    corruptions: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
) -> Number:
    """Create a column of MRI, CRI or the growth of an error."""

    def cell(profile: Profile) -> Cell:
        index = profile.index(corruptions, severities)
        if which in ERRORS:
            value = profile.mean_growth(key, which)
        else:
            value = index.mri if which == "mri" else index.cri
        # Some of a number's conditions may have no score.
        return Cell(value=value, mark=PARTIAL if index.partial and value is not None else "")

    unit: Unit = UNITS.get(which, "points")
    # Neither direction of growth is better: if mAP collapses, no error costs much.
    better: Better | None = "higher" if which in UNITS else None
    return Column(key=key, title=title, unit=unit, better=better, group=group), cell


def _both(before: str, group: str, corruptions: Sequence[str] | None = None) -> list[Number]:
    return [_index(kind, f"{before}{kind}", kind.upper(), group, corruptions) for kind in UNITS]


def _by_corruption(names: Sequence[str], which: str, group: str = "") -> list[Number]:
    of = {name: group or GROUPS[CORRUPTIONS[name].group].label for name in names}
    return [_index(which, name, CORRUPTIONS[name].abbreviation, of[name], [name]) for name in names]


def sentences(profile: Profile) -> dict[str, str]:
    """Describe the effect of each corruption at its highest severity with a result.

    The dictionary is empty if clean pictures have no result.
    """
    return {
        name: f"{CORRUPTIONS[name].label}, severity {condition.severity}: "
        f"{_fall(profile, condition)}; {_growth(profile, condition)}."
        for name, condition in profile.strongest().items()
    }


def worst(profiles: Sequence[Profile], most: int = 5) -> list[tuple[str, str]]:
    """Choose the sentences on the corruptions that cost most mAP, equally many per detector.

    At most ``most`` sentences are chosen: each detector's costliest corruption, then each second
    one, and so on, preferring large drops. Each sentence comes with the label of the detector;
    sentences are ordered by detector, and the largest drop of a detector comes first.
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
    """Describe how much of its clean score each detector keeps, and which corruption costs most.

    With more than two detectors, the sentence names the most and the least robust detector.
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
        return f"{said}. No corruption lowers the score."
    mean_of = " on average" if len(drops) > 1 else ""
    return f"{said}. {CORRUPTIONS[name].label} costs most, {cost:.0f} %{mean_of}."


def _fall(profile: Profile, condition: Condition) -> str:
    clean, here = (profile.number(each, "map.full") for each in (CLEAN, condition))
    if here is None or clean is None:
        return "mAP is undefined"
    before, after = (f"{100 * value:.1f}" for value in (clean, here))
    if before == after:
        return f"mAP stays at {after}"
    with_intervals = []
    for shown, each in ((before, CLEAN), (after, condition)):
        result = profile.results[each]
        bounds = result.get("intervals", {}).get("map.full")
        if bounds is not None:
            low, high = (f"{100 * bound:.1f}" for bound in bounds)
            shown += f" ({100 * result['bootstrap']['confidence']:g} % {low} to {high})"
        with_intervals.append(shown)
    verb = "falls" if here < clean else "rises"
    certainty = _certainty(profile, condition, "map.full")
    return f"mAP {verb} from {' to '.join(with_intervals)}{certainty}"


def _growth(profile: Profile, condition: Condition) -> str:
    grown = {error: profile.change(condition, DELTA.format(error)) for error in ERRORS}
    known = {error: value for error, value in grown.items() if value is not None}
    if not known:
        return "the growth of errors is undefined"
    most = max(known, key=lambda error: known[error])
    if known[most] < LEAST:
        return "no error costs more than on clean pictures"
    path = DELTA.format(most)
    before, after = (
        f"{100 * (profile.number(each, path) or 0):+.1f}".replace("-", "−")
        for each in (CLEAN, condition)
    )
    sentence = (
        f"most grows {ORACLES[most].title.lower()}, whose ΔmAP goes from {before} to {after}"
        f"{_certainty(profile, condition, path)}"
    )
    first, last = (profile.share(each, most) for each in (CLEAN, condition))
    if first is None or last is None:
        return sentence
    whole = "annotations" if most == "missed_gt" else "predictions"
    shares = f"from {100 * first:.1f} to {100 * last:.1f} %"
    return f"{sentence} and whose share of the {whole} {shares}"


def _certainty(profile: Profile, condition: Condition, path: str) -> str:
    """Describe how certain a difference is, if it was tested."""
    tests = (test for test in profile.tests.get(condition, []) if test.path == path)
    return next((f" ({test.shown_p})" for test in tests), "")
