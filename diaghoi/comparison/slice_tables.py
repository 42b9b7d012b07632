"""Tables of detectors in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from diaghoi.data.table import UNDEFINED, Cell, Column, Row, RowGroup, Table, Unit, shown
from diaghoi.oracles import ERRORS, error_title
from diaghoi.statistics.slice_figures import F1, MAP, RECALL

Found = Mapping[str, Any]
Of = Callable[[Found], Cell]
SUPPORT = (("images", "Images"), ("annotated", "Triplets"), ("classes", "Classes"))
TITLES = {MAP: "mAP", RECALL: "Pair recall", F1: "F1"}
MORE = 3  # detectors from which on a finding says of which it is
WHERE = (
    "Predictions belong to a slice by their image, where classes decide by their class, and where "
    "the annotated pair decides with the annotated triplet that they found or are assigned to; "
    "others with their image. So slices of images and pairs have fewer false positives of a class "
    "than all images: compare them with each other."
)


def slice_tables(found: Found) -> Iterator[Table]:
    """Make the tables of slices, and of those that stand out.

    Parameters
    ----------
    found : mapping
        As from :meth:`diaghoi.comparison.slices.Slices.to_dict`.

    Yields
    ------
    Table
        Of one detector: its figures, and its ΔmAP per error. Of several: mAP side by side, the
        differences to the first, pair recall and F1.
    """
    labels = found["labels"]
    if found["search"] is not None and found["search"]["findings"]:
        yield _search_table(found)
    if len(labels) == 1:
        said = (where_text(found), _thresholds(found), _resamples(found))
        caption = "\n".join(filter(None, said))
        yield _table(found, "slices", "Slices", "%", list(_of_one(found)), caption)
        deltas = [
            (
                Column(title=error_title(name), unit="points"),
                _cell(0, "figures", f"delta_map.{name}"),
            )
            for name in ERRORS
        ]
        yield _table(found, "slice_deltas", "ΔmAP per error in slices", "", deltas)
        return
    first = labels[0]
    of_models = [*_support(), *_of_models(found, MAP)]
    yield _table(found, "slices", "mAP in slices", "%", of_models, where_text(found))
    yield _table(
        found,
        "slice_differences",
        f"Difference in mAP in slices to {first}",
        "points",
        list(_differences(found)),
        _resamples(found),
    )
    parts = [*_of_models(found, RECALL), *_of_models(found, F1)]
    yield _table(
        found, "slice_parts", "Pair recall and F1 in slices", "%", parts, _thresholds(found)
    )


def where_text(found: Found) -> str:
    """Say which predictions belong to a slice, and which classes are rare."""
    attributes = [each["attribute"] for each in found["slices"]]
    return "\n".join(filter(None, (WHERE, rare_text(attributes, found.get("rare_below")))))


def rare_text(attributes: Iterable[str], below: int | None) -> str:
    """Say which classes are rare where the data set does not name them; empty elsewhere."""
    if below is None or "rarity" not in attributes:
        return ""
    return (
        f"Rare: classes with fewer than {below} annotated triplets in these annotations, which is "
        "no official split."
    )


def _of_models(found: Found, name: str) -> Iterator[tuple[Column, Of]]:
    group = "" if name == MAP else TITLES[name]
    for place, label in enumerate(found["labels"]):
        yield Column(title=label, unit="percent", group=group), _cell(place, "figures", name)


def _thresholds(found: Found) -> str:
    """Say which predictions F1 counts."""
    scores = [each for each in found["thresholds"] if each is not None]
    if not scores:
        return "F1: of all predictions."
    return "F1: of predictions from the score on that gives the best F1 of all images."


def _resamples(found: Found) -> str:
    """Say where intervals come from, as others of the same figure may have more resamples."""
    if found["bootstrap"] is None:
        return ""
    drawn = f"{found['bootstrap']['resamples']:,} resamples of the images"
    return f"Intervals: {drawn}; none for slices of very few."


def _support() -> Iterator[tuple[Column, Of]]:
    for key, title in SUPPORT:
        yield Column(title=title, unit="count"), partial(_count, key)


def _count(key: str, each: Found) -> Cell:
    return Cell(value=each[key], text=shown(each[key], "count"))


def _of_one(found: Found) -> Iterator[tuple[Column, Of]]:
    yield from _support()
    for name, title in TITLES.items():
        yield Column(title=title, unit="percent"), _cell(0, "figures", name)
        if name == MAP and found["bootstrap"] is not None:
            yield Column(title=_interval_title(found)), _interval(0, "intervals", name)


def _differences(found: Found) -> Iterator[tuple[Column, Of]]:
    for place, label in enumerate(found["labels"][1:], 1):
        yield Column(title=label, unit="points"), _cell(place, "difference", MAP, "points")
        if found["bootstrap"] is not None:
            yield (
                Column(title=_interval_title(found)),
                _interval(place, "difference_intervals", MAP, signed=True),
            )


def _interval_title(found: Found) -> str:
    return f"{100 * found['bootstrap']['confidence']:g} %"


def _cell(place: int, kind: str, name: str, unit: Unit | None = None) -> Of:
    unit = unit or ("points" if name.startswith("delta_map.") else "percent")

    def cell(each: Found) -> Cell:
        value = each["models"][place][kind][name]
        return Cell(value=value, text=shown(value, unit))

    return cell


def _interval(place: int, kind: str, name: str, *, signed: bool = False) -> Of:
    def cell(each: Found) -> Cell:
        bounds: Sequence[float] | None = each["models"][place][kind].get(name)
        if bounds is None:
            return Cell(text=UNDEFINED)
        low, high = (shown(bound, "percent", signed=signed) for bound in bounds)
        return Cell(text=f"{low} to {high}")

    return cell


def _table(
    found: Found,
    key: str,
    title: str,
    unit: str,
    columns: Sequence[tuple[Column, Of]],
    caption: str = "",
) -> Table:
    def row(each: Found, name: str) -> Row:
        return Row(titles=(name,), cells=tuple(of(each) for _, of in columns))

    def rows(some: Iterable[Found]) -> tuple[Row, ...]:
        return tuple(row(each, each["name"]) for each in some)

    groups = groupby(found["slices"], key=lambda each: (each["attribute"], each["title"]))
    return Table(
        key=key,
        title=title,
        unit=unit,
        heads=("Slice",),
        columns=tuple(column for column, _ in columns),
        row_groups=(
            RowGroup(rows=(row(found["everything"], "All"),)),
            *(RowGroup(title=name, rows=rows(some)) for (_, name), some in groups),
        ),
        grouping="Attribute",
        caption=caption,
    )


def _search_table(found: Found) -> Table:
    """Show the slices that stand out, or that none does."""
    findings, labels = found["search"]["findings"], found["labels"]
    alone = len(labels) == 1
    counts = [Column(title=title, unit="count") for title in ("Images", "Triplets")]
    unit: Unit = "percent" if alone else "points"
    columns = [
        *counts,
        Column(title="Here", unit=unit),
        Column(title="Elsewhere", unit=unit),
        Column(title="Difference", unit="points"),
        Column(title=_interval_title(found)),
        Column(title="p"),
    ]
    rows = []
    for each in findings:
        low, high = (shown(bound, "percent", signed=True) for bound in each["interval"])
        elsewhere, here = each["values"]
        name = each["title"] if len(labels) < MORE else f"{each['labels'][-1]}: {each['title']}"
        cells = (
            *(
                Cell(value=each[key], text=shown(each[key], "count"))
                for key in ("images", "annotated")
            ),
            *(Cell(value=value, text=shown(value, unit)) for value in (here, elsewhere)),
            Cell(value=each["difference"], text=shown(each["difference"], "points")),
            Cell(text=f"{low} to {high}"),
            Cell(value=each["p"], text="< 0.001" if each["p"] < 0.001 else f"{each['p']:.3f}"),
        )
        rows.append(Row(titles=(name,), cells=cells))
    less = "" if alone else f", minus that of {labels[0]}"
    caption = (
        f"{found['search']['tried']:,} slices of one or two attributes were tried; p and interval "
        f"are corrected for all of them. Here{'' if alone else ', elsewhere'}: the mean precision "
        f"at which annotated triplets are found{less}."
    )
    if alone:
        caption += " Difference: to others of their classes. Elsewhere: here minus the difference."
    title = "worse than elsewhere" if alone else f"other differences to {labels[0]} than elsewhere"
    return Table(
        key="slice_search",
        title=f"Slices that are {title}" if alone else f"Slices with {title}",
        heads=("Slice",),
        columns=tuple(columns),
        row_groups=(RowGroup(rows=tuple(rows)),),
        caption=caption,
    )
