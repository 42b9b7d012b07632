"""The tables of a robustness study: those of the RoHOI paper, and which errors grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from diaghoi.comparison.figures import Column, Topic
from diaghoi.comparison.tables import Row, Section, Table, best_models, table_of
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.robustness.corruptions.registry import CORRUPTIONS, GROUPS
from diaghoi.robustness.indices import Index
from diaghoi.robustness.metric import score_of, scores_with
from diaghoi.robustness.profile import Profile
from diaghoi.robustness.study import CLEAN

PARTIAL = "‡"


class Entry(NamedTuple):
    """A figure, and whether some of the conditions behind it have no score."""

    value: float | None
    partial: bool = False


Figures = Sequence[tuple[Column, Callable[[Profile], Entry]]]
# Of each figure of a model, whether it is partial, and whether it is the best of its column.
Standing = Sequence[tuple[bool, bool]]


def robustness_tables(
    profiles: Sequence[Profile], metric: str, *, errors: bool = False
) -> tuple[Table, ...]:
    """Lay out the tables of a study.

    Parameters
    ----------
    profiles : sequence of Profile
        One a detector.
    metric : str
        What they are scored by.
    errors : bool
        With a table for each error.

    Returns
    -------
    tuple of Table
        ``robustness`` (table 1 of the paper), ``corruptions`` (table 3), the same with CRI,
        ``groups``, ``severities``, and ``growth_human_box`` and so on. Figures for which some
        conditions have no score carry a mark.
    """
    several = len(profiles[0].severities) > 1
    tables = [_overall(profiles, metric), _corruptions(profiles, metric, "mri")]
    if several:
        tables.append(_corruptions(profiles, metric, "cri"))
    tables.append(_groups(profiles, metric))
    if several:
        tables.append(_severities(profiles, metric))
    if errors:
        tables += [_growth(profiles, error) for error in ERRORS]
    return tuple(tables)


def _overall(profiles: Sequence[Profile], metric: str) -> Table:
    results = [result for profile in profiles for result in profile.results.values()]

    def clean(path: str) -> Callable[[Profile], Entry]:
        def look_up(profile: Profile) -> Entry:
            result = profile.results.get(CLEAN)
            return Entry(None if result is None else score_of(path, result))

        return look_up

    figures = [
        (Column(key=f"clean.{path}", title=title, better="higher", group="Clean"), clean(path))
        for path, title in scores_with(metric, results).items()
    ]
    return _made(
        profiles,
        [*figures, *_both("", "All corruptions", Profile.index)],
        key="robustness",
        title="Robustness, %",
        caption=f"Scores: {metric}. MRI: mean under corruption. CRI: mean of the relative score, "
        "less where it varies with the severity (sigma of scores in percent); 23 is the 0.23 of "
        "the RoHOI paper.",
    )


def _both(
    key: str, group: str, index: Callable[[Profile], Index]
) -> list[tuple[Column, Callable[[Profile], Entry]]]:
    """Make the columns of MRI and CRI."""
    before = f"{key}." if key else ""
    return [
        (
            Column(key=f"{before}mri", title="MRI", better="higher", group=group),
            lambda profile: Entry(index(profile).mri, index(profile).partial),
        ),
        (
            Column(key=f"{before}cri", title="CRI", better="higher", group=group),
            lambda profile: Entry(index(profile).cri, index(profile).partial),
        ),
    ]


def _by_corruption(
    profiles: Sequence[Profile], figure: Callable[[Profile, str], Entry], **look: str
) -> Figures:
    def of(name: str) -> Callable[[Profile], Entry]:
        return lambda profile: figure(profile, name)

    columns: list[tuple[Column, Callable[[Profile], Entry]]] = []
    for name in profiles[0].corruptions:
        told = CORRUPTIONS[name]
        column = Column(key=name, title=told.abbreviation, group=GROUPS[told.group].label)
        columns.append((replace(column, **look), of(name)))  # type: ignore[arg-type]
    return columns


def _abbreviations(profiles: Sequence[Profile]) -> str:
    told = (CORRUPTIONS[name] for name in profiles[0].corruptions)
    return ", ".join(f"{each.abbreviation}: {each.label}" for each in told)


def _corruptions(profiles: Sequence[Profile], metric: str, which: str) -> Table:
    def figure(profile: Profile, name: str) -> Entry:
        index = profile.index([name])
        return Entry(index.mri if which == "mri" else index.cri, index.partial)

    return _made(
        profiles,
        _by_corruption(profiles, figure, better="higher"),
        key="corruptions" if which == "mri" else "corruptions_cri",
        title=f"{which.upper()} of each corruption, %",
        caption=f"{metric} over the severities. {_abbreviations(profiles)}."
        if which == "mri"
        else f"{metric} over the severities.",
    )


def _groups(profiles: Sequence[Profile], metric: str) -> Table:
    def of(group: str) -> Callable[[Profile], Index]:
        return lambda profile: profile.groups()[group]

    figures = [
        column
        for group in profiles[0].groups()
        for column in _both(group, GROUPS[group].label, of(group))
    ]
    return _made(
        profiles,
        figures,
        key="groups",
        title="Groups of corruptions, %",
        caption=f"{metric} over the corruptions of each group.",
    )


def _severities(profiles: Sequence[Profile], metric: str) -> Table:
    def at(severity: int) -> Callable[[Profile], Entry]:
        def look_up(profile: Profile) -> Entry:
            index = profile.at_severity(severity)
            return Entry(index.mri, index.partial)

        return look_up

    return _made(
        profiles,
        [
            (Column(key=str(each), title=f"L{each}", better="higher", group="Severity"), at(each))
            for each in profiles[0].severities
        ],
        key="severities",
        title="MRI of each severity, %",
        caption=f"{metric} over all corruptions.",
    )


def _growth(profiles: Sequence[Profile], error: str) -> Table:
    def figure(profile: Profile, name: str) -> Entry:
        return Entry(profile.mean_growth(name, error), profile.index([name]).partial)

    title = ORACLES[error].title
    return _made(
        profiles,
        _by_corruption(profiles, figure, unit="points", better="lower"),
        key=f"growth_{error}",
        title=f"{title}: growth of ΔmAP, points",
        caption="ΔmAP of the error under corruption less that on clean pictures, mean over the "
        "severities.",
    )


def _made(profiles: Sequence[Profile], figures: Figures, **words: str) -> Table:
    """Lay figures out like those of a comparison, and mark what is partial, which is never best."""
    entries = [[value(profile) for _, value in figures] for profile in profiles]
    topic = Topic(
        columns=tuple(column for column, _ in figures),
        values=tuple(tuple(entry.value for entry in row) for row in entries),
        **words,
    )
    models = [profile.model for profile in profiles]
    table = table_of(topic, models)
    if not any(entry.partial and entry.value is not None for row in entries for entry in row):
        return table
    best = [
        best_models(column, [None if entry.partial else entry.value for entry in each])
        for column, each in zip(topic.columns, zip(*entries, strict=True), strict=True)
    ]
    standing = {
        model.label: [
            (entry.partial, number in numbers) for entry, numbers in zip(row, best, strict=True)
        ]
        for number, (model, row) in enumerate(zip(models, entries, strict=True))
    }
    staged = [model.label for model in models if model.stage]
    sections = tuple(
        replace(
            section, rows=tuple(_marked(row, section, standing, staged) for row in section.rows)
        )
        for section in table.sections
    )
    return replace(
        table,
        sections=sections,
        caption=f"{table.caption} {PARTIAL}: over the conditions that there are.",
    )


def _marked(
    row: Row, section: Section, standing: Mapping[str, Standing], staged: Sequence[str]
) -> Row:
    """Mark the figures of a model, or of a row that is made of some, as partial and as best."""
    members = {
        "model": [row.title],
        "mean": [each.title for each in section.rows if each.kind == "model"],
        "difference": staged,
    }[row.kind]
    cells = []
    for found, told in zip(
        row.cells, zip(*(standing[name] for name in members), strict=True), strict=True
    ):
        partial = found.value is not None and any(each for each, _ in told)
        best = row.kind == "model" and told[0][1]
        cells.append(replace(found, mark=PARTIAL if partial else found.mark, best=best))
    return replace(row, cells=tuple(cells))
