"""The tables of a robustness study: those of the RoHOI paper, and which errors grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.results import Result
from diaghoi.comparison.selection import selected
from diaghoi.comparison.semantic import measured_by
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.tables import table_of
from diaghoi.data.table import Cell, Column, Table
from diaghoi.exceptions import InputError
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS
from diaghoi.robustness.indices import Index
from diaghoi.robustness.metric import SOFT, metric_title, score_of, scores_with, sourced_title
from diaghoi.robustness.profile import Profile, costliest
from diaghoi.robustness.study import CLEAN, RobustnessStudy

PARTIAL = "‡"
DEAREST = 3  # corruptions in the overview
GROWTH = "growth_"
"""How the keys of the tables of errors begin."""
HEADINGS = {
    "robustness": "Robustness",
    "corruptions": "MRI of each corruption, %",
    "corruptions_cri": "CRI of each corruption",
    "groups": "Groups of corruptions",
    "severities": "MRI of each severity, %",
    **{f"{GROWTH}{error}": f"{ORACLES[error].title}: growth of ΔmAP, points" for error in ERRORS},
}
"""Titles of the tables by their keys."""
OF_SEVERAL = ("corruptions_cri", "severities")
"""Keys of tables that only studies of several severities have."""
SCALE = "CRI as in the RoHOI paper: sigma of scores in percent, natural logarithm"
NO_CRI = "CRI is undefined: it takes scores in two severities or more."
# The columns of a table, each with what makes its cell for a detector.
Figures = Sequence[tuple[Column, Callable[[Profile], Cell]]]


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
    results = _results(profiles)
    title = sourced_title(metric, results[0])
    tables = [_overall(profiles, results, metric), _corruptions(profiles, title, "mri")]
    if several:
        tables.append(_corruptions(profiles, title, "cri"))
    tables.append(_groups(profiles, title))
    if several:
        tables.append(_severities(profiles, title))
    if errors:
        tables += [_growth(profiles, error) for error in ERRORS]
    return tuple(tables)


def check_names(names: Iterable[str], study: RobustnessStudy, *, errors: bool = False) -> None:
    """Refuse names of tables that a study will not have, before anything is read.

    Parameters
    ----------
    names : iterable of str
        As for :func:`diaghoi.comparison.selection.selected`.
    study : RobustnessStudy
        Its severities decide.
    errors : bool
        As for :func:`robustness_tables`.

    Raises
    ------
    InputError
        With the names that there are.
    """
    left_out = () if len(study.severities) > 1 else OF_SEVERAL
    empty = Comparison(
        dataset="",
        protocol="",
        signature="",
        images=None,
        caveats=(),
        notes=(),
        models=(),
        tables=tuple(
            Table(
                key=key, title=title, heads=("Model",), columns=(Column(title=""),), row_groups=()
            )
            for key, title in HEADINGS.items()
            if key not in left_out and (errors or not key.startswith(GROWTH))
        ),
    )
    for name in names:
        if not selected(empty, [name]).tables:  # another comparison has it
            keys = ", ".join(table.key for table in empty.tables)
            raise InputError(
                f"--table '{name}': studies of robustness have {keys}; give some of these"
            )


def overview_table(profiles: Sequence[Profile], metric: str) -> Table:
    """Lay out what matters first, a row for each detector.

    Parameters
    ----------
    profiles, metric
        As for :func:`robustness_tables`.

    Returns
    -------
    Table
        ``overview``: scores on clean pictures, MRI and CRI, and the MRI of the corruptions that
        cost most.
    """
    result = _results(profiles)[0]
    plain = [replace(each, model=StudyModel(label=each.model.label)) for each in profiles]
    dearest = costliest(profiles)[:DEAREST]
    names = f" {_abbreviations(dearest)}." if dearest else ""
    of_each = _by_corruption(dearest, _mri_of, better="higher", group="MRI of the costliest")
    return _table(
        plain,
        [*_overall_figures(profiles, {metric: scores_with(metric, [result])[metric]}), *of_each],
        key="overview",
        title="Clean scores, MRI and CRI",
        caption=f"Scores: {sourced_title(metric, result)}, %. MRI, %: mean under corruption. "
        "CRI: mean of the relative score, less where it varies with the severity; 1 if nothing is "
        f"lost.{names}{_remark(profiles)}",
    )


def _results(profiles: Sequence[Profile]) -> list[Result]:
    return [result for profile in profiles for result in profile.results.values()]


def _overall(profiles: Sequence[Profile], results: Sequence[Result], metric: str) -> Table:
    score = metric_title(metric, results[0])
    sources = "".join(f" {line}" for line in measured_by(results[0])) if metric in SOFT else ""
    return _table(
        profiles,
        _overall_figures(profiles, scores_with(metric, results)),
        key="robustness",
        caption=f"Scores: {score}, %. MRI, %: mean under corruption. CRI: mean of the relative "
        f"score, less where it varies with the severity; 1 if nothing is lost. {SCALE}."
        f"{_remark(profiles)}{sources}",
    )


def _overall_figures(profiles: Sequence[Profile], scores: Mapping[str, str]) -> Figures:
    def clean(path: str) -> Callable[[Profile], Cell]:
        def look_up(profile: Profile) -> Cell:
            result = profile.results.get(CLEAN)
            return _cell(None if result is None else score_of(path, result))

        return look_up

    figures = [
        (Column(key=f"clean.{path}", title=title, better="higher", group="Clean"), clean(path))
        for path, title in scores.items()
    ]
    return [*figures, *_both("", profiles[0].scope.title, Profile.index)]


def _remark(profiles: Sequence[Profile]) -> str:
    """Go on with why there is no CRI, and what a part of the conditions is not comparable with."""
    remarks = (NO_CRI if len(profiles[0].severities) < 2 else "", profiles[0].scope.remark)
    return "".join(f" {remark}" for remark in remarks if remark)


def _cell(value: float | None, partial: bool = False) -> Cell:
    """Make a cell, with a mark where some of the conditions behind its figure have no score."""
    return Cell(value=value, mark=PARTIAL if partial and value is not None else "")


def _both(
    key: str, group: str, index: Callable[[Profile], Index]
) -> list[tuple[Column, Callable[[Profile], Cell]]]:
    """Make the columns of MRI and CRI."""
    before = f"{key}." if key else ""
    return [
        (
            Column(key=f"{before}mri", title="MRI", better="higher", group=group),
            lambda profile: _cell(index(profile).mri, index(profile).partial),
        ),
        (
            Column(key=f"{before}cri", title="CRI", unit="index", better="higher", group=group),
            lambda profile: _cell(index(profile).cri, index(profile).partial),
        ),
    ]


def _by_corruption(
    names: Sequence[str], figure: Callable[[Profile, str], Cell], **look: str
) -> Figures:
    def of(name: str) -> Callable[[Profile], Cell]:
        return lambda profile: figure(profile, name)

    columns: list[tuple[Column, Callable[[Profile], Cell]]] = []
    for name in names:
        corruption = CORRUPTIONS[name]
        group = GROUPS[corruption.group].label
        column = Column(key=name, title=corruption.abbreviation, group=group)
        columns.append((replace(column, **look), of(name)))  # type: ignore[arg-type]
    return columns


def _abbreviations(names: Sequence[str]) -> str:
    corruptions = (CORRUPTIONS[name] for name in names)
    return ", ".join(f"{each.abbreviation}: {each.label}" for each in corruptions)


def _mri_of(profile: Profile, corruption: str) -> Cell:
    index = profile.index([corruption])
    return _cell(index.mri, index.partial)


def _corruptions(profiles: Sequence[Profile], score: str, which: str) -> Table:
    def cri_of(profile: Profile, name: str) -> Cell:
        index = profile.index([name])
        return _cell(index.cri, index.partial)

    names = profiles[0].corruptions
    severities = profiles[0].scope.over_severities
    if which == "mri":
        return _table(
            profiles,
            _by_corruption(names, _mri_of, better="higher"),
            key="corruptions",
            caption=f"{score}, {severities}. {_abbreviations(names)}.",
        )
    return _table(
        profiles,
        _by_corruption(names, cri_of, unit="index", better="higher"),
        key="corruptions_cri",
        caption=f"{score}, {severities}. {SCALE}. {_abbreviations(names)}.",
    )


def _groups(profiles: Sequence[Profile], score: str) -> Table:
    def of(group: str) -> Callable[[Profile], Index]:
        return lambda profile: profile.groups()[group]

    figures = [
        column
        for group in profiles[0].groups()
        for column in _both(group, GROUPS[group].label, of(group))
    ]
    return _table(
        profiles,
        figures,
        key="groups",
        caption=f"{score}, over the corruptions of each group; MRI in %. {SCALE}."
        f"{_remark(profiles)}",
    )


def _severities(profiles: Sequence[Profile], score: str) -> Table:
    def at(severity: int) -> Callable[[Profile], Cell]:
        def look_up(profile: Profile) -> Cell:
            index = profile.at_severity(severity)
            return _cell(index.mri, index.partial)

        return look_up

    return _table(
        profiles,
        [
            (Column(key=str(each), title=f"L{each}", better="higher", group="Severity"), at(each))
            for each in profiles[0].severities
        ],
        key="severities",
        caption=f"{score}, over {profiles[0].scope.named_corruptions}.",
    )


def _growth(profiles: Sequence[Profile], error: str) -> Table:
    def figure(profile: Profile, name: str) -> Cell:
        return _cell(profile.mean_growth(name, error), profile.index([name]).partial)

    mean = "mean " if len(profiles[0].severities) > 1 else ""
    return _table(
        profiles,
        # Without a better direction: where mAP collapses, no error costs much.
        _by_corruption(profiles[0].corruptions, figure, unit="points"),
        key=f"{GROWTH}{error}",
        caption="ΔmAP of the error under corruption less that on clean pictures, "
        f"{mean}{profiles[0].scope.over_severities}. {_abbreviations(profiles[0].corruptions)}.",
    )


def _table(
    profiles: Sequence[Profile], figures: Figures, *, key: str, caption: str, title: str = ""
) -> Table:
    """Lay figures out like those of a comparison; the caption explains the mark if there is any."""
    columns = [column for column, _ in figures]
    cells = [[cell(profile) for _, cell in figures] for profile in profiles]
    models = [profile.model for profile in profiles]
    title = title or HEADINGS[key]
    table = table_of(models, columns, cells, key=key, title=title, caption=caption)
    if not any(cell.mark for row in table.rows for cell in row.cells):
        return table
    return replace(table, caption=f"{table.caption} {PARTIAL}: over the conditions that there are.")
